"""What measures of diversity have in common: their parameters, and what they read."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from pgcjax.io.intents import NAV, check_intents
from pgcjax.measures.spec import Case, Parameter
from pgcjax.reference import diversity as twins
from pgcjax.tensors.intents import (
    IntentGrades,
    intent_grades,
    intent_weights,
    navigational,
)
from pgcjax.tensors.judgments import Judgments

Parameters = Mapping[str, Any]

PROBABILITIES = Parameter(
    "probabilities",
    "given",
    "one of given (by the table of intents; without one, uniform), uniform, decreasing "
    "(intent j of n: 2^(n-j+1) / sum of 2^k), of intents with a relevant document",
    allowed=("given", "uniform", "decreasing"),
)
GAMMA = Parameter(
    "gamma",
    0.5,
    "weight of I-rec against that of the rest, a number from 0 to 1",
    valid=lambda gamma: 0 <= gamma <= 1,
)


def judged(judgments: Judgments) -> IntentGrades:
    """Give grades per intent, checked against the table of intents if there is one."""
    if "intents" in judgments:
        judgments.once(check_intents, "intent_qrels", "intents")
    return judgments.once(intent_grades, "intent_qrels")


def weights_of(q: Parameters, judgments: Judgments) -> dict[str, np.ndarray]:
    """Give the weights of intents as the parameter `probabilities` says."""
    known = judgments.get("intents")
    return intent_weights(judged(judgments), q["probabilities"], known)


def kinds_of(judgments: Judgments) -> dict[str, np.ndarray]:
    """Say which intents of each query are navigational."""
    return navigational(judged(judgments), judgments["intents"])


def notes_of(judgments: Judgments) -> tuple[str, ...]:
    """Say so if no intent is navigational: kinds may have been forgotten."""
    some = any(kind.any() for kind in kinds_of(judgments).values())
    return () if some else ("no intent with a relevant document is navigational",)


def highest_grade(case: Case) -> float:
    """Give the highest grade of all queries, at least 0."""
    return max(0.0, float(case.tables["intent_qrels"]["relevance"].max()))


def void(grades: IntentGrades) -> list[str]:
    """List the queries without a relevant document."""
    return [query for query, docs in grades.docs.items() if not len(docs)]


def grades_by_intent(case: Case) -> dict[str, dict[str, float]]:
    """Give the relevant documents of each intent that has any, with their grades."""
    grades: dict[str, dict[str, float]] = {}
    for row in case.judged["intent_qrels"].to_dict("records"):
        if row["relevance"] > 0:
            grades.setdefault(row["intent_id"], {})[row["doc_id"]] = row["relevance"]
    return grades


def intents_by_doc(case: Case) -> dict[str, dict[str, float]]:
    """Give the grade of each relevant document for each intent that it serves."""
    docs: dict[str, dict[str, float]] = {}
    for intent, grades in grades_by_intent(case).items():
        for doc, grade in grades.items():
            docs.setdefault(doc, {})[intent] = grade
    return docs


def probability_of(case: Case) -> dict[str, Fraction]:
    """Give the probability of each intent with a relevant document."""
    known = case.judged.get("intents")
    given = None
    if known is not None:
        given = dict(zip(known["intent_id"], known["probability"], strict=True))
    intents = [*grades_by_intent(case)]
    return twins.probabilities(intents, case.parameters["probabilities"], given)


def navigational_of(case: Case) -> set[str]:
    """List the navigational intents."""
    known = case.judged["intents"]
    return set(known.loc[known["kind"] == NAV, "intent_id"])
