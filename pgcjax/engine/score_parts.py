"""Contributions of documents to a score: shared weights of ranks, or steps of a list.

A score of overlap (PGC, Compat, ExactPGC) is a sum over the documents that a run shares
with its ideal ranking: each adds the weight of the lower of its two ranks. For other
measures of lists, a document adds the score of the run cut at its rank less that of the
run cut before it: gain times discount, if the measure is such a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int

from pgcjax.engine.batch import Member
from pgcjax.engine.exact_batch import optimal_sets
from pgcjax.engine.explanation import RULES
from pgcjax.engine.plan import MemoryLimits
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.verify import records_of
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import memory_limit
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
from pgcjax.tensors.rankings import JudgedRanks, Rankings

Lists = Mapping[str, Sequence[Sequence[str]]]
"""Rankings of each query: their documents, best first."""

_STEPS = ("step", "doc_id", "ideal_rank", "rule", "decided_by", "candidates")


def no_steps() -> pd.DataFrame:
    """Return the table of steps for a score without a peel."""
    return pd.DataFrame({name: pd.Series(dtype=object) for name in _STEPS})


@dataclass(frozen=True)
class ScoreParts:
    """A score of a run and query, as sums.

    Attributes:
        run: Documents of the run, best first.
        ideal: Ideal ranking, best first.
        adds: Contribution of each document to the score.
        ideal_adds: Contribution of each document to the score of the ideal ranking.
        depths: Row for each depth; see `Explanation.depths`.
        steps: Steps of the peel; see `Explanation.steps`.
        score: Score by the engine.
        moved: Change of the score if the run ranks a document as the ideal one does.
    """

    run: Sequence[str]
    ideal: list[str]
    adds: Mapping[str, float] = field(default_factory=dict)
    ideal_adds: Mapping[str, float] = field(default_factory=dict)
    depths: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())
    steps: pd.DataFrame = field(default_factory=no_steps)
    score: float = np.nan
    moved: Mapping[str, float] = field(default_factory=dict)

    @property
    def rules(self) -> dict[str, str]:
        """The rule of the peel that placed each document."""
        return dict(zip(self.steps["doc_id"], self.steps["rule"], strict=True))

    @property
    def best(self) -> float:
        """The score of the ideal ranking."""
        return sum(self.ideal_adds.values())


def of_queries(member: Member, queries: Iterable[str]) -> Member:
    """Keep some queries of the tensors of a measure, ascending as they were."""
    tensors, of_graphs = member.tensors, isinstance(member.tensors, PeelTensors)
    kept: dict[str, Any] = {
        name: {query: getattr(tensors, name)[query] for query in sorted(queries)}
        for name in (["graphs"] if of_graphs else ["docs", "arrays"])
    }
    if isinstance(tensors, ExactTensors):
        kept["_orders"] = {}
    return member._replace(place=0, tensors=replace(tensors, **kept))


def laid_out(member: Member, lists: Lists) -> Rankings:
    """Lay rankings out as runs: the first of each query are of run 0, and so on.

    Args:
        member: a measure of the queries of `lists` alone.
        lists: the rankings.
    """
    docs = member.tensors.docs
    judged = JudgedDocuments(docs)
    codes = iter(judged.codes(docs).tolist())
    names = [str(i) for i in range(max(map(len, lists.values()), default=0))]
    lengths = np.zeros((len(names), len(docs)), np.int32)
    columns = []
    for query, (name, ids) in enumerate(docs.items()):
        code_of = dict(zip(ids.tolist(), codes, strict=False))
        size = np.array([*map(len, lists[name])], np.int64)
        lengths[: len(size), query] = size
        every = map(code_of.get, chain.from_iterable(lists[name]), repeat(-1))
        code = np.fromiter(every, np.int64)
        rows = np.flatnonzero(code >= 0)
        start, run = np.cumsum(size) - size, np.arange(len(size))
        of_row = np.repeat(run, size)[rows]
        count = np.bincount(of_row, minlength=len(size))
        place = np.full_like(run, query), run, count
        columns.append((*place, code[rows], rows - start[of_row]))
    by, run, count, code, rank = map(np.concatenate, zip(*columns, strict=True))
    documents = by, run, count, code, rank, judged.every_code
    ranks = JudgedRanks(names, {*docs}, lengths, *documents)
    return Rankings(judged, [ranks])


def scores_of(
    request: ScoringRequest, member: Member, lists: Lists
) -> dict[str, Float64[np.ndarray, " lists"]]:
    """Score rankings of queries by the engine, in one batch; 0 of empty ones."""
    member = of_queries(member, lists)
    limits = MemoryLimits(memory_limit(None))
    (batch,) = replace(request, members=[member]).batches(budget=limits.tile, keep=0)
    scores = batch.score(laid_out(member, lists))[0].T
    return {
        query: np.where([*map(bool, lists[query])], values[: len(lists[query])], 0.0)
        for query, values in zip(member.tensors.docs, scores, strict=True)
    }


def parts_of(
    request: ScoringRequest,
    member: Member,
    cells: Iterable[tuple[str, Sequence[str]]],
    *,
    moving: bool = False,
) -> list[ScoreParts]:
    """Take scores apart: all rankings that are scored for it are in one batch.

    Args:
        request: Measures and judgments.
        member: Measure.
        cells: Queries and documents of runs, best first.
        moving: whether to compute `moved`, too.
    """
    cells = [*cells]
    member = of_queries(member, {query for query, _ in cells})
    is_overlap = isinstance(member.tensors, PeelTensors)
    if is_overlap:
        every = [_overlap_parts(request, member, *cell) for cell in cells]
    else:
        ideals = ideal_lists(request, member, cells)
        every = [
            ScoreParts(x[1], ideal) for x, ideal in zip(cells, ideals, strict=True)
        ]
    lists: dict[str, list[Sequence[str]]] = {}
    for (query, run), parts in zip(cells, every, strict=True):
        moves = enumerate(parts.ideal if moving else ())
        lists.setdefault(query, []).extend(
            [run, *(moved(run, doc, rank) for rank, doc in moves)]
        )
        lists[query] += [] if is_overlap else _prefixes(member, parts)
    scores = {q: iter(x.tolist()) for q, x in scores_of(request, member, lists).items()}
    for i, ((query, _), parts) in enumerate(zip(cells, every, strict=True)):
        score, ideal = next(scores[query]), parts.ideal if moving else ()
        changes = {doc: next(scores[query]) - score for doc in ideal}
        if not is_overlap:
            parts = _of_prefixes(member, parts, scores[query])
        every[i] = replace(parts, score=score, moved=changes)
    return every


def _overlap_parts(
    request: ScoringRequest, member: Member, query: str, run: Sequence[str]
) -> ScoreParts:
    """Divide a score of overlap among documents."""
    tensors = member.tensors
    if isinstance(tensors, ExactTensors) and tensors.orders().get(query) is not None:
        return _of_overlap(tensors, run, _optimal(request, member, query, run))
    graph = tensors.graphs[query]
    size = padded_size(max(map(len, tensors.graphs.values())))
    ranks, steps = _peeled(graph, run, size)
    parts = _of_overlap(tensors, run, graph.doc_ids[np.argsort(ranks)].tolist())
    measure = member.measure
    if measure.name == "PGC" and measure.parameters["ideal"] == "greedy":
        parts = replace(parts, steps=steps())  # others peel a weak order
    return parts


def _peeled(
    graph: Graph, run: Sequence[str], size: int
) -> tuple[Int[np.ndarray, " n"], Callable[[], pd.DataFrame]]:
    """Peel one graph: ideal ranks, from 0, and a function that tabulates the steps.

    Graphs that are padded to one size are peeled by one program.
    """
    n = len(graph)
    edges, where = (x[0] for x in adjacency.wide([graph], size))
    ranks = np.full(size, ABSENT, np.int32)
    ranks[:n] = ranks_in(run, graph.doc_ids.tolist())
    ideal, made = _peel_program()(edges, ranks, where)
    ideal, docs = np.asarray(ideal)[:n], graph.doc_ids

    def steps() -> pd.DataFrame:
        vertex, rule, candidates = (np.asarray(x)[:n] for x in made)
        lacks, rows = ranks[:n] == ABSENT, []
        for step, (v, name, among) in enumerate(
            zip(vertex, rule, candidates[:, :n], strict=True), 1
        ):
            fits, missing = docs[among].tolist(), np.count_nonzero(lacks[among])
            by = "alone" if len(fits) == 1 else "run"
            # A run that lacks several candidates does not order them: the document id
            # decided which one was last, or first.
            if missing > 1 and (name == peel.SINK or missing == len(fits)):
                by = "doc id"
            rows.append((step, docs[v], ideal[v] + 1, RULES[name], by, tuple(fits)))
        return pd.DataFrame(rows, columns=[*_STEPS])

    return ideal, steps


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
    tensors: PeelTensors, run: Sequence[str], ideal: list[str]
) -> ScoreParts:
    """Divide a sum of weights of ranks among the documents."""
    if not ideal:
        none = pd.DataFrame({"depth": [], "overlap": [], "adds": []})
        return ScoreParts(run, [], depths=none)
    weights, n = tensors.weights, len(ideal)
    last = len(weights) - 1
    lower = np.minimum(np.maximum(ranks_in(run, ideal), np.arange(n)), last)
    adds = _share(tensors, weights[lower], n)
    depth = np.count_nonzero(weights)
    shared = np.cumsum(np.bincount(lower, minlength=last + 1))[:depth]
    of_depths = shared * (weights[:depth] - weights[1 : depth + 1])
    columns = {"depth": np.arange(1, depth + 1), "overlap": shared}
    columns["adds"] = _share(tensors, of_depths, n)
    parts, best = (
        dict(zip(ideal, x, strict=True)) for x in (adds, ideal_adds(tensors, n))
    )
    return ScoreParts(run, ideal, parts, best, pd.DataFrame(columns))


def _share(tensors: PeelTensors, sums: np.ndarray, size: int) -> list[float]:
    """Normalise parts of a sum of weights, for a graph of a size."""
    return tensors.finish(sums[:, None], np.array([size]))[:, 0].tolist()


def ideal_adds(tensors: PeelTensors, size: int) -> list[float]:
    """Compute what documents add to the score of an ideal ranking, of overlap."""
    weights = tensors.weights
    return _share(tensors, weights[np.minimum(np.arange(size), len(weights) - 1)], size)


def _prefixes(member: Member, parts: ScoreParts) -> list[Sequence[str]]:
    """List the run, and the ideal list, down to each rank in turn."""
    depth = member.tensors.depth
    both = [docs[:depth] for docs in (parts.run, parts.ideal)]
    return [docs[:k] for docs in both for k in range(1, len(docs) + 1)]


def _of_prefixes(
    member: Member, parts: ScoreParts, scores: Iterator[float]
) -> ScoreParts:
    """Compute the increase of the score at each document's rank."""
    depth, by_doc = member.tensors.depth, []
    both = [docs[:depth] for docs in (parts.run, parts.ideal)]
    longest = max(map(len, both))
    columns: dict[str, np.ndarray] = {"depth": np.arange(1, longest + 1)}
    for name, docs in zip(("adds", "ideal_adds"), both, strict=True):
        adds = np.diff([*islice(scores, len(docs))], prepend=0.0)
        columns[name] = np.append(adds, np.zeros(longest - len(docs)))
        by_doc.append(dict(zip(docs, adds.tolist(), strict=True)))
    depths = pd.DataFrame(columns)
    return replace(parts, adds=by_doc[0], ideal_adds=by_doc[1], depths=depths)


