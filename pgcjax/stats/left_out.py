"""Changes of scores, orders and significant pairs without some of the judgments."""

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
    """Scores by a measure, from all judgments and without those of each owner.

    An owner is a judge or a run whose judgments are left out.

    Attributes:
        query_ids: Names of the judged queries.
        answered: Whether a run has a query.
        scores: Scores by all judgments; 0 where a run lacks the query.
        without: Scores without the judgments of each owner; 0 also where no judgment of
            the query is left.
        present: Whether any judgment of a query is left without those of each owner.
    """

    query_ids: list[str]
    answered: Bool[np.ndarray, "runs queries"]
    scores: Float64[np.ndarray, "runs queries"]
    without: Float64[np.ndarray, "owners runs queries"]
    present: Bool[np.ndarray, "owners queries"]


@dataclass(frozen=True, kw_only=True)
class LeftOut(Result):
    """Scores of runs without the judgments of each judge, or of each run, in turn.

    Methods take the name of a measure as the user spelled it; None takes the first
    measure.

    Attributes:
        left_out: Owners of judgments, which are judges or runs, ascending.
        judgments: Number of judgments of each owner; a row of weight w counts w times.
        documents: Number of judged documents that each owner alone contributed; None if
            the owners are judges.
        run_ids: Names of the scored runs, ascending.
        scores: Scores by each measure.
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
        """Return a row for each owner, the largest change of a mean first.

        A change is the value without the judgments of the owner, less that with them.
        Pairs of runs are tested by paired t tests.

        Returns:
            left_out; judgments (number left out); if runs are left out, score,
            score_without, rank and rank_without of that run; tau (τ-b of the two orders
            of the runs); gained and lost (number of pairs that are significant only
            without the judgments, or only with them); largest_change (of the mean of a
            run); run (the name of that run, empty if the change is 0); mean_change
            (over all runs); queries (number of those that still have judgments); if
            runs are left out, documents.

        Raises:
            UsageError: an argument is wrong.
        """
        scores, before, after = self._means(measure)
        change = after - before
        moved = np.where(np.isnan(change), -1.0, np.abs(change)).argmax(1)
        largest = change[np.arange(len(after)), moved]
        moved_run = np.where(largest == 0, "", np.array(self.run_ids, object)[moved])
        with_all, without = self._significant(scores, alpha, correction)
        columns: dict[str, Any] = {
            "left_out": pd.Series(self.left_out, dtype="str"),
            "judgments": self.judgments,
        }
        if self.documents is not None:
            columns |= self._own_means_and_ranks(before, after)
        columns |= {
            "tau": taus(before[None], after),
            "gained": (without & ~with_all).sum(1),
            "lost": (with_all & ~without).sum(1),
            "largest_change": largest,
            "run": pd.Series(moved_run, dtype="str"),
            "mean_change": change.mean(1),
            "queries": scores.present.sum(1),
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
        """List the pairs of runs whose significance changes, for each owner.

        The tests are those of `changes`.

        Returns:
            left_out, run_a, run_b, difference (mean of a, less that of b),
            difference_without, significant and significant_without.
        """
        scores, before, after = self._means(measure)
        with_all, without = self._significant(scores, alpha, correction)
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
        """Return the scores without one owner's judgments, runs × queries still judged.

        They are, to the bit, the scores by `evaluate` from the other judgments; NaN
        where a run lacks a query and `missing` is `skip`.

        Raises:
            UsageError: there is no such owner, or no such measure.
        """
        scores = self._scores_by(measure)
        check_choice("left_out", left_out, self.left_out)
        owner = self.left_out.index(left_out)
        values, queries = scores.without[owner], scores.present[owner]
        if self.metadata["missing"] == "skip":
            values = np.where(scores.answered, values, np.nan)
            queries = queries & scores.answered.any(0)
        wide = pd.DataFrame(values, self.run_ids, scores.query_ids)
        wide = wide.rename_axis(index="run_id", columns="query_id")
        return wide.iloc[:, np.flatnonzero(queries)]

    def _lines(self) -> tuple[str, ...]:
        """Return notes on the scores, and on the changes of orders and means."""
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

    def _scores_by(self, measure: str | None) -> LeftOutScores:
        name = next(iter(self.scores)) if measure is None else measure
        if name not in self.scores:
            there = ", ".join(self.scores)
            raise UsageError(f"no scores by {name!r}; there are {there}")
        return self.scores[name]

    def _means(
        self, measure: str | None
    ) -> tuple[LeftOutScores, np.ndarray, np.ndarray]:
        """Return the scores, means by all judgments, and means without each owner."""
        scores, missing = self._scores_by(measure), self.metadata["missing"]
        answered, once = scores.answered, np.ones((1, len(scores.query_ids)))
        before = weighted_means(scores.scores[None], answered, once, missing)[0]
        after = weighted_means(scores.without, answered, scores.present, missing)
        return scores, before, after

    def _own_means_and_ranks(
        self, before: np.ndarray, after: np.ndarray
    ) -> dict[str, Any]:
        """Return mean and rank of each owning run, with and without its judgments."""
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
        self, scores: LeftOutScores, alpha: float, correction: str
    ) -> tuple[Bool[np.ndarray, " pairs"], Bool[np.ndarray, "owners pairs"]]:
        """Test all pairs of runs: by all judgments, and without each owner's."""
        tests.check_alpha(alpha)
        check_choice("correction", correction, CORRECTIONS)
        pairs = tests.all_pairs(len(self.run_ids))
        shared = scores.answered.all(0) | (self.metadata["missing"] != "skip")

        def significant(values: np.ndarray, queries: np.ndarray) -> np.ndarray:
            values = values[:, queries & shared]
            if values.shape[1] < 2:
                return np.zeros(len(pairs[0]), bool)
            return tests.adjust(tests.t(values, pairs), correction) < alpha

        of_owners = map(significant, scores.without, scores.present)
        without = np.array([*of_owners])
        return significant(scores.scores, np.ones_like(shared)), without
