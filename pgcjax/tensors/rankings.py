"""Runs as ranks of judged documents: all that scoring needs of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate
from sys import intern

import numpy as np
import polars as pl
from jaxtyping import Bool, Int, Int32

from pgcjax.errors import Progress
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.order import outline, ranked
from pgcjax.io.runs import PackedBlock, Runs, RunTable
from pgcjax.tensors.flat_runs import Documents, FlatRuns, Retrieved
from pgcjax.tensors.padding import blank, list_room, sent_type


@dataclass(frozen=True)
class JudgedRanks:
    """The judged documents that whole runs retrieved.

    Attributes:
        run_ids: the runs.
        query_ids: queries that any of them answers, judged or not.
        lengths: documents that each run retrieved in all, for each judged query.
        query: number of the query of each ranking, -1 if it is not judged.
        run: number of its run; rankings are by query, then by run.
        count: how many of its documents are here: they follow each other, ranking
            after ranking and best first, judged or not.
        code: Code of each document.
        position: its 0-based rank.
        known: the code of `JudgedDocuments` for each code; -1 if it is not judged.
    """

    run_ids: list[str]
    query_ids: set[str]
    lengths: Int32[np.ndarray, "runs queries"]
    query: Int[np.ndarray, " rankings"]
    run: Int[np.ndarray, " rankings"]
    count: Int[np.ndarray, " rankings"]
    code: Int[np.ndarray, " documents"]
    position: Int[np.ndarray, " documents"]
    known: Int[np.ndarray, " codes"]

    @property
    def has(self) -> Bool[np.ndarray, "runs queries"]:
        """Runs that answer each judged query."""
        return self.lengths > 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of documents."""
        return self.lengths.nbytes + self.code.nbytes + self.position.nbytes

    def only(self, names: Collection[str]) -> "JudgedRanks":
        """Keep the runs of these names."""
        runs = [i for i, name in enumerate(self.run_ids) if name in names]
        chosen = np.isin(self.run, runs)
        docs = np.repeat(chosen, self.count)
        run_ids = [self.run_ids[i] for i in runs]
        place = np.searchsorted(runs, self.run[chosen])
        where = self.query[chosen], place, self.count[chosen]
        return JudgedRanks(
            *(run_ids, self.query_ids, self.lengths[runs], *where),
            *(self.code[docs], self.position[docs], self.known),
        )

    def among(
        self, values: np.ndarray, out: np.ndarray, ranks: np.ndarray
    ) -> np.ndarray:
        """Keep the judged documents that have a value.

        Args:
            values: of each code, and of none at the end; -1 if there is none.
            out: takes the values of those that are kept, at its beginning ...
            ranks: ... and this their ranks.

        Returns:
            How many there are: int32 `[judged queries, runs]`.
        """
        value = values[self.known].take(self.code)
        value, position, counts = _kept(value, self.position, self.count)
        out[: len(value)], ranks[: len(value)] = value, position
        runs, queries = self.lengths.shape
        count = np.zeros((queries + 1, runs), np.int32)  # the last is unjudged
        count[self.query, self.run] = counts
        return count[:-1]


def find(
    table: RunTable | PackedBlock, judged: JudgedDocuments, order: str
) -> JudgedRanks:
    """Rank the documents of every run and query, and keep the judged ones.

    Args:
        table: whole runs, or a block of packed ones.
        judged: the documents to keep.
        order: `trec`, `clarke` or `rank`: see `tables.order`; of a block, as read.

    Raises:
        DataError: `order` is `rank`, and a rank is missing or is claimed twice.
    """
    if isinstance(table, PackedBlock):
        return _find_packed(table, judged)
    return _find_rows(table, judged, order)


def joined(parts: Sequence[JudgedRanks]) -> JudgedRanks:
    """Put parts together that have each ranking as a whole, of the same codes."""
    if len(parts) == 1:
        return parts[0]
    names = [run for part in parts for run in part.run_ids]
    number = {run: i for i, run in enumerate(dict.fromkeys(names))}
    lengths = np.zeros((len(number), parts[0].lengths.shape[1]), np.int32)
    rankings = []  # of each document: by query, then by run
    for part in parts:
        run = np.array([number[name] for name in part.run_ids])
        lengths[run] += part.lengths
        rankings.append(np.repeat(part.query * len(number) + run[part.run], part.count))
    of_doc = np.concatenate(rankings)
    by = np.argsort(of_doc, kind="stable")
    # Blocks of packed runs have documents of queries that are not judged: below 0.
    by = by[np.count_nonzero(of_doc < 0) :]
    code = np.concatenate([part.code for part in parts])[by]
    position = np.concatenate([part.position for part in parts])[by]
    count = np.bincount(of_doc[by], minlength=lengths.size)
    ranking = np.arange(lengths.size)
    query_ids = {query for part in parts for query in part.query_ids}
    where = ranking // len(number), ranking % len(number), count
    return JudgedRanks(
        [*number], query_ids, lengths, *where, code, position, parts[0].known
    )


