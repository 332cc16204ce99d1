"""Rank correlations of system orderings by two measures."""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int64, Real

from pgcjax.errors import DataError, UsageError, check_choice
from pgcjax.later import stats
from pgcjax.stats.aligned import align
from pgcjax.stats.choices import COEFFICIENTS
from pgcjax.stats.rounding import slack

Values = Real[np.ndarray, " runs"]
"""A number for each run, the larger the better."""

COLUMNS = ["measure_a", "measure_b", "coefficient", "value", "runs", "undefined"]


def tau_ap(truth: Values, estimate: Values) -> float:
    """Compare an estimated order with the true one, the top of the estimate first.

    For each item but the first of the estimate, count the share of the items above it
    that are truly above it. tau_ap is twice the mean share, less one. Neither order has
    ties.

    Source: Yilmaz, Aslam and Robertson 2008.
    """
    above = estimate[None, :] > estimate[:, None]
    right = above & (truth[None, :] > truth[:, None])
    counts = above.sum(axis=1)
    later = counts > 0  # the first item, or the first group of ties, has none above
    return float(2 * np.mean(right.sum(axis=1)[later] / counts[later]) - 1)


def tau_ap_symmetric(x: Values, y: Values) -> float:
    """Average tau_ap with either order as the truth [Yilmaz et al. 2008].

    With ties in either order, this is tau_ap_b [Urbano and Marrero 2017, agreement;
    values of their `ircor`]: items tied with an item are not above it, and a pair that
    only the other order ties is not right. Neither order ties all items.
    """
    return (tau_ap(x, y) + tau_ap(y, x)) / 2


def tau_ap_a(truth: Values, estimate: Values) -> float:
    """Average tau_ap over all orders in which ties of the estimate can be broken.

    The k-th place of a group of ties (from 0) has any of its items, below the items
    above the group and below k other items of the group, chosen at random. Half of the
    orders of two items of the group are right, so the mean over the group suffices. The
    truth has no ties.

    Source: Urbano and Marrero 2017, accuracy.
    """
    above = estimate[None, :] > estimate[:, None]
    right = (above & (truth[None, :] > truth[:, None])).sum(axis=1)
    order = np.argsort(-estimate, kind="stable")
    _, group, sizes = np.unique(-estimate, return_inverse=True, return_counts=True)
    means = np.bincount(group, weights=right) / sizes
    group, place = group[order], np.arange(len(truth))
    within = place - (np.cumsum(sizes) - sizes)[group]
    correct = means[group] + within / 2
    return float(2 * np.mean(correct[1:] / place[1:]) - 1)


_FUNCTIONS: dict[str, Callable[[Values, Values], Any]] = {
    "tau": lambda x, y: stats.kendalltau(x, y).statistic,
    "tau_ap": tau_ap,
    "tau_ap_symmetric": tau_ap_symmetric,
    "tau_ap_a": tau_ap_a,
    "tau_ap_b": tau_ap_symmetric,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
}
# Coefficients whose first argument is the truth.
DIRECTED = ("tau_ap", "tau_ap_a")
WITHOUT_TIES = {
    "tau_ap": ("first", "second"),
    "tau_ap_symmetric": ("first", "second"),
    "tau_ap_a": ("first",),
}
# All orders of an estimate that ties all are equally likely, and tau_ap_a is 0.
MAY_TIE_ALL = ("tau_ap_a", "second")


