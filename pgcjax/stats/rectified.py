"""Prediction-powered means: model scores of all queries, corrected by human scores."""

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
"""Least number of queries that people must judge; fewer narrow no interval."""

SHUFFLES = 1999
"""Number of random samples that are compared with the queries that people judged."""

NOT_RANDOM = 0.01
"""p below which a warning says that the judged queries are no random sample."""

_SHUFFLED = 256  # random samples drawn at once

_UNNAMED = "no column names the queries"


@dataclass(frozen=True)
class Rectified:
    """Means of human scores, each estimated with the help of a model's scores.

    Let y be the scores by people of n queries, f the model's scores of these queries, g
    the model's scores of the N other queries, and m(x) the mean of x.

    Attributes:
        mean: Estimate m(y) + λ (m(g) - m(f)).
        error: Standard error of the estimate, √(λ² v / N + r / n), where v is the
            variance of all f and g, and r is the variance of y - λf with n - 2 degrees
            of freedom, since λ is estimated, too.
        power: λ = cov(y, f) / ((1 + n/N) v), clipped to [0, 1].
        human: Mean of y.
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
        """Return both ends of the t interval of level 1 - alpha, n - 2 degrees."""
        half = self._quantile(alpha) * self.error
        return self.mean - half, self.mean + half

    def p_values(self) -> OfPairs:
        """Test, two-sided, whether the mean of the human scores is 0.

        Without variance, p is 1 if the mean is 0, and otherwise 0.
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
        """Return the columns that a table shows beside the estimate.

        Returns:
            human and model (the mean of these scores alone); lambda; effective_queries
            (number of queries that people would have to judge for the same standard
            error without a model); width_ratio (width of the interval, divided by the
            width of the t interval of the human scores alone). If both intervals have
            width 0, effective_queries is n and width_ratio is 1.
        """
        human_error = self.deviation / math.sqrt(self.queries)
        quantile = stats.t.isf(alpha / 2, self.queries - 1)
        no_width = (human_error == 0) & (self.error == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(no_width, 1.0, (human_error / self.error) ** 2)
            ratio = self._quantile(alpha) * self.error / (quantile * human_error)
        return {
            "human": self.human,
            "model": self.model,
            "lambda": self.power,
            "effective_queries": self.queries * gain,
            "width_ratio": np.where(no_width, 1.0, ratio),
        }

    def _quantile(self, alpha: float) -> float:
        return float(stats.t.isf(alpha / 2, self.queries - 2))


@dataclass(frozen=True)
class BothScores:
    """Scores of the same runs by people and by a model.

    Attributes:
        human: Scores by people of the queries that they judged.
        model: Scores by the model of these queries, and then of all other queries.
        noise: Largest difference of scores that is rounding.
    """

    human: Values
    model: Values
    noise: float

    @classmethod
    def of(cls, human: Matrix, model: Matrix) -> "BothScores":
        """Arrange the model's scores: the queries that people judged come first.

        Raises:
            DataError: the runs of the two differ, or people judged fewer than `LEAST`
                queries, or all.
        """
        _check_runs_and_queries(human, model)
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
        """Estimate the mean difference of each pair of runs, each with its own λ."""
        names = ("mean", "error", "power", "human", "deviation", "model")
        columns = {name: np.zeros(len(pairs[0])) for name in names}
        differences = (tests.differences(v, pairs) for v in (self.human, self.model))
        for (block, human), (_, model) in zip(*differences, strict=True):
            estimates = estimate(human, model, self.noise)
            for name in names:
                columns[name][block] = getattr(estimates, name)
        return Rectified(**columns, queries=self.queries, noise=self.noise)

    def with_one_power(self) -> tuple[Values, tuple[int, int]]:
        """Compute scores whose means are the estimates with one λ for all runs.

        With y, f, g, n and N as in `Rectified`, let u = y - λf, w = λg and Q = n + N.
        λ is computed from the differences of all pairs of runs together, and is not
        below 0. The estimate is m = mean(u) + mean(w). The scores are

            m + √((Q - 1) Q / (n (n - 2))) (u - mean(u)) of the first n queries, and
            m + √((Q - 1) Q / (N (N - 1))) (w - mean(w)) of the N others.

        So the standard error of their mean is the standard error of m.

        Returns:
            The scores, and n and N, the sizes of two strata that are drawn separately.
        """
        n, queries = self.queries, self.model.shape[1]
        same, others = self.model[:, :n], self.model[:, n:]
        y, f = (_contrasts(x) for x in (self.human, same))
        covariance = (y * f).sum() * (1 - n / queries)
        power = covariance / (f * f).sum() if covariance > 0 else 0.0
        u, w = self.human - power * same, power * others
        mean = u.mean(1, keepdims=True) + w.mean(1, keepdims=True)
        deviations = []
        for x, freedom in ((u, n - 2), (w, queries - n - 1)):
            scale = math.sqrt(queries * (queries - 1) / (x.shape[1] * max(1, freedom)))
            deviations.append(scale * (x - x.mean(1, keepdims=True)))
        return mean + np.concatenate(deviations, 1), (n, queries - n)

    def identical(self, pairs: RunPairs) -> Bool[np.ndarray, " pairs"]:
        """Find pairs of runs with equal human and equal model scores on each query."""
        human, model = (tests.identical(v, pairs) for v in (self.human, self.model))
        return human & model


def _contrasts(values: Values) -> Values:
    """Subtract the mean of each run, and then the mean of each query."""
    centred = values - values.mean(1, keepdims=True)
    return centred - centred.mean(0)


def estimate(
    human: Float64[np.ndarray, "rows judged"],
    model: Float64[np.ndarray, "rows queries"],
    noise: float = 0.0,
) -> Rectified:
    """Estimate the mean of each row of human scores; see `Rectified`.

    Args:
        human: Scores of n queries, 3 or more.
        model: Scores of the same n queries, and then of N other queries, 1 or more.
        noise: Largest standard deviation that counts as rounding, and is set to 0.
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
    """Read human scores, which have to be of the same measure as the model's.

    Args:
        scores: Scores as in `matrix.read`.
        model: Scores by the model.
        missing: Treatment of missing queries, as in `matrix.read`.
        columns: Names of columns, as in `matrix.read`.

    Raises:
        UsageError: the measures differ. DataError: the scores cannot be read.
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
        missing: `drop` leaves out queries that the model did not score; otherwise they
            raise a DataError.

    Returns:
        The human scores, and notes on them.

    Raises:
        DataError: the model did not score a query, or any of the queries; or a table
            does not name its queries.
    """
    if any(note.startswith(_UNNAMED) for m in (human, model) for note in m.notes):
        raise DataError(
            "rectify needs the names of the queries",
            mend="Add a column query_id to both tables.",
        )
    scored = set(model.query_ids)
    shared = [i for i, query in enumerate(human.query_ids) if query in scored]
    absent = [query for query in human.query_ids if query not in scored]
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
        # Omitted queries change every finding, so notes alone do not suffice.
        warnings.warn(notes[-1], DataWarning, stacklevel=4)
    values = np.ascontiguousarray(human.values[:, shared])
    judged = [human.query_ids[i] for i in shared]
    if len(judged) < len(model.query_ids):
        notes.append(_note_on_sample(model, judged))
    return Matrix(human.run_ids, judged, values, human.measure), notes


def _note_on_sample(model: Matrix, judged: list[str]) -> str:
    """Return a note whether judged queries look like a random sample; warn if not."""
    # Queries are sorted by name, so their order in a file has no effect.
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
    """Test whether chosen queries are a random sample, by the scores of all queries.

    The statistic is |mean of chosen queries - mean of other queries| / standard
    deviation, the largest of all runs. p compares it with the statistics of `SHUFFLES`
    random samples of as many queries.

    Args:
        values: Scores.
        chosen: Whether each query is chosen; some are, and some are not.

    Returns:
        p, and the place of the run with the largest statistic.
    """
    deviation = values.std(1, keepdims=True)
    varies = deviation > 1e-12
    centred = values - values.mean(1, keepdims=True)
    scaled = np.divide(centred, deviation, out=np.zeros_like(values), where=varies)
    # The sum over chosen queries is a multiple of the difference of means.
    sums = np.abs(scaled[:, chosen].sum(1))
    random = np.random.Generator(np.random.Philox(key=0))
    queries, size = len(chosen), int(chosen.sum())
    largest = np.zeros(SHUFFLES)
    for low in range(0, SHUFFLES, _SHUFFLED):
        count = min(_SHUFFLED, SHUFFLES - low)
        order = random.random((count, queries)).argsort(1)
        drawn = np.zeros((count, queries))
        np.put_along_axis(drawn, order[:, :size], 1.0, 1)
        largest[low : low + count] = np.abs(scaled @ drawn.T).max(0)
    as_large = int((largest >= sums.max() - 1e-9 * (1 + sums.max())).sum())
    return (1 + as_large) / (1 + SHUFFLES), int(sums.argmax())


def _check_runs_and_queries(human: Matrix, model: Matrix) -> None:
    check_same_runs(human, model, "the model")
    judged, scored = len(human.query_ids), len(model.query_ids)
    if judged < LEAST:
        raise DataError(
            f"people judged {counted(judged, 'query')} that the model did",
            mend=f"At least {LEAST} are needed.",
        )
    if judged == scored:
        raise DataError(
            f"people judged all {scored} queries that the model did",
            mend="Compare the human scores alone.",
        )
