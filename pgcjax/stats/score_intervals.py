"""Intervals of single scores from replicates, whose extremes alone are stored."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from pgcjax.errors import check_choice
from pgcjax.io.result import names_at
from pgcjax.stats.choices import REPLICATED_SINGLY
from pgcjax.stats.intervals import moved_ends

ALPHA = 0.05
"""1 less the level of the intervals; it sets the number of stored replicates."""

Scores = Float64[np.ndarray, "runs queries"]


class Percentiles:
    """Two percentiles and the mean of replicates that arrive in blocks.

    Percentiles are exact. They need only the smallest and largest replicates of each
    score: about a twentieth of all replicates are stored.
    """

    def __init__(self, replicates: int, runs: int, queries: int):
        """Allocate memory for the scores of these runs and queries."""
        self._most = math.floor((replicates - 1) * ALPHA / 2) + 2
        shape = self._most, runs, queries
        self._small, self._large = np.full(shape, np.inf), np.full(shape, -np.inf)
        self._sum, self._count = np.zeros((runs, queries)), np.zeros(queries)

    def add(
        self,
        scores: Float64[np.ndarray, "replicates runs queries"],
        present: Bool[np.ndarray, "replicates queries"],
    ) -> None:
        """Add replicates; a query without judgments in a replicate has no score."""
        where = present[:, None]
        for row in np.where(where, scores, 0.0):  # blocks do not change the order
            self._sum += row
        self._count += present.sum(0)
        most = self._most
        small = np.concatenate([self._small, np.where(where, scores, np.inf)])
        self._small = np.partition(small, most - 1, axis=0)[:most]
        large = np.concatenate([self._large, np.where(where, scores, -np.inf)])
        self._large = np.partition(large, len(large) - most, axis=0)[-most:]

    @property
    def percentiles_and_mean(self) -> Float64[np.ndarray, "3 runs queries"]:
        """Lower and upper percentile, and the mean; NaN without replicates."""
        count = np.maximum(self._count, 1)
        place = (count - 1) * ALPHA / 2
        low = _interpolated(np.sort(self._small, axis=0), place, count)
        high = _interpolated(np.sort(self._large, axis=0)[::-1], place, count)
        summary = np.stack([low, high, self._sum / count])
        return np.where(self._count > 0, summary, np.nan)


def _interpolated(
    ordered: Float64[np.ndarray, "stored runs queries"],
    place: Float64[np.ndarray, " queries"],
    count: Float64[np.ndarray, " queries"],
) -> Scores:
    """Interpolate between two order statistics, as numpy's quantiles do."""
    first = np.floor(place).astype(int)
    second = np.minimum(first + 1, count.astype(int) - 1)
    lower, upper = (
        np.take_along_axis(ordered, rank[None, None, :], axis=0)[0]
        for rank in (first, second)
    )
    with np.errstate(invalid="ignore"):  # queries without replicates give NaN
        return lower + (upper - lower) * (place - first)


@dataclass(frozen=True)
class ScoreIntervals:
    """Scores of each run and query, and their percentiles.

    Attributes:
        query_ids: Names of the queries, ascending.
        scores: Scores by the judgments themselves.
        present: Whether each score counts; with missing=skip, scores of queries that
            the run lacks do not.
        percentiles: Percentiles and mean, as in `Percentiles`.
    """

    query_ids: list[str]
    scores: Scores
    present: Bool[np.ndarray, "runs queries"]
    percentiles: Float64[np.ndarray, "3 runs queries"]

    def rows(self, run_ids: list[str], interval: str) -> pd.DataFrame:
        """Return run_id, query_id, score, low, high and mean_replicate of each score.

        Raises:
            UsageError: the interval is not in `choices.REPLICATED_SINGLY`.
        """
        check_choice("interval", interval, REPLICATED_SINGLY)
        low, high, mean = self.percentiles
        low, high = moved_ends(low, high, self.scores, mean, interval)
        run, query = np.nonzero(self.present)
        columns = {
            "run_id": names_at(run_ids, run),
            "query_id": names_at(self.query_ids, query),
        }
        numbers = {"score": self.scores, "low": low, "high": high}
        numbers["mean_replicate"] = mean
        return pd.DataFrame(
            columns | {name: values[run, query] for name, values in numbers.items()}
        )
