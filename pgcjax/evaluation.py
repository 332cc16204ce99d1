"""Tables × measures → scores: arguments, conventions, missing data, the table."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pandas as pd
import polars as pl

import pgcjax
from pgcjax import distributed as processes
from pgcjax import gridwise, job, plan
from pgcjax.calls import Progress
from pgcjax.errors import DataError, DataWarning, UsageError, counted
from pgcjax.journal import Chunk, Journal
from pgcjax.measures.spec import Measure
from pgcjax.request import Asked, ask
from pgcjax.scores import Scores
from pgcjax.tables.check import check_common_queries, fingerprint
from pgcjax.tables.grids import is_grids, read_grids
from pgcjax.tables.judged import Judged
from pgcjax.tables.runs import Runs
from pgcjax.tensors.examination import as_runs
from pgcjax.tensors.judgments import OnGrids, Overlaps, Tensors
from pgcjax.verify import Sample

MISSING = ("zero", "skip", "error")


def evaluate(
    runs: Any,
    *,
    preferences: Any = None,
    qrels: Any = None,
    intent_qrels: Any = None,
    intents: Any = None,
    context: Any = None,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    missing: str = "zero",
    verify: float = 0.0,
    memory: str | int | None = None,
    journal: str | os.PathLike | None = None,
    distributed: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Score runs against judgments of any kind; `read_...` says what each may be.

    Args:
        runs: what `read_runs` takes or returns, or what `read_grids` returns.
        preferences: for PGC and the measures of preferences.
        qrels: grades, for Compat and graded measures.
        intent_qrels: grades per intent, for measures of diversity.
        intents: their probabilities and kinds.
        context: grades of documents after others.
        measures: such as `["PGC(p=0.8)", "nDCG@10"]`; by default `PGC` of preferences
            (without them `PGC(graph=derived)` of qrels), and `Compat` of qrels.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        missing: what a judged query that a run lacks does: `zero` scores 0, `skip`
            leaves it out of the run's mean, `error` refuses the run.
        verify: share of the scores to recompute with the plain twins.
        memory: bytes that runs in work may take, or a size such as `2GB`.
        journal: folder for finished work, with which the same call goes on.
        distributed: share runs among the processes of `jax.distributed`, all of which
            make this call and get all scores.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be scored. UsageError: an argument is wrong.
        VerificationError: a score differs from its plain twin.
    """
    _check_choice("missing", missing, MISSING)
    limits = plan.Limits.of(memory)
    sample = Sample(verify)
    sources = {
        "preferences": preferences,
        "qrels": qrels,
        "intent_qrels": intent_qrels,
        "intents": intents,
        "context": context,
    }
    grids = read_grids(runs) if is_grids(runs) else None
    asked = ask(sources, measures, order, grids=grids is not None)
    chosen, tensors, judged = asked.measures, asked.tensors, asked.judged
    runs = Runs(runs if grids is None else as_runs(grids))
    if distributed and grids is not None:
        raise UsageError("grids are not shared among processes: score them in one")
    if distributed:
        runs = runs.share(jax.process_index(), jax.process_count())
    described = _describe(asked, missing)

    listed = [i for i, t in enumerate(tensors) if not isinstance(t, OnGrids)]

    def work() -> Chunk:
        return job.run(
            runs,
            judged,
            [chosen[i] for i in listed],
            [tensors[i] for i in listed],
            order,
            limits=limits,
            journal=Journal(journal, described.result(), runs.identities())
            if journal
            else None,
            watch=lambda some: sample.watch(some, judged.docs),
            inspect=_refusal(chosen, tensors, judged)
            if missing == "error"
            else _accept,
            progress=progress,
        )

    total = processes.gather(work) if distributed else work()
    parts = dict(zip(listed, total.parts, strict=True))
    if grids is not None:
        shown = {i: t for i, t in enumerate(tensors) if isinstance(t, OnGrids)}
        how: dict[str, Any] = {"budget": limits.tile, "progress": progress}
        found = gridwise.results(grids, list(shown.values()), **how)
        parts.update(zip(shown, found, strict=True))
    notes = list(runs.notes)
    values = np.zeros((len(total.run_ids), len(judged), len(chosen)))
    keep = np.zeros(values.shape, bool)
    for i, (measure, tensor) in enumerate(zip(chosen, tensors, strict=True)):
        columns = [judged.number[query] for query in tensor.docs]
        has = total.has[:, columns]
        notes += _look(measure, tensor, total, has, parts[i], missing)
        scores = parts[i]
        if isinstance(tensor, Overlaps):
            sizes = np.array([len(docs) for docs in tensor.docs.values()])
            scores = tensor.finish(scores, sizes)
        # A run without the query retrieved nothing: not even a residual is scored.
        values[:, columns, i] = np.where(has, scores, 0)
        keep[:, columns, i] = has if missing == "skip" else True
    table = _table(total.run_ids, list(judged.docs), chosen, values, keep)
    told = (getattr(tensor, "notes", ()) for tensor in tensors)
    notes += dict.fromkeys(note for some in told for note in some)
    if verify:
        notes.append(_verified(sample, table, asked, grids, distributed))
    return Scores(table, described.result(), tuple(notes))