def ideal_lists(
    request: ScoringRequest, member: Member, cells: Iterable[tuple[str, Sequence[str]]]
) -> list[list[str]]:
    """List the documents above grade 0 by grade, ties in the order of a run.

    They are empty for measures that need more than plain grades.
    """
    grades: dict[str, dict[str, float]] = {}
    if member.measure.needs == {"qrels"}:
        table = request.tables["qrels"]
        table = table[table["relevance"] > 0]
        names = ("query_id", "doc_id", "relevance")
        for query, doc, grade in zip(*(table[n].tolist() for n in names), strict=True):
            grades.setdefault(query, {})[doc] = grade
    ideal = []
    for query, run in cells:
        grade = grades.get(query, {})
        rank = dict(zip(grade, ranks_in(run, [*grade]).tolist(), strict=True))
        ideal.append(sorted(grade, key=lambda doc: (-grade[doc], rank[doc], doc)))  # noqa: B023
    return ideal


def of_rbo(run: Sequence[str], other: Sequence[str], p: float) -> ScoreParts:
    """Divide RBO of two rankings without ties, extrapolated, among the documents.

    All depths beyond the longer ranking have the agreement at its end; documents that
    both rankings have by the end of the shorter one add to it at each depth.

    Source: Webber, Moffat and Zobel 2010, equation 32, which is a sum over documents.
    """
    s, n = sorted((len(run), len(other)))
    if not s:
        none = pd.DataFrame({"depth": [], "adds": []})
        return ScoreParts(run, list(other), depths=none)
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
    parts, best = (dict(zip(other, adds(x).tolist(), strict=True)) for x in (lower, at))
    return ScoreParts(run, list(other), parts, best, pd.DataFrame(columns))


def ranks_in(run: Sequence[str], docs: Sequence[str]) -> Int[np.ndarray, " docs"]:
    """Ranks of documents in a run, from 0; `ABSENT` for those that it lacks."""
    rank = {doc: i for i, doc in enumerate(run)}
    return np.array([rank.get(doc, ABSENT) for doc in docs], np.int64)


def moved(run: Sequence[str], doc: str, rank: int) -> list[str]:
    """Put a document at a rank of a run, from 0; the others keep their order."""
    rest = [each for each in run if each != doc]
    return [*rest[:rank], doc, *rest[rank:]]
