"""Which of two runs is better, with few answers: bounds, and the next pairs to ask.

Carterette et al., Here or there: preference judgments for relevance, 2008, 5.3.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy.special import expit

from pgcjax.asking.bounds import NOISE, ComparedRuns, share_bounds, stakes
from pgcjax.asking.utility_choices import EXPECTED
from pgcjax.asking.utility_measures import (
    asked_measure,
    overlap,
    overlap_ranges,
    shares,
)
from pgcjax.asking.utility_pools import Pool, asked_of, query_pools, rankings
from pgcjax.asking.utility_tiles import AnswerGraph, answered_overlaps, implied_gains
from pgcjax.errors import Progress, UsageError, check_choice
from pgcjax.io.choices import ORDERS
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.runs import open_runs
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.models import strengths
from pgcjax.kernels import ABSENT
from pgcjax.measures.measure import Measure

_COLUMNS = ("query_id", "doc_a", "doc_b", "utility")


@dataclass(frozen=True, kw_only=True)
class NextAnswers(Result):
    """Pairs of documents in the order of their utility, and what is decided.

    Attributes:
        table: a row for each pair that has no answer and may decide between runs, the
            greatest utility first: query_id, doc_a, doc_b, utility.
        comparisons: a row for each two runs: run_a, run_b, low and high (between which
            the difference of their means will be), better (the run that is better,
            whatever the answers; none if that is open).
    """

    comparisons: pd.DataFrame


def next_by_utility(
    runs: Any,
    *,
    preferences: Any = None,
    measure: str = "ppref",
    documents: int = 32,
    infer: bool = False,
    may_tie: bool = False,
    expect: str = EXPECTED[0],
    queries: Collection[str] | None = None,
    order: str = ORDERS[0],
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> NextAnswers:
    """Choose which pairs to ask for next, so that few answers tell runs apart.

    Args:
        runs: what `read_runs` takes: two or more; all pairs of them are compared.
        preferences: the answers so far; None at the beginning.
        measure: ppref, rpref, fpref, wpref or PGC; its mean over queries.
        documents: of a query that are paired: those that the runs rank highest.
        infer: a judge is transitive: pairs that answers imply are not asked for.
        may_tie: an answer may be a tie, or never come; else each is for a document.
        expect: answers are as likely as not (`even`), or as Bradley and Terry's
            strengths by the answers so far have it (`bt`).
        queries: those that count; by default all of the runs.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        memory: bytes that a file may take.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed = asked_measure(measure)
    check_choice("order", order, ORDERS)
    check_choice("expect", expect, EXPECTED)
    if may_tie and parsed.name == "PGC":
        raise UsageError("may_tie: of PGC where answers may be ties, no bound is known")
    with reading(memory=memory):
        if preferences is not None:
            preferences = read_preferences(preferences)
        names, pools = read_pools(
            *(runs, preferences, order, queries, documents),
            bad=parsed.parameters.get("bad", infer),
            infer=infer,
        )
    pairs = np.array([*combinations(range(len(names)), 2)])
    bounds = difference_bounds(parsed, pools, pairs, may_tie=may_tie)
    comparisons = _compared(names, pairs, bounds)
    left = pairs[[not _sign(*row) for row in bounds.tolist()]]
    given = preferences if expect == "bt" else None
    chances = _chances(pools, given)
    weights = utilities(parsed, pools, left, chances, progress) if len(left) else []
    table = _table(pools, weights)
    settings = {"measure": parsed.in_full(), "documents": documents, "infer": infer}
    settings |= {"may_tie": may_tie, "expect": expect, "order": order}
    notes = (asked_of(names, pools), *_told(str(parsed), comparisons))
    return NextAnswers(table, settings, notes, comparisons=comparisons)


def read_pools(
    runs: Any,
    preferences: Any,
    order: str,
    queries: Collection[str] | None,
    documents: int,
    *,
    bad: bool = True,
    infer: bool = False,
) -> tuple[list[str], list[Pool]]:
    """Read runs and answers: names of the runs, and the pool of each query."""
    if type(documents) is not int or documents < 2:
        raise UsageError(f"documents={documents!r}: expected a whole number, 2 or more")
    names, lists = rankings(open_runs(runs), order, queries)
    table = None if preferences is None else read_preferences(preferences)
    if table is not None and queries is None:  # what no run has counts for the means
        judged = {*table["query_id"]} - lists.keys()
        lists |= dict.fromkeys(judged, [[]] * len(names))
        lists = {query: lists[query] for query in sorted(lists)}
    return names, query_pools(lists, table, documents=documents, bad=bad, infer=infer)


