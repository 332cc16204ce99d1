"""Graphs and rankings as padded arrays, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgcjax.kernels import ABSENT, words
from pgcjax.tensors.graphs import Graph, dense
from pgcjax.tensors.layout import stack
from pgcjax.tensors.retrieved import Retrieved, lists


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
    ready: dict[int, Prepared] = {}
    for i, graph in enumerate(graphs):
        level = graph.graded_only()
        if level is not None:
            ready[i] = _as_levels(level)
    rest = [i for i in range(len(graphs)) if i not in ready]
    if rest:
        edges = dense([graphs[i] for i in rest], size)
        forms = _as_edges(edges, np.array([len(graphs[i]) for i in rest]))
        ready.update(zip(rest, forms, strict=True))
    return [ready[i] for i in range(len(graphs))]


def _as_edges(edges: np.ndarray, counts: np.ndarray) -> list[Prepared]:
    """Lay out matrices of counts, `[graphs, size, size]`."""
    size = edges.shape[-1]
    where = np.arange(size) < counts[:, None]
    # A weak order: everyone beats just those that beat fewer. Then the peel finds a
    # sink at every step, whatever the counts, and is a sort.
    above = edges > 0
    beaten = above.sum(2, dtype=np.int32)
    weak = above == ((beaten[:, :, None] > beaten[:, None, :]) & where[:, None, :])
    weak = weak.all((1, 2))
    degrees = edges.sum(2, dtype=np.int32), edges.sum(1, dtype=np.int32)
    fits = np.maximum(*degrees).max(1, initial=0) < words.MOST_DEGREE
    fits &= counts <= words.MOST_VERTICES
    rows = (edges.swapaxes(1, 2) << words.OUT) + (edges << words.IN)
    start = (degrees[0] << words.OUT) + (degrees[1] << words.IN)
    return [
        _as_levels(np.unique(beaten[i, :n], return_inverse=True)[1].astype(np.int32))
        if weak[i]
        else Prepared("words", size, n, (rows[i], start[i], where[i]))
        if fits[i]
        else Prepared("wide", size, n, (edges[i], where[i]))
        for i, n in enumerate(counts.tolist())
    ]


def _as_levels(level: np.ndarray) -> Prepared:
    per_level = np.bincount(level, minlength=1)
    better = per_level[::-1].cumsum()[::-1] - per_level
    size = max(4, 1 << (len(better) - 1).bit_length())
    return Prepared("levels", size, 0, (level, better.astype(np.int32)))


def batch_graphs(graphs: Sequence[Prepared], tile: int) -> tuple[np.ndarray, ...]:
    """Stack what does not depend on the run, with empty queries up to `tile`."""
    size = graphs[0].size
    # The levels of documents are for `batch_rankings`; a kernel wants those of ranks.
    first = 1 if graphs[0].form == "levels" else 0
    parts = zip(*(g.arrays[first:] for g in graphs), strict=True)
    return tuple(stack(part, (tile, *(size,) * part[0].ndim), 0) for part in parts)


def batch_rankings(
    graphs: Sequence[Prepared],
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
    size: int,
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Stack what depends on the run, with empty queries and runs up to `tile`.

    Args:
        graphs: the queries, of one form and size.
        retrieved: judged documents that the runs retrieved, for each query.
        runs: which runs.
        tile: numbers of queries and runs.
        size: padded length of the axis of documents.

    Returns:
        int32 arrays `[queries, runs, size]`, and the steps of each query.
    """
    form = graphs[0].form
    query, run, place, vertex, rank = lists(retrieved, runs, tile)
    by_place = np.full((*tile, size), ABSENT, np.int32)
    steps = np.zeros(tile[0], np.int32)
    steps[: len(graphs)] = [g.steps for g in graphs]
    if form == "wide":
        by_place[query, run, vertex] = rank
        return (by_place,), steps
    by_place[query, run, place] = rank
    if form == "levels":
        np.maximum.at(steps, query, place.astype(np.int32) + 1)
        widest = max(len(g.arrays[0]) for g in graphs)
        of_vertex = stack([g.arrays[0] for g in graphs], (tile[0], widest), 0)
        level = np.zeros((*tile, size), np.int32)
        level[query, run, place] = of_vertex[query, vertex]
        return (level, by_place), steps
    # Each run is extended by the documents that it did not retrieve, in ascending id;
    # padding stands behind them.
    order = np.full((*tile, size), -1, np.int32)
    order[query, run, vertex] = place
    absent = order < 0
    behind = absent.cumsum(2, dtype=np.int32)
    found = size - behind[:, :, -1:]
    order += absent * (found + behind)  # theirs is -1 so far
    inverse = np.empty_like(order)
    vertices = np.broadcast_to(np.arange(size, dtype=np.int32), order.shape)
    np.put_along_axis(inverse, order, vertices, axis=2)
    return (order, inverse, by_place), steps
