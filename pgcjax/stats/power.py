"""Number of queries that a test needs to detect a difference, from pilot scores."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import nctdtrinc

from pgcjax.errors import UsageError, counted
from pgcjax.io.result import Result
from pgcjax.later import stats
from pgcjax.stats import intervals, rank_sets, resample, tests
from pgcjax.stats.matrix import Matrix, read
from pgcjax.stats.procedures import check_decision
from pgcjax.stats.rounding import exact
from pgcjax.stats.tests import Values

MOST = 100_000
"""Largest number of queries that the search tries."""

_FEWEST = 5  # smallest number of queries that the search tries
_STEPS = 12  # most steps of the search


@dataclass(frozen=True, kw_only=True)
class Power(Result):
    """Queries that a difference needs, and the least difference that a pilot can show.

    Attributes:
        table: pair (median or widest, by deviation), run_a, run_b, test (t of the pair
            alone, or max-t of all pairs), deviation (of the differences over queries),
            least_difference (the least that the test detects at this power
            with the queries of the pilot), and, if a difference is given, queries (the
            fewest that detect it at this power; empty beyond `MOST`).
    """


def power(
    scores: Any,
    difference: float | None = None,
    *,
    measure: str | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 0,
    missing: str = "error",
) -> Power:
    """Compute how many queries a difference of means needs to be significant.

    The power of the two-sided t test follows from the noncentral t distribution; that
    of max-t, which compares all runs of the pilot, from samples of the pilot's queries.

    Args:
        scores: Scores of a pilot, as in `compare`.
        difference: Difference of the means of two runs; None computes only the least
            difference that the queries of the pilot can show.
        measure: Name of the measure; needed if scores have several.
        power: Probability that the test detects the difference.
        alpha: Level of the tests.
        resamples: Number of resamples of the queries.
        seed: Seed of the random numbers.
        missing: Treatment of queries that runs lack: `error`, `drop` or `zero`.

    Raises:
        UsageError: an argument is wrong. DataError: the scores cannot be compared.

    Source: Sakai 2016, topic set size design (t); Westfall and Young 1993 (max-t).
    """
    sampling: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": seed}
    check_decision(1, 1, "max-t", correction=None, **sampling)
    _check(difference, power, alpha)
    matrix = read(scores, measure=measure, missing=missing)
    pilot = _Pilot.of(matrix.values, resamples, seed, alpha)
    rows = []
    for name, (a, b) in _pairs(matrix).items():
        row = {"pair": name, "run_a": matrix.run_ids[a], "run_b": matrix.run_ids[b]}
        deviation = float((matrix.values[a] - matrix.values[b]).std(ddof=1))
        of_t = partial(_t_difference, deviation, alpha, power)
        of_max_t = partial(pilot.least_difference, a, b, power)
        for test, least in (("t", of_t), ("max-t", of_max_t)):
            result = {"test": test, "deviation": deviation}
            result["least_difference"] = least(matrix.values.shape[1])
            if difference is not None:
                result["queries"] = _search(least, matrix.values.shape[1], difference)
            rows.append(row | result)
    table = pd.DataFrame(rows)
    if difference is not None:
        table["queries"] = table["queries"].astype("Int64")
    runs, queries = map(counted, matrix.values.shape, ("run", "query"))
    note = f"{runs} × {queries}: power {power:g} at α = {alpha:g}"
    if difference is not None:
        note += f", of a difference of {difference:g}"
    about = {"measure": matrix.measure, "difference": difference, "power": power}
    about |= {"alpha": alpha, "resamples": resamples, "seed": seed, "missing": missing}
    return Power(table, about, (*matrix.notes, note))


def _check(difference: float | None, power: float, alpha: float) -> None:
    """Raise a UsageError if the power or the difference is out of range."""
    if not alpha < power < 1:
        raise UsageError(f"power={power}: expected a number between alpha and 1")
    if difference is not None and not 0 < difference < math.inf:
        raise UsageError(f"difference={difference}: expected a number above 0")


def _pairs(matrix: Matrix) -> dict[str, tuple[int, int]]:
    """Choose the pairs of median and of largest deviation, if above 0."""
    pairs = tests.all_pairs(len(matrix.run_ids))
    _, deviation = tests.moments(matrix.values, pairs)
    varied = np.flatnonzero(deviation > 0)
    if not len(varied):
        raise UsageError("power: expected runs whose differences vary over queries")
    order = varied[np.argsort(deviation[varied], kind="stable")]
    places = {"median": order[(len(order) - 1) // 2], "widest": order[-1]}
    return {name: (int(pairs[0][i]), int(pairs[1][i])) for name, i in places.items()}


def _t_difference(deviation: float, alpha: float, power: float, queries: int) -> float:
    """Return the difference that Student's t test detects with a power."""
    critical = stats.t.isf(alpha / 2, queries - 1)
    noncentrality = float(nctdtrinc(queries - 1, 1 - power, critical))
    return deviation * noncentrality / math.sqrt(queries)


