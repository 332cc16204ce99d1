"""Measures of the ranks of relevant documents, which are all equally relevant.

Each takes the data of the query that the measure needs, and either `gain` `[w]`, above
0 for the relevant documents in a `RankedList`, or the judged documents.
"""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.graded import hits
from pgcjax.kernels.ranked_list import (
    RankedList,
    counted,
    picked,
    ratio,
    rounded,
    total,
)
from pgcjax.later import Array, jnp

LEVELS = 11
"""Levels of recall of `averaged_levels`: 0, 0.1, …, 1."""

EPSILON = 1e-5
"""Constant that `inferred` adds to counts, as trec_eval's INFAP_EPSILON."""


class JudgedDocs(NamedTuple):
    """The judged documents of a query.

    Attributes:
        relevant: 1 for each relevant document, else 0.
        other: 1 for each document that was judged and is not relevant, else 0. A
            document with 0 in both was pooled, but not judged.
        count: Number of relevant documents.
        least: Number of the others that count: at most `count`.
    """

    relevant: Float[Any, " n"]
    other: Float[Any, " n"]
    count: Float[Any, ""]
    least: Float[Any, ""]


def interpolated(
    gain: Float[Array, " w"], ranked: RankedList, least: Float[Array, "*n"]
) -> Float[Array, "*n"]:
    """Return the best precision from the `least`-th relevant document on: IPrec.

    It is 0 if the run has fewer than `least` relevant documents.
    """
    hit = hits(gain, ranked)
    count = counted(hit)
    precision = ratio(count.astype(gain.dtype), ranked.rank)
    least = least[..., None]
    count = jnp.broadcast_to(count, (*least.shape[:-1], *count.shape))
    far = jnp.broadcast_to(hit, count.shape) & (count.astype(least.dtype) >= least)
    precision = jnp.broadcast_to(precision, count.shape)
    return jnp.max(jnp.where(far, precision, 0.0), axis=-1)


def averaged_levels(
    gain: Float[Array, " w"], ranked: RankedList, least: Float[Array, " n"]
) -> Float[Array, ""]:
    """Average `interpolated` over the first `LEVELS` of `least`: 11pt_avg."""
    least = least[:LEVELS]
    best = interpolated(gain, ranked, least)
    return ratio(total(best, where=least >= 0), jnp.asarray(LEVELS, gain.dtype))


def within(
    gain: Float[Array, " w"], ranked: RankedList, last: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the precision at rank `last`: Rprec."""
    near = hits(gain, ranked) & (ranked.rank.astype(last.dtype) <= last)
    return ratio(jnp.sum(near).astype(gain.dtype), last)


def above(gain: Float[Array, " w"], ranked: RankedList) -> Int[Array, " w"]:
    """Count the documents above each relevant one that are not known to be relevant."""
    return ranked.rank - counted(hits(gain, ranked))


def undisturbed(
    gain: Float[Array, " w"], ranked: RankedList, of: Float[Array, ""]
) -> Float[Array, ""]:
    """Discount relevant documents by the number of others above them: binG."""
    hit = hits(gain, ranked)
    others = above(gain, ranked).astype(gain.dtype)
    discount = jnp.log2(jnp.where(hit, 2.0 + others, 2.0))
    return ratio(total(ratio(jnp.ones_like(gain), discount), where=hit), of)


def ordered_pairs(
    gain: Float[Array, " w"], ranked: RankedList, length: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the share of pairs of a relevant document above another: Accuracy.

    The first `length` documents of the run count. It is 1 if all of them are relevant.
    """
    hit = hits(gain, ranked)
    hit_count = jnp.sum(hit).astype(gain.dtype)
    wrong = jnp.sum(jnp.where(hit, above(gain, ranked), 0)).astype(gain.dtype)
    share = 1 - ratio(wrong, hit_count * (length - hit_count))
    return jnp.where(hit_count > 0, share, 0.0)


def preferred(ranked: RankedList, judged: JudgedDocs) -> Float[Array, ""]:
    """Average the share of judged others that are below each relevant one: bpref.

    Source: Buckley and Voorhees 2004, as in trec_eval.
    """
    hit, others = _judged(ranked, judged)
    before = jnp.minimum(counted(others).astype(judged.count.dtype), judged.count)
    return ratio(total(1 - ratio(before, judged.least), where=hit), judged.count)


def inferred(ranked: RankedList, judged: JudgedDocs) -> Float[Array, ""]:
    """Average the precision that is expected at relevant documents: infAP.

    It assumes that unjudged documents of the pool are as often relevant as judged ones.

    Source: Yilmaz and Aslam 2006, as in trec_eval.
    """
    hit, others = _judged(ranked, judged)
    down = counted(jnp.stack([hit, others, ranked.where])).astype(judged.count.dtype)
    relevant = down[0] - hit.astype(down.dtype)
    pooled = down[2] - ranked.where.astype(down.dtype)
    judged_count = relevant + down[1]
    share = ratio(relevant + EPSILON, judged_count + 2 * EPSILON)
    precision = ratio(1 + rounded(pooled * share, hit), ranked.rank)
    return ratio(total(precision, where=hit), judged.count)


def _judged(
    ranked: RankedList, judged: JudgedDocs
) -> tuple[Bool[Array, " w"], Bool[Array, " w"]]:
    """Find the relevant documents of a run, and the others that were judged."""
    relevant, other = (picked(x, ranked.vertex) > 0 for x in judged[:2])
    return ranked.where & relevant, ranked.where & other