def read_rankings(
    runs: Runs,
    judged: JudgedDocuments,
    order: str,
    *,
    only: Collection[str] | None = None,
    documents: int = 0,
    seen: Callable[[RunTable | PackedBlock], None] | None = None,
    progress: Progress | None = None,
) -> "Rankings":
    """Read runs as ranks of judged documents.

    Args:
        runs: the runs.
        judged: the documents to keep.
        order: see `find`.
        only: names of the runs to keep; None for all.
        documents: see `merged`.
        seen: called with whole runs, by the threads that read them.
        progress: called with `("reading", done, total)`.

    Raises:
        DataError: a run cannot be read or ranked.
    """

    def look_up(table: RunTable | PackedBlock) -> JudgedRanks:
        if seen:
            seen(table)
        return find(table, judged, order)

    with closing(runs.read(judged, order, look_up, progress=progress)) as units:
        whole = ((joined(read.parts), read.units) for read in units)
        if only is not None:
            chosen = ((ranks.only(only), count) for ranks, count in whole)
            whole = ((ranks, count) for ranks, count in chosen if ranks.run_ids)
        return Rankings(judged, [part for part, _ in merged(whole, documents)])


def merged(
    parts: Iterable[tuple[JudgedRanks, int]], documents: int
) -> Iterator[tuple[JudgedRanks, int]]:
    """Put parts of few documents together, and tell how many units each is from.

    Args:
        parts: whole runs, none in two parts, and how many units they are from.
        documents: that were retrieved; with so many, what was put together ends.
    """
    waiting: list[JudgedRanks] = []
    units = count = 0
    for ranks, ranks_of in parts:
        if waiting and waiting[0].known is not ranks.known:  # packed with other codes
            yield joined(waiting), units
            waiting, units, count = [], 0, 0
        waiting.append(ranks)
        units += ranks_of
        count += int(ranks.lengths.sum())
        if count > documents:
            yield joined(waiting), units
            waiting, units, count = [], 0, 0
    if waiting:
        yield joined(waiting), units


def _find_rows(table: RunTable, judged: JudgedDocuments, order: str) -> JudgedRanks:
    outlined = table.outline or outline(table.frame)
    rows = pl.DataFrame([*table.frame, pl.Series("hash", outlined.hash_)])
    rows, position, groups, lengths = ranked(rows, order, outlined.start)
    run_ids = [*dict.fromkeys(run for run, _ in groups)]
    number = {run: i for i, run in enumerate(run_ids)}
    query_ids = {intern(query) for _, query in groups}  # as every run names the same
    runs = np.array([number[run] for run, _ in groups], np.int32)
    queries = np.array([judged.number.get(q, -1) for _, q in groups], np.int32)
    retrieved = np.zeros((len(run_ids), len(judged) + 1), np.int32)
    retrieved[runs, queries] = lengths  # unjudged queries: the last column
    hash_ = rows["hash"].to_numpy()
    hits, code = judged.find(queries, lengths, rows["doc_id"], hash_)
    position = position[hits]
    ranking = queries * np.int64(len(run_ids)) + runs
    ranking = np.repeat(ranking, lengths)[hits]
    place = ranking * 2**32 + position
    if (place[1:] < place[:-1]).any():
        by = np.argsort(place, kind="stable")  # runs in order are put together
        code, position = code[by], position[by]
    count = np.bincount(ranking, minlength=len(run_ids) * len(judged))
    ranking = np.arange(len(count))
    where = ranking // len(run_ids), ranking % len(run_ids), count
    parts = retrieved[:, :-1], *where, code, position
    return JudgedRanks(run_ids, query_ids, *parts, judged.every_code)


def _find_packed(block: PackedBlock, judged: JudgedDocuments) -> JudgedRanks:
    number = np.array([judged.number.get(q, -1) for q in block.query_ids], np.int32)
    of_ranking = number[block.query]
    lengths = np.zeros((len(block.run_ids), len(judged) + 1), np.int32)
    # Unjudged queries: the last column.
    lengths[block.run, of_ranking] = block.length
    count, position = block.count, block.position
    if block.judged is not None:
        code, codes = block.judged, judged.codes(block.docs)
    else:
        code = _look_up(block, np.repeat(of_ranking, count), judged)
        code, position, count = _kept(code, position, count)
        codes = judged.every_code
    rankings = of_ranking, block.run, count
    names = block.run_ids, set(block.query_ids)
    return JudgedRanks(*names, lengths[:, :-1], *rankings, code, position, codes)


