"""Agreement with preferences: which judged pairs of documents a run orders as judged.

A query is given by its judged pairs of documents (`tensors.pairs`). A run cut at rank k
retrieved nothing below it. A retrieved document is above one that was not retrieved;
neither of two documents that were not retrieved is above the other.

Each sum looks documents up in a table of its own. A table that two sums share would be
written to memory and read again, which takes four times as long as to look documents up
and add in one pass.

Counts are added as float64, which is exact below 2^53.
"""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int, Int64

from pgcjax.kernels import ABSENT
from pgcjax.kernels.ranked_list import (
    RankedList,
    by_vertex,
    picked,
    ratio,
    rounded,
    running,
    total,
)
from pgcjax.later import Array, jnp


class PairCounts(NamedTuple):
    """Counts of the judgments on pairs of a query's documents, each pair once.

    Attributes:
        first: Document of each pair with the lower number.
        second: Other document of each pair.
        wins: Number of judgments that prefer the first document; 0 in padding.
        losses: Number of judgments that prefer the second document; 0 in padding.
        preferred: whether each document is preferred to any other.
    """

    first: Int[Any, " m"]
    second: Int[Any, " m"]
    wins: Int64[Any, " m"]
    losses: Int64[Any, " m"]
    preferred: Bool[Any, " n"]


class JudgeCounts(NamedTuple):
    """Counts of each judge's judgments on pairs: one judge's pairs after another's.

    Attributes:
        pairs: Pairs of all judges.
        start: Start of each judge's pairs.
        end: End of each judge's pairs.
        judges: Number of judges.
    """

    pairs: PairCounts
    start: Int[Any, " judges"]
    end: Int[Any, " judges"]
    judges: Int[Any, ""]


def share(ranked: RankedList, pairs: PairCounts, *, among: str) -> Float[Array, ""]:
    """Return the share of judgments that is fulfilled.

    `among` selects the judgments that count: `all`, those with `some` retrieved
    document, or those whose documents were `both` retrieved.
    """
    return ratio(fulfilled(ranked, pairs, among=among), _judged(ranked, pairs, among))


def harmonic(ranked: RankedList, pairs: PairCounts) -> Float[Array, ""]:
    """Return F1 of c/s and c/n, the shares among `some` and `all`: 2 c / (s + n)."""
    both = _judged(ranked, pairs, "some") + possible(ranked, pairs)
    return ratio(2 * fulfilled(ranked, pairs, among="some"), both)


def fulfilled(ranked: RankedList, pairs: PairCounts, *, among: str) -> Float[Array, ""]:
    """Count the judgments that are fulfilled; `among` as in `share`."""
    agree, count = _in_order(ranked, pairs, among)
    return total(agree.astype(jnp.float64), where=count)


def possible(ranked: RankedList, pairs: PairCounts) -> Float[Array, ""]:
    """Count all judgments."""
    return _judged(ranked, pairs, "all")


def pair_mean(ranked: RankedList, pairs: PairCounts, *, among: str) -> Float[Array, ""]:
    """Average the share of each pair of documents; `among` as in `share`."""
    agree, count = _in_order(ranked, pairs, among)
    shares = _ratio(agree, pairs.wins + pairs.losses)
    judged, counts = _said(ranked, pairs, among)
    shown = total(jnp.ones(judged.shape), where=counts & (judged > 0))
    return ratio(total(shares, where=count), shown)


def judge_mean(
    ranked: RankedList, counts: JudgeCounts, *, among: str
) -> Float[Array, ""]:
    """Average the share of each judge, 0 if nothing counts; `among` as in `share`."""

    def of_judges(of_pairs: Array, where: Array) -> Int64[Array, " judges"]:
        sums = running(jnp.add, jnp.where(where, of_pairs, 0), neutral=0.0)
        before = jnp.pad(sums, (1, 0))
        return before[counts.end] - before[counts.start]

    judged = of_judges(*_said(ranked, counts.pairs, among))
    agreed = of_judges(*_in_order(ranked, counts.pairs, among))
    return ratio(total(_ratio(agreed, judged), where=judged > 0), counts.judges)


