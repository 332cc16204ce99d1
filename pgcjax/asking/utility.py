"""Bounds of the difference of two runs, and the next pairs to ask for.

Carterette et al., Here or there: preference judgments for relevance, 2008, 5.3.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Int64
from scipy.special import expit

from pgcjax.asking.bounds import (
    NOISE,
    ComparedRuns,
    asked_measure,
    blocks,
    implied_gain,
    overlap_bounds,
    share_bounds,
    stakes,
)
from pgcjax.asking.choices import EXPECTED
from pgcjax.asking.pools import Pool, read_pools
from pgcjax.errors import Progress, UsageError, check_choice, counted
from pgcjax.io.choices import ORDERS
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.models import strengths
from pgcjax.kernels import ABSENT, peel, peel_packed
from pgcjax.kernels.rbo import rank_weights
from pgcjax.later import jax, jnp
from pgcjax.measures.compatibility import finished
from pgcjax.measures.measure import Measure
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.flat_runs import RunRanks
from pgcjax.tensors.padding import padded_size, stack

_COLUMNS = ["query_id", "doc_a", "doc_b", "utility"]
_ANSWERS = 256  # answers in a call
_AT_ONCE = 16  # graphs at a time: more do not fit in the caches of a CPU
_EXACT = 2.0**53
_BITS = 40  # fractional bits of a stake; fewer where there are many documents

Matrix = Float64[np.ndarray, "n n"]
Pairs = Int[np.ndarray, "pairs 2"]


@dataclass(frozen=True, kw_only=True)
class NextAnswers(Result):
    """Pairs of documents in the order of their utility, and what is decided.

    Attributes:
        table: One row for each pair without an answer that may decide between runs,
            the greatest utility first: query_id, doc_a, doc_b, utility.
        comparisons: One row for each pair of runs: run_a, run_b, low and high (bounds
            of the difference of their means after all answers), better (the run that
            is better whatever the answers are; empty while that is open).
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
    """Choose which pairs to ask for next, so that few answers separate runs.

    Args:
        runs: Two or more runs, in any form that `read_runs` takes; all pairs of them
            are compared.
        preferences: Answers so far; None at the beginning.
        measure: ppref, rpref, fpref, wpref or PGC; its mean over queries is compared.
        documents: Number of documents per query to pair: those the runs rank highest.
        infer: Whether judges are transitive: pairs that answers imply are not asked.
        may_tie: Whether an answer may be a tie, or never come.
        expect: Probability of an answer: 1/2 (`even`), or that of a Bradley-Terry model
            of the answers so far (`bt`).
        queries: Queries that count; by default all of the runs.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        memory: Bytes that a file may take.
        progress: Called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed = asked_measure(measure)
    check_choice("order", order, ORDERS)
    check_choice("expect", expect, EXPECTED)
    if may_tie and parsed.name == "PGC":
        raise UsageError("may_tie: no bound of PGC is known if answers may be ties")
    with reading(memory=memory):
        if preferences is not None:
            preferences = read_preferences(preferences)
        names, pools = read_pools(
            *(runs, preferences, order, queries, documents),
            bad=parsed.parameters.get("bad", infer),
            infer=infer,
        )
    pairs = np.array([*combinations(range(len(names)), 2)])
    bounds = _difference_bounds(parsed, pools, pairs, may_tie)
    signs = (bounds[:, 0] > NOISE).astype(int) - (bounds[:, 1] < -NOISE)
    chances = _chances(pools, preferences if expect == "bt" else None)
    weights = []
    if (left := pairs[signs == 0]).size:
        weights = _utilities(parsed, pools, left, chances, progress)
    comparisons = _comparisons(names, pairs, bounds, signs)
    settings = {"measure": parsed.in_full(), "documents": documents, "infer": infer}
    settings |= {"may_tie": may_tie, "expect": expect, "order": order}
    notes = tuple(_notes(str(parsed), comparisons, len(names), pools))
    return NextAnswers(_table(pools, weights), settings, notes, comparisons=comparisons)


def _comparisons(
    names: Sequence[str],
    compared: Pairs,
    bounds: Float64[np.ndarray, "comparisons 2"],
    signs: Int[np.ndarray, " comparisons"],
) -> pd.DataFrame:
    """Tabulate bounds of differences, and the better run where that is decided."""
    named, (one, other) = np.array([*names, ""], object), compared.T
    winner = np.select([signs > 0, signs < 0], [one, other], len(names))
    sides = {"run_a": named[one].tolist(), "run_b": named[other].tolist()}
    ends = dict(zip(("low", "high"), bounds.T, strict=True))
    return pd.DataFrame({**sides, **ends, "better": named[winner].tolist()})


def _table(pools: Sequence[Pool], weights: Sequence[Matrix]) -> pd.DataFrame:
    """List the pairs that have a utility, the greatest first."""
    rows = []
    for pool, weight in zip(pools, weights, strict=False):  # no weights: all decided
        first, second = np.nonzero(np.triu(weight) > 0)
        values = weight[first, second].tolist()
        for i, j, value in zip(first.tolist(), second.tolist(), values, strict=True):
            rows.append((pool.query_id, pool.docs[i], pool.docs[j], value))
    rows.sort(key=lambda row: (-row[3], *row[:3]))
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"utility": float})


def _notes(
    measure: str, comparisons: pd.DataFrame, runs: int, pools: Sequence[Pool]
) -> Iterator[str]:
    """Describe what is open and decided; few comparisons get a line each."""
    yield (
        f"{counted(runs, 'run')}, {counted(len(pools), 'query')}, "
        f"{counted(sum(pool.pairs for pool in pools), 'pair')} without an answer"
    )
    for row in comparisons.head(6).to_dict("records"):
        end = "equal" if row["high"] - row["low"] < 2 * NOISE else "open"
        yield (
            f"{measure} of {row['run_a']} - {row['run_b']} will be from "
            f"{row['low']:.4f} to {row['high']:.4f}: "
            + (f"{row['better']} is better" if row["better"] else end)
        )
    decided = int((comparisons["better"] != "").sum())
    if decided:
        yield "not a test: decisions hold if the judges do not err"
    if len(comparisons) > 1:
        yield f"{decided} of {len(comparisons)} comparisons are decided"


def _difference_bounds(
    measure: Measure, pools: Sequence[Pool], compared: Pairs, may_tie: bool
) -> Float64[np.ndarray, "comparisons 2"]:
    """Bound the differences of means over queries, whatever the answers to come.

    Bounds for shares of preferences are tight, unless answers may be ties. Bounds for
    PGC hold if each open pair gets one answer that is no tie, and are loose, because
    each run is bounded separately.
    """
    sums, (one, other) = np.zeros((len(compared), 2)), compared.T
    for pool in pools:
        if measure.name == "PGC":
            low, high = _score_ranges(measure, pool)
            sums += np.stack([low[one] - high[other], high[one] - low[other]], axis=1)
        else:
            runs = ComparedRuns.of(measure, pool, compared)
            sums += share_bounds(runs, pool.counts, pool.unsettled, may_tie=may_tie)
    return sums / max(1, len(pools))


def _utilities(
    measure: Measure,
    pools: Sequence[Pool],
    compared: Pairs,
    chances: Sequence[Matrix],
    progress: Progress | None,
) -> list[Matrix]:
    """Return the expected utility of asking for each pair of each query.

    Utility is the expected gain of the answer, averaged over comparisons; `chances` are
    probabilities that it prefers the row's document. The gain of an answer, with all
    that it implies, is the amount by which it narrows the bounds of a difference of
    means; for PGC, whose bounds are loose, the amount by which it moves the difference.
    """
    scale = 1 / (len(pools) * len(compared))
    if measure.name == "PGC":
        gains = _moves(measure, pools, compared, progress)
    else:
        gains = (_narrowed(measure, pool, compared) for pool in pools)
    return [
        np.where(pool.unsettled, scale * (chance * gain + chance.T * gain.T), 0.0)
        for pool, gain, chance in zip(pools, gains, chances, strict=True)
    ]


def _chances(pools: Sequence[Pool], preferences: pd.DataFrame | None) -> list[Matrix]:
    """Compute the probability of each preference; without answers, strengths are 0."""
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


def _narrowed(measure: Measure, pool: Pool, compared: Pairs) -> Matrix:
    """Return by how much each answer narrows the bounds of differences.

    Stakes are rounded to multiples of a power of 2, so that their sums are exact, and
    independent of the order of addition.
    """
    runs = ComparedRuns.of(measure, pool, compared)
    differ = stakes(runs, pool.counts, pool.unsettled)
    most = max(1.0, float(differ.max(initial=0.0))) * (1 + differ.size)
    unit = 2.0 ** max(-_BITS, np.ceil(np.log2(most / _EXACT)))
    return implied_gain(np.rint(differ / unit), pool.above.astype(np.float64)) * unit


def _graph_documents(pool: Pool) -> Int64[np.ndarray, " vertices"]:
    """List the documents with an answer, now or later: the vertices of PGC's graph."""
    return np.flatnonzero(((pool.counts + pool.counts.T > 0) | pool.unsettled).any(1))


