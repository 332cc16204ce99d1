"""Commands in a forked process: limited, timed, killed at a moment.

The process that forks has imported all libraries and used none of them, so that a child
begins at once: a child forked after JAX has computed hangs.
"""

import fcntl
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgcjax.cli import main

_SET_SIZE = 1031  # F_SETPIPE_SZ of Linux

Work = Callable[[], Any]
Files = dict[str, bytes | str]


@dataclass(frozen=True)
class Done:
    """How a child ended.

    Attributes:
        code: exit status; None if a signal ended it.
        signal: that ended it; 0 if none did.
        out: what it wrote to stdout.
        err: what it wrote to stderr.
        seconds: from the fork to the end.
        memory: bytes that it had at most.
        late: whether it was killed because it did not end in time.
    """

    code: int | None
    signal: int
    out: str
    err: str
    seconds: float
    memory: int
    late: bool = False

    def refused(self, *codes: int) -> str | None:
        """Say why this is no refusal: an error of one line, exit status 2.

        Other `codes` may be allowed in its place.
        """
        if self.late:
            return f"does not end within {self.seconds:.0f} s"
        if self.signal:
            return f"died of signal {self.signal}"
        lines = [x for x in self.err.split("\n") if x.startswith("pgcjax: error: ")]
        if (
            self.code not in (codes or (2,))
            or len(lines) != 1
            or "Traceback" in self.err
        ):
            return f"exit status {self.code}, stderr {self.err[-200:]!r}"
        return None


def import_libraries() -> None:
    """Import all that verbs need, so that no child has to."""
    import matplotlib.pyplot  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import pgcjax
    import pgcjax.engine.dry_run  # noqa: F401
    import pgcjax.reporting.score_page  # noqa: F401

    for name in dir(pgcjax):
        getattr(pgcjax, name)


def command(args: list[str], folder: Path, **how: Any) -> Done:
    """Run `pgcjax ARGS` in a folder; arguments as of `forked`."""
    return forked(lambda: main(args), folder, **how)


def forked(
    work: Work,
    folder: Path,
    *,
    limits: Mapping[int, int] | None = None,
    kill: tuple[float, int] | None = None,
    seconds: float = 120.0,
) -> Done:
    """Run work in a child, in a folder.

    Args:
        work: exits, or returns (exit status 0).
        folder: the child's working directory.
        limits: soft and hard limits by the names of `resource`.
        kill: after so many seconds it gets a signal.
        seconds: after which it is killed, as one that hangs.
    """
    import_libraries()
    sys.stdout.flush()
    sys.stderr.flush()
    out, err = _pipe(), _pipe()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _live(work, folder, limits or {}, out[1], err[1])
    watch = os.pidfd_open(pid)
    try:
        if kill and not _ends(watch, kill[0]):
            signal.pidfd_send_signal(watch, kill[1])
        late = not _ends(watch, seconds)
        if late:
            signal.pidfd_send_signal(watch, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        texts = _read(out[0]), _read(err[0])
    finally:
        for end in (watch, *out, *err):
            os.close(end)
    took = time.monotonic() - began
    died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = None if died else os.WEXITSTATUS(status)
    return Done(code, died, *texts, took, usage.ru_maxrss * 1024, late)


def _pipe() -> tuple[int, int]:
    """Make a pipe that holds all that a verb prints: no limit of files concerns it."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], _SET_SIZE, 2**20)
    os.set_blocking(ends[0], False)
    return ends


def _read(end: int) -> str:
    try:
        return os.read(end, 2**20).decode(errors="backslashreplace")
    except BlockingIOError:
        return ""  # nothing was printed


def _ends(watch: int, seconds: float) -> bool:
    return bool(select.select([watch], [], [], max(0.0, seconds))[0])


def _live(
    work: Work, folder: Path, limits: Mapping[int, int], out: int, err: int
) -> None:
    """Be the child; never return."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, most in limits.items():
            resource.setrlimit(name, (most, most))
        try:
            work()
            code = 0
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def snapshot(folder: Path) -> Files:
    """Read all files of a folder; links by what they point to, folders as `/`."""
    there: Files = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            there[name] = os.readlink(path)
        else:
            there[name] = "/" if path.is_dir() else path.read_bytes()
    return there


def changed(before: Files, after: Files, but: str = "") -> str | None:
    """Say which file differs between two snapshots, leaving out the name `but`."""
    for name in sorted(before.keys() | after.keys()):
        if name != but and before.get(name) != after.get(name):
            how = "is new" if name not in before else "has changed"
            return f"{name} {'is gone' if name not in after else how}"
    return None
