"""Processes that make calls of the command line: real ones, which begin at once.

They are forked from a server that has loaded the package but not begun to work, as a
process of its own would take seconds to load it.
"""

import itertools
import multiprocessing
import os
import runpy
import socket
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import pgcjax

_LOADED = ["pgcjax.cli.scoring", "pgcjax.engine.distributed", "pgcjax.engine.evaluate"]
_LOADED += ["distributed.nanny"]  # if it is installed
_MEASURES = Path(pgcjax.__file__).parent / "measures"  # all of which a call looks at
_LOADED += [f"pgcjax.measures.{path.stem}" for path in sorted(_MEASURES.glob("*.py"))]
_NUMBERS = itertools.count()


def free_port() -> int:
    """Find a port of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


class Ended(NamedTuple):
    code: int | None
    out: str
    err: str


class Started:
    """A process, and what it has printed so far."""

    def __init__(self, process: BaseProcess, printed: Path):
        self.process, self._printed = process, printed

    def end(self, timeout: float = 300) -> Ended:
        self.process.join(timeout)
        texts = (self._printed.with_suffix(s).read_text() for s in (".out", ".err"))
        return Ended(self.process.exitcode, *texts)


def context() -> Any:
    """Give the context of processes that have the package loaded."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(_LOADED)
    forkserver.ensure_running()
    return found


def call(
    folder: Path,
    *arguments: object,
    devices: int = 1,
    settings: Mapping[str, float] | None = None,
) -> Started:
    """Start `pgcjax ARGUMENT...` in a folder, by so many devices of the CPU."""
    printed = folder / f".printed-{next(_NUMBERS)}"
    line = [*map(str, arguments)]
    told = dict(os.environ)
    how = folder, printed, told, line, devices, dict(settings or {})
    process = context().Process(target=_called, args=how)
    process.start()
    return Started(process, printed)


def module(_: str, name: str, *arguments: object) -> str:
    """Run `python -m NAME ARGUMENT...`, and give what it printed."""
    with tempfile.TemporaryDirectory(prefix="pgcjax-module-") as folder:
        printed = Path(folder, "printed")
        line = [name, *map(str, arguments)]
        process = context().Process(target=_ran, args=(printed, dict(os.environ), line))
        process.start()
        code, out, err = Started(process, printed).end()
    assert code == 0, err
    return out


def _ran(printed: Path, told: dict[str, str], line: list[str]) -> None:
    prepare(Path(pgcjax.__file__).parents[1], told)
    _print_to(printed)
    sys.argv, leave = line, os._exit
    try:
        runpy.run_module(line[0], run_name="__main__", alter_sys=True)
    finally:
        vars(os)["_exit"] = leave  # which a module may replace


def _called(
    folder: Path,
    printed: Path,
    told: dict[str, str],
    line: list[str],
    devices: int,
    settings: dict[str, float],
) -> None:
    prepare(folder, told, devices)
    _print_to(printed)
    from pgcjax.cli import main
    from pgcjax.engine.plan import using

    with using(**settings):
        main(line)


def _print_to(printed: Path) -> None:
    for number, suffix in ((1, ".out"), (2, ".err")):
        file = os.open(printed.with_suffix(suffix), os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)


def prepare(folder: Path, told: Mapping[str, str], devices: int = 1) -> None:
    """Set a process up that the server forked: it may have been told otherwise."""
    os.chdir(folder)
    os.environ.update(told)
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", devices)
    folder_of_programs = told.get("JAX_COMPILATION_CACHE_DIR")
    jax.config.update("jax_compilation_cache_dir", folder_of_programs)


def spoil(path: Path) -> None:
    """Let a file be damaged so that nobody sees it who does not read it."""
    before = path.stat()
    path.write_text("x" * before.st_size, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
