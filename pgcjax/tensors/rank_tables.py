"""Runs by place: padded arrays of where they have the documents of graphs."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int32

from pgcjax.kernels import ABSENT
from pgcjax.tensors.padding import blank


class RunRanks(NamedTuple):
    """Runs as `kernels.peel_packed` takes them.

    Attributes:
        order: place of each vertex in the run, extended to a total order.
        inverse: the vertex at each place.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
    """

    order: Int32[Any, "*queries runs n"]
    inverse: Int32[Any, "*queries runs n"]
    ranks: Int32[Any, "*queries runs n"]


def by_place(
    vertices: Int32[np.ndarray, " queries"],
    documents: tuple[np.ndarray, ...],
    tile: tuple[int, ...],
    size: int,
) -> RunRanks:
    """Stack runs whose documents lie end to end.

    Args:
        vertices: number of those of each query of the tile.
        documents: what `retrieved.lists` gives.
        tile: numbers of queries and runs.
        size: padded number of vertices.
    """
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
    return RunRanks(*(x.reshape(*tile, size) for x in (order, inverse, ranks)))
