"""Orders of the same runs: correlated, with intervals by resampled queries."""

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
Each = Float64[np.ndarray, " orders"]

FEWEST = 50
"""Fewest queries for which studies confirm the level of `tau_interval`."""

_SMALLER = (1, 2, 4)  # by which the queries of a resample are divided
_WIDER = 1.3  # than the normal interval around the extrapolated value
_LEAST = 0.05  # smallest τ that is extrapolated
_NO_QUERY = "the two have no query in common"
_MEANS = "low, high: one has means alone"
_NEVER = "low, high: it is undefined in resamples"
_FEW = "low, high: no interval is known to hold for fewer than {} queries"


class Drawing(NamedTuple):
    """Settings of intervals of correlations, by a bootstrap over queries.

    Attributes:
        coefficients: Names as in `correlation`.
        interval: Interval as in `correlate_leaderboards`.
        alpha: 1 less the level.
        resamples: Number of resamples.
        seed: Seed of the resamples; all orders over the same queries share draws.
    """

    coefficients: Sequence[str]
    interval: str
    alpha: float
    resamples: int
    seed: int

    @property
    def columns(self) -> list[str]:
        """Names of a value, and of the ends of its interval if there is one."""
        return ["value", *(["low", "high"] if self.interval != "none" else [])]


def checked_drawing(
    coefficients: Sequence[str], interval: str, alpha: float, resamples: int, seed: int
) -> Drawing:
    """Raise a UsageError if a setting is not valid."""
    check_coefficients(coefficients)
    check_choice("interval", interval, RANK_INTERVALS)
    tests.check_alpha(alpha)
    check_resampling(resamples, seed)
    return Drawing(coefficients, interval, alpha, resamples, seed)


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
        x: Sums or means, the larger the better; or one order for all of y.
        y: Sums or means of other scores.
        slack_x: Largest difference of values of x that tie; values that differ by
            rounding alone tie, too.
        slack_y: Largest difference of values of y that tie.
        budget: Bytes that the pairs of runs of a block of orders may take.

    Returns:
        -1 to 1; NaN where all runs tie in one of the two.
    """
    one, other = levels(x, slack_x), levels(y, slack_y)
    return tau_b(one.astype(np.int32), other.astype(np.int32), budget)


def tau_b(x: Orders, y: Orders, budget: int = 2**24) -> Each:
    """Compute `taus` of orders of which equal numbers alone are ties."""
    first, second = all_pairs(x.shape[1])
    columns = [np.asfortranarray(orders) for orders in (x, y)]  # a run in one piece
    both, untied_x, untied_y = 0.0, 0.0, 0.0
    step = max(1, budget // (8 * max(1, len(y))))
    for low in range(0, len(first), step):
        a, b = first[low : low + step], second[low : low + step]
        one, other = (np.sign(runs[:, a] - runs[:, b]) for runs in columns)
        both += (one * other).sum(axis=1, dtype=float)
        untied_x += np.abs(one).sum(axis=1, dtype=float)
        untied_y += np.abs(other).sum(axis=1, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.broadcast_to(both / np.sqrt(untied_x * untied_y), len(y))


class RunOrder:
    """An order of the runs, by their means over queries.

    Attributes:
        values: Score of each run and query; no queries for means alone.
        mean: Mean of each run.
        of_means: Whether there are means alone.
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
        """Pairs of runs that another order reverses; a tie reverses none."""
        first, second = all_pairs(len(self.mean))
        a, b = levels(self.mean), levels(other.mean)
        return (a[first] - a[second]) * (b[first] - b[second]) < 0


def correlation_of(
    x: RunOrder, y: RunOrder, coefficient: str, drawing: Drawing
) -> dict[str, Any]:
    """Correlate two orders.

    Returns:
        value; low, high and resamples (in which it is defined), unless there are no
        intervals; runs and queries, that count; undefined: what is NaN, and why.
    """
    value, runs, why = correlated(x.mean, y.mean, coefficient)
    of_means = x.of_means or y.of_means
    queries = 0 if of_means else x.values.shape[1]
    if not (queries or of_means):
        value, why = nan, _NO_QUERY
    row: dict[str, Any] = {"value": value}
    if drawing.interval != "none":
        bounds = nan, nan, 0
        if not why and of_means:
            why = _MEANS
        elif not why and coefficient != "tau":
            why = (
                f"low, high: no interval of {coefficient} is known to hold; tau has one"
            )
        elif not why and queries < FEWEST:
            why = _FEW.format(FEWEST)
        if not why:
            bounds = tau_interval(x.drawn, y.drawn, alpha=drawing.alpha)
            why = _NEVER if isnan(bounds[0]) else ""
        row |= dict(zip(("low", "high", "resamples"), bounds, strict=True))
    return row | {"runs": runs, "queries": queries, "undefined": why}


def change(
    two: tuple[RunOrder, RunOrder], base: tuple[RunOrder, RunOrder], coefficient: str
) -> dict[str, float]:
    """Compute how much larger the correlation of two orders is than that of two others.

    Returns:
        change; explained: change as a share of what the others lack of 1, NaN if that
        is nothing.
    """
    value, before = (correlated(x.mean, y.mean, coefficient)[0] for x, y in (two, base))
    part = value - before
    return {"change": part, "explained": part / (1 - before) if before < 1 else nan}
