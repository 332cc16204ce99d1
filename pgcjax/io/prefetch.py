"""Files are read in the background while earlier ones are worked on."""

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

_THREADS = min(4, os.cpu_count() or 1)  # each of which polars helps with all cores
_FILES = 2 * _THREADS
_BYTES = 2**26


def read_ahead(
    read: Callable[[S], T], things: Sequence[S], size: Callable[[S], int]
) -> Generator[T]:
    """Yield `read(thing)` of each in order, a few things ahead of the consumer.

    At most `_FILES` are under way or wait to be taken, and of large ones only so many
    that they have `_BYTES`, or one. What has size 0 is read when its turn comes. An
    error is raised in its turn. When the generator ends or is closed, nothing is left
    running.
    """
    pool = ThreadPoolExecutor(_THREADS, "pgcjax-reader")
    todo = deque(things)
    ahead: deque[tuple[Callable[[], T], int]] = deque()

    def fill() -> None:
        while todo and len(ahead) < _FILES:
            bytes_ = size(todo[0])
            if ahead and bytes_ + sum(b for _, b in ahead) > _BYTES:
                return
            thing = todo.popleft()
            # Waiting for a pipe in a thread could not be interrupted.
            task = pool.submit(read, thing).result if bytes_ else partial(read, thing)
            ahead.append((task, bytes_))

    try:
        fill()
        while ahead:
            table = ahead.popleft()[0]()
            fill()
            yield table
    finally:
        pool.shutdown(cancel_futures=True)


def size_on_disk(path: Path) -> int:
    """Tell the size of a file; 0 of a pipe, or where reading will say what is wrong."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