def _kept(
    value: np.ndarray, position: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drop the rows whose value is -1, and count again how many each ranking has."""
    mask = value >= 0
    if mask.all():
        return value, position, count.astype(np.int32)
    filled = np.flatnonzero(count)  # an empty sum would be the next row alone
    starts = (np.cumsum(count) - count)[filled]
    counts = np.zeros(len(count), np.int32)
    counts[filled] = np.add.reduceat(mask.view(np.int8), starts, dtype=np.int32)
    # Polars drops rows in a fraction of the time that numpy takes.
    rows = pl.Series(mask)
    value, position = (pl.Series(x).filter(rows).to_numpy() for x in (value, position))
    return value, position, counts


def _look_up(
    block: PackedBlock, query: np.ndarray, judged: JudgedDocuments
) -> np.ndarray:
    """Return the code of each document by its id, or -1."""
    assert block.doc is not None and block.doc_ids is not None
    ids = block.doc_ids.to_frame("doc_id").with_row_index("doc")
    judged_ids = ids.join(judged.table, on="doc_id").drop("doc_id")
    wanted = np.zeros(len(ids), bool)
    wanted[judged_ids["doc"].to_numpy()] = True
    rows = np.flatnonzero(wanted[block.doc])
    doc = block.doc[rows].astype(np.uint32)
    wanted_rows = pl.DataFrame({"row": rows, "doc": doc, "query": query[rows]})
    hits = wanted_rows.join(judged_ids, on=["query", "doc"])
    code = np.full(len(query), -1, np.int32)
    code[hits["row"].to_numpy()] = hits["code"].to_numpy()
    return code


class Rankings:
    """The ranks of judged documents in many runs.

    Attributes:
        run_ids: the runs.
        query_ids: queries that any run answers, judged or not.
    """

    def __init__(self, judged: JudgedDocuments, parts: Sequence[JudgedRanks]):
        """Take the ranks of parts of the runs, in order."""
        self._judged, self._parts = judged, list(parts)
        self.run_ids = [run for part in parts for run in part.run_ids]
        self.query_ids = {query for part in parts for query in part.query_ids}
        self._lengths = np.concatenate([part.lengths for part in parts])

    @property
    def size(self) -> int:
        """Number of judged documents that all runs retrieved."""
        return sum(len(part.code) for part in self._parts)

    @property
    def last(self) -> int:
        """The largest 0-based rank of all of them; 0 if there are none."""
        return max(int(part.position.max(initial=0)) for part in self._parts)

    def answered(self, query_ids: list[str]) -> Bool[np.ndarray, "runs queries"]:
        """Find which run has which judged query."""
        return self._lengths[:, [self._judged.number[q] for q in query_ids]] > 0

    def lengths(self, query_id: str) -> Int32[np.ndarray, " runs"]:
        """Return how many documents each run has for a judged query."""
        return self._lengths[:, self._judged.number[query_id]]

    def flat(
        self,
        docs: Mapping[str, np.ndarray],
        values: np.ndarray | None = None,
        room: int = 0,
        *,
        narrow: bool = False,
    ) -> FlatRuns:
        """Return the ranks of judged documents, and a value of each.

        Args:
            docs: Documents of judged queries.
            values: Value of each of them, query after query, none negative; None: their
                numbers from 0.
            room: Least number of documents to have room for, from an earlier call.
            narrow: whether all of it is sent to devices: then there is little padding,
                and values and ranks have the type `sent_type`.
        """
        lengths = [len(ids) for ids in docs.values()]
        if values is None:
            values = np.concatenate([np.arange(n) for n in [0, *lengths]])
        values = values.astype(np.int32, copy=False)
        values = np.append(self._judged.spread(docs, values), np.int32(-1))
        # With room for programs, so that they take it without a copy; pages that are
        # not written take no memory.
        longest = max(lengths, default=0)
        room = max(room, list_room(self.size, longest, sent=narrow))
        value, rank = (
            blank((room,), None, sent_type(largest) if narrow else np.int32)
            for largest in (int(values.max()), self.last)
        )
        first, count, end = [], [], 0
        for part in self._parts:
            count.append(part.among(values, value[end:], rank[end:]))
            ends = end + np.cumsum(count[-1], dtype=np.int32).reshape(count[-1].shape)
            first.append(ends - count[-1])
            end += int(count[-1].sum())
        numbers = np.array([self._judged.number[query] for query in docs], int)
        starts, counts = (np.concatenate(x, axis=1)[numbers] for x in (first, count))
        runs = accumulate((len(part.run_ids) for part in self._parts), initial=0)
        return FlatRuns(Documents(value, rank), starts, counts, np.array([*runs]))

    def retrieved(self, docs: Mapping[str, np.ndarray]) -> dict[str, Retrieved]:
        """Return the ranks of documents of judged queries, query by query."""
        flat = self.flat(docs)
        last = flat.edges[1:] - 1
        low = flat.first[:, flat.edges[:-1]]
        high = flat.first[:, last] + flat.count[:, last]
        starts = np.zeros((len(docs), len(self.run_ids) + 1), np.int64)
        np.cumsum(flat.count, axis=1, out=starts[:, 1:])
        retrieved = {}
        for query, begin, end, starts_of in zip(docs, low, high, starts, strict=True):
            parts = [*map(slice, begin.tolist(), end.tolist())]
            columns = [
                np.concatenate([column[part] for part in parts])
                for column in flat.documents
            ]
            retrieved[query] = Retrieved(starts_of, *columns)
        return retrieved
