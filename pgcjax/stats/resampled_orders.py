"""Rank correlations of orders of runs in many resamples of queries at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import ndtri

from pgcjax.stats import intervals
from pgcjax.stats.correlation import (
    MAY_TIE_ALL,
    WITHOUT_TIES,
    best,
    levels,
    split_coefficient,
)
from pgcjax.stats.tests import Values, all_pairs

Orders = Float[np.ndarray, "orders runs"]
"""Sums or means of runs, the larger the better, in each of several resamples."""
Above = Bool[np.ndarray, "orders runs runs"]
"""Whether the run of the last axis is above that of the one before."""
Top = Bool[np.ndarray, "orders runs"]
"""Whether a run is one of those that count."""
Each = Float64[np.ndarray, " orders"]


FEWEST = 50
"""Queries from which on `tau_interval` was shown to hold."""

_SMALLER = (1, 2, 4)  # by which the queries of a resample are divided
_WIDER = 1.3  # than the normal interval around the extrapolated value
_LEAST = 0.05  # τ below which nothing is extrapolated


def without_interval(coefficient: str, queries: int) -> str:
    """Explain why a correlation of two orders has no interval; nothing if it has."""
    if coefficient != "tau":
        return f"low, high: no interval of {coefficient} is known to hold; tau has one"
    if queries < FEWEST:
        return (
            f"low, high: no interval is known to hold for fewer than {FEWEST} queries"
        )
    return ""


@dataclass(frozen=True)
class DrawnSums:
    """Sums of a measure's scores over resampled queries.

    Attributes:
        observed: over the queries as they are.
        drawn: in each resample of as many queries, of a half, and of a quarter of them.
        noise: variance of the means, as a multiple of that of the queries as they are:
            of `observed`, and of each of `drawn`.
        slack: sums that differ by no more are equal, but for rounding.
    """

    observed: Float64[np.ndarray, "1 runs"]
    drawn: list[Float64[np.ndarray, "resamples runs"]]
    noise: Float64[np.ndarray, " sizes"]
    slack: float

    @classmethod
    def of(cls, values: Values, resamples: int, seed: int) -> "DrawnSums":
        """Draw queries: with one seed the same ones for all measures of them."""
        from pgcjax.stats import resample

        scores, queries = resample.WholeScores.of(values), values.shape[1]
        places = resample.all_indices(seed, resamples, queries)
        sizes = [max(1, queries // by) for by in _SMALLER]
        counts = [resample.multiplicities(places[:, :k], queries) for k in sizes]
        return cls(
            scores.values.sum(axis=1)[None],
            [(scores.values @ weights).T for weights in counts],
            np.array([1.0, *(1 + queries / k for k in sizes)]),
            scores.slack,
        )


def tau_interval(
    truth: DrawnSums, estimate: DrawnSums, *, alpha: float = 0.05
) -> tuple[float, float, int]:
    """Bound Kendall's τ-b of the orders of runs by their expected scores.

    Queries are drawn for both orders together. Chance in the means pulls τ towards 0:
    once in the sample, and once more in a resample. So 1 / sin(π τ / 2), which is about
    linear in that noise, is extrapolated over the sample and resamples of n, n / 2 and
    n / 4 queries back to none. The interval is from the lower to the higher end of the
    percentile interval and of the extrapolated τ ∓ 1.3 z times the deviation of τ in
    resamples: where it is certain, neither alone holds the truth.

    Returns:
        Low, high, and the number of resamples of n queries in which τ is defined; NaN
        if it is undefined for the queries as they are, or in all resamples.

    Source: Cook and Stefanski 1994 (SIMEX); Greiner's relation for sin(π τ / 2); the
    factor 1.3 and `FEWEST` from `benchmarks.studies.order_coverage`.
    """

    def tau(x: Orders, y: Orders) -> Each:
        values = correlations(x, y, "tau", truth.slack, estimate.slack)
        return values[~np.isnan(values)]

    observed = tau(truth.observed, estimate.observed)
    drawn = [tau(x, y) for x, y in zip(truth.drawn, estimate.drawn, strict=True)]
    defined = len(drawn[0])
    if not len(observed) or not all(map(len, drawn)):
        return np.nan, np.nan, defined
    side = -1.0 if observed[0] < 0 else 1.0
    means = side * np.array([observed[0], *(values.mean() for values in drawn)])
    curve = 1 / np.sin(np.pi / 2 * np.clip(means, _LEAST, 1.0))
    slope, _ = np.polyfit(truth.noise, curve, 1)
    least = round(float(curve[0] - slope), 12)  # which rounding may put beside 1
    without = side * 2 / np.pi * float(np.arcsin(1 / max(1.0, least)))
    half = _WIDER * float(ndtri(1 - alpha / 2)) * float(drawn[0].std())
    ascending = np.sort(drawn[0])[None]
    bounds = np.array([[alpha / 2], [1 - alpha / 2]])
    low, high = (intervals.quantile(ascending, bound).item() for bound in bounds)
    return (
        max(-1.0, min(low, without - half)),
        min(1.0, max(high, without + half)),
        defined,
    )


def correlations(
    x: Orders,
    y: Orders,
    coefficient: str,
    slack_x: float = 0.0,
    slack_y: float = 0.0,
    budget: int = 2**24,
) -> Each:
    """Correlate each of several orders x, the truth, with one of y.

    Args:
        x: sums or means, the larger the better.
        y: the same of other scores.
        coefficient: as of `correlation.correlation`.
        slack_x: values of x that differ by no more are ties, as are those that differ
            by rounding alone.
        slack_y: the same of y.
        budget: bytes that the pairs of runs of a block of orders may take.

    Returns:
        -1 to 1; NaN where the coefficient is undefined.
    """
    name, k = split_coefficient(coefficient)
    count, runs = x.shape
    out = np.empty(count)
    step = max(1, budget // (8 * runs * runs))
    with np.errstate(divide="ignore", invalid="ignore"):
        for low in range(0, count, step):
            block = slice(low, low + step)
            order_x, order_y = levels(x[block], slack_x), levels(y[block], slack_y)
            if coefficient == "tau":
                out[block] = _tau_of_all(order_x, order_y)
                continue
            top = best(order_x, k)
            first, second = _above(order_x, top), _above(order_y, top)
            if name == "pearson":
                value = _pearson(x[block], y[block], top)
            else:
                value = _FUNCTIONS[name](first, second, top)
            for which, order in (("first", first), ("second", second)):
                value[_undefined(order, name, which, top)] = np.nan
            out[block] = value
    return out


def _undefined(above: Above, name: str, which: str, top: Top) -> Bool[np.ndarray, " o"]:
    """Find where one of two orders has ties that its coefficient does not allow."""
    count, untied = top.sum(axis=1), above.sum(axis=(1, 2))
    if which in WITHOUT_TIES.get(name, ()):
        return untied < count * (count - 1) // 2
    return (untied == 0) & ((name, which) != MAY_TIE_ALL)


def _above(order: np.ndarray, top: Top) -> Above:
    return (order[:, None, :] > order[:, :, None]) & top[:, None, :] & top[:, :, None]


def _tau_of_all(x: np.ndarray, y: np.ndarray) -> Each:
    """Compute Kendall's tau-b of all runs, of each pair once."""
    first, second = all_pairs(x.shape[1])
    columns = (np.asfortranarray(v, np.int32) for v in (x, y))  # a run is in one piece
    one, other = (np.sign(v[:, first] - v[:, second]) for v in columns)
    both = (one * other).sum(axis=1, dtype=float)
    untied = [np.abs(v).sum(axis=1, dtype=float) for v in (one, other)]
    return both / np.sqrt(untied[0] * untied[1])


