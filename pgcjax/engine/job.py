"""A job in chunks of runs: read, look up, compute; bounded in memory, resumable."""

import logging
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch
from pgcjax.engine.chunk import Chunk, KeptChunk
from pgcjax.engine.missing import refuse
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.verify import Sample
from pgcjax.errors import Progress, UsageError
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.io.runs import PackedBlock, Runs, RunTable
from pgcjax.runtime.processes import Processes
from pgcjax.tensors.rankings import JudgedRanks, Rankings, find, joined, merged

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """Settings of a job; no score depends on them.

    Attributes:
        memory: Bytes that runs in work, or a file, may take, or a size such as `2GB`.
        journal: Folder for finished work, from which the same call resumes.
        part: `(3, 16)` scores only the third of 16 parts of the runs, for `merge`.
        processes: Result of `engine.distributed.start`, in each of the processes.
        progress: called with `(stage, done, total)`.
    """

    memory: str | int | None = None
    journal: str | os.PathLike | None = None
    part: tuple[int, int] | None = None
    processes: Processes | None = None
    progress: Progress | None = None

    def __post_init__(self):
        """Refuse an invalid part, and invalid processes, by a UsageError."""
        match self.part:
            case None:
                pass
            case (i, n) if type(i) is type(n) is int and 1 <= i <= n:
                pass
            case _:
                raise UsageError(
                    f"part={self.part!r}: expected (i, n) such as (3, 16), 1 <= i <= n"
                )
        if not isinstance(self.processes, Processes | None):
            raise UsageError(
                f"processes={self.processes!r}: expected what "
                "pgcjax.engine.distributed.start('I/N@HOST:PORT') returns"
            )


def run(
    runs: Runs,
    request: ScoringRequest,
    batches: list[Batch],
    *,
    limits: plan.MemoryLimits,
    checkpoint: Checkpoint | None = None,
    sample: Sample | None = None,
    settle: Callable[[Chunk], Chunk] | None = None,
    seen: Callable[[Chunk], None] | None = None,
    progress: Progress | None = None,
) -> list[Chunk | KeptChunk]:
    """Score all runs by all batches.

    Chunks of runs pass through memory: while one is computed, the next is read. Scores
    do not depend on how runs are cut into chunks.

    Args:
        runs: Runs to score.
        request: Measures and judgments.
        batches: Batches of the request.
        limits: Limits of memory.
        checkpoint: Store of finished chunks, which are read back from it.
        sample: Sample that takes the rankings to verify, also those of kept chunks.
        settle: Function that reduces each chunk to the one that is kept.
        seen: Function called with each chunk, also kept ones, one after the other.
        progress: called with `(stage, done, total)`.

    Returns: at least one chunk; chunks in the checkpoint are no longer in memory.

    Raises:
        DataError: a run cannot be read, or lacks a query and `missing` is `error`.
    """
    names = runs.identities() if checkpoint else []
    chunks, done = [], 0
    for chunk, kept, end in _kept(checkpoint, names) if checkpoint else ():
        refuse(request, chunk.run_ids, chunk.has)
        if seen:
            seen(chunk)
        chunks.append(kept)
        done = end

    def finish(ranks: list[JudgedRanks], first: int, end: int) -> Chunk | KeptChunk:
        _log.debug("units %d to %d of %d", first, end, len(runs.units))
        chunk = _scored(Rankings(request.judged, ranks), batches, request, progress)
        chunk = settle(chunk) if settle else chunk
        if seen:
            seen(chunk)
        return _save(checkpoint, chunk, names, first, end) if checkpoint else chunk

    with closing(_read(runs, request, done, sample, progress)) as units:
        parts = merged(units, plan.settings.rows)
        parts = _chunks(parts, limits, checkpoint, batches, done)
        chunks += _in_thread(finish, parts)
    if sample and done:
        _sample_kept(runs.first(done), request, sample)
    if not chunks:
        chunk = _nothing(batches, len(request.judged))
        chunks.append(settle(chunk) if settle else chunk)
    return chunks


def _read(
    runs: Runs,
    request: ScoringRequest,
    skip: int,
    sample: Sample | None,
    progress: Progress | None,
) -> Generator[tuple[JudgedRanks, int]]:
    """Find the ranks of judged documents, and the number of their units."""
    judged, order = request.judged, request.order

    def look_up(table: RunTable | PackedBlock) -> JudgedRanks:
        if sample:
            sample.take(table, judged.docs)
        return find(table, judged, order)

    together = plan.settings.rows > 0
    settings: dict[str, Any] = {"together": together, "progress": progress}
    with closing(runs.read(judged, order, look_up, skip=skip, **settings)) as units:
        for unit in units:
            ranks = joined(unit.parts)
            refuse(request, ranks.run_ids, ranks.has)
            yield ranks, unit.units
            del ranks, unit


