"""Correlations of orders of the same runs, with intervals by resampled queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import ndtri

from pgcjax.errors import check_choice
from pgcjax.stats import intervals, resample, tests
from pgcjax.stats.choices import RANK_INTERVALS
from pgcjax.stats.correlation import check_coefficients, correlated, levels
from pgcjax.stats.procedures import check_resampling
from pgcjax.stats.tests import Values, all_pairs

Orders = Float[np.ndarray, "orders runs"]
"""Sums or means of runs, the larger the better, in each of several resamples."""
OfOrders = Float64[np.ndarray, " orders"]

FEWEST = 50
"""Fewest queries for which studies confirm the level of `tau_interval`."""

_DIVISORS = (1, 2, 4)  # n queries are resampled to n, n / 2 and n / 4
_WIDENING = 1.3  # factor of the normal interval around the extrapolated τ
_LEAST = 0.05  # a smaller τ is raised to this one before it is extrapolated
_NO_QUERY = "the two have no query in common"
_MEANS = "low, high: one of the two has only means"
_NEVER = "low, high: tau is undefined in resamples"
_FEW = "low, high: no interval is known to hold for fewer than {} queries"


class Drawing(NamedTuple):
    """Settings of intervals of correlations, by a bootstrap over queries.

    Attributes:
        coefficients: Names of coefficients, as in `correlation`.
        interval: Kind of interval, as in `correlate_leaderboards`.
        alpha: 1 less the level.
        resamples: Number of resamples.
        seed: Seed; all orders over the same queries share the resamples.
    """

    coefficients: Sequence[str]
    interval: str
    alpha: float
    resamples: int
    seed: int

    @property
    def columns(self) -> list[str]:
        """Columns of a coefficient, and of the ends of its interval if there is one."""
        return ["value", *(["low", "high"] if self.interval != "none" else [])]


def checked_drawing(
    coefficients: Sequence[str], interval: str, alpha: float, resamples: int, seed: int
) -> Drawing:
    """Return the settings; raise a UsageError if one is not valid."""
    check_coefficients(coefficients)
    check_choice("interval", interval, RANK_INTERVALS)
    tests.check_alpha(alpha)
    check_resampling(resamples, seed)
    return Drawing(coefficients, interval, alpha, resamples, seed)


@dataclass(frozen=True)
class DrawnSums:
    """Sums of a measure's scores over resampled queries.

    Attributes:
        observed: Sums over the n observed queries.
        drawn: Sums over each resample of n, of n / 2, and of n / 4 queries.
        noise: Variances of means, as multiples of that over n sampled queries: 1 for
            `observed`, and 1 + n / k for resamples of k queries, as in `drawn`.
        slack: Largest difference of sums that is due to rounding; such sums tie.
    """

    observed: Float64[np.ndarray, "1 runs"]
    drawn: list[Float64[np.ndarray, "resamples runs"]]
    noise: Float64[np.ndarray, " sizes"]
    slack: float

    @classmethod
    def of(cls, values: Values, resamples: int, seed: int) -> "DrawnSums":
        """Resample the queries; one seed gives all measures the same resamples."""
        scores, queries = resample.WholeScores.of(values), values.shape[1]
        drawn = resample.all_indices(seed, resamples, queries)
        sizes = [max(1, queries // divisor) for divisor in _DIVISORS]
        counts = [resample.multiplicities(drawn[:, :k], queries) for k in sizes]
        return cls(
            scores.values.sum(axis=1)[None],
            [(scores.values @ weights).T for weights in counts],
            np.array([1.0, *(1 + queries / k for k in sizes)]),
            scores.slack,
        )


def tau_interval(
    truth: DrawnSums, estimate: DrawnSums, *, alpha: float = 0.05
) -> tuple[float, float, int]:
    """Compute an interval of Kendall's τ-b between orders of runs by expected scores.

    Both orders share the resamples of queries. Noise in the means biases τ towards 0: a
    sample of n queries has noise of variance v = 1, a resample of k of them has
    v = 1 + n / k. 1 / sin(π τ / 2) is about linear in v; its line through the sample
    and the mean τ of resamples of n, n / 2 and n / 4 queries gives τ₀ at v = 0. The
    interval is the hull of the percentile interval and of τ₀ ± 1.3 z σ, where σ is the
    standard deviation of τ in resamples of n queries.

    Returns:
        Low, high, and the number of resamples of n queries in which τ is defined; NaN
        if it is undefined for the queries as they are, or in all resamples.

    Source: Cook and Stefanski 1994 (SIMEX); Greiner's relation for sin(π τ / 2); the
    factor 1.3 and `FEWEST` from `benchmarks.studies.order_coverage`.
    """

    def defined_taus(x: Orders, y: Orders) -> OfOrders:
        values = taus(x, y, truth.slack, estimate.slack)
        return values[~np.isnan(values)]

    observed = defined_taus(truth.observed, estimate.observed)
    orders = zip(truth.drawn, estimate.drawn, strict=True)
    drawn = [defined_taus(x, y) for x, y in orders]
    defined = len(drawn[0])
    if not len(observed) or not all(map(len, drawn)):
        return np.nan, np.nan, defined
    sign = -1.0 if observed[0] < 0 else 1.0
    means = sign * np.array([observed[0], *(values.mean() for values in drawn)])
    curve = 1 / np.sin(np.pi / 2 * np.clip(means, _LEAST, 1.0))
    slope, _ = np.polyfit(truth.noise, curve, 1)
    at_0 = round(float(curve[0] - slope), 12)  # no last bits beside 1
    extrapolated = sign * 2 / np.pi * float(np.arcsin(1 / max(1.0, at_0)))
    half = _WIDENING * float(ndtri(1 - alpha / 2)) * float(drawn[0].std())
    ascending = np.sort(drawn[0])[None]
    bounds = np.array([[alpha / 2], [1 - alpha / 2]])
    low, high = (intervals.quantile(ascending, bound).item() for bound in bounds)
    return (
        max(-1.0, min(low, extrapolated - half)),
        min(1.0, max(high, extrapolated + half)),
        defined,
    )


def taus(
    x: Orders,
    y: Orders,
    slack_x: float = 0.0,
    slack_y: float = 0.0,
    budget: int = 2**24,
) -> OfOrders:
    """Compute Kendall's tau-b of each row of x with the same row of y.

    Args:
        x: Sums or means, the larger the better; a single row is used with all of y.
        y: Sums or means of other scores.
        slack_x: Largest difference of values of x that tie; values that differ by
            rounding alone tie, too.
        slack_y: Largest difference of values of y that tie.
        budget: Bytes that the pairs of runs of a block of orders may take.

    Returns:
        Values from -1 to 1; NaN where all runs tie in one of the two rows.
    """
    level_x, level_y = levels(x, slack_x), levels(y, slack_y)
    return tau_b(level_x.astype(np.int32), level_y.astype(np.int32), budget)


def tau_b(x: Orders, y: Orders, budget: int = 2**24) -> OfOrders:
    """Compute `taus` where only equal numbers tie."""
    first, second = all_pairs(x.shape[1])
    columns = [
        np.asfortranarray(orders) for orders in (x, y)
    ]  # a run's values adjacent
    agreement, untied_x, untied_y = 0.0, 0.0, 0.0
    step = max(1, budget // (8 * max(1, len(y))))
    for low in range(0, len(first), step):
        a, b = first[low : low + step], second[low : low + step]
        sign_x, sign_y = (np.sign(runs[:, a] - runs[:, b]) for runs in columns)
        agreement += (sign_x * sign_y).sum(axis=1, dtype=float)
        untied_x += np.abs(sign_x).sum(axis=1, dtype=float)
        untied_y += np.abs(sign_y).sum(axis=1, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.broadcast_to(agreement / np.sqrt(untied_x * untied_y), len(y))


class RunOrder:
    """An order of the runs, by their means over queries.

    Attributes:
        values: Score of each run and query; without queries if only means are known.
        mean: Mean of each run.
        of_means: Whether only means are known.
    """

    def __init__(
        self,
        values: Float64[np.ndarray, "runs queries"],
        drawing: Drawing | None = None,
        mean: Float64[np.ndarray, " runs"] | None = None,
    ):
        self.values, self._drawing, self.of_means = values, drawing, mean is not None
        of_values = values.mean(axis=1) if values.shape[1] else np.zeros(len(values))
        self.mean = of_values if mean is None else mean

    @cached_property
    def drawn(self) -> DrawnSums:
        """Sums over resampled queries."""
        drawing = self._drawing
        assert drawing
        return DrawnSums.of(self.values, drawing.resamples, drawing.seed)

    def swapped(self, other: "RunOrder") -> Bool[np.ndarray, " pairs"]:
        """Mark pairs of runs that another order reverses; a tie is no reversal."""
        first, second = all_pairs(len(self.mean))
        a, b = levels(self.mean), levels(other.mean)
        return (a[first] - a[second]) * (b[first] - b[second]) < 0


def correlation_of(
    x: RunOrder, y: RunOrder, coefficient: str, drawing: Drawing
) -> dict[str, Any]:
    """Correlate two orders.

    Returns:
        value; low, high and resamples (number in which it is defined), unless the
        interval is `none`; runs and queries (their numbers); undefined (the reason why
        value, or low and high, are NaN).
    """
    value, runs, reason = correlated(x.mean, y.mean, coefficient)
    of_means = x.of_means or y.of_means
    queries = 0 if of_means else x.values.shape[1]
    if not (queries or of_means):
        value, reason = nan, _NO_QUERY
    row: dict[str, Any] = {"value": value}
    if drawing.interval != "none":
        bounds = nan, nan, 0
        if not reason and of_means:
            reason = _MEANS
        elif not reason and coefficient != "tau":
            reason = (
                f"low, high: no interval of {coefficient} is known to hold; tau has one"
            )
        elif not reason and queries < FEWEST:
            reason = _FEW.format(FEWEST)
        if not reason:
            bounds = tau_interval(x.drawn, y.drawn, alpha=drawing.alpha)
            reason = _NEVER if isnan(bounds[0]) else ""
        row |= dict(zip(("low", "high", "resamples"), bounds, strict=True))
    return row | {"runs": runs, "queries": queries, "undefined": reason}


def change(
    two: tuple[RunOrder, RunOrder], base: tuple[RunOrder, RunOrder], coefficient: str
) -> dict[str, float]:
    """Compare the correlation r of two orders with the correlation b of the base.

    Returns:
        change: r - b; explained: (r - b) / (1 - b), or NaN if b is 1.
    """
    r, b = (correlated(x.mean, y.mean, coefficient)[0] for x, y in (two, base))
    return {"change": r - b, "explained": (r - b) / (1 - b) if b < 1 else nan}
