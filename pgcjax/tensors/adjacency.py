"""Graphs as padded adjacency tensors, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, Int64

from pgcjax.kernels import peel_packed
from pgcjax.tensors.graphs import MOST_DEGREE, Graph, dense
from pgcjax.tensors.padding import blank, lengthened, taken


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
        ([*graded], as_levels(*end_to_end([*graded.values()]))),
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

    Raises:
        DataError: a document is in more judgments than int32 degrees hold.
    """
    if not graphs:
        return []
    edges, vertices = _Edges.of(graphs, size), np.array([*map(len, graphs)], np.int32)
    where = np.arange(size) < vertices[:, None]
    out, into = edges.degrees()
    most = np.maximum(out, into).max(1, initial=0)
    if most.max() >= MOST_DEGREE:
        dense(graphs, size)  # which refuses the graph with most
    fits = most < peel_packed.MOST_DEGREE
    fits &= vertices <= peel_packed.MOST_VERTICES
    stacks, rest = [], np.ones(len(graphs), bool)
    if levels:
        weak, level = _weak_orders(graphs, out, into, where)
        stacks = [_renumbered(own, weak) for own in as_levels(level, vertices[weak])]
        rest[weak] = False
    for form, of_form in (("wide", rest & ~fits), ("packed", rest & fits)):
        which = np.flatnonzero(of_form).astype(np.int32)
        if not len(which):
            continue
        if form == "wide":
            own = dense([graphs[i] for i in which.tolist()], size)
            arrays = WideGraphs(own, where[which])
        else:  # others are there in vain: to leave them out takes longer
            words = (out << peel_packed.OUT) + (into << peel_packed.IN)
            arrays = PackedGraphs(edges.rows(), words.astype(np.int32), where)
            if len(which) < len(graphs):
                arrays = PackedGraphs(*(taken(array, which) for array in arrays))
        stacks.append(Stack(form, size, which, vertices[which], arrays))
    return stacks


class _Edges(NamedTuple):
    """The edges of graphs, end to end.

    Attributes:
        shape: number of graphs, and padded number of their vertices.
        better: the vertex that is preferred, ...
        worse: ... the other one, ...
        judgments: ... and how many judgments say so.
        start: number of the first vertex of the graph, among those of all graphs.
        graded: the graphs that have grades, which add edges, and their numbers.
    """

    shape: tuple[int, int]
    better: Int64[np.ndarray, " edges"]
    worse: Int64[np.ndarray, " edges"]
    judgments: Int64[np.ndarray, " edges"]
    start: Int64[np.ndarray, " edges"]
    graded: dict[int, Graph]

    @classmethod
    def of(cls, graphs: Sequence[Graph], size: int) -> "_Edges":
        """Lay the edges of graphs out."""
        wins = [graph.wins for graph in graphs]
        better, worse, judgments = np.ascontiguousarray(np.concatenate(wins).T)
        start = np.repeat(np.arange(len(graphs)) * size, [*map(len, wins)])
        graded = {i: g for i, g in enumerate(graphs) if g.levels is not None}
        return cls((len(graphs), size), better, worse, judgments, start, graded)

    def degrees(
        self,
    ) -> tuple[Int64[np.ndarray, "graphs n"], Int64[np.ndarray, "graphs n"]]:
        """Count the judgments that prefer each vertex, and those against it."""
        cells = self.shape[0] * self.shape[1]
        out, into = (
            np.bincount(self.start + vertex, self.judgments, cells).astype(np.int64)
            for vertex in (self.better, self.worse)
        )
        out, into = out.reshape(self.shape), into.reshape(self.shape)
        for i, graph in self.graded.items():
            below, above = graph.graded_degrees()
            out[i, : len(below)] += below
            into[i, : len(above)] += above
        return out, into

    def rows(self) -> Int32[np.ndarray, "graphs n n"]:
        """Say what removing each vertex takes from every other word."""
        graphs, size = self.shape
        rows = blank((graphs, size, size))
        # A vertex takes from those that are preferred to it, and from the others.
        for vertex, other, bits in (
            (self.worse, self.better, peel_packed.OUT),
            (self.better, self.worse, peel_packed.IN),
        ):
            cell = (self.start + vertex) * size + other
            np.add.at(rows.reshape(-1), cell, (self.judgments << bits).astype(np.int32))
        for i, graph in self.graded.items():
            if graph.unit < peel_packed.MOST_DEGREE:  # else it has another form
                part, above = rows[i, : len(graph), : len(graph)], graph.above()
                part += above.T * np.int32(graph.unit << peel_packed.OUT)
                part += above * np.int32(graph.unit << peel_packed.IN)
        return rows