def _sample_kept(runs: Runs, request: ScoringRequest, sample: Sample) -> None:
    """Read the runs of kept chunks again, for the rankings to verify."""
    judged = request.judged
    take = partial(sample.take, judged=judged.docs)
    with closing(runs.read(judged, request.order, take)) as taken:
        for _ in chain.from_iterable(read.parts for read in taken):
            pass


def _in_thread(
    finish: Callable[[list[JudgedRanks], int, int], Chunk | KeptChunk],
    parts: Iterable[tuple[list[JudgedRanks], int, int]],
) -> Iterator[Chunk | KeptChunk]:
    """Compute a chunk while the next is read."""
    with ThreadPoolExecutor(1, "pgcjax-scorer") as pool:
        pending: Future[Chunk | KeptChunk] | None = None
        for part in parts:
            if pending:
                yield pending.result()
            pending = pool.submit(finish, *part)
            del part
        if pending:
            yield pending.result()


def _scored(
    rankings: Rankings,
    batches: list[Batch],
    request: ScoringRequest,
    progress: Progress | None,
) -> Chunk:
    parts = [batch.score(rankings, progress) for batch in batches]
    answered = rankings.answered(list(request.judged.docs))
    return Chunk(rankings.run_ids, rankings.query_ids, answered, parts)


def _nothing(batches: list[Batch], judged: int) -> Chunk:
    """Return the scores of no runs: the share of a process that has none."""
    parts = [np.zeros((len(b.members), 0, len(b.docs))) for b in batches]
    return Chunk([], set(), np.zeros((0, judged), bool), parts)


def _chunks(
    parts: Iterable[tuple[JudgedRanks, int]],
    limits: plan.MemoryLimits,
    checkpoint: Checkpoint | None,
    batches: Sequence[Batch],
    first: int,
) -> Iterator[tuple[list[JudgedRanks], int, int]]:
    """Gather ranks until they take enough bytes or, if they are kept, some time.

    Yields:
        Ranks, and the numbers of their first unit (the earliest is `first`) and of the
        unit after their last one.
    """
    ranks: list[JudgedRanks] = []
    end, began = first, time.monotonic()
    largest = [batch.most_runs for batch in batches if checkpoint and batch.most_runs]
    most_runs = min(largest, default=math.inf)
    for part, count in parts:
        ranks.append(part)
        end += count
        late = checkpoint and time.monotonic() - began > plan.settings.seconds
        runs = sum(len(f.run_ids) for f in ranks)
        late = late or runs >= most_runs
        most = limits.enough if runs >= plan.settings.runs else limits.found
        if late or sum(f.nbytes for f in ranks) > most:
            yield ranks, first, end
            ranks, first, began = [], end, time.monotonic()
    if ranks:
        yield ranks, first, end


def _kept(
    checkpoint: Checkpoint, units: list[str]
) -> Iterator[tuple[Chunk, KeptChunk, int]]:
    """Return finished chunks from the first unit on, and how many units are done."""
    ends: dict[int, int] = {}
    for name in checkpoint.names():
        first, _, end = name.partition("-")
        if first.isdecimal() and end.isdecimal():
            ends[int(first)] = max(ends.get(int(first), 0), int(end))
    done = 0
    while done in ends:
        name = f"{done}-{ends[done]}"
        arrays = checkpoint.load(name)
        if arrays is None or arrays.get("units") != _name(units[done : ends[done]]):
            break  # this and later chunks are computed again
        chunk = Chunk.of(arrays)
        done = ends[done]
        yield chunk, KeptChunk(chunk.run_ids, partial(checkpoint.views, name)), done


def _save(
    checkpoint: Checkpoint, chunk: Chunk, units: list[str], first: int, end: int
) -> KeptChunk:
    """Save a finished chunk on disk, named after its units."""
    name = f"{first}-{end}"
    checkpoint.save(name, units=np.array(_name(units[first:end])), **chunk.arrays())
    return KeptChunk(chunk.run_ids, partial(checkpoint.views, name))


def _name(units: list[str]) -> str:
    return sha256("\n".join(units).encode()).hexdigest()
