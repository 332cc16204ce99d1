"""The judged documents that runs retrieved, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Retrieved:
    """The judged documents of one query that runs retrieved, best first.

    Attributes:
        run: index of the run of each, ascending.
        vertex: index of the document among the judged ones.
        rank: 0-based rank among all documents of the run, ascending within a run.
        vertices: number of judged documents.
        runs: number of runs.
    """

    run: np.ndarray
    vertex: np.ndarray
    rank: np.ndarray
    vertices: int
    runs: int

    def most(self, runs: int = 1) -> int:
        """Count the judged documents in those that have most of every so many runs."""
        if runs >= self.runs or not len(self.run):
            return len(self.run)
        count = np.bincount(self.run, minlength=self.runs)
        return int(np.add.reduceat(count, range(0, self.runs, runs)).max())

    def within(self, depth: int | None) -> int:
        """Count the judged documents in the run that has most of them to a depth."""
        run = self.run if depth is None else self.run[self.rank < depth]
        return int(np.bincount(run, minlength=1).max())

    def of_runs(self, runs: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give runs, vertices and ranks of the documents of some runs."""
        if len(range(*runs.indices(self.runs))) == self.runs:
            return self.run, self.vertex, self.rank
        low, high = np.searchsorted(self.run, (runs.start, runs.stop))
        return self.run[low:high], self.vertex[low:high], self.rank[low:high]


def lists(
    retrieved: Sequence[Retrieved], runs: slice, tile: tuple[int, int]
) -> tuple[np.ndarray, ...]:
    """Lay the judged documents that some runs retrieved end to end.

    Args:
        retrieved: of each query.
        runs: which runs.
        tile: numbers of queries and runs, at least as many as there are.

    Returns:
        For each document: index of its query, index of its run in `runs`, place among
        the judged documents of that run, vertex, rank.
    """
    some = [r.of_runs(runs) for r in retrieved]
    run, vertex, rank = (np.concatenate(each) for each in zip(*some, strict=True))
    query = np.repeat(np.arange(len(some)), [len(each[0]) for each in some])
    run = run - runs.start
    count = np.bincount(query * tile[1] + run, minlength=tile[0] * tile[1])
    place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
    return query, run, place, vertex, rank


def listed(
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
    width: int,
    depth: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Lay out the judged documents that some runs retrieved within a depth.

    Args:
        retrieved: of each query.
        runs: which runs.
        tile: numbers of queries and runs, at least as many as there are.
        width: length of a list, at least as many as any run has.
        depth: last rank that counts; None if all do.

    Returns:
        Vertices and ranks from 1, both 0 where there is none: int32
        `[queries, runs, width]`.
    """
    query, run, place, vertex, rank = lists(retrieved, runs, tile)
    if depth is not None:  # ranks ascend in a run: places stay
        near = rank < depth
        query, run, place = query[near], run[near], place[near]
        vertex, rank = vertex[near], rank[near]
    cell = (query * tile[1] + run) * width + place
    vertices, ranks = np.zeros((2, tile[0] * tile[1] * width), np.int32)
    vertices[cell], ranks[cell] = vertex, rank + 1
    shape = *tile, width
    return vertices.reshape(shape), ranks.reshape(shape)
