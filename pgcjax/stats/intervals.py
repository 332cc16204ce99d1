"""Intervals of the mean difference of each pair."""

import math

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import ndtr, ndtri

from pgcjax.later import stats
from pgcjax.stats.rounding import NOISE, exact
from pgcjax.stats.tests import OfPairs


def student(
    mean: OfPairs, deviation: OfPairs, queries: int, alpha: float
) -> tuple[OfPairs, OfPairs]:
    """Return Student's t interval of means, of pairs or of runs, over queries."""
    half = stats.t.isf(alpha / 2, queries - 1) * deviation / math.sqrt(queries)
    return mean - half, mean + half


def critical_value(largest: Float64[np.ndarray, " resamples"], alpha: float) -> float:
    """Return the statistic beyond which p is below alpha.

    Args:
        largest: the largest statistic of each resample, ascending; enough that p can be
            below alpha.
        alpha: level.
    """
    # Significant is d if (1 + k) / (1 + B) < α, where k of them reach d.
    most = math.ceil(exact(alpha) * (1 + len(largest))) - 2
    return float(largest[len(largest) - 1 - max(most, 0)])


def twice_below(
    drawn: Float64[np.ndarray, "pairs resamples"],
    observed: Float64[np.ndarray, "pairs 1"],
    slack: float | Float64[np.ndarray, "pairs 1"],
) -> Int64[np.ndarray, " pairs"]:
    """Count the resamples below what was observed twice, those equal to it once.

    Args:
        drawn: the statistic in each resample.
        observed: the statistic of the queries as they are.
        slack: values of it are equal if they differ by no more.
    """
    return (drawn < observed - slack).sum(1) + (drawn <= observed + slack).sum(1)


def bias_corrected(
    levels: Float64[np.ndarray, "2 #pairs"],
    below: Int64[np.ndarray, " pairs"],
    resamples: int,
    w: Float64[np.ndarray, "pairs queries"],
) -> Float64[np.ndarray, "2 pairs"]:
    """Correct levels of percentiles for bias and acceleration.

    Args:
        levels: of the lower and the upper bound.
        below: what `twice_below` counts.
        resamples: how many there are.
        w: how much more than others each query adds to the statistic, in any unit.
    """
    share = below / (2 * resamples)
    least = 1 / (2 * resamples)  # a bias that no resample can show is not infinite
    bias = ndtri(np.clip(share, least, 1 - least))
    spread = (w * w).sum(1) ** 1.5
    acceleration = (w**3).sum(1) / (6 * np.where(spread > 0, spread, 1.0))
    moved = bias + ndtri(levels)
    return ndtr(bias + moved / (1 - acceleration * moved))


def of_replicates(
    observed: OfPairs,
    drawn: Float64[np.ndarray, "pairs replicates"],
    interval: str,
    alpha: float,
) -> tuple[OfPairs, OfPairs]:
    """Return the interval of numbers, of level 1 - alpha, from replicates of each.

    Args:
        observed: the numbers.
        drawn: their replicates.
        interval: `percentile`; `centred`, percentiles after a shift that brings the
            mean of the replicates to the number; `basic`, percentiles mirrored at the
            number: as far as replicates lie below it, the interval lies above it; or
            `bc`, percentiles whose levels are moved by the share of the replicates
            below the number.
        alpha: 1 less the level.

    Source: Efron and Tibshirani 1993, chapter 13 and 14.3; Davison and Hinkley 1997,
    5.2 (basic).
    """
    levels = np.full((2, len(observed)), [[alpha / 2], [1 - alpha / 2]])
    if interval == "bc":
        slack = NOISE * np.abs(drawn).max(1, initial=0, keepdims=True)
        none = np.zeros((len(observed), 1))  # acceleration
        below = twice_below(drawn, observed[:, None], slack)
        levels = bias_corrected(levels, below, drawn.shape[1], none)
    ascending = np.sort(drawn, axis=1)
    low, high = (quantile(ascending, level) for level in levels)
    if interval == "centred":
        shift = observed - drawn.mean(1)
        return low + shift, high + shift
    if interval == "basic":
        return 2 * observed - high, 2 * observed - low
    return low, high


def share_above(
    observed: OfPairs,
    drawn: Float64[np.ndarray, "pairs replicates"],
    interval: str,
) -> OfPairs:
    """Share the replicates above 0, as an interval of `of_replicates` moves them.

    One equal to 0 counts by half. Of `bc`, it is the level at which the interval ends
    at 0.
    """
    if interval == "centred":
        drawn = drawn + (observed - drawn.mean(1))[:, None]
    elif interval == "basic":
        drawn = 2 * observed[:, None] - drawn
    slack = NOISE * np.abs(drawn).max(1, initial=0, keepdims=True)
    count = 2 * drawn.shape[1]
    share = 1 - twice_below(drawn, np.zeros((len(drawn), 1)), slack) / count
    if interval == "bc":
        below = twice_below(drawn, observed[:, None], slack)
        bias = ndtri(np.clip(below / count, 1 / count, 1 - 1 / count))
        share = ndtr(ndtri(share) + 2 * bias)
    return share


def quantile(
    ascending: Float64[np.ndarray, "pairs resamples"], level: OfPairs
) -> OfPairs:
    """Interpolate a quantile of each row."""
    place = level * (ascending.shape[1] - 1)
    below = np.floor(place).astype(int)
    above = np.minimum(below + 1, ascending.shape[1] - 1)
    rows = np.arange(len(ascending))
    a, b = ascending[rows, below], ascending[rows, above]
    return a + (b - a) * (place - below)
