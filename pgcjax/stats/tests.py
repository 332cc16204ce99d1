"""Tests of pairs of runs without resampling, and corrections for many tests."""

import math
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.special import ndtr

from pgcjax.errors import UsageError
from pgcjax.later import integrate, stats
from pgcjax.stats.rounding import NOISE

PAIRS_AT_ONCE = 2**14  # pairs whose differences by query are in memory together
_DIRECT = 100  # most distinct studentised ranges for which scipy integrates each
_NODES = 200  # of the polynomial in `range_tails`
_STEP = 1 / 8  # of z in `range_tail`; a smooth integrand needs no finer steps
_INFINITE = 100_000  # degrees of freedom treated as infinite, as in scipy
_NEGLIGIBLE = 1e-11  # largest probability at the last node of `range_tails`

RunPairs = tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]
"""The rows of the first and of the second run of each pair."""
Values = Float64[np.ndarray, "runs queries"]
OfPairs = Float64[np.ndarray, " pairs"]


def all_pairs(runs: int) -> RunPairs:
    """List the pairs i < j, in the order of `np.triu_indices`."""
    first, second = np.triu_indices(runs, 1)
    return first, second


def differences(
    values: Values, pairs: RunPairs, most: int = PAIRS_AT_ONCE
) -> Iterator[tuple[slice, Float64[np.ndarray, "block queries"]]]:
    """Yield blocks of at most `most` pairs, and the differences of their scores."""
    first, second = pairs
    for low in range(0, len(first), most):
        block = slice(low, low + most)
        yield block, values[first[block]] - values[second[block]]


def largest_noise(values: Values) -> float:
    """Return the largest difference due to rounding: 1e-12 of the largest score."""
    return NOISE * np.abs(values).max(initial=0.0)


def check_alpha(alpha: float) -> None:
    """Raise a UsageError if a level is not valid."""
    if not 0 < alpha < 1:
        raise UsageError(f"alpha={alpha}: expected a level between 0 and 1")


def identical(values: Values, pairs: RunPairs) -> Bool[np.ndarray, " pairs"]:
    """Find pairs with equal scores, up to rounding, on every query."""
    same, limit = np.zeros(len(pairs[0]), bool), largest_noise(values)
    for block, z in differences(values, pairs):
        same[block] = (np.abs(z) <= limit).all(1)
    return same


def moments(values: Values, pairs: RunPairs) -> tuple[OfPairs, OfPairs]:
    """Return mean and standard deviation (ddof 1) of the differences of each pair.

    A deviation of at most 1e-12 of the largest score is due to rounding, and set to 0.
    """
    mean, deviation = np.zeros(len(pairs[0])), np.zeros(len(pairs[0]))
    for block, z in differences(values, pairs):
        mean[block], deviation[block] = z.mean(1), z.std(1, ddof=1)
    deviation[deviation <= largest_noise(values)] = 0.0
    return mean, deviation


def t(values: Values, pairs: RunPairs) -> OfPairs:
    """Test each pair by the paired t test, two-sided.

    A constant difference other than 0 has p = 0; identical runs have p = 1.
    """
    queries = values.shape[1]
    mean, deviation = moments(values, pairs)
    error = deviation / math.sqrt(queries)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(mean / error), queries - 1)
    return np.where(identical(values, pairs), 1.0, p)


def wilcoxon(values: Values, pairs: RunPairs) -> OfPairs:
    """Test each pair by Wilcoxon's signed ranks, as scipy does it.

    Differences are first rounded to 1e-12 of the largest score, so scores that differ
    by rounding tie. scipy then chooses a method for each pair: exact for up to 50
    queries without ties and zeros, all permutations for up to 13 queries, else the
    normal approximation.
    """
    p = np.ones(len(pairs[0]))
    scale = np.abs(values).max(initial=0.0) or 1.0
    for block, z in differences(values, pairs):
        z = np.round(z / scale, 12)
        sizes = np.sort(np.abs(z), axis=1)
        # scipy chooses one method per call, so pairs with ties or zeros have their own.
        tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(1)
        all_zero = ~z.any(1)
        for of_method in (~tied, tied & ~all_zero):
            step = 32 if z.shape[1] <= 13 else len(z)  # permutations take memory
            rows = np.flatnonzero(of_method)
            for low in range(0, len(rows), step):
                part = rows[low : low + step]
                p[block.start + part] = stats.wilcoxon(z[part], axis=1).pvalue
    return p


def anova(values: Values) -> tuple[float, int, float, float]:
    """Two-way analysis of variance, runs and queries, without replication.

    Returns:
        Mean square of the residuals, its degrees of freedom, and F and p of the runs.
    """
    runs, queries = values.shape
    means = values.mean(1, keepdims=True)
    residuals = values - means - values.mean(0) + values.mean()
    freedom = (runs - 1) * (queries - 1)
    error = float((residuals**2).sum()) / freedom
    if error <= largest_noise(values) ** 2:
        error = 0.0
    effect = queries * float(np.var(means)) * runs / (runs - 1)
    f = effect / error if error else (math.inf if effect else 0.0)
    return error, freedom, f, float(stats.f.sf(f, runs - 1, freedom))


