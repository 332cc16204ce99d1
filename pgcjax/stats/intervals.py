"""Intervals of the mean difference of each pair."""

import math

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from pgcjax.stats import tests
from pgcjax.stats.tests import Pairs


def student(
    mean: np.ndarray, deviation: np.ndarray, queries: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Give Student's t interval of means over queries."""
    half = stats.t.isf(alpha / 2, queries - 1) * deviation / math.sqrt(queries)
    return mean - half, mean + half


def resampled_critical_difference(ranges: np.ndarray, alpha: float) -> float:
    """Give the difference beyond which randomised Tukey HSD is significant.

    Args:
        ranges: `[resamples]`, ascending; enough that p can be below alpha.
        alpha: level.
    """
    # Significant is d if (1 + k) / (1 + B) < α, where k ranges reach d.
    most = math.ceil(alpha * (1 + len(ranges))) - 2
    return float(ranges[len(ranges) - 1 - max(most, 0)])


def bootstrap(
    values: np.ndarray,
    pairs: Pairs,
    *,
    resamples: int,
    seed: int,
    alpha: float,
    corrected: bool,
    budget: int = 2**24,
) -> tuple[np.ndarray, np.ndarray]:
    """Give the bootstrap interval of the mean difference of each pair.

    Args:
        values: float64 `[runs, queries]`.
        pairs: two int arrays `[pairs]`.
        resamples: how many; those of the bootstrap test with the same seed.
        seed: of the random numbers.
        alpha: 1 less the level.
        corrected: for bias and acceleration (BCa), or the percentiles as they are.
        budget: bytes of the means of some pairs in all resamples.

    Returns:
        Low and high, `[pairs]`; both the mean where all differences are equal.

    Source: Efron and Tibshirani 1993, chapters 13 and 14; quantiles are interpolated
    as numpy does it. Bias counts a resampled mean equal to the observed one by half.
    """
    from pgcjax.stats import resample

    scores = resample.Whole.of(values)
    queries = values.shape[1]
    blocks = range(-(-resamples // resample.BLOCK))
    sums = np.concatenate(
        [
            scores.x
            @ resample.multiplicities(
                resample.indices(
                    seed,
                    b,
                    min(resample.BLOCK, resamples - b * resample.BLOCK),
                    queries,
                )
            )
            for b in blocks
        ],
        axis=1,
    )
    first, second = pairs
    low, high = np.zeros(len(first)), np.zeros(len(first))
    for some, z in tests.differences(
        scores.x, pairs, max(1, budget // (8 * resamples))
    ):
        drawn = np.sort(sums[first[some]] - sums[second[some]], axis=1)
        levels = np.full((2, len(z)), [[alpha / 2], [1 - alpha / 2]])
        if corrected:
            levels = _corrected(levels, drawn, z, scores.slack)
        low[some], high[some] = (_quantile(drawn, level) for level in levels)
    return low * scores.unit / queries, high * scores.unit / queries


def _corrected(
    levels: np.ndarray, drawn: np.ndarray, z: np.ndarray, slack: float
) -> np.ndarray:
    observed = z.sum(1, keepdims=True)
    below = (drawn < observed - slack).sum(1) + (drawn <= observed + slack).sum(1)
    share = below / (2 * drawn.shape[1])
    least = 1 / (2 * drawn.shape[1])  # a bias that no resample can show is not infinite
    bias = ndtri(np.clip(share, least, 1 - least))
    w = z - z.mean(1, keepdims=True)
    spread = (w * w).sum(1) ** 1.5
    acceleration = (w**3).sum(1) / (6 * np.where(spread > 0, spread, 1.0))
    moved = bias + ndtri(levels)
    return ndtr(bias + moved / (1 - acceleration * moved))


def _quantile(ascending: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Interpolate a quantile of each row."""
    place = level * (ascending.shape[1] - 1)
    below = np.floor(place).astype(int)
    above = np.minimum(below + 1, ascending.shape[1] - 1)
    rows = np.arange(len(ascending))
    a, b = ascending[rows, below], ascending[rows, above]
    return a + (b - a) * (place - below)
