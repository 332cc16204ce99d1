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
    def of(cls, *how: Any) -> "Drawing":
        """Refuse what makes no sense, by a UsageError."""
        made = cls(*how)
        check_coefficients(made.coefficients)
        check_choice("interval", made.interval, RANK_INTERVALS)
        tests.check_alpha(made.alpha)
        check_resampling(made.resamples, made.seed)
        return made


class RunOrder:
    """An order of the runs, by their means over queries."""

    def __init__(
        self,
        values: Float64[np.ndarray, "runs queries"],
        drawing: Drawing | None = None,
    ):
        self.values, self._drawing = values, drawing
        queries = values.shape[1]
        self.mean = values.mean(axis=1) if queries else np.zeros(len(values))

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
        value; low and high, unless there are no intervals; undefined: what is NaN, and
        why.
    """
    queries = x.values.shape[1]
    value, _, why = correlated(x.mean, y.mean, coefficient)
    if not queries:
        value, why = nan, _NO_QUERY
    row: dict[str, Any] = {"value": value}
    if drawing.interval != "none":
        low = high = nan
        why = why or without_interval(coefficient, queries)
        if not why:
            low, high, _ = tau_interval(x.drawn, y.drawn, alpha=drawing.alpha)
            why = _NEVER if isnan(low) else ""
        row |= {"low": low, "high": high}
    return row | {"undefined": why}


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
