"""The one loop of calls: one thread prepares them, and others make them, in order."""

import logging
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from pgcjax.errors import Progress, refuse_forked
from pgcjax.later import jax

THREADS = max(1, min(4, os.cpu_count() or 1))
_log = logging.getLogger(__name__)
_compiled: set[Hashable] = set()  # programs that this process has called


class Call(NamedTuple):
    """A prepared call.

    Attributes:
        label: Label of the result.
        make: Makes the call.
        program: Key of the program: its form, shapes and devices. The first call of a
            program compiles it. None if nothing is compiled.
        apart: Whether a worker thread makes the call and waits for it; else JAX
            computes while the next call is prepared.
        instead: Makes the call with another program if the first call of this one
            fails, for instance to compile; it takes the error.
    """

    label: Any
    make: Callable[[], Any]
    program: Hashable = None
    apart: bool = True
    instead: Callable[[Exception], Any] | None = None


def results(
    calls: Iterable[Call],
    *,
    ahead: int = 2 * THREADS,
    workers: int = THREADS,
    progress: Progress | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Make calls while later ones are prepared; yield label and result, in order.

    Args:
        calls: Iterator that prepares each call when it is taken.
        ahead: Most calls that wait for earlier ones.
        workers: Number of threads that make calls.
        progress: Called with `("compiling", done, total)` for a new program.
    """
    refuse_forked()
    pending: deque[tuple[Any, Future]] = deque()
    try:
        for call in calls:
            pending.append((call.label, _begin(call, workers, progress)))
            if len(pending) > ahead:
                label, future = pending.popleft()
                yield label, future.result()
        while pending:
            label, future = pending.popleft()
            yield label, future.result()
    finally:
        for _, future in pending:
            future.cancel()


def _begin(call: Call, workers: int, progress: Progress | None) -> Future:
    new = call.program is not None and call.program not in _compiled
    _log.debug("%s %s", "compile" if new else "call", call.program)
    if new:
        _compiled.add(call.program)
        if progress:
            progress("compiling", len(_compiled) - 1, len(_compiled))
    elif call.apart:
        return pool(workers).submit(lambda: jax.tree.map(np.asarray, call.make()))
    made = Future()
    try:
        made.set_result(call.make())
    except Exception as error:
        if not new or call.instead is None:
            raise
        made.set_result(call.instead(error))
    if new and progress:
        progress("compiling", len(_compiled), len(_compiled))
    return made


@cache
def pool(workers: int = THREADS) -> ThreadPoolExecutor:
    """Return the threads that make calls."""
    # The pool is kept, because starting threads would slow short jobs down.
    return ThreadPoolExecutor(workers, "pgcjax")
