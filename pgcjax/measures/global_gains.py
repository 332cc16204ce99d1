"""Measures of global gains, those for all intents: D-M, DIN-M, and with I-rec D#-M."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.diversity import GlobalGains
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures.derived_measures import GRADED, define, gains_of
from pgcjax.measures.gains import Gains, on_gains
from pgcjax.measures.intents import Parameters, judged, kinds_of, weights_of
from pgcjax.measures.spec import Definition
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments


class _Global(NamedTuple):
    """Gains of a query: of each intent by its weight, of all, and their ideal list."""

    weighted: np.ndarray
    total: float
    gain: np.ndarray
    ideal: Any = ()


def _gains_of_all(
    measure: Gains, q: Parameters, judgments: Judgments
) -> dict[str, _Global]:
    """Add the gains of documents up over intents."""

    def make(q: Parameters) -> dict[str, _Global]:
        grades, weights = judged(judgments), weights_of(q, judgments)
        arrays = {}
        for query, relevance in grades.relevance.items():
            weighted = gains_of(measure, relevance, q, grades.highest)
            weighted *= weights[query][:, None]
            total = weights[query].sum()
            arrays[query] = _Global(weighted, total, weighted.sum(0) / (total or 1))
        return arrays

    return judgments.once_for((_gains_of_all, measure.gains), q, make)


def _with_ideals(
    measure: Gains, q: Parameters, judgments: Judgments
) -> dict[str, _Global]:
    """Return what the ideal list of global gains gives, too."""

    def make(q: Parameters) -> dict[str, _Global]:
        return {
            query: each._replace(ideal=measure.ideal(each.gain[each.gain > 0], q))
            for query, each in _gains_of_all(measure, q, judgments).items()
        }

    return judgments.once_for((_with_ideals, measure.gains, measure.ideal), q, make)


def _of_all(
    measure: Gains, navigational: bool, q: Parameters, judgments: Judgments
) -> dict[str, Any]:
    """Return the global gains of documents, and what their ideal list gives.

    Where a run gains nothing from `navigational` intents that it has served, gains are
    given by intent, and the kernel adds them up.
    """
    kinds = kinds_of(judgments) if navigational else {}
    return {
        query: GlobalGains(each.weighted, each.total, kinds[query], each.ideal)
        if navigational
        else QueryGains(each.gain, each.ideal)
        for query, each in _with_ideals(measure, q, judgments).items()
    }


@cache
def _on_new(measure: Gains) -> Callable[..., Any]:
    def kernel(ranked: RankedList, query: GlobalGains, q: Parameters):
        gain = kernels.gains_of(query.gain, ranked)
        gain = kernels.effective(gain, query.navigational)
        gain = kernels.globally(gain, query.total)
        return measure.kernel(gain, ranked, query.ideal, q)

    return kernel


# How NTCIREVAL prints them, in files .Dnev and .DINnev.
_DIFFERS = {
    "nDCG": "as MSnDCG of NTCIREVAL",
    "MSnDCG": "as MSnDCG of NTCIREVAL with gain=linear",
    "Q": "as Q@k and Q-measure of NTCIREVAL",
    "P+": "as P-plus of NTCIREVAL, which cuts the list at k",
    "O": "as O-measure of NTCIREVAL, which cuts the list at k",
    "ERR": "NTCIREVAL divides GG(r) by 1 + the highest of the query to get a chance to "
    "stop; here each grade is one, before they are added up",
    "RBP": "NTCIREVAL divides GG(r) by the highest of the query",
}
_DIN = {
    "Q": "by equations 10 and 11 only gains change, so that a further document of a "
    "navigational intent counts as relevant; here, as in NTCIREVAL, one whose gains "
    "are all gone does not",
}
_ELSEWHERE = "where all probability lies on intents without relevant documents, {} is "
_LOST = "NTCIREVAL loses the probabilities of intents without relevant documents, "
_LOST += "which go to the others here"


def of_global_gains(
    name: str, measure: Gains, *, navigational: bool, sharp: bool
) -> Definition:
    """Define the D-M of a graded measure M, or its DIN-M, D#-M or DIN#-M."""
    prefix = "DIN" if navigational else "D"
    meaning = f"{name} of global gains: those for all intents, by probability"
    formula = f"{name} of GG(r) = sum over intents i of Pr(i|q) g_i(r)"
    equations = "equation 6"
    if navigational:
        meaning += "; navigational intents gain from their first document only"
        formula += " in the ideal list; in the run, documents after the first that is "
        formula += "relevant to a navigational intent have no gain for it"
        equations = "equations 8 to 11"
    if sharp:
        meaning = f"{prefix}-{name} mixed with intent recall (I-rec)"
        formula = f"gamma I-rec + (1 - gamma) {prefix}-{name}"
        equations = "equation 7"
    differs = [_DIFFERS.get(name), _DIN.get(name) if navigational else None, _LOST]
    without = _ELSEWHERE.format(f"{prefix}-{name}") + "0"
    differs.append(f"{without}, and this gamma I-rec" if sharp else without)
    twin = partial(twins.global_gains, measure.twin_gain, measure.twin)
    return define(
        measure,
        partial(_of_all, measure, navigational),
        (_on_new if navigational else on_gains)(measure),
        partial(twin, navigational=navigational),
        kinds=navigational,
        sharp=sharp,
        name=f"{prefix}{'#' if sharp else ''}-{name}",
        meaning=meaning,
        source="Sakai and Song, Evaluating diversified search results using per-intent "
        f"graded relevance, SIGIR 2011; Sakai 2012, {equations}",
        formula=formula,
        differs="; ".join(filter(None, differs)),
    )


GLOBAL = tuple(
    of_global_gains(name, measure, navigational=navigational, sharp=sharp)
    for sharp in (False, True)
    for navigational in (False, True)
    for name, measure in GRADED.items()
    # Intent recall goes from 0 to 1: what it is mixed with does so, too.
    if not (sharp and name in ("CG", "DCG"))
)
