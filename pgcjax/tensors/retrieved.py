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

    def most(self) -> int:
        """Count the judged documents in the run that has most."""
        return int(np.bincount(self.run).max()) if len(self.run) else 0


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
    cut = [np.searchsorted(r.run, (runs.start, runs.stop)) for r in retrieved]
    run, vertex, rank = (
        np.concatenate([x[low:high] for x, (low, high) in zip(each, cut, strict=True)])
        for each in zip(*((r.run, r.vertex, r.rank) for r in retrieved), strict=True)
    )
    query = np.repeat(np.arange(len(cut)), [high - low for low, high in cut])
    run = run - runs.start
    count = np.bincount(query * tile[1] + run, minlength=tile[0] * tile[1])
    place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
    return query, run, place, vertex, rank
