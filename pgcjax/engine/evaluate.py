"""Tables × measures → scores: the door to the engine, and the table that leaves it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Never

from pgcjax._version import __version__
from pgcjax.engine import distributed as shares
from pgcjax.engine import job, plan
from pgcjax.engine import leave_out as leaving
from pgcjax.engine import replicates as redraw
from pgcjax.engine.chunk import Chunk, KeptChunk, together
from pgcjax.engine.leave_out import LeavingOut
from pgcjax.engine.missing import tell, unproven
from pgcjax.engine.plan import Limits
from pgcjax.engine.replicates import Resampling
from pgcjax.engine.request import Request, read_request, runs_of
from pgcjax.engine.scored import (
    JobMeans,
    JobScores,
    by_measure,
    counting,
    means_of,
)
from pgcjax.engine.verify import Sample
from pgcjax.errors import DataError, Progress, UsageError, refuse_arguments
from pgcjax.io.check import fingerprint
from pgcjax.io.checkpoint import Checkpoint, remove
from pgcjax.io.memory import memory_limit
from pgcjax.io.reading import chosen, reading
from pgcjax.io.runs import Options
from pgcjax.io.score_source import ScoreSource
from pgcjax.later import pd
from pgcjax.runtime.processes import Processes
from pgcjax.stats.scores import Scores, StoredScores

if TYPE_CHECKING:
    from pgcjax.judging.left_out import Omissions


_INSTEAD = {
    "prefs": "give preferences=…",
    "judgments": "give preferences=…, or qrels=…",
    "measure": "give measures=…",
    "metrics": "give measures=…",
}


def evaluate(  # noqa: D417 - a line for each argument would be one too many
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
    replicates: int = 0,
    resample: str = "judgments",
    seed: int = 0,
    leave_out: str | None = None,
    pool_depth: int = 10,
    score_intervals: bool = False,
    memory: str | int | None = None,
    journal: str | os.PathLike | None = None,
    part: tuple[int, int] | None = None,
    distributed: Processes | None = None,
    means_only: bool = False,
    progress: Progress | None = None,
    **others: Never,
) -> Scores:
    """Score runs against judgments of any kind; `read_...` says what each may be.

    Args:
        runs: what `read_runs` takes or returns, or what `read_grids` returns.
        preferences: for PGC and the measures of preferences.
        qrels: grades, for Compat and graded measures.
        intent_qrels: grades per intent, for measures of diversity.
        intents: their probabilities and kinds.
        context: grades of documents after others.
        measures: such as `["PGC", "nDCG@10"]`, `official`, `all`; else PGC and Compat.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        float32: whether scores of runs are rounded to it, as trec_eval up to 9 does.
        missing: judged queries that a run lacks: `zero` (score 0), `skip` or `error`.
        verify: share of scores that twins recompute, with means (VerificationError).
        replicates: how often to draw judgments, by `seed`, for `Scores.uncertainty`.
        resample: what is drawn: `judgments`, `judges`, `queries` or `both`.
        leave_out: `judges` or `runs`, one after the other, for `Scores.left_out`.
        pool_depth: ranks of a run that brought documents to be judged, to leave it out.
        score_intervals: whether to give those of single scores, too: twice the work.
        memory: bytes that runs in work, or a file, may take, or a size such as `2GB`.
        journal: folder for finished work, with which the same call goes on.
        part: `(3, 16)` scores the third of 16 parts of the runs alone, for `merge`.
        distributed: what `engine.distributed.start` returned, in each of the processes.
        means_only: whether to keep means of runs alone, as scores of the query `all`.
        progress: called with `(stage, done, total)`.
    """
    refuse_arguments("evaluate", others, _INSTEAD)
    if distributed is not None and not isinstance(distributed, Processes):
        raise UsageError(
            f"distributed={distributed!r}: expected what "
            "pgcjax.engine.distributed.start('I/N@HOST:PORT') returns"
        )
    if means_only and (verify or replicates or leave_out):
        raise UsageError(
            "means_only (--means-only) keeps no scores, which verify, replicates and "
            "leave_out need"
        )
    if part is not None:
        _check_part(part, replicates or leave_out)
    limits = Limits(memory_limit(memory))
    sample = Sample(verify)
    judgments = {
        "preferences": preferences,
        "qrels": qrels,
        "intent_qrels": intent_qrels,
        "intents": intents,
        "context": context,
    }
    with reading(memory=memory):
        runs = runs_of(runs, order, Options(float32=float32))
        request = read_request(judgments, measures, order, missing, grids=runs.grids)
    if part is not None:
        runs = runs.part(*part)
    resampling = Resampling.of(replicates, resample, seed, score_intervals)
    asked = LeavingOut.of(leave_out, pool_depth, replicates)
    owned = None
    if asked:
        with reading(memory=memory):
            owned = leaving.omissions(request, runs, asked, progress)
    if distributed:
        runs = runs.share(distributed.number, distributed.count)
        progress = _watching(distributed, progress)
    used = resampling.drawn if resampling else asked.used if asked else {}
    used = used | ({"means_only": True} if means_only else {})
    rounded = {"float32": True} if runs.options.float32 else {}
    described = described_by(request, rounded | used)
    batches = request.batches(budget=limits.tile, keep=limits.kept)
    redrawn = redraw.batches(request, resampling) if resampling else []
    if owned:
        redrawn = leaving.batches(request, owned, limits.memory // 4)

    tally, seen = counting(request, batches, means_only)
    reduced = partial(means_of, request, batches) if means_only else None

    def work() -> list[Chunk | KeptChunk]:
        with reading(memory=memory):
            return job.run(
                runs,
                request,
                [*batches, *redrawn],
                limits=limits,
                checkpoint=Checkpoint(
                    journal, identity(described.result(), runs.grids, owned)
                )
                if journal
                else None,
                sample=sample if verify else None,
                settle=reduced,
                seen=seen,
                progress=progress,
            )

    again = resampling or owned  # that needs all scores
    apart = plan.settings.apart and not again
    chunks, every = shares.gather(distributed, work, tally, apart)
    source: ScoreSource
    if means_only:
        source = JobMeans(request, chunks, tally if apart else every)
    else:
        source = JobScores(request, batches, chunks, tally if apart else every)
    try:
        notes = tell(request.members, every, request.missing)
    except DataError:
        if journal:  # runs and judgments that share nothing: nothing to go on with
            remove(journal)
        raise
    told = (getattr(member.tensors, "notes", ()) for member in request.members)
    notes += dict.fromkeys(itertools.chain.from_iterable(told))
    uncertainty = left_out = None
    if again:
        total = together([chunk.open() for chunk in chunks])
        scored = [*by_measure(request, batches, total)]
        how = request.missing, scored, total.parts[len(batches) :]
        if resampling:
            uncertainty = redraw.uncertainty(total.run_ids, resampling, *how)
            notes += uncertainty.notes
        if asked and owned:
            left_out = leaving.findings(total.run_ids, owned, asked, *how)
            notes += left_out.notes
    notes = [*dict.fromkeys(runs.notes), *request.notes, *notes]
    about = described.result()
    if greedy := {str(m.measure): u for m in request.members if (u := unproven(m))}:
        about["unproven"] = greedy
    if part is not None:
        about["part"] = list(part)
    scores = StoredScores(source, about, tuple(notes), uncertainty, left_out)
    if not verify:
        return scores
    count = shares.total(distributed, lambda: sample.verify(scores, request, batches))
    every = shares.total(distributed if apart else None, lambda: source.count)
    notes.append(f"{count} of {every} scores recomputed: equal")
    return StoredScores(source, about, tuple(notes), uncertainty, left_out)


def _check_part(part: Any, redrawn: Any) -> None:
    """Refuse a part that is none, or of which nothing could be merged."""
    match part:
        case (i, n) if type(i) is type(n) is int and 1 <= i <= n:
            if redrawn:
                raise UsageError(
                    f"part={part}: replicates and leave_out need all runs: leave it out"
                )
            return
    raise UsageError(f"part={part!r}: expected (i, n) such as (3, 16), 1 <= i <= n")


def _watching(processes: Processes, progress: Progress | None) -> Progress:
    """Let work stop at its next step when another process has failed, or is gone."""

    def update(stage: str, done: int, total: int) -> None:
        processes.check()
        if progress:
            progress(stage, done, total)

    return update


def described_by(request: Request, drawn: dict[str, Any]) -> Future[dict[str, Any]]:
    """Say what scores depend on, while runs are read: fingerprints take a while.

    Args:
        request: what is asked.
        drawn: what is said of judgments that are drawn.
    """
    drawn = drawn | chosen().of_preferences()

    def describe() -> dict[str, Any]:
        tables = request.columns_of_judgments.items()
        return {
            "version": __version__,
            "order": request.order,
            "missing": request.missing,
            "measures": [measure.in_full() for measure in request.measures],
            "judgments": {name: fingerprint(table) for name, table in tables},
            **drawn,
        }

    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(describe)
    finally:
        pool.shutdown(wait=False)


def identity(
    described: dict[str, Any],
    grids: pd.DataFrame | None,
    owned: Omissions | None = None,
) -> dict[str, Any]:
    """Say what a checkpoint depends on: a score may depend on all systems, or runs."""
    if grids is not None:
        described |= {"grids": fingerprint(grids)}
    return described | ({"left out": owned.fingerprint} if owned else {})
