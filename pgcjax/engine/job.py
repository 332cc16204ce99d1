"""A job in chunks of runs: read, look up, compute; bounded in memory, resumable."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain

import numpy as np

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch
from pgcjax.engine.chunk import Chunk, KeptChunk
from pgcjax.engine.missing import refuse
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.verify import Sample
from pgcjax.errors import Progress, UsageError
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.io.runs import PackedBlock, Read, Runs, RunTable
from pgcjax.runtime.processes import Processes
from pgcjax.tensors.rankings import JudgedRanks, Rankings, find, joined, merged

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """How runs are scored; no score depends on it.

    Attributes:
        memory: bytes that runs in work, or a file, may take, or a size such as `2GB`.
        journal: folder for finished work, with which the same call goes on.
        part: `(3, 16)` scores the third of 16 parts of the runs alone, for `merge`.
        processes: what `engine.distributed.start` returned, in each of the processes.
        progress: called with `(stage, done, total)`.
    """

    memory: str | int | None = None
    journal: str | os.PathLike | None = None
    part: tuple[int, int] | None = None
    processes: Processes | None = None
    progress: Progress | None = None

    def __post_init__(self):
        """Refuse a part that is none, and processes that are none, by a UsageError."""
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
        runs: the runs.
        request: what is asked.
        batches: of the request.
        limits: what may be in memory.
        checkpoint: where finished chunks are kept, and read back.
        sample: takes the rankings that are to be verified, of kept chunks, too.
        settle: makes of each chunk what is kept of it.
        seen: is called with each chunk, of kept ones, too, one after the other.
        progress: called with `(stage, done, total)`.

    Returns:
        One chunk at least. What is in the checkpoint has been dropped from memory.

    Raises:
        DataError: a run cannot be read, or lacks a query and `missing` is `error`.
    """
    judged, order = request.judged, request.order
    names = runs.identities() if checkpoint else []
    most = 0
    chunks: list[Chunk | KeptChunk] = []
    for chunk, kept_chunk, end in _kept(checkpoint, names) if checkpoint else ():
        refuse(request, chunk.run_ids, chunk.has)
        if seen:
            seen(chunk)
        chunks.append(kept_chunk)
        most = end
    done = most

    def finish(ranks: list[JudgedRanks], first: int, end: int) -> Chunk | KeptChunk:
        _log.debug("units %d to %d of %d", first, end, len(runs.units))
        chunk = _scored(Rankings(judged, ranks), batches, request, progress)
        chunk = settle(chunk) if settle else chunk
        if seen:
            seen(chunk)
        if checkpoint:
            here, name = np.array(_name(names[first:end])), f"{first}-{end}"
            checkpoint.save(name, units=here, **chunk.arrays())
            return KeptChunk(chunk.run_ids, partial(checkpoint.views, name))
        return chunk

    def look_up(table: RunTable | PackedBlock) -> JudgedRanks:
        if sample:
            sample.take(table, judged.docs)
        return find(table, judged, order)

    def whole(read: Read[JudgedRanks]) -> tuple[JudgedRanks, int]:
        ranks = joined(read.parts)
        refuse(request, ranks.run_ids, ranks.has)
        return ranks, read.units

    with ThreadPoolExecutor(1, "pgcjax-scorer") as pool:
        pending: Future[Chunk | KeptChunk] | None = None
        read = runs.read(
            *(judged, order, look_up),
            skip=done,
            together=plan.settings.rows > 0,
            progress=progress,
        )
        with closing(read) as units:
            parts = merged(map(whole, units), plan.settings.rows)
            for ranks, count in _chunks(parts, limits, checkpoint, batches):
                if pending:
                    chunks.append(pending.result())
                pending = pool.submit(finish, ranks, done, done + count)
                done += count
                del ranks
        if pending:
            chunks.append(pending.result())
    if sample and most:
        take = partial(sample.take, judged=judged.docs)
        with closing(runs.first(most).read(judged, order, take)) as taken:
            for _ in chain.from_iterable(read.parts for read in taken):
                pass
    if not chunks:
        chunk = _nothing(batches, len(judged))
        chunks.append(settle(chunk) if settle else chunk)
    return chunks


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
) -> Iterator[tuple[list[JudgedRanks], int]]:
    """Gather ranks until they take enough bytes or, if they are kept, some time."""
    ranks: list[JudgedRanks] = []
    units, began = 0, time.monotonic()
    largest = [batch.most_runs for batch in batches if checkpoint and batch.most_runs]
    most_runs = min(largest, default=math.inf)
    for part, count in parts:
        ranks.append(part)
        units += count
        late = checkpoint and time.monotonic() - began > plan.settings.seconds
        runs = sum(len(f.run_ids) for f in ranks)
        late = late or runs >= most_runs
        most = limits.enough if runs >= plan.settings.runs else limits.found
        if late or sum(f.nbytes for f in ranks) > most:
            yield ranks, units
            ranks, units, began = [], 0, time.monotonic()
    if ranks:
        yield ranks, units


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
            break  # it is computed again
        try:
            chunk = Chunk.of(arrays)
        except KeyError:
            break
        done = ends[done]
        yield chunk, KeptChunk(chunk.run_ids, partial(checkpoint.views, name)), done


def _name(units: list[str]) -> str:
    return sha256("\n".join(units).encode()).hexdigest()
