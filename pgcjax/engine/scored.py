"""The scores of a job, in its chunks: arranged by run, query and measure on demand."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.chunk import Chunk, KeptChunk, check_differ
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.tally import RunTally
from pgcjax.io.scores.source import (
    Places,
    ReadGroup,
    ScoreAxes,
    ScoreGroup,
    ScoreSource,
    dense,
    span,
)
from pgcjax.io.scores.text import MEAN
from pgcjax.stats.means import of_block


def job_scores(
    request: ScoringRequest,
    batches: Sequence[Batch],
    chunks: Sequence[Chunk | KeptChunk],
    tally: RunTally,
) -> ScoreSource:
    """Return the scores of all runs of a job, or of one process of it.

    Args:
        request: Measures and judgments.
        batches: Batches of the request.
        chunks: Chunks of different runs.
        tally: Counts of these runs.

    Raises:
        DataError: a run is in two chunks.
    """
    check_differ(chunks)
    skip = request.missing == "skip"
    without = tally.void if skip else set()
    scored = _scored_queries(request, tally, any(chunk.run_ids for chunk in chunks))
    answered = sorted({int(i) for *_, numbers in scored for i in numbers})
    names = list(request.judged.docs)
    axes = ScoreAxes([names[i] for i in answered], [name for name, *_ in scored])
    layouts = [
        (member, span(where), span(np.searchsorted(answered, numbers)))
        for _, member, where, numbers in scored
    ]
    each = [len(m.tensors.docs) * len(tally.run_ids) for m in request.members]
    absent = [count.absent if skip else 0 for count in tally.measures]
    same = all(len(numbers) == len(answered) for *_, numbers in scored)
    complete = same and not any(absent)

    def opened(closed: Chunk | KeptChunk) -> ReadGroup:
        chunk = closed.open()

        def read(rows: Places, measures: list[int]) -> tuple[np.ndarray, Any]:
            runs = len(chunk.has[rows])
            values = np.zeros((runs, len(answered), len(measures)))
            present = None if complete else np.zeros(values.shape, bool)
            for k, measure in enumerate(measures):
                member, where, places = layouts[measure]
                has, scores = _rows_of(request, batches, chunk, member, rows)
                values[:, places, k] = scores[:, where]
                if present is not None:
                    present[:, places, k] = has[:, where] if skip else True
            return values, present

        return read

    groups = [
        ScoreGroup(chunk.run_ids, axes, partial(opened, chunk)) for chunk in chunks
    ]
    return ScoreSource(groups, sum(each) - sum(absent), without)


def _scored_queries(
    request: ScoringRequest, tally: RunTally, any_run: bool
) -> list[tuple[str, Member, np.ndarray, np.ndarray]]:
    """List the measures that have scores, and their queries that have any.

    Returns:
        Name of each measure, the measure, and the places of its queries among the
        measure's queries and among all judged ones.
    """
    scored = []
    every = zip(request.measures, request.members, tally.measures, strict=True)
    for measure, member, count in every:
        numbers = np.array(request.columns(member), np.int64)
        skip = request.missing == "skip"
        there = count.answered if skip else np.full(len(numbers), any_run)
        if there.any():
            scored.append((str(measure), member, np.flatnonzero(there), numbers[there]))
    return scored


def job_means(
    request: ScoringRequest, chunks: Sequence[Chunk | KeptChunk], tally: RunTally
) -> ScoreSource:
    """Return the means of all runs of a job, as scores of the query `all`.

    Args:
        request: Measures and judgments.
        chunks: Results of `means_of`, of different runs.
        tally: Counts of these runs.

    Raises:
        DataError: a run is in two chunks.
    """
    check_differ(chunks)
    parts = [np.zeros((len(request.members), 0))]
    parts += [chunk.open().parts[0][..., 0] for chunk in chunks]
    means = np.concatenate(parts, 1)
    there = ~np.isnan(means).all(1)
    values = np.ascontiguousarray(means[there].T)[:, None]
    present = ~np.isnan(values)
    measures = [str(request.measures[i]) for i in np.flatnonzero(there)]
    run_ids = [run for chunk in chunks for run in chunk.run_ids]
    axes, read = ScoreAxes([MEAN], measures), dense(values, present)
    without = tally.void if request.missing == "skip" else set()
    group = ScoreGroup(run_ids, axes, lambda: read)
    return ScoreSource([group], int(present.sum()), without)


def means_of(request: ScoringRequest, batches: Sequence[Batch], chunk: Chunk) -> Chunk:
    """Take the means of a chunk's runs in place of their scores.

    Its parts are the means `[measures, runs, 1]`, NaN where a run has none, and 1 where
    a run has a score that is not 0.
    """
    parts = np.zeros((2, len(request.members), len(chunk.run_ids), 1))
    for member, has, scores in by_measure(request, batches, chunk):
        skip = request.missing == "skip" and not has.all()
        keep = has[..., None] if skip else None
        means = of_block(scores[..., None], keep, [str(member.measure)])
        parts[:, member.place] = means, scores.any(1, keepdims=True)
    return replace(chunk, parts=list(parts))


def counting(
    request: ScoringRequest, batches: Sequence[Batch], means: bool = False
) -> tuple[RunTally, Callable[[Chunk], None]]:
    """Return a tally, and a function that counts a chunk, or its `means_of`."""
    tally = RunTally(request.members)

    def count(chunk: Chunk) -> None:
        if means:
            counted = [
                (chunk.has[:, request.columns(member)], bool(nonzero.any()))
                for member, nonzero in zip(request.members, chunk.parts[1], strict=True)
            ]
        else:
            each = by_measure(request, batches, chunk)
            counted = [(has, bool(scores.any())) for _, has, scores in each]
        tally.add(chunk.run_ids, chunk.query_ids, counted)

    return tally, count


def by_measure(
    request: ScoringRequest, batches: Sequence[Batch], total: Chunk
) -> Iterator[tuple[Member, np.ndarray, np.ndarray]]:
    """Return the scores of each measure, in the order in which they were asked for.

    Yields:
        The measure; whether each run has each query, bool `[runs, queries]`; and the
        scores `[runs, queries]`, which are 0 where a run lacks the query: it retrieved
        nothing, so not even a residual is scored.
    """
    for member in request.members:
        yield member, *_rows_of(request, batches, total, member)


def _rows_of(
    request: ScoringRequest,
    batches: Sequence[Batch],
    chunk: Chunk,
    member: Member,
    rows: Places = slice(None),
) -> tuple[np.ndarray, np.ndarray]:
    """Return which runs of a chunk have which queries of a measure, and the scores."""
    has = chunk.has[rows][:, request.columns(member)]
    for batch, part in zip(batches, chunk.parts, strict=False):
        for i, other in enumerate(batch.members):
            if other.place == member.place:
                scores = part[..., i, :, :][rows]
                return has, scores if has.all() else np.where(has, scores, 0)
    raise AssertionError(f"{member.measure} is in no batch")
