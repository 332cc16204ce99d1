"""Pairs of runs in all resamples of a block: how many are as extreme as what was seen.

Functions of arrays, which `resample` compiles. Two count by the exact rule, in float64.
`bootstrap_bounds` decides almost all of the same comparisons in float32, and tells
which pairs it leaves to the exact rule. `largest_ratios` tells which pairs may be the
most extreme of all.
"""

import numpy as np

from pgcjax.later import jnp
from pgcjax.stats.rounding import NOISE

LANES = 128
"""`bootstrap_bounds` takes a multiple of so many resamples."""

OPEN = 2**11
"""Number that `bootstrap_bounds` adds for a comparison that it cannot decide: more
than all resamples of a block."""

GROUP = 16
"""Pairs of which `largest_ratios` returns the largest."""

_UNIT = 2.0**-24  # of rounding, in float32
_TOGETHER = 8  # comparisons whose sum, of OPEN each, is a number of 16 bits
_AT_MOST = 5  # signs added as bytes; more are no faster


def flipped(x, signs, slack):
    """Sum runs over queries with other signs, and as they are: both exactly."""
    return x @ signs, x.sum(1), slack


def sign_flip(flipped, sums, slack, a, b):
    """Count, per pair, the sign flips whose |Σz| reaches the observed one."""
    reach = jnp.abs(_rows(sums, a) - _rows(sums, b)) - slack
    hits = jnp.abs(_rows(flipped, a) - _rows(flipped, b)) >= reach[:, None]
    together = next(n for n in range(_AT_MOST, 0, -1) if hits.shape[1] % n == 0)
    return _added(hits.astype(jnp.int8), together)


def bootstrap(x, weights, slack, a, b):
    """Compare |t| of resamples with the observed |t|, without root or division.

    t grows with m² / Σz² where m is the sum of z; so t* reaches t exactly if
    m*² Σz² >= m² Σw*², where m* is Σw*: exact as the sum of z less m, for all is whole.
    """
    z = x[a] - x[b]
    total = z.sum(1)
    mean = jnp.abs(z @ weights - total[:, None]) + slack
    total = jnp.where(jnp.abs(total) <= slack, 0.0, total)
    w = z - (total / z.shape[1])[:, None]
    w = jnp.where(jnp.abs(w) <= 2.0, 0.0, w)  # 0 but for rounding
    squares = (z * z).sum(1)
    ratio = total * total / jnp.where(squares > 0, squares, 1.0) * (1 - NOISE)
    spread = (ratio[:, None] * (w * w)) @ weights
    # A resample of zeros only reaches nothing but an observed 0.
    least = jnp.where(total == 0, 0.0, (2 * slack) ** 2 * (1 + NOISE))
    return (mean * mean >= jnp.maximum(spread, least[:, None])).sum(1, dtype=jnp.int32)


def approximate(c, weights, slack, unit):
    """Round centred scores, and what resamples add to their sums, to float32.

    Args:
        c: scores, centred and divided by `unit`, so that none is larger than 1.
        weights: Multiplicities.
        slack: Largest difference of sums that count as equal.
        unit: Score that 1 stands for.

    Returns:
        Both, the weights, and how far off differences of both may be, which includes
        what `bootstrap` takes for equal: of Σ(c - c')² in a resample, its root may be
        off by so much; and a difference of sums.
    """
    queries, moved = c.shape[1], c @ weights
    of_norm = queries**0.5 * (4 * _UNIT + 3 / unit)
    of_mean = 4 * _UNIT * jnp.abs(moved).max() + queries**2 * 2.0**-50
    off = jnp.stack([of_norm, of_mean + (queries + 3 * slack) / unit])
    return tuple(each.astype(jnp.float32) for each in (c, moved, weights, off))


def bootstrap_bounds(near, total, a, b):
    """Count what `bootstrap` counts, and `OPEN` for each comparison that is too close.

    Args:
        near: what `approximate` gives, of weights whose last column is 1.
        total: |Σz| of each pair, in the same unit.
        a: Places of the first run of each pair.
        b: Places of the second run of each pair.

    With Σz² = Σw² + (Σz)² / queries, |m*| √Σz² / |Σz| is compared with √Σw*². Sums of
    float32 are off by a share, whatever their order; and √Σw*², as any norm, by no more
    than √queries times what each w may be off.
    """
    (c, moved, weights, off), f = near, jnp.float32
    queries, (of_norm, of_mean) = c.shape[1], off
    w = _rows(c, a) - _rows(c, b)
    squares = jnp.dot(w * w, weights, precision="highest")
    norm = jnp.sqrt(squares[:, -1] + total * total / f(queries))
    share = (1.2 * queries + 64) * _UNIT
    least = (norm - of_norm) / total * f(1 - share)
    largest = (norm + of_norm) / total * f(1 + share)
    far = (largest * of_mean + of_norm) * f(1.01)
    mean = jnp.abs(_rows(moved, a) - _rows(moved, b))
    low = mean * least[:, None] - far[:, None]
    high = mean * largest[:, None] + far[:, None]
    # Not a number, where a bound is infinite, is left open.
    rest = jnp.where(high * high < squares, np.int16(0), np.int16(OPEN))
    hits = jnp.where(low * jnp.abs(low) > squares, np.int16(1), rest)
    return _added(hits, _TOGETHER)


def largest_ratios(c, moved, weights, floor, a, b):
    """Compute (Σw)² / (Σw² + floor) in each resample; return the largest of a group.

    The ratio grows with the statistic of `max_t`, of which it has no difference of two
    numbers that may be close.

    Args:
        c: Centred scores.
        moved: Sums of the scores in each resample.
        weights: Multiplicities.
        floor: what the family adds, larger than 0.
        a: Places of the first run of each pair, a multiple of `GROUP`.
        b: Places of the second run of each pair.
    """
    w = _rows(c, a) - _rows(c, b)
    squares = jnp.dot(w * w, weights, precision="highest") + floor[None, :]
    mean = _rows(moved, a) - _rows(moved, b)
    ratios = mean * mean / squares
    return ratios.reshape(len(a) // GROUP, GROUP, -1).max(1)


def _added(hits, together):
    """Add each row in the type it has: so many that are far apart, and then all.

    A processor adds many small numbers at once, but not those that are neighbours.
    """
    rows, columns = hits.shape
    lanes = hits.reshape(rows, together, columns // together)
    return lanes.sum(1, dtype=hits.dtype).sum(1, dtype=jnp.int32)


def _rows(x, places):
    return jnp.asarray(x).at[places].get(mode="promise_in_bounds")
