"""Tables × measures → scores. The only place with jit, vmap and shardings."""

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import jax
import numpy as np
import pandas as pd
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import pgcjax
from pgcjax import plan
from pgcjax.errors import DataError, DataWarning, UsageError, counted
from pgcjax.kernels import ABSENT
from pgcjax.measures.catalogue import parse_all
from pgcjax.measures.compatibility import Tensors
from pgcjax.measures.spec import Measure
from pgcjax.scores import COLUMNS, Scores
from pgcjax.tables.check import check_common_queries
from pgcjax.tables.preferences import read_preferences
from pgcjax.tables.qrels import read_qrels
from pgcjax.tables.runs import read_runs
from pgcjax.tensors import layout
from pgcjax.tensors.rankings import ORDERS, Rankings
from pgcjax.verify import verify as recompute

MISSING = ("zero", "skip", "error")
Progress = Callable[[str, int, int], None]


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
        runs: what `read_runs` takes or returns.
        preferences: what `read_preferences` takes or returns.
        qrels: what `read_qrels` takes or returns.
        measures: such as `["PGC(p=0.8)", "Compat"]`; by default `PGC` if there are
            preferences, and `PGC(graph=derived)` or `Compat` if there are qrels.
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
    runs = read_runs(runs, progress=progress)
    rankings = Rankings(runs, order)
    notes, parts = [], []
    for measure in chosen:
        tensors = measure.definition.tensors(measure.parameters, tables)
        part, seen = _score(measure, tensors, rankings, missing, progress)
        parts.append(part.assign(place=len(parts)))
        notes += seen
    table = pd.concat(parts, ignore_index=True)
    table = table.sort_values(["run_id", "query_id", "place"], ignore_index=True)
    table = table[COLUMNS]
    if verify:
        count = recompute(table, chosen, tables, runs, order, verify)
        notes.append(f"{count} of {len(table)} scores recomputed: equal")
    metadata = {
        "version": pgcjax.__version__,
        "order": order,
        "missing": missing,
        "measures": [m.in_full() for m in chosen],
    }
    return Scores(table, metadata, tuple(notes))


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
    queries = sorted(tensors.graphs)
    check_common_queries(queries, rankings.query_ids)
    sizes = np.array([len(tensors.graphs[q]) for q in queries])
    retrieved = rankings.retrieved(queries)
    if missing == "error" and not retrieved.all():
        run, query = np.argwhere(~retrieved)[0]
        raise DataError(
            f"run {rankings.run_ids[run]!r} lacks query {queries[query]!r}, which is "
            f"judged for {measure} ({counted((~retrieved).sum(), 'pair')} of run and "
            "query missing in all)",
            mend="Complete it, or choose --missing zero or skip.",
        )
    sums = overlap_sums(tensors, rankings, queries, progress=progress)
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


def overlap_sums(
    tensors: Tensors,
    rankings: Rankings,
    queries: list[str],
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> np.ndarray:
    """Run a measure's kernel on every run and query: int64 `[runs, queries]`.

    Queries are grouped by padded size, cut into tiles that fit `budget` bytes, and
    spread over all local devices. Sums are of integers: no cut changes them.
    """
    devices = jax.local_devices()
    sharding = NamedSharding(
        Mesh(np.array(devices), ("query",)), PartitionSpec("query")
    )
    runs, matrix = len(rankings.run_ids), tensors.form == "edges"
    sums = np.zeros((runs, len(queries)), np.int64)
    done, total = 0, runs * len(queries)
    batch = _batched(tensors.kernel)
    sizes = [len(tensors.graphs[q]) for q in queries]
    for size, members in layout.buckets(sizes).items():
        q_tile, r_tile = plan.tile(
            len(members),
            runs,
            size,
            matrix=matrix,
            devices=len(devices),
            budget=budget,
        )
        for q in range(0, len(members), q_tile):
            some = members[q : q + q_tile]
            graphs = [tensors.graphs[queries[i]] for i in some]
            judged, where = _pad_graphs(graphs, matrix, size, q_tile)
            # int64 needs JAX's x64 mode: switched on here alone, never for the program
            # that imports us.
            with jax.enable_x64(True):
                judged, where = jax.device_put((judged, where), sharding)
            ranks = [rankings.ranks(g.query_id, g.doc_ids) for g in graphs]
            for r in range(0, runs, r_tile):
                tile = [x[r : r + r_tile] for x in ranks]
                tile += [np.zeros((0, 0), np.int32)] * (q_tile - len(some))
                padded = layout.stack(tile, (r_tile, size), ABSENT)
                with jax.enable_x64(True):
                    padded = jax.device_put(padded, sharding)
                    out = np.asarray(batch(judged, padded, where, tensors.weights))
                width = min(r_tile, runs - r)
                sums[r : r + width, some] = out[: len(some), :width].T
                done += len(some) * width
                if progress:
                    progress("scoring", done, total)
    return sums


def _pad_graphs(graphs, matrix: bool, size: int, q_tile: int):
    """Stack what is judged of some queries, with empty queries up to the tile."""
    shape = (size, size) if matrix else (size,)
    judged = [g.edges() if matrix else g.levels for g in graphs]
    valid = [np.ones(len(g), bool) for g in graphs]
    spare = q_tile - len(graphs)
    judged += [np.zeros((0,) * len(shape), np.int32)] * spare
    valid += [np.zeros(0, bool)] * spare
    return layout.stack(judged, shape, 0), layout.stack(valid, (size,), False)


@cache
def _batched(kernel: Callable) -> Callable:
    """Map a kernel of one query and one run over queries, and runs inside."""
    runs = jax.vmap(kernel, in_axes=(None, 0, None, None))
    return jax.jit(jax.vmap(runs, in_axes=(0, 0, 0, None)))