def weighted(
    ranked: RankedList, pairs: PairCounts, *, lower: bool, normalize: bool
) -> Float[Array, ""]:
    """Weigh each judgment by the rank of one document of its pair.

    With `lower`, the rank is that of the lower document, otherwise that of the upper.
    A document that was not retrieved has weight 0. Weights fall strictly with the rank,
    so they also order documents. `normalize` divides by the weights of all judgments.
    """
    choose = jnp.minimum if lower else jnp.maximum
    a, b = _look_up(_table(ranked, pairs, ranked.weight, 0.0), pairs)
    agree, weight = _where_above(a > b, b > a, pairs), choose(a, b)
    over = total(agree.astype(weight.dtype) * weight, where=weight > 0)
    if not normalize:
        return over
    # Doubled and halved, without rounding, so that this sum has a table of its own.
    weight = choose(*_look_up(_table(ranked, pairs, 2 * ranked.weight, 0.0), pairs))
    judged = (pairs.wins + pairs.losses).astype(weight.dtype)
    return ratio(over, 0.5 * total(judged * weight, where=weight > 0))


def average(ranked: RankedList, pairs: PairCounts) -> Float[Array, ""]:
    """Average the share over all documents that are preferred to any other.

    A retrieved document counts with the share among `some` for the run cut at its rank,
    a document that was not retrieved with the share among `all` for the whole run.
    """
    preferred, w = pairs.preferred, ranked.where.shape[-1]
    places = jnp.arange(w, dtype=jnp.int32)
    a, b = _look_up(_table(ranked, pairs, places, w), pairs)
    agree = _where_above(a < b, b < a, pairs)
    # Both counts of a pair count from the rank of its upper document on.
    counts = jnp.stack([agree, pairs.wins + pairs.losses])
    upper = jnp.zeros((2, w + 1), jnp.int64).at[:, jnp.minimum(a, b)].add(counts)
    over, under = running(jnp.add, upper[:, :w], neutral=0.0)
    hit = ranked.where & picked(preferred, ranked.vertex)
    missed = jnp.sum(preferred) - jnp.sum(hit)
    share_of_all = _ratio(over[-1], possible(ranked, pairs))
    rest = missed.astype(share_of_all.dtype) * share_of_all
    sums = total(_ratio(over, under), where=hit) + rounded(rest, missed > 0)
    return ratio(sums, jnp.sum(preferred))


def _ratio(over: Int64[Array, "*n"], under: Array) -> Float[Array, "*n"]:
    return ratio(over.astype(jnp.float64), under)  # which rounds floats once


def _judged(ranked: RankedList, pairs: PairCounts, among: str) -> Float[Array, ""]:
    judged, counts = _said(ranked, pairs, among)
    return total(judged.astype(jnp.float64), where=counts)


def _said(
    ranked: RankedList, pairs: PairCounts, among: str
) -> tuple[Int64[Array, " m"], Bool[Array, " m"]]:
    """Count the judgments of each pair, and say which pairs count."""
    judged = pairs.wins + pairs.losses
    if among == "all":
        return judged, jnp.ones(judged.shape, bool)
    a, b = _look_up(_table(ranked, pairs, ranked.where, 0), pairs)
    return judged, a | b if among == "some" else a & b


def _in_order(
    ranked: RankedList, pairs: PairCounts, among: str
) -> tuple[Int64[Array, " m"], Bool[Array, " m"]]:
    """Count the judgments of each pair that the run fulfils, and say which count."""
    a, b = _look_up(by_vertex(ranked, pairs.preferred.shape[-1], ABSENT), pairs)
    agree = _where_above(a < b, b < a, pairs)
    return agree, jnp.maximum(a, b) < ABSENT if among == "both" else a != b


def _where_above(
    first: Bool[Array, " m"], second: Bool[Array, " m"], pairs: PairCounts
) -> Int64[Array, " m"]:
    return jnp.where(first, pairs.wins, jnp.where(second, pairs.losses, 0))


def _table(
    ranked: RankedList, pairs: PairCounts, values: Array, absent: float | int
) -> Array:
    """Arrange the values of counted documents by vertex; `absent` for others."""
    n = pairs.preferred.shape[-1]
    slot: Int[Array, " w"] = jnp.where(ranked.where, ranked.vertex, n)
    return jnp.full(n, absent, values.dtype).at[slot].set(values, mode="drop")


def _look_up(table: Array, pairs: PairCounts) -> tuple[Array, Array]:
    return table[pairs.first], table[pairs.second]
