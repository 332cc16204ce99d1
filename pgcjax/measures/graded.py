"""Graded measures, from the gains of documents and their ranks in a run."""

# pyright: reportIncompatibleVariableOverride=false

from math import log2
from typing import Annotated

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.conditional import InContext
from pgcjax.measures.gains import (
    Beta,
    Gain,
    Gmax,
    Graded,
    by_log,
    by_one,
    by_reciprocal,
    given_or,
    mapped,
)
from pgcjax.measures.measure import Parameter
from pgcjax.reference import graded as twins
from pgcjax.tensors import gains as best


class GradeGains(Graded):
    """A measure whose gains are grades, or grow exponentially with them."""

    gain: Gain = "linear"

    def gains(self, grades, highest):
        """Map grades to gains as `gain` says."""
        return mapped(grades, self.gain)

    def plain_gain(self, grade, highest):
        """Map a grade to its gain."""
        return twins.gain(grade, self.gain)


class CG(InContext, GradeGains):
    """Cumulative gain."""

    name = "CG"
    source = (
        "Järvelin and Kekäläinen 2002; with context, of Golbus et al. 2014, equation "
        "1 and 3.3.2"
    )
    formula = "CG@k = sum over ranks r <= k of g(r)"

    def weights(self, depth):
        """Weight all ranks by 1."""
        return by_one(depth)

    def score(self, gain, run, ideal):
        """Add gains up."""
        return kernels.discounted(gain, run)

    def plain_score(self, run, pool):
        """Add gains up plainly."""
        return twins.cg(run, self.k)


class Discounted(GradeGains):
    """Gains that are discounted by the logarithm of their rank."""

    discount: Annotated[
        str,
        Parameter(
            "one of standard (1 / log2(1 + r)), original (1 at rank 1, then 1 / "
            "log2(r))",
            allowed=("standard", "original"),
        ),
    ] = "standard"

    def weights(self, depth):
        """Discount ranks as `discount` says."""
        if self.discount == "original":
            return np.array([0.0, 1.0, *(1 / log2(r) for r in range(2, depth + 1))])
        return by_log(depth)

    def score(self, gain, run, ideal):
        """Add discounted gains up."""
        return kernels.discounted(gain, run)

    def plain_score(self, run, pool):
        """Add discounted gains up plainly."""
        return twins.dcg(run, self.k, self.discount)


class Normalized(GradeGains):
    """Discounted gains, divided by those of the ideal list."""

    def ideal(self, gains):
        """Return the DCG of the ideal list."""
        gains = best.best_first(gains, self.depth)
        return best.best_discounted(gains, self.weights(len(gains)))

    def score(self, gain, run, ideal):
        """Divide DCG by that of the ideal list."""
        return kernels.normalized(gain, run, ideal)


class DCG(InContext, Discounted):
    """Discounted cumulative gain."""

    name = "DCG"
    source = (
        "Järvelin and Kekäläinen 2002; Luo 2021, equation 2.1; gain=exp: Burges et "
        "al. 2005, Carterette et al. 2008, Golbus et al. 2014; with context, of "
        "Golbus et al. 2014, equation 1 and 3.3.2"
    )
    formula = "DCG@k = sum over ranks r <= k of g(r) / log2(1 + r)"
    differs = "ranx: dcg is this, dcg_burges gain=exp"


class nDCG(Normalized, Discounted):  # noqa: N801
    """Discounted cumulative gain, divided by that of the ideal list."""

    name = "nDCG"
    source = "Järvelin and Kekäläinen 2002, as in Luo 2021, equations 2.1 and 2.2"
    formula = "DCG@k / ideal DCG@k, DCG@k = sum over ranks r <= k of g(r) / log2(1 + r)"
    differs = (
        "as trec_eval's ndcg and ndcg_cut, ir_measures' nDCG and ranx' ndcg; gain=exp"
        " is gdeval's, ir_measures' dcg='exp-log2' and ranx' ndcg_burges; "
        "discount=original is NTCIREVAL's nDCG with -logb 2"
    )
    aliases = {"ndcg": "nDCG", "ndcg_cut_{k}": "nDCG@{k}"}

    def plain_score(self, run, pool):
        """Divide DCG by that of the ideal list, plainly."""
        return twins.ndcg(run, pool, self.k, self.discount)


class MSnDCG(Normalized):
    """nDCG as Microsoft had it: exponential gains, discounted from rank 2 on."""

    name = "MSnDCG"
    source = "Burges et al. 2005; Sakai and Song 2011, equation 1"
    formula = "sum over ranks r <= k of g(r) / ln(1 + r), over that of the ideal list"
    differs = (
        "the base of the logarithm cancels out: this is nDCG(gain=exp); NTCIREVAL "
        "takes gains as given (gain=linear of grades that are gains)"
    )

    gain: Gain = "exp"

    def weights(self, depth):
        """Discount ranks by 1 / log2(1 + rank)."""
        return by_log(depth)

    def plain_score(self, run, pool):
        """Divide DCG by that of the ideal list, plainly."""
        return twins.msndcg(run, pool, self.k)


