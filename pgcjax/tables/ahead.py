"""Files are read in the background while earlier ones are worked on."""

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_THREADS = min(4, os.cpu_count() or 1)  # each of which polars helps with all cores
_FILES = 2 * _THREADS
_BYTES = 2**26


def read_ahead(read: Callable[[Path], T], paths: Sequence[Path]) -> Generator[T]:
    """Yield `read(path)` of each path in order, a few files ahead of the consumer.

    At most `_FILES` files are under way or wait to be taken, and of large files only so
    many that they have `_BYTES` on disk, or one. An error is raised in its file's turn.
    When the generator ends or is closed, nothing is left running.
    """
    pool = ThreadPoolExecutor(_THREADS, "pgcjax-reader")
    todo = deque(paths)
    ahead: deque[tuple[Callable[[], T], int]] = deque()

    def fill() -> None:
        while todo and len(ahead) < _FILES:
            path = todo[0]
            size = _size(path)
            if ahead and size + sum(size for _, size in ahead) > _BYTES:
                return
            todo.popleft()
            # Waiting for a pipe in a thread could not be interrupted.
            task = pool.submit(read, path).result if size else partial(read, path)
            ahead.append((task, size))

    try:
        fill()
        while ahead:
            table = ahead.popleft()[0]()
            fill()
            yield table
    finally:
        pool.shutdown(cancel_futures=True)


def _size(path: Path) -> int:
    """Tell the size of a file; 0 of a pipe, or where reading will say what is wrong."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
