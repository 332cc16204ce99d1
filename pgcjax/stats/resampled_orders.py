"""Kendall's τ of orders of runs in many resamples of queries, and its interval."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64
from scipy.special import ndtri

from pgcjax.stats import intervals
from pgcjax.stats.correlation import levels
from pgcjax.stats.tests import Values, all_pairs

Orders = Float[np.ndarray, "orders runs"]
"""Sums or means of runs, the larger the better, in each of several resamples."""
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
        values = taus(x, y, truth.slack, estimate.slack)
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


def taus(
    x: Orders,
    y: Orders,
    slack_x: float = 0.0,
    slack_y: float = 0.0,
    budget: int = 2**24,
) -> Each:
    """Compute Kendall's tau-b of each of several orders x with one of y.

    Args:
        x: sums or means, the larger the better.
        y: the same of other scores.
        slack_x: values of x that differ by no more are ties, as are those that differ
            by rounding alone.
        slack_y: the same of y.
        budget: bytes that the pairs of runs of a block of orders may take.

    Returns:
        -1 to 1; NaN where all runs tie in one of the two.
    """
    count, runs = x.shape
    first, second = all_pairs(runs)
    out = np.empty(count)
    step = max(1, budget // (8 * runs * runs))
    for low in range(0, count, step):
        block = slice(low, low + step)
        orders = levels(x[block], slack_x), levels(y[block], slack_y)
        columns = (np.asfortranarray(v, np.int32) for v in orders)  # a run in one piece
        one, other = (np.sign(v[:, first] - v[:, second]) for v in columns)
        both = (one * other).sum(axis=1, dtype=float)
        untied = [np.abs(v).sum(axis=1, dtype=float) for v in (one, other)]
        with np.errstate(divide="ignore", invalid="ignore"):
            out[block] = both / np.sqrt(untied[0] * untied[1])
    return out