def _weak_orders(
    graphs: Sequence[Graph],
    out: Int64[np.ndarray, "graphs n"],
    into: Int64[np.ndarray, "graphs n"],
    where: Bool[np.ndarray, "graphs n"],
) -> tuple[Int32[np.ndarray, " orders"], Int32[np.ndarray, " documents"]]:
    """Find the weak orders among graphs, and the levels of the documents of each.

    In a weak order everyone beats just those that beat fewer. Then the peel finds a
    sink at every step, whatever the counts, and is a sort.
    """
    # Most others are told apart by their best vertices alone: they beat all the rest.
    best = where & (into == 0)
    rest = where.sum(1) - best.sum(1)
    least = np.where(best, out, np.iinfo(np.int64).max).min(1, initial=rest.max())
    weak = np.flatnonzero(best.any(1) & (least >= rest)).astype(np.int32)
    if not len(weak):
        return weak, weak
    beats = dense([graphs[i] for i in weak.tolist()], where.shape[1]) > 0
    beaten = beats.sum(2, dtype=np.int32)
    fewer = (beaten[:, :, None] > beaten[:, None, :]) & where[weak, None, :]
    same = (beats == fewer).all((1, 2))
    weak, there, beaten = weak[same], where[weak[same]], beaten[same]
    # A level is a number of documents that are beaten.
    graph, beaten = np.nonzero(there)[0], beaten[there]
    is_level = np.zeros(there.shape, np.int32)
    is_level[graph, beaten] = 1
    return weak, (is_level.cumsum(1, dtype=np.int32) - 1)[graph, beaten]


def end_to_end(
    arrays: Sequence[np.ndarray],
) -> tuple[Int32[np.ndarray, " documents"], Int32[np.ndarray, " graphs"]]:
    """Put numbers of documents end to end, and say how many each graph has."""
    lengths = np.array([*map(len, arrays)], np.int32)
    whole = np.concatenate(arrays) if len(arrays) else lengths
    return whole.astype(np.int32), lengths


def _renumbered(own: Stack, which: Sequence[int] | np.ndarray) -> Stack:
    """Number the graphs of a stack as those are of which they were taken."""
    return replace(own, which=np.asarray(which, np.int32)[own.which])


def as_levels(
    level: Int32[np.ndarray, " documents"], lengths: Int32[np.ndarray, " graphs"]
) -> list[Stack]:
    """Lay out weak orders.

    Args:
        level: of the documents of one after another: 0, 1, ... upwards.
        lengths: documents of each, at least 1.
    """
    if not len(lengths):
        return []
    ends, graph = np.cumsum(lengths), np.repeat(np.arange(len(lengths)), lengths)
    counts = np.maximum.reduceat(level, ends - lengths) + 1
    width = int(counts.max())
    per_level = np.bincount(graph * width + level, minlength=len(lengths) * width)
    # 0 beyond the last level: no document is left.
    better = lengths[:, None] - per_level.reshape(-1, width).cumsum(1)
    sizes = np.array([max(4, 1 << (n - 1).bit_length()) for n in counts.tolist()])
    stacks = []
    for size in sorted(set(sizes.tolist())):
        which = np.flatnonzero(sizes == size).astype(np.int32)
        starts = blank((len(which), size))
        starts[:, :width] = better[which, :size]
        own, of_level = LevelGraphs(starts), level[(sizes == size)[graph]]
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
