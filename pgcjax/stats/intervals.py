"""Intervals of the mean difference of each pair."""

import math

import numpy as np
from jaxtyping import Float64
from scipy import stats
from scipy.special import ndtr, ndtri

from pgcjax.stats import tests
from pgcjax.stats.rounding import NOISE, exact
from pgcjax.stats.tests import OfPairs, RunPairs, Values


def student(
    mean: OfPairs, deviation: OfPairs, queries: int, alpha: float
) -> tuple[OfPairs, OfPairs]:
    """Give Student's t interval of means, of pairs or of runs, over queries."""
    half = stats.t.isf(alpha / 2, queries - 1) * deviation / math.sqrt(queries)
    return mean - half, mean + half


def resampled_critical_difference(
    ranges: Float64[np.ndarray, " resamples"], alpha: float
) -> float:
    """Give the difference beyond which randomised Tukey HSD is significant.

    The ranges are ascending, and enough that p can be below alpha.
    """
    # Significant is d if (1 + k) / (1 + B) < α, where k ranges reach d.
    most = math.ceil(exact(alpha) * (1 + len(ranges))) - 2
    return float(ranges[len(ranges) - 1 - max(most, 0)])


def bootstrap(
    values: Values,
    pairs: RunPairs,
    *,
    resamples: int,
    seed: int,
    alpha: float,
    corrected: bool,
    budget: int = 2**24,
) -> tuple[OfPairs, OfPairs]:
    """Give the bootstrap interval, of level 1 - alpha, of the difference of each pair.

    It is corrected for bias and acceleration (BCa), or of the percentiles as they are.
    Resamples are those of the bootstrap test with the same seed. The means of a block
    of pairs in all of them take `budget` bytes.

    Returns:
        Low and high; both the mean where all differences are equal.

    Source: Efron and Tibshirani 1993, chapters 13 and 14; quantiles are interpolated
    as numpy does it. Bias counts a resampled mean equal to the observed one by half.
    """
    from pgcjax.stats import resample

    scores = resample.WholeScores.of(values)
    queries = values.shape[1]
    sums = scores.values @ resample.bootstrap_weights(seed, resamples, queries)
    first, second = pairs
    low, high = np.zeros(len(first)), np.zeros(len(first))
    most = max(1, budget // (8 * resamples))
    for block, z in tests.differences(scores.values, pairs, most):
        drawn = np.sort(sums[first[block]] - sums[second[block]], axis=1)
        levels = np.full((2, len(z)), [[alpha / 2], [1 - alpha / 2]])
        if corrected:
            observed, w = z.sum(1, keepdims=True), z - z.mean(1, keepdims=True)
            levels = bias_corrected(levels, drawn, observed, w, scores.slack)
        low[block], high[block] = (quantile(drawn, level) for level in levels)
    return low * scores.unit / queries, high * scores.unit / queries


def bias_corrected(
    levels: Float64[np.ndarray, "2 #pairs"],
    drawn: Float64[np.ndarray, "pairs resamples"],
    observed: Float64[np.ndarray, "pairs 1"],
    w: Float64[np.ndarray, "pairs queries"],
    slack: float | Float64[np.ndarray, "pairs 1"],
) -> Float64[np.ndarray, "2 pairs"]:
    """Correct levels of percentiles for bias and acceleration.

    Args:
        levels: of the lower and the upper bound.
        drawn: the statistic in each resample.
        observed: the statistic of the queries as they are; values of it are equal if
            they differ by slack.
        w: how much more than others each query adds to it, in any unit.
        slack: as above.
    """
    below = (drawn < observed - slack).sum(1) + (drawn <= observed + slack).sum(1)
    share = below / (2 * drawn.shape[1])
    least = 1 / (2 * drawn.shape[1])  # a bias that no resample can show is not infinite
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
    """Give the interval of numbers, of level 1 - alpha, from replicates of each.

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
        levels = bias_corrected(levels, drawn, observed[:, None], none, slack)
    ascending = np.sort(drawn, axis=1)
    low, high = (quantile(ascending, level) for level in levels)
    if interval == "centred":
        shift = observed - drawn.mean(1)
        return low + shift, high + shift
    if interval == "basic":
        return 2 * observed - high, 2 * observed - low
    return low, high


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
