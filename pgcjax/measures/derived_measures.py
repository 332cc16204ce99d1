"""Measures of several intents that are made of a graded one, by its parts."""

# pyright: reportIncompatibleVariableOverride=false
# What a derived measure is called, and what it says, depends on the one it is made of.

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures import binary, graded
from pgcjax.measures.gains import Graded, highest_of, positive_gains
from pgcjax.measures.intents import (
    Gamma,
    Probabilities,
    judged,
    notes_of,
    served,
    void,
)
from pgcjax.measures.measure import Case, Derived
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

# With gains of more than one height, so that they can be those for all intents.
GRADED = (
    *(graded.CG(), graded.DCG(), graded.nDCG(), graded.MSnDCG(), graded.ERR()),
    *(graded.nERR(), graded.Q(), graded.PPlus(), graded.O(), binary.RBP()),
)
BINARY = binary.AP(), binary.RR(), binary.P(), binary.R()


class OfIntents(Derived):
    """A measure of intents that is made of a graded one, `of`.

    Attributes:
        tells_kinds: whether it tells navigational intents from others.
    """

    cutoff = "may"
    tells_kinds: ClassVar[bool] = False

    of: Graded
    probabilities: Probabilities = "given"

    @property
    def needs(self) -> frozenset[str]:
        """Qrels of intents, and the table of intents where their kinds count."""
        kinds = {"intents"} if self.tells_kinds else set()
        return frozenset({"intent_qrels"} | kinds)

    def of_queries(self, judgments: Judgments) -> Mapping[str, Any]:
        """Return what the kernel takes of each query."""
        raise NotImplementedError

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out what the measure makes of the grades of each query."""
        grades, notes = judged(judgments), ()
        if self.tells_kinds:
            notes = notes_of(judgments)
        return self.of.lists(
            grades.docs,
            self.of_queries(judgments),
            type(self).kernel,
            void=void(grades),
            notes=notes,
        )

    def kernel(self, run: RankedList, query: Any) -> Any:
        """Score one run and query."""
        raise NotImplementedError


class WithRecall(OfIntents):
    """A measure that is mixed with intent recall: D#-M of D-M."""

    gamma: Gamma = 0.5

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out what intent recall needs, too."""
        lists = super().prepare(judgments)
        arrays = {
            query: (served(relevance), lists.arrays[query])
            for query, relevance in judged(judgments).relevance.items()
        }
        return replace(lists, arrays=arrays)

    def kernel(self, run: RankedList, query: Any) -> Any:
        """Mix the score with intent recall."""
        served, rest = query
        recall = kernels.recall(kernels.gains_of(served.relevance, run), served.intents)
        return kernels.mixed(self.gamma, recall, super().kernel(run, rest))

    def twin(self, case: Case) -> float:
        """Mix the twin's score with intent recall."""
        return twins.sharp(super().twin, case)


def gains_of(measure: Graded, grades: np.ndarray, collection: float) -> np.ndarray:
    """Map grades of a query, or of an intent, to gains: 0 where they are not above 0.

    `grades` may have any shape; `collection` is the highest grade of all queries.
    """
    highest = highest_of(measure, collection, grades[grades > 0])
    return positive_gains(measure, grades, highest)
