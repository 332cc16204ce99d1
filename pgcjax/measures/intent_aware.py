"""Measures that take each intent by itself: M-IA, and P+Q, which tells their kinds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import fsum, log
from typing import Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.diversity import IntentGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jax, jnp
from pgcjax.measures import graded
from pgcjax.measures.derived_measures import BINARY, GRADED, define, gains_of
from pgcjax.measures.gains import Gains
from pgcjax.measures.intents import Parameters, judged, kinds_of, weights_of
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference import intents as twins
from pgcjax.reference.diversity import ndeval_err
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.padding import stack


def _ideals(measure: Gains, gains: np.ndarray, q: Parameters) -> Any:
    """Stack what the measure takes of the ideal list of each intent."""

    def stacked(*parts: Any) -> np.ndarray:
        each = [np.asarray(part) for part in parts]
        shape = map(max, zip(*(part.shape for part in each), strict=True))
        return stack(each, (len(each), *shape), 0)

    ideals = [measure.ideal(gain[gain > 0], q) for gain in gains]
    return jax.tree.map(stacked, *ideals)


def _gains_of_each(
    measure: Gains, q: Parameters, judgments: Judgments
) -> dict[str, np.ndarray]:
    """Return the gains of each intent of each query: `[intents, documents]`."""
    grades = judged(judgments)

    def make(q: Parameters) -> dict[str, np.ndarray]:
        arrays = {}
        for query, relevance in grades.relevance.items():
            rows = [gains_of(measure, row, q, grades.highest) for row in relevance]
            arrays[query] = np.array(rows or [np.zeros(0)])
        return arrays

    return judgments.once_for((_gains_of_each, measure.gains), q, make)


def _ideals_of_each(
    measure: Gains, other: Gains, q: Parameters, judgments: Judgments
) -> dict[str, Any]:
    """Return what the other measure takes of the ideal lists of the gains of one."""

    def make(q: Parameters) -> dict[str, Any]:
        gains = _gains_of_each(measure, q, judgments)
        return {query: _ideals(other, gain, q) for query, gain in gains.items()}

    what = _ideals_of_each, measure.gains, other.ideal
    return judgments.once_for(what, q, make)


def _of_each(
    measure: Gains, q: Parameters, judgments: Judgments
) -> dict[str, IntentGains]:
    """Return the gains of each intent, and what its own ideal list gives."""
    weights = weights_of(q, judgments)
    ideals = _ideals_of_each(measure, measure, q, judgments)
    arrays = {}
    for query, gains in _gains_of_each(measure, q, judgments).items():
        weight = weights[query] if len(weights[query]) else np.zeros(1)
        arrays[query] = IntentGains(gains, weight, ideals[query])
    return arrays


@cache
def _on_each(measure: Gains) -> Callable[..., Any]:
    def kernel(ranked: RankedList, query: IntentGains, q: Parameters):
        def score(gain: Any, ideal: Any):
            return measure.kernel(gain, ranked, ideal, q)

        gain = kernels.gains_of(query.gain, ranked)
        scores = kernels.by_intent(score, gain, query.ideal)
        return kernels.expected(scores, query.weight)

    return kernel


def _of_two(
    pair: tuple[Gains, Gains], q: Parameters, judgments: Judgments
) -> dict[str, IntentGains]:
    """Return gains and ideal lists of intents, for two measures of the same gains."""
    kinds, arrays = kinds_of(judgments), _of_each(pair[0], q, judgments)
    ideals = _ideals_of_each(*pair, q, judgments)
    for query, first in arrays.items():
        arrays[query] = first._replace(
            navigational=np.resize(kinds[query], len(first.gain)),
            ideal=(first.ideal, ideals[query]),
        )
    return arrays


@cache
def _on_two(pair: tuple[Gains, Gains]) -> Callable[..., Any]:
    def kernel(ranked: RankedList, query: IntentGains, q: Parameters):
        def score(gain: Any, navigational: Any, ideals: tuple[Any, Any]):
            first, second = (
                measure.kernel(gain, ranked, ideal, q)
                for measure, ideal in zip(pair, ideals, strict=True)
            )
            return jnp.where(navigational, second, first)

        gain = kernels.gains_of(query.gain, ranked)
        scores = kernels.by_intent(score, gain, query.navigational, query.ideal)
        return kernels.expected(scores, query.weight)

    return kernel


def intent_aware(name: str, measure: Gains, **more: Any) -> Definition:
    """Define the M-IA of a graded measure M."""
    twin = partial(twins.intent_aware, measure.twin_gain, measure.twin)
    how = partial(_of_each, measure), _on_each(measure), twin
    texts = {
        "name": f"{name}-IA",
        "meaning": f"Intent-aware {name}: the mean over intents, by probability",
        "source": "Agrawal et al., Diversifying search results, WSDM 2009; Sakai 2012, "
        "equation 5",
        "formula": f"sum over intents i of Pr(i|q) {name}_i, {name} of the judgments "
        "for intent i alone",
    }
    return define(measure, *how, **{**texts, **more})


def _p_plus_q(sharp: bool) -> Definition:
    pair = graded.Q_GAINS, graded.P_PLUS_GAINS
    formula = "sum over informational intents i of Pr(i|q) Q_i + sum over navigational "
    how = partial(_of_two, pair), _on_two(pair), twins.p_plus_q
    return define(
        graded.Q_GAINS,
        *how,
        kinds=True,
        sharp=sharp,
        name="P+Q#" if sharp else "P+Q",
        meaning="P+Q mixed with intent recall (I-rec)"
        if sharp
        else "Q of informational intents and P+ of navigational ones, by probability",
        source=f"Sakai 2012, equation {7 if sharp else 12}",
        differs="NTCIREVAL (PplusQ) loses the probabilities of intents without "
        "relevant documents, which go to the others here",
        formula="gamma I-rec + (1 - gamma) P+Q"
        if sharp
        else formula + "intents j of Pr(j|q) P+_j",
    )


FORM = Parameter(
    "form",
    "graded",
    "one of graded (equation 5 of ERR), ndeval (of grades above 0, all alike; divided "
    "by the ERR of a list whose every document serves every intent)",
    allowed=("graded", "ndeval"),
)
_HALF = replace(
    graded.NERR_GAINS,
    gains=lambda grades, q, highest: np.full(grades.shape, 0.5),
    ideal=lambda gains, q: ndeval_best(q["k"]),
    twin=lambda run, pool, q: ndeval_err(run, q["k"]),
    twin_gain=lambda grade, q, highest: 0.5,
    parameters=(),
)


def ndeval_best(k: int | None) -> float:
    """Return the ERR of k documents at each of which half of the users stop."""
    return log(2) if k is None else fsum(0.5**r / r for r in range(1, k + 1))


def _err_ia() -> Definition:
    forms = {
        "graded": intent_aware("ERR", graded.ERR_GAINS),
        "ndeval": intent_aware("ERR", _HALF),
    }
    return replace(
        forms["graded"],
        parameters=(FORM, *forms["graded"].parameters),
        tensors=lambda q, judgments: forms[q["form"]].tensors(q, judgments),
        twin=lambda case: forms[case.parameters["form"]].twin(case),
        differs="form=ndeval is the ERR-IA of ndeval and ERR_IA of ir_measures",
    )


_MORE = {
    "AP": {
        "aliases": {"MAP-IA": "AP-IA", "MAP_IA": "AP-IA", "AP_IA": "AP-IA"},
        "differs": "as MAP-IA of ndeval",
    },
    "P": {"aliases": {"P_IA": "P-IA"}, "differs": "as P-IA of ndeval"},
    "nERR": {
        "differs": "nERR-IA of ndeval is ERR-IA over that of the ideal list of "
        "alpha_nDCG"
    },
}
INTENT_AWARE = tuple(
    _err_ia() if name == "ERR" else intent_aware(name, gains, **_MORE.get(name, {}))
    for name, gains in {**GRADED, **BINARY}.items()
)
P_PLUS_Q = tuple(_p_plus_q(sharp) for sharp in (False, True))
