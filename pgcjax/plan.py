"""How a job is cut: chunks of runs, and tiles of queries and runs, that fit memory."""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pgcjax.errors import UsageError

BUDGET = 256 * 2**20
"""Bytes that the arrays of one tile may take."""

RUNS, QUERIES = 64, 32
"""Most runs in a tile, and most queries per device."""

NEAR = 2**18
"""Bytes of matrices, or one matrix, in a tile on a CPU: so that they stay in a core's
cache, and several cores have tiles of their own."""

WORDS, TOGETHER = 3 * 2**10, 16
"""Words that a step on a CPU changes, but at least so many runs if there are: XLA
splits larger steps over threads, which costs more than it saves if there are not many
more words; and in smaller ones it spends its time in calling."""


BLOCK = 2**23
"""Bytes that matrices and their copies take while they are laid out."""


PER_LEVELS = 256
"""Bytes that a run and a query take whose documents have few levels."""


def block(size: int) -> int:
    """Choose how many queries of a padded size are laid out at once: a power of 2."""
    return 1 << max(1, BLOCK // max(1, 32 * size * size)).bit_length() - 1


def tile(
    queries: int,
    runs: int,
    *,
    per_query: int,
    per_pair: int,
    devices: int = 1,
    budget: int = BUDGET,
    near: bool = False,
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
        near: whether what does not depend on the run keeps to `NEAR`.

    Returns:
        Queries, a power of 2 times `devices`, and runs, a multiple of 4: few enough
        for a processor's cache, and for several threads to have tiles of their own.
    """
    run_tile = runs_at_once(runs)
    afford = budget // (per_query + run_tile * per_pair)
    most = min(QUERIES, -(-NEAR // per_query)) if near else QUERIES
    each = max(1, min(most, -(-queries // devices), afford // devices))
    query_tile = 1 << (each - 1).bit_length()
    if query_tile * devices > max(afford, devices):
        query_tile //= 2
    return query_tile * devices, run_tile


FOUND = 8
"""Bytes of a judged document that a run retrieved: its code and position."""

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 64 * 2**20
_ENOUGH = 32 * 2**20
_MOST_FOUND = 2**33  # so that int32 counts documents


@dataclass(frozen=True)
class Limits:
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

    @classmethod
    def of(cls, memory: str | int | None) -> "Limits":
        """Read a size such as `2GB` or `500MiB`; None is a quarter of the machine's.

        Raises:
            UsageError: it is no size, or too small to work with.
        """
        if memory is None:
            return cls(max(_LEAST, machine_memory() // 4))
        match = re.fullmatch(
            r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", str(memory).strip(), re.IGNORECASE
        )
        if not match:
            raise UsageError(f"memory {memory!r}: expected a size such as 2GB or 500MB")
        number, unit, binary = match.groups()
        size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.upper()])
        if size < _LEAST:
            raise UsageError(f"memory {memory!r}: at least 64MiB are needed")
        return cls(size)


def machine_memory() -> int:
    """Tell the bytes of memory that this process may use in all."""
    sizes = []
    try:
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        sizes.append(8 * 2**30)  # where a machine does not tell
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        try:
            sizes.append(int(Path("/sys/fs/cgroup", limit).read_text()))
        except (OSError, ValueError):
            continue
    return min(sizes)


def runs_at_once(runs: int) -> int:
    """Choose the number of runs in a tile: a multiple of 4."""
    return min(RUNS, -(-runs // 4) * 4)


def side_by_side(queries: int, runs: int, size: int) -> tuple[int, int]:
    """Choose what of a tile a CPU peels in one step: `WORDS`, or `TOGETHER` runs.

    Returns:
        Numbers of queries and runs, which divide those of the tile.
    """
    most = max(TOGETHER, WORDS // size)
    if runs > most:
        return 1, next(n for n in range(most, 0, -1) if runs % n == 0)
    return math.gcd(queries, 1 << ((most // runs).bit_length() - 1)), runs
