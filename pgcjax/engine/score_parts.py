"""What each document adds to a score: shared weights of ranks, or steps down a list.

A score of overlap (PGC, Compat, ExactPGC) is a sum over the documents that a run shares
with its ideal ranking: each adds the weight of the lower of its two ranks. A document
adds to another measure of lists what the score of the run down to its rank is above
that of the run before it: gain times discount, where the measure is such a sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Bool, Float64, Int

from pgcjax.engine.batch import Member
from pgcjax.engine.exact_batch import optimal_sets
from pgcjax.engine.explanation import RULES
from pgcjax.engine.plan import MemoryLimits
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.verify import records_of
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.memory import memory_limit
from pgcjax.io.runs import open_runs
from pgcjax.kernels import ABSENT, peel
from pgcjax.kernels.rbo_ties import UNIT, weights_of
from pgcjax.later import pd
from pgcjax.measures.exact import ExactTensors
from pgcjax.measures.measure import Case
from pgcjax.reference.exact_pgc import exact_ideal
from pgcjax.reference.pgc import judged
from pgcjax.runtime.programs import Program
from pgcjax.tensors import adjacency
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.measure_tensors import PeelTensors
from pgcjax.tensors.padding import padded_size
from pgcjax.tensors.rankings import Rankings, read_rankings

Lists = Mapping[str, Mapping[str, Sequence[str]]]
"""Documents, best first, by run and query."""

_STEPS = ("step", "doc_id", "ideal_rank", "rule", "decided_by", "candidates")


class ScoreParts(NamedTuple):
    """A score of a run and query, as sums.

    Attributes:
        ideal: the ideal ranking, best first.
        adds: what documents add to the score.
        ideal_adds: what they add to that of the ideal ranking.
        depths: a row for each depth; see `Explanation.depths`.
        steps: of the peel, likewise.
    """

    ideal: list[str]
    adds: dict[str, float]
    ideal_adds: dict[str, float]
    depths: pd.DataFrame
    steps: pd.DataFrame

    @property
    def rules(self) -> dict[str, str]:
        """The rule that placed each document, of the peel."""
        return dict(zip(self.steps["doc_id"], self.steps["rule"], strict=True))


def no_steps() -> pd.DataFrame:
    """Return the table of steps of what is not peeled."""
    return pd.DataFrame({name: pd.Series(dtype=object) for name in _STEPS})


def of_queries(member: Member, queries: Sequence[str]) -> Member:
    """Keep some queries of the tensors of a measure, ascending as they were."""
    tensors, of_graphs = member.tensors, isinstance(member.tensors, PeelTensors)
    kept: dict[str, Any] = {
        name: {query: getattr(tensors, name)[query] for query in sorted(queries)}
        for name in (["graphs"] if of_graphs else ["docs", "arrays"])
    }
    if isinstance(tensors, ExactTensors):
        kept["_orders"] = {}
    return member._replace(place=0, tensors=replace(tensors, **kept))


def ranked(member: Member, lists: Lists) -> Rankings:
    """Lay rankings out by the documents of a measure, runs in their order."""
    rows = [
        (run, query, doc, float(rank))
        for run, of_run in lists.items()
        for query, docs in of_run.items()
        for rank, doc in enumerate(docs, 1)
    ]
    names = ["run_id", "query_id", "doc_id", "rank"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    docs = JudgedDocuments(member.tensors.docs)
    return read_rankings(open_runs(table), docs, "rank")


def score(
    request: ScoringRequest, member: Member, lists: Lists
) -> Float64[np.ndarray, "runs queries"]:
    """Score rankings by the engine, runs in the order of `lists`; 0 of empty ones."""
    scores = np.zeros((len(lists), len(member.tensors.docs)))
    there = {run: of for run, of in lists.items() if any(map(len, of.values()))}
    if there:
        rankings = ranked(member, there)
        limits = MemoryLimits(memory_limit(None))
        asked = replace(request, members=[member])
        (batch,) = asked.batches(budget=limits.tile, keep=0)
        place = {run: i for i, run in enumerate(lists)}
        scores[[place[run] for run in rankings.run_ids]] = batch.score(rankings)[0]
    return scores


def scores_of(
    request: ScoringRequest, member: Member, query: str, every: Sequence[Sequence[str]]
) -> Float64[np.ndarray, " lists"]:
    """Score several rankings of one query."""
    lists = {f"{i:09}": {query: docs} for i, docs in enumerate(every)}
    return score(request, of_queries(member, [query]), lists)[:, 0]


def parts_of(
    request: ScoringRequest, member: Member, query: str, run: Sequence[str]
) -> ScoreParts:
    """Take the score of a run and query apart."""
    member = of_queries(member, [query])
    tensors = member.tensors
    if not isinstance(tensors, PeelTensors):
        return _of_list(request, member, query, run)
    if isinstance(tensors, ExactTensors) and tensors.orders().get(query) is not None:
        return _of_overlap(tensors, query, run, _optimal(request, member, query, run))
    graph = tensors.graphs[query]
    ranks, steps = _peeled(graph, run)
    ideal = graph.doc_ids[np.argsort(ranks)].tolist()
    parts = _of_overlap(tensors, query, run, ideal)
    return parts._replace(steps=steps) if _shows_peel(member) else parts


def _shows_peel(member: Member) -> bool:
    """Whether the peel's rules are the measure's own; others peel a weak order."""
    measure = member.measure
    return measure.name == "PGC" and measure.parameters["ideal"] == "greedy"


def _peeled(
    graph: Graph, run: Sequence[str]
) -> tuple[Int[np.ndarray, " n"], pd.DataFrame]:
    """Peel one graph: ideal ranks, from 0, and the steps."""
    n, size = len(graph), padded_size(len(graph))
    edges, where = (x[0] for x in adjacency.wide([graph], size))
    ranks = np.full(size, ABSENT, np.int32)
    ranks[:n] = ranks_in(run, graph.doc_ids.tolist())
    ideal, made = _peel_program()(edges, ranks, where)
    vertex, rule, candidates = (np.asarray(x)[:n] for x in made)
    ideal, docs = np.asarray(ideal)[:n], graph.doc_ids
    rows = []
    for step, (v, name, among) in enumerate(
        zip(vertex, rule, candidates[:, :n], strict=True), 1
    ):
        fits = docs[among].tolist()
        retrieved = (ranks[:n][among] < ABSENT).any()
        by = "alone" if len(fits) == 1 else "run" if retrieved else "doc id"
        if name == peel.SINK and (ranks[:n][among] == ABSENT).sum() > 1:
            by = "doc id"  # the last of those that the run lacks
        rows.append((step, docs[v], ideal[v] + 1, RULES[name], by, tuple(fits)))
    return ideal, pd.DataFrame(rows, columns=[*_STEPS])


@cache
def _peel_program() -> Program:
    def steps(edges: Any, ranks: Any, where: Bool[Any, " n"]) -> Any:
        return peel.ideal_steps(edges, ranks, where=where)

    return Program(steps)


def _optimal(
    request: ScoringRequest, member: Member, query: str, run: Sequence[str]
) -> list[str]:
    """Find the optimal order nearest to a run (or farthest), by the twin."""
    parameters, tensors = member.measure.parameters, member.tensors
    records = records_of(request.tables)(query)
    case = Case("", query, list(run), parameters, records, request.tables)
    edges, _, graded = judged(case)
    sets = optimal_sets(tensors, query, run)
    limits = parameters["p"], parameters["depth"], graded, sets, tensors.farthest
    return exact_ideal(edges, list(run), *limits)[1]


def _of_overlap(
    tensors: PeelTensors, query: str, run: Sequence[str], ideal: list[str]
) -> ScoreParts:
    """Divide a sum of weights of ranks among the documents."""
    if not ideal:
        none = pd.DataFrame({"depth": [], "overlap": [], "adds": []})
        return ScoreParts([], {}, {}, none, no_steps())
    weights, sizes = tensors.weights, np.array([len(ideal)])
    last = len(weights) - 1
    at, here = np.arange(len(ideal)), ranks_in(run, ideal)
    lower = np.minimum(np.maximum(here, at), last)

    def share(sums: np.ndarray) -> list[float]:
        return tensors.finish(sums[:, None], sizes)[:, 0].tolist()

    adds, ideal_adds = share(weights[lower]), share(weights[np.minimum(at, last)])
    depth = np.count_nonzero(weights)
    shared = np.cumsum(np.bincount(lower, minlength=last + 1))[:depth]
    of_depths = share(shared * (weights[:depth] - weights[1 : depth + 1]))
    columns = {"depth": np.arange(1, depth + 1), "overlap": shared, "adds": of_depths}
    by_doc = [dict(zip(ideal, x, strict=True)) for x in (adds, ideal_adds)]
    return ScoreParts(ideal, by_doc[0], by_doc[1], pd.DataFrame(columns), no_steps())


def _of_list(
    request: ScoringRequest, member: Member, query: str, run: Sequence[str]
) -> ScoreParts:
    """Score a run, and the ideal list, down to each rank in turn."""
    ideal = ideal_list(request, member, query, run)
    depth = member.tensors.depth
    both = [list(docs[:depth]) for docs in (run, ideal)]
    prefixes = [docs[:k] for docs in both for k in range(1, len(docs) + 1)]
    scores = scores_of(request, member, query, prefixes)
    adds, ideal_adds = (
        np.diff(x, prepend=0.0) for x in np.split(scores, [len(both[0])])
    )
    longest = max(map(len, both))
    columns = {"depth": np.arange(1, longest + 1)}
    for name, part in (("adds", adds), ("ideal_adds", ideal_adds)):
        columns[name] = np.append(part, np.zeros(longest - len(part)))
    by_doc = [
        dict(zip(docs, part.tolist(), strict=True))
        for docs, part in zip(both, (adds, ideal_adds), strict=True)
    ]
    return ScoreParts(ideal, by_doc[0], by_doc[1], pd.DataFrame(columns), no_steps())


def ideal_list(
    request: ScoringRequest, member: Member, query: str, run: Sequence[str]
) -> list[str]:
    """List the documents above grade 0 by grade, ties in the order of a run.

    It is empty for measures that need more than plain grades.
    """
    if member.measure.needs != {"qrels"}:
        return []
    table = request.tables["qrels"]
    table = table[(table["query_id"] == query) & (table["relevance"] > 0)]
    grade = dict(zip(table["doc_id"], table["relevance"], strict=True))
    rank = dict(zip(grade, ranks_in(run, list(grade)), strict=True))
    return sorted(grade, key=lambda doc: (-grade[doc], rank[doc], doc))


def of_rbo(run: Sequence[str], other: Sequence[str], p: float) -> ScoreParts:
    """Divide RBO of two rankings without ties, extrapolated, among the documents.

    The agreement of the longer ranking's end is taken for all depths beyond, and a
    document that both have by the end of the shorter one adds to it at each.

    Source: Webber, Moffat and Zobel 2010, equation 32, which is a sum over documents.
    """
    s, n = sorted((len(run), len(other)))
    if not s:
        none = pd.DataFrame({"depth": [], "adds": []})
        return ScoreParts(list(other), {}, {}, none, no_steps())
    weights = weights_of(p, n)
    below, left = weights.below * UNIT, weights.left * UNIT
    unseen = (left[s] - left[n]) / s - (below[s] - below[n])

    def adds(lower: np.ndarray) -> np.ndarray:
        seen = below[np.minimum(lower, n)] - below[n]
        end = np.where(lower < s, unseen + left[n] / s, left[n] / n)
        return np.where(lower < n, seen + end, 0.0)

    at = np.arange(len(other))
    lower = np.maximum(ranks_in(run, other), at)
    shared = np.cumsum(np.bincount(np.minimum(lower, n), minlength=n + 1))[:n]
    columns = {"depth": np.arange(1, n + 1), "overlap": shared}
    columns["adds"] = shared * (below[:n] - below[1 : n + 1])
    by_doc = [dict(zip(other, adds(x).tolist(), strict=True)) for x in (lower, at)]
    table = pd.DataFrame(columns)
    return ScoreParts(list(other), by_doc[0], by_doc[1], table, no_steps())


def ranks_in(run: Sequence[str], docs: Sequence[str]) -> Int[np.ndarray, " docs"]:
    """Ranks of documents in a run, from 0; `ABSENT` of those that it lacks."""
    rank = {doc: i for i, doc in enumerate(run)}
    return np.array([rank.get(doc, ABSENT) for doc in docs], np.int64)


def moved(run: Sequence[str], doc: str, rank: int) -> list[str]:
    """Put a document at a rank of a run, from 0; the others keep their order."""
    rest = [each for each in run if each != doc]
    return [*rest[:rank], doc, *rest[rank:]]
