"""Children of `os.fork`, which lack threads that they would wait for: refused."""

import os

from pgcjax.errors import UsageError

_began: list[int] = []  # the process that was the first to work, here or before a fork


def refuse_forked() -> None:
    """Refuse to work in a process that was forked after work had begun.

    Polars and JAX compute by threads, which a fork leaves behind: the child would wait
    for them for ever. All that reads files or computes by them asks here first.

    Raises:
        UsageError: at once, in such a child.
    """
    if not _began:
        _began.append(os.getpid())
    elif _began[0] != os.getpid():
        raise UsageError(
            "this process was forked from one in which pgcjax had read or computed "
            "before, and lacks its threads. Start processes by "
            "multiprocessing.get_context('spawn') or 'forkserver', or threads"
        )
