"""Bytes of memory that a job may take."""

import os
import re
from functools import cache
from pathlib import Path

from pgcjax.errors import UsageError

try:
    import resource
except ImportError:  # not on Windows
    resource = None

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 64 * 2**20  # bytes with which a job can work


def memory_limit(memory: str | int | None) -> int:
    """Read a size such as `2GB` or `500MiB` as bytes; None: a quarter of the machine's.

    Raises:
        UsageError: `memory` is no size, or too small to work with.
    """
    if memory is None:
        return max(_LEAST, machine_memory() // 4)
    match = re.fullmatch(
        r"([0-9]{1,18}(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?",
        str(memory).strip(),
        re.IGNORECASE | re.ASCII,
    )
    if not match:
        raise UsageError(f"memory {memory!r}: expected a size such as 2GB or 500MB")
    number, unit, binary = match.groups()
    size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.upper()])
    if size < _LEAST:
        raise UsageError(f"memory {memory!r}: at least 64MiB are needed")
    return size


@cache
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
    return min(*sizes, address_space() or sizes[0])


def address_space() -> int | None:
    """Tell the bytes of addresses that this process may have, as of `ulimit -v`."""
    if resource:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit
    return None
