"""Measures of global gains, summed over intents: D-M, DIN-M, and with I-rec D#-M."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.diversity import GlobalGains
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures.derived_measures import GRADED, OfIntents, WithRecall, gains_of
from pgcjax.measures.gains import makes_gains, makes_ideals
from pgcjax.measures.intents import judged, kinds_of, weights_of
from pgcjax.measures.measure import Case, read_through
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments


class QueryTotals(NamedTuple):
    """Gains of a query: weighted gains by intent, their sum, and the ideal list."""

    weighted: np.ndarray
    total: float
    gain: np.ndarray
    ideal: Any = ()


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


class OfGlobalGains(OfIntents):
    """A graded measure of global gains: D-M."""

    prefix: ClassVar[str] = "D"
    sharp: ClassVar[str] = ""
    equations: ClassVar[str] = "equation 6"

    @property
    def name(self) -> str:
        """Name of the measure, behind the prefix."""
        return f"{self.prefix}{self.sharp}-{self.of.name}"

    @property
    def source(self) -> str:
        """Papers and equations."""
        return (
            "Sakai and Song, Evaluating diversified search results using per-intent "
            f"graded relevance, SIGIR 2011; Sakai 2012, {self.equations}"
        )

    @property
    def meaning(self) -> str:
        """Meaning of the measure."""
        return f"{self.of.name} of global gains: those for all intents, by probability"

    @property
    def formula(self) -> str:
        """The formula."""
        return f"{self.of.name} of GG(r) = sum over intents i of Pr(i|q) g_i(r)"

    @property
    def differs(self) -> str:
        """Differences from NTCIREVAL."""
        name = f"{self.prefix}-{self.of.name}"
        without = "where all probability lies on intents without relevant documents, "
        without += f"{name} is 0" + (", and this gamma I-rec" if self.sharp else "")
        din = _DIN.get(self.of.name) if self.tells_kinds else None
        parts = _DIFFERS.get(self.of.name), din, _LOST, without
        return "; ".join(filter(None, parts))

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the global gains of documents, and results from their ideal list."""
        totals = self._totals(judgments)
        return {query: QueryGains(t.gain, t.ideal) for query, t in totals.items()}

    def kernel(self, run: RankedList, query: Any) -> Any:
        """Score global gains."""
        return type(self.of).kernel(self.of, run, query)

    def twin(self, case: Case) -> float:
        """Score global gains plainly."""
        gain, score = self.of.plain_gain, self.of.plain_score
        return twins.global_gains(gain, score, case, navigational=self.tells_kinds)

    def _totals(self, judgments: Judgments) -> dict[str, QueryTotals]:
        """Sum the gains of documents over intents, and make their ideal list."""
        values, kind = self.parameters, type(self.of)

        def gains(seen: Mapping[str, Any]) -> dict[str, QueryTotals]:
            same: Any = read_through(self.of, seen)
            grades = judged(judgments)
            weights, arrays = weights_of(seen["probabilities"], judgments), {}
            for query, relevance in grades.relevance.items():
                weighted = gains_of(same, relevance, grades.highest)
                weighted *= weights[query][:, None]
                total = weights[query].sum()
                gain = weighted.sum(0) / (total or 1)
                arrays[query] = QueryTotals(weighted, total, gain)
            return arrays

        def ideals(seen: Mapping[str, Any]) -> dict[str, QueryTotals]:
            same: Any = read_through(self.of, seen)
            every = judgments.once_for((QueryTotals, makes_gains(kind)), seen, gains)
            return {
                query: each._replace(ideal=same.ideal(each.gain[each.gain > 0]))
                for query, each in every.items()
            }

        shared = QueryTotals, makes_ideals(kind)
        return judgments.once_for(shared, values, ideals)


class OfNewGains(OfGlobalGains):
    """DIN-M: navigational intents gain from their first document only.

    So the kernel gets gains by intent, and adds up those of a run.
    """

    prefix = "DIN"
    equations = "equations 8 to 11"
    tells_kinds = True

    @property
    def meaning(self) -> str:
        """Meaning of the measure."""
        more = "; navigational intents gain from their first document only"
        return super().meaning + more

    @property
    def formula(self) -> str:
        """The formula."""
        return (
            super().formula + " in the ideal list; in the run, documents after the "
            "first that is relevant to a navigational intent have no gain for it"
        )

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the gains of each intent, and which intents are navigational."""
        kinds = kinds_of(judgments)
        return {
            query: GlobalGains(t.weighted, t.total, kinds[query], t.ideal)
            for query, t in self._totals(judgments).items()
        }

    def kernel(self, run: RankedList, query: GlobalGains) -> Any:
        """Add up the gains that a run has not had yet, and score them."""
        gain = kernels.gains_of(query.gain, run)
        gain = kernels.effective(gain, query.navigational)
        gain = kernels.globally(gain, query.total)
        return self.of.score(gain, run, query.ideal)


class _Sharp(WithRecall):
    sharp = "#"
    equations = "equation 7"
    prefix: ClassVar[str]

    @property
    def meaning(self) -> str:
        """Meaning of the measure."""
        return f"{self.prefix}-{self.of.name} mixed with intent recall (I-rec)"

    @property
    def formula(self) -> str:
        """The formula."""
        return f"gamma I-rec + (1 - gamma) {self.prefix}-{self.of.name}"


class SharpOfGlobalGains(_Sharp, OfGlobalGains):
    """D-M mixed with intent recall: D#-M."""


class SharpOfNewGains(_Sharp, OfNewGains):
    """DIN-M mixed with intent recall: DIN#-M."""


# Intent recall is from 0 to 1, so it is mixed only with measures of this range.
_SHARES = tuple(of for of in GRADED if of.name not in ("CG", "DCG"))
MEASURES = (
    *(OfGlobalGains(of=of) for of in GRADED),
    *(OfNewGains(of=of) for of in GRADED),
    *(SharpOfGlobalGains(of=of) for of in _SHARES),
    *(SharpOfNewGains(of=of) for of in _SHARES),
)
