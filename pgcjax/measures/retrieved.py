"""Measures of the set of retrieved documents: counts, and functions of counts."""

from math import inf
from typing import Annotated

from pgcjax.kernels import relevance as places
from pgcjax.kernels.graded import hits, share
from pgcjax.kernels.ranked_list import ratio, rounded
from pgcjax.later import jnp
from pgcjax.measures.gains import Graded, Relevant
from pgcjax.measures.measure import Parameter
from pgcjax.reference import relevance as twins
from pgcjax.reference.relevance import relevant_ranks


def _retrieved(gain, run):
    """Count the relevant documents of a run."""
    return jnp.sum(hits(gain, run)).astype(gain.dtype)


class NumQ(Graded):
    """Number of queries: 1 of each judged query that the run has."""

    name = "NumQ"
    source = "as in trec_eval"
    formula = "1"
    differs = (
        "over queries, it is added up, as in trec_eval and ir_measures; as num_q of "
        "trec_eval, but for -c, which counts all judged queries, and ir_measures' "
        "NumQ"
    )
    cutoff = "no"
    aliases = {"num_q": "NumQ"}

    of_all_queries = True

    def score(self, gain, run, ideal):
        return jnp.where(run.length > 0, 1.0, 0.0)

    def plain_score(self, run, pool):
        return float(len(run) > 0)


class NumRet(Graded):
    """Number of documents that were retrieved."""

    name = "NumRet"
    source = "as in trec_eval"
    formula = "n: documents of the run"
    differs = (
        "over queries, it is added up, as in trec_eval and ir_measures; as "
        "trec_eval's num_ret, and ir_measures' NumRet without rel"
    )
    cutoff = "no"
    aliases = {"num_ret": "NumRet"}

    of_all_queries = True

    def score(self, gain, run, ideal):
        return run.length.astype(gain.dtype)

    def plain_score(self, run, pool):
        return float(len(run))


class NumRel(Relevant):
    """Number of relevant documents that there are."""

    name = "NumRel"
    source = "as in trec_eval"
    formula = "R: documents with a grade of rel or more"
    differs = (
        "over queries, it is added up, as in trec_eval and ir_measures; as num_rel of"
        " trec_eval, but for -c, which counts those of queries that the run lacks, "
        "and ir_measures' NumRel"
    )
    cutoff = "no"
    aliases = {"num_rel": "NumRel"}

    of_all_queries = True

    def score(self, gain, run, ideal):
        return jnp.where(run.length > 0, ideal, 0.0)

    def plain_score(self, run, pool):
        return float(len(relevant_ranks(pool)))


class NumRelRet(Relevant):
    """Number of relevant documents that were retrieved."""

    name = "NumRelRet"
    source = "as in trec_eval"
    formula = "r: relevant documents of the run"
    differs = (
        "over queries, it is added up, as in trec_eval and ir_measures; as "
        "trec_eval's num_rel_ret, and ir_measures' NumRet with rel"
    )
    cutoff = "no"
    aliases = {"num_rel_ret": "NumRelRet"}

    of_all_queries = True

    def score(self, gain, run, ideal):
        return _retrieved(gain, run)

    def plain_score(self, run, pool):
        return float(len(relevant_ranks(run)))


class SetF(Relevant):
    """F: weighted harmonic mean of the precision and recall of all retrieved
    documents.
    """

    name = "SetF"
    source = "van Rijsbergen 1979, as in trec_eval"
    formula = "(1 + beta) P R / (beta P + R), P: precision, R: recall"
    differs = (
        "as trec_eval's set_F and ir_measures' SetF, whose parameters, too, are the "
        "square of van Rijsbergen's beta"
    )
    cutoff = "no"
    aliases = {"set_F": "SetF", "set_F_{x}": "SetF(beta={x})"}

    beta: Annotated[
        float,
        Parameter(
            "what recall counts for against precision, a number above 0",
            valid=lambda beta: 0 < beta < inf,
        ),
    ] = 1.0
    of_all_queries = True

    def score(self, gain, run, ideal):
        over = (1 + self.beta) * _retrieved(gain, run)
        length = run.length.astype(gain.dtype)
        under = length + rounded(self.beta * ideal, ideal > 0)
        return jnp.where(ideal > 0, ratio(over, under), 0.0)

    def plain_score(self, run, pool):
        return twins.set_f(run, pool, self.beta)


