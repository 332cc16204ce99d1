"""Contextual cumulative gain: for a user who may stop at every rank down to k."""

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.conditional import with_context
from pgcjax.measures.gains import Gains, Parameters, by_log, define, mapped
from pgcjax.measures.spec import Parameter
from pgcjax.reference import context as twins

FORM = Parameter(
    "form",
    "nested",
    "one of nested (equation 6), single (equation 7, which is not equal to it)",
    allowed=("nested", "single"),
)


def by_stop(q: Parameters, depth: int) -> np.ndarray:
    """Weight ranks by how often they are seen: the sum of 1 / log2(1 + i), r <= i <= k.

    Equation 7 has (k - r + 1) / log2(1 + r) instead.
    """
    k = q["k"]
    discounts = by_log({}, k)[1:]
    if q["form"] == "single":
        weights = discounts * np.arange(k, 0, -1)
    else:
        weights = np.cumsum(discounts[::-1])[::-1]
    return np.pad(weights, (1, max(0, depth - k)))[: depth + 1]


CCG_GAINS = Gains(
    gains=lambda grades, q, highest: mapped(grades, {"gain": "linear"}, highest),
    kernel=lambda gain, ranked, ideal, q: kernels.discounted(gain, ranked),
    by_rank=by_stop,
    twin=twins.ccg_of,
    parameters=(FORM,),
)
CCG = with_context(
    define(
        "CCG",
        "Contextual cumulative gain: grades of documents right after others",
        CCG_GAINS.parameters,
        CCG_GAINS,
        source="Golbus et al. 2014, equations 1 and 6 (the inner g(d_i|d_{j-1}) there "
        "is a misprint of g(d_j|d_{j-1})) and, as form=single, 7",
        formula="sum over i <= k of [sum over j <= i of u(j)] / log2(1 + i), u(j) = "
        "(1 - α) g(d_j) + α g(d_j|d_{j-1}), u(1) = g(d_1); a rank without a document "
        "adds no grade, and a user may stop there all the same",
        differs="the paper takes equation 7 for equal to 6: u = 1, 0, 0, 0, 0 gives 5 "
        "by 7 and 2.948459 by 6",
        cutoff="must",
    ),
    CCG_GAINS,
    alpha=0.5,
)
