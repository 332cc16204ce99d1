"""Division of jobs, and limits of their memory; no score depends on them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pgcjax.tensors.padding import least

BUDGET = 256 * 2**20
"""Bytes that the arrays of one tile may take."""

ON_GPU = 2, 16
"""Queries and runs of a tile on a GPU, times those of a CPU: a call takes .3 ms there,
as long as an H100 takes to peel 170 documents of 15,000 pairs of a query and a run."""

PER_WORD = 3e-9
"""Seconds that a step of the peel takes for a vertex, of the order of."""


@dataclass
class JobSettings:
    """Settings of the division of jobs; no score depends on them.

    Attributes:
        runs: most runs in a tile.
        queries: most queries of a tile per device.
        tile: most bytes of the queries of a tile that a CPU computes in turn, so that
            one is laid out while others are computed.
        words: words that a step on a CPU changes. XLA splits larger steps over threads,
            which costs more than it saves unless there are many more words.
        together: least number of runs of a step, if there are so many: smaller steps
            spend their time in calls.
        levels: padded vertices from which graphs of weak orders are `levels`: fewer
            are peeled in less time than the compilation takes.
        seconds: seconds of reading after which a chunk of runs ends, to be kept.
        rows: rows of run files that are joined: small files are read several at once.
        lists: most rankings on a side of a tile of pairs of rankings.
        pairs: pairs of rankings in a step on a CPU: their arrays stay in cache.
        square: side, in rankings, of the squares in which pairs follow each other: so
            the rankings stay in cache, too.
        chunk: bytes of the judged documents of a chunk; None: as memory allows.
        apart: whether scores stay in place until they are requested: finished work in
            its folder, and the scores of each process of a job with that process.
    """

    runs: int = 64
    queries: int = 32
    tile: int = 2**20
    words: int = 3 * 2**10
    together: int = 16
    levels: int = 2**9
    seconds: float = 4.0
    rows: int = 200_000
    lists: int = 64
    pairs: int = 32
    square: int = 8
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


def tile(
    queries: int,
    runs: int,
    *,
    per_query: int,
    per_pair: int,
    devices: int = 1,
    budget: int = BUDGET,
    most: int = BUDGET,
    on_gpu: bool = False,
) -> tuple[int, int]:
    """Choose how many queries and runs of one padded size are computed at once.

    All tiles of a size have one shape out of few, so that each is compiled once, and
    found again in the compilation cache by another job. Scores do not depend on it.

    Args:
        queries: number of queries of this size.
        runs: number of runs.
        per_query: bytes of a query's arrays that do not depend on the run.
        per_pair: bytes of a run and a query.
        devices: number of devices, which divides the number of queries.
        budget: bytes of a tile.
        most: bytes of arrays that do not depend on the run; one query may exceed it.
        on_gpu: whether tiles are `ON_GPU` times as large, if memory allows.

    Returns:
        Queries, a power of 2 times `devices`, and runs, a multiple of 4.
    """
    more_queries, more_runs = ON_GPU if on_gpu else (1, 1)
    most_queries = more_queries * settings.queries
    at_once = runs_at_once(runs, more_runs)
    while more_runs > 1 and per_query + at_once * per_pair > budget // devices:
        more_runs //= 2
        at_once = runs_at_once(runs, more_runs)
    afford = budget // (per_query + at_once * per_pair) // devices
    afford = max(1, min(afford, most // max(1, per_query), most_queries))
    each = min(max(-(-queries // devices), least().queries), afford)
    power = 1 << (each - 1).bit_length()
    return devices * (power if power <= afford else power // 2), at_once


FOUND = 8
"""Bytes of a judged document that a run retrieved: its code and position."""

_ENOUGH = 16 * 2**20
_MOST_FOUND = 2**33  # so that int32 counts documents


@dataclass(frozen=True)
class MemoryLimits:
    """Bytes that a job may take, beyond the libraries that it loads.

    Attributes:
        memory: Bytes of all together.
    """

    memory: int

    @property
    def found(self) -> int:
        """Most bytes of the judged documents that are found for one chunk of runs.

        Memory holds them three times while a chunk is put together, and those of the
        next chunk, which is read meanwhile.
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


def runs_at_once(runs: int, more: int = 1) -> int:
    """Choose the number of runs in a tile, a multiple of 4: `more` times as many."""
    return min(more * settings.runs, -(-max(runs, least().runs) // 4) * 4)


def side_by_side(queries: int, runs: int, size: int) -> tuple[int, int]:
    """Choose the part of a tile that a CPU peels in one step, by `JobSettings`.

    Returns:
        Numbers of queries and runs, which divide those of the tile.
    """
    most = max(settings.together, settings.words // size)
    if runs > most:
        return 1, next(n for n in range(most, 0, -1) if runs % n == 0)
    return math.gcd(queries, 1 << ((most // runs).bit_length() - 1)), runs
