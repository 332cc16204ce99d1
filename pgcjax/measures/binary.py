"""Measures of relevant documents, all alike, and of documents that were judged."""

from typing import Annotated

import numpy as np

from pgcjax.kernels import graded as kernels
from pgcjax.kernels import relevance as places
from pgcjax.kernels.ranked_list import picked
from pgcjax.later import jnp
from pgcjax.measures.gains import (
    Gmax,
    Graded,
    ListMeasure,
    Rel,
    Relevant,
    by_power,
    by_reciprocal,
    given_or,
    mapped,
    relevance,
)
from pgcjax.measures.measure import Parameter
from pgcjax.reference import gains as to_gains
from pgcjax.reference import graded as twins
from pgcjax.reference import relevance as places_twins
from pgcjax.tensors.gains import grades_of


def _judged(judgments):
    """Return the judged documents of each query, and a 1 for each of them."""
    docs = grades_of(judgments, positive_only=False).docs
    return docs, {query: np.ones(len(of)) for query, of in docs.items()}


def _residual(measure, run, judged):
    """Compute the most that unjudged documents could add to the score."""
    return kernels.residual(picked(judged, run.vertex), run)


class RBP(Graded):
    """Rank-biased precision: gain per document of a user who goes on with chance p."""

    name = "RBP"
    source = "Moffat and Zobel 2008"
    formula = (
        "(1 - p) times the sum over ranks r <= k of g(r) p^(r-1); residual: 1 - (1 - "
        "p) times the sum of p^(r-1) over ranks r <= k of judged documents"
    )
    differs = (
        "trec_eval's rbp is RBP(p=0.9,gain=linear,gmax=topic), and its rbp_resid "
        "takes grades below 0 for unjudged; ir_measures has p=0.8, NTCIREVAL "
        "gain=linear; ranx takes grades as gains, undivided"
    )
    aliases = {"rbp_resid": "RBP(p=0.9,value=residual)"}

    p: Annotated[
        float,
        Parameter(
            "persistence, a number above 0 and below 1", valid=lambda p: 0 < p < 1
        ),
    ] = 0.95
    gain: Annotated[
        str,
        Parameter(
            "one of binary (1 from rel on), linear (g / gmax), exp ((2^g - 1) / "
            "(2^gmax - 1))",
            allowed=("binary", "linear", "exp"),
        ),
    ] = "binary"
    rel: Rel = 1.0
    gmax: Gmax = "collection"
    value: Annotated[
        str,
        Parameter(
            "one of base (what judged documents give), residual (what all others "
            "might add)",
            allowed=("base", "residual"),
            inherited=False,
        ),
    ] = "base"

    def gains(self, grades, highest):
        """Map grades to gains from 0 to 1."""
        if self.gain == "binary":
            return relevance(grades, self.rel)
        most = np.array([given_or(self.gmax, highest, grades)])
        return mapped(grades, self.gain) / mapped(most, self.gain)

    def weights(self, depth):
        return (1 - self.p) * by_power(self.p, depth)

    def score(self, gain, run, ideal):
        return kernels.discounted(gain, run)

    def plain_gain(self, grade, highest):
        return to_gains.utility(grade, highest, gain=self.gain, rel=self.rel)

    def plain_score(self, run, pool):
        return twins.rbp(run, self.p, self.k)

    def prepare(self, judgments):
        if self.value == "residual":
            return self.lists(*_judged(judgments), _residual)
        return super().prepare(judgments)

    def twin(self, case):
        if self.value == "residual":
            return twins.rbp_residual(to_gains.judged(case), self.p, self.k)
        return super().twin(case)


class AP(Relevant):
    """Average precision at the ranks of relevant documents."""

    name = "AP"
    source = "Harman 1992, as in trec_eval"
    formula = (
        "AP@k = 1 / R times the sum over relevant ranks r <= k of C(r) / r; R: "
        "relevant documents, C(r): those down to rank r"
    )
    differs = (
        "as trec_eval's map and map_cut, ir_measures' AP and ranx' map; NTCIREVAL "
        "divides AP@k by min(k, R): relevant=reachable"
    )
    aliases = {"map": "AP", "map_cut_{k}": "AP@{k}", "gm_map": "AP(mean=geometric)"}

    relevant: Annotated[
        str,
        Parameter(
            "what AP@k is divided by, one of all (relevant documents, as trec_eval), "
            "reachable (k of them at most, as NTCIREVAL)",
            allowed=("all", "reachable"),
        ),
    ] = "all"

    def ideal(self, gains):
        """Count the relevant documents, or those that AP@k can have."""
        count = super().ideal(gains)
        if self.relevant == "reachable" and self.k:
            return min(count, float(self.k))
        return count

    def score(self, gain, run, ideal):
        return kernels.precise(gain, run, ideal)

    def plain_score(self, run, pool):
        return twins.average_precision(run, pool, self.k, self.relevant)


