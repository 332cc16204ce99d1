"""Measures that distinguish judged documents from others: bpref, inferred AP."""

from typing import ClassVar

import numpy as np

from pgcjax.kernels import relevance as kernels
from pgcjax.kernels.ranked_list import picked
from pgcjax.later import jnp
from pgcjax.measures.gains import ListMeasure, Rel
from pgcjax.reference import relevance as twins
from pgcjax.reference.case import grades as plain_grades
from pgcjax.tensors.gains import grades_of


class OfJudged(ListMeasure):
    """A measure of relevant documents, and of judged nonrelevant ones."""

    rel: Rel = 1.0
    of_all_queries: ClassVar[bool] = False

    def prepare(self, judgments):
        every = grades_of(judgments, positive_only=False)
        arrays = {}
        for query, grade in every.relevance.items():
            relevant = np.where(grade >= self.rel, 1.0, 0.0)
            other = np.where((grade >= 0) & (grade < self.rel), 1.0, 0.0)
            count = relevant.sum()
            least = min(count, other.sum())
            arrays[query] = kernels.JudgedDocs(relevant, other, count, least)
        void = [q for q, of in arrays.items() if not (self.of_all_queries or of.count)]
        return self.lists(every.docs, arrays, void=void)


class Bpref(OfJudged):
    """Share of judged documents that are not relevant below relevant ones, on
    average.
    """

    name = "Bpref"
    source = (
        "Buckley and Voorhees, Retrieval evaluation with incomplete information, "
        "SIGIR 2004, as in trec_eval"
    )
    formula = (
        "1 / R times the sum over retrieved relevant documents of 1 - min(n, R) / "
        "min(N, R), n: documents above it that were judged and are not relevant, N: "
        "all of these"
    )
    differs = (
        "as trec_eval's bpref and ir_measures' Bpref; grades below 0 are  pooled "
        "documents that nobody judged"
    )
    aliases = {"gm_bpref": "Bpref(mean=geometric)"}

    def kernel(self, run, judged):
        return kernels.preferred(run, judged)

    def twin(self, case):
        return twins.bpref(case.run, plain_grades(case), self.rel)


class InferredAP(OfJudged):
    """Inferred average precision: pooled documents that nobody judged count as
    others.
    """

    name = "infAP"
    source = (
        "Yilmaz and Aslam, Estimating average precision with incomplete and imperfect"
        " judgments, CIKM 2006, as in trec_eval"
    )
    formula = (
        "1 / R times the sum over relevant ranks r of (1 + p (s + e) / (s + t + 2 e))"
        " / r; of the documents above, p are in the pool, s relevant, t judged and "
        "not relevant; e = 0.00001"
    )
    differs = (
        "as trec_eval's infAP and ir_measures' infAP; grades below 0 are pooled "
        "documents that nobody judged"
    )

    def kernel(self, run, judged):
        return kernels.inferred(run, judged)

    def twin(self, case):
        return twins.inferred_ap(case.run, plain_grades(case), self.rel)


class NumNonRelRet(OfJudged):
    """Number of retrieved documents that were judged and are not relevant."""

    name = "NumNonRelRet"
    source = "as in trec_eval"
    formula = "documents of the run with a grade from 0 up, below rel"
    differs = "over queries, it is added up, as trec_eval's num_nonrel_judged_ret"
    aliases = {"num_nonrel_judged_ret": "NumNonRelRet"}

    of_all_queries = True

    def kernel(self, run, judged):
        other = picked(judged.other, run.vertex) > 0
        return jnp.sum(run.where & other).astype(judged.other.dtype)

    def twin(self, case):
        return twins.judged_others(case.run, plain_grades(case), self.rel)


MEASURES = Bpref(), InferredAP(), NumNonRelRet()
