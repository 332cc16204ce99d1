"""Measures of relevant documents, all alike, and of documents that were judged."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.kernels import relevance as places
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jnp
from pgcjax.measures.gains import (
    GMAX,
    REL,
    Gains,
    Parameters,
    by_reciprocal,
    define,
    given_or,
    mapped,
    of_qrels,
    relevant,
)
from pgcjax.measures.spec import Case, Definition, Parameter
from pgcjax.reference import gains as to_gains
from pgcjax.reference import graded as twins
from pgcjax.reference import relevance as places_twins
from pgcjax.tensors.gains import grades_of
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

P = Parameter(
    "p", 0.95, "persistence, a number above 0 and below 1", valid=lambda p: 0 < p < 1
)
RBP_GAIN = Parameter(
    "gain",
    "binary",
    "one of binary (1 from rel on), linear (g / gmax), exp ((2^g - 1) / (2^gmax - 1))",
    allowed=("binary", "linear", "exp"),
)
VALUE = Parameter(
    "value",
    "base",
    "one of base (what judged documents give), residual (what all others might add)",
    allowed=("base", "residual"),
)
RELEVANT = Parameter(
    "relevant",
    "all",
    "what AP@k is divided by, one of all (relevant documents, as trec_eval), reachable "
    "(k of them at most, as NTCIREVAL)",
    allowed=("all", "reachable"),
)


def utility(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Map grades to gains from 0 to 1."""
    if q["gain"] == "binary":
        return relevant(grades, q, highest)
    most = np.array([given_or(q, highest, grades)])
    return mapped(grades, q, highest) / mapped(most, q, highest)


def by_power(q: Parameters, depth: int) -> np.ndarray:
    """Weight ranks by (1 - p) p^(rank - 1)."""
    return _by_power(q["p"], depth)


@cache
def _by_power(p: float, depth: int) -> np.ndarray:
    table = np.array([0.0, *((1 - p) * p**r for r in range(depth))])
    table.flags.writeable = False
    return table


def count(gains: np.ndarray, q: Parameters) -> float:
    """Count the relevant documents."""
    return float((gains > 0).sum())


def _reachable(gains: np.ndarray, q: Parameters) -> float:
    """Count the relevant documents, or those that AP@k can have."""
    if q.get("relevant") == "reachable" and q["k"]:
        return min(count(gains, q), float(q["k"]))
    return count(gains, q)


def _precision(gain: Any, ranked: RankedList, cutoff: Any, q: Parameters) -> Any:
    of = cutoff if q["k"] else ranked.length.astype(gain.dtype)
    return kernels.share(gain, ranked, of)


RBP_GAINS = Gains(
    gains=utility,
    kernel=lambda gain, ranked, ideal, q: kernels.discounted(gain, ranked),
    by_rank=by_power,
    twin=lambda run, pool, q: twins.rbp(run, q["p"], q["k"]),
    twin_gain=to_gains.utility,
    reads=(),
    parameters=(P, RBP_GAIN, REL, GMAX),
)
of_relevant = partial(
    Gains, gains=relevant, twin_gain=to_gains.relevance, parameters=(REL,)
)
AP_GAINS = of_relevant(
    ideal=_reachable,
    kernel=lambda gain, ranked, ideal, q: kernels.precise(gain, ranked, ideal),
    twin=lambda run, pool, q: twins.average_precision(
        run, pool, q["k"], q.get("relevant", "all")
    ),
    reads=(),
    parameters=(REL, RELEVANT),
)
RR_GAINS = of_relevant(
    kernel=lambda gain, ranked, ideal, q: kernels.first(gain, ranked),
    by_rank=by_reciprocal,
    twin=lambda run, pool, q: twins.reciprocal_rank(run, q["k"]),
    reads=(),
)
P_GAINS = of_relevant(
    ideal=lambda gains, q: float(q["k"] or 0),
    kernel=_precision,
    twin=lambda run, pool, q: twins.precision(run, q["k"]),
    reads=("k",),
)
R_GAINS = of_relevant(
    ideal=count,
    kernel=lambda gain, ranked, ideal, q: kernels.share(gain, ranked, ideal),
    twin=lambda run, pool, q: twins.recall(run, pool, q["k"]),
    reads=(),
)


