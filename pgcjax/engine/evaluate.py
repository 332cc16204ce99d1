"""Tables × measures → scores: the entry to the engine, and the table of results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Never

import numpy as np

from pgcjax._aliases import ARGUMENTS
from pgcjax._version import __version__
from pgcjax.engine import distributed as shares
from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.chunk import Chunk, KeptChunk, together
from pgcjax.engine.job import Job, run
from pgcjax.engine.missing import tell, unproven
from pgcjax.engine.plan import MemoryLimits
from pgcjax.engine.request import ScoringRequest, read_request, runs_of
from pgcjax.engine.scored import (
    by_measure,
    counting,
    job_means,
    job_scores,
    means_of,
)
from pgcjax.engine.tally import RunTally
from pgcjax.engine.verify import Sample
from pgcjax.errors import DataError, UsageError, refuse_arguments
from pgcjax.io.check import fingerprint
from pgcjax.io.checkpoint import Checkpoint, remove
from pgcjax.io.reading import chosen, memory_limit, reading
from pgcjax.io.runs import Options, Runs
from pgcjax.measures.measure import Measure
from pgcjax.runtime.processes import Processes
from pgcjax.stats.scores import Scores

_INSTEAD = {
    "prefs": "give preferences=…",
    "judgments": "give preferences=…, or qrels=…",
    "measure": "give measures=…",
    "metrics": "give measures=…",
    **ARGUMENTS,
}


def evaluate(  # noqa: D417 - a line for each argument would be one too many
    runs: Any,
    *,
    preferences: Any = None,
    qrels: Any = None,
    intent_qrels: Any = None,
    intents: Any = None,
    context: Any = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    order: str = "trec",
    float32: bool = False,
    missing: str = "zero",
    verify: float = 0.0,
    means_only: bool = False,
    job: Job | None = None,
    **others: Never,
) -> Scores:
    """Score runs against judgments of any kind; `read_...` describes their formats.

    Args:
        runs: Input or result of `read_runs`, or result of `read_grids`.
        preferences: Preferences, for PGC and the measures of preferences.
        qrels: Grades, for Compat and graded measures.
        intent_qrels: Grades per intent, for measures of diversity.
        intents: Probabilities and kinds of the intents.
        context: Grades of documents after other documents.
        measures: such as `["PGC", "nDCG@10"]`, `official`, `all`; else PGC and Compat.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        float32: whether to round the runs' scores to it, as trec_eval up to 9 does.
        missing: Judged queries that a run lacks: `zero` (score 0), `skip` or `error`.
        verify: Share of scores that twins recompute, with means (VerificationError).
        means_only: whether to keep only means of runs, as scores of the query `all`.
        job: Memory, journal, part, processes and progress.
    """
    refuse_arguments("evaluate", others, _INSTEAD)
    if means_only and verify:
        raise UsageError(
            "means_only (--means-only) keeps no scores, which verify needs"
        )
    judgments = {"preferences": preferences, "qrels": qrels}
    judgments |= {"intent_qrels": intent_qrels, "intents": intents, "context": context}
    task = scoring_task(runs, judgments, measures, order, float32, missing, job)
    settings = {"means_only": True} if means_only else {}
    scored = score(task, settings, verify=verify, means_only=means_only)
    return scored.scores.remember(runs, judgments)


class ScoringTask(NamedTuple):
    """Runs, judgments and measures to score.

    Attributes:
        runs: Runs to score.
        request: Measures and judgments.
        job: Settings of the job.
        limits: Limits of memory.
    """

    runs: Runs
    request: ScoringRequest
    job: Job
    limits: MemoryLimits


class Scored(NamedTuple):
    """Results of a job.

    Attributes:
        scores: Scores of all runs.
        run_ids: Runs, ascending; this and the next attributes are empty unless `whole`.
        by_measure: see `scored.by_measure`.
        more: Results of further batches.
        query_ids: Queries that any run has, judged or not.
    """

    scores: Scores
    run_ids: list[str]
    by_measure: list[tuple[Member, np.ndarray, np.ndarray]]
    more: list[np.ndarray]
    query_ids: set[str]


def scoring_task(
    runs: Any,
    judgments: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure] | None,
    order: str,
    float32: bool,
    missing: str,
    job: Job | None,
) -> ScoringTask:
    """Open runs, and read judgments for measures; for arguments see `evaluate`."""
    job = Job() if job is None else job
    if not isinstance(job, Job):
        raise UsageError(f"job={job!r}: expected a pgcjax.Job")
    limits = MemoryLimits(memory_limit(job.memory))
    with reading(memory=job.memory):
        opened = runs_of(runs, order, Options(float32=float32))
        request = read_request(judgments, measures, order, missing, grids=opened.grids)
    return ScoringTask(
        opened.part(*job.part) if job.part else opened, request, job, limits
    )


def score(
    task: ScoringTask,
    settings: dict[str, Any],
    *,
    more: Sequence[Batch] = (),
    verify: float = 0.0,
    means_only: bool = False,
    whole: bool = False,
    identity: Mapping[str, str] = MappingProxyType({}),
) -> Scored:
    """Score runs in a job.

    Args:
        task: Runs, judgments and measures.
        settings: Further settings on which scores depend; they become metadata.
        more: Batches of other judgments, scored in the same reading of the runs.
        verify: see `evaluate`.
        means_only: see `evaluate`.
        whole: whether to keep all scores, and the results of `more`, in memory.
        identity: Further values, beside metadata, on which finished work depends.

    Raises:
        DataError: the data cannot be scored. VerificationError: see `evaluate`.
    """
    processes = task.job.processes
    task = _share(task, processes) if processes else task
    request, sample = task.request, Sample(verify)
    described = _described(task, settings)
    batches = request.batches(budget=task.limits.tile, keep=task.limits.kept)
    tally, seen = counting(request, batches, means_only)
    options: dict[str, Any] = {"sample": sample if verify else None, "seen": seen}
    options["settle"] = partial(means_of, request, batches) if means_only else None
    work = partial(_work, task, [*batches, *more], described, identity, options)
    apart = plan.settings.apart and not whole
    chunks, every = shares.gather(processes, work, tally, apart)
    of_runs = tally if apart else every
    if means_only:
        source = job_means(request, chunks, of_runs)
    else:
        source = job_scores(request, batches, chunks, of_runs)
    notes = _notes(task, every)
    about = dict(described)
    if greedy := {str(m.measure): u for m in request.members if (u := unproven(m))}:
        about["unproven"] = greedy
    if task.job.part is not None:
        about["part"] = list(task.job.part)
    scores = Scores(source, about, notes)
    if verify:
        count = shares.total(processes, lambda: sample.verify(scores, request, batches))
        all_of = shares.total(processes if apart else None, lambda: source.count)
        line = f"{count} of {all_of} scores recomputed: equal"
        scores = Scores(source, about, (*notes, line))
    if not whole:
        return Scored(scores, [], [], [], set())
    total = together([chunk.open() for chunk in chunks])
    by_each = [*by_measure(request, batches, total)]
    parts = total.parts[len(batches) :]
    return Scored(scores, total.run_ids, by_each, parts, every.query_ids)


def _share(task: ScoringTask, processes: Processes) -> ScoringTask:
    """Take the runs of this process, whose work stops if another process fails."""
    progress = task.job.progress

    def update(stage: str, done: int, total: int) -> None:
        processes.check()
        if progress:
            progress(stage, done, total)

    runs = task.runs.share(processes.number, processes.count)
    return task._replace(runs=runs, job=replace(task.job, progress=update))


def _work(
    task: ScoringTask,
    batches: list[Batch],
    described: Mapping[str, Any],
    identity: Mapping[str, str],
    options: dict[str, Any],
) -> list[Chunk | KeptChunk]:
    """Score runs, and keep finished work in the journal, keyed by its dependencies."""
    runs, request, job, limits = task
    finished = None
    if job.journal:
        about = {**described, **identity}
        if runs.grids is not None:  # a score may depend on all systems
            about |= {"grids": fingerprint(runs.grids)}
        finished = Checkpoint(job.journal, about)
    options |= {"limits": limits, "checkpoint": finished, "progress": job.progress}
    with reading(memory=job.memory):
        return run(runs, request, batches, **options)


def _notes(task: ScoringTask, tally: RunTally) -> tuple[str, ...]:
    """List notes of runs, judgments and scores; warn of causes of low scores.

    Raises:
        DataError: runs and judgments share no query; the journal is removed.
    """
    request, journal = task.request, task.job.journal
    try:
        notes = tell(request.members, tally, request.missing)
    except DataError:
        if journal:  # it has no work to resume
            remove(journal)
        raise
    of_tensors = (getattr(member.tensors, "notes", ()) for member in request.members)
    notes += dict.fromkeys(itertools.chain.from_iterable(of_tensors))
    return (*dict.fromkeys(task.runs.notes), *request.notes, *notes)


def _described(task: ScoringTask, settings: dict[str, Any]) -> dict[str, Any]:
    """Describe the data and settings on which scores depend.

    Args:
        task: Runs, judgments and measures.
        settings: Further settings on which scores depend.
    """
    request = task.request
    rounded = {"float32": True} if task.runs.options.float32 else {}
    tables = request.columns_of_judgments.items()
    return {
        "version": __version__,
        "order": request.order,
        "missing": request.missing,
        "measures": [measure.in_full() for measure in request.measures],
        "judgments": {name: fingerprint(table) for name, table in tables},
        **rounded,
        **settings,
        **chosen().described(),
    }
