"""Uncertainty from the judgments: intervals of means, differences and ranks."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Real

from pgcjax._version import __version__
from pgcjax.errors import DataError, UsageError, check_choice
from pgcjax.io.result import Result, computed, names_at, stacked
from pgcjax.io.scores.door import read_replicate_means
from pgcjax.stats import intervals, rank_sets, tests
from pgcjax.stats.choices import REPLICATED
from pgcjax.stats.orders import tau_b
from pgcjax.stats.score_intervals import ScoreIntervals
from pgcjax.stats.scores import Scores

_NEAR = 2**24  # bytes of the numbers processed at once


class Tau(NamedTuple):
    """Kendall's τ-b between the order of runs by a replicate and by the judgments."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Uncertainty(Result):
    """Means of runs by replicates of the judgments, and by the judgments.

    Methods take the name of a measure as the user spelled it; None takes the first
    measure. Intervals have level 1 - alpha; `interval` is one of
    `stats.choices.REPLICATED`.

    Attributes:
        run_ids: Names of the runs, ascending.
        mean: Means of each measure by the judgments themselves, `[runs]`.
        replicates: Means of each measure by each replicate, `[replicates, runs]`.
        table: Table of `means` for each measure.
        single: Intervals of the single scores of each measure, if requested.
        observed: Scores by the judgments themselves; saved files lack them.

    Source: Efron and Tibshirani 1993, chapter 13, and 14.3 (`bc`: no acceleration).
    """

    run_ids: list[str]
    mean: dict[str, Float64[np.ndarray, " runs"]]
    replicates: dict[str, Float64[np.ndarray, "replicates runs"]]
    single: dict[str, ScoreIntervals] = field(default_factory=dict)
    observed: Scores | None = None
    _sorted_by: ClassVar = {"measure": True, "mean": False}
    table: pd.DataFrame = computed(
        lambda self: stacked({name: self.means(name) for name in self.mean})
    )
    notes: tuple[str, ...] = computed(lambda self: self._lines())

    def means(
        self,
        measure: str | None = None,
        *,
        interval: str = REPLICATED[0],
        alpha: float = 0.05,
    ) -> pd.DataFrame:
        """Return the interval of the mean of each run.

        Returns:
            Columns run_id, mean, low, high, mean_replicate (mean over the replicates;
            below `mean` where replicates lower the score) and deviation (over the
            replicates).
        """
        observed, drawn = self._means_of(measure, interval, alpha)
        low, high = intervals.of_replicates(observed, drawn.T, interval, alpha)
        return pd.DataFrame(
            {
                "run_id": names_at(self.run_ids, np.arange(len(observed))),
                "mean": observed,
                "low": low,
                "high": high,
                "mean_replicate": drawn.mean(0),
                "deviation": drawn.std(0, ddof=1) if len(drawn) > 1 else np.nan,
            }
        )

    def scores(
        self, measure: str | None = None, *, interval: str = REPLICATED[0]
    ) -> pd.DataFrame:
        """Return the 95 % interval of each score, if `uncertainty` computed it.

        Returns:
            Columns run_id, query_id, score, low, high and mean_replicate. Replicates
            without a judgment of the query do not count.

        Raises:
            UsageError: `uncertainty` was called without `score_intervals=True`; or the
                interval is `bc`, which would need all replicates of each score.
        """
        name = self._name(measure)
        if name not in self.single:
            raise UsageError(
                f"no intervals of single scores by {name}: uncertainty(…, "
                "score_intervals=True), --score-intervals on the command line"
            )
        return self.single[name].rows(self.run_ids, interval)

    def differences(
        self,
        measure: str | None = None,
        *,
        interval: str = REPLICATED[0],
        alpha: float = 0.05,
    ) -> pd.DataFrame:
        """Return the interval of the difference of each pair of runs.

        Returns:
            Columns run_a, run_b, difference (mean of a less that of b), low, high and
            probability: the share of the replicates in which a is above b, with ties
            counted half, corrected as the interval is. The interval excludes 0 if the
            share is below alpha / 2 or above 1 - alpha / 2, up to one replicate.
        """
        observed, drawn = self._means_of(measure, interval, alpha)
        first, second = tests.all_pairs(len(observed))
        low, high, probability = np.zeros((3, len(first)))
        difference = observed[first] - observed[second]
        for part in _parts(len(first), len(drawn)):
            moved = (drawn[:, first[part]] - drawn[:, second[part]]).T
            low[part], high[part] = intervals.of_replicates(
                difference[part], moved, interval, alpha
            )
            probability[part] = intervals.share_above(difference[part], moved, interval)
        return pd.DataFrame(
            {
                "run_a": names_at(self.run_ids, first),
                "run_b": names_at(self.run_ids, second),
                "difference": difference,
                "low": low,
                "high": high,
                "probability": probability,
            }
        )

    def ranks(self, measure: str | None = None, *, alpha: float = 0.05) -> pd.DataFrame:
        """Rank runs, the best first, with simultaneous ranges of ranks and tiers.

        `stats.rank_sets` describes the test of runs. Its statistic is the largest
        difference of two runs of a window in a replicate, after each run's mean over
        the replicates is subtracted. With probability 1 - alpha, all true ranks are in
        their ranges, and for each run, tier - 1 runs are truly better. Fewer than
        1 / alpha replicates find no significant difference.

        Returns:
            Columns run_id, mean, rank (1 best, equal means share one), low and high of
            the range of ranks, and tier.
        """
        observed, drawn = self._means_of(measure, REPLICATED[0], alpha)
        differ = rank_sets.of_replicates(observed, drawn, alpha)
        return rank_sets.leaderboard(self.run_ids, observed, differ)

    def tau(self, measure: str | None = None, *, alpha: float = 0.05) -> Tau:
        """Return the expected τ between the orders by the judgments and by a replicate.

        Returns:
            Mean of τ over replicates, and the percentiles that bound its interval; NaN
            if all means are equal.
        """
        observed, drawn = self._means_of(measure, REPLICATED[0], alpha)
        taus = tau_b(observed[None], drawn)
        low, high = np.quantile(taus, [alpha / 2, 1 - alpha / 2])
        return Tau(float(taus.mean()), float(low), float(high))

    def _saved(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the means that `read_uncertainty` reads from a file, and metadata.

        Columns are measure, run_id, replicate (-1 for the judgments themselves) and
        mean.
        """
        parts = []
        for name, drawn in self.replicates.items():
            means = np.vstack([self.mean[name], drawn])
            columns = {
                "measure": name,
                "run_id": np.tile(np.array(self.run_ids, object), len(means)),
                "replicate": np.repeat(np.arange(-1, len(drawn)), len(self.run_ids)),
                "mean": means.ravel(),
            }
            parts.append(pd.DataFrame(columns))
        metadata = {"version": __version__, **self.metadata}
        return pd.concat(parts, ignore_index=True), metadata

    @property
    def resampling(self) -> str:
        """Description of the resampled units, and their number of replicates."""
        units = self.metadata["resample"]
        units = "queries and judgments" if units == "both" else units
        units = "clusters of queries" if "clusters" in self.metadata else units
        units += " of each collection" if "collections" in self.metadata else ""
        return f"{units} drawn again {self.metadata['replicates']} times"

    def _lines(self) -> tuple[str, ...]:
        """Return notes on the scores, and on orders and means by the replicates."""
        count, resampled = self.metadata["replicates"], self.metadata["resample"]
        notes = [*self.observed.notes] if self.observed else []
        for name, observed in self.mean.items():
            tau, drawn = self.tau(name), self.replicates[name]
            moved = float(np.nanmean(drawn - observed))
            side = "lower" if moved < 0 else "higher"
            order = ""
            if not np.isnan(tau.mean):
                order = (
                    "τ of their order of the runs with that of the scores is "
                    f"{tau.mean:.3f} on average, from {tau.low:.3f} to {tau.high:.3f} "
                    "in 95 %; "
                )
            notes.append(
                f"{name}: {count} replicates ({resampled}): {order}their means are "
                f"{abs(moved):.4f} {side} on average"
            )
        return tuple(notes)

    def _means_of(self, measure: str | None, interval: str, alpha: float):
        """Return the means of a measure, by the judgments and by replicates."""
        check_choice("interval", interval, REPLICATED)
        tests.check_alpha(alpha)
        name = self._name(measure)
        return self.mean[name], self.replicates[name]

    def _name(self, measure: str | None) -> str:
        name = next(iter(self.mean)) if measure is None else measure
        if name not in self.mean:
            there = ", ".join(self.mean)
            raise UsageError(f"no replicates of {name!r}; there are {there}")
        return name


def read_uncertainty(path: str | os.PathLike) -> Uncertainty:
    """Read the file of `Uncertainty.save` or `pgcjax uncertainty --replicates-output`.

    Raises:
        DataError: the file is no table of replicates, or lacks rows.
    """
    table, metadata = read_replicate_means(path)
    run_ids = sorted(table["run_id"].unique())
    count, mean, replicates = metadata["replicates"], {}, {}
    for name, rows in table.groupby("measure", sort=False):
        place = np.searchsorted(run_ids, rows["run_id"])
        row = rows["replicate"].to_numpy()
        cell = (row + 1) * len(run_ids) + place
        if not np.array_equal(np.sort(cell), np.arange((count + 1) * len(run_ids))):
            raise DataError(
                f"expected the mean of each run by {name} once for each of the "
                f"replicates -1 to {count - 1}",
                where=str(path),
                mend="Restore what uncertainty --replicates-output wrote.",
            )
        means = rows["mean"].to_numpy()[np.argsort(cell)].reshape(-1, len(run_ids))
        mean[str(name)], replicates[str(name)] = means[0], means[1:]
    names = ("replicates", "resample", "seed", "clusters", "collections")
    settings = {name: metadata[name] for name in names if name in metadata}
    return Uncertainty(settings, run_ids=run_ids, mean=mean, replicates=replicates)


def weighted_means(
    scores: Float64[np.ndarray, "replicates runs queries"],
    answered: Bool[np.ndarray, "runs queries"],
    weight: Real[np.ndarray, "replicates queries"],
    missing: str,
) -> Float64[np.ndarray, "replicates runs"]:
    """Average scores over queries, which are weighted for each replicate.

    Args:
        scores: Scores of each replicate.
        answered: Whether a run has a query.
        weight: Number of times that a replicate has a query.
        missing: `skip` omits a query that a run lacks; otherwise its score is 0.

    Returns:
        Means; NaN without queries. Scores are summed in the order of queries, so a mean
        does not depend on the other runs or replicates.
    """
    counts = answered[None] * weight[:, None, :].astype(np.float64)
    sums = (scores * counts).sum(-1)
    if missing != "skip":
        counts = np.broadcast_to(weight[:, None, :], scores.shape)
    number = counts.sum(-1)
    return np.divide(sums, number, out=np.full(sums.shape, np.nan), where=number > 0)


def query_means(
    scores: Float64[np.ndarray, "runs queries"],
    answered: Bool[np.ndarray, "runs queries"],
    weight: Real[np.ndarray, "replicates queries"],
    missing: str,
) -> Float64[np.ndarray, "replicates runs"]:
    """Average the same scores for all replicates, over the queries of each."""
    means = np.empty((len(weight), len(scores)))
    for part in _parts(len(weight), scores.size):
        each = np.broadcast_to(scores, (part.stop - part.start, *scores.shape))
        means[part] = weighted_means(each, answered, weight[part], missing)
    return means


def _parts(count: int, each: int) -> Iterator[slice]:
    """Cut `count` items of `each` numbers into parts that fit memory."""
    step = max(1, _NEAR // (8 * max(1, each)))
    for low in range(0, count, step):
        yield slice(low, min(low + step, count))