def _describe(asked: Asked, missing: str) -> Future[dict[str, Any]]:
    """Say what scores depend on, while runs are read: fingerprints take a while."""

    def describe() -> dict[str, Any]:
        return {
            "version": pgcjax.__version__,
            "order": asked.order,
            "missing": missing,
            "measures": [m.in_full() for m in asked.measures],
            "judgments": {name: fingerprint(t) for name, t in asked.tables.items()},
        }

    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(describe)
    finally:
        pool.shutdown(wait=False)


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def _accept(run_ids: Sequence[str], has: np.ndarray) -> None:
    """Take runs as they are."""


def _refusal(
    measures: Sequence[Measure], tensors: Sequence[Tensors], judged: Judged
) -> Callable[[Sequence[str], np.ndarray], None]:
    """Make what refuses runs that lack a judged query, before hours go into others."""
    queries = [list(tensor.docs) for tensor in tensors]
    columns = [[judged.number[query] for query in some] for some in queries]

    def refuse(run_ids: Sequence[str], has: np.ndarray) -> None:
        for measure, some, mine in zip(measures, queries, columns, strict=True):
            lacking = np.argwhere(~has[:, mine])
            if len(lacking):
                run, query = lacking[0]
                raise DataError(
                    f"run {run_ids[run]!r} lacks query {some[query]!r}, which is "
                    f"judged for {measure}",
                    mend="Complete it, or choose --missing zero or skip.",
                )

    return refuse


def _verified(
    sample: Sample,
    table: pd.DataFrame,
    asked: Asked,
    grids: pd.DataFrame | None,
    distributed: bool,
) -> str:
    count = 0

    def verify() -> None:
        nonlocal count
        tables = asked.tables if grids is None else asked.tables | {"grids": grids}
        count = sample.verify(table, asked.measures, tables, asked.order)

    processes.agree(verify) if distributed else verify()
    return f"{count} of {len(table)} scores recomputed: equal"


def _table(
    run_ids: list[str],
    query_ids: list[str],
    measures: Sequence[Measure],
    values: np.ndarray,
    keep: np.ndarray,
) -> pd.DataFrame:
    """Lay `[runs, queries, measures]` out as rows, in that order."""

    def named(places: np.ndarray, names: list[str]) -> pl.Series:
        return pl.Series(names, dtype=pl.String).gather(places)

    run, query, measure = np.nonzero(keep)
    return pl.DataFrame(
        {
            "run_id": named(run, run_ids),
            "query_id": named(query, query_ids),
            "measure": named(measure, [str(m) for m in measures]),
            "value": values[keep],
        }
    ).to_pandas()


def _look(
    measure: Measure,
    tensors: Tensors,
    total: Chunk,
    has: np.ndarray,
    part: np.ndarray,
    missing: str,
) -> list[str]:
    """Warn of what lowers scores; count the rest."""
    check_common_queries(tensors.docs, total.query_ids)
    if not has.all():
        lacking = [total.run_ids[i] for i in np.flatnonzero(~has.all(1))]
        shown = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        effect = "scored 0" if missing == "zero" else "left out of the run's mean"
        _warn(
            f"{measure}: judged queries are missing in {counted(len(lacking), 'run')} "
            f"({shown}), {counted((~has).sum(), 'score')} in all: {effect}"
        )
    if void := tensors.void:
        _warn(
            f"{measure}: nothing to find (only ties, or nothing relevant) for "
            f"{counted(len(void), 'judged query')}, such as {void[0]!r}: every run "
            "scores 0"
        )
    if has.any() and not part.any():
        _warn(
            f"{measure}: every score is 0: do runs and judgments "
            "name documents in the same way?"
        )
    unjudged = len(total.query_ids - set(tensors.docs))
    return [
        f"{measure}: {counted(len(total.run_ids), 'run')}, "
        + counted(len(tensors.docs), "judged query")
        + (f"; {counted(unjudged, 'unjudged query')} ignored" if unjudged else "")
    ]


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)  # at the caller of evaluate
