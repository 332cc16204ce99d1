"""Measures of a list of gains: how good are the documents, and how early they come.

Each takes `gain` `[w]`, the gains of the documents in a `RankedList` (0 where there is
none), and the data of the query's ideal list that `tensors.gains` computes.
"""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.ranked_list import (
    RankedList,
    counted,
    picked,
    ratio,
    rounded,
    running,
    total,
)
from pgcjax.later import Array, jnp


class IdealList(NamedTuple):
    """Data of each rank of the ideal list.

    Attributes:
        cumulative: Sum down to each of the ranks 1..m, such as cg*.
        relevant: m, the number of documents with a gain; fewer where deeper ranks
            cannot count.
        most: Divisor of the measure, such as m.
    """

    cumulative: Float[Any, " m"]
    relevant: Int[Any, ""]
    most: Float[Any, ""]


class QueryGains(NamedTuple):
    """Data of a query for graded measures.

    Attributes:
        gain: Gain of each document.
        ideal: Data of the ideal list that the measure's kernel takes: nothing, a
            number, or an `IdealList`.
    """

    gain: Float[Any, " n"]
    ideal: Any


def discounted(gain: Float[Array, " w"], ranked: RankedList) -> Float[Array, ""]:
    """Add up gains times the weights of their ranks: CG, DCG, RBP."""
    return total(gain * ranked.weight, where=ranked.where)


def normalized(
    gain: Float[Array, " w"], ranked: RankedList, best: Float[Array, ""]
) -> Float[Array, ""]:
    """Divide `discounted` by the best value that a run can have: nDCG."""
    return ratio(discounted(gain, ranked), best)


def reciprocal(gain: Float[Array, " w"], ranked: RankedList) -> Float[Array, ""]:
    """Expect the weight, 1 / r, of the rank at which a user stops: ERR.

    A gain is the probability that a user who gets to a document stops there.

    Source: Chapelle et al. 2009, equation 4.
    """
    passed = running(jnp.multiply, jnp.where(ranked.where, 1 - gain, 1.0), neutral=1.0)
    reached = jnp.pad(passed[:-1], (1, 0), constant_values=1.0)
    return total(gain * reached * ranked.weight, where=ranked.where)


def blended(
    gain: Float[Array, " w"],
    ranked: RankedList,
    ideal: IdealList,
    beta: Float[Array, ""] | float,
) -> tuple[Float[Array, " w"], Float[Array, " w"]]:
    """Return the blended ratio BR(r) = (C(r) + beta cg(r)) / (r + beta cg*(r)).

    Returns:
        BR of each relevant document, and 0 of the others; and C, the number of relevant
        documents down to each document.

    Source: Sakai and Song 2011, equation 2.
    """
    hit = ranked.where & (gain > 0)
    # Counts are exact as floats, and one loop goes through both.
    both = jnp.stack([hit.astype(gain.dtype), rounded(gain, ranked.where)])
    count, cumulated = running(jnp.add, both, neutral=0.0)
    best = _to_rank(ideal, ranked)
    over = count + rounded(beta * cumulated, hit)
    under = ranked.rank.astype(best.dtype) + rounded(beta * best, hit)
    return rounded(ratio(over, under), hit), count