def _pgc(measure: Measure, sums: np.ndarray, documents: int) -> np.ndarray:
    """Normalise sums of RBO weights to PGC, for a query of this many documents."""
    q = measure.parameters
    settings = q["p"], q["depth"], q["normalization"]
    return finished(*settings, sums.reshape(-1, 1), np.array([documents])).reshape(
        sums.shape
    )


def _score_ranges(
    measure: Measure, pool: Pool
) -> tuple[Float64[np.ndarray, " runs"], Float64[np.ndarray, " runs"]]:
    """Bound PGC of each run by the blocks that every answer leaves in order."""
    if not pool.pairs:
        (scores,) = _answered_scores(measure, [pool], [np.zeros((1, 2), np.int64)])
        return scores[0], scores[0]
    vertices = _graph_documents(pool)
    inside = np.ix_(vertices, vertices)
    block = blocks(pool.counts[inside], pool.unsettled[inside])
    weights = rank_weights(measure.parameters["p"], measure.parameters["depth"])
    sums = [overlap_bounds(block, ranks[vertices], weights) for ranks in pool.ranks]
    low, high = np.array(sums, np.int64).reshape(-1, 2).T
    return _pgc(measure, low, len(vertices)), _pgc(measure, high, len(vertices))


def _moves(
    measure: Measure,
    pools: Sequence[Pool],
    compared: Pairs,
    progress: Progress | None,
) -> Iterator[Matrix]:
    """Yield the amount by which each answer moves differences of PGC, summed."""
    open_pairs = [np.argwhere(pool.unsettled) for pool in pools]
    none = np.zeros((1, 2), np.int64)
    tried = [np.concatenate([none, pairs]) for pairs in open_pairs]
    scores = _answered_scores(measure, pools, tried, progress)
    one, other = compared.T
    for pool, pairs, of_runs in zip(pools, open_pairs, scores, strict=True):
        change = of_runs[1:] - of_runs[0]
        gain = np.zeros(pool.counts.shape)
        gain[*pairs.T] = np.abs(change[:, one] - change[:, other]).sum(1)
        yield gain


