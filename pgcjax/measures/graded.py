"""Graded measures: from the gains of documents, and the ranks where a run has them."""

from dataclasses import replace

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.conditional import with_context
from pgcjax.measures.gains import (
    BETA,
    GAIN,
    GMAX,
    Gains,
    Parameters,
    by_log,
    by_one,
    by_reciprocal,
    define,
    given_or,
    mapped,
)
from pgcjax.measures.spec import Parameter
from pgcjax.reference import gains as to_gains
from pgcjax.reference import graded as twins
from pgcjax.tensors import gains as best

DISCOUNT = Parameter(
    "discount",
    "standard",
    "one of standard (1 / log2(1 + r)), original (1 at rank 1, then 1 / log2(r))",
    allowed=("standard", "original"),
)
STOP = Parameter(
    "stop",
    "exp",
    "chance to stop at grade g, one of exp ((2^g - 1) / 2^gmax), linear "
    "(g / (gmax + 1), as NTCIREVAL)",
    allowed=("exp", "linear"),
)


def stopping(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Map grades to the probability that a user stops."""
    most = given_or(q, highest, grades)
    if q["stop"] == "linear":
        return grades / (most + 1)
    return np.exp2(grades - most) - np.exp2(-most)  # (2^g - 1) / 2^gmax


def _best(gains: np.ndarray, q: Parameters) -> float:
    ordered = best.best_first(gains, q["k"])
    return best.best_discounted(ordered, by_log(q, len(ordered)))


def _best_reciprocal(gains: np.ndarray, q: Parameters) -> float:
    ordered = best.best_first(gains, q["k"])
    return best.best_reciprocal(ordered, by_reciprocal(q, len(ordered)))


def _blend(gains: np.ndarray, q: Parameters) -> kernels.IdealList:
    ordered = best.best_first(gains, q["k"])
    n = len(ordered)
    return kernels.IdealList(best.cumulative(ordered), np.int64(n), np.float64(n))


CG_GAINS = Gains(
    gains=mapped,
    kernel=lambda gain, ranked, ideal, q: kernels.discounted(gain, ranked),
    by_rank=by_one,
    twin=lambda run, pool, q: twins.cg(run, q["k"]),
    twin_gain=to_gains.gain,
    reads=(),
    parameters=(GAIN,),
)
DCG_GAINS = replace(
    CG_GAINS,
    by_rank=by_log,
    twin=lambda run, pool, q: twins.dcg(run, q["k"], q.get("discount", "standard")),
    parameters=(GAIN, DISCOUNT),
)
NDCG_GAINS = replace(
    DCG_GAINS,
    ideal=_best,
    kernel=lambda gain, ranked, ideal, q: kernels.normalized(gain, ranked, ideal),
    twin=lambda run, pool, q: twins.ndcg(
        run, pool, q["k"], q.get("discount", "standard")
    ),
)
MSNDCG_GAINS = replace(
    NDCG_GAINS,
    twin=lambda run, pool, q: twins.msndcg(run, pool, q["k"]),
    parameters=(replace(GAIN, default="exp"),),
)
ERR_GAINS = Gains(
    gains=stopping,
    kernel=lambda gain, ranked, ideal, q: kernels.reciprocal(gain, ranked),
    by_rank=by_reciprocal,
    twin=lambda run, pool, q: twins.err(run, q["k"]),
    twin_gain=to_gains.stop,
    reads=(),
    parameters=(STOP, GMAX),
)
NERR_GAINS = replace(
    ERR_GAINS,
    ideal=_best_reciprocal,
    kernel=lambda gain, ranked, ideal, q: kernels.ratio(
        kernels.reciprocal(gain, ranked), ideal
    ),
    twin=lambda run, pool, q: twins.nerr(run, pool, q["k"]),
)
Q_GAINS = Gains(
    gains=mapped,
    ideal=_blend,
    kernel=lambda gain, ranked, ideal, q: kernels.blended_mean(
        gain, ranked, ideal, q["beta"]
    ),
    twin=lambda run, pool, q: twins.q_measure(run, pool, q["k"], q["beta"]),
    twin_gain=to_gains.gain,
    reads=("beta",),
    parameters=(GAIN, BETA),
)
P_PLUS_GAINS = replace(
    Q_GAINS,
    kernel=lambda gain, ranked, ideal, q: kernels.blended_to_best(
        gain, ranked, ideal, q["beta"]
    ),
    twin=lambda run, pool, q: twins.p_plus(run, pool, q["k"], q["beta"]),
)
O_GAINS = replace(
    Q_GAINS,
    kernel=lambda gain, ranked, ideal, q: kernels.blended_first(
        gain, ranked, ideal, q["beta"]
    ),
    twin=lambda run, pool, q: twins.o_measure(run, pool, q["k"], q["beta"]),
)

_BLEND = "BR(r) = (C(r) + β cg(r)) / (r + β cg*(r)); C: relevant documents down to "
_BLEND += "rank r, cg: sum of their gains, cg*: that of the ideal list"

CG = with_context(
    define(
        "CG",
        "Cumulative gain",
        CG_GAINS.parameters,
        CG_GAINS,
        source="Järvelin and Kekäläinen 2002",
        formula="CG@k = sum over ranks r <= k of g(r)",
    ),
    CG_GAINS,
)
DCG = with_context(
    define(
        "DCG",
        "Discounted cumulative gain",
        DCG_GAINS.parameters,
        DCG_GAINS,
        source="Järvelin and Kekäläinen 2002; Luo 2021, equation 2.1; gain=exp: Burges "
        "et al. 2005, Carterette et al. 2008, Golbus et al. 2014",
        formula="DCG@k = sum over ranks r <= k of g(r) / log2(1 + r)",
        differs="ranx: dcg is this, dcg_burges gain=exp",
    ),
    DCG_GAINS,
)
NDCG = define(
    "nDCG",
    "Discounted cumulative gain, divided by that of the ideal list",
    NDCG_GAINS.parameters,
    NDCG_GAINS,
    source="Järvelin and Kekäläinen 2002, as in Luo 2021, equations 2.1 and 2.2",
    formula="DCG@k / ideal DCG@k, DCG@k = sum over ranks r <= k of g(r) / log2(1 + r)",
    differs="as trec_eval's ndcg and ndcg_cut, ir_measures' nDCG and ranx' ndcg; gain="
    "exp is gdeval's, ir_measures' dcg='exp-log2' and ranx' ndcg_burges; discount="
    "original is NTCIREVAL's nDCG with -logb 2",
    aliases={"ndcg": "nDCG", "ndcg_cut_{k}": "nDCG@{k}"},
)
MSNDCG = define(
    "MSnDCG",
    "nDCG as Microsoft had it: exponential gains, discounted from rank 2 on",
    MSNDCG_GAINS.parameters,
    MSNDCG_GAINS,
    source="Burges et al. 2005; Sakai and Song 2011, equation 1",
    formula="sum over ranks r <= k of g(r) / ln(1 + r), over that of the ideal list",
    differs="the base of the logarithm cancels out: this is nDCG(gain=exp); NTCIREVAL "
    "takes gains as given (gain=linear of grades that are gains)",
)
ERR = with_context(
    define(
        "ERR",
        "Expected reciprocal rank of the document at which a user stops",
        ERR_GAINS.parameters,
        ERR_GAINS,
        source="Chapelle et al. 2009, equation 4; Golbus et al. 2014, equations 3 to 5",
        formula="sum over ranks r <= k of R(r) / r times the product over i < r of "
        "1 - R(i), R by the parameter stop",
        differs="gdeval and so ir_measures have gmax=4 for every collection; NTCIREVAL "
        "has stop=linear and gmax of its -g",
    ),
    ERR_GAINS,
)
NERR = define(
    "nERR",
    "Expected reciprocal rank, divided by that of the ideal list",
    NERR_GAINS.parameters,
    NERR_GAINS,
    source="Chapelle et al. 2009; Sakai and Song 2011",
    formula="ERR@k / ideal ERR@k",
    differs="as NTCIREVAL's nERR with stop=linear and gmax of its -g",
)
Q = define(
    "Q",
    "Q-measure: average precision that is blended with cumulative gain",
    Q_GAINS.parameters,
    Q_GAINS,
    source="Sakai 2004; Sakai and Song 2011, equations 2 and 3 (BR(R) there is a "
    "misprint of BR(r))",
    formula="Q@l = 1 / min(l, R) times the sum over relevant ranks r <= l of BR(r); "
    + _BLEND,
    differs="as NTCIREVAL's Q-measure and Q@l, of gains that are grades",
)
P_PLUS = define(
    "P+",
    "P-plus: blended precision down to the first document of the highest gain",
    P_PLUS_GAINS.parameters,
    P_PLUS_GAINS,
    source="Sakai 2007; Sakai and Song 2011, equation 4",
    formula="P+@l = 1 / C(rp) times the sum over relevant ranks r <= rp of BR(r); rp: "
    "first rank of the highest gain within ranks 1..l; " + _BLEND,
    differs="as NTCIREVAL's P-plus, which has no cutoff",
)
O = define(  # noqa: E741
    "O",
    "O-measure: blended ratio at the first relevant document",
    O_GAINS.parameters,
    O_GAINS,
    source="Sakai 2007",
    formula="O@l = BR(r) at the first relevant rank r, if r <= l; " + _BLEND,
    differs="as NTCIREVAL's O-measure, which has no cutoff",
)
