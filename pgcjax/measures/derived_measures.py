"""Measures of several intents that are made of a graded one, by its parts."""

# pyright: reportIncompatibleVariableOverride=false
# What a derived measure is called, and what it says, depends on the one it is made of.

from typing import Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures import binary, graded
from pgcjax.measures.gains import Graded, highest_of, positive_gains
from pgcjax.measures.intents import (
    Gamma,
    OfIntentGrades,
    Probabilities,
    judged,
    served,
)
from pgcjax.measures.measure import Case, Derived
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments

# With gains of more than one height, so that they can be those for all intents.
GRADED = (
    *(graded.CG(), graded.DCG(), graded.nDCG(), graded.MSnDCG(), graded.ERR()),
    *(graded.nERR(), graded.Q(), graded.PPlus(), graded.O(), binary.RBP()),
)
BINARY = binary.AP(), binary.RR(), binary.P(), binary.R()


class OfIntents(Derived, OfIntentGrades):
    """A measure of intents that is made of a graded one, `of`."""

    cutoff = "may"

    of: Graded
    probabilities: Probabilities = "given"

    @property
    def depth(self) -> int | None:
        """Last rank that counts for the graded measure; None if all do."""
        return self.of.depth

    def weights(self, depth: int) -> np.ndarray:
        """Return the weights of ranks of the graded measure."""
        return self.of.weights(depth)


class WithRecall(OfIntents):
    """A measure that is mixed with intent recall: D#-M of D-M."""

    gamma: Gamma = 0.5

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return what intent recall takes of each query, too."""
        rest, grades = super().of_queries(judgments), judged(judgments).relevance
        return {query: (served(rows), rest[query]) for query, rows in grades.items()}

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
