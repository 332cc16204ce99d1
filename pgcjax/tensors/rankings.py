"""Runs as ranks of judged documents: all that scoring needs of them."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from pgcjax.tables.order import ranked
from pgcjax.tables.packed import Block
from pgcjax.tensors.retrieved import Retrieved

_ROWS = 200_000  # that are looked up at once: of small files, several


class Judged:
    """The judged documents of every query, numbered.

    Attributes:
        docs: document ids of each query, ascending; queries ascending, too.
        number: place of each query in `docs`.
        table: query, doc_id, vertex: all of them by number.
    """

    def __init__(self, docs: Mapping[str, np.ndarray]):
        self.docs = docs = {query: docs[query] for query in sorted(docs)}
        self.number = {query: i for i, query in enumerate(docs)}
        self._places: dict[int, tuple[dict[str, int], np.ndarray] | None] = {}
        counts = [len(d) for d in docs.values()]
        vertex = np.concatenate([np.arange(n, dtype=np.int32) for n in [0, *counts]])
        self.table = pl.DataFrame(
            {
                "query": np.repeat(np.arange(len(docs), dtype=np.int32), counts),
                "doc_id": [doc for each in docs.values() for doc in each.tolist()],
                "vertex": vertex,
            },
            schema_overrides={"doc_id": pl.String},
        )

    def __len__(self) -> int:
        return len(self.docs)

    def vertices(
        self,
        docs: Mapping[str, Sequence[str]],
        query_ids: Sequence[str],
        count: np.ndarray,
        place: np.ndarray,
    ) -> np.ndarray:
        """Translate places among other lists of documents: vertices, or -1.

        Args:
            docs: the other documents of each query; the same object at every call.
            query_ids: queries, ...
            count: ... of how many documents each, which follow each other ...
            place: ... by their places in `docs` of that query; -1 gives -1.
        """
        if id(docs) not in self._places:
            self._places[id(docs)] = self._translation(docs)
        if (found := self._places[id(docs)]) is None:
            return place
        start, flat = found
        starts = np.array([start.get(name, 0) for name in query_ids], np.int32)
        at = np.repeat(starts, count)
        at += place
        return flat[at]

    def _translation(
        self, docs: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, int], np.ndarray] | None:
        """Lay out what `vertices` looks up; None if these are the same documents."""
        mine = {query: some.tolist() for query, some in self.docs.items()}
        if mine == docs:
            return None
        start, flat = {}, [-1, -1]  # a query that is not here: whatever its place
        for name, some in docs.items():
            known = {doc: i for i, doc in enumerate(mine.get(name, ()))}
            start[name] = len(flat) + 1
            flat += [-1, *(known.get(doc, -1) for doc in some)]  # -1 stands before 0
        return start, np.array(flat, np.int32)


@dataclass(frozen=True)
class Found:
    """The judged documents that some whole runs retrieved.

    Attributes:
        run_ids: the runs.
        query_ids: queries that any of them answers, judged or not.
        lengths: int32 `[runs, judged queries]`: documents that each retrieved in all.
        rows: query, run, vertex and position (int32) of each document, by query, then
            by run, then by position.
    """

    run_ids: list[str]
    query_ids: set[str]
    lengths: np.ndarray
    rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    @property
    def has(self) -> np.ndarray:
        """Which run answers which judged query: bool `[runs, judged queries]`."""
        return self.lengths > 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.lengths.nbytes + sum(column.nbytes for column in self.rows)


def batches(
    tables: Iterable[pl.DataFrame | Block],
) -> Generator[list[pl.DataFrame] | Block]:
    """Put small tables together, to be looked up at once."""
    waiting: list[pl.DataFrame] = []
    for table in tables:
        if isinstance(table, pl.DataFrame):
            waiting.append(table)
            if sum(map(len, waiting)) > _ROWS:
                yield waiting
                waiting = []
        else:
            if waiting:
                yield waiting
                waiting = []
            yield table
    if waiting:
        yield waiting


def find(tables: Sequence[pl.DataFrame] | Block, judged: Judged, order: str) -> Found:
    """Rank the documents of every run and query, and keep the judged ones.

    Args:
        tables: canonical runs, or a block of packed ones; whole runs, each in one.
        judged: the documents to keep.
        order: `trec`, `clarke` or `rank`: see `tables.order`; of a block, as read.

    Raises:
        DataError: `order` is `rank`, and a rank is missing or is claimed twice.
    """
    if isinstance(tables, Block):
        return _find_packed(tables, judged)
    return _find_rows(tables, judged, order)


def _find_rows(tables: Sequence[pl.DataFrame], judged: Judged, order: str) -> Found:
    run_ids: list[str] = []
    query_ids: set[str] = set()
    retrieved: list[np.ndarray] = []
    frames = []
    for table in tables:
        number: dict[str, int] = {}
        doc_id, position, groups, lengths = ranked(table, order)
        code = np.full((2, len(groups)), -1, np.int32)
        for i, ((run, query), length) in enumerate(zip(groups, lengths, strict=True)):
            if run not in number:
                number[run] = len(run_ids)
                run_ids.append(run)
                retrieved.append(np.zeros(len(judged), np.int32))
            if query in judged.number:
                code[:, i] = number[run], judged.number[query]
                retrieved[number[run]][judged.number[query]] = length
            query_ids.add(query)
        run, query = np.repeat(code, lengths, axis=1)
        columns = {"doc_id": doc_id, "position": position, "run": run, "query": query}
        frames.append(pl.DataFrame(columns))
    rows = pl.concat(frames).lazy().filter(pl.col("query") >= 0)
    rows = rows.join(judged.table.lazy(), on=["query", "doc_id"])
    rows = rows.select("query", "run", "vertex", "position")
    rows = rows.sort("query", "run", "position").collect()
    columns = tuple(rows[c].to_numpy() for c in ("query", "run", "vertex", "position"))
    return Found(run_ids, query_ids, np.array(retrieved), columns)


def _find_packed(block: Block, judged: Judged) -> Found:
    number = np.array([judged.number.get(q, -1) for q in block.query_ids], np.int32)
    # Rows stand query by query: what is of a query is repeated, not looked up.
    count = np.bincount(block.query, minlength=len(number))
    # Each ranking begins with its first document, judged or not, which has its length.
    first = np.flatnonzero(block.length)
    lengths = np.zeros((len(block.run_ids), len(judged) + 1), np.int32)
    # Unjudged queries: the last column.
    lengths[block.run[first], number[block.query[first]]] = block.length[first]
    if block.judged is not None:
        vertex = judged.vertices(block.docs, block.query_ids, count, block.judged)
    else:
        vertex = _look_up(block, np.repeat(number, count), judged)
    known = vertex >= 0
    if (number < 0).any():
        known &= np.repeat(number >= 0, count)
    keep = np.flatnonzero(known)
    kept = np.diff(np.searchsorted(keep, np.cumsum([0, *count])))
    query = np.repeat(number, kept)
    rows = query, block.run[keep], vertex[keep], block.position[keep]
    return Found(block.run_ids, set(block.query_ids), lengths[:, :-1], rows)


def _look_up(block: Block, query: np.ndarray, judged: Judged) -> np.ndarray:
    """Give the vertex of each document by its id, or -1."""
    assert block.doc is not None and block.doc_ids is not None
    ids = block.doc_ids.to_frame("doc_id").with_row_index("doc")
    known = ids.join(judged.table, on="doc_id").drop("doc_id")
    wanted = np.zeros(len(ids), bool)
    wanted[known["doc"].to_numpy()] = True
    rows = np.flatnonzero(wanted[block.doc])
    some = {"row": rows, "doc": block.doc[rows].astype(np.uint32), "query": query[rows]}
    hits = pl.DataFrame(some).join(known, on=["query", "doc"])
    vertex = np.full(len(query), -1, np.int32)
    vertex[hits["row"].to_numpy()] = hits["vertex"].to_numpy()
    return vertex


class Rankings:
    """The ranks of judged documents in many runs.

    Attributes:
        run_ids: the runs.
        query_ids: queries that any run answers, judged or not.
    """

    def __init__(self, judged: Judged, found: Sequence[Found]):
        """Put together what was found, in order."""
        self._judged = judged
        self.run_ids = [run for part in found for run in part.run_ids]
        self.query_ids = {query for part in found for query in part.query_ids}
        self._lengths = np.concatenate([part.lengths for part in found])
        # Each part stands query by query: so do slices of all parts, put together.
        queries = np.arange(len(judged) + 1)
        ends = [np.searchsorted(part.rows[0], queries) for part in found]
        first = np.cumsum([0, *(len(part.run_ids) for part in found)]).tolist()
        runs = [
            part.rows[1] + np.int32(n) for part, n in zip(found, first, strict=False)
        ]
        columns = runs, [part.rows[2] for part in found], [p.rows[3] for p in found]
        bounds = np.transpose(ends).tolist()
        self._columns = tuple(
            _by_query(column, bounds) if len(found) > 1 else column[0]
            for column in columns
        )
        self._ends = np.sum(ends, axis=0)

    @property
    def size(self) -> int:
        """Number of judged documents that all runs retrieved."""
        return len(self._columns[0])

    def answered(self, query_ids: list[str]) -> np.ndarray:
        """Say which run has which judged query: bool `[runs, queries]`."""
        return self._lengths[:, [self._judged.number[q] for q in query_ids]] > 0

    def lengths(self, query_id: str) -> np.ndarray:
        """Give how many documents each run has for a judged query: int32 `[runs]`."""
        return self._lengths[:, self._judged.number[query_id]]

    def retrieved(self, query_id: str, doc_ids: np.ndarray) -> Retrieved:
        """Give the ranks of some judged documents of a query.

        Args:
            query_id: a judged query.
            doc_ids: the documents, ascending.
        """
        i = self._judged.number[query_id]
        run, code, rank = (c[self._ends[i] : self._ends[i + 1]] for c in self._columns)
        judged = self._judged.docs[query_id]
        if len(doc_ids) == len(judged):
            return Retrieved(run, code, rank, len(doc_ids), len(self.run_ids))
        vertex_of = np.full(len(judged), -1, np.int32)
        vertex_of[np.searchsorted(judged, doc_ids)] = np.arange(len(doc_ids))
        vertex = vertex_of[code]
        keep = np.flatnonzero(vertex >= 0)
        found = run[keep], vertex[keep], rank[keep]
        return Retrieved(*found, len(doc_ids), len(self.run_ids))


def _by_query(parts: list[np.ndarray], bounds: list[list[int]]) -> np.ndarray:
    """Put parts together, query by query; `bounds` is `[queries + 1, parts]`."""
    return np.concatenate(
        [
            part[low:high]
            for lows, highs in pairwise(bounds)
            for part, low, high in zip(parts, lows, highs, strict=True)
        ]
        or [np.zeros(0, np.int32)]
    )
