"""The scores of a job, in its chunks: laid out by run, query and measure when asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.chunk import Chunk, KeptChunk
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.tally import RunTally, twice_given
from pgcjax.io.score_source import ScoreBlock, ScoreSource
from pgcjax.io.score_text import MEAN
from pgcjax.stats.means import of_block

Index = slice | Int64[np.ndarray, " places"]


class JobScores(ScoreSource):
    """Scores of all runs of a job, or of one process of it."""

    def __init__(
        self,
        request: ScoringRequest,
        batches: Sequence[Batch],
        chunks: Sequence[Chunk | KeptChunk],
        tally: RunTally,
    ):
        """Take chunks of different runs, of which a tally was kept.

        Raises:
            DataError: a run is in two chunks.
        """
        self._request, self._batches, self._chunks = request, batches, chunks
        skip = request.missing == "skip"
        self.run_ids, self._places = _places(chunks, tally.void if skip else set())
        self._columns: list[np.ndarray] = []  # of a measure, among those of `has`
        for member, count in zip(request.members, tally.measures, strict=True):
            columns = np.array(request.columns(member), np.int64)
            there = (
                count.answered if skip else np.full(len(columns), bool(self.run_ids))
            )
            self._columns.append(columns[there])
        used = np.unique(np.concatenate([*self._columns, np.zeros(0, np.int64)]))
        names = list(request.judged.docs)
        self.query_ids = [names[i] for i in used.tolist()]
        self._scored = [i for i, columns in enumerate(self._columns) if len(columns)]
        self.measures = [str(request.measures[i]) for i in self._scored]
        self._spots = [np.searchsorted(used, columns) for columns in self._columns]
        each = [len(m.tensors.docs) * len(tally.run_ids) for m in request.members]
        absent = [count.absent if skip else 0 for count in tally.measures]
        self.count = sum(each) - sum(absent)
        self._complete = not any(absent) and all(
            len(self._columns[i]) == len(used) for i in self._scored
        )

    def blocks(self) -> Iterator[ScoreBlock]:
        """Return the scores of `step` runs at a time."""
        shape = len(self.query_ids), len(self._scored)
        for first in range(0, len(self.run_ids), self.step):
            places = self._places[first : first + self.step]
            values = np.zeros((len(places), *shape))
            keep = None if self._complete else np.zeros(values.shape, bool)
            for here, chunk, rows in self._by_chunk(places):
                for k, i in enumerate(self._scored):
                    self._fill(i, chunk, rows, here, values[..., k], _at(keep, k))
            yield ScoreBlock(self.run_ids[first : first + self.step], values, keep)

    def of(self, measure: int) -> np.ndarray:
        """Return the scores by one measure."""
        values = np.zeros((len(self.run_ids), len(self.query_ids)))
        keep = np.zeros(values.shape, bool)
        for here, chunk, rows in self._by_chunk(self._places):
            self._fill(self._scored[measure], chunk, rows, here, values, keep)
        values[~keep] = np.nan
        return values

    def _by_chunk(
        self, places: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Chunk, Index]]:
        """Open the chunks of runs: which runs, the chunk, and their rows in it."""
        for number in np.unique(places[:, 0]).tolist():
            here = np.flatnonzero(places[:, 0] == number)
            yield here, self._chunks[number].open(), _span(places[here, 1])

    def _fill(
        self,
        number: int,
        chunk: Chunk,
        rows: Index,
        here: np.ndarray,
        values: np.ndarray,
        keep: np.ndarray | None,
    ) -> None:
        """Lay the scores of a chunk by one measure out."""
        member = self._request.members[number]
        own = _part(self._batches, chunk, member)[rows]
        has = chunk.has[rows][:, self._request.columns(member)]
        own = own if has.all() else np.where(has, own, 0)
        if len(self._columns[number]) < own.shape[1]:
            kept = np.isin(self._request.columns(member), self._columns[number])
            own, has = own[:, kept], has[:, kept]
        spots = _cells(_span(here), _span(self._spots[number]))
        values[spots] = own
        if keep is not None:
            keep[spots] = has if self._request.missing == "skip" else True


class JobMeans(ScoreSource):
    """Means of all runs of a job, without their scores, as of the query `all`."""

    def __init__(
        self,
        request: ScoringRequest,
        chunks: Sequence[Chunk | KeptChunk],
        tally: RunTally,
    ):
        """Take chunks that `means_of` made.

        Raises:
            DataError: a run is in two chunks.
        """
        void = tally.void if request.missing == "skip" else set()
        self.run_ids, places = _places(chunks, void)
        parts = [np.zeros((len(request.members), 0))]
        parts += [chunk.open().parts[0][..., 0] for chunk in chunks]
        starts = np.cumsum([0, *(part.shape[1] for part in parts[1:])])
        means = np.concatenate(parts, 1)[:, starts[places[:, 0]] + places[:, 1]].T
        there = (
            ~np.isnan(means).all(0) if len(means) else np.zeros(means.shape[1], bool)
        )
        self.measures = [str(request.measures[i]) for i in np.flatnonzero(there)]
        self._means = np.ascontiguousarray(means[:, there])
        self.query_ids = [MEAN]
        self.count = int((~np.isnan(self._means)).sum())

    def blocks(self) -> Iterator[ScoreBlock]:
        """Return the means of `step` runs at a time."""
        for first in range(0, len(self.run_ids), self.step):
            values = self._means[first : first + self.step, None]
            keep = ~np.isnan(values)
            runs = self.run_ids[first : first + self.step]
            yield ScoreBlock(runs, values, None if keep.all() else keep)

    def of(self, measure: int) -> np.ndarray:
        """Return the means by one measure."""
        return self._means[:, [measure]]


def means_of(request: ScoringRequest, batches: Sequence[Batch], chunk: Chunk) -> Chunk:
    """Take the means of a chunk's runs in place of their scores.

    Its parts are the means `[measures, runs, 1]`, NaN where a run has none, and 1 where
    a run has a score that is not 0.
    """
    parts = np.zeros((2, len(request.members), len(chunk.run_ids), 1))
    for member, has, scores in by_measure(request, batches, chunk):
        skip = request.missing == "skip" and not has.all()
        keep = has[..., None] if skip else None
        found = of_block(scores[..., None], keep, [str(member.measure)])
        parts[:, member.place] = found, scores.any(1, keepdims=True)
    return replace(chunk, parts=list(parts))


def counting(
    request: ScoringRequest, batches: Sequence[Batch], means: bool = False
) -> tuple[RunTally, Callable[[Chunk], None]]:
    """Return a tally, and what counts a chunk, or what `means_of` made of it."""
    tally = RunTally(request.members)

    def count(chunk: Chunk) -> None:
        if means:
            found = [
                (chunk.has[:, request.columns(member)], bool(some.any()))
                for member, some in zip(request.members, chunk.parts[1], strict=True)
            ]
        else:
            each = by_measure(request, batches, chunk)
            found = [(has, bool(scores.any())) for _, has, scores in each]
        tally.add(chunk.run_ids, chunk.query_ids, found)

    return tally, count


def by_measure(
    request: ScoringRequest, batches: Sequence[Batch], total: Chunk
) -> Iterator[tuple[Member, np.ndarray, np.ndarray]]:
    """Return the scores of each measure, in the order in which they were asked for.

    Yields:
        The measure; whether each run has each of its queries, bool `[runs, queries]`;
        and the scores, likewise, which are 0 where a run lacks the query: it retrieved
        nothing, and not even a residual is scored.
    """
    for member in request.members:
        has, own = total.has[:, request.columns(member)], _part(batches, total, member)
        yield member, has, own if has.all() else np.where(has, own, 0)


def _part(batches: Sequence[Batch], chunk: Chunk, member: Member) -> np.ndarray:
    """Find the scores by a measure among those of a chunk."""
    for batch, part in zip(batches, chunk.parts, strict=False):
        for i, other in enumerate(batch.members):
            if other.place == member.place:
                return part[..., i, :, :]
    raise AssertionError(f"{member.measure} is in no batch")


def _places(
    chunks: Sequence[Chunk | KeptChunk], without: set[str]
) -> tuple[list[str], np.ndarray]:
    """Return all runs, ascending, and for each the chunk and the row where it is."""
    every = sorted(
        (run, number, row)
        for number, chunk in enumerate(chunks)
        for row, run in enumerate(chunk.run_ids)
    )
    for (run, *_), (after, *_) in zip(every, every[1:], strict=False):
        if run == after:
            raise twice_given(run)
    every = [place for place in every if place[0] not in without]
    places = np.array([place for _, *place in every], np.int64).reshape(-1, 2)
    return [run for run, *_ in every], places


def _span(places: np.ndarray) -> Index:
    """Make a slice of places that follow each other: that copies nothing."""
    if len(places) and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _cells(rows: Index, columns: Index) -> tuple:
    if isinstance(rows, slice) or isinstance(columns, slice):
        return rows, columns
    return np.ix_(rows, columns)


def _at(keep: np.ndarray | None, measure: int) -> np.ndarray | None:
    return None if keep is None else keep[..., measure]
