"""Measures that score each intent: M-IA, and P+Q, which distinguishes their kinds."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping
from dataclasses import field
from math import fsum, log
from typing import Annotated, Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.diversity import IntentGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jax, jnp
from pgcjax.measures import graded
from pgcjax.measures.derived_measures import (
    BINARY,
    GRADED,
    OfIntents,
    WithRecall,
    gains_of,
)
from pgcjax.measures.gains import Graded, gains_and_ideals
from pgcjax.measures.intents import judged, kinds_of, weights_of
from pgcjax.measures.measure import Case, Parameter, Value
from pgcjax.reference import intents as twins
from pgcjax.reference.diversity import ndeval_err
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.padding import stack

_ALIASES = {
    "AP": {"MAP-IA": "AP-IA", "MAP_IA": "AP-IA", "AP_IA": "AP-IA"},
    "P": {"P_IA": "P-IA"},
}
_DIFFERS = {
    "AP": "as MAP-IA of ndeval",
    "P": "as P-IA of ndeval",
    "ERR": "form=ndeval is the ERR-IA of ndeval and ERR_IA of ir_measures",
    "nERR": "nERR-IA of ndeval is ERR-IA over that of the ideal list of alpha_nDCG",
}


class OfEachIntent(OfIntents):
    """A measure of the scores of single intents.

    Attributes:
        scored: Measure that scores each intent.
    """

    scored: Graded = field(init=False, compare=False, repr=False)

    def __post_init__(self):
        """Score intents by the measure `of`."""
        super().__post_init__()
        object.__setattr__(self, "scored", self.of)

    def of_queries(self, judgments: Judgments) -> dict[str, IntentGains]:
        """Return the gains of each intent, and the result of its own ideal list."""
        weights, arrays = weights_of(self.probabilities, judgments), {}
        makers = _gains_of_each, _ideals_of_each
        made = gains_and_ideals(self.scored, self.parameters, judgments, *makers)
        every, ideals = made
        for query, gains in every.items():
            weight = weights[query] if len(weights[query]) else np.zeros(1)
            arrays[query] = IntentGains(gains, weight, ideals[query])
        return arrays

    def kernel(self, run: RankedList, query: IntentGains) -> Any:
        """Expect the score of an intent."""

        def score(gain: Any, ideal: Any) -> Any:
            return self.scored.score(gain, run, ideal)

        gain = kernels.gains_of(query.gain, run)
        scores = kernels.by_intent(score, gain, query.ideal)
        return kernels.expected(scores, query.weight)


class IntentAware(OfEachIntent):
    """Intent-aware {M}: the mean over intents, by probability."""

    name = "{M}-IA"
    source = (
        "Agrawal et al., Diversifying search results, WSDM 2009; Sakai 2012, equation 5"
    )
    formula = (
        "sum over intents i of Pr(i|q) {M}_i, {M} of the judgments for intent i alone"
    )

    @property
    def differs(self) -> str:
        """Differences from the measure in other tools."""
        return _DIFFERS.get(self.of.name, "")

    @property
    def aliases(self) -> Mapping[str, str]:
        """Names in other tools."""
        return _ALIASES.get(self.of.name, {})

    def twin(self, case: Case) -> float:
        """Expect the score of an intent, plainly."""
        scored = self.scored
        return twins.intent_aware(scored.plain_gain, scored.plain_score, case)


def _gains_of_each(
    measure: Graded, values: Mapping[str, Any], judgments: Judgments
) -> dict[str, np.ndarray]:
    """Return the gains of each intent of each query: `[intents, documents]`."""
    del values
    grades, arrays = judged(judgments), {}
    for query, relevance in grades.relevance.items():
        rows = [gains_of(measure, row, grades.highest) for row in relevance]
        arrays[query] = np.array(rows or [np.zeros(0)])
    return arrays


def _ideals_of_each(measure: Graded, gains: dict[str, np.ndarray]) -> dict[str, Any]:
    """Stack the results of `ideal` for each intent of each query."""

    def stacked(*parts: Any) -> np.ndarray:
        each = [np.asarray(part) for part in parts]
        shape = map(max, zip(*(part.shape for part in each), strict=True))
        return stack(each, (len(each), *shape), 0)

    arrays = {}
    for query, of_query in gains.items():
        ideals = [measure.ideal(gain[gain > 0]) for gain in of_query]
        arrays[query] = jax.tree.map(stacked, *ideals)
    return arrays


Form = Annotated[
    str,
    Parameter(
        "one of graded (equation 5 of ERR), ndeval (of grades above 0, all alike; "
        "divided by the ERR of a list whose every document serves every intent)",
        allowed=("graded", "ndeval"),
    ),
]


class IntentAwareERR(IntentAware):
    """Intent-aware {M}: the mean over intents, by probability.

    It is also ERR-IA as ndeval has it.
    """

    form: Form = "graded"

    def __post_init__(self):
        """Score intents as `form` says."""
        super().__post_init__()
        if self.form == "ndeval":
            object.__setattr__(self, "scored", _Halves(k=self.k))

    def described(self) -> dict[str, tuple[Parameter, Value]]:
        """Return all parameters, `form` first."""
        parameters = super().described()
        return {"form": parameters.pop("form"), **parameters}


class _Halves(graded.nERR):
    """ERR where half of the users stop at any document with a grade above 0.

    It is divided by the ERR of a list of such documents alone.
    """

    def gains(self, grades, highest):
        """Return one half."""
        return np.full(grades.shape, 0.5)

    def ideal(self, gains):
        """Return the ERR of k documents where half of the users stop at each."""
        return ndeval_best(self.k)

    def plain_gain(self, grade, highest):
        """Return one half."""
        return 0.5

    def plain_score(self, run, pool):
        """Score as ndeval does, plainly."""
        return ndeval_err(run, self.k)


def ndeval_best(k: int | None) -> float:
    """Return the ERR of k documents where half of the users stop at each."""
    return log(2) if k is None else fsum(0.5**r / r for r in range(1, k + 1))


class PPlusQ(OfEachIntent):
    """Q of informational intents and P+ of navigational ones, by probability."""

    source = "Sakai 2012, equation 12"
    formula = (
        "sum over informational intents i of Pr(i|q) Q_i + sum over navigational "
        "intents j of Pr(j|q) P+_j"
    )
    differs = (
        "NTCIREVAL (PplusQ) loses the probabilities of intents without relevant "
        "documents, which go to the others here"
    )
    name = "P+Q"
    tells_kinds = True

    of: graded.Q

    def of_queries(self, judgments: Judgments) -> dict[str, IntentGains]:
        """Return navigational intents, too; Q and P+ share an ideal list."""
        arrays, kinds = super().of_queries(judgments), kinds_of(judgments)
        return {
            query: each._replace(navigational=np.resize(kinds[query], len(each.gain)))
            for query, each in arrays.items()
        }

    def kernel(self, run: RankedList, query: IntentGains) -> Any:
        """Expect Q or P+, by the kind of an intent."""

        def score(gain: Any, navigational: Any, ideal: Any) -> Any:
            by_q = self.of.score(gain, run, ideal)
            by_p_plus = graded.PPlus.score(self.of, gain, run, ideal)  # pyright: ignore
            return jnp.where(navigational, by_p_plus, by_q)

        gain = kernels.gains_of(query.gain, run)
        scores = kernels.by_intent(score, gain, query.navigational, query.ideal)
        return kernels.expected(scores, query.weight)

    def twin(self, case: Case) -> float:
        """Expect Q or P+ plainly."""
        return twins.p_plus_q(case)


class SharpPPlusQ(WithRecall, PPlusQ):
    """P+Q mixed with intent recall (I-rec)."""

    name = "P+Q#"
    source = "Sakai 2012, equation 7"
    formula = "gamma I-rec + (1 - gamma) P+Q"


MEASURES = (
    *(
        IntentAwareERR(of=of) if of.name == "ERR" else IntentAware(of=of)
        for of in (*GRADED, *BINARY)
    ),
    PPlusQ(of=graded.Q()),
    SharpPPlusQ(of=graded.Q()),
)