def _log_odds(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    precision = kernels.precise(gain, ranked, jnp.ones_like(count))
    return jnp.log((1 + precision) / (1 + count - precision))


def _judged(ranked: RankedList, judged: Any, q: Parameters) -> Any:
    length = ranked.length
    most = length if q["k"] is None else length.clip(max=q["k"])
    gain = judged[ranked.vertex]
    return kernels.share(gain, ranked, most.astype(gain.dtype))


def _residual(ranked: RankedList, judged: Any, q: Parameters) -> Any:
    return kernels.residual(judged[ranked.vertex], ranked)


def of_judged(
    kernel: Any, by_rank: Any, q: Parameters, judgments: Judgments
) -> ListTensors:
    """Return what scoring batches for a measure of which documents were judged."""
    every = grades_of(judgments, positive_only=False)
    return ListTensors(
        every.docs,
        {query: np.ones(len(docs)) for query, docs in every.docs.items()},
        kernel,
        depth=q["k"],
        by_rank=partial(by_rank, q) if by_rank else None,
    )


def _rbp_tensors(q: Parameters, judgments: Judgments) -> ListTensors:
    if q["value"] == "residual":
        return of_judged(_residual, by_power, q, judgments)
    return of_qrels(RBP_GAINS, q, judgments)


def _rbp_twin(case: Case) -> float:
    q = case.parameters
    if q["value"] == "residual":
        return twins.rbp_residual(to_gains.judged(case), q["p"], q["k"])
    return to_gains.of_qrels(RBP_GAINS.twin_gain, RBP_GAINS.twin, case)


RBP = replace(
    define(
        "RBP",
        "Rank-biased precision: gain per document of a user who goes on with chance p",
        (*RBP_GAINS.parameters, VALUE),
        RBP_GAINS,
        source="Moffat and Zobel 2008",
        formula="(1 - p) times the sum over ranks r <= k of g(r) p^(r-1); residual: "
        "1 - (1 - p) times the sum of p^(r-1) over ranks r <= k of judged documents",
        differs="trec_eval's rbp is RBP(p=0.9,gain=linear,gmax=topic), and its "
        "rbp_resid takes grades below 0 for unjudged; ir_measures has p=0.8, NTCIREVAL "
        "gain=linear; ranx takes grades as gains, undivided",
        aliases={"rbp_resid": "RBP(p=0.9,value=residual)"},
    ),
    tensors=_rbp_tensors,
    twin=_rbp_twin,
)
AP = define(
    "AP",
    "Average precision at the ranks of relevant documents",
    AP_GAINS.parameters,
    AP_GAINS,
    source="Harman 1992, as in trec_eval",
    formula="AP@k = 1 / R times the sum over relevant ranks r <= k of C(r) / r; R: "
    "relevant documents, C(r): those down to rank r",
    differs="as trec_eval's map and map_cut, ir_measures' AP and ranx' map; NTCIREVAL "
    "divides AP@k by min(k, R): relevant=reachable",
    aliases={
        "map": "AP",
        "map_cut_{k}": "AP@{k}",
        "gm_map": "AP(mean=geometric)",
    },
)
RR = define(
    "RR",
    "Reciprocal rank of the first relevant document",
    RR_GAINS.parameters,
    RR_GAINS,
    source="Kantor and Voorhees 2000, as in trec_eval",
    formula="RR@k = 1 / r of the first relevant rank r, 0 if there is none up to k",
    differs="as trec_eval's recip_rank, ir_measures' RR and ranx' mrr",
    aliases={"recip_rank": "RR", "mrr": "RR"},
)
P_AT = define(
    "P",
    "Precision: share of relevant documents in k, or in all that were retrieved",
    P_GAINS.parameters,
    P_GAINS,
    source="as in trec_eval",
    formula="P@k = relevant documents at ranks r <= k, divided by k",
    differs="as trec_eval's P and, without a cutoff, set_P; ir_measures' P; ranx' "
    "precision. A run of fewer documents is divided by k all the same",
    aliases={"P_{k}": "P@{k}", "set_P": "P", "SetP": "P", "precision": "P"},
)
R = define(
    "R",
    "Recall: share of the relevant documents that was retrieved, up to rank k",
    R_GAINS.parameters,
    R_GAINS,
    source="as in trec_eval",
    formula="R@k = relevant documents at ranks r <= k, divided by all relevant ones",
    differs="as trec_eval's recall and, without a cutoff, set_recall; ir_measures' R; "
    "ranx' recall",
    aliases={"recall_{k}": "R@{k}", "set_recall": "R", "SetR": "R", "recall": "R"},
)
BIN_G = define(
    "binG",
    "Relevant documents, each discounted by how many others stand above it",
    (REL,),
    of_relevant(
        ideal=count,
        kernel=lambda gain, ranked, ideal, q: places.undisturbed(gain, ranked, ideal),
        twin=lambda run, pool, q: places_twins.bin_g(run, pool),
        depth=lambda q: None,
    ),
    source="as in trec_eval",
    formula="1 / R times the sum over relevant ranks r of 1 / log2(2 + r - C(r))",
    differs="as trec_eval's binG",
    cutoff="no",
)
YAAP = define(
    "yaap",
    "Average precision on a scale that can be averaged: the logarithm of its odds",
    (REL,),
    of_relevant(
        ideal=count,
        kernel=_log_odds,
        twin=lambda run, pool, q: places_twins.yaap(run, pool),
        depth=lambda q: None,
    ),
    source="Robertson 2012, as in trec_eval",
    formula="ln((1 + s) / (1 + R - s)), s = R AP",
    differs="as trec_eval's yaap; a query that a run lacks is 0 all the same, and this "
    "is no low score here",
    cutoff="no",
)
JUDGED = Definition(
    name="Judged",
    meaning="Share of judged documents, of any grade, in the first k of a run",
    parameters=(),
    source="as in ir_measures",
    needs=lambda q: frozenset({"qrels"}),
    tensors=partial(of_judged, _judged, None),
    twin=lambda case: twins.judged(to_gains.judged(case), case.parameters["k"]),
    formula="judged documents at ranks r <= k, divided by min(k, documents retrieved)",
    differs="as ir_measures' Judged with --order clarke; of runs with k documents 1 - "
    "trec_eval's unj_k, which takes grades below 0 for unjudged",
    cutoff="may",
)
