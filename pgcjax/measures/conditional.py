"""Measures of gains whose grades depend on the document before: context=α."""

# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.judging.prediction import accuracy_note, predicted_grades
from pgcjax.kernels import context as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jnp, pd
from pgcjax.measures.gains import Graded, highest_of, positive_gains
from pgcjax.measures.measure import Case, Parameter
from pgcjax.reference.context import in_context
from pgcjax.tensors.context import conditional
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

Context = Annotated[
    float,
    Parameter(
        "weight α of conditional grades, a number from 0 to 1: the grade of a document "
        "d right after d' is (1 - α) g(d) + α g(d|d')",
        valid=lambda alpha: 0 <= alpha <= 1,
        inherited=False,
    ),
]
Missing = Annotated[
    str,
    Parameter(
        "what g(d|d') is where nobody judged it, one of isolation (g(d)), predicted "
        "(from g(d) and g(d')), first (g(d|d_1), d_1 being the first document of the "
        "run)",
        allowed=("isolation", "predicted", "first"),
        inherited=False,
    ),
]
_NO_RULES = np.zeros(0), np.zeros((0, 0))


class InContext(Graded):
    """A graded measure that takes conditional grades, by its parameter `context`.

    It has no ideal list, because sorting cannot find the best order of documents whose
    grades depend on the order.

    Source: Golbus et al. 2014, equation 1 and 3.3.2.
    """

    context: Context = 0.0
    missing: Missing = "isolation"

    @property
    def needs(self) -> frozenset[str]:
        """Qrels, and conditional grades if they have a weight."""
        return frozenset({"qrels", "context"} if self.context else {"qrels"})

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out the gains of pairs of documents, too, if they have a weight."""
        if not self.context:
            return super().prepare(judgments)
        graded = judgments.once(conditional, "qrels", "context")
        rules, notes = _NO_RULES, graded.notes
        if self.missing == "predicted":
            rules = _matrix(_predictions(judgments))
            if "predictions" not in judgments:
                notes += (judgments.once(accuracy_note, "qrels", "context"),)
        most = max(graded.highest, rules[1].max(initial=0))
        arrays, void = {}, []
        for query, alone in graded.isolation.items():
            alone_grades, after = np.nan_to_num(alone), graded.grades[query]
            n, pairs = len(alone_grades), graded.pairs[query]
            level, predicted = _levels(alone, *rules)
            grades = np.concatenate([alone_grades, after, predicted.ravel()])
            highest = highest_of(self, most, grades)
            gain, paired, by_level = (
                positive_gains(self, of, highest)
                for of in (
                    alone_grades,
                    _mixed(self.context, alone_grades[pairs // n], after),
                    _mixed(self.context, predicted[0], predicted),
                )
            )
            judged = kernels.PairGains(np.int64(n), pairs - n * n, paired)
            ideal = self.ideal(gain)
            arrays[query] = kernels.ContextGains(gain, judged, level, by_level, ideal)
            if not grades.any():
                void.append(query)
        return self.lists(graded.docs, arrays, _after_others, void=void, notes=notes)

    def twin(self, case: Case) -> float:
        """Score a case plainly; a model's predictions are shared with the kernel."""
        if not self.context:
            return super().twin(case)
        if self.missing != "predicted":
            return in_context(self.plain_gain, self.plain_score, case)
        columns = ("previous_relevance", "relevance", "predicted")
        before, alone, after = (_predictions(case.tables)[c].tolist() for c in columns)
        predicted = dict(zip(zip(before, alone, strict=True), after, strict=True))
        return in_context(self.plain_gain, self.plain_score, case, predicted)


def _after_others(
    measure: InContext, run: RankedList, query: kernels.ContextGains
) -> Any:
    """Score one run and query by conditional grades."""
    doc, (before, follows) = run.vertex, kernels.previous(run)
    gain = jnp.where(run.where, query.gain[doc], 0.0)
    if measure.missing == "predicted":
        level = query.level
        predicted = query.predicted[level[before], level[doc]]
        gain = jnp.where(follows, predicted, gain)
    if measure.missing == "first":
        later = run.where & (run.rank > 1) & (run.rank[0] == 1)
        first = jnp.full_like(doc, doc[0])
        gain = kernels.after(doc, first, query.judged, gain, where=later)
    gain = kernels.after(doc, before, query.judged, gain, where=follows)
    return measure.score(gain, run, query.ideal)


def _mixed(alpha: float, alone: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Interpolate grades; equal grades are returned unchanged, to the last bit."""
    return alone + alpha * (after - alone)


def _matrix(rules: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the grades `[levels]` of predictions, ascending, and the predictions.

    Rows are grades of the previous document, columns grades of the document itself.
    """
    before, relevance = (
        rules[c].to_numpy() for c in ("previous_relevance", "relevance")
    )
    grades = np.unique(relevance)
    predicted = np.full((len(grades), len(grades)), np.nan)
    rows, columns = np.searchsorted(grades, before), np.searchsorted(grades, relevance)
    predicted[rows, columns] = rules["predicted"].to_numpy()
    return grades, predicted


def _levels(
    alone: np.ndarray, grades: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Select the predictions for the grades of a query's documents.

    Returns:
        The level of each document, from 1; 0 without a grade. And predictions by
        levels, which leave the grade unchanged after a document without a grade.
        Without rules, both arrays are a single 0.
    """
    if not len(grades):
        return np.zeros(1, np.int64), np.zeros((1, 1))
    level_grades = np.unique(alone[~np.isnan(alone)])
    place = np.minimum(np.searchsorted(grades, level_grades), len(grades) - 1)
    if len(unknown := level_grades[grades[place] != level_grades]):
        raise DataError(
            f"there are no predictions for documents of grade {unknown[0]:g}",
            where="context",
            mend="Predict from qrels that have all grades.",
        )
    table = np.zeros((len(level_grades) + 1, len(level_grades) + 1))
    table[0, 1:] = level_grades
    table[1:, 1:] = predicted[np.ix_(place, place)]
    return np.where(np.isnan(alone), 0, np.searchsorted(level_grades, alone) + 1), table


def _predictions(tables: Any) -> pd.DataFrame:
    """Return given predictions, or compute them once for these tables."""
    if "predictions" in tables:
        return tables["predictions"]
    judgments = tables if isinstance(tables, Judgments) else Judgments(tables)
    return judgments.once(predicted_grades, "qrels", "context")
