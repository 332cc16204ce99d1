"""Measures of global gains, summed over intents: D-M, DIN-M, and with I-rec D#-M."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.diversity import GlobalGains
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures.derived_measures import GRADED, OfIntents, WithRecall, gains_of
from pgcjax.measures.gains import Graded, gains_and_ideals
from pgcjax.measures.intents import judged, kinds_of, weights_of
from pgcjax.measures.measure import Case
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments


class QueryTotals(NamedTuple):
    """Gains of a query: weighted gains by intent, the sum of weights, global gains."""

    weighted: np.ndarray
    total: float
    gain: np.ndarray


# Names in NTCIREVAL's files .Dnev and .DINnev.
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
_LOST = "NTCIREVAL loses the probabilities of intents without relevant documents, "
_LOST += "which go to the others here"
_SOURCE = (
    "Sakai and Song, Evaluating diversified search results using per-intent graded "
    "relevance, SIGIR 2011; Sakai 2012, "
)


class OfGlobalGains(OfIntents):
    """{M} of global gains: those for all intents, by probability."""

    name = "D-{M}"
    source = _SOURCE + "equation 6"
    formula = "{M} of GG(r) = sum over intents i of Pr(i|q) g_i(r)"

    @property
    def differs(self) -> str:
        """Differences from NTCIREVAL."""
        name = self.name.replace("#", "")
        without = "where all probability lies on intents without relevant documents, "
        without += f"{name} is 0" + ", and this gamma I-rec" * (name != self.name)
        din = _DIN.get(self.of.name) if self.tells_kinds else None
        parts = _DIFFERS.get(self.of.name), din, _LOST, without
        return "; ".join(filter(None, parts))

    def totals(
        self, judgments: Judgments
    ) -> tuple[dict[str, QueryTotals], dict[str, Any]]:
        """Sum the gains of documents over intents, and make their ideal list."""
        makers = _totals, _ideals
        return gains_and_ideals(self.of, self.parameters, judgments, *makers)

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the global gains of documents, and results from their ideal list."""
        totals, ideals = self.totals(judgments)
        return {query: QueryGains(t.gain, ideals[query]) for query, t in totals.items()}

    def kernel(self, run: RankedList, query: Any) -> Any:
        """Score global gains."""
        return type(self.of).kernel(self.of, run, query)

    def twin(self, case: Case) -> float:
        """Score global gains plainly."""
        gain, score = self.of.plain_gain, self.of.plain_score
        return twins.global_gains(gain, score, case, navigational=self.tells_kinds)


def _totals(
    measure: Graded, values: Mapping[str, Any], judgments: Judgments
) -> dict[str, QueryTotals]:
    """Sum the gains of documents over intents."""
    grades = judged(judgments)
    weights, arrays = weights_of(values["probabilities"], judgments), {}
    for query, relevance in grades.relevance.items():
        weighted = gains_of(measure, relevance, grades.highest)
        weighted *= weights[query][:, None]
        total = weights[query].sum()
        arrays[query] = QueryTotals(weighted, total, weighted.sum(0) / (total or 1))
    return arrays


def _ideals(measure: Graded, totals: dict[str, QueryTotals]) -> dict[str, Any]:
    return {query: measure.ideal(t.gain[t.gain > 0]) for query, t in totals.items()}


class OfNewGains(OfGlobalGains):
    """{M} of global gains: those for all intents, by probability; navigational intents
    gain from their first document only.

    So the kernel gets gains by intent, and adds up those of a run.
    """

    name = "DIN-{M}"
    source = _SOURCE + "equations 8 to 11"
    formula = OfGlobalGains.formula + (
        " in the ideal list; in the run, documents after the first that is relevant to "
        "a navigational intent have no gain for it"
    )
    tells_kinds = True

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the gains of each intent, and which intents are navigational."""
        kinds, (totals, ideals) = kinds_of(judgments), self.totals(judgments)
        return {
            query: GlobalGains(t.weighted, t.total, kinds[query], ideals[query])
            for query, t in totals.items()
        }

    def kernel(self, run: RankedList, query: GlobalGains) -> Any:
        """Add up the gains that a run has not had yet, and score them."""
        gain = kernels.gains_of(query.gain, run)
        gain = kernels.effective(gain, query.navigational)
        gain = kernels.globally(gain, query.total)
        return self.of.score(gain, run, query.ideal)


class SharpOfGlobalGains(WithRecall, OfGlobalGains):
    """D-{M} mixed with intent recall (I-rec)."""

    name = "D#-{M}"
    source = _SOURCE + "equation 7"
    formula = "gamma I-rec + (1 - gamma) D-{M}"


class SharpOfNewGains(WithRecall, OfNewGains):
    """DIN-{M} mixed with intent recall (I-rec)."""

    name = "DIN#-{M}"
    source = _SOURCE + "equation 7"
    formula = "gamma I-rec + (1 - gamma) DIN-{M}"


# Intent recall is from 0 to 1, so it is mixed only with measures of this range.
_SHARES = tuple(of for of in GRADED if of.name not in ("CG", "DCG"))
MEASURES = (
    *(OfGlobalGains(of=of) for of in GRADED),
    *(OfNewGains(of=of) for of in GRADED),
    *(SharpOfGlobalGains(of=of) for of in _SHARES),
    *(SharpOfNewGains(of=of) for of in _SHARES),
)