def blended_mean(
    gain: Float[Array, " w"],
    ranked: RankedList,
    ideal: IdealList,
    beta: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """Average BR over the relevant documents that a run can have: Q.

    Source: Sakai and Song 2011, equation 3.
    """
    ratios, _ = blended(gain, ranked, ideal, beta)
    return ratio(total(ratios, where=ranked.where), ideal.most)


def blended_to_best(
    gain: Float[Array, " w"],
    ranked: RankedList,
    ideal: IdealList,
    beta: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """Average BR over relevant documents down to the first of the highest gain: P+.

    Source: Sakai and Song 2011, equation 4.
    """
    ratios, count = blended(gain, ranked, ideal, beta)
    preferred = jnp.argmax(gain)
    near = ranked.where & (jnp.arange(gain.shape[-1]) <= preferred)
    return ratio(total(ratios, where=near), count[preferred])


def blended_first(
    gain: Float[Array, " w"],
    ranked: RankedList,
    ideal: IdealList,
    beta: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """Return BR of the first relevant document: O.

    Source: Sakai 2007.
    """
    ratios, _ = blended(gain, ranked, ideal, beta)
    return ratios[jnp.argmax(gain > 0)]


def beside_ideal(
    gain: Float[Array, " w"], ranked: RankedList, ideal: IdealList
) -> Float[Array, ""]:
    """Discount gains by the lag of the run's gain behind the ideal list: G.

    `ideal.cumulative` sums the gains of the ideal list, each at least 1, down to each
    rank; each rank below the list adds 1. `ideal.most` is the gain of all documents.

    Source: trec_eval, measure G.
    """
    hit = hits(gain, ranked)
    gained = running(jnp.add, rounded(gain, ranked.where), neutral=0.0)
    rank = ranked.rank.astype(ideal.relevant.dtype)
    further = jnp.maximum(rank - ideal.relevant, 0)
    behind = _to_rank(ideal, ranked) + further.astype(gain.dtype) - gained
    discount = jnp.log2(jnp.where(hit, 2 + behind, 2.0))
    return ratio(total(ratio(gain, discount), where=hit), ideal.most)


def normalized_at_hits(
    gain: Float[Array, " w"], ranked: RankedList, ideal: IdealList
) -> Float[Array, ""]:
    """Average nDCG at the ranks of documents with a gain: ndcg_rel.

    Documents that the run lacks count with the nDCG of the whole run.
    `ideal.cumulative` is the DCG of the ideal list at each of its ranks.

    Source: trec_eval, measure ndcg_rel.
    """
    hit = hits(gain, ranked)
    terms = rounded(gain * ranked.weight, ranked.where)
    each = ratio(running(jnp.add, terms, neutral=0.0), _to_rank(ideal, ranked))
    last = ideal.cumulative[jnp.maximum(ideal.relevant - 1, 0)]
    lacking = ideal.most - jnp.sum(hit).astype(gain.dtype)
    rest = rounded(lacking * ratio(discounted(gain, ranked), last), lacking > 0)
    return ratio(total(each, where=hit) + rest, ideal.most)


def normalized_at_levels(
    gain: Float[Array, " w"], ranked: RankedList, ideal: IdealList
) -> Float[Array, ""]:
    """Average nDCG at the ranks where the gain of the ideal list changes: Rndcg.

    Runs that are longer than the ideal list by two documents have one more such rank,
    their last. `ideal.cumulative` is, for each rank, the sum of 1 / ideal DCG over all
    such ranks from there on; `ideal.most` is the number of these ranks.

    Source: trec_eval, measure Rndcg.
    """
    rank, length = (
        x.astype(ideal.relevant.dtype) for x in (ranked.rank, ranked.length)
    )
    inside = ranked.where & (rank <= ideal.relevant)
    last = ideal.cumulative[jnp.maximum(ideal.relevant - 1, 0)]
    longer = jnp.where(length > ideal.relevant + 1, 1.0, 0.0)
    share = jnp.where(inside, _to_rank(ideal, ranked), 0.0) + last * longer
    terms = rounded(gain * ranked.weight, ranked.where)
    return ratio(total(terms * share, where=ranked.where), ideal.most + longer)


def _to_rank(ideal: IdealList, ranked: RankedList) -> Float[Array, " w"]:
    """Return `cumulative` at the rank of each document, or at the last rank."""
    rank = ranked.rank.astype(ideal.relevant.dtype)
    last = jnp.clip(rank, 1, ideal.relevant) - 1
    return picked(ideal.cumulative, jnp.maximum(last, 0))


def first(gain: Float[Array, " w"], ranked: RankedList) -> Float[Array, ""]:
    """Return the weight of the first relevant document's rank: RR."""
    hit = hits(gain, ranked)
    return rounded(ranked.weight, hit)[jnp.argmax(hit)]


def precise(
    gain: Float[Array, " w"], ranked: RankedList, most: Float[Array, ""]
) -> Float[Array, ""]:
    """Average the precision at the query's `most` relevant documents: AP."""
    hit = hits(gain, ranked)
    precision = ratio(counted(hit).astype(gain.dtype), ranked.rank)
    return ratio(total(precision, where=hit), most)


def share(gain: Float[Array, " w"], ranked: RankedList, of: Array) -> Float[Array, ""]:
    """Return the number of relevant documents divided by `of`: P, R, Judged."""
    return ratio(jnp.sum(hits(gain, ranked)).astype(gain.dtype), of)


def residual(gain: Float[Array, " w"], ranked: RankedList) -> Float[Array, ""]:
    """Return the weight of all ranks without a judged document: the residual of RBP.

    A judged document gains 1; the weights of all ranks add up to 1.

    Source: Moffat and Zobel 2008, section 4.2.
    """
    return jnp.maximum(0.0, 1 - discounted(gain, ranked))


def hits(gain: Float[Array, " w"], ranked: RankedList) -> Bool[Array, " w"]:
    """Find which documents have a gain, within the depth that counts."""
    return ranked.where & (gain > 0)
