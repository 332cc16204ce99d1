"""Where runs have the documents of graphs: padded arrays for each form of the peel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from pgcjax.kernels import ABSENT
from pgcjax.tensors.adjacency import Prepared
from pgcjax.tensors.padding import blank
from pgcjax.tensors.retrieved import Flat, Retrieved, counts, lists


class PackedRuns(NamedTuple):
    """Runs as `kernels.peel_packed` takes them.

    Attributes:
        order: place of each vertex in the run, extended to a total order.
        inverse: the vertex at each place.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
    """

    order: Int32[np.ndarray, "queries runs n"]
    inverse: Int32[np.ndarray, "queries runs n"]
    ranks: Int32[np.ndarray, "queries runs n"]


class WideRuns(NamedTuple):
    """Runs as `kernels.peel` takes them: the rank of each vertex, or `ABSENT`."""

    ranks: Int32[np.ndarray, "queries runs n"]


class LevelRuns(NamedTuple):
    """Runs as `kernels.peel_levels` takes them.

    Attributes:
        first: where the documents of each ranking begin in the list of all of them.
        counts: how many there are.
    """

    first: Int32[np.ndarray, "queries runs"]
    counts: Int32[np.ndarray, "queries runs"]


def batch_rankings(
    graphs: Sequence[Prepared],
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
) -> tuple[PackedRuns | WideRuns, Int32[np.ndarray, " queries"]]:
    """Stack what depends on the run, with empty queries and runs up to `tile`.

    Args:
        graphs: the queries, of `packed` or `wide` form and one size.
        retrieved: judged documents that the runs retrieved, for each query.
        runs: which runs.
        tile: numbers of queries and runs.

    Returns:
        Arrays `[queries, runs, size]`, and the steps of each query.
    """
    size = graphs[0].size
    steps = np.zeros(tile[0], np.int32)
    steps[: len(graphs)] = [g.steps for g in graphs]
    if graphs[0].form == "wide":
        pair, _, vertex, rank = lists(retrieved, runs, tile)
        ranks = blank((tile[0] * tile[1] * size,), ABSENT)
        ranks[pair * size + vertex] = rank
        return WideRuns(ranks.reshape(*tile, size)), steps
    return rankings_by_place(steps, retrieved, runs, tile, size), steps


def rankings_by_place(
    vertices: Int32[np.ndarray, " queries"],
    retrieved: Sequence[Retrieved],
    runs: slice,
    tile: tuple[int, int],
    size: int,
) -> PackedRuns:
    """Stack runs as `kernels.peel_packed` takes them.

    Args:
        vertices: number of those of each query of the tile.
        retrieved: judged documents that the runs retrieved, for each query.
        runs: which runs.
        tile: numbers of queries and runs, at least as many.
        size: padded number of vertices.
    """
    pair, place, vertex, rank = lists(retrieved, runs, tile)
    # Where each run begins in flat arrays: one index is faster than three.
    begin = pair * size
    by_vertex, by_place = begin + vertex, begin + place
    cells = (tile[0] * tile[1] * size,)
    ranks = blank(cells, ABSENT)
    ranks[by_place] = rank
    # Padding has the last places, in order.
    number = np.arange(size, dtype=np.int32)
    order, inverse = blank(cells), blank(cells)
    for column in (order, inverse):
        rest = np.where(number < vertices[:, None], np.int32(-1), number)
        column.reshape(*tile, size)[...] = rest[:, None]
    order[by_vertex] = place
    inverse[by_place] = vertex
    # The documents that a run did not retrieve take the places that are left, both
    # ascending.
    left, places = np.flatnonzero(order < 0), np.flatnonzero(inverse < 0)
    number = np.tile(number, tile[0] * tile[1])
    order[left], inverse[places] = number[places], number[left]
    return PackedRuns(*(x.reshape(*tile, size) for x in (order, inverse, ranks)))


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
    for graph, of_query in zip(graphs, retrieved, strict=True):
        vertex, rank = of_query.of_runs(runs)
        here = slice(end, end + len(vertex))
        assert graph.level is not None
        graph.level.take(vertex, out=level[here], mode="clip")
        ranks[here] = rank
        end = here.stop
    return Flat(level, ranks, ends - count, count, np.array([0, tile[1]]))