def _tau(x: Above, y: Above, top: Top) -> Each:
    """Return Kendall's tau-b: pairs in the same order less others, of all untied."""
    same, opposite = _pairs(x & y), _pairs(x & y.swapaxes(1, 2))
    return (same - opposite) / np.sqrt(_pairs(x) * _pairs(y))  # 1, not nearly


def _pairs(above: Above) -> Each:
    return above.sum(axis=(1, 2)).astype(float)


def _tau_ap(truth: Above, estimate: Above, top: Top) -> Each:
    """Return tau_ap, of what has something above it in the estimate."""
    counts = estimate.sum(axis=2)
    right = (truth & estimate).sum(axis=2) / np.maximum(counts, 1)
    return 2 * right.sum(axis=1) / (counts > 0).sum(axis=1) - 1


def _tau_ap_b(x: Above, y: Above, top: Top) -> Each:
    return (_tau_ap(x, y, top) + _tau_ap(y, x, top)) / 2


def _tau_ap_a(truth: Above, estimate: Above, top: Top) -> Each:
    """Average over the orders of ties, as `correlation.tau_ap_a` explains."""
    above, below = estimate.sum(axis=2), estimate.sum(axis=1)
    count = top.sum(axis=1)
    group = np.where(top, count[:, None] - above - below, 1)  # tied, and the run itself
    sums = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, top.shape[1] + 1))])
    # Over the places of a group but the very first: of 1 / place, and of its fellows.
    inverse = sums[above + group - 1] - sums[np.maximum(above - 1, 0)]
    fellows = group - above * inverse - (above == 0)
    right = (truth & estimate).sum(axis=2)
    correct = np.where(top, (right * inverse + fellows / 2) / group, 0.0)
    return 2 * correct.sum(axis=1) / (count - 1) - 1


def _spearman(x: Above, y: Above, top: Top) -> Each:
    """Correlate ranks, of ties their mean: runs below less runs above."""
    a, b = (order.sum(axis=1) - order.sum(axis=2) for order in (x, y))
    squares = [(ranks * ranks).sum(axis=1).astype(float) for ranks in (a, b)]
    return (a * b).sum(axis=1) / np.sqrt(squares[0] * squares[1])


def _pearson(x: Orders, y: Orders, top: Top) -> Each:
    count = top.sum(axis=1, keepdims=True)
    a, b = (
        np.where(top, v - (v * top).sum(axis=1, keepdims=True) / count, 0.0)
        for v in (x, y)
    )
    norms = [np.sqrt((v * v).sum(axis=1)) for v in (a, b)]
    return np.clip((a * b).sum(axis=1) / norms[0] / norms[1], -1, 1)


_FUNCTIONS: dict[str, Callable[[Above, Above, Top], Each]] = {
    "tau": _tau,
    "tau_ap": _tau_ap,
    "tau_ap_symmetric": _tau_ap_b,
    "tau_ap_a": _tau_ap_a,
    "tau_ap_b": _tau_ap_b,
    "spearman": _spearman,
}
