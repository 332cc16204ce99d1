"""Results of comparing runs: a value per pair of runs and query; means, matrices."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.io.result import Result, computed, names_at


@dataclass(frozen=True, kw_only=True)
class Similarity(Result):
    """RBO of pairs of runs.

    Attributes:
        measure: Name of the measure, with all parameters.
        runs_a: Runs, ascending.
        runs_b: Runs that they are compared with; the same runs if none were given.
        pairs: Places of each pair in runs_a and in runs_b.
        queries: Queries, ascending.
        values: Value of each pair and query; NaN if there is none.
        own: Mean of each run with itself, if runs_b are the same runs; else empty.
        table: Row per pair and query: run_a, run_b, query_id, measure, value.
    """

    measure: str
    runs_a: list[str]
    runs_b: list[str]
    pairs: tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]
    queries: list[str]
    values: Float64[np.ndarray, "pairs queries"]
    own: Float64[np.ndarray, " runs"]
    table: pd.DataFrame = computed(lambda self: self._by_query())

    def _by_query(self) -> pd.DataFrame:
        pair, query = np.nonzero(~np.isnan(self.values))
        return self._rows(pair, query_id=names_at(self.queries, query)).assign(
            value=self.values[pair, query]
        )

    def mean(self) -> pd.DataFrame:
        """Average over queries: a row per pair: run_a, run_b, measure, mean."""
        return self._rows(np.arange(len(self.values))).assign(mean=self._means)

    def matrix(self) -> pd.DataFrame:
        """Arrange the means: a row per run of a, a column per run of b.

        Without other runs it is symmetric; the diagonal compares each run with itself,
        which is 1 with `ext` unless `ties=a` meets ties.
        """
        first, second = self.pairs
        square = np.full((len(self.runs_a), len(self.runs_b)), np.nan)
        square[first, second] = self._means
        if len(self.own):
            square[second, first] = self._means
            np.fill_diagonal(square, self.own)
        rows = pd.Index(self.runs_a, name="run_a")
        return pd.DataFrame(square, rows, pd.Index(self.runs_b, name="run_b"))

    def _shown(self) -> pd.DataFrame:
        return self.mean()

    @cached_property
    def _means(self) -> np.ndarray:
        return means(self.values)

    def _rows(self, pair: np.ndarray, **more: pd.Series) -> pd.DataFrame:
        first, second = self.pairs
        rows = {
            "run_a": names_at(self.runs_a, first[pair]),
            "run_b": names_at(self.runs_b, second[pair]),
            **more,
        }
        return pd.DataFrame(rows).assign(measure=self.measure)


def means(values: np.ndarray) -> np.ndarray:
    """Average `[pairs, queries]` over queries, NaN left out; NaN without a value.

    Sums go query by query, so that queries which a pair lacks do not change them.
    """
    total, count = np.zeros((2, len(values)))
    for column in values.T:
        there = ~np.isnan(column)
        total[there] += column[there]
        count += there
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
