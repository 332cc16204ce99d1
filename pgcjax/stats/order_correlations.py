"""Orders of the same runs, correlated, over queries that are drawn again."""

from collections.abc import Sequence
from functools import cached_property
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.errors import check_choice
from pgcjax.stats import tests
from pgcjax.stats.choices import RANK_INTERVALS
from pgcjax.stats.correlation import check_coefficients, correlated, levels
from pgcjax.stats.procedures import check_resampling
from pgcjax.stats.resampled_orders import DrawnSums, tau_interval, without_interval

_NO_QUERY = "the two have no query in common"
_MEANS = "low, high: one has means alone"
_NEVER = "low, high: it is undefined in resamples"


class Drawing(NamedTuple):
    """How correlations get intervals: of a bootstrap over queries.

    Attributes:
        coefficients: names as of `correlation`.
        interval: as of `correlate_leaderboards`.
        alpha: 1 less the level.
        resamples: how many.
        seed: of the resamples, the same queries for all orders over them.
    """

    coefficients: Sequence[str]
    interval: str
    alpha: float
    resamples: int
    seed: int

    @classmethod
    def of(cls, *rest: Any) -> "Drawing":
        """Refuse what makes no sense, by a UsageError."""
        made = cls(*rest)
        check_coefficients(made.coefficients)
        check_choice("interval", made.interval, RANK_INTERVALS)
        tests.check_alpha(made.alpha)
        check_resampling(made.resamples, made.seed)
        return made


class RunOrder:
    """An order of the runs, by their means over queries.

    Attributes:
        values: of each run and query; of means alone, of no queries.
        mean: of each run.
        of_means: whether there are means alone.
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
        """Sums over queries that are drawn again."""
        drawing = self._drawing
        assert drawing
        return DrawnSums.of(self.values, drawing.resamples, drawing.seed)

    def swapped(self, other: "RunOrder") -> Bool[np.ndarray, " pairs"]:
        """Which pairs of runs another order turns round; a tie turns none."""
        first, second = tests.all_pairs(len(self.mean))
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
        if not why:
            why = _MEANS if of_means else without_interval(coefficient, queries)
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
