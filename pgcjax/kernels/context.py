"""Conditional gains of documents right after others: looked up by pairs."""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import Array, jnp


class PairGains(NamedTuple):
    """Conditional gains of documents right after others, for judged pairs.

    Attributes:
        size: n, the number of documents.
        pair: d·n + d' - n² of each pair of a document d and the one before it, d':
            ascending and negative, so that zeros may follow.
        gain: of each pair.
    """

    size: Int[Any, ""]
    pair: Int[Any, " m"]
    gain: Float[Any, " m"]


class ContextGains(NamedTuple):
    """Data of a query for measures of conditional grades.

    Attributes:
        gain: of each document on its own.
        judged: of documents after others, where it was judged.
        level: number of each document's own grade among those of the query, from 1; 0
            if it has none.
        predicted: gain by the levels of the document before (rows) and of its own.
        ideal: see `kernels.graded.QueryGains`.
    """

    gain: Float[Any, " n"]
    judged: PairGains
    level: Int[Any, " n"]
    predicted: Float[Any, "levels levels"]
    ideal: Any


def previous(ranked: RankedList) -> tuple[Int[Array, " w"], Bool[Array, " w"]]:
    """Find the document right before each: its vertex, and whether it is a judged one.

    The run may have a document between the two that is not in the list.
    """
    before = jnp.pad(ranked.vertex[:-1], (1, 0))
    follows = ranked.rank == jnp.pad(ranked.rank[:-1], (1, 0)) + 1
    return before, ranked.where & follows & (ranked.rank > 1)


def after(
    doc: Int[Array, " w"],
    other: Int[Array, " w"],
    judged: PairGains,
    default: Float[Array, " w"],
    *,
    where: Bool[Array, " w"],
) -> Float[Array, " w"]:
    """Look up what documents `doc` gain after `other` ones, both vertices.

    Where nobody judged the pair, or `where` is False, it is `default`.
    """
    n, pair = judged.size, judged.pair
    doc, other = (x.astype(n.dtype) for x in (doc, other))
    key = (doc * n + other - n * n).astype(pair.dtype)
    place = jnp.minimum(jnp.searchsorted(pair, key), pair.shape[0] - 1)
    there = where & (pair[place] == key)
    return jnp.where(there, judged.gain[place], default)
