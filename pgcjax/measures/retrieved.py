"""Measures of what was retrieved, whatever its order: counts, and what they give."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from pgcjax.kernels import relevance as places
from pgcjax.kernels.graded import hits, share
from pgcjax.kernels.ranked_list import RankedList, ratio, rounded
from pgcjax.later import jnp
from pgcjax.measures.binary import count, of_relevant
from pgcjax.measures.gains import REL, Gains, Parameters, define, of_qrels
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference import relevance as twins
from pgcjax.reference.gains import Score
from pgcjax.reference.relevance import relevant_ranks

_BETA = Parameter(
    "beta",
    1.0,
    "what recall counts for against precision, a number above 0",
    valid=lambda beta: 0 < beta < inf,
)
_WORTH = [
    Parameter(
        name,
        default,
        f"worth of a document that is {which}, a number",
        valid=lambda worth: -inf < worth < inf,
    )
    for name, default, which in [
        ("a", 1.0, "relevant and retrieved"),
        ("b", -1.0, "not relevant and retrieved"),
        ("c", 0.0, "relevant and not retrieved"),
        ("d", 0.0, "neither"),
    ]
]
_WORTH.append(
    Parameter(
        "docs",
        0,
        "documents of the collection, for d, a whole number from 0 up",
        valid=lambda docs: docs >= 0,
    )
)


def _found(gain: Any, ranked: RankedList) -> Any:
    return jnp.sum(hits(gain, ranked)).astype(gain.dtype)


def _f(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    over = (1 + q["beta"]) * _found(gain, ranked)
    length = ranked.length.astype(gain.dtype)
    under = length + rounded(q["beta"] * count, count > 0)
    return jnp.where(count > 0, ratio(over, under), 0.0)


def _average_precision(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    precision = ratio(_found(gain, ranked), ranked.length)
    return precision * ratio(_found(gain, ranked), count)


def _relative(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    length = ranked.length.astype(gain.dtype)
    return share(gain, ranked, jnp.minimum(count, q["k"] or length))


def _utility(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    found, length = _found(gain, ranked), ranked.length.astype(gain.dtype)
    others = length - found
    there = length >= 0  # always: products are rounded before they are added
    return (
        rounded(q["a"] * found, there)
        + rounded(q["b"] * others, there)
        + rounded(q["c"] * (count - found), there)
        + rounded(q["d"] * (q["docs"] - count - others), there)
    )


def _in_order(gain: Any, ranked: RankedList, count: Any, q: Parameters) -> Any:
    length = ranked.length.clip(max=q["k"])
    return places.ordered_pairs(gain, ranked, length.astype(gain.dtype))


def _counted(kernel: Callable[..., Any], twin: Score, *more: Parameter) -> Gains:
    """Make a measure of relevant documents, and of how many there are."""
    parameters = REL, *more
    return of_relevant(ideal=count, kernel=kernel, twin=twin, parameters=parameters)


def _plain(kernel: Callable[..., Any], twin: Score) -> Gains:
    """Make a measure for which no document has to be relevant."""
    return Gains(gains=lambda grades, q, highest: grades, kernel=kernel, twin=twin)


def _whole(name: str, meaning: str, measure: Gains, **texts: Any) -> Definition:
    """Define a measure of all that was retrieved.

    It may say something of queries without relevant documents.
    """
    measure = replace(measure, depth=lambda q: None)
    return replace(
        define(name, meaning, measure.parameters, measure, cutoff="no", **texts),
        tensors=lambda q, judgments: replace(of_qrels(measure, q, judgments), void=[]),
    )


_SUM = "over queries, it is added up, as in trec_eval and ir_measures; "

NUM_Q = _whole(
    "NumQ",
    "Number of queries: 1 of each judged query that the run has",
    _plain(
        lambda gain, ranked, ideal, q: jnp.where(ranked.length > 0, 1.0, 0.0),
        lambda run, pool, q: float(len(run) > 0),
    ),
    source="as in trec_eval",
    formula="1",
    differs=_SUM + "as num_q of trec_eval, but for -c, which counts all judged "
    "queries, and ir_measures' NumQ",
    aliases={"num_q": "NumQ"},
)
NUM_RET = _whole(
    "NumRet",
    "Number of documents that were retrieved",
    _plain(
        lambda gain, ranked, ideal, q: ranked.length.astype(gain.dtype),
        lambda run, pool, q: float(len(run)),
    ),
    source="as in trec_eval",
    formula="n: documents of the run",
    differs=_SUM + "as trec_eval's num_ret, and ir_measures' NumRet without rel",
    aliases={"num_ret": "NumRet"},
)
NUM_REL = _whole(
    "NumRel",
    "Number of relevant documents that there are",
    _counted(
        lambda gain, ranked, count, q: jnp.where(ranked.length > 0, count, 0.0),
        lambda run, pool, q: float(len(relevant_ranks(pool))),
    ),
    source="as in trec_eval",
    formula="R: documents with a grade of rel or more",
    differs=_SUM + "as num_rel of trec_eval, but for -c, which counts those of queries "
    "that the run lacks, and ir_measures' NumRel",
    aliases={"num_rel": "NumRel"},
)
NUM_REL_RET = _whole(
    "NumRelRet",
    "Number of relevant documents that were retrieved",
    _counted(
        lambda gain, ranked, count, q: _found(gain, ranked),
        lambda run, pool, q: float(len(relevant_ranks(run))),
    ),
    source="as in trec_eval",
    formula="r: relevant documents of the run",
    differs=_SUM + "as trec_eval's num_rel_ret, and ir_measures' NumRet with rel",
    aliases={"num_rel_ret": "NumRelRet"},
)
SET_F = _whole(
    "SetF",
    "F: weighted harmonic mean of the precision and recall of all retrieved documents",
    _counted(_f, lambda run, pool, q: twins.set_f(run, pool, q["beta"]), _BETA),
    source="van Rijsbergen 1979, as in trec_eval",
    formula="(1 + beta) P R / (beta P + R), P: precision, R: recall",
    differs="as trec_eval's set_F and ir_measures' SetF, whose parameters, too, are "
    "the square of van Rijsbergen's beta",
    aliases={"set_F": "SetF", "set_F_{x}": "SetF(beta={x})"},
)
SET_AP = _whole(
    "SetAP",
    "Precision times recall of all retrieved documents",
    _counted(_average_precision, lambda run, pool, q: twins.set_ap(run, pool)),
    source="as in trec_eval",
    formula="r^2 / (n R), r: relevant documents of the run, n: documents of the run",
    differs="as trec_eval's set_map and ir_measures' SetAP",
    aliases={"set_map": "SetAP"},
)
_REL_P = _counted(_relative, lambda run, pool, q: twins.relative(run, pool, q["k"]))
REL_P = define(
    "RelP",
    "Relative precision: precision, divided by the highest that there can be",
    _REL_P.parameters,
    _REL_P,
    source="as in trec_eval",
    formula="RelP@k = relevant documents at ranks r <= k, divided by min(k, R), and "
    "without a cutoff by min(n, R), n: documents of the run",
    differs="as trec_eval's relative_P and, without a cutoff, set_relative_P; "
    "ir_measures' SetRelP",
    aliases={"relative_P_{k}": "RelP@{k}", "set_relative_P": "RelP", "SetRelP": "RelP"},
)
_SUCCESS = _counted(
    lambda gain, ranked, count, q: jnp.any(hits(gain, ranked)).astype(gain.dtype),
    lambda run, pool, q: float(len(relevant_ranks(run, q["k"])) > 0),
)
SUCCESS = define(
    "Success",
    "1 if a relevant document is among the first k, else 0",
    _SUCCESS.parameters,
    _SUCCESS,
    source="TREC Question Answering tracks, as in trec_eval",
    formula="Success@k = max over ranks r <= k of [g(r) >= rel]",
    differs="as trec_eval's success and ir_measures' Success",
    cutoff="must",
    aliases={"success_{k}": "Success@{k}"},
)
UTILITY = _whole(
    "utility",
    "What the retrieved and the other documents are worth, relevant or not, added up",
    _counted(_utility, lambda run, pool, q: twins.utility(run, pool, q), *_WORTH),
    source="TREC Filtering tracks, as in trec_eval",
    formula="a r + b (n - r) + c (R - r) + d (docs - n - R + r)",
    differs="as trec_eval's utility, whose -N is docs",
)
_ACCURACY = _counted(_in_order, lambda run, pool, q: twins.accuracy(run, q["k"]))
ACCURACY = define(
    "Accuracy",
    "Share of the pairs of a relevant and another retrieved document that are in order",
    _ACCURACY.parameters,
    _ACCURACY,
    source="as in ir_measures",
    formula="1 - the sum over relevant ranks r <= k of r - C(r), divided by r (m - r), "
    "r: relevant documents among the first k, m: min(k, documents of the run)",
    differs="as ir_measures' Accuracy, which leaves queries out where a run has no "
    "relevant document (0 here), and stops where it has no other (1 here)",
)
