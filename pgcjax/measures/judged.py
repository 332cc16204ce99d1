"""Measures that tell judged documents from others: bpref, inferred AP."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pgcjax.kernels import relevance as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jnp
from pgcjax.measures.gains import REL, Parameters
from pgcjax.measures.spec import Case, Definition
from pgcjax.reference import relevance as twins
from pgcjax.reference.case import grades as plain_grades
from pgcjax.tensors.gains import grades_of
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors


def _tensors(
    kernel: Callable[..., Any], q: Parameters, judgments: Judgments
) -> ListTensors:
    """Return what scoring batches: which documents are relevant, and which are not."""
    every = grades_of(judgments, positive_only=False)
    arrays = {}
    for query, grade in every.relevance.items():
        relevant = np.where(grade >= q["rel"], 1.0, 0.0)
        other = np.where((grade >= 0) & (grade < q["rel"]), 1.0, 0.0)
        count = relevant.sum()
        least = min(count, other.sum())
        arrays[query] = kernels.JudgedDocs(relevant, other, count, least)
    counted = kernel is _others  # of queries without relevant documents, too
    void = [query for query in arrays if not (counted or arrays[query].count)]
    return ListTensors(every.docs, arrays, kernel, void=void)


def _twin(twin: Callable[[list[str], dict[str, float], float], float], case: Case):
    return twin(case.run, plain_grades(case), case.parameters["rel"])


def _define(name: str, meaning: str, kernel: Any, twin: Any, **texts) -> Definition:
    return Definition(
        name=name,
        meaning=meaning,
        parameters=(REL,),
        needs=lambda q: frozenset({"qrels"}),
        tensors=partial(_tensors, kernel),
        twin=partial(_twin, twin),
        **texts,
    )


def _bpref(ranked: RankedList, judged: kernels.JudgedDocs, q: Parameters) -> Any:
    return kernels.preferred(ranked, judged)


def _inferred(ranked: RankedList, judged: kernels.JudgedDocs, q: Parameters) -> Any:
    return kernels.inferred(ranked, judged)


def _others(ranked: RankedList, judged: kernels.JudgedDocs, q: Parameters) -> Any:
    other = judged.other[ranked.vertex] > 0
    return jnp.sum(ranked.where & other).astype(judged.other.dtype)


BPREF = _define(
    "Bpref",
    "Share of judged documents that are not relevant below relevant ones, on average",
    _bpref,
    twins.bpref,
    source="Buckley and Voorhees, Retrieval evaluation with incomplete information, "
    "SIGIR 2004, as in trec_eval",
    formula="1 / R times the sum over retrieved relevant documents of 1 - min(n, R) / "
    "min(N, R), n: documents above it that were judged and are not relevant, N: all "
    "of these",
    differs="as trec_eval's bpref and ir_measures' Bpref; grades below 0 are "
    " pooled documents that nobody judged",
    aliases={"gm_bpref": "Bpref(mean=geometric)"},
)
INFERRED_AP = _define(
    "infAP",
    "Inferred average precision: pooled documents that nobody judged count as others",
    _inferred,
    twins.inferred_ap,
    source="Yilmaz and Aslam, Estimating average precision with incomplete and "
    "imperfect judgments, CIKM 2006, as in trec_eval",
    formula="1 / R times the sum over relevant ranks r of (1 + p (s + e) / (s + t + 2 "
    "e)) / r; of the documents above, p are in the pool, s relevant, t judged and not "
    "relevant; e = 0.00001",
    differs="as trec_eval's infAP and ir_measures' infAP; grades below 0 are pooled "
    "documents that nobody judged",
)
NUM_OTHER_RET = _define(
    "NumNonRelRet",
    "Number of retrieved documents that were judged and are not relevant",
    _others,
    twins.judged_others,
    source="as in trec_eval",
    formula="documents of the run with a grade from 0 up, below rel",
    differs="over queries, it is added up, as trec_eval's num_nonrel_judged_ret",
    aliases={"num_nonrel_judged_ret": "NumNonRelRet"},
)
