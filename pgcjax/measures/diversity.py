"""Diversity of binary judgments: alpha-nDCG and kin, intent recall, precision."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.graded import discounted, normalized
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures.gains import by_log
from pgcjax.measures.intents import Parameters, judged, kinds_of, notes_of, served, void
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference import intents as twins
from pgcjax.tensors.gains import best_discounted
from pgcjax.tensors.intents import greedy_gains
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

ALPHA = Parameter(
    "alpha",
    0.5,
    "what an intent loses each time it is served, a number from 0 to 1",
    valid=lambda alpha: 0 <= alpha <= 1,
)
BETA = Parameter(
    "beta",
    0.5,
    "persistence, a number from 0 up, below 1; 0 looks at one document only",
    valid=lambda beta: 0 <= beta < 1,
)


def by_power(q: Parameters, depth: int) -> np.ndarray:
    """Discount ranks by beta^(rank - 1)."""
    return np.array([0.0, *(q["beta"] ** rank for rank in range(depth))])


def _novel(ranked: RankedList, query: kernels.Novelty):
    gain = kernels.gains_of(query.relevance, ranked)
    return kernels.novel(gain, query.fade)


def _alpha_dcg(ranked: RankedList, query: kernels.Novelty, q: Parameters):
    return discounted(_novel(ranked, query), ranked)


def _alpha_ndcg(ranked: RankedList, query: kernels.Novelty, q: Parameters):
    return normalized(_novel(ranked, query), ranked, query.scale)


def _nrbp(ranked: RankedList, query: kernels.Novelty, q: Parameters):
    return query.scale * discounted(_novel(ranked, query), ranked)


def _recall(ranked: RankedList, query: kernels.Served, q: Parameters):
    return kernels.recall(kernels.gains_of(query.relevance, ranked), query.intents)


def _precision(ranked: RankedList, query: kernels.Effective, q: Parameters):
    gain = kernels.gains_of(query.relevance, ranked)
    return kernels.precision(kernels.effective(gain, query.navigational), query.k)


def _lists(
    kernel: Callable[..., Any],
    of_query: Callable[[np.ndarray, Parameters], Any],
    by_rank: Callable[[Parameters, int], np.ndarray] | None,
    q: Parameters,
    judgments: Judgments,
) -> ListTensors:
    """Return what scoring batches: what a measure makes of the grades of each query."""
    grades = judged(judgments)
    return ListTensors(
        grades.docs,
        {query: of_query(rows, q) for query, rows in grades.relevance.items()},
        kernel,
        depth=q.get("k"),
        by_rank=partial(by_rank, q) if by_rank else None,
        void=void(grades),
    )


def _novelty(relevance: np.ndarray, q: Parameters) -> kernels.Novelty:
    most = int((relevance > 0).sum(1).max(initial=0))
    fade = np.cumprod(np.append(1.0, np.full(most, 1 - q["alpha"])))
    return kernels.Novelty(relevance, fade, ())


def _with_best(
    relevance: np.ndarray,
    q: Parameters,
    by_rank: Callable[[Parameters, int], np.ndarray] = by_log,
) -> kernels.Novelty:
    novelty = _novelty(relevance, q)
    gains = greedy_gains(relevance > 0, novelty.fade, q.get("k"))
    best = best_discounted(np.array(gains), by_rank(q, len(gains)))
    return novelty._replace(scale=best)


def _with_scale(relevance: np.ndarray, q: Parameters) -> kernels.Novelty:
    geometric = 1 - (1 - q["alpha"]) * q["beta"]
    return _novelty(relevance, q)._replace(scale=geometric / max(1, len(relevance)))


def _effective(q: Parameters, judgments: Judgments) -> ListTensors:
    kinds, k = kinds_of(judgments), np.float64(q["k"])
    lists = _lists(_precision, lambda relevance, q: relevance, None, q, judgments)
    arrays = {
        query: kernels.Effective(relevance, kinds[query], k)
        for query, relevance in lists.arrays.items()
    }
    return replace(lists, arrays=arrays, notes=notes_of(judgments))


def _needs(*kinds: str) -> Callable[[Parameters], frozenset[str]]:
    return lambda q: frozenset(kinds)


ALPHA_NDCG = Definition(
    name="alpha_nDCG",
    meaning="nDCG of novelty: documents are worth less to an intent that was served",
    parameters=(ALPHA,),
    source="Clarke et al., Novelty and diversity in information retrieval evaluation, "
    "SIGIR 2008; Sakai 2012, section 2.2",
    formula="sum over r <= k of NG(r) / log2(1 + r), over that of the ideal list; "
    "NG(r) = sum over intents i of J_i(r) (1 - alpha)^(C_i(r - 1)); the ideal list is "
    "greedy, ties by doc id descending",
    differs="As ndeval (alpha-nDCG) and ir_measures (alpha_nDCG); ndeval orders runs "
    "by rank, pyndeval and ir_measures as --order clarke",
    needs=_needs("intent_qrels"),
    tensors=partial(_lists, _alpha_ndcg, _with_best, by_log),
    twin=twins.alpha_ndcg,
    cutoff="may",
    aliases={"alpha-nDCG": "alpha_nDCG", "α_nDCG": "alpha_nDCG"},
)
ALPHA_DCG = Definition(
    name="alpha_DCG",
    meaning="DCG of novelty: documents are worth less to an intent that was served",
    parameters=(ALPHA,),
    source="Clarke et al., Novelty and diversity in information retrieval evaluation, "
    "SIGIR 2008",
    formula="sum over r <= k of NG(r) / log2(1 + r); NG: see alpha_nDCG",
    differs="ndeval and ir_measures divide it by that of a list of k documents that "
    "all serve every intent",
    needs=_needs("intent_qrels"),
    tensors=partial(_lists, _alpha_dcg, _novelty, by_log),
    twin=twins.alpha_dcg,
    cutoff="may",
)
NRBP = Definition(
    name="NRBP",
    meaning="Novelty- and rank-biased precision",
    parameters=(ALPHA, BETA),
    source="Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and "
    "underspecified queries, ICTIR 2009",
    formula="(1 - (1 - alpha) beta) / n * sum over r of beta^(r - 1) NG(r), of n "
    "intents with a relevant document; NG: see alpha_nDCG",
    differs="As ndeval and ir_measures",
    needs=_needs("intent_qrels"),
    tensors=partial(_lists, _nrbp, _with_scale, by_power),
    twin=twins.nrbp,
)
NNRBP = Definition(
    name="nNRBP",
    meaning="Novelty- and rank-biased precision, divided by that of the ideal list",
    parameters=(ALPHA, BETA),
    source="Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and "
    "underspecified queries, ICTIR 2009, as in ndeval",
    formula="NRBP / NRBP of the ideal list of alpha_nDCG",
    differs="As ndeval and ir_measures, which have no number where nothing is relevant",
    needs=_needs("intent_qrels"),
    tensors=partial(
        _lists, _alpha_ndcg, partial(_with_best, by_rank=by_power), by_power
    ),
    twin=twins.nnrbp,
)
I_REC = Definition(
    name="I-rec",
    meaning="Intent recall: share of intents that a relevant document serves",
    parameters=(),
    source="Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003 "
    "(subtopic recall); Sakai 2012, section 2.2",
    formula="intents with a relevant document among ranks r <= k, divided by n "
    "intents with any relevant document",
    differs="As strec of ndeval and StRecall of ir_measures",
    needs=_needs("intent_qrels"),
    tensors=partial(_lists, _recall, lambda relevance, q: served(relevance), None),
    twin=twins.intent_recall,
    cutoff="may",
    aliases={"strec_{k}": "I-rec@{k}", "StRecall": "I-rec"},
)
EFP = Definition(
    name="EfP",
    meaning="Effective precision: share of k documents that serve an intent; only the "
    "first serves a navigational one",
    parameters=(),
    source="Sakai 2012, section 4.2",
    formula="documents at ranks r <= k that are relevant to an informational intent, "
    "or the first to a navigational one, divided by k",
    differs="The paper prints 3/5 = 0.8 for the list of its figure 1: 3/5 is 0.6",
    needs=_needs("intent_qrels", "intents"),
    tensors=_effective,
    twin=twins.effective_precision,
    cutoff="must",
)
