"""Measures of several intents, derived from the parts of a graded measure."""

# pyright: reportIncompatibleVariableOverride=false
# Names and texts of a derived measure depend on the graded measure behind it.

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

# Measures of more than one gain level, so that gains can be summed over intents.
GRADED = (
    *(graded.CG(), graded.DCG(), graded.nDCG(), graded.MSnDCG(), graded.ERR()),
    *(graded.nERR(), graded.Q(), graded.PPlus(), graded.O(), binary.RBP()),
)
BINARY = binary.AP(), binary.RR(), binary.P(), binary.R()


class OfIntents(Derived, OfIntentGrades):
    """A measure of intents, derived from a graded measure, `of`."""

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
    """A measure mixed with intent recall, such as D#-M from D-M."""

    gamma: Gamma = 0.5

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the input of intent recall for each query, too."""
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
