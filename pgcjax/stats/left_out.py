"""Changes of scores, order and significant pairs without one judge, or one run."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64, Real

from pgcjax.errors import UsageError, check_choice
from pgcjax.io.result import Result, computed, names_at, stacked
from pgcjax.stats import tests
from pgcjax.stats.choices import CORRECTIONS
from pgcjax.stats.orders import taus
from pgcjax.stats.scores import Scores
from pgcjax.stats.uncertainty import weighted_means


class LeftOutScores(NamedTuple):
    """Scores by a measure.

    Attributes:
        query_ids: Names of the judged queries.
        answered: Whether a run has a query.
        scores: Scores by all judgments; 0 where a run lacks the query.
        without: the same without each owner's judgments; 0 where nobody is left who
            judged the query, too.
        present: Whether any judgment of a query is left.
    """

    query_ids: list[str]
    answered: Bool[np.ndarray, "runs queries"]
    scores: Float64[np.ndarray, "runs queries"]
    without: Float64[np.ndarray, "owners runs queries"]
    present: Bool[np.ndarray, "owners queries"]


@dataclass(frozen=True, kw_only=True)
class LeftOut(Result):
    """Scores of runs without the judgments of one judge, or one run, after the other.

    A measure is named as it was asked for; by default the first one.

    Attributes:
        left_out: Judges or runs that own judgments, ascending.
        judgments: Number of judgments of each; a row of weight w is w judgments.
        documents: of runs, how many judged documents each alone brought; else None.
        run_ids: Names of the scored runs, ascending.
        scores: Scores of each measure.
        observed: Scores by all judgments, as `evaluate` returns them.
        table: Table of `changes` for each measure.

    Source: leaving out a run's own documents, Zobel 1998; Voorhees and Harman 2005.
    """

    left_out: list[str]
    judgments: Real[np.ndarray, " owners"]
    documents: Int64[np.ndarray, " owners"] | None
    run_ids: list[str]
    scores: dict[str, LeftOutScores]
    observed: Scores | None = None
    table: pd.DataFrame = computed(
        lambda self: stacked({name: self.changes(name) for name in self.scores})
    )
    notes: tuple[str, ...] = computed(lambda self: self._lines())

    def changes(
        self,
        measure: str | None = None,
        *,
        alpha: float = 0.05,
        correction: str = "holm",
    ) -> pd.DataFrame:
        """Return what changes without the judgments of each owner, the most first.

        Returns:
            left_out; judgments, that are gone; of a run that is left out, its own
            score, score_without, rank and rank_without; tau, τ-b of the two orders of
            the runs; gained and lost: pairs that are significant without the judgments
            alone, or with them alone, by `correction` of paired t tests;
            largest_change (of a mean, without less with) and run, whose it is, if any;
            mean_change (over all runs); queries, that are left; and, of runs,
            documents, that it alone brought.

        Raises:
            UsageError: an argument is wrong.
        """
        of, before, after = self._means(measure)
        change = after - before
        moved = np.where(np.isnan(change), -1.0, np.abs(change)).argmax(1)
        largest = change[np.arange(len(after)), moved]
        whose = np.where(largest == 0, "", np.array(self.run_ids, object)[moved])
        with_all, without = self._significant(of, alpha, correction)
        columns: dict[str, Any] = {
            "left_out": pd.Series(self.left_out, dtype="str"),
            "judgments": self.judgments,
        }
        if self.documents is not None:
            columns |= self._places(before, after)
        columns |= {
            "tau": taus(before[None], after),
            "gained": (without & ~with_all).sum(1),
            "lost": (with_all & ~without).sum(1),
            "largest_change": largest,
            "run": pd.Series(whose, dtype="str"),
            "mean_change": change.mean(1),
            "queries": of.present.sum(1),
        }
        if self.documents is not None:
            columns["documents"] = self.documents
        size = np.where(np.isnan(largest), np.inf, np.abs(largest))
        order = np.argsort(-size, kind="stable")
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def pairs(
        self,
        measure: str | None = None,
        *,
        alpha: float = 0.05,
        correction: str = "holm",
    ) -> pd.DataFrame:
        """List the pairs of runs whose significance changes, by owner; see `changes`.

        Returns:
            left_out, run_a, run_b; difference (of the means, a less b), and
            difference_without; significant, and significant_without.
        """
        of, before, after = self._means(measure)
        with_all, without = self._significant(of, alpha, correction)
        owner, pair = np.nonzero(with_all != without)
        a, b = (side[pair] for side in tests.all_pairs(len(self.run_ids)))
        return pd.DataFrame(
            {
                "left_out": names_at(self.left_out, owner),
                "run_a": names_at(self.run_ids, a),
                "run_b": names_at(self.run_ids, b),
                "difference": before[a] - before[b],
                "difference_without": after[owner, a] - after[owner, b],
                "significant": with_all[pair],
                "significant_without": without[owner, pair],
            }
        )

    def matrix(self, left_out: str, measure: str | None = None) -> pd.DataFrame:
        """Lay the scores without one owner out: a row per run, a column per query.

        They are, to the bit, those of `evaluate` on the other judgments, with the
        queries that these judge; NaN where a run lacks a query and `missing` is `skip`.

        Raises:
            UsageError: there is no such owner, or no such measure.
        """
        of = self._of(measure)
        check_choice("left_out", left_out, self.left_out)
        owner = self.left_out.index(left_out)
        scores, queries = of.without[owner], of.present[owner]
        if self.metadata["missing"] == "skip":
            scores = np.where(of.answered, scores, np.nan)
            queries = queries & of.answered.any(0)
        wide = pd.DataFrame(scores, self.run_ids, of.query_ids)
        wide = wide.rename_axis(index="run_id", columns="query_id")
        return wide.iloc[:, np.flatnonzero(queries)]

    def _lines(self) -> tuple[str, ...]:
        """Return notes on the scores, and how far orders and means move."""
        notes = [*self.observed.notes] if self.observed else []
        owner = f"one of {len(self.left_out)} {self.metadata['leave_out']}"
        for name in self.scores:
            _, before, after = self._means(name)
            most = pd.Series(np.ravel(after - before)).abs().max()  # some may be NaN
            tau = pd.Series(taus(before[None], after)).min()
            order = "" if np.isnan(tau) else f"τ with the full order is ≥ {tau:.3f}, "
            notes.append(
                f"{name}: without {owner}, {order}a mean moves by ≤ {most:.4f}"
            )
        return tuple(notes)

    def _of(self, measure: str | None) -> LeftOutScores:
        name = next(iter(self.scores)) if measure is None else measure
        if name not in self.scores:
            there = ", ".join(self.scores)
            raise UsageError(f"nothing left out of {name!r}; there are {there}")
        return self.scores[name]

    def _means(
        self, measure: str | None
    ) -> tuple[LeftOutScores, np.ndarray, np.ndarray]:
        """Return the scores, and the means of runs with and without each owner."""
        of, missing = self._of(measure), self.metadata["missing"]
        every = np.ones((1, len(of.query_ids)))
        before = weighted_means(of.scores[None], of.answered, every, missing)[0]
        return of, before, weighted_means(of.without, of.answered, of.present, missing)

    def _places(self, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
        """Return the mean and rank of each run that is left out, with and without."""
        place = [self.run_ids.index(run) for run in self.left_out]
        owners = np.arange(len(place))
        # A run without a mean is below all others.
        x, y = (np.nan_to_num(means, nan=-np.inf) for means in (before, after))
        return {
            "score": before[place],
            "score_without": after[owners, place],
            "rank": 1 + (x > x[place][:, None]).sum(1),
            "rank_without": 1 + (y > y[owners, place][:, None]).sum(1),
        }

    def _significant(
        self, of: LeftOutScores, alpha: float, correction: str
    ) -> tuple[Bool[np.ndarray, " pairs"], Bool[np.ndarray, "owners pairs"]]:
        """Test all pairs with, and without each owner."""
        tests.check_alpha(alpha)
        check_choice("correction", correction, CORRECTIONS)
        pairs = tests.all_pairs(len(self.run_ids))
        shared = of.answered.all(0) | (self.metadata["missing"] != "skip")

        def significant(scores: np.ndarray, queries: np.ndarray) -> np.ndarray:
            values = scores[:, queries & shared]
            if values.shape[1] < 2:
                return np.zeros(len(pairs[0]), bool)
            return tests.adjust(tests.t(values, pairs), correction) < alpha

        each = zip(of.without, of.present, strict=True)
        without = np.array([significant(*one) for one in each])
        return significant(of.scores, np.ones_like(shared)), without
