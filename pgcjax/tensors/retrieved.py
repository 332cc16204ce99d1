"""The judged documents that runs retrieved, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Int32, Int64

from pgcjax.tensors.padding import blank


@dataclass(frozen=True)
class Flat:
    """Judged documents of all queries that runs retrieved, end to end.

    Attributes:
        value: of each; there may be room after them.
        rank: its 0-based rank among all documents of the run.
        first: where those of each ranking begin, best first.
        count: how many there are.
        edges: runs 0, ..., their number: from one to the next, those of a query follow
            each other, run after run.
    """

    value: Int32[np.ndarray, " room"]
    rank: Int32[np.ndarray, " room"]
    first: Int32[np.ndarray, "queries runs"]
    count: Int32[np.ndarray, "queries runs"]
    edges: Int[np.ndarray, " parts"]

    def tile(
        self, queries: list[int], runs: slice, shape: tuple[int, int], room: int
    ) -> "Flat":
        """Take out the documents of some queries and runs, query after query.

        Args:
            queries: which queries.
            runs: which runs.
            shape: numbers of queries and runs, at least as many, of `first`.
            room: of `value`.
        """
        edges = np.unique(np.clip(self.edges, runs.start, runs.stop))
        counts_here = self.count[queries, runs]
        low = self.first[queries][:, edges[:-1]]
        high = low + np.add.reduceat(counts_here, edges[:-1] - runs.start, axis=1)
        bounds = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
        pieces = [slice(*bound) for bound in bounds]
        count = np.zeros(shape, np.int32)
        count[: len(queries), : runs.stop - runs.start] = counts_here
        ends = np.cumsum(count, dtype=np.int32).reshape(shape)
        # No program looks at what is behind them.
        value, rank = blank((room,), None), blank((room,), None)
        for source, out in ((self.value, value), (self.rank, rank)):
            parts = [source[piece] for piece in pieces]
            np.concatenate(parts, out=out[: ends[-1, -1]])
        edges = np.array([0, shape[1]])
        return Flat(value, rank, ends - count, count, edges)

    def documents(self) -> tuple[np.ndarray, ...]:
        """Return what `lists` gives, of a tile that holds nothing else."""
        pair, place = _numbered(self.count)
        return pair, place, self.value[: len(pair)], self.rank[: len(pair)]


@dataclass(frozen=True)
class Retrieved:
    """The judged documents of one query that runs retrieved, best first.

    Attributes:
        starts: where those of each run begin, and their number.
        vertex: index of each among the judged ones.
        rank: its 0-based rank among all documents of the run.
    """

    starts: Int64[np.ndarray, " runs_plus_1"]
    vertex: Int[np.ndarray, " k"]
    rank: Int[np.ndarray, " k"]

    @property
    def count(self) -> Int64[np.ndarray, " runs"]:
        """How many each run retrieved."""
        return np.diff(self.starts)

    @property
    def run(self) -> Int64[np.ndarray, " k"]:
        """Index of the run of each document."""
        return np.repeat(np.arange(len(self.starts) - 1), self.count)

    def of_runs(self, runs: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and ranks of the documents of some runs."""
        here = slice(self.starts[runs.start], self.starts[runs.stop])
        return self.vertex[here], self.rank[here]


def counts(
    retrieved: Sequence[Retrieved], runs: slice, tile: tuple[int, int]
) -> np.ndarray:
    """Count what some runs retrieved: int32 `[queries, runs]`, padded to a tile."""
    starts = [of_query.starts[runs.start : runs.stop + 1] for of_query in retrieved]
    count = np.zeros(tile, np.int32)
    count[: len(starts), : runs.stop - runs.start] = np.diff(np.array(starts))
    return count


def lists(
    retrieved: Sequence[Retrieved], runs: slice, tile: tuple[int, int]
) -> tuple[np.ndarray, ...]:
    """Lay the judged documents that some runs retrieved end to end.

    Args:
        retrieved: of each query.
        runs: which runs.
        tile: numbers of queries and runs, at least as many as there are.

    Returns:
        For each document: index of its query and run in the tile, laid end to end;
        place among the judged documents of that run; vertex; rank.
    """
    pieces = [of_query.of_runs(runs) for of_query in retrieved]
    vertex, rank = (np.concatenate(column) for column in zip(*pieces, strict=True))
    pair, place = _numbered(counts(retrieved, runs, tile))
    return pair, place, vertex, rank


def _numbered(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number rankings from 0, and in each of them its documents."""
    count = count.ravel()
    pair = np.repeat(np.arange(len(count)), count)
    return pair, np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
