"""Do two measures order the runs alike? Rank correlations of system orderings."""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64, Real
from scipy import stats

from pgcjax.errors import DataError, check_choice
from pgcjax.stats.aligned import align
from pgcjax.stats.choices import COEFFICIENTS
from pgcjax.stats.rounding import slack

Values = Real[np.ndarray, " runs"]
"""A number of each run, the larger the better."""

COLUMNS = ["measure_a", "measure_b", "coefficient", "value", "runs", "undefined"]


def tau_ap(truth: Values, estimate: Values) -> float:
    """Compare an estimated order with the true one, the top of the estimate first.

    For each item but the first of the estimate: the share of the items above it that
    are truly above it; the mean of these, times two, less one. Neither has ties.

    Source: Yilmaz, Aslam and Robertson 2008.
    """
    above = estimate[None, :] > estimate[:, None]
    right = above & (truth[None, :] > truth[:, None])
    counts = above.sum(axis=1)
    later = counts > 0  # the first item, or the first group of ties, has none above
    return float(2 * np.mean(right.sum(axis=1)[later] / counts[later]) - 1)


def tau_ap_symmetric(x: Values, y: Values) -> float:
    """Average tau_ap over which of two orders is the truth [Yilmaz et al. 2008].

    With ties in either order, this is tau_ap_b [Urbano and Marrero 2017, agreement;
    values of their `ircor`]: items tied with an item are not above it, and a pair that
    only the other order ties is not right. Neither order ties all.
    """
    return (tau_ap(x, y) + tau_ap(y, x)) / 2


def tau_ap_a(truth: Values, estimate: Values) -> float:
    """Average tau_ap over all orders in which ties of the estimate can be broken.

    At the k-th place of a group of ties stands any of its items, with the items above
    the group and k of its others, chosen at random, above it; of a pair of the group
    one order in two is right. So the mean over the group is all that counts. The truth
    has no ties.

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
# These take their first argument for the truth.
DIRECTED = ("tau_ap", "tau_ap_a")
_WITHOUT_TIES = {
    "tau_ap": ("first", "second"),
    "tau_ap_symmetric": ("first", "second"),
    "tau_ap_a": ("first",),
}


def levels(values: Float[np.ndarray, " runs"]) -> Int64[np.ndarray, " runs"]:
    """Number distinct values from 0 up; neighbours that differ by rounding are one."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    steps = np.diff(ordered) > slack(ordered[1:], ordered[:-1])
    out = np.zeros(len(values), np.int64)
    out[order[1:]] = np.cumsum(steps)
    return out


def correlation(x: Any, y: Any, coefficient: str = "tau") -> float:
    """Correlate two orders of the same runs.

    Args:
        x: means of the runs, the larger the better; the truth of tau_ap, tau_ap_a.
        y: means of the same runs.
        coefficient: `tau` (Kendall's tau-b), `tau_ap`, `tau_ap_symmetric`, `tau_ap_a`
            (ties in y), `tau_ap_b` (ties in both), `pearson` or `spearman`.

    Means that differ by rounding alone, 1e-12 of their size, are ties in all but
    Pearson's.

    Returns:
        -1 to 1.

    Raises:
        UsageError: there is no such coefficient.
        DataError: x and y do not fit, or the coefficient is undefined for them.
    """
    check_choice("coefficient", coefficient, COEFFICIENTS)
    x, y = _numbers(x), _numbers(y)
    if x.shape != y.shape:
        raise DataError(f"expected as many values, found {len(x)} and {len(y)}")
    why = _undefined(x, y, coefficient)
    if why:
        raise DataError(f"{coefficient} is undefined: {why}")
    return _value(x, y, coefficient)


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
    """Say why a coefficient has no value; nothing if it has one."""
    if len(x) < 2:
        return "there are fewer than two runs"
    for name, values in (("first", x), ("second", y)):
        distinct = int(levels(values).max()) + 1
        # tau_ap_a of an estimate that ties all is 0: each order is as likely.
        if distinct == 1 and (coefficient, name) != ("tau_ap_a", "second"):
            return f"the {name} gives all runs the same value"
        if distinct < len(x) and name in _WITHOUT_TIES.get(coefficient, ()):
            return f"the {name} has ties; tau_ap_b allows them"
    return ""


def _value(x: Values, y: Values, coefficient: str) -> float:
    if coefficient != "pearson":
        x, y = levels(x), levels(y)
    return float(_FUNCTIONS[coefficient](x, y))


def correlate(
    scores: Any,
    measures: Sequence[str] | None = None,
    coefficients: Sequence[str] = ("tau", "tau_ap_b"),
    missing: str = "error",
) -> pd.DataFrame:
    """Correlate the orders in which measures put the runs, by their means.

    Args:
        scores: a score table, or a table for each measure, by name.
        measures: all that there are if None.
        coefficients: names as of `correlation`.
        missing: what a query does that a run or a measure lacks: `error`, `drop` it
            for all, or `zero` for those that lack it.

    Returns:
        A row for each coefficient and two measures: measure_a, measure_b, coefficient,
        value, runs, undefined. Where a coefficient has no value, value is NaN and
        undefined says why; else undefined is empty. For tau_ap and tau_ap_a, measure_a
        is the truth, and there is a row each way. `attrs["notes"]` says what was left
        out, or counted as 0.

    Raises:
        UsageError: fewer than two measures, or an unknown one, coefficient or policy.
        DataError: a score is missing, or there twice.
    """
    for coefficient in coefficients:
        check_choice("coefficient", coefficient, COEFFICIENTS)
    aligned = align(scores, measures, missing, least=2)
    means = dict(zip(aligned.measures, aligned.values.mean(axis=2), strict=True))
    rows = []
    for (a, b), coefficient in product(combinations(means, 2), coefficients):
        ways = ((a, b), (b, a)) if coefficient in DIRECTED else ((a, b),)
        for one, other in ways:
            x, y = means[one], means[other]
            why = _undefined(x, y, coefficient)
            value = nan if why else _value(x, y, coefficient)
            rows.append((one, other, coefficient, value, len(x), why))
    return aligned.noted(pd.DataFrame(rows, columns=COLUMNS))
