"""Common parts of measures of diversity: their parameters, and their input."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from pgcjax.io.intents import check_intents
from pgcjax.kernels.diversity import Served
from pgcjax.measures.gains import ListMeasure
from pgcjax.measures.measure import Parameter
from pgcjax.tensors.intents import (
    IntentGrades,
    intent_grades,
    intent_weights,
    navigational,
)
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

Probabilities = Annotated[
    str,
    Parameter(
        "one of given (by the table of intents; without one, uniform), uniform, "
        "decreasing (2^(n-j+1) / sum of 2^k); n and j number the intents with a "
        "relevant document alone, in the order of ids",
        allowed=("given", "uniform", "decreasing"),
    ),
]
Gamma = Annotated[
    float,
    Parameter(
        "weight of I-rec against that of the rest, a number from 0 to 1",
        valid=lambda gamma: 0 <= gamma <= 1,
    ),
]


def judged(judgments: Judgments) -> IntentGrades:
    """Return grades per intent, checked against the table of intents, if any."""
    if "intents" in judgments:
        judgments.once(check_intents, "intent_qrels", "intents")
    return judgments.once(intent_grades, "intent_qrels")


def weights_of(probabilities: str, judgments: Judgments) -> dict[str, np.ndarray]:
    """Return the weights of intents as the parameter `probabilities` says."""
    grades, intents = judged(judgments), judgments.get("intents")

    def make(seen: Mapping[str, str]) -> dict[str, np.ndarray]:
        return intent_weights(grades, seen["probabilities"], intents)

    values = {"probabilities": probabilities}
    return judgments.once_for(intent_weights, values, make)


def kinds_of(judgments: Judgments) -> dict[str, np.ndarray]:
    """Find which intents of each query are navigational."""
    grades, intents = judged(judgments), judgments["intents"]
    return judgments.once_for(navigational, {}, lambda q: navigational(grades, intents))


def notes_of(judgments: Judgments) -> tuple[str, ...]:
    """Warn if no intent is navigational: kinds may have been forgotten."""
    if any(kind.any() for kind in kinds_of(judgments).values()):
        return ()
    return ("no intent with a relevant document is navigational",)


def served(relevance: np.ndarray) -> Served:
    """Return the input of intent recall, from grades `[intents, documents]`."""
    return Served(relevance, np.float64(len(relevance)))


class OfIntentGrades(ListMeasure):
    """A measure of grades per intent.

    Attributes:
        tells_kinds: Whether it distinguishes navigational intents.
    """

    tells_kinds: ClassVar[bool] = False

    @property
    def needs(self) -> frozenset[str]:
        """Qrels of intents, and the table of intents where their kinds count."""
        kinds = {"intents"} if self.tells_kinds else set()
        return frozenset({"intent_qrels"} | kinds)

    def of_queries(self, judgments: Judgments) -> Mapping[str, Any]:
        """Return the kernel's input for each query."""
        raise NotImplementedError

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out the kernel's input for each query."""
        docs, arrays = judged(judgments).docs, self.of_queries(judgments)
        void = [query for query, of_query in docs.items() if not len(of_query)]
        notes = notes_of(judgments) if self.tells_kinds else ()
        return self.lists(docs, arrays, void=void, notes=notes)