def tukey(values: Values, pairs: RunPairs) -> OfPairs:
    """Test each pair by Tukey's HSD after `anova`, two-sided.

    scipy computes each p from a studentised range; p of more than 100 distinct ranges
    are interpolated by `range_tails`, within 1e-9.
    """
    runs, queries = values.shape
    error, freedom, *_ = anova(values)
    mean, _ = moments(values, pairs)
    same = identical(values, pairs)
    if not error:
        return np.where(np.abs(mean) > largest_noise(values), 0.0, 1.0)
    studentised = np.abs(mean) / math.sqrt(error / queries)
    ranges, inverse = np.unique(studentised, return_inverse=True)

    if len(ranges) > _DIRECT:
        tails = range_tails(ranges, runs, freedom)
    else:
        with warnings.catch_warnings():
            # scipy warns of integrals that do not converge where p is 0 in float64.
            warnings.simplefilter("ignore", integrate.IntegrationWarning)
            tails = np.asarray(stats.studentized_range.sf(ranges, runs, freedom))
    return np.where(same, 1.0, np.clip(tails, 0.0, 1.0)[inverse])


def critical_difference(values: Values, alpha: float) -> float:
    """Return the difference beyond which `tukey` is significant."""
    runs, queries = values.shape
    error, freedom, *_ = anova(values)
    if not error:
        return 0.0
    q = float(stats.studentized_range.isf(alpha, runs, freedom))
    return q * math.sqrt(error / queries)


def range_tail(
    q: Float64[np.ndarray, " n"], runs: int, freedom: int
) -> Float64[np.ndarray, " n"]:
    """Integrate P(studentised range > q) by the trapezoidal rule.

    Args:
        q: Studentised ranges.
        runs: Number of runs k.
        freedom: Degrees of freedom ν of the estimated variance, 2 or more.

    Source: P(range <= q) = ∫ f(s) k ∫ φ(z) [Φ(z + q s) - Φ(z)]^(k-1) dz ds, where f is
    the density of sqrt(χ²/ν), as in scipy.stats.studentized_range; over log s here.
    """
    z = np.arange(-8, 8 + _STEP, _STEP)
    weights = runs * _STEP * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    weights /= weights @ ndtr(-z) ** (runs - 1)  # P(range <= ∞) is then 1
    s, density = _deviations(freedom)
    below = np.empty(len(q))
    for i, range_ in enumerate(q):
        inner = ndtr(z[:, None] + range_ * s) - ndtr(z)[:, None]
        below[i] = weights @ inner ** (runs - 1) @ density
    return np.clip(1 - below, 0.0, 1.0)


def _deviations(
    freedom: int,
) -> tuple[Float64[np.ndarray, " s"], Float64[np.ndarray, " s"]]:
    """Return values of s = sqrt(χ²/ν) at equal steps of log s, and their weights."""
    if freedom >= _INFINITE:
        return np.ones(1), np.ones(1)
    width = 1 / math.sqrt(2 * freedom)  # standard deviation of log s, nearly
    log_s = np.arange(-36 / freedom - 9 * width, 9 * width, width / 4)
    density = np.exp(freedom * (log_s - (np.exp(2 * log_s) - 1) / 2))
    density /= density.sum()
    likely = density > 1e-18
    return np.exp(log_s[likely]), density[likely]


def range_tails(
    q: Float64[np.ndarray, " n"], runs: int, freedom: int
) -> Float64[np.ndarray, " n"]:
    """Interpolate `range_tail` at many ranges q, in ascending order.

    scipy takes 10 ms for each value. A polynomial through `range_tail` at Chebyshev's
    nodes gives all of them, within 1e-9 of scipy's. A range beyond the last node gets
    the probability there, which is at most 1e-11.
    """
    exact = partial(range_tail, runs=runs, freedom=freedom)

    last = 8.0
    while last < q[-1] and exact(np.array([last]))[0] > _NEGLIGIBLE:
        last *= 1.25
    curve = np.polynomial.Chebyshev.interpolate(exact, _NODES - 1, [0.0, last])
    return np.asarray(curve(np.minimum(q, last)))


def adjust(p: OfPairs, correction: str) -> OfPairs:
    """Adjust p for the number of tests: `none`, `holm` or `bh`.

    Holm bounds the probability of any false finding, Benjamini-Hochberg the expected
    share of false findings. A pair is significant if its adjusted p is below α.
    """
    if correction == "none" or not len(p):
        return p
    if correction == "bh":
        return np.asarray(stats.false_discovery_control(p, method="bh"))
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
