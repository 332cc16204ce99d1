"""Where runs have the documents of graphs: padded arrays for each form of the peel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from pgcjax.kernels import ABSENT
from pgcjax.tensors.adjacency import Stack
from pgcjax.tensors.padding import blank
from pgcjax.tensors.retrieved import Flat, Retrieved, lists


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


class ListedRuns(NamedTuple):
    """Runs as lists of documents that lie end to end, as some kernels take them.

    Attributes:
        first: where the documents of each ranking begin in the list of all of them.
        counts: how many there are.
    """

    first: Int32[np.ndarray, "queries runs"]
    counts: Int32[np.ndarray, "queries runs"]


def batch_rankings(
    form: str, vertices: Int32[np.ndarray, " queries"], flat: Flat, size: int
) -> PackedRuns | WideRuns:
    """Lay runs out by place or vertex.

    Args:
        form: of the graphs: `packed` or `wide`.
        vertices: number of those of each query of the tile.
        flat: the tile, with vertices as values.
        size: padded number of vertices.
    """
    documents = flat.documents()
    if form == "packed":
        return _by_place(vertices, documents, flat.count.shape, size)
    pair, _, vertex, rank = documents
    ranks = blank((flat.count.size * size,), ABSENT)
    ranks[pair * size + vertex] = rank
    return WideRuns(ranks.reshape(*flat.count.shape, size))


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
    return _by_place(vertices, lists(retrieved, runs, tile), tile, size)


def _by_place(
    vertices: Int32[np.ndarray, " queries"],
    documents: tuple[np.ndarray, ...],
    tile: tuple[int, ...],
    size: int,
) -> PackedRuns:
    pair, place, vertex, rank = documents
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


def to_levels(flat: Flat, graphs: Stack, low: int) -> None:
    """Put the levels of documents in the place of vertices.

    Args:
        flat: a tile, which is changed.
        graphs: of `levels` form.
        low: which of them is the first of the tile.
    """
    assert graphs.level is not None
    starts = np.cumsum(graphs.vertices) - graphs.vertices
    documents = flat.count.sum(1)[: len(graphs) - low]
    value = flat.value[: documents.sum()]
    value += np.repeat(starts[low : low + len(documents)], documents).astype(np.int32)
    graphs.level.take(value, out=value, mode="clip")
