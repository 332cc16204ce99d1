"""Effect of one more vote on a pair of documents on the differences of runs.

Each pair of documents of a query gets one more vote, once in either direction, and the
runs are scored again. A vote for a has probability (votes for a + 1/2) / (votes + 1),
which is 1/2 for unjudged pairs. The effect of a pair on a comparison of two runs is the
expected absolute change of their difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Real

from pgcjax.engine.batch import Member
from pgcjax.engine.enough import check_preferences
from pgcjax.engine.evaluate import ScoringTask, scoring_task
from pgcjax.engine.job import Job
from pgcjax.engine.uncertainty import check_replicates, draw_scores
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.errors import Progress, check_choice, check_whole, counted
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.judging.variants import both_answers
from pgcjax.stats.choices import REPLICATED
from pgcjax.stats.scores import Scores
from pgcjax.stats.uncertainty import Uncertainty
from pgcjax.tensors.flat_runs import Retrieved
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.rankings import Rankings, read_rankings

_NOISE = 1e-12  # changes that differ by no more are equal
_COLUMNS = ("query_id", "doc_a", "doc_b", "votes_a", "votes_b", "effect", "moved")


@dataclass(frozen=True, kw_only=True)
class NextJudgments(Result):
    """Pairs of documents by the effect of their next vote.

    Attributes:
        table: Row for each pair, the largest effect first: query_id, doc_a, doc_b,
            votes_a (for a over b), votes_b, effect (expected change of the difference
            by the next vote, averaged over the undecided comparisons), moved (number of
            these that a vote may change).
        undecided: Comparisons of two of the best runs whose interval contains 0: run_a,
            run_b, difference, low, high, probability.
    """

    undecided: pd.DataFrame


def next_judgments(
    runs: Any,
    *,
    preferences: Any,
    qrels: Any = None,
    measure: str = "PGC",
    top: int = 5,
    documents: int = 32,
    replicates: int = 200,
    seed: int = 0,
    interval: str = REPLICATED[0],
    order: str = "trec",
    missing: str = "zero",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> NextJudgments:
    """Choose which pairs of documents to judge next, to separate the best runs.

    Args:
        runs: Input or result of `read_runs`.
        preferences: Judgments so far.
        qrels: Grades, for `PGC(graph=combined)`.
        measure: PGC of preferences.
        top: Number of best runs, of which all pairs are compared.
        documents: Number of documents per query whose pairs are tried: the judged ones
            that the compared runs rank highest, by the sum of 1 / rank.
        replicates: Number of replicates of the judgments, for the intervals.
        seed: Seed of the replicates.
        interval: Kind of interval; see `stats.choices.REPLICATED`.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        missing: see `evaluate`.
        memory: Bytes that runs in work, or a file, may take.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be scored. UsageError: an argument is wrong.
    """
    check_choice("interval", interval, REPLICATED)
    numbers = {"top": top, "documents": documents, "replicates": replicates}
    for name, number in numbers.items():
        check_whole(name, number, 2)
    check_replicates(replicates, seed)
    judgments = {"preferences": preferences, "qrels": qrels}
    job = Job(memory=memory, progress=progress)
    task = scoring_task(runs, judgments, [measure], order, False, missing, job)
    check_preferences(task.request)
    settings = {"replicates": replicates, "resample": "judgments", "seed": seed}
    drawn = draw_scores(task, settings)
    assert drawn.observed
    undecided, note = _undecided(drawn, measure, top, interval)
    table = _ranked_pairs(task, drawn.observed, undecided, documents)
    about = {"top": top, "documents": documents, "interval": interval}
    about = drawn.observed.metadata | about
    return NextJudgments(table, about, (note,), undecided=undecided)


def _undecided(
    drawn: Uncertainty, measure: str, top: int, interval: str
) -> tuple[pd.DataFrame, str]:
    """Return comparisons of the best runs whose interval contains 0, and a note."""
    runs = drawn.ranks()["run_id"]
    best = runs.head(top)
    pairs = drawn.differences(interval=interval)
    pairs = pairs[pairs["run_a"].isin(best) & pairs["run_b"].isin(best)]
    holds = (pairs["low"] <= 0) & (pairs["high"] >= 0)
    return pairs[holds].reset_index(drop=True), (
        f"{holds.sum()} of {counted(len(pairs), 'comparison')} among the best "
        f"{len(best)} runs are undecided by {measure} (not a test: other judges may "
        "reverse decided ones)"
    )


def _ranked_pairs(
    task: ScoringTask, scores: Scores, undecided: pd.DataFrame, documents: int
) -> pd.DataFrame:
    """Compute the effect of the next vote on each pair, the greatest first."""
    if not len(undecided):
        return pd.DataFrame(columns=[*_COLUMNS])
    request, progress = task.request, task.job.progress
    (member,) = request.members
    names = sorted({*undecided["run_a"], *undecided["run_b"]})
    with reading(memory=task.job.memory):
        rankings = read_rankings(
            task.runs, request.judged, request.order, only=names, progress=progress
        )
    place = {name: i for i, name in enumerate(rankings.run_ids)}
    both = [undecided[run].map(place).to_numpy() for run in ("run_a", "run_b")]
    before = scores.matrix(str(member.measure))
    before = before.reindex(index=rankings.run_ids, columns=[*member.tensors.docs])
    rows = _effects(
        *(member, request.tables["preferences"], rankings),
        *(before.fillna(0.0).to_numpy(), np.stack(both)),
        *(documents, request.missing, progress),
    )
    by = ["effect", *_COLUMNS[:3]]
    return pd.concat(rows).sort_values(
        by, ascending=[False, True, True, True], ignore_index=True
    )


class _OpenPairs(NamedTuple):
    """Pairs of documents of a query that may be judged next.

    Attributes:
        first: First document of each pair.
        second: Second document of each pair.
        votes: Numbers of votes for the first and for the second document.
    """

    first: np.ndarray
    second: np.ndarray
    votes: Real[np.ndarray, "pairs 2"]


def _effects(
    member: Member,
    preferences: pd.DataFrame,
    rankings: Rankings,
    before: Float64[np.ndarray, "runs queries"],
    compared: Int[np.ndarray, "2 comparisons"],
    documents: int,
    missing: str,
    progress: Progress | None,
) -> Iterator[pd.DataFrame]:
    """Score runs with one more vote on each pair.

    Args:
        member: PGC of preferences.
        preferences: Canonical preferences, from which the graphs were made.
        rankings: Rankings of the compared runs.
        before: Scores of these runs without another vote.
        compared: the two runs of each undecided comparison.
        documents: Number of documents per query that are paired.
        missing: see `evaluate`.
        progress: called with `("next judgments", done, total)`.

    Yields:
        Rows of some pairs of a query.
    """
    tensors = member.tensors
    answered = rankings.answered(list(tensors.docs))
    queries = answered.sum(1) if missing == "skip" else len(tensors.docs)
    share = answered / np.maximum(1, queries).reshape(-1, 1)  # of a score in the mean
    graphs = {name: graph for name, graph in tensors.graphs.items() if len(graph) > 1}
    retrieved = rankings.retrieved({name: g.doc_ids for name, g in graphs.items()})
    pairs = {
        name: _pairs(graph, retrieved[name], documents)
        for name, graph in graphs.items()
    }
    votes, variants = both_answers(
        preferences, {name: (of.first, of.second) for name, of in pairs.items()}
    )
    batch = VariantScores(VariantGraphs(member, votes), variants, "next judgments")
    after = batch.score(rankings, progress)[:, 0]
    for i, name in enumerate(tensors.docs):
        if name in pairs:
            change = after[: 2 * len(pairs[name].votes), :, i] - before[:, i]
            yield _moved(name, pairs[name], change * share[:, i], compared)


def _moved(
    query: str,
    pairs: _OpenPairs,
    change: Float64[np.ndarray, "votes runs"],
    compared: Int[np.ndarray, "2 comparisons"],
) -> pd.DataFrame:
    """Rows of the pairs of a query, by what one more vote changes of each mean."""
    votes = pairs.votes
    moved = np.abs(change[:, compared[0]] - change[:, compared[1]])
    moved = moved.reshape(len(votes), 2, -1)
    chance = (votes + 0.5) / (votes.sum(1, keepdims=True) + 1)
    columns = (
        *(query, pairs.first, pairs.second, *votes.T),
        (moved * chance[:, :, None]).sum(1).mean(1),
        (moved.max(1) > _NOISE).sum(1),
    )
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _pairs(graph: Graph, retrieved: Retrieved, documents: int) -> _OpenPairs:
    """Pair the documents of a query that runs rank highest."""
    n = len(graph)
    high = np.bincount(retrieved.vertex, 1 / (1 + retrieved.rank), minlength=n)
    near = np.sort(np.lexsort([np.arange(n), -high])[:documents])
    first, second = (near[side] for side in np.triu_indices(len(near), 1))
    votes = np.zeros((n, n), np.int64)
    np.add.at(votes, (graph.wins[:, 0], graph.wins[:, 1]), graph.wins[:, 2])
    both = np.stack([votes[first, second], votes[second, first]], 1)
    both = both if graph.unit == 1 else both / graph.unit
    return _OpenPairs(graph.doc_ids[first], graph.doc_ids[second], both)
