"""Graphs as padded adjacency tensors, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32

from pgcjax.kernels import peel_packed
from pgcjax.tensors.graphs import Graph, dense
from pgcjax.tensors.padding import stack


class PackedGraphs(NamedTuple):
    """Graphs as `kernels.peel_packed` takes them; a single one lacks the first axis.

    Attributes:
        rows: `rows[q, u]` is what removing u takes from every other word.
        words: degrees of every vertex.
        where: True for vertices.
    """

    rows: Int32[np.ndarray, "*queries n n"]
    words: Int32[np.ndarray, "*queries n"]
    where: Bool[np.ndarray, "*queries n"]


class WideGraphs(NamedTuple):
    """Graphs as `kernels.peel` takes them, without limits; one lacks the first axis.

    Attributes:
        edges: `edges[q, u, v]` judgments prefer u to v.
        where: True for vertices.
    """

    edges: Int32[np.ndarray, "*queries n n"]
    where: Bool[np.ndarray, "*queries n"]


class LevelGraphs(NamedTuple):
    """Weak orders as `kernels.peel_levels` takes them; one lacks the first axis.

    Attributes:
        starts: number of documents of better levels, for each level.
    """

    starts: Int32[np.ndarray, "*queries levels"]


Graphs = PackedGraphs | WideGraphs | LevelGraphs


@dataclass(frozen=True)
class Prepared:
    """A graph, in the form in which its kernel takes it.

    Attributes:
        form: `levels` (a weak order), `packed` (a matrix of words) or `wide` (a matrix
            of counts, without limits).
        size: padded length of the axis of vertices or levels.
        steps: how many steps the kernel needs; for `levels`, rankings decide.
        arrays: what does not depend on the run.
        level: of each document; of `levels` alone.
    """

    form: str
    size: int
    steps: int
    arrays: Graphs
    level: Int32[np.ndarray, " n"] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)


def prepare(graphs: Sequence[Graph], size: int) -> list[Prepared]:
    """Choose the form of each graph, and lay it out.

    Args:
        graphs: up to `size` vertices each, few enough for `[graphs, size, size]`.
        size: padded number of vertices.
    """
    graded = [graph.graded_only() for graph in graphs]
    levels = iter(as_levels([level for level in graded if level is not None]))
    rest = [g for g, level in zip(graphs, graded, strict=True) if level is None]
    edges = iter(matrices(rest, size, levels=True))
    return [next(edges if level is None else levels) for level in graded]


def matrices(
    graphs: Sequence[Graph], size: int, *, levels: bool = False
) -> list[Prepared]:
    """Lay graphs out as packed words or, if they do not fit, as counts.

    Args:
        graphs: up to `size` vertices each, few enough for `[graphs, size, size]`.
        size: padded number of vertices.
        levels: lay out weak orders as levels.
    """
    if not graphs:
        return []
    edges, counts = dense(graphs, size), np.array([len(g) for g in graphs])
    where = np.arange(size) < counts[:, None]
    degrees = edges.sum(2, dtype=np.int32), edges.sum(1, dtype=np.int32)
    fits = np.maximum(*degrees).max(1, initial=0) < peel_packed.MOST_DEGREE
    fits &= counts <= peel_packed.MOST_VERTICES
    start = (degrees[0] << peel_packed.OUT) + (degrees[1] << peel_packed.IN)
    ready = _weak_orders(edges, where) if levels else {}
    for i in np.flatnonzero(~fits).tolist():
        n = int(counts[i])
        ready.setdefault(
            i, Prepared("wide", size, n, WideGraphs(edges[i].copy(), where[i]))
        )
    # In place: it is new memory that takes time here.
    rows = np.ascontiguousarray(edges.swapaxes(1, 2))
    rows <<= peel_packed.OUT
    edges <<= peel_packed.IN
    rows += edges
    for i, n in enumerate(counts.tolist()):
        if i not in ready:
            arrays = PackedGraphs(rows[i], start[i], where[i])
            ready[i] = Prepared("packed", size, n, arrays)
    return [ready[i] for i in range(len(graphs))]


def _weak_orders(edges: np.ndarray, where: np.ndarray) -> dict[int, Prepared]:
    """Find the matrices of weak orders, and lay them out as levels.

    In a weak order everyone beats just those that beat fewer. Then the peel finds a
    sink at every step, whatever the counts, and is a sort.
    """
    above = edges > 0
    beaten = above.sum(2, dtype=np.int32)
    # Most others are told apart by their best vertices alone: they beat all the rest.
    most = beaten.max(1, keepdims=True)
    best = (where & (beaten == most)).sum(1)
    candidates = np.flatnonzero(most[:, 0] + best == where.sum(1))
    beat = beaten[candidates]
    beats = (beat[:, :, None] > beat[:, None, :]) & where[candidates, None, :]
    candidates = candidates[(above[candidates] == beats).all((1, 2))]
    level = [np.unique(beaten[i, where[i]], return_inverse=True)[1] for i in candidates]
    return dict(zip(candidates.tolist(), as_levels(level), strict=True))


def as_levels(levels: Sequence[np.ndarray]) -> list[Prepared]:
    """Lay out weak orders, given the level of each document: 0, 1, ... upwards."""
    if not levels:
        return []
    lengths = [len(level) for level in levels]
    level = np.concatenate(levels).astype(np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    counts = np.maximum.reduceat(level, ends - np.array(lengths)) + 1
    width = counts.max()
    cell = level + np.repeat(np.arange(len(levels)) * width, lengths)
    per_level = np.bincount(cell, minlength=len(levels) * width).reshape(-1, width)
    better = (np.array(lengths)[:, None] - per_level.cumsum(1)).astype(np.int32)
    return [
        Prepared(
            "levels",
            max(4, 1 << (count - 1).bit_length()),
            0,
            LevelGraphs(better[i, :count]),
            level[end - length : end],
        )
        for i, (count, end, length) in enumerate(
            zip(counts.tolist(), ends.tolist(), lengths, strict=True)
        )
    ]


def batch_graphs(graphs: Sequence[Prepared], tile: int) -> Graphs:
    """Stack what does not depend on the run, with empty queries up to `tile`.

    Args:
        graphs: of one form and size.
        tile: number of queries.
    """
    size, kind = graphs[0].size, type(graphs[0].arrays)
    parts = zip(*(g.arrays for g in graphs), strict=True)
    return kind(*(stack(part, (tile, *(size,) * part[0].ndim), 0) for part in parts))
