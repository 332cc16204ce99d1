"""Counts of the resamples of a block that are as extreme as the observed sample.

These are functions of arrays, which `resample` compiles. `sign_flip` and `bootstrap`
count exactly, in float64. `bootstrap_bounds` decides almost all comparisons of
`bootstrap` in float32, and marks the pairs that it leaves to `bootstrap`.
`largest_ratios` finds groups of pairs that may have the largest statistic.

In all of them z is the differences of a pair of runs, query by query; w is z less its
mean; and * marks the value of a resample.
"""

import numpy as np

from pgcjax.later import jnp
from pgcjax.stats.rounding import NOISE

LANES = 128
"""Number of which the resamples of `bootstrap_bounds` have to be a multiple."""

OPEN = 2**11
"""Number that `bootstrap_bounds` adds for a comparison that it cannot decide.

It exceeds the number of resamples in a block.
"""

GROUP = 16
"""Number of pairs in a group, of which `largest_ratios` returns the largest ratio."""

_UNIT = 2.0**-24  # largest relative error of rounding to float32
_TOGETHER = 8  # comparisons added in 16 bits, which 8 times OPEN fits
_AT_MOST = 5  # most comparisons of sign flips added as bytes; more are no faster


def flipped(x, signs, slack):
    """Sum the scores of runs over queries, exactly: with flipped signs, and without.

    Returns:
        The arguments of `sign_flip` that do not depend on pairs.
    """
    return x @ signs, x.sum(1), slack


def sign_flip(flipped, sums, slack, a, b):
    """Count, per pair, the sign flips whose |Σz| reaches the observed one."""
    reach = jnp.abs(_rows(sums, a) - _rows(sums, b)) - slack
    hits = jnp.abs(_rows(flipped, a) - _rows(flipped, b)) >= reach[:, None]
    together = next(n for n in range(_AT_MOST, 0, -1) if hits.shape[1] % n == 0)
    return _row_sums(hits.astype(jnp.int8), together)


def bootstrap(x, weights, slack, a, b):
    """Count, per pair, the resamples whose |t| reaches the observed |t|.

    |t| grows with m² / Σz² where m = Σz. So t* reaches t exactly if
    m*² Σz² >= m² Σw*², where m* = Σw*. This needs no root and no division by Σw*². As
    scores are whole numbers, m* is exact as the sum of z in the resample less m.
    """
    z = x[a] - x[b]
    m = z.sum(1)
    m_star = jnp.abs(z @ weights - m[:, None]) + slack
    m = jnp.where(jnp.abs(m) <= slack, 0.0, m)
    w = z - (m / z.shape[1])[:, None]
    w = jnp.where(jnp.abs(w) <= 2.0, 0.0, w)  # up to 2 is rounding
    squares = (z * z).sum(1)
    ratio = m * m / jnp.where(squares > 0, squares, 1.0) * (1 - NOISE)
    spread = (ratio[:, None] * (w * w)) @ weights
    # A resample in which all w are 0 reaches only an observed m of 0.
    least = jnp.where(m == 0, 0.0, (2 * slack) ** 2 * (1 + NOISE))
    hits = m_star * m_star >= jnp.maximum(spread, least[:, None])
    return hits.sum(1, dtype=jnp.int32)


def approximate(c, weights, slack, unit):
    """Round centred scores, and their sums in resamples, to float32.

    Args:
        c: Scores, centred and divided by `unit`, so that none is larger than 1.
        weights: Multiplicities.
        slack: Largest difference of sums that count as equal.
        unit: Score that 1 stands for.

    Returns:
        The scores, their sums, the weights, and two bounds of errors: of √Σ(c - c')²
        over the queries of a resample, and of the difference of two sums. The bounds
        include differences that `bootstrap` treats as 0.
    """
    queries, sums = c.shape[1], c @ weights
    norm_error = queries**0.5 * (4 * _UNIT + 3 / unit)
    sum_error = 4 * _UNIT * jnp.abs(sums).max() + queries**2 * 2.0**-50
    errors = jnp.stack([norm_error, sum_error + (queries + 3 * slack) / unit])
    return tuple(array.astype(jnp.float32) for array in (c, sums, weights, errors))


def bootstrap_bounds(near, total, a, b):
    """Count what `bootstrap` counts, and `OPEN` for each comparison that is too close.

    As Σz² = Σw² + (Σz)² / queries, the comparison is |m*| √Σz² / |Σz| >= √Σw*². The
    relative error of a sum in float32 is bounded for any order of its terms. The error
    of √Σw*², as of any norm, is at most √queries times the error of a w.

    Args:
        near: Result of `approximate`, for weights whose last column is 1.
        total: |Σz| of each pair, in the same unit.
        a: Places of the first run of each pair.
        b: Places of the second run of each pair.
    """
    (c, sums, weights, errors), f = near, jnp.float32
    queries, (norm_error, sum_error) = c.shape[1], errors
    w = _rows(c, a) - _rows(c, b)
    squares = jnp.dot(w * w, weights, precision="highest")
    norm = jnp.sqrt(squares[:, -1] + total * total / f(queries))
    relative_error = (1.2 * queries + 64) * _UNIT
    least = (norm - norm_error) / total * f(1 - relative_error)
    largest = (norm + norm_error) / total * f(1 + relative_error)
    error = (largest * sum_error + norm_error) * f(1.01)
    m_star = jnp.abs(_rows(sums, a) - _rows(sums, b))
    low = m_star * least[:, None] - error[:, None]
    high = m_star * largest[:, None] + error[:, None]
    # Where a bound is infinite, comparisons with NaN are false, so they stay open.
    rest = jnp.where(high * high < squares, np.int16(0), np.int16(OPEN))
    hits = jnp.where(low * jnp.abs(low) > squares, np.int16(1), rest)
    return _row_sums(hits, _TOGETHER)


def largest_ratios(c, moved, weights, floor, a, b):
    """Compute r = (Σw*)² / (Σw*² + floor); return the largest r of each group of pairs.

    r grows with the statistic T* of `max_t`. Unlike T*, it contains no difference of
    two numbers that may be close.

    Args:
        c: Centred scores.
        moved: Sums of the scores in each resample.
        weights: Multiplicities.
        floor: Family's mean of Σ(z* - mean)² in each resample, larger than 0.
        a: Places of the first run of each pair; their number is a multiple of `GROUP`.
        b: Places of the second run of each pair.
    """
    w = _rows(c, a) - _rows(c, b)
    squares = jnp.dot(w * w, weights, precision="highest") + floor[None, :]
    sums = _rows(moved, a) - _rows(moved, b)
    ratios = sums * sums / squares
    return ratios.reshape(len(a) // GROUP, GROUP, -1).max(1)


def _row_sums(hits, together):
    """Sum each row: first groups of `together` numbers, in their small integer type.

    The numbers of a group are far apart in the row, because a processor adds many small
    numbers at once, but not neighbours.
    """
    rows, columns = hits.shape
    lanes = hits.reshape(rows, together, columns // together)
    return lanes.sum(1, dtype=hits.dtype).sum(1, dtype=jnp.int32)


def _rows(x, places):
    return jnp.asarray(x).at[places].get(mode="promise_in_bounds")