def difference_bounds(
    measure: Measure,
    pools: Sequence[Pool],
    compared: Int[np.ndarray, "comparisons 2"],
    *,
    may_tie: bool = False,
) -> Float64[np.ndarray, "comparisons 2"]:
    """Bound the differences of means over queries, whatever the answers to come.

    Of shares of preferences, the bounds are attained, unless answers may be ties. Of
    PGC they hold if each open pair gets one answer that is no tie, and are loose: each
    run is bounded by itself.
    """
    sums, (one, other) = np.zeros((len(compared), 2)), compared.T
    for pool in pools:
        if measure.name == "PGC":
            low, high = _score_ranges(measure, pool).T
            sums += np.stack([low[one] - high[other], high[one] - low[other]], axis=1)
        else:
            runs = ComparedRuns(shares(measure, pool), compared)
            sums += share_bounds(runs, pool.counts, pool.unsettled, may_tie=may_tie)
    return sums / max(1, len(pools))


def _score_ranges(measure: Measure, pool: Pool) -> Float64[np.ndarray, "runs 2"]:
    """Bound PGC of each run; where no answer is to come, give it."""
    if pool.pairs:
        return overlap_ranges(measure, pool)
    (scores,) = _peeled(measure, [pool], [np.zeros((1, 2), np.int64)])
    return np.repeat(scores.T, 2, axis=1)


def utilities(
    measure: Measure,
    pools: Sequence[Pool],
    compared: Int[np.ndarray, "comparisons 2"],
    chances: Sequence[Float64[np.ndarray, "n n"]],
    progress: Progress | None = None,
) -> list[Float64[np.ndarray, "n n"]]:
    """Return the expected utility of asking for each pair of each query.

    It is the expected gain of the answer, averaged over comparisons; `chances` says how
    likely it prefers the row's document. The gain of an
    answer is by how much it, with all that it implies, narrows the bounds of a
    difference of means; of PGC, whose bounds are loose, by how much it moves it.
    """
    scale = 1 / (len(pools) * len(compared))
    if measure.name == "PGC":
        gains = _moves(measure, pools, compared, progress)
    else:
        differ = [
            stakes(ComparedRuns(shares(measure, p), compared), p.counts, p.unsettled)
            for p in pools
        ]
        gains = implied_gains(differ, [pool.above for pool in pools])
    return [
        np.where(pool.unsettled, scale * (chance * gain + chance.T * gain.T), 0.0)
        for pool, gain, chance in zip(pools, gains, chances, strict=True)
    ]


def _chances(
    pools: Sequence[Pool], preferences: Any
) -> list[Float64[np.ndarray, "n n"]]:
    """Compute how likely each document is preferred; without answers, strength is 0."""
    strong: dict[tuple[str, str], float] = {}
    if preferences is not None:
        table = strengths(preferences)
        ids = zip(table["query_id"], table["doc_id"], strict=True)
        strong = dict(zip(ids, table["strength"].tolist(), strict=True))
    by_pool = [
        np.array([strong.get((pool.query_id, doc), 0.0) for doc in pool.docs])
        for pool in pools
    ]
    return [expit(values[:, None] - values[None, :]) for values in by_pool]


def _moves(
    measure: Measure,
    pools: Sequence[Pool],
    compared: Int[np.ndarray, "comparisons 2"],
    progress: Progress | None,
) -> list[Float64[np.ndarray, "n n"]]:
    """Return by how much each answer moves PGC's differences, over comparisons."""
    open_pairs = [np.argwhere(pool.unsettled) for pool in pools]
    tried = [
        np.concatenate([np.zeros((1, 2), np.int64), pairs]) for pairs in open_pairs
    ]
    gains = []
    scores = _peeled(measure, pools, tried, progress)
    for pool, pairs, of_runs in zip(pools, open_pairs, scores, strict=True):
        change = of_runs[1:] - of_runs[0]
        gain = np.zeros(pool.counts.shape)
        one, other = compared.T
        gain[*pairs.T] = np.abs(change[:, one] - change[:, other]).sum(1)
        gains.append(gain)
    return gains


