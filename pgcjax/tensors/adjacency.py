"""Graphs as padded adjacency tensors, in the form that suits each graph.

A weak order needs no matrix: it is `levels`. All others are matrices of edges: `packed`
ones hold both degrees of a vertex in one word, `wide` ones count without limits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, Int64, Integer

from pgcjax.kernels import peel_packed
from pgcjax.tensors.graphs import MOST_DEGREE, Graph, dense
from pgcjax.tensors.padding import blank, padded_size

Level = Int32[np.ndarray, " n"]


class PackedGraphs(NamedTuple):
    """Graphs as `kernels.peel_packed` takes them; a single one lacks the first axis.

    Attributes:
        rows: `rows[q, u]` is subtracted from the other words when u is removed.
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

    edges: Integer[np.ndarray, "*queries n n"]
    where: Bool[np.ndarray, "*queries n"]


class Form(NamedTuple):
    """Layout of a graph; graphs of one form share a program.

    Attributes:
        name: `levels`, `packed` or `wide`.
        size: padded number of levels, or of vertices.
    """

    name: str
    size: int


class FormedGraph(NamedTuple):
    """The form of a graph, and of `levels` the level of each document: 0 is worst."""

    form: Form
    level: Level | None = None


def forms(
    graphs: Sequence[Graph], *, weak_orders_from: int = 0
) -> list[FormedGraph | None]:
    """Choose the form of each graph; None for one without vertices.

    Args:
        graphs: Graphs of all queries.
        weak_orders_from: Graphs whose votes make a weak order are `levels` if they have
            at least so many padded vertices in all: to compile that form for fewer
            takes longer than to peel them.

    Raises:
        DataError: a document is in more judgments than int32 degrees hold.
    """
    levels = {i: graph.graded_only() for i, graph in enumerate(graphs) if len(graph)}
    rest = [i for i, level in levels.items() if level is None]
    degrees, weak = _degrees_and_weak_orders([graphs[i] for i in rest])
    if sum(padded_size(len(level)) for level in weak.values()) >= weak_orders_from:
        levels |= {rest[k]: level for k, level in weak.items()}
    degree = dict(zip(rest, degrees.tolist(), strict=True))
    out: list[FormedGraph | None] = [None] * len(graphs)
    for i, level in levels.items():
        n = len(graphs[i])
        if level is not None:
            size = max(4, 1 << int(level.max()).bit_length())
            out[i] = FormedGraph(Form("levels", size), level)
        else:
            fits = n <= peel_packed.MOST_VERTICES
            fits = fits and degree[i] < peel_packed.MOST_DEGREE
            out[i] = FormedGraph(Form("packed" if fits else "wide", padded_size(n)))
    return out


def packed(graphs: Sequence[Graph], size: int) -> PackedGraphs:
    """Lay graphs out whose degrees fit into words, padded to `size` vertices."""
    rows = blank((len(graphs), size, size))
    wins, first = _end_to_end(graphs, [size] * len(graphs))
    better, worse, votes = wins.T.copy()
    # Removing a vertex lowers degrees of those preferred to it, and of those it beats.
    for vertex, other, bits in (
        (worse, better, peel_packed.OUT),
        (better, worse, peel_packed.IN),
    ):
        cell = (first + vertex) * size + other
        np.add.at(rows.reshape(-1), cell, votes.astype(np.int32) << bits)
    for row, graph in zip(rows, graphs, strict=True):
        if graph.levels is not None and (above := graph.above()).any():
            part = row[: len(graph), : len(graph)]
            part += above.T * np.int32(graph.unit << peel_packed.OUT)
            part += above * np.int32(graph.unit << peel_packed.IN)
    words = blank((len(graphs), size))
    rows.sum(1, dtype=np.int32, out=words)  # removing all takes all edges
    return PackedGraphs(rows, words, _vertices(graphs, size))


def wide(graphs: Sequence[Graph], size: int) -> WideGraphs:
    """Lay graphs out as counts, padded to `size` vertices."""
    return WideGraphs(dense(graphs, size), _vertices(graphs, size))


def of_levels(
    levels: Sequence[Level], size: int
) -> Int32[np.ndarray, "queries levels"]:
    """Count the documents of better levels, for each level of weak orders.

    Args:
        levels: Level of each document, for each query; level 0 is the worst.
        size: Padded number of levels.
    """
    starts = blank((len(levels), size))
    for row, level in zip(starts, levels, strict=True):
        row[:] = len(level) - np.bincount(level, minlength=size).cumsum()
    return starts


def _vertices(graphs: Sequence[Graph], size: int) -> Bool[np.ndarray, "graphs n"]:
    where = blank((len(graphs), size), None, bool)
    sizes = np.array([len(graph) for graph in graphs])
    return np.less(np.arange(size), sizes[:, None], out=where)


def _end_to_end(
    graphs: Sequence[Graph], lengths: Sequence[int] | np.ndarray
) -> tuple[Int64[np.ndarray, "wins 3"], Int64[np.ndarray, " wins"]]:
    """Votes of all graphs, and the first vertex of the graph of each vote."""
    first = np.cumsum(lengths) - lengths
    wins = np.concatenate([graph.wins for graph in graphs]).astype(np.int64, copy=False)
    return wins, np.repeat(first, [len(graph.wins) for graph in graphs])


def _degrees_and_weak_orders(
    graphs: Sequence[Graph],
) -> tuple[Int64[np.ndarray, " graphs"], dict[int, Level]]:
    """Largest degree of each graph, and levels of those that are weak orders.

    In a weak order each document beats exactly those that beat fewer. Then the peel
    finds a sink at every step, whatever the counts, so it is a sort.
    """
    if not graphs:
        return np.zeros(0, np.int64), {}
    sizes = np.array([len(graph) for graph in graphs])
    first, (wins, start) = np.cumsum(sizes) - sizes, _end_to_end(graphs, sizes)
    out, into = (
        np.bincount(wins[:, side] + start, wins[:, 2], sizes.sum()).astype(np.int64)
        for side in (0, 1)
    )
    for graph, low in zip(graphs, first.tolist(), strict=True):
        if graph.levels is not None:
            below, above = graph.graded_degrees()
            out[low : low + len(graph)] += below
            into[low : low + len(graph)] += above
    most = np.maximum.reduceat(np.maximum(out, into), first)
    if most.max() >= MOST_DEGREE:
        worst = graphs[int(most.argmax())]
        dense([worst], len(worst))  # which refuses it
    # In a weak order the best vertices beat all the rest, which rules most others out.
    best = into == 0
    number = np.add.reduceat(best, first, dtype=np.int64)
    least = np.minimum.reduceat(np.where(best, out, MOST_DEGREE), first)
    may_be = np.flatnonzero((number > 0) & (least >= sizes - number)).tolist()
    levels = {i: _levels_of(graphs[i]) for i in may_be}
    return most, {i: level for i, level in levels.items() if level is not None}


def _levels_of(graph: Graph) -> Level | None:
    """Level of each document of a weak order, from 0 upwards; None if it is none."""
    beats = graph.above()
    beats[graph.wins[:, 0], graph.wins[:, 1]] = True
    beaten = beats.sum(1)
    if (beats != (beaten[:, None] > beaten)).any():
        return None
    return np.unique(beaten, return_inverse=True)[1].astype(np.int32)
