"""Graphs and rankings as padded arrays, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgcjax.kernels import ABSENT, words
from pgcjax.tensors.graphs import Graph, dense
from pgcjax.tensors.layout import blank, stack
from pgcjax.tensors.retrieved import Flat, Retrieved, counts, lists

_FEW = 2**29  # judgments in all, of which int32 holds any sum


@dataclass(frozen=True)
class Prepared:
    """A graph, in the form in which its kernel takes it.

    Attributes:
        form: `levels` (a weak order), `words` (a matrix of words) or `wide` (a matrix
            of counts, without limits).
        size: padded length of the axis of vertices or levels.
        steps: how many steps the kernel needs; for `levels`, rankings decide.
        arrays: what does not depend on the run.
    """

    form: str
    size: int
    steps: int
    arrays: tuple[np.ndarray, ...]


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
    """Lay graphs out as words or, if they do not fit, as counts.

    Args:
        graphs: up to `size` vertices each, few enough for `[graphs, size, size]`.
        size: padded number of vertices.
        levels: lay out weak orders as levels.
    """
    if not graphs:
        return []
    edges, counts = _edges(graphs, size), np.array([len(g) for g in graphs])
    where = np.arange(size) < counts[:, None]
    degrees = edges.sum(2, dtype=np.int32), edges.sum(1, dtype=np.int32)
    fits = np.maximum(*degrees).max(1, initial=0) < words.MOST_DEGREE
    fits &= counts <= words.MOST_VERTICES
    start = (degrees[0] << words.OUT) + (degrees[1] << words.IN)
    ready = _weak_orders(edges, where) if levels else {}
    for i in np.flatnonzero(~fits).tolist():
        n = int(counts[i])
        ready.setdefault(i, Prepared("wide", size, n, (edges[i].copy(), where[i])))
    # In place: it is new memory that takes time here.
    rows = np.ascontiguousarray(edges.swapaxes(1, 2))
    rows <<= words.OUT
    edges <<= words.IN
    rows += edges
    for i, n in enumerate(counts.tolist()):
        if i not in ready:
            ready[i] = Prepared("words", size, n, (rows[i], start[i], where[i]))
    return [ready[i] for i in range(len(graphs))]


def _edges(graphs: Sequence[Graph], size: int) -> np.ndarray:
    """Do what `graphs.dense` does, but sooner where counts are small."""
    wins = np.concatenate([graph.wins for graph in graphs])
    if wins[:, 2].sum() > _FEW:
        return dense(graphs, size)
    edges = np.zeros((len(graphs), size, size), np.int32)
    graph = np.repeat(np.arange(len(graphs)), [len(g.wins) for g in graphs])
    cell = (graph * size + wins[:, 0]) * size + wins[:, 1]
    np.add.at(edges.reshape(-1), cell, wins[:, 2].astype(np.int32))
    for row, graph in zip(edges, graphs, strict=True):
        if graph.levels is not None:
            n, level = len(graph), graph.levels
            row[:n, :n] += (level[:, None] > level[None, :]) & (level >= 0)[None, :]
    return edges


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
    some = np.flatnonzero(most[:, 0] + best == where.sum(1))
    beat = beaten[some]
    beats = (beat[:, :, None] > beat[:, None, :]) & where[some, None, :]
    some = some[(above[some] == beats).all((1, 2))]
    level = [np.unique(beaten[i, where[i]], return_inverse=True)[1] for i in some]
    return dict(zip(some.tolist(), as_levels(level), strict=True))


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
            (level[end - length : end], better[i, :count]),
        )
        for i, (count, end, length) in enumerate(
            zip(counts.tolist(), ends.tolist(), lengths, strict=True)
        )
    ]


def batch_graphs(graphs: Sequence[Prepared], tile: int) -> tuple[np.ndarray, ...]:
    """Stack what does not depend on the run, with empty queries up to `tile`."""
    size = graphs[0].size
    # The levels of documents are for `batch_levels`; a kernel wants those of ranks.
    first = 1 if graphs[0].form == "levels" else 0
    parts = zip(*(g.arrays[first:] for g in graphs), strict=True)
    return tuple(stack(part, (tile, *(size,) * part[0].ndim), 0) for part in parts)


def batch_rankings(
    graphs: Sequence[Prepared],
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Stack what depends on the run, with empty queries and runs up to `tile`.

    Args:
        graphs: the queries, of `words` or `wide` form and one size.
        retrieved: judged documents that the runs retrieved, for each query.
        runs: which runs.
        tile: numbers of queries and runs.

    Returns:
        int32 arrays `[queries, runs, size]`, and the steps of each query.
    """
    size = graphs[0].size
    steps = np.zeros(tile[0], np.int32)
    steps[: len(graphs)] = [g.steps for g in graphs]
    pair, place, vertex, rank = lists(retrieved, runs, tile)
    # Where each run begins in flat arrays: one index is faster than three.
    begin = pair * size
    by_vertex = begin + vertex
    cells = (tile[0] * tile[1] * size,)
    ranks = blank(cells, ABSENT)
    if graphs[0].form == "wide":
        ranks[by_vertex] = rank
        return (ranks.reshape(*tile, size),), steps
    by_place = begin + place
    ranks[by_place] = rank
    # Padding has the last places, in order.
    number = np.arange(size, dtype=np.int32)
    order, inverse = blank(cells), blank(cells)
    for column in (order, inverse):
        rest = np.where(number < steps[:, None], np.int32(-1), number)
        column.reshape(*tile, size)[...] = rest[:, None]
    order[by_vertex] = place
    inverse[by_place] = vertex
    # The documents that a run did not retrieve take the places that are left, both
    # ascending.
    left, places = np.flatnonzero(order < 0), np.flatnonzero(inverse < 0)
    number = np.tile(number, tile[0] * tile[1])
    order[left], inverse[places] = number[places], number[left]
    return tuple(x.reshape(*tile, size) for x in (order, inverse, ranks)), steps


def batch_levels(
    graphs: Sequence[Prepared],
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
    room: int,
) -> Flat:
    """Lay documents end to end, with their levels in place of vertices.

    Args:
        graphs: the queries, of `levels` form and one size.
        retrieved: judged documents that the runs retrieved, for each query.
        runs: which runs.
        tile: numbers of queries and runs, at least as many as there are.
        room: for documents.
    """
    count = counts(retrieved, runs, tile)
    ends = np.cumsum(count, dtype=np.int32).reshape(tile)
    level, ranks, end = blank((room,)), blank((room,)), 0
    for graph, found in zip(graphs, retrieved, strict=True):
        vertex, rank = found.of_runs(runs)
        here = slice(end, end + len(vertex))
        graph.arrays[0].take(vertex, out=level[here], mode="clip")
        ranks[here] = rank
        end = here.stop
    return Flat(level, ranks, ends - count, count, np.array([0, tile[1]]))
