"""Measures of two rankings: which of them is preferred, by relevant documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np
from jaxtyping import Float64

from pgcjax.errors import UsageError
from pgcjax.io.intents import check_intents
from pgcjax.kernels import ranking_preferences as kernels
from pgcjax.later import pd
from pgcjax.measures import catalogue, spec
from pgcjax.measures.gains import REL, Parameters
from pgcjax.measures.intents import PROBABILITIES
from pgcjax.measures.spec import Case, Definition, Measure, Parameter
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
    """What rankings are compared by.

    Attributes:
        levels: what is to be found; measures that have the same object are computed
            together.
        weigh: gives the weights of the places of a level, by how many there are; of
            `kernel`, None.
        kernel: gives the preference of a level, by where two rankings differ; or None.
    """

    levels: Levels
    weigh: Callable[[int], Float64[np.ndarray, " count"]] | None = None
    kernel: Callable[..., Any] | None = None


WEIGHT = Parameter(
    "weight",
    "uniform",
    "one of uniform (all relevant documents alike), inverse (1 / i for the i-th), dcg "
    "(1 / log2(i + 1))",
    allowed=("uniform", "inverse", "dcg"),
)
GRADED = Parameter(
    "rel",
    0.0,
    "lowest grade that is relevant, a number above 0; or 0: the mean over all grades "
    "above 0, each weighted by how many documents (of subtopics=covered, how many "
    "intents) have it or a higher one",
    valid=lambda rel: 0 <= rel < inf,
)
SUBTOPICS = Parameter(
    "subtopics",
    "none",
    "one of none (grades of documents), covered (by the ranks at which one, two, … "
    "intents have a relevant document), mean (over intents, by probability)",
    allowed=("none", "covered", "mean"),
)
_WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "uniform": np.ones_like,
    "inverse": lambda i: 1 / i,
    "dcg": lambda i: 1 / np.log2(i + 1),
}


def _weights(how: str, count: int) -> np.ndarray:
    return _WEIGHTS[how](np.arange(1.0, count + 1))


def _needs(q: Mapping[str, Any]) -> frozenset[str]:
    return frozenset({"qrels" if q["subtopics"] == "none" else "intent_qrels"})


def _of_intents(
    qrels: pd.DataFrame,
    intents: pd.DataFrame | None = None,
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


def _levels(q: Parameters, judgments: Judgments) -> Levels:
    """Return the levels that the parameters ask for: once for all measures of them."""
    if q["subtopics"] == "none":
        return judgments.once(document_levels, "qrels", rel=q["rel"])
    kinds = [kind for kind in ("intent_qrels", "intents") if kind in judgments]
    how = {name: q[name] for name in ("rel", "subtopics", "probabilities")}
    return judgments.once(_of_intents, *kinds, **how)


def _recall_paired(q: Parameters, judgments: Judgments) -> PairTensors:
    return PairTensors(_levels(q, judgments), weigh=partial(_weights, q["weight"]))


def _rpp_twin(a: Case, b: Case) -> float | None:
    prefer = partial(twins.rpp, weight=a.parameters["weight"])
    return twins.preference(prefer, a, b)


def _lexicographic(
    kernel: Callable[..., Any], q: Parameters, judgments: Judgments
) -> PairTensors:
    return PairTensors(_levels(q, judgments), kernel=kernel)


def _lexi(
    name: str, meaning: str, source: str, formula: str, **more: Any
) -> Definition:
    return Definition(
        name=name,
        meaning=meaning,
        parameters=(REL, SUBTOPICS, PROBABILITIES),
        source=source,
        needs=_needs,
        tensors=partial(_lexicographic, getattr(kernels, name)),
        twin=partial(twins.preference, getattr(twins, name)),
        formula=formula,
        **more,
    )


_BEST_CASE = "Diaz 2023, Best-case retrieval evaluation"
_WHERE = (
    "x_i and y_i: ranks of the i-th relevant document of a and b, infinite if absent"
)
BETWEEN = {
    definition.name: definition
    for definition in (
        Definition(
            name="RPP",
            meaning="Recall-paired preference: the share of recall levels that a "
            "reaches sooner, less that of b",
            parameters=(WEIGHT, GRADED, SUBTOPICS, PROBABILITIES),
            source="Diaz and Ferraro 2022",
            needs=_needs,
            tensors=_recall_paired,
            twin=_rpp_twin,
            formula="sum over i of w_i sgn(y_i - x_i), sum of w_i = 1; " + _WHERE,
            differs="pref_eval, the script of Diaz, keeps the documents of the first "
            "grade for all grades: its graded values are those of one grade",
            aliases={"invrpp": "RPP(weight=inverse)", "dcgrpp": "RPP(weight=dcg)"},
        ),
        _lexi(
            "lexiprecision",
            "Lexicographic precision: who is ahead where the two first differ",
            _BEST_CASE,
            "sgn(y_i - x_i) at the first i with x_i != y_i; " + _WHERE,
        ),
        _lexi(
            "rrlexiprecision",
            "Lexicographic precision by how much: reciprocal ranks at that place",
            _BEST_CASE,
            "1 / x_i - 1 / y_i at the first i with x_i != y_i; " + _WHERE,
        ),
        _lexi(
            "lexirecall",
            "Lexicographic recall: who finds more, or is ahead where they last differ",
            "Diaz, Ekstrand and Mitra 2025, Recall, robustness, and lexicographic "
            "evaluation",
            "sgn(y_i - x_i) at the last i with x_i != y_i; " + _WHERE,
        ),
    )
}
"""By name. Only `prefer` takes them: a run has no score by itself."""


def parse(text: Any, *, complete: bool = True) -> Measure:
    """Read a measure of two rankings, or of the catalogue, whose scores are compared.

    Raises:
        UsageError: it is neither, or a parameter is wrong.
    """
    if isinstance(text, str):
        known = {**BETWEEN, **catalogue.catalogue()}
        measure = spec.parse(text, known, complete=complete)
        if is_between(measure) and measure.mean != spec.MEAN.default:
            raise UsageError(f"{text}: the mean of preferences is arithmetic")
        return measure
    return catalogue.parse(text, complete=complete)


def is_between(measure: Measure) -> bool:
    """Return whether a measure compares two rankings, which have no scores by it."""
    return BETWEEN.get(measure.name) is measure.definition
