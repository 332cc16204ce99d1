"""Graphs as padded adjacency tensors, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, Int64

from pgcjax.kernels import peel_packed
from pgcjax.tensors.edges import EdgePlaces, Edges
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
        (rest, matrices([graphs[i] for i in rest], size, levels=1)),
    )
    return [_renumbered(stack, which) for which, stacks in parts for stack in stacks]


def matrices(
    graphs: Sequence[Graph],
    size: int | list[int],
    *,
    levels: int = 0,
) -> list[Stack]:
    """Lay graphs out as packed words or, if they do not fit, as counts.

    Args:
        graphs: few enough for the matrices of all of them.
        size: padded number of vertices; or of each graph, equal ones together.
        levels: lay weak orders out as levels, if their padded vertices are as many in
            all; 0: never.

    Raises:
        DataError: a document is in more judgments than int32 degrees hold.
    """
    if not graphs:
        return []
    sizes = [size] * len(graphs) if isinstance(size, int) else size
    places = EdgePlaces.of(graphs, sizes)
    edges, which, where = Edges.of(graphs, places), places.which, places.where()
    out, into = edges.degrees()
    most = np.maximum.reduceat(np.maximum(out, into), places.first)[which]
    if most.max() >= MOST_DEGREE:
        worst = graphs[int(most.argmax())]
        dense([worst], len(worst))  # which refuses it
    packed = most < peel_packed.MOST_DEGREE
    packed &= places.vertices[which] <= peel_packed.MOST_VERTICES
    wide, orders = ~packed, []
    if levels:
        best = where & (into == 0)
        weak, level = _weak_orders(graphs, places, out, best, levels)
        lengths = places.vertices[which[weak]]
        orders = [_renumbered(stack, weak) for stack in as_levels(level, lengths)]
        packed[weak] = wide[weak] = False
    # Others are there in vain: to leave them out takes longer.
    arrays = _words(edges, out, into, where) if packed.any() else None
    stacks = []
    for size, rows, cut in places.groups:
        places_of = rows.start + np.flatnonzero(wide[rows]).astype(np.int32)
        if len(places_of):
            vertices = places.vertices[which[places_of]]
            where = np.arange(size) < vertices[:, None]
            stack = WideGraphs(
                dense([graphs[i] for i in places_of.tolist()], size), where
            )
            stacks.append(Stack("wide", size, places_of, vertices, stack))
        places_of = np.flatnonzero(packed[rows]).astype(np.int32)
        if arrays and len(places_of):
            stack, vertices = _of_places(arrays, places, cut), places.vertices[cut]
            if len(places_of) < rows.stop - rows.start:
                stack = PackedGraphs(*(taken(x, places_of) for x in stack))
                vertices = taken(vertices, places_of)
            stacks.append(
                Stack("packed", size, rows.start + places_of, vertices, stack)
            )
    return stacks + orders


def _words(
    edges: Edges,
    out: Int64[np.ndarray, " vertices"],
    into: Int64[np.ndarray, " vertices"],
    where: Bool[np.ndarray, " vertices"],
) -> PackedGraphs:
    """Lay graphs of all sizes out as words, one after another."""
    words = blank(out.shape)
    words[...] = (out << peel_packed.OUT) + (into << peel_packed.IN)
    return PackedGraphs(edges.rows(), words, where)


def _of_places(graphs: PackedGraphs, places: EdgePlaces, cut: slice) -> PackedGraphs:
    """Take out the graphs at some places, which are of one size."""
    size, count = int(places.sizes[cut.start]), cut.stop - cut.start
    first = int(places.first[cut.start])
    begin, vertices = int(places.row[first]) + first, slice(first, first + count * size)
    rows = graphs.rows[begin : begin + count * size * size]
    return PackedGraphs(
        rows.reshape(count, size, size),
        graphs.words[vertices].reshape(count, size),
        graphs.where[vertices].reshape(count, size),
    )


def _weak_orders(
    graphs: Sequence[Graph],
    places: EdgePlaces,
    out: Int64[np.ndarray, " vertices"],
    best: Bool[np.ndarray, " vertices"],
    enough: int,
) -> tuple[Int32[np.ndarray, " orders"], Int32[np.ndarray, " documents"]]:
    """Find the weak orders among graphs, and the levels of the documents of each.

    In a weak order everyone beats just those that beat fewer. Then the peel finds a
    sink at every step, whatever the counts, and is a sort.
    """
    # Most others are told apart by their best vertices alone: they beat all the rest.
    number = np.add.reduceat(best, places.first, dtype=np.int32)
    least = np.where(best, out, np.iinfo(np.int64).max)
    least = np.minimum.reduceat(least, places.first)
    may_be = (number > 0) & (least >= places.vertices - number)
    weak = np.flatnonzero(may_be[places.which]).astype(np.int32)
    there = places.which[weak]
    if places.sizes[there].sum() < enough:
        return weak[:0], weak[:0]
    weak = weak[np.argsort(places.vertices[there])]  # of a size together
    weak_graphs = [graphs[i] for i in weak.tolist()]
    stack = EdgePlaces.of(weak_graphs, [len(graph) for graph in weak_graphs])
    beats, (row, column) = Edges.of(weak_graphs, stack).beats(), stack.pairs()
    first = np.repeat(stack.first, stack.sizes)
    beaten = np.add.reduceat(beats, stack.row + first, dtype=np.int32)
    same = beats == (beaten[row] > beaten[column])
    same = np.logical_and.reduceat(same, stack.row[stack.first] + stack.first)
    # A level is a number of documents that are beaten; of all, nobody is the least.
    is_level = np.zeros(len(first), np.int32)
    is_level[first + beaten] = 1
    levels = is_level.cumsum(dtype=np.int32)
    level = levels[first + beaten] - levels[first]
    return weak[same], level[np.repeat(same, stack.sizes)]


def end_to_end(
    arrays: Sequence[np.ndarray],
) -> tuple[Int32[np.ndarray, " documents"], Int32[np.ndarray, " graphs"]]:
    """Put numbers of documents end to end, and say how many each graph has."""
    lengths = np.array([*map(len, arrays)], np.int32)
    whole = np.concatenate(arrays) if len(arrays) else lengths
    return whole.astype(np.int32), lengths


def _renumbered(stack: Stack, which: Sequence[int] | np.ndarray) -> Stack:
    """Number the graphs of a stack as those are of which they were taken."""
    return replace(stack, which=np.asarray(which, np.int32)[stack.which])


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
        stack, of_level = LevelGraphs(starts), level[(sizes == size)[graph]]
        stacks.append(Stack("levels", size, which, lengths[which], stack, of_level))
    return stacks


def batch_graphs(graphs: Stack, tile: int) -> Graphs:
    """Return what does not depend on the run, with empty queries up to `tile`."""
    if len(graphs) == tile:
        return graphs.arrays
    return type(graphs.arrays)(*(lengthened(array, tile) for array in graphs.arrays))
