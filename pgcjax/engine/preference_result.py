"""Preferences between runs that were found: tables, matrices, orders, tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.engine.preference_tally import PreferenceTally
from pgcjax.errors import UsageError, check_choice
from pgcjax.io.result import Result, computed, names_at
from pgcjax.measures.between_rankings import parse
from pgcjax.stats import resample
from pgcjax.stats.choices import AGGREGATIONS, PAIR_TESTS
from pgcjax.stats.compare import compare
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.procedures import check_resampling
from pgcjax.stats.rank_aggregation import mc4, ordering
from pgcjax.stats.scores import Scores
from pgcjax.stats.tests import all_pairs
from pgcjax.stats.uncertainty import query_means

_NONE = "neither"  # the run with which tests compare the preferences of pairs


@dataclass(frozen=True, kw_only=True)
class Preferences(Result):
    """Preferences between all pairs of runs, by one or several measures.

    A measure is named as it was asked for; by default the first one.

    Attributes:
        run_ids: Runs, ascending.
        tallies: Sums and counts of preferences, by measure.
        table: Row per pair and measure: run_a, run_b, measure, preference (of a over b,
            averaged over queries), wins (queries that prefer a), ties, losses.
    """

    run_ids: list[str]
    tallies: Mapping[str, PreferenceTally]
    table: pd.DataFrame = computed(
        lambda self: pd.concat(map(self._rows, self.tallies), ignore_index=True)
    )

    @property
    def measures(self) -> list[str]:
        """The measures, as they were asked for."""
        return list(self.tallies)

    def per_query(self) -> pd.DataFrame:
        """A row per pair, measure and query: ..., query_id, preference.

        Raises:
            UsageError: they were not kept; `prefer(..., per_query=True)` keeps them.
        """
        parts = []
        for measure, tally in self.tallies.items():
            values = self._kept(measure)
            pair, query = np.nonzero(~np.isnan(values))
            columns = self._names(pair) | {"measure": measure}
            columns["query_id"] = names_at(tally.queries, query)
            columns["preference"] = values[pair, query]
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def beside(self) -> pd.DataFrame:
        """Put measures side by side: run_a, run_b, and the preference by each."""
        columns: dict[str, Any] = dict(self._names())
        return pd.DataFrame(columns | {m: self._means(m) for m in self.tallies})

    def matrix(self, measure: str | None = None) -> pd.DataFrame:
        """Arrange the preferences of the row's run over the column's run."""
        values = self._means(self._name(measure))
        return self._square(values, 0 - values, 0.0)

    def win_rate(self, measure: str | None = None) -> pd.DataFrame:
        """Compute the share of queries that prefer the row's run to the column's run.

        A tie counts half, so the shares of both directions add up to 1.
        """
        tally = self.tallies[self._name(measure)]
        halves = (tally.counted - tally.wins - tally.losses) / 2
        with np.errstate(invalid="ignore"):
            a, b = ((n + halves) / tally.counted for n in (tally.wins, tally.losses))
        return self._square(a, b, 0.5)

    def scores(self, by: str = "mean") -> Scores:
        """Return a value for each run and query, a score of the run among these.

        Args:
            by: `mean`: mean preference over all other runs; `borda`: share of the other
                runs that it is preferred to, where a tie counts half.
        """
        check_choice("by", by, AGGREGATIONS[:2])
        parts = []
        for measure, tally in self.tallies.items():
            values = np.array(getattr(tally, by)).T
            run, query = np.nonzero(~np.isnan(values))
            columns = {
                "run_id": names_at(self.run_ids, run),
                "query_id": names_at(tally.queries, query),
                "measure": measure,
                "value": values[run, query],
            }
            parts.append(pd.DataFrame(columns))
        table = pd.concat(parts, ignore_index=True)
        table = table.sort_values(
            ["run_id", "query_id"], kind="stable", ignore_index=True
        )
        return Scores(table, self.metadata | {"aggregation": by})

    def order(
        self,
        measure: str | None = None,
        *,
        by: str = "mean",
        resamples: int = 1000,
        alpha: float = 0.05,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Order the runs, the best first.

        Args:
            measure: Name of the measure; None takes the first one.
            by: `mean` or `borda`, averaged over queries, see `scores`; or `mc4`, see
                `stats.rank_aggregation.mc4`, which needs `per_query=True`.
            resamples: Number of resamples of the queries, for the intervals.
            alpha: 1 less the level of the intervals.
            seed: Seed of the resamples.

        Returns:
            run_id, value, low, high, rank (1 is best, equal values share one),
            rank_low, rank_high, tier: for all runs together, see `Uncertainty.ranks`.

        Source: Borda 1781; Dwork et al. 2001; Efron and Tibshirani 1993, chapter 13.
        """
        check_choice("by", by, AGGREGATIONS)
        name = self._name(measure)
        tally = self.tallies[name]
        queries = len(tally.queries)
        check_resampling(resamples, seed)
        drawn_weights = resample.bootstrap_weights(seed, resamples, queries).T
        weight = np.vstack([np.ones(queries), drawn_weights])  # first unresampled
        if by == "mc4":
            signs = np.sign(np.nan_to_num(self._kept(name))).astype(np.int8)
            leads = (signs @ each for each in weight)  # of the first run of each pair
            values = [mc4(self._square(-lead, lead, 0.0).to_numpy()) for lead in leads]
            observed, *drawn = values
        else:
            values = np.array(getattr(tally, by)).T
            scores = np.nan_to_num(values), ~np.isnan(values)
            observed, *drawn = query_means(*scores, weight, "skip")
        drawn = np.array(drawn)
        return ordering(self.run_ids, observed, drawn, alpha)

    def compare(
        self, measure: str | None = None, *, test: str = "bootstrap", **settings: Any
    ) -> pd.DataFrame:
        """Test for each pair whether its mean preference over queries differs from 0.

        Args:
            measure: Name of the measure; None takes the first one.
            test: Test of preferences by query: `bootstrap`, `permutation`, `t` or
                `wilcoxon`; see `pgcjax.compare`.
            settings: correction, resamples, seed, alpha, precision, memory and
                progress; see `pgcjax.compare`.

        Returns:
            run_a, run_b, preference, low, high, effect_size, p_value, p_adjusted,
            significant, identical (all queries tie), p_error, measure.

        Raises:
            UsageError: the preferences of queries were not kept, a pair lacks a query,
                or an argument is wrong.
        """
        check_choice("test", test, PAIR_TESTS)
        name = self._name(measure)
        values = self._kept(name)
        if np.isnan(values).any():
            raise UsageError(
                "missing='skip' leaves pairs without queries: test preferences with "
                "missing='zero'"
            )
        # `pgcjax.compare` tests differences: here of each pair's preferences from ties.
        names = [f"{i:012}" for i in range(len(values))]
        rows = np.concatenate([values, np.zeros((1, values.shape[1]))])
        queries = self.tallies[name].queries
        matrix = Matrix([*names, _NONE], queries, rows, name)
        table = compare(matrix, test=test, baselines=_NONE, **settings).table
        table = table.rename(columns={"difference": "preference"})
        return table.assign(**self._names(), measure=name)

    def _saved(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the table; the one by query if preferences by query were kept."""
        is_kept = any(tally.keep for tally in self.tallies.values())
        return self.per_query() if is_kept else self.table, self.metadata

    def _name(self, measure: str | None) -> str:
        if measure is None or measure in self.tallies:
            return measure or self.measures[0]
        parsed = parse(measure)
        for name in self.tallies:
            if parse(name) == parsed:
                return name
        there = ", ".join(self.tallies)
        raise UsageError(f"no preferences by {measure}; there are those by {there}")

    def _kept(self, measure: str) -> np.ndarray:
        tally = self.tallies[measure]
        if not tally.keep:
            raise UsageError(
                "the preferences of each query were not kept: prefer(..., "
                "per_query=True) keeps them"
            )
        return np.array(tally.values).T

    def _means(self, measure: str) -> np.ndarray:
        tally = self.tallies[measure]
        with np.errstate(invalid="ignore"):
            return tally.total / tally.counted

    def _rows(self, measure: str) -> pd.DataFrame:
        tally = self.tallies[measure]
        columns: dict[str, Any] = self._names() | {"measure": measure}
        columns |= {"preference": self._means(measure), "wins": tally.wins}
        columns["ties"] = tally.counted - tally.wins - tally.losses
        return pd.DataFrame(columns | {"losses": tally.losses})

    def _names(self, pair: np.ndarray | None = None) -> dict[str, Any]:
        first, second = all_pairs(len(self.run_ids))
        pair = np.arange(len(first)) if pair is None else pair
        names = {"run_a": first, "run_b": second}
        return {key: names_at(self.run_ids, x[pair]) for key, x in names.items()}

    def _square(
        self, over: np.ndarray, back: np.ndarray, diagonal: float
    ) -> pd.DataFrame:
        first, second = all_pairs(len(self.run_ids))
        square = np.full((len(self.run_ids), len(self.run_ids)), diagonal)
        square[first, second], square[second, first] = over, back
        rows = pd.Index(self.run_ids, name="run_a")
        return pd.DataFrame(square, rows, pd.Index(self.run_ids, name="run_b"))