class Stopping(Graded):
    """Gains that are the chance that a user stops at a document."""

    stop: Annotated[
        str,
        Parameter(
            "chance to stop at grade g, one of exp ((2^g - 1) / 2^gmax), linear "
            "(g / (gmax + 1), as NTCIREVAL)",
            allowed=("exp", "linear"),
        ),
    ] = "exp"
    gmax: Gmax = "collection"

    def gains(self, grades, highest):
        """Map grades to the probability that a user stops."""
        most = given_or(self.gmax, highest, grades)
        if self.stop == "linear":
            return grades / (most + 1)
        return np.exp2(grades - most) - np.exp2(-most)  # (2^g - 1) / 2^gmax

    def weights(self, depth):
        """Discount ranks by 1 / rank."""
        return by_reciprocal(depth)

    def score(self, gain, run, ideal):
        """Expect the reciprocal of the rank where a user stops."""
        return kernels.reciprocal(gain, run)

    def plain_gain(self, grade, highest):
        """Map a grade to the probability that a user stops."""
        return twins.stop(grade, highest, self.stop)

    def plain_score(self, run, pool):
        """Expect the reciprocal of the rank where a user stops, plainly."""
        return twins.err(run, self.k)


class ERR(InContext, Stopping):
    """Expected reciprocal rank of the document at which a user stops."""

    name = "ERR"
    source = (
        "Chapelle et al. 2009, equation 4; Golbus et al. 2014, equations 3 to 5; with"
        " context, of Golbus et al. 2014, equation 1 and 3.3.2"
    )
    formula = (
        "sum over ranks r <= k of R(r) / r times the product over i < r of 1 - R(i), "
        "R by the parameter stop"
    )
    differs = (
        "gdeval and so ir_measures have gmax=4 for every collection; NTCIREVAL has "
        "stop=linear and gmax of its -g"
    )


class nERR(Stopping):  # noqa: N801
    """Expected reciprocal rank, divided by that of the ideal list."""

    name = "nERR"
    source = "Chapelle et al. 2009; Sakai and Song 2011"
    formula = "ERR@k / ideal ERR@k"
    differs = "as NTCIREVAL's nERR with stop=linear and gmax of its -g"

    def ideal(self, gains):
        """Return the ERR of the ideal list."""
        gains = best.best_first(gains, self.depth)
        return best.best_reciprocal(gains, self.weights(len(gains)))

    def score(self, gain, run, ideal):
        """Divide ERR by that of the ideal list."""
        return kernels.ratio(kernels.reciprocal(gain, run), ideal)

    def plain_score(self, run, pool):
        """Divide ERR by that of the ideal list, plainly."""
        return twins.nerr(run, pool, self.k)


_BLEND = (
    "; BR(r) = (C(r) + β cg(r)) / (r + β cg*(r)); C: relevant documents down to rank "
    "r, cg: sum of their gains, cg*: that of the ideal list"
)


class Q(GradeGains):
    """Q-measure: average precision that is blended with cumulative gain."""

    name = "Q"
    source = (
        "Sakai 2004; Sakai and Song 2011, equations 2 and 3 (BR(R) there is a "
        "misprint of BR(r))"
    )
    formula = (
        "Q@l = 1 / min(l, R) times the sum over relevant ranks r <= l of BR(r)" + _BLEND
    )
    differs = "as NTCIREVAL's Q-measure and Q@l, of gains that are grades"

    beta: Beta = 1.0

    def ideal(self, gains):
        """Return the cumulative gains of the ideal list, and how long it is."""
        ordered = best.best_first(gains, self.depth)
        n = len(ordered)
        return kernels.IdealList(best.cumulative(ordered), np.int64(n), np.float64(n))

    def score(self, gain, run, ideal):
        """Average blended ratios."""
        return kernels.blended_mean(gain, run, ideal, self.beta)

    def plain_score(self, run, pool):
        """Average blended ratios plainly."""
        return twins.q_measure(run, pool, self.k, self.beta)


class PPlus(Q):
    """P-plus: blended precision down to the first document of the highest gain."""

    name = "P+"
    source = "Sakai 2007; Sakai and Song 2011, equation 4"
    formula = (
        "P+@l = 1 / C(rp) times the sum over relevant ranks r <= rp of BR(r); rp: "
        "first rank of the highest gain within ranks 1..l" + _BLEND
    )
    differs = "as NTCIREVAL's P-plus, which has no cutoff"

    def score(self, gain, run, ideal):
        """Average blended ratios down to the first document of the highest gain."""
        return kernels.blended_to_best(gain, run, ideal, self.beta)

    def plain_score(self, run, pool):
        """Average blended ratios down to the best document, plainly."""
        return twins.p_plus(run, pool, self.k, self.beta)


class O(Q):  # noqa: E742
    """O-measure: blended ratio at the first relevant document."""

    name = "O"
    source = "Sakai 2007"
    formula = "O@l = BR(r) at the first relevant rank r, if r <= l" + _BLEND
    differs = "as NTCIREVAL's O-measure, which has no cutoff"

    def score(self, gain, run, ideal):
        """Return the blended ratio at the first relevant document."""
        return kernels.blended_first(gain, run, ideal, self.beta)

    def plain_score(self, run, pool):
        """Return the blended ratio at the first relevant document, plainly."""
        return twins.o_measure(run, pool, self.k, self.beta)


MEASURES = CG(), DCG(), nDCG(), MSnDCG(), ERR(), nERR(), Q(), PPlus(), O()
