"""A job in chunks of runs: read, look up, compute; bounded in memory, resumable."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
import polars as pl

from pgcjax import listwise, plan
from pgcjax.calls import Progress
from pgcjax.compute import Batches
from pgcjax.journal import Chunk, Journal, together
from pgcjax.measures.spec import Measure
from pgcjax.tables.judged import Judged
from pgcjax.tables.packed import Block
from pgcjax.tables.runs import Runs
from pgcjax.tensors.judgments import Overlaps, Tensors
from pgcjax.tensors.rankings import Found, Rankings, batches, find

_SECONDS = 30.0  # after which a chunk is finished, so that it can be kept

Watch = Callable[[Sequence[pl.DataFrame] | Block], None]
Inspect = Callable[[Sequence[str], np.ndarray], None]


def run(
    runs: Runs,
    judged: Judged,
    measures: Sequence[Measure],
    tensors: Sequence[Tensors],
    order: str,
    *,
    limits: plan.Limits,
    journal: Journal | None = None,
    watch: Watch = lambda tables: None,
    inspect: Inspect = lambda run_ids, has: None,
    progress: Progress | None = None,
) -> Chunk:
    """Compute every run and judged query, for each measure: see `Chunk.parts`.

    Chunks of runs pass through memory: while one is computed, the next is read. Results
    do not depend on how runs are cut into chunks.

    Args:
        runs: the runs.
        judged: all documents that any measure needs.
        measures: what to compute.
        tensors: of each measure.
        order: of documents in a run.
        limits: what may be in memory.
        journal: where finished chunks are kept, and found again.
        watch: sees all tables.
        inspect: sees which runs have which judged queries, and may refuse.
        progress: called with `(stage, done, total)`.

    Returns:
        All runs, ascending.
    """
    done, chunks = journal.load() if journal else (0, [])
    for chunk in chunks:
        inspect(chunk.run_ids, chunk.has)
    nothing = [
        np.zeros((0, len(t.docs)), np.int64 if isinstance(t, Overlaps) else np.float64)
        for t in tensors
    ]
    chunks.append(Chunk([], set(), np.zeros((0, len(judged)), bool), nothing))

    keep = limits.kept // max(1, len(tensors))
    peeled = {
        i: (Batches(t.graphs, keep=keep), t.weights)
        for i, t in enumerate(tensors)
        if isinstance(t, Overlaps)
    }
    listed = listwise.groups(measures, tensors)
    how: dict[str, Any] = {"budget": limits.tile, "progress": progress}

    most_runs = 0  # of a chunk: smaller ones take the shapes of the largest before

    def finish(found: list[Found], first: int, end: int, last: bool) -> Chunk:
        nonlocal most_runs
        rankings = Rankings(judged, found)
        most_runs = max(most_runs, len(rankings.run_ids))
        parts = {
            i: graphs.sums(rankings, weights, **how)
            for i, (graphs, weights) in peeled.items()
        }
        for group in listed:
            scores = listwise.scores(group, rankings, most_runs=most_runs, **how)
            parts.update(zip(group.places, scores, strict=True))
        answered = rankings.answered(list(judged.docs))
        in_order = [parts[i] for i in range(len(tensors))]
        chunk = Chunk(rankings.run_ids, rankings.query_ids, answered, in_order)
        if journal and not last:
            journal.save(first, end, chunk)
        return chunk

    with ThreadPoolExecutor(1, "pgcjax-scorer") as pool:
        tables = runs.read(judged, order, skip=done, progress=progress)
        pending: Future[Chunk] | None = None
        with closing(tables):
            parts = _found(tables, judged, order, watch, inspect)
            for found, units in _chunks(parts, limits, journal is not None):
                if pending:
                    chunks.append(pending.result())
                last = done + units == len(runs.units)
                pending = pool.submit(finish, found, done, done + units, last)
                done += units
                del found
        if pending:
            chunks.append(pending.result())
    return together(chunks)


def _found(
    tables: Iterable[pl.DataFrame | Block],
    judged: Judged,
    order: str,
    watch: Watch,
    inspect: Inspect,
) -> Iterator[tuple[Found, int]]:
    """Look the judged documents up, and count the units that they are from."""
    for batch in batches(tables):
        watch(batch)
        found = find(batch, judged, order)
        inspect(found.run_ids, found.has)
        yield found, 1 if isinstance(batch, Block) else len(batch)


def _chunks(
    parts: Iterable[tuple[Found, int]], limits: plan.Limits, timed: bool
) -> Iterator[tuple[list[Found], int]]:
    """Gather what was found until it takes enough bytes or, if `timed`, some time."""
    found: list[Found] = []
    units, began = 0, time.monotonic()
    for part, count in parts:
        found.append(part)
        units += count
        late = timed and time.monotonic() - began > _SECONDS
        runs = sum(len(f.run_ids) for f in found)
        most = limits.enough if runs >= plan.RUNS else limits.found
        if late or sum(f.nbytes for f in found) > most:
            yield found, units
            found, units, began = [], 0, time.monotonic()
    if found:
        yield found, units
