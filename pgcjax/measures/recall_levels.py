"""Measures of precision at the rank where recall reaches a level."""

from math import inf
from typing import Annotated

import numpy as np

from pgcjax.kernels import relevance as kernels
from pgcjax.measures.gains import Relevant
from pgcjax.measures.measure import Parameter
from pgcjax.reference import relevance as twins

_TENTHS = [tenth / 10 for tenth in range(11)]
Rounding = Annotated[
    str,
    Parameter(
        "what makes a number of documents of the share x of R relevant ones, one of "
        "up (floor(x R + 0.9), as trec_eval up to 9), nearest (as trec_eval from 10 "
        "on)",
        allowed=("up", "nearest"),
    ),
]


def share_of(gains: np.ndarray, share: float, rounding: str = "up") -> float:
    """Compute the number of relevant documents at a recall level, as trec_eval does."""
    documents = share * int((gains > 0).sum())
    return float(int(documents + (0.9 if rounding == "up" else 0.5)))


class IPrec(Relevant):
    """Interpolated precision at a level of recall: the best precision from there on."""

    name = "IPrec"
    source = "Salton and McGill 1983, as in trec_eval"
    formula = (
        "IPrec@x = max of C(r) / r over relevant ranks r with C(r) >= floor(x R + "
        "0.9), 0 if there are none; R: relevant documents, C(r): those down to rank r"
    )
    differs = (
        "as iprec_at_recall of trec_eval up to version 9, and ir_measures' IPrec; "
        "trec_eval 10 has rounding=nearest"
    )
    cutoff = "level"
    aliases = {"iprec_at_recall_{x}": "IPrec@{x}"}

    rounding: Rounding = "up"

    @property
    def depth(self):
        """Return None: all ranks count, because the level is no cutoff."""
        return None

    def ideal(self, gains):
        """Count the documents of the level of recall."""
        return share_of(gains, self.k or 0.0, self.rounding)

    def score(self, gain, run, ideal):
        return kernels.interpolated(gain, run, ideal)

    def plain_score(self, run, pool):
        return twins.interpolated_precision(run, pool, self.k or 0.0, self.rounding)


class ElevenPoints(Relevant):
    """Interpolated precision, averaged over the levels of recall 0, 0.1, …, 1."""

    name = "11pt_avg"
    source = "Salton and McGill 1983, as in trec_eval"
    formula = "1 / 11 times the sum of IPrec@x over x = 0, 0.1, …, 1"
    differs = "as 11pt_avg of trec_eval up to version 9; 10 has rounding=nearest"
    cutoff = "no"
    aliases = {"11pt": "11pt_avg"}

    rounding: Rounding = "up"

    def ideal(self, gains):
        """Count the documents of each level."""
        return np.array([share_of(gains, level, self.rounding) for level in _TENTHS])

    def score(self, gain, run, ideal):
        return kernels.averaged_levels(gain, run, ideal)

    def plain_score(self, run, pool):
        return twins.eleven_points(run, pool, self.rounding)


class Rprec(Relevant):
    """Precision at rank R, the number of relevant documents, or at a multiple of R."""

    name = "Rprec"
    source = "Buckley and Voorhees 2005, as in trec_eval"
    formula = "P@floor(mult R + 0.9)"
    differs = "as trec_eval's Rprec and Rprec_mult, and ir_measures' Rprec"
    cutoff = "no"
    aliases = {"Rprec_mult_{x}": "Rprec(mult={x})"}

    mult: Annotated[
        float,
        Parameter(
            "which multiple of the number of relevant documents is the rank, a number "
            "above 0",
            valid=lambda mult: 0 < mult < inf,
        ),
    ] = 1.0

    def ideal(self, gains):
        """Return the rank."""
        return share_of(gains, self.mult)

    def score(self, gain, run, ideal):
        return kernels.within(gain, run, ideal)

    def plain_score(self, run, pool):
        return twins.r_precision(run, pool, self.mult)


MEASURES = IPrec(), ElevenPoints(), Rprec()
