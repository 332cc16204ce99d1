"""Intervals of the mean difference of each pair."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float64, Int64
from scipy import stats
from scipy.special import ndtr, ndtri

from pgcjax.stats.rounding import NOISE, exact
from pgcjax.stats.tests import OfPairs, RunPairs, Values

_NEAR = 2**20  # bytes of a block of pairs in all resamples: they stay in a core's cache


def student(
    mean: OfPairs, deviation: OfPairs, queries: int, alpha: float
) -> tuple[OfPairs, OfPairs]:
    """Give Student's t interval of means, of pairs or of runs, over queries."""
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
    Resamples are those of the bootstrap test with the same seed. Threads take pairs in
    blocks, whose means in all of them take `budget` bytes together.

    Returns:
        Low and high; both the mean where all differences are equal.

    Source: Efron and Tibshirani 1993, chapters 13 and 14; quantiles are interpolated
    as numpy does it. Bias counts a resampled mean equal to the observed one by half.
    """
    from pgcjax.stats import resample

    scores = resample.WholeScores.of(values)
    queries, threads = values.shape[1], resample.workers()
    sums = scores.values @ resample.bootstrap_weights(seed, resamples, queries)
    first, second = pairs
    low, high = np.zeros(len(first)), np.zeros(len(first))
    most = max(1, min(budget // (2 * threads), _NEAR) // (8 * resamples))
    own = threading.local()  # the same memory for all blocks of a thread

    def bound(start: int) -> None:
        block = slice(start, start + most)
        if not hasattr(own, "rooms"):
            own.rooms = np.empty((2, min(most, len(first)), resamples))
        drawn, other = own.rooms[:, : len(first[block])]
        np.take(sums, first[block], axis=0, out=drawn, mode="clip")
        np.take(sums, second[block], axis=0, out=other, mode="clip")
        drawn -= other
        drawn.sort(axis=1)
        levels = np.full((2, len(drawn)), [[alpha / 2], [1 - alpha / 2]])
        if corrected:
            z = scores.values[first[block]] - scores.values[second[block]]
            observed, w = z.sum(1), z - z.mean(1, keepdims=True)
            below = _below(drawn, observed - scores.slack)
            below += _below(drawn, observed + scores.slack, equal=True)
            levels = bias_corrected(levels, below, resamples, w)
        low[block], high[block] = (quantile(drawn, level) for level in levels)

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(bound, range(0, len(first), most)):
            pass  # what a block raises is raised here
    return low * scores.unit / queries, high * scores.unit / queries


def _below(
    ascending: Float64[np.ndarray, "pairs resamples"],
    limits: OfPairs,
    equal: bool = False,
) -> Int64[np.ndarray, " pairs"]:
    """Count the numbers of each row below a limit, or `equal` to it, by bisection."""
    rows, last = np.arange(len(ascending)), ascending.shape[1] - 1
    low = np.zeros(len(ascending), np.int64)
    high = np.full(len(ascending), last + 1)
    for _ in range((last + 1).bit_length()):
        middle = (low + high) // 2
        found = ascending[rows, np.minimum(middle, last)]
        under = (found <= limits) if equal else (found < limits)
        under &= middle < high
        low, high = np.where(under, middle + 1, low), np.where(under, high, middle)
    return low


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