class RR(Relevant):
    """Reciprocal rank of the first relevant document."""

    name = "RR"
    source = "Kantor and Voorhees 2000, as in trec_eval"
    formula = "RR@k = 1 / r of the first relevant rank r, 0 if there is none up to k"
    differs = "as trec_eval's recip_rank, ir_measures' RR and ranx' mrr"
    aliases = {"recip_rank": "RR", "mrr": "RR"}

    def ideal(self, gains):
        """Return nothing: the run alone decides."""
        return ()

    def weights(self, depth):
        return by_reciprocal(depth)

    def score(self, gain, run, ideal):
        return kernels.first(gain, run)

    def plain_score(self, run, pool):
        return twins.reciprocal_rank(run, self.k)


class P(Relevant):
    """Precision: share of relevant documents in k, or in all that were retrieved."""

    name = "P"
    source = "as in trec_eval"
    formula = "P@k = relevant documents at ranks r <= k, divided by k"
    differs = (
        "as trec_eval's P and, without a cutoff, set_P; ir_measures' P; ranx' "
        "precision. A run of fewer documents is divided by k all the same"
    )
    aliases = {"P_{k}": "P@{k}", "set_P": "P", "SetP": "P", "precision": "P"}

    def ideal(self, gains):
        """Return the cutoff, which is all that `score` needs beside the run."""
        return float(self.k or 0)

    def score(self, gain, run, ideal):
        of = run.length.astype(gain.dtype) if self.k is None else ideal
        return kernels.share(gain, run, of)

    def plain_score(self, run, pool):
        return twins.precision(run, self.k)


class R(Relevant):
    """Recall: share of the relevant documents that was retrieved, up to rank k."""

    name = "R"
    source = "as in trec_eval"
    formula = "R@k = relevant documents at ranks r <= k, divided by all relevant ones"
    differs = (
        "as trec_eval's recall and, without a cutoff, set_recall; ir_measures' R; "
        "ranx' recall"
    )
    aliases = {"recall_{k}": "R@{k}", "set_recall": "R", "SetR": "R", "recall": "R"}

    def score(self, gain, run, ideal):
        return kernels.share(gain, run, ideal)

    def plain_score(self, run, pool):
        return twins.recall(run, pool, self.k)


class BinG(Relevant):
    """Relevant documents, each discounted by how many others stand above it."""

    name = "binG"
    source = "as in trec_eval"
    formula = "1 / R times the sum over relevant ranks r of 1 / log2(2 + r - C(r))"
    differs = "as trec_eval's binG"
    cutoff = "no"

    def score(self, gain, run, ideal):
        return places.undisturbed(gain, run, ideal)

    def plain_score(self, run, pool):
        return places_twins.bin_g(run, pool)


class Yaap(Relevant):
    """Average precision on a scale that can be averaged: the logarithm of its odds."""

    name = "yaap"
    source = "Robertson 2012, as in trec_eval"
    formula = "ln((1 + s) / (1 + R - s)), s = R AP"
    differs = (
        "as trec_eval's yaap; a query that a run lacks is 0 all the same, and this is"
        " no low score here"
    )
    cutoff = "no"

    def score(self, gain, run, ideal):
        precision = kernels.precise(gain, run, jnp.ones_like(ideal))
        return jnp.log((1 + precision) / (1 + ideal - precision))

    def plain_score(self, run, pool):
        return places_twins.yaap(run, pool)


class JudgedShare(ListMeasure):
    """Share of judged documents, of any grade, in the first k of a run."""

    name = "Judged"
    source = "as in ir_measures"
    formula = "judged documents at ranks r <= k, divided by min(k, documents retrieved)"
    differs = (
        "as ir_measures' Judged with --order clarke; of runs with k documents 1 - "
        "trec_eval's unj_k, which takes grades below 0 for unjudged"
    )
    cutoff = "may"

    def prepare(self, judgments):
        return self.lists(*_judged(judgments))

    def kernel(self, run, judged):
        """Score one run and query."""
        gain = picked(judged, run.vertex)
        length = run.length.astype(gain.dtype)
        most = length if self.k is None else jnp.minimum(length, self.k)
        return kernels.share(gain, run, most)

    def twin(self, case):
        return twins.judged(to_gains.judged(case), self.k)


MEASURES = RBP(), AP(), RR(), P(), R(), BinG(), Yaap(), JudgedShare()
