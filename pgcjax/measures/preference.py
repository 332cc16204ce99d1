"""Preference measures: how far the order of a run agrees with preferences."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import log2
from typing import Any

import numpy as np

from pgcjax.kernels import preference as kernels
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.judgment_groups import RELEVANT, mean_of_groups
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures.compatibility import GRAPH, graph_needs
from pgcjax.measures.gains import Gains, Parameters, by_log, on_gains
from pgcjax.measures.graded import ERR_GAINS, NDCG_GAINS, stopping
from pgcjax.measures.spec import Case, Definition, Parameter
from pgcjax.reference import gains as to_gains
from pgcjax.reference import preference as twins
from pgcjax.tensors import pairs as p
from pgcjax.tensors.judgment_groups import judged_groups
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

BAD = Parameter(
    "bad",
    True,
    "true (every other document is preferred to one that was judged bad) or false "
    "(that it was is ignored)",
)
CLOSURE = Parameter(
    "closure",
    False,
    "true (what chains of a judge's preferences imply counts, too) or false",
)
WEIGHT = Parameter(
    "weight",
    "lower",
    "of a pair, one of lower (1 / log2(1 + its lower rank); 0 if a document was not "
    "retrieved), upper (1 / log2(1 + its upper rank)), tool (1 / (1 + log2 of that))",
    allowed=("lower", "upper", "tool"),
)
NORMALIZE = Parameter(
    "normalize", True, "true (divide by the weights of all judgments) or false"
)
_ALL = {"": "all", "_imp": "some", "_ret": "both"}
_KINDS = {"all": ["ret", "imp", "not"], "some": ["ret", "imp"], "both": ["ret"]}


def _pairs(q: Parameters, judgments: Judgments) -> p.JudgedPairs:
    how = {"bad": q["bad"], "closure": q["closure"]}
    graph = q.get("graph", "real")
    if graph == "derived":
        return judgments.once(p.graded_pairs, "qrels")
    if graph == "real":
        return judgments.once(p.judged_pairs, "preferences", **how)
    return judgments.once(p.combined_pairs, "preferences", "qrels", **how)


def _lists(
    kernel: Callable[..., Any],
    reads: tuple[str, ...],
    by_judge: bool,
    by_rank: Callable[[Parameters, int], np.ndarray] | None,
    q: Parameters,
    judgments: Judgments,
) -> ListTensors:
    """Return what scoring batches: counts of pairs, pooled or by judge."""
    pairs = _pairs(q, judgments)
    return ListTensors(
        pairs.docs,
        pairs.by_judge if by_judge else pairs.pooled,
        kernel,
        depth=q.get("k"),
        reads=reads,
        by_rank=partial(by_rank, q) if by_rank else None,
        void=[query for query, docs in pairs.docs.items() if not len(docs)],
    )


@cache
def _kernel(score: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Make a kernel of ranked lists, the same at every call."""
    return lambda ranked, pairs, q: score(ranked, pairs, **options)


def _define(
    name: str,
    meaning: str,
    kernel: Callable[..., Any],
    twin: Callable[[Case], float],
    by_judge: bool = False,
    by_rank: Callable[[Parameters, int], np.ndarray] | None = None,
    reads: tuple[str, ...] = (),
    **more: Any,
) -> Definition:
    more = {"parameters": (GRAPH, BAD, CLOSURE), **more}
    tensors = partial(_lists, kernel, reads, by_judge, by_rank)
    texts = {"name": name, "meaning": meaning, **more}
    return Definition(needs=graph_needs, tensors=tensors, twin=twin, **texts)


def _by_rank(q: Parameters, depth: int) -> np.ndarray:
    if q["weight"] == "tool":
        return np.array([0.0, *(1 / (1 + log2(r)) for r in range(1, depth + 1))])
    return by_log(q, depth)


def _weighted(ranked: RankedList, pairs: kernels.PairCounts, q: Parameters) -> Any:
    how = {"lower": q["weight"] == "lower", "normalize": q["normalize"]}
    return kernels.weighted(ranked, pairs, **how)


def _weighted_twin(case: Case) -> float:
    q = case.parameters
    how = q["weight"], q["normalize"]
    return twins.wpref(twins.pooled(case), case.run, twins.cutoff(case), *how)


