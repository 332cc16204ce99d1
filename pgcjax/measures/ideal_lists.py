"""Measures of trec_eval that compare a run with the ideal list rank by rank."""

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.gains import by_log
from pgcjax.measures.graded import GradeGains
from pgcjax.reference import graded as twins
from pgcjax.tensors import gains as best


class G(GradeGains):
    """Gains, each discounted by how far the run is behind the ideal list."""

    name = "G"
    source = "as in trec_eval"
    formula = (
        "sum over ranks r of g(r) / log2(2 + c(r) - cg(r)), divided by the sum of all"
        " gains; cg: sum of the gains down to rank r, c: of the ideal list, each rank"
        " at least 1"
    )
    differs = "as trec_eval's G, of gains that are grades"
    cutoff = "no"

    def ideal(self, gains):
        """Return cumulative gains of the ideal list, each gain being at least 1."""
        ordered = best.best_first(gains)
        costs = best.cumulative(np.maximum(ordered, 1))
        return kernels.IdealList(costs, np.int64(len(ordered)), np.sum(ordered))

    def score(self, gain, run, ideal):
        """Go down both lists."""
        return kernels.beside_ideal(gain, run, ideal)

    def plain_score(self, run, pool):
        """Go down both lists plainly."""
        return twins.g_measure(run, pool)


class NDCGRel(GradeGains):
    """nDCG, averaged over the ranks of relevant documents."""

    name = "ndcg_rel"
    source = "as in trec_eval"
    formula = (
        "1 / m times the sum of nDCG@r over the ranks r of the m documents with a "
        "gain; of those that the run lacks, nDCG of the whole run"
    )
    differs = "as trec_eval's ndcg_rel, of gains that are grades"
    cutoff = "no"

    def ideal(self, gains):
        """Return the DCG of the ideal list at each of its ranks."""
        ordered = best.best_first(gains)
        n = len(ordered)
        each = best.cumulative(ordered * by_log(n)[1 : n + 1])
        return kernels.IdealList(each, np.int64(n), np.float64(n))

    def weights(self, depth):
        """Discount ranks by 1 / log2(1 + rank)."""
        return by_log(depth)

    def score(self, gain, run, ideal):
        """Average nDCG over the ranks of relevant documents."""
        return kernels.normalized_at_hits(gain, run, ideal)

    def plain_score(self, run, pool):
        """Average nDCG over the ranks of relevant documents, plainly."""
        return twins.ndcg_at_relevant(run, pool)


class Rndcg(NDCGRel):
    """nDCG, averaged over the ranks where the gain of the ideal list changes."""

    name = "Rndcg"
    source = "as in trec_eval"
    formula = (
        "mean of nDCG@r over the last rank r of each gain in the ideal list, and the "
        "last rank of a run that has 2 documents more than that list"
    )
    differs = "as trec_eval's Rndcg, of gains that are grades"
    cutoff = "no"

    def ideal(self, gains):
        """Return for each rank the sum of 1 / ideal DCG where gains change below it."""
        ordered, ideal = best.best_first(gains), super().ideal(gains)
        ends = np.append(ordered[1:], 0.0) < ordered
        each = np.where(ends, 1 / ideal.cumulative[: len(ordered)], 0.0)
        if len(ordered):
            ideal = ideal._replace(cumulative=np.cumsum(each[::-1])[::-1].copy())
        return ideal._replace(most=np.float64(ends.sum()))

    def score(self, gain, run, ideal):
        """Average nDCG over the ranks where the gain of the ideal list changes."""
        return kernels.normalized_at_levels(gain, run, ideal)

    def plain_score(self, run, pool):
        """Average nDCG over these ranks plainly."""
        return twins.ndcg_at_levels(run, pool)


MEASURES = G(), NDCGRel(), Rndcg()
