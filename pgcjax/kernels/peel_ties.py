"""Greedy PGC by a run and an order of the documents that it did not retrieve."""

from typing import Any, NamedTuple

from jaxtyping import Bool, Int, Int32, Int64

from pgcjax.kernels import ABSENT, peel, peel_packed
from pgcjax.later import Array, jnp

MOST_VERTICES = peel_packed.MOST_VERTICES // 2
"""Of a packed graph: a word has places for the run, and as many for the order."""


class DocumentOrder(NamedTuple):
    """An order of documents; of several ones, arrays have an axis more in front.

    Attributes:
        place: of each document.
        document: the one at each place.
    """

    place: Int32[Any, "*orders n"]
    document: Int32[Any, "*orders n"]


def packed_overlap(
    rows: Int32[Array, "n n"],
    words: Int32[Array, " n"],
    order: Int32[Array, " n"],
    inverse: Int32[Array, " n"],
    ranks: Int32[Array, " n"],
    drawn: DocumentOrder,
    listed: DocumentOrder,
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and the ideal ranking nearest to run and order.

    Documents that the run retrieved keep their places below n; the others have those
    from n on, in the order that is given.

    Args:
        rows: as of `peel_packed.peeled_overlap`; up to `MOST_VERTICES`.
        words: likewise.
        order: likewise; those that were not retrieved by ascending document id.
        inverse: likewise.
        ranks: likewise.
        drawn: an order of all vertices.
        listed: for m = 0, 1, … an order of m documents, to be taken instead if the run
            retrieved all but m: of the first, second, … of them by document id.
        steps: as of `peel_packed.peeled_overlap`.
        weights: from `rbo.rank_weights`.
        where: True for vertices, False for padding.
    """
    n, most = order.shape[-1], listed.place.shape[-1]
    retrieved = jnp.sum(ranks < ABSENT, dtype=jnp.int32)
    missing = jnp.sum(where, dtype=jnp.int32) - retrieved
    place = _places(order - retrieved, missing, drawn, listed)
    unranked = listed.document[jnp.minimum(missing, most)] + retrieved
    unranked = jnp.where(missing <= most, inverse[unranked], drawn.document[:most])
    return peel_packed.peeled_overlap(
        rows,
        words,
        jnp.where(order < retrieved, order, n + place),
        jnp.concatenate([inverse, unranked, drawn.document[most:]]),
        jnp.concatenate([ranks, jnp.full(n, ABSENT, ranks.dtype)]),
        steps,
        weights,
        where=where,
    )


def wide_overlap(
    edges: Int32[Array, "n n"],
    ranks: Int32[Array, " n"],
    drawn: DocumentOrder,
    listed: DocumentOrder,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Do what `packed_overlap` does, for graphs of any size and degree."""
    absent = where & (ranks >= ABSENT)
    number = jnp.where(absent, jnp.cumsum(absent, dtype=jnp.int32) - 1, -1)
    missing = jnp.sum(absent, dtype=jnp.int32)
    then = _places(number, missing, drawn, listed)
    return peel.peeled_overlap(edges, ranks, weights, where=where, then=then)


def edges_of(rows: Int32[Array, "n n"]) -> Int32[Array, "n n"]:
    """Take the counts of judgments out of the rows of a packed graph."""
    return rows >> peel_packed.IN & peel_packed.DEGREES


def _places(
    number: Int32[Array, " n"],
    missing: Int32[Array, ""],
    drawn: DocumentOrder,
    listed: DocumentOrder,
) -> Int32[Array, " n"]:
    """Place the documents that were not retrieved.

    Args:
        number: of each of them, by ascending document id; of others, any below 0.
        missing: how many they are.
        drawn: as of `packed_overlap`.
        listed: likewise.
    """
    most = listed.place.shape[-1]
    unranked = listed.place[jnp.minimum(missing, most)]
    chosen = number[:, None] == jnp.arange(most, dtype=jnp.int32)[None, :]
    few = jnp.sum(jnp.where(chosen, unranked[None, :], 0), axis=-1, dtype=jnp.int32)
    return jnp.where(missing <= most, few, drawn.place)
