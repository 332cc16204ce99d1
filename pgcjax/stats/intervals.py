"""Intervals of means and differences: Student's, from replicates, by inverted tests.

Let z be the differences of a pair. The interval of an inverted test contains each δ for
which the test of z - δ has p >= `level`, such as 1/20; 0 is outside exactly if p of the
pair is below the level. Resamples are those of the test.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import ndtr, ndtri

from pgcjax.later import stats
from pgcjax.stats import resample, tests
from pgcjax.stats.rounding import NOISE
from pgcjax.stats.tests import OfPairs, RunPairs, Values

_IN_CACHE = 2**19  # numbers of a block of pairs × resamples, for a core's cache
_EXACT_WILCOXON = 50  # most queries for which scipy's p is exact, without ties

Ends = tuple[OfPairs, OfPairs]
"""The low and the high end of each interval."""
Statistics = Float64[np.ndarray, "kinds rows resamples"]


def student(mean: OfPairs, deviation: OfPairs, queries: int, alpha: float) -> Ends:
    """Return Student's t interval, over queries, of means of pairs or of runs."""
    half = stats.t.isf(alpha / 2, queries - 1) * deviation / math.sqrt(queries)
    return mean - half, mean + half


def critical_value(
    largest: Float64[np.ndarray, " resamples"], level: Fraction
) -> float:
    """Return the statistic above which p is below a level; infinite if none is.

    Args:
        largest: Largest statistic of each resample, in any order.
        level: Level of the test.
    """
    count = reaching(level, len(largest))
    if count < 0:
        return math.inf
    place = len(largest) - 1 - count
    return float(np.partition(largest, place)[place])


def _twice_below(
    drawn: Float64[np.ndarray, "pairs resamples"],
    observed: Float64[np.ndarray, "pairs 1"] | float,
) -> Int64[np.ndarray, " pairs"]:
    """Count resamples below the observed number twice, and those equal to it once."""
    slack = NOISE * np.abs(drawn).max(1, initial=0, keepdims=True)
    return (drawn < observed - slack).sum(1) + (drawn <= observed + slack).sum(1)


def bias_of(
    observed: OfPairs, drawn: Float64[np.ndarray, "pairs resamples"]
) -> OfPairs:
    """Return the normal quantile of the share of resamples below the observed number.

    Shares of 0 and 1 are clipped, so that no bias is infinite.
    """
    count = 2 * drawn.shape[1]
    share = _twice_below(drawn, observed[:, None]) / count
    return ndtri(np.clip(share, 1 / count, 1 - 1 / count))


def of_replicates(
    observed: OfPairs,
    drawn: Float64[np.ndarray, "pairs replicates"],
    interval: str,
    alpha: float,
) -> Ends:
    """Return the interval of each number, of level 1 - alpha, from its replicates.

    Args:
        observed: Observed numbers.
        drawn: Replicates of each number.
        interval: `percentile`; `centred`, percentiles after a shift that brings the
            mean of the replicates to the number; `basic`, percentiles mirrored at the
            number, so that the interval extends as far above it as replicates lie below
            it; or `bc`, percentiles whose levels are corrected with the share of
            replicates below the number.
        alpha: 1 less the level.

    Source: Efron and Tibshirani 1993, chapter 13 and 14.3; Davison and Hinkley 1997,
    5.2 (basic).
    """
    levels = np.full((2, len(observed)), [[alpha / 2], [1 - alpha / 2]])
    if interval == "bc":
        bias = bias_of(observed, drawn)
        levels = ndtr(bias + (bias + ndtri(levels)))
    ascending = np.sort(drawn, axis=1)
    low, high = (quantile(ascending, level) for level in levels)
    return moved_ends(low, high, observed, drawn.mean(1), interval)


