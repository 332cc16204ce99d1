"""How a job is cut: chunks of runs, and tiles of queries and runs, that fit memory."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pgcjax.tensors.padding import least

BUDGET = 256 * 2**20
"""Bytes that the arrays of one tile may take."""

PER_LEVELS = 256
"""Bytes that a run and a query take whose documents have few levels."""


PER_WORD = 3e-9
"""Seconds that a step of the peel takes for a vertex, of the order of."""


@dataclass
class JobSettings:
    """How jobs are cut; no score depends on it.

    Attributes:
        runs: most runs in a tile.
        queries: most queries per device in a tile; of matrices on a CPU, 4 times as
            many, since a call takes as long as to peel dozens of small graphs.
        near: bytes of matrices, or one matrix, in a tile on a CPU: so that they stay in
            a core's cache, and several cores have tiles of their own.
        words: words that a step on a CPU changes ...
        together: ... but at least so many runs if there are: XLA splits larger steps
            over threads, which costs more than it saves if there are not many more
            words; and in smaller ones it spends its time in calling.
        levels: padded vertices of graphs that prefer as a weak order does, times runs
            in a tile, from which on they are levels: fewer are sooner peeled.
        block: bytes that queries and their copies take while they are laid out.
        seconds: of reading after which a chunk of runs ends, so that it can be kept.
        rows: rows of run files that are put together: of small files, several.
        worth: words of a tile's matrices, times runs, that are worth a call of their
            own where a thread has nothing else to do.
        lists: most rankings on a side of a tile of pairs of rankings.
        pairs: pairs of rankings in a step on a CPU: their arrays stay in cache.
        chunk: bytes of the judged documents of a chunk; None: what memory allows.
        apart: whether scores stay where they are until they are asked for: finished
            work in its folder, and with each process of a job those of its own runs.
    """

    runs: int = 64
    queries: int = 32
    near: int = 2**18
    words: int = 3 * 2**10
    together: int = 16
    levels: int = 2**14
    block: int = 2**23
    seconds: float = 4.0
    rows: int = 200_000
    worth: int = 2**19
    lists: int = 64
    pairs: int = 32
    chunk: int | None = None
    apart: bool = False


settings = JobSettings()


@contextmanager
def using(**changes: float | None) -> Iterator[None]:
    """Change settings inside of the block, for all threads."""
    before = dict(vars(settings))
    vars(settings).update(changes)
    try:
        yield
    finally:
        vars(settings).update(before)


def block(per_query: int) -> int:
    """Choose how many queries of a size are laid out at once: a power of 2.

    What is laid out takes an eighth of `JobSettings.block`, and its copies the rest.
    """
    most = settings.block // 8 // max(1, per_query)
    return 1 << max(1, most).bit_length() - 1


def tile(
    queries: int,
    runs: int,
    *,
    per_query: int,
    per_pair: int,
    devices: int = 1,
    budget: int = BUDGET,
    near: bool = False,
    threads: int = 1,
) -> tuple[int, int]:
    """Choose how many queries and runs of one padded size are computed at once.

    All tiles of a size have one shape out of few, so that each is compiled once, and
    found again in the compilation cache by another job. Scores do not depend on it.

    Args:
        queries: number of queries of this size.
        runs: number of runs.
        per_query: bytes of what does not depend on the run.
        per_pair: bytes of what a run and a query take.
        devices: the number of queries is a multiple of it.
        budget: bytes.
        near: whether what does not depend on the run keeps to `JobSettings.near`.
        threads: without other tiles: each gets one of at least `JobSettings.worth`.

    Returns:
        Queries, a power of 2 times `devices`, and runs, a multiple of 4: few enough
        for a processor's cache, and for several threads to have tiles of their own.
    """
    run_tile = runs_at_once(runs)
    afford = budget // (per_query + run_tile * per_pair)
    most = settings.queries
    if near:
        most = min(4 * most, -(-settings.near // per_query))
    each = max(-(-queries // devices), least().queries)
    each = max(1, min(most, each, afford // devices))
    words = each * run_tile * per_query // 4
    each = -(-each // max(1, min(threads, words // settings.worth)))
    query_tile = 1 << (each - 1).bit_length()
    if query_tile * devices > max(afford, devices):
        query_tile //= 2
    return query_tile * devices, run_tile


FOUND = 8
"""Bytes of a judged document that a run retrieved: its code and position."""

_ENOUGH = 16 * 2**20
_MOST_FOUND = 2**33  # so that int32 counts documents


@dataclass(frozen=True)
class MemoryLimits:
    """Bytes that a job may take, beyond the libraries that it loads.

    Attributes:
        memory: all of it.
    """

    memory: int

    @property
    def found(self) -> int:
        """Most bytes of the judged documents that are found for one chunk of runs.

        They are there three times while a chunk is put together, and those of the next
        are read meanwhile.
        """
        if settings.chunk is not None:
            return settings.chunk
        return min(self.memory // 8, _MOST_FOUND)

    @property
    def enough(self) -> int:
        """Bytes from which a chunk may end that has runs for a whole tile."""
        return min(_ENOUGH, self.memory // 8)

    @property
    def kept(self) -> int:
        """Bytes of laid out graphs that are kept for the next chunk."""
        return self.memory // 8

    @property
    def tile(self) -> int:
        """Bytes of one tile's arrays; some are laid out while others are computed."""
        return min(BUDGET, self.memory // 8)


def runs_at_once(runs: int) -> int:
    """Choose the number of runs in a tile: a multiple of 4."""
    return min(settings.runs, -(-max(runs, least().runs) // 4) * 4)


def side_by_side(queries: int, runs: int, size: int) -> tuple[int, int]:
    """Choose what of a tile a CPU peels in one step, as `JobSettings` say.

    Returns:
        Numbers of queries and runs, which divide those of the tile.
    """
    most = max(settings.together, settings.words // size)
    if runs > most:
        return 1, next(n for n in range(most, 0, -1) if runs % n == 0)
    return math.gcd(queries, 1 << ((most // runs).bit_length() - 1)), runs