def _peeled(
    measure: Measure,
    pools: Sequence[Pool],
    tried: Sequence[np.ndarray],
    progress: Progress | None = None,
) -> list[Float64[np.ndarray, "answers runs"]]:
    """Score runs by PGC after answers to pairs of the pools; (i, i) is none."""
    laid = [overlap(measure, pool) for pool in pools]
    graphs = []
    for pool, of_pool, pairs in zip(pools, laid, tried, strict=True):
        inside = np.ix_(of_pool.vertices, of_pool.vertices)
        place = np.zeros(len(pool.docs), np.int64)
        place[of_pool.vertices] = np.arange(len(of_pool.vertices))
        ranks = np.where(np.isfinite(pool.ranks), pool.ranks, ABSENT)
        edges, unsettled, above = (
            pool.counts[inside],
            pool.unsettled[inside],
            pool.above[inside],
        )
        ranked = ranks[:, of_pool.vertices]
        graphs.append(AnswerGraph(edges, unsettled, above, ranked, place[pairs]))
    weights = laid[0].weights if laid else np.zeros(1, np.int64)
    sums = answered_overlaps(graphs, weights, progress)
    return [
        np.stack([of_pool.finish(row) for row in rows])
        for of_pool, rows in zip(laid, sums, strict=True)
    ]


class _Rows(NamedTuple):
    query_id: np.ndarray
    doc_a: np.ndarray
    doc_b: np.ndarray
    utility: np.ndarray


def _table(pools: Sequence[Pool], weights: Sequence[np.ndarray]) -> pd.DataFrame:
    """List the pairs that have a utility, the greatest first."""
    parts = []
    for pool, weight in zip(pools, weights, strict=False):
        first, second = np.nonzero(np.triu(weight) > 0)
        docs = np.array(pool.docs, object)
        query = np.full(len(first), pool.query_id, object)
        parts.append(_Rows(query, docs[first], docs[second], weight[first, second]))
    columns = zip(*parts, strict=True) if parts else ([np.array([])] for _ in _COLUMNS)
    data = dict(zip(_COLUMNS, map(np.concatenate, columns), strict=True))
    rows = pd.DataFrame(data).astype({"utility": float})
    ascending = [False, True, True, True]
    rows = rows.sort_values([_COLUMNS[-1], *_COLUMNS[:-1]], ascending=ascending)
    return rows.reset_index(drop=True)


def _sign(low: float, high: float) -> int:
    """Find which run is better: 1, -1, or 0 where it is open."""
    return int(low > NOISE) - int(high < -NOISE)


def _compared(
    names: Sequence[str], pairs: np.ndarray, bounds: np.ndarray
) -> pd.DataFrame:
    rows = []
    for (a, b), (low, high) in zip(pairs.tolist(), bounds.tolist(), strict=True):
        sign = _sign(low, high)
        better = names[a] if sign > 0 else names[b] if sign < 0 else ""
        rows.append((names[a], names[b], low, high, better))
    return pd.DataFrame(rows, columns=["run_a", "run_b", "low", "high", "better"])


def _told(measure: str, comparisons: pd.DataFrame) -> list[str]:
    """Describe what is decided, a line for each comparison of a few."""
    lines = []
    columns = (comparisons.head(6)[c].tolist() for c in comparisons.columns)
    for run_a, run_b, low, high, better in zip(*columns, strict=True):
        claim = f"{measure} of {run_a} - {run_b} will be from {low:.4f} to {high:.4f}"
        end = "equal" if high - low < 2 * NOISE else "open"
        lines.append(f"{claim}: {f'{better} is better' if better else end}")
    decided = int((comparisons["better"] != "").sum())
    if decided:
        lines.append("not a test: it holds if the judges do not err")
    if len(comparisons) > 1:
        lines.append(f"{decided} of {len(comparisons)} comparisons are decided")
    return lines