class SetAP(Relevant):
    """Precision times recall of all retrieved documents."""

    name = "SetAP"
    source = "as in trec_eval"
    formula = "r^2 / (n R), r: relevant documents of the run, n: documents of the run"
    differs = "as trec_eval's set_map and ir_measures' SetAP"
    cutoff = "no"
    aliases = {"set_map": "SetAP"}

    of_all_queries = True

    def score(self, gain, run, ideal):
        precision = ratio(_retrieved(gain, run), run.length)
        return precision * ratio(_retrieved(gain, run), ideal)

    def plain_score(self, run, pool):
        return twins.set_ap(run, pool)


class RelP(Relevant):
    """Relative precision: precision, divided by the highest that there can be."""

    name = "RelP"
    source = "as in trec_eval"
    formula = (
        "RelP@k = relevant documents at ranks r <= k, divided by min(k, R), and "
        "without a cutoff by min(n, R), n: documents of the run"
    )
    differs = (
        "as trec_eval's relative_P and, without a cutoff, set_relative_P; "
        "ir_measures' SetRelP"
    )
    aliases = {
        "relative_P_{k}": "RelP@{k}",
        "set_relative_P": "RelP",
        "SetRelP": "RelP",
    }

    def score(self, gain, run, ideal):
        most = run.length.astype(gain.dtype) if self.k is None else self.k
        return share(gain, run, jnp.minimum(ideal, most))

    def plain_score(self, run, pool):
        return twins.relative(run, pool, self.k)


class Success(Relevant):
    """1 if a relevant document is among the first k, else 0."""

    name = "Success"
    source = "TREC Question Answering tracks, as in trec_eval"
    formula = "Success@k = max over ranks r <= k of [g(r) >= rel]"
    differs = "as trec_eval's success and ir_measures' Success"
    cutoff = "must"
    aliases = {"success_{k}": "Success@{k}"}

    def score(self, gain, run, ideal):
        return jnp.any(hits(gain, run)).astype(gain.dtype)

    def plain_score(self, run, pool):
        return float(len(relevant_ranks(run, self.k)) > 0)


def _worth(which: str) -> Parameter:
    return Parameter(
        f"worth of a document that is {which}, a number",
        valid=lambda worth: -inf < worth < inf,
    )


class Utility(Relevant):
    """Worth of the retrieved and the other documents, relevant or not, added
    up.
    """

    name = "utility"
    source = "TREC Filtering tracks, as in trec_eval"
    formula = "a r + b (n - r) + c (R - r) + d (docs - n - R + r)"
    differs = "as trec_eval's utility, whose -N is docs"
    cutoff = "no"

    a: Annotated[float, _worth("relevant and retrieved")] = 1.0
    b: Annotated[float, _worth("not relevant and retrieved")] = -1.0
    c: Annotated[float, _worth("relevant and not retrieved")] = 0.0
    d: Annotated[float, _worth("neither")] = 0.0
    docs: Annotated[
        int,
        Parameter(
            "documents of the collection, for d, a whole number from 0 up",
            valid=lambda docs: docs >= 0,
        ),
    ] = 0
    of_all_queries = True

    def score(self, gain, run, ideal):
        retrieved, length = _retrieved(gain, run), run.length.astype(gain.dtype)
        others = length - retrieved
        there = length >= 0  # always true; rounds products before they are added
        return (
            rounded(self.a * retrieved, there)
            + rounded(self.b * others, there)
            + rounded(self.c * (ideal - retrieved), there)
            + rounded(self.d * (self.docs - ideal - others), there)
        )

    def plain_score(self, run, pool):
        return twins.utility(run, pool, self.parameters)


class Accuracy(Relevant):
    """Share of the pairs of a relevant and another retrieved document that are in
    order.
    """

    name = "Accuracy"
    source = "as in ir_measures"
    formula = (
        "1 - the sum over relevant ranks r <= k of r - C(r), divided by r (m - r), r:"
        " relevant documents among the first k, m: min(k, documents of the run)"
    )
    differs = (
        "as ir_measures' Accuracy, which leaves queries out where a run has no "
        "relevant document (0 here), and stops where it has no other (1 here)"
    )

    def score(self, gain, run, ideal):
        length = run.length.astype(gain.dtype)
        if self.k is not None:
            length = jnp.minimum(length, self.k)
        return places.ordered_pairs(gain, run, length)

    def plain_score(self, run, pool):
        return twins.accuracy(run, self.k)


MEASURES = (
    *(NumQ(), NumRet(), NumRel(), NumRelRet(), SetF(), SetAP(), RelP(), Success()),
    *(Utility(), Accuracy()),
)