def _answered_scores(
    measure: Measure,
    pools: Sequence[Pool],
    tried: Sequence[Pairs],
    progress: Progress | None = None,
) -> Iterator[Float64[np.ndarray, "answers runs"]]:
    """Score runs by PGC after each answer to a pair of each pool; (i, i) adds none."""
    weights = rank_weights(measure.parameters["p"], measure.parameters["depth"])

    def calls() -> Iterator[Call]:
        for number, (pool, pairs) in enumerate(zip(pools, tried, strict=True)):
            for low in range(0, len(pairs), _ANSWERS):
                last = low + _ANSWERS >= len(pairs)
                label = number, last
                yield _peel_call(label, pool, pairs[low : low + _ANSWERS], weights)

    parts: list[np.ndarray] = []
    for (number, last), sums in results(calls(), progress=progress):
        parts.append(np.asarray(sums))
        if last:
            of_pool = np.concatenate(parts)[: len(tried[number])]
            parts, size = [], len(_graph_documents(pools[number]))
            yield _pgc(measure, of_pool, size)
            if progress:
                progress("answers", number + 1, len(pools))


def _peel_call(
    label: tuple[int, bool], pool: Pool, pairs: Pairs, weights: np.ndarray
) -> Call:
    """Lay out the graphs after answers to pairs of a pool."""
    vertices = _graph_documents(pool)
    n, size = len(vertices), padded_size(len(vertices))
    inside = np.ix_(vertices, vertices)
    most = pool.counts[inside] + pool.unsettled[inside]  # upper bound of the counts
    degree = max(most.sum(0).max(initial=0), most.sum(1).max(initial=0))
    packed = size <= peel_packed.MOST_VERTICES and degree < peel_packed.MOST_DEGREE

    def make() -> Any:
        graphs = _answered_graphs(pool, pairs)[:, *inside]
        ranks = np.full((len(pool.ranks), size), ABSENT)
        retrieved = pool.ranks[:, vertices]
        ranks[:, :n] = np.where(np.isfinite(retrieved), retrieved, ABSENT)
        shared = _by_place(ranks.astype(np.int32)), weights, np.arange(size) < n
        shape = _ANSWERS, size, size
        return _peel_program(packed)(stack([*graphs], shape, 0), shared)

    return Call(label, make, ("answered", packed, size, len(pool.ranks), len(weights)))


