"""Diversity from binary judgments: alpha-nDCG and kin, intent recall, precision."""

from typing import Annotated, Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.graded import discounted, normalized
from pgcjax.measures.gains import by_log, by_power
from pgcjax.measures.intents import OfIntentGrades, judged, kinds_of, served
from pgcjax.measures.measure import Parameter
from pgcjax.reference import intents as twins
from pgcjax.tensors.gains import best_discounted
from pgcjax.tensors.intents import greedy_gains
from pgcjax.tensors.judgments import Judgments

Alpha = Annotated[
    float,
    Parameter(
        "what an intent loses each time it is served, a number from 0 to 1",
        valid=lambda alpha: 0 <= alpha <= 1,
    ),
]
Beta = Annotated[
    float,
    Parameter(
        "persistence, a number from 0 up, below 1; 0 looks at one document only",
        valid=lambda beta: 0 <= beta < 1,
    ),
]


class OfServedIntents(OfIntentGrades):
    """A measure of the intents to which each document is relevant."""

    def of_query(self, relevance: np.ndarray) -> Any:
        """Return the kernel's input from the grades `[intents, documents]`."""
        return relevance

    def of_queries(self, judgments: Judgments) -> dict[str, Any]:
        """Return the kernel's input for each query."""
        grades = judged(judgments).relevance
        return {query: self.of_query(rows) for query, rows in grades.items()}


class AlphaDCG(OfServedIntents):
    """DCG of novelty: documents are worth less to an intent that was served."""

    name = "alpha_DCG"
    source = (
        "Clarke et al., Novelty and diversity in information retrieval evaluation, "
        "SIGIR 2008"
    )
    formula = "sum over r <= k of NG(r) / log2(1 + r); NG: see alpha_nDCG"
    differs = (
        "ndeval and ir_measures divide it by that of a list of k documents that all "
        "serve every intent"
    )
    cutoff = "may"

    alpha: Alpha = 0.5

    def of_query(self, relevance):
        most = int((relevance > 0).sum(1).max(initial=0))
        fade = np.cumprod(np.append(1.0, np.full(most, 1 - self.alpha)))
        return kernels.Novelty(relevance, fade, ())

    def weights(self, depth):
        return by_log(depth)

    def novel(self, run, query):
        """Return the gain of each document: less for intents that were served."""
        return kernels.novel(kernels.gains_of(query.relevance, run), query.fade)

    def kernel(self, run, query):
        return discounted(self.novel(run, query), run)

    def twin(self, case):
        return twins.alpha_dcg(case)


class AlphaNDCG(AlphaDCG):
    """nDCG of novelty: documents are worth less to an intent that was served."""

    name = "alpha_nDCG"
    source = (
        "Clarke et al., Novelty and diversity in information retrieval evaluation, "
        "SIGIR 2008; Sakai 2012, section 2.2"
    )
    formula = (
        "sum over r <= k of NG(r) / log2(1 + r), over that of the ideal list; NG(r) ="
        " sum over intents i of J_i(r) (1 - alpha)^(C_i(r - 1)); the ideal list is "
        "greedy, ties by doc id descending"
    )
    differs = (
        "As ndeval (alpha-nDCG) and ir_measures (alpha_nDCG); ndeval orders runs by "
        "rank, pyndeval and ir_measures as --order clarke"
    )
    cutoff = "may"
    aliases = {"alpha-nDCG": "alpha_nDCG", "α_nDCG": "alpha_nDCG"}

    def of_query(self, relevance):
        novelty = super().of_query(relevance)
        gains = greedy_gains(relevance > 0, novelty.fade, self.depth)
        best = best_discounted(np.array(gains), self.weights(len(gains)))
        return novelty._replace(scale=best)

    def kernel(self, run, query):
        return normalized(self.novel(run, query), run, query.scale)

    def twin(self, case):
        return twins.alpha_ndcg(case)


class NRBP(AlphaDCG):
    """Novelty- and rank-biased precision."""

    name = "NRBP"
    source = (
        "Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and "
        "underspecified queries, ICTIR 2009"
    )
    formula = (
        "(1 - (1 - alpha) beta) / n * sum over r of beta^(r - 1) NG(r), of n intents "
        "with a relevant document; NG: see alpha_nDCG"
    )
    differs = "As ndeval and ir_measures"
    cutoff = "no"

    beta: Beta = 0.5

    def of_query(self, relevance):
        geometric = 1 - (1 - self.alpha) * self.beta
        scale = geometric / max(1, len(relevance))
        return super().of_query(relevance)._replace(scale=scale)

    def weights(self, depth):
        return by_power(self.beta, depth)

    def kernel(self, run, query):
        return query.scale * discounted(self.novel(run, query), run)

    def twin(self, case):
        return twins.nrbp(case)


class NNRBP(AlphaNDCG):
    """Novelty- and rank-biased precision, divided by that of the ideal list."""

    name = "nNRBP"
    source = (
        "Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and "
        "underspecified queries, ICTIR 2009, as in ndeval"
    )
    formula = "NRBP / NRBP of the ideal list of alpha_nDCG"
    differs = (
        "As ndeval and ir_measures, which have no number where nothing is relevant"
    )
    cutoff = "no"
    aliases = {}

    beta: Beta = 0.5

    def weights(self, depth):
        return by_power(self.beta, depth)

    def twin(self, case):
        return twins.nnrbp(case)


class IRec(OfServedIntents):
    """Intent recall: share of intents that a relevant document serves."""

    name = "I-rec"
    source = (
        "Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003 (subtopic"
        " recall); Sakai 2012, section 2.2"
    )
    formula = (
        "intents with a relevant document among ranks r <= k, divided by n intents "
        "with any relevant document"
    )
    differs = "As strec of ndeval and StRecall of ir_measures"
    cutoff = "may"
    aliases = {"strec_{k}": "I-rec@{k}", "StRecall": "I-rec"}

    def of_query(self, relevance):
        return served(relevance)

    def kernel(self, run, query):
        return kernels.recall(kernels.gains_of(query.relevance, run), query.intents)

    def twin(self, case):
        return twins.intent_recall(case)


class EfP(OfServedIntents):
    """Effective precision: share of k documents that serve an intent; only the first
    serves a navigational one.
    """

    name = "EfP"
    source = "Sakai 2012, section 4.2"
    formula = (
        "documents at ranks r <= k that are relevant to an informational intent, or "
        "the first to a navigational one, divided by k"
    )
    differs = "The paper prints 3/5 = 0.8 for the list of its figure 1: 3/5 is 0.6"
    cutoff = "must"

    tells_kinds = True

    def of_queries(self, judgments):
        arrays, kinds = super().of_queries(judgments), kinds_of(judgments)
        k = np.float64(self.k or 0)
        return {q: kernels.Effective(rows, kinds[q], k) for q, rows in arrays.items()}

    def kernel(self, run, query):
        gain = kernels.gains_of(query.relevance, run)
        return kernels.precision(kernels.effective(gain, query.navigational), query.k)

    def twin(self, case):
        return twins.effective_precision(case)


MEASURES = AlphaNDCG(), AlphaDCG(), NRBP(), NNRBP(), IRec(), EfP()