def moved_ends(
    low: np.ndarray,
    high: np.ndarray,
    observed: np.ndarray,
    mean: np.ndarray,
    interval: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Move percentiles of replicates with this mean, as in `of_replicates`."""
    if interval == "centred":
        shift = observed - mean
        return low + shift, high + shift
    if interval == "basic":
        return 2 * observed - high, 2 * observed - low
    return low, high


def share_above(
    observed: OfPairs,
    drawn: Float64[np.ndarray, "pairs replicates"],
    interval: str,
) -> OfPairs:
    """Return the share of replicates above 0, moved as `of_replicates` moves them.

    A replicate equal to 0 counts half. For `bc`, the share is the level at which the
    interval ends at 0.
    """
    if interval == "centred":
        drawn = drawn + (observed - drawn.mean(1))[:, None]
    elif interval == "basic":
        drawn = 2 * observed[:, None] - drawn
    share = 1 - _twice_below(drawn, 0.0) / (2 * drawn.shape[1])
    if interval == "bc":
        share = ndtr(ndtri(share) + 2 * bias_of(observed, drawn))
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


def reaching(level: Fraction, resamples: int, *, every: bool = False) -> int:
    """Return the largest number of resamples that may reach a significant statistic.

    Args:
        level: Level of the test; p of a significant statistic is below it.
        resamples: Number of resamples; p is (1 + count) / (1 + resamples).
        every: Whether these are all possible resamples; p is then count / resamples.
    """
    if every:
        return math.ceil(level * resamples) - 1
    return math.ceil(level * (1 + resamples)) - 2


def bootstrap_t(
    values: Values,
    pairs: RunPairs,
    *,
    resamples: int,
    seed: int,
    level: Fraction,
) -> Ends:
    """Compute symmetric bootstrap-t intervals of mean differences.

    They are mean ± c · standard error, where p is below the level for |t| > c. They are
    infinite if no p can be below the level.

    Args:
        values: Scores.
        pairs: Pairs of runs.
        resamples: Number of resamples, as in the test.
        seed: Seed of the resamples, as in the test.
        level: Level of the test, 1 less the level of the intervals.

    Returns:
        Low and high end for each pair.

    Source: Hall 1992; Efron and Tibshirani 1993, 12.5.
    """
    mean, deviation = tests.moments(values, pairs)
    queries, noise = values.shape[1], tests.largest_noise(values)

    def statistics(z: np.ndarray, weights: np.ndarray) -> Statistics:
        w = z - z.mean(1, keepdims=True)
        w[np.abs(w) <= noise] = 0.0
        squares = (w * w) @ weights * queries
        means = (w @ weights) ** 2
        # This ratio grows with |t*|, and is 1 where a resample has no variance.
        return (means / np.where(squares > 0, squares, 1.0))[None]

    def drawn() -> Iterator[np.ndarray]:
        for block, size in resample.blocks(resamples):
            yield resample.multiplicities(resample.indices(seed, block, size, queries))

    place = reaching(level, resamples) + 1
    (ratio,) = _largest(values, pairs, statistics, drawn, 1, place)
    with np.errstate(divide="ignore", invalid="ignore"):
        critical = np.sqrt((queries - 1) * ratio / (1 - ratio))
    critical[ratio >= 1 - NOISE] = np.inf
    error = deviation / math.sqrt(queries)
    half = np.where(error > 0, critical * np.where(error > 0, error, 1.0), 0.0)
    return mean - half, mean + half


def sign_flips(
    values: Values,
    pairs: RunPairs,
    *,
    resamples: int,
    exact: bool,
    seed: int,
    level: Fraction,
) -> Ends:
    """Compute intervals of mean differences by inverting the test by sign flips.

    Let S be the sum of z - δ, and S* that sum with some signs flipped. |S*| >= |S|
    exactly if δ lies between the mean of the flipped z and the mean of the other z. The
    ends are therefore order statistics over the resamples: the low end of the lower of
    these two means, and the high end of the higher one.

    Args:
        values: Scores.
        pairs: Pairs of runs.
        resamples: Number of resamples, as in the test.
        exact: Whether the resamples are all possible sign flips.
        seed: Seed of the resamples, as in the test.
        level: Level of the test, 1 less the level of the intervals.

    Source: Fisher's randomisation test; Tritchler 1984.
    """
    queries = values.shape[1]
    mean, _ = tests.moments(values, pairs)
    count = resamples // 2 if exact else resamples  # |S*| of the other half is equal

    def drawn() -> Iterator[np.ndarray]:
        for block, size in resample.blocks(count):
            if exact:
                yield resample.all_signs(block, size, queries)
            else:
                yield resample.signs(seed, block, size, queries)

    def statistics(z: np.ndarray, signs: np.ndarray) -> Statistics:
        flipped = (signs < 0).astype(np.float64)
        flips = flipped.sum(0)
        flipped_sum = (z - z.mean(1, keepdims=True)) @ flipped
        one_mean = flipped_sum / np.maximum(flips, 1)
        other_mean = -flipped_sum / np.maximum(queries - flips, 1)
        below = -np.minimum(one_mean, other_mean)
        above = np.maximum(one_mean, other_mean)
        always = (flips == 0) | (flips == queries)  # |S*| = |S| for every δ
        below[:, always] = above[:, always] = np.inf
        return np.stack([below, above])

    place = reaching(level, count, every=exact) + 1
    below, above = _largest(values, pairs, statistics, drawn, 2, place)
    return mean - below, mean + above


def _largest(
    values: Values,
    pairs: RunPairs,
    statistics: Callable[[np.ndarray, np.ndarray], Statistics],
    drawn: Callable[[], Iterator[np.ndarray]],
    kinds: int,
    place: int,
) -> Float64[np.ndarray, "kinds pairs"]:
    """Find the place-th largest of each statistic of each pair over all resamples.

    Args:
        values: Scores.
        pairs: Pairs of runs.
        statistics: Function of differences `[rows, queries]` and a block of resamples.
        drawn: Function that yields the blocks of resamples, the same at each call.
        kinds: Number of statistics.
        place: Place from 1; with a lower one, all results are infinite.
    """
    count = len(pairs[0])
    if place < 1:
        return np.full((kinds, count), np.inf)

    def of_block(start: int) -> Float64[np.ndarray, "kinds rows"]:
        first, second = (runs[start : start + rows] for runs in pairs)
        z = values[first] - values[second]
        largest = np.full((kinds, len(z), place), -np.inf)
        for weights in drawn():
            candidates = np.concatenate([largest, statistics(z, weights)], axis=2)
            largest = np.partition(candidates, -place, axis=2)[..., -place:].copy()
        return largest.min(2)

    rows = max(1, _IN_CACHE // max(values.shape[1], resample.BLOCK))
    with ThreadPoolExecutor(resample.workers()) as pool:
        return np.concatenate([*pool.map(of_block, range(0, count, rows))], axis=1)


def wilcoxon(values: Values, pairs: RunPairs, p: OfPairs, level: Fraction) -> Ends:
    """Compute intervals of the pseudo-median by Wilcoxon's signed ranks.

    The ends are Walsh averages, (z_i + z_j) / 2 for i <= j: the number of averages
    below δ is the sum of the ranks, by |z - δ|, of the differences below δ. With ties
    or zeros, scipy computes p at δ = 0 by another rule. If the pair is significant by
    this p, an end that is not beyond 0 moves to the next average beyond 0.

    Args:
        values: Scores.
        pairs: Pairs of runs.
        p: p of each pair from `tests.wilcoxon`.
        level: Level of the test, 1 less the level of the intervals.

    Source: Hollander, Wolfe and Chicken 2014, 3.3; Hodges and Lehmann 1963.
    """
    queries, scale = values.shape[1], np.abs(values).max(initial=0.0) or 1.0
    first, second = np.triu_indices(queries)
    low, high = np.empty(len(p)), np.empty(len(p))
    for block, z in tests.differences(values, pairs, max(1, 2**20 // len(first))):
        z = np.sort(np.round(z / scale, 12), axis=1)
        walsh = np.sort((z[:, first] + z[:, second]) / 2, axis=1)
        outside = _ranks_outside(z, level)
        rows, last = np.arange(len(z)), len(first) - 1
        place = np.clip(outside, 0, last // 2)
        start = np.where(outside < 0, -np.inf, walsh[rows, place])
        end = np.where(outside < 0, np.inf, walsh[rows, last - place])
        significant = p[block] < float(level)
        up = (walsh > 0).sum(1) >= (walsh < 0).sum(1)
        positive = np.where(walsh > 0, walsh, np.inf).min(1)
        negative = np.where(walsh < 0, walsh, -np.inf).max(1)
        low[block] = np.where(significant & up & (start <= 0), positive, start) * scale
        high[block] = np.where(significant & ~up & (end >= 0), negative, end) * scale
    return low, high


def _ranks_outside(
    z: Float64[np.ndarray, "pairs queries"], level: Fraction
) -> np.ndarray:
    """Find the largest sum of signed ranks with p below the level; -1 if none has.

    Args:
        z: Differences, ascending; equal differences share their mean rank.
        level: Level of the two-sided test.
    """
    queries = z.shape[1]
    new = np.concatenate([np.ones((len(z), 1), bool), np.diff(z, axis=1) != 0], axis=1)
    tied = np.zeros(len(z))
    for row in np.flatnonzero(~new.all(1)):
        sizes = np.diff(np.append(np.flatnonzero(new[row]), queries)).astype(float)
        tied[row] = (sizes**3 - sizes).sum()
    variance = queries * (queries + 1) * (2 * queries + 1) / 24 - tied / 48
    half = float(stats.norm.isf(float(level) / 2)) * np.sqrt(variance)
    approximate = np.ceil(queries * (queries + 1) / 4 - half).astype(int) - 1
    if queries > _EXACT_WILCOXON:
        return np.maximum(approximate, -1)
    p_below = [2 * share < level for share in _signed_ranks(queries)]
    exact = sum(p_below) - 1
    return np.where(tied == 0, exact, np.maximum(approximate, -1))


@cache
def _signed_ranks(queries: int) -> tuple[Fraction, ...]:
    """Compute P(sum of positive ranks <= s) for s from 0 to the mean sum."""
    ways = [1]  # numbers of sets of ranks, by their sum
    for rank in range(1, queries + 1):
        longer = [*ways, *[0] * rank]
        for rank_sum, count in enumerate(ways):
            longer[rank_sum + rank] += count
        ways = longer
    total, shares = 0, []
    for count in ways[: queries * (queries + 1) // 4 + 1]:
        total += count
        shares.append(Fraction(total, 2**queries))
    return tuple(shares)


def agreeing(low: OfPairs, high: OfPairs, p: OfPairs, level: Fraction) -> Ends:
    """Move ends beyond 0 to 0 if p is not below the level.

    Such ends are due to rounding or, for `wilcoxon`, to the rule of scipy for ties.
    """
    insignificant = p >= float(level)
    return (
        np.where(insignificant & (low > 0), 0.0, low),
        np.where(insignificant & (high < 0), 0.0, high),
    )
