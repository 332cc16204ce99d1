"""Odds of preferring what was shown first, of pairs that were shown in both orders.

Which document is better says nothing of place where each pair is compared with itself:
so it does not matter whether better documents were shown first more often.
"""

from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Real

from pgcjax.judging.audit_shares import wilson


class PlaceOdds(NamedTuple):
    """Odds of preferring what was shown first.

    Attributes:
        odds: of two documents as good; NaN where no answer goes with the place.
        low: of the 95 % interval.
        high: likewise.
        pairs: that one judge decided in both orders.
    """

    odds: float
    low: float
    high: float
    pairs: int


def place_odds(
    stratum: Int[np.ndarray, " votes"],
    low_first: Float64[np.ndarray, " votes"],
    sign: Real[np.ndarray, " votes"],
) -> PlaceOdds:
    """Estimate the odds of preferring the first from pairs shown in both orders.

    A judge's votes on a pair are a table of two by two: which document was shown
    first, and which is preferred. The common odds ratio of these tables is the square
    of the odds, as either order moves the log-odds by as much. Of one vote in each
    order it is McNemar's: votes that flip to the first by those that flip to the
    second.

    Args:
        stratum: number of the judge and pair of each vote.
        low_first: 1 if the pair's low document was shown first, -1 if the other was.
        sign: 1 if the low document is preferred, -1 if the other is, 0 for a tie; ties
            do not count.

    Source: Mantel and Haenszel 1959; Robins, Breslow and Greenland 1986, of the
    variance, as that of as many answers in Wilson's interval.
    """
    decided = (sign != 0) & ~np.isnan(low_first)
    _, number = np.unique(stratum[decided], return_inverse=True)
    cell = 2 * (low_first[decided] < 0) + (sign[decided] < 0)
    n = int(number.max(initial=-1)) + 1
    counts = np.bincount(4 * number + cell, minlength=4 * n).reshape(n, 4)
    counts = counts[(counts[:, :2].sum(1) > 0) & (counts[:, 2:].sum(1) > 0)] * 1.0
    a, b, c, d = counts.T
    total = counts.sum(1)
    first, second = a * d / total, b * c / total
    up, down = float(first.sum()), float(second.sum())
    pairs = len(counts)
    if not up + down:
        return PlaceOdds(nan, nan, nan, pairs)
    # Two answers of a pair that flip weigh one half.
    share, size = up / (up + down), 2 * (up + down)
    if up and down:
        same, other = (a + d) / total, (b + c) / total
        variance = float((same * first).sum()) / (2 * up * up)
        variance += float((same * second + other * first).sum()) / (2 * up * down)
        variance += float((other * second).sum()) / (2 * down * down)
        size = 1 / (variance * share * (1 - share))
    ends = wilson(share * size, size)
    odds, low, high = (sqrt(x / (1 - x)) if x < 1 else inf for x in (share, *ends))
    return PlaceOdds(odds, low, high, pairs)
