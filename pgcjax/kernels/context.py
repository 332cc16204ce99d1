"""Conditional gains of documents right after others: looked up by pairs."""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import Array, jnp


class PairGains(NamedTuple):
    """Conditional gains of documents right after others, for judged pairs.

    Attributes:
        size: n, the number of documents.
        pair: d·n + d' - n² for each pair of a document d and the document d' before
            it; ascending and negative, so padding with zeros keeps the order.
        gain: Gain of d in each pair.
    """

    size: Int[Any, ""]
    pair: Int[Any, " m"]
    gain: Float[Any, " m"]


class ContextGains(NamedTuple):
    """Data of a query for measures of conditional grades.

    Attributes:
        gain: Gain of each document on its own.
        judged: Conditional gains of the judged pairs.
        level: Number of each document's own grade among the grades of the query, from
            1; 0 without a grade.
        predicted: Gain by the level of the document before (rows) and the document's
            own level (columns).
        ideal: see `kernels.graded.QueryGains`.
    """

    gain: Float[Any, " n"]
    judged: PairGains
    level: Int[Any, " n"]
    predicted: Float[Any, "levels levels"]
    ideal: Any


def previous(ranked: RankedList) -> tuple[Int[Array, " w"], Bool[Array, " w"]]:
    """Find the document right before each: its vertex, and whether it is a judged one.

    In the run, a document that is not in the list may stand between the two.
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
    """Look up the gains of documents `doc` right after documents `other`.

    Both are vertices. Pairs that nobody judged, or whose `where` is False, have the
    gain `default`.
    """
    n, pair = judged.size, judged.pair
    doc, other = (x.astype(n.dtype) for x in (doc, other))
    key = (doc * n + other - n * n).astype(pair.dtype)
    place = jnp.minimum(jnp.searchsorted(pair, key), pair.shape[0] - 1)
    there = where & (pair[place] == key)
    return jnp.where(there, judged.gain[place], default)
