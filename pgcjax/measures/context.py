"""Contextual cumulative gain: for a user who may stop at every rank down to k."""

# pyright: reportIncompatibleVariableOverride=false

from typing import Annotated

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.measures.conditional import Context, InContext
from pgcjax.measures.gains import Graded, by_log, mapped
from pgcjax.measures.measure import Parameter
from pgcjax.reference import context as twins


class Formed(Graded):
    """Gains by two equations, which the paper equates."""

    form: Annotated[
        str,
        Parameter(
            "one of nested (equation 6), single (equation 7, which is not equal to it)",
            allowed=("nested", "single"),
        ),
    ] = "nested"


class CCG(InContext, Formed):
    """Contextual cumulative gain: grades of documents right after others."""

    name = "CCG"
    source = (
        "Golbus et al. 2014, equations 1 and 6 (the inner g(d_i|d_{j-1}) there is a "
        "misprint of g(d_j|d_{j-1})) and, as form=single, 7"
    )
    formula = (
        "sum over i <= k of [sum over j <= i of u(j)] / log2(1 + i), u(j) = (1 - α) "
        "g(d_j) + α g(d_j|d_{j-1}), u(1) = g(d_1); a rank without a document adds no "
        "grade, and a user may stop there all the same"
    )
    differs = (
        "the paper states that equation 7 is equal to 6: u = 1, 0, 0, 0, 0 gives 5 "
        "by 7 and 2.948459 by 6"
    )
    cutoff = "must"

    context: Context = 0.5

    def gains(self, grades, highest):
        """Take grades for gains."""
        return mapped(grades)

    def weights(self, depth):
        """Weight ranks by how often they are seen.

        The weight of rank r is the sum of 1 / log2(1 + i) over r <= i <= k; equation 7
        has (k - r + 1) / log2(1 + r) instead.
        """
        k = self.depth or 0
        discounts = by_log(k)[1:]
        if self.form == "single":
            weights = discounts * np.arange(k, 0, -1)
        else:
            weights = np.cumsum(discounts[::-1])[::-1]
        return np.pad(weights, (1, max(0, depth - k)))[: depth + 1]

    def score(self, gain, run, ideal):
        return kernels.discounted(gain, run)

    def plain_score(self, run, pool):
        score = twins.ccg if self.form == "nested" else twins.ccg_single
        return score(run, self.k or 0)


MEASURES = (CCG(),)