def levels(
    values: Float[np.ndarray, "*orders runs"], least: float = 0.0
) -> Int64[np.ndarray, "*orders runs"]:
    """Number distinct values from 0 up; neighbours that differ by rounding are one.

    Neighbours that differ by at most `least` are also one.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    low, high = ordered[..., :-1], ordered[..., 1:]
    steps = high - low > np.maximum(slack(high, low), least)
    out = np.zeros(values.shape, np.int64)
    np.put_along_axis(out, order[..., 1:], np.cumsum(steps, axis=-1), axis=-1)
    return out


def split_coefficient(coefficient: str) -> tuple[str, int | None]:
    """Split `tau@10` into its name and the number of best runs; None without one.

    Raises:
        UsageError: there is no such coefficient, or no such number.
    """
    name, at, k = coefficient.partition("@")
    check_choice("coefficient", name, COEFFICIENTS)
    if at and not (k.isascii() and k.isdecimal() and int(k) > 1):
        raise UsageError(
            f"coefficient {coefficient!r}: expected how many of the best runs after @, "
            f"2 or more, such as {name}@10"
        )
    return name, int(k) if at else None


def best(
    order: Int64[np.ndarray, "*orders runs"], k: int | None
) -> Bool[np.ndarray, "*orders runs"]:
    """Choose the k best runs by `levels`, and all tied with the last; None: all."""
    if k is None or k >= order.shape[-1]:
        return np.ones(order.shape, bool)
    return order >= np.sort(order, axis=-1)[..., -k, None]


def correlation(x: Any, y: Any, coefficient: str = "tau") -> float:
    """Correlate two orders of the same runs.

    Args:
        x: Means of the runs, the larger the better; for tau_ap and tau_ap_a the truth.
        y: Means of the same runs.
        coefficient: `tau` (Kendall's tau-b), `tau_ap`, `tau_ap_symmetric`, `tau_ap_a`
            (ties in y), `tau_ap_b` (ties in both), `pearson` or `spearman`; `tau@10`
            takes the 10 best runs of x, the truth, and those that tie with the tenth.

    Means that differ only by rounding, 1e-12 of their size, are ties for all
    coefficients but Pearson's.

    Returns:
        The coefficient, -1 to 1.

    Raises:
        UsageError: there is no such coefficient.
        DataError: x and y do not fit, or the coefficient is undefined for them.
    """
    split_coefficient(coefficient)
    x, y = _numbers(x), _numbers(y)
    if x.shape != y.shape:
        raise DataError(f"expected as many values, found {len(x)} and {len(y)}")
    value, _, why = correlated(x, y, coefficient)
    if why:
        raise DataError(f"{coefficient} is undefined: {why}")
    return value


def _numbers(values: Any) -> Float64[np.ndarray, " runs"]:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError("expected numbers to correlate, found something else") from None
    if array.ndim != 1:
        raise DataError(f"expected a number per run, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise DataError("expected finite numbers to correlate, found NaN or infinity")
    return array


def _undefined(x: Values, y: Values, coefficient: str) -> str:
    """Explain why a coefficient has no value; "" if it has one."""
    if len(x) < 2:
        return "there are fewer than two runs"
    for name, values in (("first", x), ("second", y)):
        distinct = int(levels(values).max()) + 1
        if distinct == 1 and (coefficient, name) != MAY_TIE_ALL:
            return f"the {name} gives all runs the same value"
        if distinct < len(x) and name in WITHOUT_TIES.get(coefficient, ()):
            return f"the {name} has ties; tau_ap_b allows them"
    return ""


def correlated(x: Values, y: Values, coefficient: str) -> tuple[float, int, str]:
    """Correlate two orders: value, number of runs, and why the value is NaN."""
    name, k = split_coefficient(coefficient)
    top = best(levels(x), k)
    x, y = x[top], y[top]
    if why := _undefined(x, y, name):
        return nan, len(x), why
    if name != "pearson":
        x, y = levels(x), levels(y)
    return float(_FUNCTIONS[name](x, y)), len(x), ""


def check_coefficients(coefficients: Sequence[str]) -> None:
    """Refuse coefficients that `correlation` does not have, by a UsageError."""
    if not coefficients:
        raise UsageError("name a coefficient")
    for coefficient in coefficients:
        split_coefficient(coefficient)


def correlate(
    scores: Any,
    measures: Sequence[str] | None = None,
    coefficients: Sequence[str] = ("tau", "tau_ap_b"),
    missing: str = "shared",
) -> pd.DataFrame:
    """Correlate the orders in which measures put the runs, by their means.

    Args:
        scores: A score table, or a dict with a table for each measure.
        measures: Names of measures; None takes all.
        coefficients: Names of coefficients, as in `correlation`.
        missing: `shared` leaves out queries that a measure lacks, and refuses one that
            some runs lack; `drop` leaves out both, `zero` counts both as 0, `error`
            refuses both.

    Returns:
        A row for each coefficient and two measures: measure_a, measure_b, coefficient,
        value, runs, undefined. If a coefficient has no value, value is NaN and
        undefined says why; else undefined is empty. For tau_ap, tau_ap_a and
        coefficients of the best runs, measure_a is the truth, and each measure is the
        truth in one row. `attrs["notes"]` lists scores left out, or counted as 0.

    Raises:
        UsageError: fewer than two measures, or an unknown one, coefficient or policy.
        DataError: a score is missing, or there twice.
    """
    check_coefficients(coefficients)
    aligned = align(scores, measures, missing, least=2)
    means = {m: aligned.of(m).mean(axis=1) for m in aligned.measures}
    rows = []
    for (a, b), coefficient in product(combinations(means, 2), coefficients):
        directed = coefficient in DIRECTED or "@" in coefficient
        for one, other in ((a, b), (b, a)) if directed else ((a, b),):
            value, runs, why = correlated(means[one], means[other], coefficient)
            rows.append((one, other, coefficient, value, runs, why))
    return aligned.noted(pd.DataFrame(rows, columns=COLUMNS))
