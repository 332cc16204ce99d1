"""Files are read in the background while earlier ones are worked on."""

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from pgcjax.io.reading import chosen

S = TypeVar("S")
T = TypeVar("T")

MOST_THREADS = 8
"""More would wait for each other: in a fifth of the time only one thread can work."""


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# One more than several cores: a thread often waits for Python's lock, or for polars,
# which uses all cores in each thread.
_THREADS = min(MOST_THREADS, cores() + (cores() > 1))
FILES = 2 * _THREADS
# Bytes of small files in one task: as many as a large file has; if there are few files,
# as many as one thread reads faster than several that wait for Python's lock.
_MOST, _LEAST = 2**23, 2**21


def read_ahead(
    read: Callable[[S], T],
    units: Sequence[S],
    size: Callable[[S], int],
) -> Generator[T]:
    """Yield `read(unit)` of each unit in order, a few units ahead of the consumer.

    At most `FILES` units are being read or wait to be taken, and several units have at
    most 16 MiB times the number of threads. More than four threads run only with 512
    MiB for each. An error is raised when its unit's turn comes. When the generator ends
    or is closed, nothing is left running.

    Args:
        read: Reads a unit; called in threads.
        units: Units to read, in order.
        size: Returns the bytes of a unit; a unit of size 0 is not read ahead.
    """
    threads = min(_THREADS, max(4, chosen().memory // 2**29))
    pool = ThreadPoolExecutor(threads, "pgcjax-reader")
    todo = deque(units)
    ahead: deque[tuple[Callable[[], T], int]] = deque()

    def fill() -> None:
        while todo and len(ahead) < FILES:
            bytes_ = size(todo[0])
            if ahead and bytes_ + sum(b for _, b in ahead) > threads * 2**24:
                return
            unit = todo.popleft()
            # A thread that waits for a pipe could not be interrupted.
            task = partial(read, unit)
            if bytes_:  # with the settings of the caller's `reading`
                task = pool.submit(copy_context().run, task).result
            ahead.append((task, bytes_))

    try:
        fill()
        while ahead:
            table = ahead.popleft()[0]()
            fill()
            yield table
    finally:
        pool.shutdown(cancel_futures=True)


def bundled(units: Sequence[S], sizes: Sequence[int]) -> Generator[Sequence[S]]:
    """Group units, in order: several small ones, but at least a task per thread.

    Args:
        units: Units in order.
        sizes: Bytes of each unit; 0 for a unit that stays alone.
    """
    most = max(_LEAST, min(_MOST, sum(sizes) // _THREADS))
    first = count = 0
    for i, size in enumerate(sizes):
        if i > first and (not size or not count or count + size > most):
            yield units[first:i]
            first, count = i, 0
        count += size
    if units:
        yield units[first:]
