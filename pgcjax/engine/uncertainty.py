"""Uncertainty from the judgments: scores by resampled or incomplete judgments."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pgcjax.engine.batch import Batch
from pgcjax.engine.evaluate import Scored, ScoringTask, score, scoring_task
from pgcjax.engine.job import Job
from pgcjax.engine.request import ScoringRequest, runs_of
from pgcjax.errors import (
    DataError,
    Progress,
    UsageError,
    VerificationError,
    check_choice,
    check_whole,
)
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import reading
from pgcjax.io.runs import Runs
from pgcjax.judging.choices import LEFT_OUT, RESAMPLED
from pgcjax.later import pd
from pgcjax.tensors.rankings import find

if TYPE_CHECKING:
    from pgcjax.judging.variants import Owners, QueryVotes
    from pgcjax.stats.anytime import StoppingDecision
    from pgcjax.stats.left_out import LeftOut
    from pgcjax.stats.uncertainty import Uncertainty

_USUAL, _MOST = 1000, 10**6
_QUERIES = (
    "; resample='queries' works with every measure (--resample on the command line)"
)


def uncertainty(  # noqa: D417 - most are as of evaluate
    runs: Any,
    *,
    preferences: Any = None,
    qrels: Any = None,
    intent_qrels: Any = None,
    intents: Any = None,
    context: Any = None,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    float32: bool = False,
    missing: str = "zero",
    verify: float = 0.0,
    replicates: int | None = None,
    resample: str = "judgments",
    seed: int = 0,
    cluster: Any = None,
    collections: Any = None,
    score_intervals: bool = False,
    leave_out: str | None = None,
    pool_depth: int = 10,
    anytime: str | None = None,
    alpha: float = 0.05,
    ceiling: float = 1.0,
    job: Job | None = None,
) -> Uncertainty | LeftOut | StoppingDecision:
    """Score runs by judgments that are resampled, left out, or not yet complete.

    For runs, judgments, measures, order, float32, missing, verify and job see
    `evaluate`, whose scores are `observed` of the result.

    Args:
        replicates: Number of replicates; 1000 if None.
        resample: Units to draw: `judgments`, `judges`, `queries` or `both`.
        seed: Seed of the draws.
        cluster: Clusters of queries as in `compare`, if `queries` are drawn.
        collections: Collections of queries as in `compare`, likewise.
        score_intervals: whether to compute intervals of single scores: twice the work.
        leave_out: Leave out `judges` or `runs`, one by one, in place of replicates.
        pool_depth: Ranks of a run that were pooled, for `leave_out="runs"`.
        anytime: Conclusion `best`, `topK` or `RUN,RUN`: whether the queries judged so
            far settle it, in place of replicates; without judgments, which to judge.
        alpha: Chance of ever being wrong, for `anytime`.
        ceiling: Upper bound of all scores, for `anytime`.

    Raises:
        DataError, UsageError, VerificationError: see `evaluate`.
    """
    judgments = {"preferences": preferences, "qrels": qrels}
    judgments |= {"intent_qrels": intent_qrels, "intents": intents, "context": context}
    asked = runs, judgments, measures, order, float32, missing, job
    _check_units(job, cluster, collections, missing, anytime or leave_out or resample)
    if anytime is not None:
        settings = {"question": anytime, "alpha": alpha, "ceiling": ceiling}
        return _anytime(asked, settings | {"seed": seed}, verify, replicates, leave_out)
    if leave_out is None:
        settings = _draw_settings(replicates, resample, seed, score_intervals)
        return draw_scores(scoring_task(*asked), settings, verify, cluster, collections)
    settings = _left_out_settings(leave_out, pool_depth, replicates)
    return _left_out(scoring_task(*asked), settings, verify)


def _check_units(
    job: Job | None, cluster: Any, collections: Any, missing: str, resample: str
) -> None:
    """Refuse a part of the runs, and a structure unless queries are resampled.

    Raises:
        UsageError: the arguments exclude each other.
    """
    structure = {"cluster": cluster, "collections": collections}
    given = [name for name, value in structure.items() if value is not None]
    if given and resample != "queries":
        raise UsageError(f"{given[0]} needs resample='queries' (--resample queries)")
    if given[1:]:
        raise UsageError(f"{given[0]} does not go with {given[1]}")
    if given == ["collections"] and missing == "skip":
        raise UsageError("collections: missing='skip' averages runs over other queries")
    if isinstance(job, Job) and job.part:
        raise UsageError(
            f"part={job.part}: replicates and leave_out need all runs: leave it out"
        )


def _left_out_settings(
    leave_out: str, pool_depth: int, replicates: int | None
) -> dict[str, Any]:
    """Check the arguments of leaving out, and return them as metadata."""
    check_choice("leave_out", leave_out, LEFT_OUT)
    check_whole("pool_depth", pool_depth, 1)
    if replicates:
        raise UsageError("leave_out and replicates: ask for one after the other")
    settings: dict[str, Any] = {"leave_out": leave_out}
    return settings | ({"pool_depth": pool_depth} if leave_out == "runs" else {})


def _anytime(
    asked: tuple[Any, ...],
    settings: dict[str, Any],
    verify: float,
    replicates: int | None,
    leave_out: str | None,
) -> StoppingDecision:
    """Score runs by the judgments so far, and decide whether they settle a question.

    Raises:
        UsageError: there are several measures, or runs have means over different
            queries; or `replicates` or `leave_out` is given.
    """
    from pgcjax.stats.anytime import decide

    check_whole("seed", settings["seed"], 0)
    if replicates or leave_out:
        raise UsageError("anytime excludes replicates and leave_out")
    runs, judgments, _, order, *_ = asked
    if all(table is None for table in judgments.values()):
        ids = [pl.col("run_id", "query_id").cast(pl.String)]
        tables = runs_of(runs, order).tables()
        rows = pl.concat([table.select(ids).unique() for table in tables])
        unscored = pd.DataFrame(index=sorted({*rows["run_id"]}))
        return decide(unscored, {*rows["query_id"]}, **settings)
    task = scoring_task(*asked)
    request = task.request
    request.check_means("results that hold at any time are")
    if len(request.members) > 1:
        raise UsageError(f"anytime: expected one measure, found {len(request.members)}")
    if request.missing == "skip":
        raise UsageError("anytime: missing='skip' averages runs over different queries")
    scored = score(task, {}, verify=verify, whole=True)
    member, has, scores = scored.by_measure[0]
    table = pd.DataFrame(np.where(has, scores, 0.0), scored.run_ids)
    table.columns = list(member.tensors.docs)
    decision = decide(table, scored.query_ids, **settings)
    notes = *scored.scores.notes, *decision.notes
    return replace(decision, observed=scored.scores, notes=notes)


def _draw_settings(
    replicates: int | None, resample: str, seed: int, score_intervals: bool
) -> dict[str, Any]:
    """Check the arguments of the draws, and return them as metadata."""
    check_choice("resample", resample, RESAMPLED)
    count = check_replicates(replicates, seed)
    settings = {"replicates": count, "resample": resample, "seed": seed}
    if not score_intervals:
        return settings
    if resample == "queries":
        raise UsageError(
            "score_intervals: single scores vary only with the judgments: give "
            "resample='judgments', 'judges' or 'both' (--resample on the command line)"
        )
    return settings | {"score_intervals": True}


def check_replicates(replicates: int | None, seed: int, usual: int = _USUAL) -> int:
    """Check the number of replicates, and a seed.

    Raises:
        UsageError: a number is wrong.
    """
    count = usual if replicates is None else replicates
    check_whole("replicates", count, 0)
    check_whole("seed", seed, 0)
    if count < 2 or count > _MOST:
        raise UsageError(
            f"replicates={count}: expected 2 to {_MOST}; {usual} are usual"
        )
    return count


def draw_scores(
    task: ScoringTask,
    settings: dict[str, Any],
    verify: float = 0.0,
    cluster: Any = None,
    collections: Any = None,
) -> Uncertainty:
    """Score runs by resampled judgments, queries or clusters of queries.

    Raises:
        UsageError: a measure has no judgments to draw. DataError: judges are to be
            drawn, and judgments name none; or there are too few clusters, or queries of
            a collection.
    """
    from pgcjax.judging.variants import drawn_queries
    from pgcjax.stats.score_intervals import ScoreIntervals
    from pgcjax.stats.structure import cluster_numbers, collection_weights
    from pgcjax.stats.uncertainty import Uncertainty, query_means

    batches = _batches_of_draws(task.request, settings)
    scored = score(task, settings, more=batches, verify=verify, whole=True)
    missing = task.request.missing
    observed = observed_means(scored, missing)
    if verify:
        _verify_means(observed, scored)
    drawn, single = {}, {}
    means = iter(scored.more)
    spreads = iter(scored.more[len(scored.by_measure) :])
    for member, has, scores in scored.by_measure:
        name, queries = str(member.measure), has.shape[1]
        if settings["resample"] == "queries":
            of = None
            if cluster is not None:
                of = cluster_numbers([*member.tensors.docs], cluster)
                settings["clusters"] = int(of.max()) + 1
            draws = settings["seed"], settings["replicates"]
            if collections is not None:
                ids = [*member.tensors.docs]
                weights, often, count = collection_weights(ids, collections, *draws)
                settings["collections"] = count
                observed[name] = query_means(scores, has, weights[None], missing)[0]
            else:
                often = drawn_queries(*draws, queries, of)
            drawn[name] = query_means(scores, has, often, missing)
        else:
            drawn[name] = next(means)[:, 0, :, 0]
        if "score_intervals" in settings:
            there = has if missing == "skip" else np.ones_like(has)
            names = list(member.tensors.docs)
            spread = np.where(has, next(spreads)[:, 0], 0.0)  # 0 without the query
            single[name] = ScoreIntervals(names, scores, there, spread)
    return Uncertainty(
        settings,
        run_ids=scored.run_ids,
        mean=observed,
        replicates=drawn,
        single=single,
        observed=scored.scores,
    )


def observed_means(scored: Scored, missing: str) -> dict[str, np.ndarray]:
    """Compute the mean of each run by each measure, averaged like a replicate."""
    from pgcjax.stats.uncertainty import query_means

    return {
        str(member.measure): query_means(
            scores, has, np.ones((1, has.shape[1])), missing
        )[0]
        for member, has, scores in scored.by_measure
    }


def _batches_of_draws(request: ScoringRequest, settings: dict[str, Any]) -> list[Batch]:
    """Make batches of the means of each measure, and then of its single scores."""
    request.check_means("replicates are")
    if settings["resample"] == "queries":
        return []
    from pgcjax.engine import variant_batch as of
    from pgcjax.judging.variants import QueryVotes, drawn_judges, drawn_votes

    for member in request.members:
        of.check_variants(member, f"resample={settings['resample']!r}", _QUERIES)
    votes = QueryVotes(request.tables["preferences"])
    draw = drawn_judges if settings["resample"] == "judges" else drawn_votes
    variants = draw(votes, settings["replicates"], settings["seed"])
    queries_by = settings["seed"] if settings["resample"] == "both" else None
    graphs = [of.VariantGraphs(member, votes) for member in request.members]
    means = [
        of.VariantMeans(each, variants, request.missing, queries_by) for each in graphs
    ]
    single = graphs if "score_intervals" in settings else []
    return [*means, *(of.VariantPercentiles(each, variants) for each in single)]


def _verify_means(observed: dict[str, np.ndarray], scored: Scored) -> None:
    """Compare the means that have intervals with the means that twins recomputed.

    Raises:
        VerificationError: they differ.
    """
    from pgcjax.engine.verify import TOLERANCE

    means = scored.scores.mean().reindex(scored.run_ids)
    for measure, values in observed.items():
        twins = means[measure].to_numpy()
        far = np.abs(values - twins) > TOLERANCE * np.maximum(1.0, np.abs(twins))
        for i in np.flatnonzero(far)[:1].tolist():
            raise VerificationError(
                f"run {scored.run_ids[i]!r}: the mean of {measure} is "
                f"{float(values[i])!r}, its reference {float(twins[i])!r}. This is a "
                "defect of pgcjax: please report it with the data"
            )


def _left_out(task: ScoringTask, settings: dict[str, Any], verify: float) -> LeftOut:
    """Leave out one owner of judgments after the other, and collect the scores.

    Raises:
        UsageError: a measure has no judgments to leave out. DataError: there is no
            owner to leave out, or runs cannot be read twice.
    """
    from pgcjax.engine.variant_batch import VariantGraphs, VariantScores, check_variants
    from pgcjax.judging.variants import QueryVotes, judges_as_owners, left_out
    from pgcjax.stats.left_out import LeftOut, LeftOutScores

    request, missing = task.request, task.request.missing
    given = f"leave_out={settings['leave_out']!r}"
    request.check_means(f"{given} is")
    for member in request.members:
        check_variants(member, given)
        needs = member.measure.needs
        if "pool_depth" in settings and "qrels" in needs:
            raise UsageError(
                f"{member.measure}: {given} works only with PGC of preferences: "
                "grades do not tell which run contributed a document"
            )
    votes = QueryVotes(request.tables["preferences"])
    if "pool_depth" in settings:
        with reading(memory=task.job.memory):
            owners = _runs_as_owners(votes, task, settings["pool_depth"])
    else:
        owners = judges_as_owners(votes)
    variants = left_out(votes, owners)
    memory = task.limits.memory // 4 // len(request.members)
    batches = [
        VariantScores(VariantGraphs(member, votes), variants, memory=memory)
        for member in request.members
    ]
    whose = {"left out": owners.fingerprint}
    scored = score(
        task, settings, more=batches, verify=verify, whole=True, identity=whose
    )
    scores = {}
    for (member, has, whole), part in zip(scored.by_measure, scored.more, strict=True):
        present: np.ndarray = np.all(~np.isnan(part[:, 0]), axis=1)
        without = np.where(has & present[:, None], part[:, 0], 0.0)
        scores[str(member.measure)] = LeftOutScores(
            [*member.tensors.docs], has, whole, without, present
        )
    return LeftOut(
        settings | {"missing": missing},
        left_out=owners.names,
        judgments=owners.judgments(votes),
        documents=owners.documents,
        run_ids=scored.run_ids,
        scores=scores,
        observed=scored.scores,
    )


def _runs_as_owners(votes: QueryVotes, task: ScoringTask, depth: int) -> Owners:
    """Read all runs, and find the judged documents that only one run contributed.

    A run owns a judgment if it alone has one of the documents among its first `depth`;
    the two documents may belong to different runs.
    """
    from pgcjax.judging.variants import Owners

    columns = votes.table[["query_id", "doc_id", "other_doc_id"]]
    rows = pl.from_pandas(columns).cast(pl.String)
    places = [
        rows.select("query_id", doc_id=name) for name in ("doc_id", "other_doc_id")
    ]
    named = pl.concat(places).drop_nulls().unique()
    docs = {
        str(query): table["doc_id"].sort().to_list()
        for (query,), table in named.group_by("query_id")
    }
    judged, order, progress = (
        JudgedDocuments(docs),
        task.request.order,
        task.job.progress,
    )
    names, owner = _sole_runs(judged, task.runs, order, depth, progress)
    if len(names) < 2:
        raise DataError(
            f"there is one run alone, {names[0]!r}" if names else "there is no run",
            mend="At least 2 are needed to leave one out.",
        )
    owners = [np.append(owner, -1)[judged.codes(place)] for place in places]
    documents = np.bincount(owner[owner >= 0], minlength=len(names))
    return Owners(names, np.array(owners), documents)


def _sole_runs(
    judged: JudgedDocuments,
    runs: Runs,
    order: str,
    depth: int,
    progress: Progress | None,
) -> tuple[list[str], np.ndarray]:
    """Find all runs, ascending, and the only run with each document among its first."""
    number: dict[str, int] = {}
    count = np.zeros(judged.end, np.int64)
    owner = np.full(judged.end, -1)
    look_up = partial(find, judged=judged, order=order)
    with closing(runs.read(judged, order, look_up, progress=progress)) as units:
        for ranks in chain.from_iterable(read.parts for read in units):
            numbers = [number.setdefault(run, len(number)) for run in ranks.run_ids]
            run = np.repeat(np.array(numbers, np.int64)[ranks.run], ranks.count)
            code = ranks.known[ranks.code]
            top = (ranks.position < depth) & (code >= 0)
            np.add.at(count, code[top], 1)
            owner[code[top]] = run[top]
    names = sorted(number)
    place = np.array([names.index(run) for run in number], np.int64)
    alone = count == 1
    owner[alone], owner[~alone] = place[owner[alone]], -1
    return names, owner
