"""Measures of two rankings: which of them is preferred, by relevant documents."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float64

from pgcjax.errors import UsageError
from pgcjax.io.intents import check_intents
from pgcjax.kernels import ranking_preferences as kernels
from pgcjax.later import pd
from pgcjax.measures import catalogue, spec
from pgcjax.measures.gains import Rel
from pgcjax.measures.intents import Probabilities
from pgcjax.measures.measure import MEAN, Case, Measure, Parameter
from pgcjax.reference import ranking_preferences as twins
from pgcjax.tensors.intents import intent_grades, intent_weights
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.positions import (
    Levels,
    covered_levels,
    document_levels,
    intent_levels,
)


@dataclass(frozen=True)
class PairTensors:
    """Base class of comparisons of two rankings.

    Attributes:
        levels: Targets to find; measures that share this object are computed together.
        weigh: Function from the number of targets of a level to their weights; None
            if there is a `kernel`.
        kernel: Function from the place where two rankings differ to the preference of
            a level; or None.
    """

    levels: Levels
    weigh: Callable[[int], Float64[np.ndarray, " count"]] | None = None
    kernel: Callable[..., Any] | None = None


_WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "uniform": np.ones_like,
    "inverse": lambda i: 1 / i,
    "dcg": lambda i: 1 / np.log2(i + 1),
}


_WHERE = (
    "x_i and y_i: ranks of the i-th relevant document of a and b, infinite if absent"
)
_BEST_CASE = "Diaz 2023, Best-case retrieval evaluation"


class BetweenRankings(Measure):
    """A measure that compares two rankings, without scores of either."""

    subtopics: Annotated[
        str,
        Parameter(
            "one of none (grades of documents), covered (by the ranks at which one, "
            "two, … intents have a relevant document), mean (over intents, by "
            "probability)",
            allowed=("none", "covered", "mean"),
        ),
    ] = "none"
    probabilities: Probabilities = "given"

    @property
    def needs(self) -> frozenset[str]:
        """Qrels, by intent where subtopics count."""
        return frozenset({"qrels" if self.subtopics == "none" else "intent_qrels"})

    def levels(self, judgments: Judgments) -> Levels:
        """Return the levels of these parameters, computed once for all measures."""
        rel: float = self.parameters["rel"]
        if self.subtopics == "none":
            return judgments.once(document_levels, "qrels", rel=rel)
        kinds = [kind for kind in ("intent_qrels", "intents") if kind in judgments]
        options = {"subtopics": self.subtopics, "probabilities": self.probabilities}
        return judgments.once(_of_intents, *kinds, rel=rel, **options)

    def prepare(self, judgments: Judgments) -> PairTensors:
        """Lay out the targets by which rankings are compared."""
        raise NotImplementedError

    def twin_of_two(self, a: Case, b: Case) -> float | None:
        """Compare two rankings plainly."""
        raise NotImplementedError


class _Weight(Measure):
    """The first parameters of RPP."""

    weight: Annotated[
        str,
        Parameter(
            "one of uniform (all relevant documents alike), inverse (1 / i for the "
            "i-th), dcg (1 / log2(i + 1))",
            allowed=("uniform", "inverse", "dcg"),
        ),
    ] = "uniform"
    rel: Annotated[
        float,
        Parameter(
            "lowest grade that is relevant, a number above 0; or 0: the mean over all "
            "grades above 0, each weighted by how many documents (of "
            "subtopics=covered, how many intents) have it or a higher one",
            valid=lambda rel: 0 <= rel < inf,
        ),
    ] = 0.0


class RPP(BetweenRankings, _Weight):
    """Recall-paired preference: the share of recall levels that a reaches sooner, less
    that of b.
    """

    name = "RPP"
    source = "Diaz and Ferraro 2022"
    formula = "sum over i of w_i sgn(y_i - x_i), sum of w_i = 1; " + _WHERE
    differs = (
        "pref_eval, the script of Diaz, keeps the documents of the first grade for all "
        "grades: its graded values are those of one grade"
    )
    aliases = {"invrpp": "RPP(weight=inverse)", "dcgrpp": "RPP(weight=dcg)"}

    def prepare(self, judgments):
        return PairTensors(self.levels(judgments), weigh=self.weigh)

    def weigh(self, count: int) -> Float64[np.ndarray, " count"]:
        """Return the weights of the `count` targets of a level."""
        return _WEIGHTS[self.weight](np.arange(1.0, count + 1))

    def twin_of_two(self, a, b):
        return twins.preference(partial(twins.rpp, weight=self.weight), a, b)


class _WithRel(Measure):
    """The parameter `rel`, the first of lexicographic measures."""

    rel: Rel = 1.0


class Lexicographic(BetweenRankings, _WithRel):
    """A measure of the place that decides."""

    def prepare(self, judgments):
        return PairTensors(self.levels(judgments), kernel=getattr(kernels, self.name))

    def twin_of_two(self, a, b):
        return twins.preference(getattr(twins, self.name), a, b)


class LexiPrecision(Lexicographic):
    """Lexicographic precision: who is ahead where the two first differ."""

    name = "lexiprecision"
    source = _BEST_CASE
    formula = "sgn(y_i - x_i) at the first i with x_i != y_i; " + _WHERE


class ReciprocalLexiPrecision(Lexicographic):
    """Lexicographic precision by how much: reciprocal ranks at that place."""

    name = "rrlexiprecision"
    source = _BEST_CASE
    formula = "1 / x_i - 1 / y_i at the first i with x_i != y_i; " + _WHERE


class LexiRecall(Lexicographic):
    """Lexicographic recall: who finds more, or is ahead where they last differ."""

    name = "lexirecall"
    source = (
        "Diaz, Ekstrand and Mitra 2025, Recall, robustness, and lexicographic "
        "evaluation"
    )
    formula = "sgn(y_i - x_i) at the last i with x_i != y_i; " + _WHERE


BETWEEN: dict[str, BetweenRankings] = {
    measure.name: measure
    for measure in (RPP(), LexiPrecision(), ReciprocalLexiPrecision(), LexiRecall())
}
"""Measures of two rankings by name. Only `prefer` takes them: a run has no score."""


def _of_intents(
    qrels: "pd.DataFrame",
    intents: "pd.DataFrame | None" = None,
    *,
    rel: float,
    subtopics: str,
    probabilities: str,
) -> Levels:
    if intents is not None:
        check_intents(qrels, intents)
    every = intent_grades(qrels)
    if subtopics == "covered":
        return covered_levels(every, rel=rel)
    return intent_levels(every, intent_weights(every, probabilities, intents), rel=rel)


def parse(text: Any, *, complete: bool = True) -> Measure:
    """Read a measure of two rankings, or of the catalogue, whose scores are compared.

    Raises:
        UsageError: the text is neither, or a parameter is wrong.
    """
    if isinstance(text, str):
        names = {**BETWEEN, **catalogue.catalogue()}
        measure = spec.parse(text, names, complete=complete)
        if isinstance(measure, BetweenRankings) and measure.mean != MEAN.default:
            raise UsageError(f"{text}: the mean of preferences is arithmetic")
        return measure
    return catalogue.parse(text, complete=complete)
