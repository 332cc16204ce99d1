"""Graphs and rankings as padded arrays, in the form that suits each graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgcjax.kernels import ABSENT, words
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size, stack
from pgcjax.tensors.rankings import Retrieved


@dataclass(frozen=True)
class Prepared:
    """A graph, in the form in which its kernel takes it.

    Attributes:
        form: `levels` (a weak order), `words` (a matrix of words) or `wide` (a matrix
            of counts, without limits).
        size: padded length of the axis of vertices or levels.
        steps: how many steps the kernel needs; for `levels`, of the run with most.
        arrays: what does not depend on the run, unpadded.
    """

    form: str
    size: int
    steps: int
    arrays: tuple[np.ndarray, ...]


def prepare(graph: Graph) -> Prepared:
    """Choose the form of a graph and lay it out."""
    level = graph.weak_order()
    if level is not None:
        per_level = np.bincount(level) if len(level) else np.zeros(1, int)
        better = per_level[::-1].cumsum()[::-1] - per_level
        size = max(4, 1 << (len(better) - 1).bit_length())
        return Prepared("levels", size, 0, (level, better.astype(np.int32)))
    n, edges = len(graph), graph.edges()
    size = padded_size(n)
    out, into = edges.sum(1, dtype=np.int64), edges.sum(0, dtype=np.int64)
    if n > words.MOST_VERTICES or max(out.max(), into.max()) >= words.MOST_DEGREE:
        return Prepared("wide", size, n, (edges, np.ones(n, bool)))
    return as_words(edges, size)


def as_words(edges: np.ndarray, size: int) -> Prepared:
    """Lay a matrix of counts within the limits of `kernels.words` out in words."""
    rows = (edges.T << words.OUT) + (edges << words.IN)
    start = (edges.sum(1) << words.OUT) + (edges.sum(0) << words.IN)
    where = np.ones(len(edges), bool)
    return Prepared("words", size, len(edges), (rows, start.astype(np.int32), where))


def batch_graphs(graphs: Sequence[Prepared], tile: int) -> tuple[np.ndarray, ...]:
    """Stack what does not depend on the run, with empty queries up to `tile`."""
    size = graphs[0].size
    first = 1 if graphs[0].form == "levels" else 0  # levels of documents: see below
    parts = zip(*(g.arrays[first:] for g in graphs), strict=True)
    spare = tile - len(graphs)
    return tuple(
        stack(
            [*part, *[np.zeros((0,) * part[0].ndim, part[0].dtype)] * spare],
            (size,) * part[0].ndim,
            0,
        )
        for part in parts
    )


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
    lists = [r.of(runs) for r in retrieved]
    layouts = {"levels": _by_level, "words": _in_total_order, "wide": _by_vertex}
    lay_out = layouts[graphs[0].form]
    each = [lay_out(g, *x) for g, x in zip(graphs, lists, strict=True)]
    fills = {"levels": (0, ABSENT), "words": (0, 0, ABSENT), "wide": (ABSENT,)}
    steps = np.zeros(tile[0], np.int32)
    steps[: len(graphs)] = [
        x[0].shape[1] if g.form == "levels" else g.steps
        for g, x in zip(graphs, lists, strict=True)
    ]
    none = np.zeros((0, 0), np.int32)
    spare = [none] * (tile[0] - len(graphs))
    arrays = tuple(
        stack([*part, *spare], (tile[1], size), fill)
        for part, fill in zip(
            zip(*each, strict=True), fills[graphs[0].form], strict=True
        )
    )
    return arrays, steps


def _by_level(graph: Prepared, vertex: np.ndarray, rank: np.ndarray):
    level = graph.arrays[0]
    known = np.minimum(vertex, max(len(level) - 1, 0))
    return (level[known] if len(level) else np.zeros_like(vertex)), rank


def _in_total_order(graph: Prepared, vertex: np.ndarray, rank: np.ndarray):
    """Extend each run by the documents it did not retrieve, in ascending id."""
    n, (runs, k) = graph.steps, vertex.shape
    # Where a list is padded its vertex is n: an extra column takes those.
    order = np.full((runs, n + 1), -1, np.int32)
    place = np.broadcast_to(np.arange(k, dtype=np.int32), vertex.shape)
    np.put_along_axis(order, vertex, place, axis=1)
    order = order[:, :n]
    absent = order < 0
    count = n - absent.sum(1, keepdims=True, dtype=np.int32)
    order = np.where(absent, count + absent.cumsum(1, dtype=np.int32) - 1, order)
    inverse = np.empty_like(order)
    vertices = np.broadcast_to(np.arange(n, dtype=np.int32), order.shape)
    np.put_along_axis(inverse, order, vertices, axis=1)
    ranks = np.full((runs, n), ABSENT, np.int32)
    ranks[:, : min(k, n)] = rank[:, :n]
    return order, inverse, ranks


def _by_vertex(graph: Prepared, vertex: np.ndarray, rank: np.ndarray):
    ranks = np.full((len(vertex), graph.steps + 1), ABSENT, np.int32)
    np.put_along_axis(ranks, vertex, rank, axis=1)
    return (ranks[:, :-1],)
