"""Runs as every batch takes them: rankings that lie end to end, and where each begins.

They go to the devices once, as they are; a tile says only where its rankings begin, and
the program looks there. So nothing that depends on a run is laid out by the host.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int32

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jnp
from pgcjax.tensors.padding import blank, list_room

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings


class Documents(NamedTuple):
    """The judged documents of all rankings, ranking after ranking, best first.

    Attributes:
        value: of each document, such as its vertex.
        rank: its 0-based rank.
    """

    value: Int32[Any, " documents"]
    rank: Int32[Any, " documents"]


class Where(NamedTuple):
    """Rankings of a tile: where each begins in `Documents`, and its documents."""

    first: Int32[Any, "*queries runs"]
    count: Int32[Any, "*queries runs"]


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


class FlatRuns:
    """The judged documents that runs retrieved, as all tiles share them.

    Attributes:
        documents: of all rankings, with room for a whole one behind the last.
        first: where each ranking begins, `[queries, runs]`.
        count: how many documents it has, to a depth if one is given.
    """

    def __init__(
        self,
        rankings: "Rankings",
        docs: Mapping[str, np.ndarray],
        *,
        values: np.ndarray | None = None,
        depth: int | None = None,
        room: int = 0,
    ):
        """Look documents up.

        Args:
            rankings: the runs.
            docs: documents of each query.
            values: of all of them, query after query; None: their numbers from 0.
            depth: last rank that counts; None: all do.
            room: documents to have room for, as an earlier call had.
        """
        lengths = [len(ids) for ids in docs.values()]
        if values is None:
            numbers = [np.arange(n, dtype=np.int32) for n in [0, *lengths]]
            values = np.concatenate(numbers)
        flat = rankings.flat(docs, values.astype(np.int32, copy=False))
        self.first, self.count = flat.first, flat.count
        filled = int((flat.first + flat.count).max(initial=0))
        if depth is not None:  # ranks ascend
            near = np.zeros(filled + 1, np.int32)
            np.cumsum(flat.rank[:filled] < depth, dtype=np.int32, out=near[1:])
            self.count = near[flat.first + flat.count] - near[flat.first]
        length = max(room, list_room(filled, max(lengths, default=0)))
        self.documents = Documents(flat.value, flat.rank)
        if len(flat.value) < length:  # fewer runs than in an earlier call
            self.documents = Documents(blank((length,)), blank((length,)))
            columns = flat.value[:filled], flat.rank[:filled]
            for array, column in zip(self.documents, columns, strict=True):
                array[:filled] = column

    @property
    def room(self) -> int:
        """Documents that there is room for."""
        return len(self.documents.value)

    def where(self, queries: Sequence[int], runs: slice) -> Where:
        """Places of the rankings of a tile."""
        return Where(self.first[queries, runs], self.count[queries, runs])


def listed(
    documents: Documents, runs: Where, width: int
) -> tuple[
    Int32[Array, "runs width"], Int32[Array, "runs width"], Bool[Array, "runs width"]
]:
    """Values and ranks of the documents of several rankings, and where there are any.

    Behind the last document of a ranking stand those of others.
    """
    place = jnp.arange(width, dtype=jnp.int32)[None, :]
    cell = runs.first[:, None] + place
    there = place < runs.count[:, None]
    value, rank = (x.at[cell].get(mode="clip") for x in map(jnp.asarray, documents))
    return value, rank, there


def by_place(documents: Documents, runs: Where, n: int) -> RunRanks:
    """Lay runs out by place: documents that a run lacks follow, and then padding."""
    vertex, rank, there = listed(documents, runs, n)
    place = jnp.arange(n, dtype=jnp.int32)[None, :]
    row = jnp.arange(len(vertex))[:, None]
    order = jnp.full(vertex.shape, -1, jnp.int32)
    order = order.at[row, jnp.where(there, vertex, n)].set(place, mode="drop")
    lacking = order < 0
    after = runs.count[:, None] + jnp.cumsum(lacking, axis=1, dtype=jnp.int32) - 1
    order = jnp.where(lacking, after, order)
    inverse = jnp.zeros(order.shape, jnp.int32).at[row, order].set(place)
    return RunRanks(order, inverse, jnp.where(there, rank, ABSENT))


def by_vertex(documents: Documents, runs: Where, n: int) -> Int32[Array, "runs n"]:
    """Rank of each vertex in each run, `ABSENT` if not retrieved."""
    vertex, rank, there = listed(documents, runs, n)
    row = jnp.arange(len(vertex))[:, None]
    ranks = jnp.full(vertex.shape, ABSENT, jnp.int32)
    return ranks.at[row, jnp.where(there, vertex, n)].set(rank, mode="drop")
