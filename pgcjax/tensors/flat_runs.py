"""Runs as every batch takes them: rankings end to end, and the start of each.

They go to the devices once; a tile has only the starts of its rankings, from which the
program reads. So the host lays out nothing that depends on a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jnp


class Documents(NamedTuple):
    """The judged documents of all rankings, ranking after ranking, best first.

    They are sent to a GPU in the type `padding.sent_type`; programs have int32.

    Attributes:
        value: Value of each document, such as its vertex.
        rank: 0-based rank of each document.
    """

    value: Int[Any, " documents"]
    rank: Int[Any, " documents"]


class Where(NamedTuple):
    """Rankings of a tile: where each begins in `Documents`, and its documents."""

    first: Int32[Any, "*queries runs"]
    count: Int32[Any, "*queries runs"]


@dataclass(frozen=True)
class FlatRuns:
    """The judged documents that runs retrieved, as all tiles share them.

    Attributes:
        documents: Documents of all rankings, with room for a whole ranking at the end.
        first: Start of each ranking in the documents.
        count: Number of documents of each ranking.
        edges: Bounds of parts of the runs, from 0 to their number: within a part, the
            rankings of a query follow each other, run after run.
    """

    documents: Documents
    first: Int32[np.ndarray, "queries runs"]
    count: Int32[np.ndarray, "queries runs"]
    edges: Int[np.ndarray, " parts"]

    @property
    def room(self) -> int:
        """Number of documents for which there is room."""
        return len(self.documents.value)

    def to_depth(self, depth: int | None) -> "FlatRuns":
        """Count only documents down to a rank, as ranks ascend; None: all count."""
        if depth is None:
            return self
        filled = int((self.first + self.count).max(initial=0))
        near = np.zeros(filled + 1, np.int32)
        is_near = self.documents.rank[:filled] < depth
        np.cumsum(is_near, dtype=np.int32, out=near[1:])
        return replace(self, count=near[self.first + self.count] - near[self.first])

    def where(self, queries: Sequence[int], runs: slice) -> Where:
        """Places of the rankings of a tile."""
        return Where(self.first[queries, runs], self.count[queries, runs])


@dataclass(frozen=True)
class Retrieved:
    """The judged documents of one query that runs retrieved, best first.

    Attributes:
        starts: Start of each run's documents, and at the end their number.
        vertex: Index of each document among the judged ones.
        rank: 0-based rank of each document among all documents of the run.
    """

    starts: Int64[np.ndarray, " runs_plus_1"]
    vertex: Int[np.ndarray, " k"]
    rank: Int[np.ndarray, " k"]

    @property
    def count(self) -> Int64[np.ndarray, " runs"]:
        """Number of documents that each run retrieved."""
        return np.diff(self.starts)

    @property
    def run(self) -> Int64[np.ndarray, " k"]:
        """Index of the run of each document."""
        return np.repeat(np.arange(len(self.starts) - 1), self.count)

    def of_runs(self, runs: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and ranks of the documents of some runs."""
        here = slice(self.starts[runs.start], self.starts[runs.stop])
        return self.vertex[here], self.rank[here]


class RunRanks(NamedTuple):
    """Runs as `kernels.peel_packed` takes them.

    Attributes:
        order: place of each vertex in the run, extended to a total order.
        inverse: the vertex at each place.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
    """

    order: Int32[Any, "*queries runs n"]
    inverse: Int32[Any, "*queries runs n"]
    ranks: Int32[Any, "*queries runs n"]


def listed(
    documents: Documents, runs: Where, width: int
) -> tuple[
    Int32[Array, "runs width"], Int32[Array, "runs width"], Bool[Array, "runs width"]
]:
    """Values and ranks of the documents of several rankings, and where there are any.

    Places after the last document of a ranking have documents of other rankings.
    """
    place = jnp.arange(width, dtype=jnp.int32)[None, :]
    cell = runs.first[:, None] + place
    there = place < runs.count[:, None]
    value, rank = (x.at[cell].get(mode="clip") for x in map(jnp.asarray, documents))
    return value, rank, there


def by_place(documents: Documents, runs: Where, n: int) -> RunRanks:
    """Lay runs out by place: after a run's documents those it lacks, then padding."""
    vertex, rank, there = listed(documents, runs, n)
    place = jnp.arange(n, dtype=jnp.int32)[None, :]
    row = jnp.arange(len(vertex))[:, None]
    order = jnp.full(vertex.shape, -1, jnp.int32)
    order = order.at[row, jnp.where(there, vertex, n)].set(place, mode="drop")
    lacking = order < 0
    after = runs.count[:, None] + jnp.cumsum(lacking, axis=1, dtype=jnp.int32) - 1
    order = jnp.where(lacking, after, order)
    inverse = jnp.zeros(order.shape, jnp.int32).at[row, order].set(place)
    return RunRanks(order, inverse, jnp.where(there, rank, ABSENT))


def by_vertex(documents: Documents, runs: Where, n: int) -> Int32[Array, "runs n"]:
    """Rank of each vertex in each run, `ABSENT` if not retrieved."""
    vertex, rank, there = listed(documents, runs, n)
    row = jnp.arange(len(vertex))[:, None]
    ranks = jnp.full(vertex.shape, ABSENT, jnp.int32)
    return ranks.at[row, jnp.where(there, vertex, n)].set(rank, mode="drop")
