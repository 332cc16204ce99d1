"""Tables × measures → scores: arguments, conventions, missing data, the table."""

import warnings
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import pgcjax
from pgcjax.compute import Progress, overlap_sums
from pgcjax.errors import DataError, DataWarning, UsageError, counted
from pgcjax.measures.catalogue import parse_all
from pgcjax.measures.compatibility import Tensors
from pgcjax.measures.spec import Measure
from pgcjax.scores import COLUMNS, Scores
from pgcjax.tables.check import check_common_queries, fingerprint
from pgcjax.tables.preferences import read_preferences
from pgcjax.tables.qrels import read_qrels
from pgcjax.tables.runs import iter_runs
from pgcjax.tensors.rankings import ORDERS, Rankings
from pgcjax.verify import Sample

MISSING = ("zero", "skip", "error")


def evaluate(
    runs: Any,
    *,
    preferences: Any = None,
    qrels: Any = None,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    missing: str = "zero",
    verify: float = 0.0,
    progress: Progress | None = None,
) -> Scores:
    """Score runs against judgments.

    Args:
        runs: what `read_runs` takes or returns, or what `iter_runs` yields.
        preferences: what `read_preferences` takes or returns.
        qrels: what `read_qrels` takes or returns.
        measures: such as `["PGC(p=0.8)", "Compat"]`; by default `PGC` of preferences
            (without them `PGC(graph=derived)` of qrels), and `Compat` of qrels.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        missing: what a judged query that a run lacks does: `zero` scores 0, `skip`
            leaves it out of the run's mean, `error` refuses the run.
        verify: share of the scores to recompute with the plain twins.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be scored. UsageError: an argument is wrong.
        VerificationError: a score differs from its plain twin.
    """
    _check_choice("order", order, ORDERS)
    _check_choice("missing", missing, MISSING)
    chosen = parse_all(_defaults(preferences, qrels) if measures is None else measures)
    _check_needs(chosen, preferences, qrels)
    tables: dict[str, pd.DataFrame] = {}
    if preferences is not None:
        tables["preferences"] = read_preferences(preferences)
    if qrels is not None:
        tables["qrels"] = read_qrels(qrels)
    sample = Sample(verify)
    tensors = [m.definition.tensors(m.parameters, tables) for m in chosen]
    judged = _judged(tensors)
    if not isinstance(runs, Iterator):
        runs = iter_runs(runs, progress=progress)
    try:
        rankings = Rankings(sample.watch(runs, judged), judged, order)
    finally:
        if isinstance(runs, Generator):
            runs.close()  # so that an error leaves no reader running
    notes, parts = [], []
    for measure, tensor in zip(chosen, tensors, strict=True):
        part, seen = _score(measure, tensor, rankings, missing, progress)
        parts.append(part.assign(place=len(parts)))
        notes += seen
    table = pd.concat(parts, ignore_index=True)
    table = table.sort_values(["run_id", "query_id", "place"], ignore_index=True)
    table = table[COLUMNS]
    if verify:
        count = sample.verify(table, chosen, tables, order)
        notes.append(f"{count} of {len(table)} scores recomputed: equal")
    metadata = {
        "version": pgcjax.__version__,
        "order": order,
        "missing": missing,
        "measures": [m.in_full() for m in chosen],
        "judgments": {name: fingerprint(t) for name, t in tables.items()},
    }
    return Scores(table, metadata, tuple(notes))


def _judged(tensors: list[Tensors]) -> dict[str, np.ndarray]:
    """Collect the documents of each query that any measure needs; ascending."""
    docs: dict[str, list[np.ndarray]] = {}
    for tensor in tensors:
        for name, graph in tensor.graphs.items():
            docs.setdefault(name, []).append(graph.doc_ids)
    return {
        name: parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        for name, parts in docs.items()
    }


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def _defaults(preferences: Any, qrels: Any) -> list[str]:
    if preferences is None:
        return ["PGC(graph=derived)", "Compat"]
    return ["PGC"] if qrels is None else ["PGC", "Compat"]


def _check_needs(measures: list[Measure], preferences: Any, qrels: Any) -> None:
    given = {"preferences": preferences, "qrels": qrels}
    for measure in measures:
        for need in sorted(measure.definition.needs(measure.parameters)):
            if given[need] is None:
                option = "--prefs" if need == "preferences" else "--qrels"
                raise UsageError(f"{measure} needs {need}: give {option} FILE")
    if not measures:
        raise UsageError("no measure was asked for")


def _score(
    measure: Measure,
    tensors: Tensors,
    rankings: Rankings,
    missing: str,
    progress: Progress | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Score every run on every judged query with one measure."""
    queries = list(tensors.graphs)
    check_common_queries(queries, rankings.query_ids)
    sizes = np.array([len(tensors.graphs[q]) for q in queries])
    retrieved = rankings.answered(queries)
    if missing == "error" and not retrieved.all():
        run, query = np.argwhere(~retrieved)[0]
        raise DataError(
            f"run {rankings.run_ids[run]!r} lacks query {queries[query]!r}, which is "
            f"judged for {measure} ({counted((~retrieved).sum(), 'pair')} of run and "
            "query missing in all)",
            mend="Complete it, or choose --missing zero or skip.",
        )
    sums = overlap_sums(tensors.graphs, rankings, tensors.weights, progress=progress)
    values = measure.definition.finish(measure.parameters, sums, sizes)
    keep = retrieved if missing == "skip" else np.ones_like(retrieved)
    run, query = np.nonzero(keep)
    part = pd.DataFrame(
        {
            "run_id": np.array(rankings.run_ids, object)[run],
            "query_id": np.array(queries, object)[query],
            "measure": str(measure),
            "value": values[run, query],
        }
    ).astype({"run_id": "str", "query_id": "str", "measure": "str"})
    notes = _notes(measure, rankings, queries, sizes, retrieved, missing)
    if retrieved.any() and not sums.any():
        warnings.warn(
            f"{measure}: no run retrieved a judged document: do runs and judgments "
            "name documents in the same way?",
            DataWarning,
            stacklevel=3,
        )
    return part, notes


def _notes(measure, rankings, queries, sizes, retrieved, missing) -> list[str]:
    """Warn of what lowers scores; count the rest."""
    if not retrieved.all():
        lacking = [
            r
            for r, has in zip(rankings.run_ids, retrieved, strict=True)
            if not has.all()
        ]
        shown = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        effect = "scored 0" if missing == "zero" else "left out of the run's mean"
        warnings.warn(
            f"{measure}: judged queries are missing in {counted(len(lacking), 'run')} "
            f"({shown}), {counted((~retrieved).sum(), 'score')} in all: {effect}",
            DataWarning,
            stacklevel=4,
        )
    void = [q for q, n in zip(queries, sizes, strict=True) if not n]
    if void:
        warnings.warn(
            f"{measure}: no ideal ranking (only ties, or no grade above 0) for "
            f"{counted(len(void), 'judged query')}, such as {void[0]!r}: every run "
            "scores 0",
            DataWarning,
            stacklevel=4,
        )
    unjudged = len(rankings.query_ids - set(queries))
    return [
        f"{measure}: {counted(len(rankings.run_ids), 'run')}, "
        + counted(len(queries), "judged query")
        + (f"; {counted(unjudged, 'unjudged query')} ignored" if unjudged else "")
    ]
