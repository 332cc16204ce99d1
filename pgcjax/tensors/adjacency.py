"""Graphs as padded adjacency tensors, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32

from pgcjax.kernels import peel_packed
from pgcjax.tensors.graphs import Graph, dense
from pgcjax.tensors.padding import blank, lengthened


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
class Stack:
    """Graphs of one form and size, as their kernel takes them.

    Attributes:
        form: `levels` (weak orders), `packed` (matrices of words) or `wide` (matrices
            of counts, without limits).
        size: padded length of the axis of vertices or levels.
        which: number of each graph among those that were laid out.
        vertices: of each graph. A peel takes as many steps; of `levels`, rankings
            decide.
        arrays: what does not depend on the run, of one graph after another.
        level: of the documents of one graph after another; of `levels` alone.
    """

    form: str
    size: int
    which: Int32[np.ndarray, " graphs"]
    vertices: Int32[np.ndarray, " graphs"]
    arrays: Graphs
    level: Int32[np.ndarray, " documents"] | None = None

    def __len__(self) -> int:
        return len(self.which)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)


def prepare(graphs: Sequence[Graph], size: int) -> list[Stack]:
    """Choose the form of each graph, and lay all of them out.

    Args:
        graphs: up to `size` vertices each, few enough for `[graphs, size, size]`.
        size: padded number of vertices.
    """
    level = {i: graph.graded_only() for i, graph in enumerate(graphs)}
    graded = {i: of_graph for i, of_graph in level.items() if of_graph is not None}
    rest = [i for i in level if i not in graded]
    parts = (
        ([*graded], as_levels([*graded.values()])),
        (rest, matrices([graphs[i] for i in rest], size, levels=True)),
    )
    return [_renumbered(own, which) for which, stacks in parts for own in stacks]


def matrices(
    graphs: Sequence[Graph], size: int, *, levels: bool = False
) -> list[Stack]:
    """Lay graphs out as packed words or, if they do not fit, as counts.

    Args:
        graphs: up to `size` vertices each, few enough for `[graphs, size, size]`.
        size: padded number of vertices.
        levels: lay out weak orders as levels.
    """
    if not graphs:
        return []
    edges, counts = dense(graphs, size), np.array([len(g) for g in graphs], np.int32)
    where = np.arange(size) < counts[:, None]
    degrees = edges.sum(2, dtype=np.int32), edges.sum(1, dtype=np.int32)
    fits = np.maximum(*degrees).max(1, initial=0) < peel_packed.MOST_DEGREE
    fits &= counts <= peel_packed.MOST_VERTICES
    stacks, rest = _weak_orders(edges, where) if levels else ([], np.ones_like(fits))
    for form, of_form in (("wide", rest & ~fits), ("packed", rest & fits)):
        which = np.flatnonzero(of_form).astype(np.int32)
        if not len(which):
            continue
        own = edges, *degrees, where
        if len(which) < len(graphs):
            own = tuple(array[which] for array in own)
        arrays = _packed(*own) if form == "packed" else WideGraphs(own[0], own[-1])
        stacks.append(Stack(form, size, which, counts[which], arrays))
    return stacks


def _packed(
    edges: np.ndarray, out: np.ndarray, into: np.ndarray, where: np.ndarray
) -> PackedGraphs:
    """Make words of counts, which are lost."""
    # In place: it is new memory that takes time here.
    rows, words = blank(edges.shape), blank(out.shape)
    np.left_shift(edges.swapaxes(1, 2), peel_packed.OUT, out=rows)
    edges <<= peel_packed.IN
    rows += edges
    np.left_shift(out, peel_packed.OUT, out=words)
    words += into << peel_packed.IN
    return PackedGraphs(rows, words, lengthened(where, len(where)))


def _weak_orders(
    edges: np.ndarray, where: np.ndarray
) -> tuple[list[Stack], Bool[np.ndarray, " graphs"]]:
    """Find the matrices of weak orders, and lay them out as levels.

    In a weak order everyone beats just those that beat fewer. Then the peel finds a
    sink at every step, whatever the counts, and is a sort.

    Returns:
        The weak orders, and which graphs are left.
    """
    beaten = np.count_nonzero(edges, axis=2).astype(np.int32)
    # Most others are told apart by their best vertices alone: they beat all the rest.
    most = beaten.max(1, keepdims=True)
    best = (where & (beaten == most)).sum(1)
    candidates = np.flatnonzero(most[:, 0] + best == where.sum(1))
    beat = beaten[candidates]
    beats = (beat[:, :, None] > beat[:, None, :]) & where[candidates, None, :]
    candidates = candidates[((edges[candidates] > 0) == beats).all((1, 2))]
    level = [np.unique(beaten[i, where[i]], return_inverse=True)[1] for i in candidates]
    stacks = [_renumbered(own, candidates) for own in as_levels(level)]
    rest = np.ones(len(edges), bool)
    rest[candidates] = False
    return stacks, rest


def _renumbered(own: Stack, which: Sequence[int] | np.ndarray) -> Stack:
    """Number the graphs of a stack as those are of which they were taken."""
    return replace(own, which=np.asarray(which, np.int32)[own.which])


def as_levels(levels: Sequence[np.ndarray]) -> list[Stack]:
    """Lay out weak orders, given the level of each document: 0, 1, ... upwards."""
    if not levels:
        return []
    lengths = np.array([len(level) for level in levels], np.int32)
    level = np.concatenate(levels).astype(np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    counts = np.maximum.reduceat(level, ends - lengths) + 1
    width = counts.max()
    graph = np.repeat(np.arange(len(levels)), lengths)
    per_level = np.bincount(graph * width + level, minlength=len(levels) * width)
    # 0 beyond the last level: no document is left.
    better = lengths[:, None] - per_level.reshape(-1, width).cumsum(1)
    sizes = np.array([max(4, 1 << (n - 1).bit_length()) for n in counts.tolist()])
    stacks = []
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size).astype(np.int32)
        starts = blank((len(which), size))
        starts[:, :width] = better[which, :size]
        own = LevelGraphs(starts)
        of_level = level[np.isin(graph, which)]
        stacks.append(Stack("levels", size, which, lengths[which], own, of_level))
    return stacks


def batch_graphs(graphs: Stack, tile: int, low: int = 0) -> Graphs:
    """Give what does not depend on the run, with empty queries up to `tile`.

    Args:
        graphs: of one form and size.
        tile: number of queries.
        low: the first of them.
    """
    part = type(graphs.arrays)(*(array[low : low + tile] for array in graphs.arrays))
    if len(part[0]) == tile:
        return part
    return type(part)(*(lengthened(array, tile) for array in part))