def _search(
    least: Callable[[int], float], queries: int, difference: float
) -> int | None:
    """Find the fewest queries that detect a difference; None if more than `MOST`.

    The least difference of n queries is about proportional to 1 / √n.

    Args:
        least: Function from a number of queries to the least difference.
        queries: Number of queries to begin with.
        difference: Difference that the test must detect.
    """
    low, high, n = _FEWEST - 1, MOST + 1, max(queries, _FEWEST)
    for _ in range(_STEPS):
        least_of_n = least(n)
        low, high = (low, n) if least_of_n <= difference else (n, high)
        if high - low <= 1 or low >= MOST:
            break
        n = round(n * (least_of_n / difference) ** 2) - (n == high)
        n = min(max(n, low + 1), high - 1)
    return high if high <= MOST else None


class _Pilot(NamedTuple):
    """Scores of a pilot, whose queries are resampled.

    Attributes:
        x: Scores less the means of runs and of queries, scaled so that their variance
            (ddof 0) is the unbiased estimate (ddof 1).
        size: Number of pairs of runs that are not identical.
        resamples: Number of resamples of the queries.
        seed: Seed of the resamples.
        alpha: Level of the test.
        critical: Critical value of the largest |T*| by number of queries, as computed.
    """

    x: Values
    size: int
    resamples: int
    seed: int
    alpha: float
    critical: dict[int, float]

    @classmethod
    def of(cls, values: Values, resamples: int, seed: int, alpha: float) -> "_Pilot":
        x = values - values.mean(1, keepdims=True)
        x = (x - x.mean(0)) * math.sqrt(x.shape[1] / (x.shape[1] - 1))
        same = tests.identical(values, tests.all_pairs(len(values)))
        return cls(x, int((~same).sum()), resamples, seed, alpha, {})

    def least_difference(self, a: int, b: int, power: float, queries: int) -> float:
        """Return the difference of a pair that max-t detects with a power."""
        runs, pilot = self.x.shape
        random = resample.generator(self.seed, "bootstrap", 0)
        weights = random.multinomial(queries, np.full(pilot, 1 / pilot), self.resamples)
        weights = weights.astype(np.float64)
        means, squares = weights @ self.x.T / queries, weights @ (self.x**2).T
        # Mean of all pairs: Σ (x_a - x_b)² = runs Σ x_a², as the x of a query sum to 0.
        pooled = runs * (squares - queries * means**2).sum(1) / max(1, self.size)
        if queries not in self.critical:
            whole = np.zeros(1, int)  # all runs are one part
            largest = rank_sets.largest_between(self.x, weights, pooled, whole).ravel()
            level = exact(self.alpha)
            self.critical[queries] = intervals.critical_value(largest, level)
        z = self.x[a] - self.x[b]
        moved = means[:, a] - means[:, b]  # mean of z in each resample
        square = np.maximum(weights @ (z * z) - queries * moved**2, 0.0) + pooled
        error = np.sqrt(square / (queries * (queries - 1)))
        return float(np.quantile(self.critical[queries] * error - moved, power))