_SOURCE = "Carterette et al. 2008, section 4; Carterette and Bennett 2008"
_PAIRS_HERE = "f > t: a judgment that prefers f to t; r: rank, inf if not retrieved"
CARTERETTE = (
    _define(
        "ppref",
        "Precision of preferences: of those that the run shows, the share in its order",
        _kernel(kernels.share, among="some"),
        lambda case: twins.ppref(twins.pooled(case), case.run, twins.cutoff(case)),
        source=_SOURCE,
        formula="#{f > t: r(f) < r(t), r(f) <= k} / #{f > t: r(f) <= k or r(t) <= k}; "
        + _PAIRS_HERE,
        differs="jelsas' tool counts a repeated judgment once, and finds fewer that "
        "follow from bad documents",
        cutoff="may",
    ),
    _define(
        "rpref",
        "Recall of preferences: of all, the share in the order of the run",
        _kernel(kernels.share, among="all"),
        lambda case: twins.rpref(twins.pooled(case), case.run, twins.cutoff(case)),
        source=_SOURCE,
        formula="#{f > t: r(f) < r(t), r(f) <= k} / #{f > t}; " + _PAIRS_HERE,
        differs="as ppref",
        cutoff="may",
    ),
    _define(
        "fpref",
        "Harmonic mean of ppref and rpref",
        lambda ranked, pairs, q: kernels.harmonic(ranked, pairs),
        lambda case: twins.fpref(twins.pooled(case), case.run, twins.cutoff(case)),
        source=_SOURCE,
        formula="2 ppref rpref / (ppref + rpref)",
        differs="as ppref",
        cutoff="may",
    ),
    _define(
        "wpref",
        "ppref with each preference weighted by the rank of one of its documents",
        _weighted,
        _weighted_twin,
        by_rank=_by_rank,
        reads=(WEIGHT.name, NORMALIZE.name),
        parameters=(WEIGHT, NORMALIZE, GRAPH, BAD, CLOSURE),
        source=_SOURCE + ", and 5.3 (upper); jelsas' pairwise_pref_eval.py (tool)",
        formula="sum of w over {f > t: r(f) < r(t)} / sum of w over all f > t; w = "
        "1 / log2(1 + max(r(f), r(t))) or as weight says, of the run cut at k",
        differs="wpref of jelsas' tool is weight=tool,normalize=false and its nwpref "
        "weight=tool, but for what ppref says",
        cutoff="may",
    ),
    _define(
        "APpref",
        "Average of ppref at the ranks of all documents that are preferred to any",
        lambda ranked, pairs, q: kernels.average(ranked, pairs),
        lambda case: twins.ap_pref(twins.pooled(case), case.run, twins.cutoff(case)),
        source="Carterette and Bennett 2008, as jelsas' pairwise_pref_eval.py has it",
        formula="mean of ppref@r(f) over documents f of any f > t; rpref for an f that "
        "was not retrieved, or not among the first k",
        differs="jelsas' tool takes no document for preferred that only bad ones "
        "make so, and counts duplicates that were not retrieved",
        cutoff="may",
    ),
)


def _trec(
    kind: str, meaning: str, twin: Callable[[Case, list[str]], float], score: Any
) -> tuple[Definition, ...]:
    """Define a measure of trec_eval, with its variants _imp and _ret."""
    which = {
        "": "; one of documents not retrieved fails",
        "_imp": "; of those of which a document was retrieved",
        "_ret": "; of those of which both documents were retrieved",
    }
    simple = {"": "rpref", "_imp": "ppref"} if kind == "prefs_simp" else {}
    over = {
        "prefs_pair": "mean over pairs of documents of ",
        "prefs_avgjg": "mean over judges of ",
    }.get(kind, "")
    shown = {"": "", "_imp": ": f or t retrieved", "_ret": ": f and t retrieved"}
    return tuple(
        _define(
            kind + variant,
            meaning + which[variant],
            _kernel(score, among=among),
            lambda case, among=among: twin(case, _KINDS[among]),
            by_judge=kind == "prefs_avgjg",
            parameters=(BAD, CLOSURE),
            source="trec_eval 9, form_prefs_counts.c and m_" + kind + variant + ".c",
            formula=f"{over}the share of {{f > t{shown[variant]}}} with r(f) < r(t)"
            + (f", {simple[variant]}; " if variant in simple else "; ")
            + _PAIRS_HERE,
            differs="trec_eval orders runs as --order clarke does, and counts queries "
            "and judges with a single document",
        )
        for variant, among in _ALL.items()
    )


TREC = (
    *_trec(
        "prefs_simp",
        "Share of preferences that the run fulfils",
        lambda case, kinds: twins.prefs_share(twins.pooled(case), case.run, kinds),
        kernels.share,
    ),
    *_trec(
        "prefs_pair",
        "Share of preferences that the run fulfils, averaged over pairs of documents",
        lambda case, kinds: twins.prefs_pair(twins.pooled(case), case.run, kinds),
        kernels.pair_mean,
    ),
    *_trec(
        "prefs_avgjg",
        "Share of preferences that the run fulfils, averaged over judges",
        lambda case, kinds: twins.prefs_avgjg(twins.by_judge(case), case.run, kinds),
        kernels.judge_mean,
    ),
)


def _level_groups(
    kernel: Callable[..., Any], q: Parameters, judgments: Judgments
) -> ListTensors:
    groups = judgments.once(judged_groups, "preferences")
    counts = groups.counts.items()
    void = [query for query, of in counts if not (of.kind == RELEVANT).any()]
    return ListTensors(groups.docs, groups.counts, kernel, reads=(), void=void)