def _answered_graphs(pool: Pool, pairs: Pairs) -> Int[np.ndarray, "answers n n"]:
    """Add each answer to the preferences, with all that it settles: `implied_gain`."""
    a, b = pairs.T
    above, row = pool.above, np.arange(len(pairs))
    settled = above.T[a][:, :, None] & above[b][:, None, :]
    both_ways = above[a, b] & above[b, a]
    settled[both_ways] = False
    settled[row, a, b] = True
    return pool.counts.astype(np.int32) + (settled & pool.unsettled)


def _by_place(ranks: Int[np.ndarray, "runs n"]) -> RunRanks:
    """Order the vertices by each run, unretrieved ones by id; padding at the end."""
    inverse = np.argsort(ranks, axis=1, kind="stable").astype(np.int32)
    order = np.argsort(inverse, axis=1).astype(np.int32)
    return RunRanks(order, inverse, np.take_along_axis(ranks, inverse, axis=1))


@cache
def _peel_program(packed: bool) -> Callable[..., Any]:
    """Sum RBO weights of each run with the ideal ranking of each graph."""

    def of_graph(edges: Any, shared: Any) -> Any:
        runs, weights, where = shared
        if not packed:
            return jax.lax.map(
                lambda run: peel.peeled_overlap(
                    edges, run.ranks[run.order], weights, where=where
                ),
                runs,
                batch_size=_AT_ONCE,
            )
        out, into = (edges.sum(axis, dtype=jnp.int32) for axis in (1, 0))
        words = (out << peel_packed.OUT) + (into << peel_packed.IN)
        rows = (edges.T << peel_packed.OUT) + (edges << peel_packed.IN)
        rest = where.sum(dtype=jnp.int32), weights
        return jax.lax.map(
            lambda run: peel_packed.peeled_overlap(
                rows, words, run.order, run.inverse, run.ranks, *rest, where=where
            ),
            runs,
            batch_size=_AT_ONCE,
        )

    def of_graphs(graphs: Any, shared: Any) -> Any:
        return jax.lax.map(
            lambda edges: of_graph(edges, shared), graphs, batch_size=_AT_ONCE
        )

    return Program(of_graphs, 1)
