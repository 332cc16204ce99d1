"""Prediction-powered means: scores by a model on all queries, corrected by people's."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.errors import DataError, DataWarning, UsageError, counted, listed
from pgcjax.later import stats
from pgcjax.stats import tests
from pgcjax.stats.matrix import Matrix, check_same_runs, read
from pgcjax.stats.tests import OfPairs, RunPairs, Values

LEAST = 5
"""Queries that people have to judge: of fewer, the interval is no narrower."""

SHUFFLES = 1999
"""Random shares of the queries that those judged by people are compared with."""

NOT_RANDOM = 0.01
"""p below which the judged queries are said to be no random share."""

_SHUFFLED = 256  # shares at once

_UNNAMED = "no column names the queries"


@dataclass(frozen=True)
class Rectified:
    """Means of human scores, each estimated with the help of a model's scores.

    Attributes:
        mean: m(y) + λ (m(g) - m(f)): y are the scores by people, f the model's of the
            same n queries, g the model's of the N others.
        error: its standard error, √(λ² v / N + r / n): v is the variance of all f and
            g, r that of y - λf, with n - 2 degrees of freedom, as λ is estimated, too.
        power: λ, cov(y, f) / ((1 + n/N) v), not below 0 nor above 1.
        human: Mean of y alone.
        deviation: Standard deviation of y.
        model: Mean of all f and g.
        queries: Number n of queries judged by people.
        noise: Largest difference of scores that is rounding.

    Source: Angelopoulos, Duchi and Zrnic 2023, PPI++, Example 6.1 and Section 6, where
    r has n degrees of freedom and the quantiles are normal.
    """

    mean: OfPairs
    error: OfPairs
    power: OfPairs
    human: OfPairs
    deviation: OfPairs
    model: OfPairs
    queries: int
    noise: float

    def interval(self, alpha: float) -> tuple[OfPairs, OfPairs]:
        """Return the ends of the interval of level 1 - alpha, by Student's t, n - 2."""
        half = self._quantile(alpha) * self.error
        return self.mean - half, self.mean + half

    def p_values(self) -> OfPairs:
        """Test, two-sided, whether the mean of the human scores is 0.

        Without variance p is 0, or 1 if the mean is 0, too.
        """
        mean = np.where(np.abs(self.mean) <= self.noise, 0.0, self.mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stats.t.sf(np.abs(mean / self.error), self.queries - 2)
        return np.where(mean == 0, 1.0, p)

    def effect_size(self) -> OfPairs:
        """Divide the mean by the standard deviation of the human scores."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                np.abs(self.mean) <= self.noise, 0.0, self.mean / self.deviation
            )

    def columns(self, alpha: float) -> dict[str, OfPairs]:
        """Describe what a table shows beside the estimate.

        Returns:
            human and model, the means by each alone; lambda; effective_queries, how
            many queries people would have to judge for an equal standard error without
            a model; width_ratio, the width of the interval by that of Student's t of
            the human scores alone. Where neither has a width, they are n and 1.
        """
        alone = self.deviation / math.sqrt(self.queries)
        quantile = stats.t.isf(alpha / 2, self.queries - 1)
        none = (alone == 0) & (self.error == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(none, 1.0, (alone / self.error) ** 2)
            width = self._quantile(alpha) * self.error / (quantile * alone)
        return {
            "human": self.human,
            "model": self.model,
            "lambda": self.power,
            "effective_queries": self.queries * gain,
            "width_ratio": np.where(none, 1.0, width),
        }

    def _quantile(self, alpha: float) -> float:
        return float(stats.t.isf(alpha / 2, self.queries - 2))


@dataclass(frozen=True)
class BothScores:
    """Scores of the same runs by people and by a model.

    Attributes:
        human: Scores of the queries that people judged.
        model: Scores of these queries, and then of all other queries.
        noise: Largest difference of scores that is rounding.
    """

    human: Values
    model: Values
    noise: float

    @classmethod
    def of(cls, human: Matrix, model: Matrix) -> "BothScores":
        """Put the queries that people judged first.

        Raises:
            DataError: the scores are not of the same runs, or of too few queries.
        """
        _check_same(human, model)
        column = {query: i for i, query in enumerate(model.query_ids)}
        judged = [column[query] for query in human.query_ids]
        others = sorted({*column.values()} - {*judged})
        noise = max(tests.largest_noise(m.values) for m in (human, model))
        return cls(human.values, model.values[:, judged + others], noise)

    @property
    def queries(self) -> int:
        """Number of queries that people judged."""
        return self.human.shape[1]

    def means(self) -> Rectified:
        """Estimate the mean human score of each run."""
        return estimate(self.human, self.model, self.noise)

    def differences(self, pairs: RunPairs) -> Rectified:
        """Estimate the difference of each pair, with a λ of its own."""
        names = ("mean", "error", "power", "human", "deviation", "model")
        columns = {name: np.zeros(len(pairs[0])) for name in names}
        differences = (tests.differences(v, pairs) for v in (self.human, self.model))
        for (block, human), (_, model) in zip(*differences, strict=True):
            part = estimate(human, model, self.noise)
            for name in names:
                columns[name][block] = getattr(part, name)
        return Rectified(**columns, queries=self.queries, noise=self.noise)

    def with_one_power(self) -> tuple[Values, tuple[int, int]]:
        """Compute scores whose means are estimates with the same λ for all runs.

        Let y be the scores by people and f the model's of the same n queries, g the
        model's of the N others, and m = mean(y - λf) + mean(λg). λ is that of the
        differences of all pairs of runs together, not below 0. The scores are m, and
        √((Q - 1) Q / (n (n - 2))) times y - λf less its mean, or
        √((Q - 1) Q / (N (N - 1))) times λg less its mean, Q = n + N: the standard
        error of their mean is that of m.

        Returns:
            The scores, and n and N, the sizes of two strata that are drawn separately.
        """
        n, every = self.queries, self.model.shape[1]
        same, others = self.model[:, :n], self.model[:, n:]
        human, like = (_contrasts(x) for x in (self.human, same))
        power = max(0.0, (human * like).sum() * (1 - n / every))
        power = power and power / (like * like).sum()
        residual, known = self.human - power * same, power * others
        mean = residual.mean(1, keepdims=True) + known.mean(1, keepdims=True)
        parts = []
        for part, freedom in ((residual, n - 2), (known, every - n - 1)):
            scale = math.sqrt(every * (every - 1) / (part.shape[1] * max(1, freedom)))
            parts.append(scale * (part - part.mean(1, keepdims=True)))
        return mean + np.concatenate(parts, 1), (n, every - n)

    def identical(self, pairs: RunPairs) -> Bool[np.ndarray, " pairs"]:
        """Find pairs whose scores are equal on every query, by people and model."""
        human, model = (tests.identical(v, pairs) for v in (self.human, self.model))
        return human & model


def _contrasts(values: Values) -> Values:
    """Subtract the mean of each run, and then what all runs share of each query."""
    left = values - values.mean(1, keepdims=True)
    return left - left.mean(0)


def estimate(
    human: Float64[np.ndarray, "rows judged"],
    model: Float64[np.ndarray, "rows queries"],
    noise: float = 0.0,
) -> Rectified:
    """Estimate the mean of each row of human scores; see `Rectified`.

    Args:
        human: Scores of n queries, 3 or more.
        model: Scores of the same n queries, and then of N other queries, 1 or more.
        noise: Largest standard deviation that is rounding, and set to 0.
    """
    n = human.shape[1]
    others = model.shape[1] - n
    same = model[:, :n]
    centred = human - human.mean(1, keepdims=True)
    covariance = (centred * (same - same.mean(1, keepdims=True))).mean(1)
    variance = model.var(1, ddof=1)
    varies = variance > noise**2
    with np.errstate(divide="ignore", invalid="ignore"):
        best = covariance / ((1 + n / others) * variance)
    power = np.where(varies, np.clip(best, 0.0, 1.0), 0.0)
    residual = (human - power[:, None] * same).var(1, ddof=2)
    residual[residual <= noise**2] = 0.0
    deviation = human.std(1, ddof=1)
    deviation[deviation <= noise] = 0.0
    mean = human.mean(1) + power * (model[:, n:].mean(1) - same.mean(1))
    error = np.sqrt(power**2 * variance / others + residual / n)
    return Rectified(
        mean, error, power, human.mean(1), deviation, model.mean(1), n, noise
    )


def read_human(
    scores: Any,
    model: Matrix,
    missing: str = "error",
    columns: Mapping[str, str] | None = None,
) -> Matrix:
    """Read the human scores that are to rectify a model's, of the same measure.

    Args:
        scores: Scores as in `matrix.read`.
        model: Scores by the model.
        missing: Treatment of missing queries, as in `matrix.read`.
        columns: Names of columns, as in `matrix.read`.

    Raises:
        UsageError: they are of another measure. DataError: they cannot be read.
    """
    name = model.measure or None
    try:
        human = read(scores, measure=name, columns=columns, missing=missing)
    except UsageError as error:
        raise UsageError(f"rectify: {error}") from None
    if human.measure and model.measure and human.measure != model.measure:
        raise UsageError(
            f"rectify: human scores are by {human.measure}, the model's by "
            f"{model.measure}"
        )
    return human


def of_both(human: Matrix, model: Matrix, missing: str) -> tuple[Matrix, list[str]]:
    """Keep the human scores of queries that the model scored.

    Args:
        human: Scores by people.
        model: Scores by the model.
        missing: `drop` leaves out queries that the model did not score; else they are
            refused.

    Returns:
        The human scores, and what to say of them.

    Raises:
        DataError: there is a query that the model did not score, or no other; or the
            tables do not name them.
    """
    if any(note.startswith(_UNNAMED) for m in (human, model) for note in m.notes):
        raise DataError(
            "rectify needs the names of the queries",
            mend="Add a column query_id to both tables.",
        )
    there = set(model.query_ids)
    shared = [i for i, query in enumerate(human.query_ids) if query in there]
    absent = [query for query in human.query_ids if query not in there]
    notes = [f"human scores: {note}" for note in human.notes]
    if not shared:
        raise DataError(
            f"human scores are for queries {listed(human.query_ids)}, the model's for "
            f"{listed(model.query_ids)}: none is in both",
            mend="Score the queries that people judged by the model, too.",
        )
    if absent and missing != "drop":
        raise DataError(
            f"{counted(len(absent), 'query')} with human scores, such as "
            f"{absent[0]!r}, {'has' if len(absent) == 1 else 'have'} none by the model",
            mend="Score them by the model, too, or choose missing drop.",
        )
    if absent:
        number = counted(len(absent), "query")
        notes.append(f"human scores: {number} left out that the model lacks")
        # It changes every finding: said aloud, not in the notes alone.
        warnings.warn(notes[-1], DataWarning, stacklevel=4)
    values = np.ascontiguousarray(human.values[:, shared])
    judged = [human.query_ids[i] for i in shared]
    if len(judged) < len(model.query_ids):
        notes.append(_told_of_share(model, judged))
    return Matrix(human.run_ids, judged, values, human.measure), notes


def _told_of_share(model: Matrix, judged: list[str]) -> str:
    """Return whether judged queries look like a random share; warn if they do not."""
    # By name: the order of queries in a file changes nothing.
    order = np.argsort(np.array(model.query_ids, object), kind="stable")
    chosen = np.isin(np.array(model.query_ids, object)[order], judged)
    p, run = random_share(model.values[:, order], chosen)
    test = f"p = {p:.3g}, permutation, largest difference of all runs"
    if p >= NOT_RANDOM:
        return f"judged queries as a random share, by the model's scores: {test}"
    values = model.values[run, order]
    note = (
        "human scores: the judged queries are no random share: the model's mean of "
        f"{model.run_ids[run]} is {values[chosen].mean():.4f} there and "
        f"{values[~chosen].mean():.4f} elsewhere ({test}); estimates may be biased"
    )
    warnings.warn(note, DataWarning, stacklevel=5)
    return note


def random_share(
    values: Float64[np.ndarray, "runs queries"], chosen: Bool[np.ndarray, " queries"]
) -> tuple[float, int]:
    """Test whether chosen queries are a random share, by the scores of all queries.

    The largest difference of a run's means, of chosen and of other queries, in its
    standard deviations, among those of random shares of as many queries.

    Args:
        values: Scores.
        chosen: which queries are; some, not all.

    Returns:
        p, and the run with the largest difference.
    """
    deviation = values.std(1, keepdims=True)
    varies = deviation > 1e-12
    centred = values - values.mean(1, keepdims=True)
    scaled = np.divide(centred, deviation, out=np.zeros_like(values), where=varies)
    sums = np.abs(scaled[:, chosen].sum(1))
    made = np.random.Generator(np.random.Philox(key=0))
    n, share = len(chosen), int(chosen.sum())
    largest = np.zeros(SHUFFLES)
    for low in range(0, SHUFFLES, _SHUFFLED):
        count = min(_SHUFFLED, SHUFFLES - low)
        ranks = made.random((count, n)).argsort(1)
        drawn = np.zeros((count, n))
        np.put_along_axis(drawn, ranks[:, :share], 1.0, 1)
        largest[low : low + count] = np.abs(scaled @ drawn.T).max(0)
    as_far = int((largest >= sums.max() - 1e-9 * (1 + sums.max())).sum())
    return (1 + as_far) / (1 + SHUFFLES), int(sums.argmax())


def _check_same(human: Matrix, model: Matrix) -> None:
    check_same_runs(human, model, "the model")
    judged, every = len(human.query_ids), len(model.query_ids)
    if judged < LEAST:
        raise DataError(
            f"people judged {counted(judged, 'query')} that the model did",
            mend=f"At least {LEAST} are needed.",
        )
    if judged == every:
        raise DataError(
            f"people judged all {every} queries that the model did",
            mend="Compare the human scores alone.",
        )
