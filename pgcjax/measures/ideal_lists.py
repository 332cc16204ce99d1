"""Measures of trec_eval that go down a run beside the ideal list, rank by rank."""

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.gains import GAIN, Gains, Parameters, by_log, define, mapped
from pgcjax.reference import gains as to_gains
from pgcjax.reference import graded as twins
from pgcjax.tensors import gains as best


def _costs(gains: np.ndarray, q: Parameters) -> kernels.IdealList:
    """Return what each rank of the ideal list gains, but at least 1, added up."""
    ordered = best.best_first(gains)
    costs = best.cumulative(np.maximum(ordered, 1))
    return kernels.IdealList(costs, np.int64(len(ordered)), np.sum(ordered))


def _discounted(gains: np.ndarray, q: Parameters) -> kernels.IdealList:
    """Return the DCG of the ideal list at each of its ranks."""
    ordered = best.best_first(gains)
    n = len(ordered)
    each = best.cumulative(ordered * by_log(q, n)[1 : n + 1])
    return kernels.IdealList(each, np.int64(n), np.float64(n))


def _levels(gains: np.ndarray, q: Parameters) -> kernels.IdealList:
    """Give, of each rank, the sum of 1 / ideal DCG where gains change from there on."""
    ordered, ideal = best.best_first(gains), _discounted(gains, q)
    ends = np.append(ordered[1:], 0.0) < ordered
    each = np.where(ends, 1 / ideal.cumulative[: len(ordered)], 0.0)
    if len(ordered):
        ideal = ideal._replace(cumulative=np.cumsum(each[::-1])[::-1].copy())
    return ideal._replace(most=np.float64(ends.sum()))


G_GAINS = Gains(
    gains=mapped,
    ideal=_costs,
    kernel=lambda gain, ranked, ideal, q: kernels.beside_ideal(gain, ranked, ideal),
    twin=lambda run, pool, q: twins.g_measure(run, pool),
    twin_gain=to_gains.gain,
    depth=lambda q: None,
    parameters=(GAIN,),
)
NDCG_REL_GAINS = Gains(
    gains=mapped,
    ideal=_discounted,
    kernel=lambda gain, ranked, ideal, q: kernels.normalized_at_hits(
        gain, ranked, ideal
    ),
    by_rank=by_log,
    twin=lambda run, pool, q: twins.ndcg_at_relevant(run, pool),
    twin_gain=to_gains.gain,
    depth=lambda q: None,
    parameters=(GAIN,),
)
RNDCG_GAINS = Gains(
    gains=mapped,
    ideal=_levels,
    kernel=lambda gain, ranked, ideal, q: kernels.normalized_at_levels(
        gain, ranked, ideal
    ),
    by_rank=by_log,
    twin=lambda run, pool, q: twins.ndcg_at_levels(run, pool),
    twin_gain=to_gains.gain,
    depth=lambda q: None,
    parameters=(GAIN,),
)

G = define(
    "G",
    "Gains, each discounted by how far the run is behind the ideal list",
    G_GAINS.parameters,
    G_GAINS,
    source="as in trec_eval",
    formula="sum over ranks r of g(r) / log2(2 + c(r) - cg(r)), divided by the sum of "
    "all gains; cg: sum of the gains down to rank r, c: of the ideal list, each rank "
    "at least 1",
    differs="as trec_eval's G, of gains that are grades",
    cutoff="no",
)
NDCG_REL = define(
    "ndcg_rel",
    "nDCG, averaged over the ranks of relevant documents",
    NDCG_REL_GAINS.parameters,
    NDCG_REL_GAINS,
    source="as in trec_eval",
    formula="1 / m times the sum of nDCG@r over the ranks r of the m documents with a "
    "gain; of those that the run lacks, nDCG of the whole run",
    differs="as trec_eval's ndcg_rel, of gains that are grades",
    cutoff="no",
)
RNDCG = define(
    "Rndcg",
    "nDCG, averaged over the ranks where the gain of the ideal list changes",
    RNDCG_GAINS.parameters,
    RNDCG_GAINS,
    source="as in trec_eval",
    formula="mean of nDCG@r over the last rank r of each gain in the ideal list, and "
    "the last rank of a run that has 2 documents more than that list",
    differs="as trec_eval's Rndcg, of gains that are grades",
    cutoff="no",
)
