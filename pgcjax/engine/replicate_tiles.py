"""Graphs whose judgments are drawn again, and rankings, cut into tiles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Int64

from pgcjax.engine import plan
from pgcjax.engine.peel_batch import Form, bytes_of
from pgcjax.errors import DataError
from pgcjax.io.weights import UNIT, by_sides, in_parts, weights_of
from pgcjax.judging.resampled import Draws, edges
from pgcjax.later import jax
from pgcjax.runtime.devices import default_backend, local_device_count, place
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
        drawn: which of the rows of its judgments prefer a document; and again which of
            them count for the other document, too, where they count for both.
        pairs: vertices of the preferred and of the other document of each of these.
        fixed: edges that every replicate has: those of grades.
        kept: vertices that need no judgment: graded documents.
        most: a bound of all degrees of all replicates.
        first: how many of `drawn` are of the preferred document.
    """

    column: int
    name: str
    size: int
    drawn: Int[np.ndarray, " rows"]
    pairs: Int[np.ndarray, "rows 2"]
    fixed: Int32[np.ndarray, "n n"]
    kept: Bool[np.ndarray, " n"]
    most: int
    first: int = -1

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


class Soft(NamedTuple):
    """Judgments of which some count in part.

    Attributes:
        soft: what a probability is: `margin` or `both`, of `io.weights.SOFT`.
        sign: of each row, above 0 if its document is the likelier one.
        most: the probability that the likelier one is better; 1 of hard votes.
    """

    soft: str
    sign: Float[np.ndarray, " rows"]
    most: Float[np.ndarray, " rows"]

    @classmethod
    def of(cls, preferences: "pd.DataFrame", soft: str) -> "Soft | None":
        """Take what judgments say; None if all count as a whole."""
        sign = np.sign(preferences["preference"].to_numpy(np.float64))
        p = np.full(len(preferences), np.nan)
        if "probability" in preferences:
            p = preferences["probability"].to_numpy(np.float64)
        if by_sides(sign, weights_of(preferences), p, soft).unit == 1:
            return None
        p = np.where(np.isnan(p) | (soft == "sign"), 0.5 + sign / 2, p)
        form = "both" if soft == "both" else "margin"
        return cls(form, np.sign(p - 0.5), np.maximum(p, 1 - p))

    def amounts(
        self,
        query: Query,
        rows: Int[np.ndarray, " rows"],
        weights: Float[np.ndarray, "replicates rows"],
    ) -> Int64[np.ndarray, "replicates edges"]:
        """Say how much each edge of a query counts in replicates.

        Args:
            query: the query.
            rows: places of its judgments.
            weights: of these in each replicate.

        Raises:
            DataError: a document has more judgments than int32 degrees hold.
        """
        won, lost = in_parts(weights, self.most[rows], self.soft)
        first = query.first
        parts = won[:, query.drawn[:first]], lost[:, query.drawn[first:]]
        amounts = np.concatenate(parts, axis=1)
        degrees = np.zeros((2, query.size, len(weights)), np.int64)
        for axis, of_axis in enumerate(degrees):
            of_axis[:] = query.fixed.sum(1 - axis)[:, None]
            np.add.at(of_axis, query.pairs[:, axis], amounts.T)
        if degrees.max(initial=0) >= MOST_DEGREE:
            raise DataError(
                f"query {query.name!r} has a replicate with a document in "
                f"{MOST_DEGREE // UNIT} judgments or more, and some count in part",
                mend="Lower the weights.",
            )
        if not query.fixed.any():  # smaller counts are peeled faster, and just so
            amounts //= max(1, int(np.gcd.reduce(amounts, axis=None)))
        return amounts


def queries_of(
    graphs: Mapping[str, Graph],
    preferences: "pd.DataFrame",
    draws: Draws,
    soft: Soft | None = None,
) -> list[Query]:
    """Find the vertices of each judgment of queries that have vertices.

    Args:
        graphs: of all judgments.
        preferences: canonical, of which they were made.
        draws: of these.
        soft: what counts in part, if anything does.

    Raises:
        DataError: a query has more judgments than int32 degrees hold.
    """
    sign = preferences["preference"].to_numpy() if soft is None else soft.sign
    docs = np.array([preferences["doc_id"], preferences["other_doc_id"]], object)
    winners = np.where(sign > 0, docs, docs[::-1])
    is_edge = edges(preferences) & (sign != 0)
    none = np.zeros(0, np.int64)
    out = []
    for column, (name, graph) in enumerate(graphs.items()):
        if not (n := len(graph)):
            continue
        rows = draws.rows.get(name, none)
        drawn = np.flatnonzero(is_edge[rows])
        if soft is not None:  # what rounds to nothing has no vertex
            there = np.isin(winners[:, rows[drawn]], graph.doc_ids).all(0)
            drawn = drawn[there]
        pairs = np.searchsorted(graph.doc_ids, winners[:, rows[drawn]]).T
        first, unit = len(drawn), 1 if soft is None else UNIT
        if soft is not None and soft.soft == "both":
            lost = soft.most[rows[drawn]] < 1
            pairs = np.concatenate([pairs, pairs[lost][:, ::-1]])
            drawn = np.concatenate([drawn, drawn[lost]])
        alone = Graph(name, graph.doc_ids, np.zeros((0, 3), np.int64), graph.levels)
        fixed = replace(alone, unit=unit).edges()
        kept = np.zeros(n, bool) if graph.levels is None else graph.levels >= 0
        most = int(max(fixed.sum(0).max(), fixed.sum(1).max()))
        most += unit * draws.total(name) if len(rows) else 0
        if most >= MOST_DEGREE and soft is None:  # else it is known when they are drawn
            raise DataError(
                f"query {name!r} may have a replicate with 2^30 judgments or more",
                mend="Lower the weights.",
            )
        out.append(Query(column, name, n, drawn, pairs, fixed, kept, most, first))
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
    size, devices = group.size, local_device_count()
    per_query, per_pair = bytes_of(Form("packed", size))
    together, _ = plan.tile(
        len(group.queries),
        most_runs,
        per_query=per_query,
        per_pair=per_pair,
        devices=devices,
        near=default_backend() == "cpu",
    )
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
