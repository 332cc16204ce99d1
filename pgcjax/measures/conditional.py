"""Measures of gains whose grades depend on the document before: context=α."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.judging.prediction import accuracy_note, predicted_grades
from pgcjax.kernels import context as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jnp, pd
from pgcjax.measures.gains import Gains, Parameters, highest_of, positive_gains
from pgcjax.measures.spec import Case, Definition, Parameter
from pgcjax.reference.context import in_context
from pgcjax.tensors.context import conditional
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

CONTEXT = Parameter(
    "context",
    0.0,
    "weight α of conditional grades, a number from 0 to 1: the grade of a document d "
    "right after d' is (1 - α) g(d) + α g(d|d')",
    valid=lambda alpha: 0 <= alpha <= 1,
)
MISSING = Parameter(
    "missing",
    "isolation",
    "what g(d|d') is where nobody judged it, one of isolation (g(d)), predicted (from "
    "g(d) and g(d')), first (g(d|d_1), d_1 being the first document of the run)",
    allowed=("isolation", "predicted", "first"),
)
_NO_RULES = np.zeros(0), np.zeros((0, 0))


def with_context(
    definition: Definition, measure: Gains, alpha: float = 0.0
) -> Definition:
    """Let a graded measure take conditional grades, by a parameter `context`.

    Args:
        definition: of the measure; with context=0 all stays as it is.
        measure: its parts. It takes no ideal list: the best order of documents whose
            grades depend on it is none that sorting finds.
        alpha: default of `context`.

    Source: Golbus et al. 2014, equation 1 and 3.3.2.
    """

    def needs(q: Parameters) -> frozenset[str]:
        return definition.needs(q) | ({"context"} if q["context"] else set())

    def tensors(q: Parameters, judgments: Judgments) -> Any:
        if q["context"]:
            return of_context(measure, q, judgments)
        return definition.tensors(q, judgments)

    def twin(case: Case) -> float:
        plain = not case.parameters["context"]
        return definition.twin(case) if plain else _twin(measure, case)

    source = definition.source
    if not alpha:
        source += "; with context, of Golbus et al. 2014, equation 1 and 3.3.2"
    return replace(
        definition,
        source=source,
        parameters=(*definition.parameters, replace(CONTEXT, default=alpha), MISSING),
        needs=needs,
        tensors=tensors,
        twin=twin,
    )


def of_context(measure: Gains, q: Parameters, judgments: Judgments) -> ListTensors:
    """Return what scoring batches for a measure of conditional grades."""
    graded = judgments.once(conditional, "qrels", "context")
    rules, notes = _NO_RULES, graded.notes
    if q["missing"] == "predicted":
        rules = _matrix(_predictions(judgments))
        if "predictions" not in judgments:
            notes += (judgments.once(accuracy_note, "qrels", "context"),)
    most = max(graded.highest, rules[1].max(initial=0))
    arrays, void = {}, []
    for query, alone in graded.isolation.items():
        own, after = np.nan_to_num(alone), graded.grades[query]
        n, pairs = len(own), graded.pairs[query]
        level, predicted = _levels(alone, *rules)
        grades = np.concatenate([own, after, predicted.ravel()])
        highest = highest_of(q, most, grades)
        gain, paired, by_level = (
            positive_gains(measure, of, q, highest)
            for of in (
                own,
                _mixed(q["context"], own[pairs // n], after),
                _mixed(q["context"], predicted[0], predicted),
            )
        )
        judged = kernels.PairGains(np.int64(n), pairs - n * n, paired)
        ideal = measure.ideal(gain, q)
        arrays[query] = kernels.ContextGains(gain, judged, level, by_level, ideal)
        if not grades.any():
            void.append(query)
    kernel = _on_context(measure)
    more = {"also": (MISSING.name,), "void": void, "notes": notes}
    return measure.lists(q, graded.docs, arrays, kernel, **more)


@cache
def _on_context(measure: Gains):
    """Make a kernel of ranked lists of a measure of conditional grades."""

    def kernel(ranked: RankedList, query: kernels.ContextGains, q: Parameters):
        doc, (before, follows) = ranked.vertex, kernels.previous(ranked)
        gain = jnp.where(ranked.where, query.gain[doc], 0.0)
        if q["missing"] == "predicted":
            level = query.level
            predicted = query.predicted[level[before], level[doc]]
            gain = jnp.where(follows, predicted, gain)
        if q["missing"] == "first":
            later = ranked.where & (ranked.rank > 1) & (ranked.rank[0] == 1)
            first = jnp.full_like(doc, doc[0])
            gain = kernels.after(doc, first, query.judged, gain, where=later)
        gain = kernels.after(doc, before, query.judged, gain, where=follows)
        return measure.kernel(gain, ranked, query.ideal, q)

    return kernel


def _mixed(alpha: float, own: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Interpolate grades; where both are equal, so is the result, to the last bit."""
    return own + alpha * (after - own)


def _matrix(rules: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the grades [levels] of predictions, ascending, and what they are.

    These are by grades of the previous document (rows) and of the document itself.
    """
    before, own = (rules[c].to_numpy() for c in ("previous_relevance", "relevance"))
    grades = np.unique(own)
    predicted = np.full((len(grades), len(grades)), np.nan)
    rows, columns = np.searchsorted(grades, before), np.searchsorted(grades, own)
    predicted[rows, columns] = rules["predicted"].to_numpy()
    return grades, predicted


def _levels(
    alone: np.ndarray, grades: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pick what is predicted for the documents of a query.

    Returns:
        The level of each document, from 1; 0 if it has no grade. And predictions by
        levels; what follows a document without a grade stays as it is. Without rules,
        as good as nothing.
    """
    if not len(grades):
        return np.zeros(1, np.int64), np.zeros((1, 1))
    own = np.unique(alone[~np.isnan(alone)])
    place = np.minimum(np.searchsorted(grades, own), len(grades) - 1)
    if len(unknown := own[grades[place] != own]):
        raise DataError(
            f"nothing is predicted of documents of grade {unknown[0]:g}",
            where="context",
            mend="Predict from qrels that have all grades.",
        )
    table = np.zeros((len(own) + 1, len(own) + 1))
    table[0, 1:] = own
    table[1:, 1:] = predicted[np.ix_(place, place)]
    return np.where(np.isnan(alone), 0, np.searchsorted(own, alone) + 1), table


def _predictions(tables: Mapping[str, Any]) -> pd.DataFrame:
    """Return the predictions asked for, or make them once for these tables."""
    if "predictions" in tables:
        return tables["predictions"]
    judgments = tables if isinstance(tables, Judgments) else Judgments(tables)
    return judgments.once(predicted_grades, "qrels", "context")


def _twin(measure: Gains, case: Case) -> float:
    """Score a case plainly; only what a model predicted is shared with the kernel."""
    if case.parameters["missing"] != "predicted":
        return in_context(measure.twin_gain, measure.twin, case)
    columns = ("previous_relevance", "relevance", "predicted")
    before, own, after = (_predictions(case.tables)[c].tolist() for c in columns)
    predicted = dict(zip(zip(before, own, strict=True), after, strict=True))
    return in_context(measure.twin_gain, measure.twin, case, predicted)