def _balanced(retrieved: bool) -> Definition:
    """Define prefs_avgjg_Rnonrel, of all documents or of those that were retrieved."""
    name = "prefs_avgjg_Rnonrel" + "_ret" * retrieved
    which = "retrieved " * retrieved
    several = (
        "a group of several subgroups keeps as many as all its relevant documents, "
        "retrieved or not; of R - N > 0, all relevant documents count as possible"
        if retrieved
        else "a group of several subgroups has no such comparisons"
    )
    return Definition(
        name=name,
        meaning="Share of preferences that the run fulfils, averaged over judges, of "
        f"as many {which}documents that are not relevant as relevant ones: by "
        "trec_eval, with its mistakes",
        parameters=(),
        needs=lambda q: frozenset({"preferences", "levels"}),
        tensors=partial(_level_groups, _kernel(mean_of_groups, retrieved=retrieved)),
        twin=partial(twins.balanced, retrieved),
        source=f"trec_eval 9, m_{name}.c",
        formula="mean over judges of the share of {f > t} with r(f) < r(t); of the "
        f"judge's {which}documents, R have a level above 0 and N have 0. If N > R, the "
        "first R of the N in the run count, those not retrieved last, by id; if R > N, "
        "R (R - N) preferences are added, which retrieved relevant documents fulfil; "
        + _PAIRS_HERE,
        differs="no measure to compare runs by: in a group of one subgroup with N > R, "
        "the R that are kept are compared with all N that are not relevant, too, as if "
        "these were preferred, so that a perfect run scores .25 for R = 1, N = 3; "
        f"{several}; one judge of whom nothing counts makes the score of the query 0. "
        "trec_eval orders runs as --order clarke does, and counts queries and judges "
        "with a single document",
    )


RNONREL = _balanced(False), _balanced(True)


def _count(name: str, meaning: str, kernel: Any, kinds: list[str], what: str) -> Any:
    def twin(case: Case) -> float:
        counts = twins.prefs_counts(twins.pooled(case), case.run)
        return float(sum(counts[f"{what}_{kind}"] for kind in kinds))

    return _define(
        name,
        meaning,
        kernel,
        twin,
        parameters=(BAD, CLOSURE),
        source=f"trec_eval 9, m_{name}.c",
        formula="a count; over queries, their sum",
    )


COUNTS = (
    _count(
        "prefs_num_prefs_poss",
        "Number of preferences",
        lambda ranked, pairs, q: kernels.possible(ranked, pairs),
        _KINDS["all"],
        "poss",
    ),
    _count(
        "prefs_num_prefs_ful",
        "Number of preferences that the run fulfils",
        _kernel(kernels.fulfilled, among="some"),
        _KINDS["some"],
        "ful",
    ),
    _count(
        "prefs_num_prefs_ful_ret",
        "Number of preferences that the run fulfils, of documents that it retrieved",
        _kernel(kernels.fulfilled, among="both"),
        _KINDS["both"],
        "ful",
    ),
)


def _delta_lists(measure: Gains, q: Parameters, judgments: Judgments) -> ListTensors:
    pairs = _pairs(q, judgments)
    arrays = {}
    for query, delta in pairs.gain.items():
        delta = delta.astype(np.float64)
        gain = measure.gains(delta, q, float(delta.max(initial=0)))
        arrays[query] = QueryGains(gain, measure.ideal(gain, q))
    void = [query for query, gains in arrays.items() if not gains.gain.any()]
    return measure.lists(q, pairs.docs, arrays, on_gains(measure), void=void)


def _delta(name: str, measure: Gains, formula: str) -> Definition:
    return Definition(
        name="Delta-" + name,
        meaning=f"{name} of gains by preferences: a document's wins - losses",
        parameters=(GRAPH, BAD, CLOSURE),
        needs=graph_needs,
        tensors=partial(_delta_lists, measure),
        twin=partial(twins.delta, measure.twin_gain, measure.twin),
        source="after Luo 2021, section 4.1",
        formula=formula + "; g: wins - losses, less the lowest of all documents that "
        "were compared for the query; 0 for other documents",
        differs="its gains are ours: those of Sakai and Zeng 2020 are not public",
        cutoff="may",
    )


DELTA_NDCG = replace(
    NDCG_GAINS, gains=lambda delta, q, highest: delta, twin_gain=to_gains.grade
)
DELTA_ERR = replace(
    ERR_GAINS,
    gains=lambda delta, q, highest: stopping(delta, {"stop": "linear"}, highest),
    twin_gain=to_gains.stop_linear,
)
DELTA = (
    _delta("nDCG", DELTA_NDCG, "nDCG@k of gains g"),
    _delta("ERR", DELTA_ERR, "ERR@k, a user stops at a gain with g / (highest g + 1)"),
)
