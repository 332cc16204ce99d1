"""Graphs whose judgments are drawn again, and rankings, cut into tiles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, Int32

from pgcjax.engine.peel_tiles import Shapes
from pgcjax.engine.plan import BUDGET
from pgcjax.errors import DataError
from pgcjax.judging.resampled import Draws, edges
from pgcjax.runtime.devices import place
from pgcjax.tensors.graphs import MOST_DEGREE, Graph
from pgcjax.tensors.padding import list_width, padded_size, stack
from pgcjax.tensors.rank_tables import PackedRuns, rankings_by_place
from pgcjax.tensors.retrieved import Retrieved

if TYPE_CHECKING:
    import pandas as pd


_COUNTS = 2**15  # judgments of the queries of a tile: a block has 128 counts of each


class Query(NamedTuple):
    """A query, and what its replicates share.

    Attributes:
        column: its number.
        name: its id.
        size: number of vertices, if all judgments are there.
        drawn: which of the rows of its judgments prefer a document.
        pairs: vertices of the preferred and of the other document of each of these.
        fixed: edges that every replicate has: those of grades.
        kept: vertices that need no judgment: graded documents.
        most: a bound of all degrees of all replicates.
    """

    column: int
    name: str
    size: int
    drawn: Int[np.ndarray, " rows"]
    pairs: Int[np.ndarray, "rows 2"]
    fixed: Int32[np.ndarray, "n n"]
    kept: Bool[np.ndarray, " n"]
    most: int

    @property
    def graded(self) -> bool:
        """Whether the query is judged even where no judgment is drawn."""
        return bool(self.kept.any())


class QueryGroup(NamedTuple):
    """Queries of one padded size, and lists of judgments of one padded length."""

    size: int
    width: int
    queries: list[Query]


class Tile(NamedTuple):
    """Queries and runs, laid out for the calls of all blocks of replicates.

    Attributes:
        queries: up to as many as the first axis of the arrays.
        fixed: as of `Query`.
        kept: likewise.
        cells: of the matrix, of each judgment; beyond it for padding.
        ranks: the runs.
        most: the largest of the queries.
    """

    queries: Sequence[Query]
    fixed: Int32[np.ndarray, "queries n n"]
    kept: Bool[np.ndarray, "queries n"]
    cells: Int32[np.ndarray, "queries rows"]
    ranks: PackedRuns
    most: int


def queries_of(
    graphs: Mapping[str, Graph], preferences: "pd.DataFrame", draws: Draws
) -> list[Query]:
    """Find the vertices of each judgment of queries that have vertices.

    Raises:
        DataError: a query has more judgments than int32 degrees hold.
    """
    sign = preferences["preference"].to_numpy()
    docs = np.array([preferences["doc_id"], preferences["other_doc_id"]], object)
    winners = np.where(sign > 0, docs, docs[::-1])
    is_edge = edges(preferences)
    none = np.zeros(0, np.int64)
    out = []
    for column, (name, graph) in enumerate(graphs.items()):
        if not (n := len(graph)):
            continue
        rows = draws.rows.get(name, none)
        drawn = np.flatnonzero(is_edge[rows])
        pairs = np.searchsorted(graph.doc_ids, winners[:, rows[drawn]]).T
        alone = Graph(name, graph.doc_ids, np.zeros((0, 3), np.int64), graph.levels)
        fixed = alone.edges()
        kept = np.zeros(n, bool) if graph.levels is None else graph.levels >= 0
        most = int(max(fixed.sum(0).max(), fixed.sum(1).max()))
        most += draws.total(name) if len(rows) else 0
        if most >= MOST_DEGREE:
            raise DataError(
                f"query {name!r} may have a replicate with 2^30 judgments or more",
                mend="Lower the weights.",
            )
        out.append(Query(column, name, n, drawn, pairs, fixed, kept, most))
    return out


def groups(queries: Sequence[Query]) -> list[QueryGroup]:
    """Group queries by shape, the largest first, and those with few judgments apart."""
    found: dict[tuple[int, int], list[Query]] = {}
    for query in queries:
        shape = padded_size(query.size), list_width(len(query.drawn))
        found.setdefault(shape, []).append(query)
    return [QueryGroup(*key, found[key]) for key in sorted(found, reverse=True)]


def tiles(
    group: QueryGroup, retrieved: Mapping[str, Retrieved], runs: slice, most_runs: int
) -> Iterator[Tile]:
    """Lay some runs out for all queries of a group.

    Args:
        group: the queries.
        retrieved: judged documents that all runs retrieved.
        runs: which runs.
        most_runs: padded number of them.
    """
    shapes, size, devices = Shapes(BUDGET), group.size, jax.local_device_count()
    shapes.runs = most_runs
    together, _ = shapes.of("packed", size, len(group.queries))
    while together % (2 * devices) == 0 and together * group.width > _COUNTS:
        together //= 2
    for low in range(0, len(group.queries), together):
        queries = group.queries[low : low + together]
        cells = [q.pairs[:, 0] * size + q.pairs[:, 1] for q in queries]
        padded = stack(
            [cell.astype(np.int32) for cell in cells], (together, group.width), size**2
        )
        counts = np.zeros(together, np.int32)
        counts[: len(queries)] = [query.size for query in queries]
        ranks = rankings_by_place(
            counts,
            [retrieved[query.name] for query in queries],
            runs,
            (together, most_runs),
            size,
        )
        yield Tile(
            queries,
            stack([query.fixed for query in queries], (together, size, size), 0),
            stack([query.kept for query in queries], (together, size), False),
            padded,
            jax.tree.map(place, ranks),
            max(query.most for query in queries),
        )
