"""Timing, checking, printing: what every benchmark shares."""

import gc
import json
import math
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
TOLERANCE = 1e-12
LEAST = 0.05  # seconds that one sample takes at least: faster calls are repeated
WIDTH = 128  # of tables, in characters
SHORT = 5.0  # seconds up to which a call is warmed up a second time
SMALL = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
"""Starts what follows from a small process: Linux counts what a process has when it
starts another to the peak of memory of that other."""


class NotEqualError(AssertionError):
    """Two contenders that should compute the same did not: no time means anything."""


@dataclass(frozen=True)
class Contender:
    """One way of doing a job.

    Attributes:
        name: what its row is called.
        call: does the job, or a part of it.
        units: how much of the job a call does.
        ours: whether others are compared with it.
        values: makes of what `call` returned the numbers that must agree; not timed.
            None where nothing can be compared.
        of: which of all values those are; None for all of them.
        note: what else is to be known, such as "500 of 4446 pairs".
    """

    name: str
    call: Callable[[], Any]
    units: float
    ours: bool = False
    values: Callable[[Any], np.ndarray] | None = np.asarray
    of: np.ndarray | None = None
    note: str = ""


@dataclass(frozen=True)
class Spread:
    """A median over the rounds, with the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        """Summarise figures."""
        return cls(statistics.median(figures), min(figures), max(figures))


@dataclass(frozen=True)
class Figure:
    """What was measured of one contender in a race.

    Attributes:
        name: of the contender.
        microseconds: per unit.
        ratios: how many times as long it takes as each of ours, round by round.
        rounds: microseconds per unit in each round.
        ours: whether it is ours.
        note: of the contender.
    """

    name: str
    microseconds: Spread
    ratios: dict[str, Spread]
    rounds: list[float]
    ours: bool
    note: str


@dataclass
class Report:
    """All that was measured, printed as it comes and kept for a file."""

    rounds: int = 5
    console: Console = field(default_factory=lambda: Console(width=WIDTH))
    races: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def say(self, message: str) -> None:
        """Print what is going on, or why something is left out."""
        self.console.print(message, style="dim", highlight=False, markup=False)

    def race(
        self,
        title: str,
        contenders: Sequence[Contender],
        *,
        per: str,
        units: float,
        rounds: int | None = None,
        least: float | None = None,
    ) -> dict[str, Figure]:
        """Check that all contenders agree, then time them in turn: A B A B.

        Args:
            title: of the table.
            contenders: at least one of them ours; the first of ours has all values.
            per: what a unit is.
            units: of the whole job.
            rounds: instead of the report's.
            least: seconds that a sample takes, instead of `LEAST`.

        Raises:
            NotEqualError: two contenders disagree by more than 1e-12.
        """
        repeats = _warm_up(title, contenders, least or LEAST)
        gc.collect()
        gc.freeze()  # what others hold in memory is no cost of a contender's
        times: list[list[float]] = [[] for _ in contenders]
        for _ in range(rounds or self.rounds):
            for mine, contender, n in zip(times, contenders, repeats, strict=True):
                mine.append(_seconds(contender.call, n) * 1e6 / contender.units)
        gc.unfreeze()
        ours = {c.name: t for c, t in zip(contenders, times, strict=True) if c.ours}
        figures = {
            c.name: Figure(
                c.name,
                Spread.of(mine),
                {
                    name: Spread.of([a / b for a, b in zip(mine, base, strict=True)])
                    for name, base in ours.items()
                },
                mine,
                c.ours,
                c.note,
            )
            for c, mine in zip(contenders, times, strict=True)
        }
        self.races.append(
            {
                "title": title,
                "per": per,
                "units": units,
                "figures": [asdict(f) for f in figures.values()],
            }
        )
        self._print(title, per, units, list(figures.values()))
        return figures

    def _print(self, title: str, per: str, units: float, figures: list[Figure]) -> None:
        ours = [f.name for f in figures if f.ours]
        table = _table(["", f"µs per {per}", "whole job"])
        for name in ours:
            table.add_column(f"÷ {name}", justify="right", no_wrap=True)
        for f in figures:
            ratios = [
                # Of ours, the slower against the faster: what the rest of it takes.
                times(f.ratios[name]) if not f.ours or f.ratios[name].median > 1 else ""
                for name in ours
            ]
            table.add_row(
                f.name + "*" * bool(f.note),
                spread(f.microseconds),
                duration(f.microseconds.median * units / 1e6),
                *ratios,
                style="bold" if f.ours else "",
            )
        notes = dict.fromkeys(f.note for f in figures if f.note)
        table.caption = "* " + "; ".join(notes) if notes else None
        self._show(title, table)

    def table(self, title: str, columns: list[str], rows: list[list[Any]]) -> None:
        """Print and keep a table of other figures."""
        self.tables.append({"title": title, "columns": columns, "rows": rows})
        table = _table(columns)
        for row in rows:
            table.add_row(*(number(x) if isinstance(x, float) else str(x) for x in row))
        self._show(title, table)

    def _show(self, title: str, table: Table) -> None:
        self.console.print(title, style="bold", highlight=False, markup=False)
        self.console.print(table, "")

    def save(self, path: Path, facts: dict[str, Any]) -> None:
        """Write everything, with the machine and the versions, as JSON."""
        everything = facts | {"races": self.races, "tables": self.tables}
        path.write_text(
            json.dumps(everything, indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
        self.say(f"wrote {path}")


def _warm_up(title: str, contenders: Sequence[Contender], least: float) -> list[int]:
    """Run and compare all; say how many calls of each one sample needs."""
    found, repeats = [], []
    for contender in contenders:
        start = time.perf_counter()
        result = contender.call()
        elapsed = time.perf_counter() - start
        found.append(contender.values(result) if contender.values else None)
        if elapsed < SHORT:  # the first call may have compiled
            elapsed = _seconds(contender.call, 1)
        repeats.append(max(1, min(1000, math.ceil(least / max(elapsed, 1e-9)))))
    _compare(title, contenders, found)
    return repeats


def _compare(
    title: str, contenders: Sequence[Contender], found: Sequence[np.ndarray | None]
) -> None:
    first = next(i for i, c in enumerate(contenders) if c.ours)
    truth = np.ravel(np.asarray(found[first]))
    for contender, values in zip(contenders, found, strict=True):
        if values is None:
            continue
        expected = truth if contender.of is None else truth[contender.of]
        mine = np.ravel(values)
        if mine.shape != expected.shape:
            problem = f"{mine.shape} values against {expected.shape}"
        elif not np.allclose(mine, expected, rtol=0, atol=TOLERANCE):
            problem = f"difference of up to {np.abs(mine - expected).max():.3g}"
        else:
            continue
        raise NotEqualError(
            f"{title}: {contender.name} and {contenders[first].name} do not compute "
            f"the same: {problem}"
        )


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def number(x: float) -> str:
    """Print three significant digits, without an exponent."""
    if x == 0 or not math.isfinite(x):
        return str(x)
    return f"{x:,.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"


def spread(x: Spread, unit: str = "") -> str:
    """Print a median with the lowest and the highest of the rounds."""
    return f"{number(x.median)}{unit} ({number(x.low)}-{number(x.high)})"


def times(ratio: Spread) -> str:
    """Print a ratio with its spread."""
    return spread(ratio, "×")


def _table(columns: list[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, caption_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    return table


def duration(seconds: float) -> str:
    """Print a time in the unit that suits it."""
    if seconds >= 1:
        return f"{number(seconds)} s"
    if seconds >= 1e-3:
        return f"{number(seconds * 1e3)} ms"
    return f"{number(seconds * 1e6)} µs"


def write_sections(
    path: Path, about: dict[str, Any], sections: dict[str, list[dict[str, Any]]]
) -> None:
    """Write the rows of a study as JSON, a line each, below what they depend on."""
    lines = ",\n".join(
        f' "{name}": [\n  '
        + ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        + "\n ]"
        for name, rows in sections.items()
    )
    head = json.dumps(about, indent=1, ensure_ascii=False)
    path.write_text(f"{head[:-2]},\n{lines}\n}}\n", encoding="utf-8")


def without_folders(text: str) -> str:
    """Drop the folders of absolute paths: a result is read elsewhere."""
    return re.sub(r"(?<![\w.])~?/(?:[^\s/:'\"]+/)+", "", text)


def facts(command: Sequence[str]) -> dict[str, Any]:
    """Describe the machine, the versions and the command."""
    import jax

    import pgcjax

    names = (
        "jax jaxlib numpy scipy pandas polars pyarrow numba ir_measures ranx".split()
    )
    git = ["git", "-C", str(ROOT)]
    return {
        "command": shlex.join(map(without_folders, command)),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": {
            "cpu": _after("/proc/cpuinfo", "model name") or platform.processor(),
            "cores": os.cpu_count(),
            "cores_allowed": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "memory": _after("/proc/meminfo", "MemTotal"),
            "os": platform.platform(),
            "load": os.getloadavg(),
            "devices": [d.device_kind for d in jax.local_devices()],
            "backend": jax.default_backend(),
        },
        "versions": {
            "python": platform.python_version(),
            "pgcjax": pgcjax.__version__,
            "commit": _output([*git, "rev-parse", "HEAD"]),
            "uncommitted": _output([*git, "status", "--porcelain"]),
            **{name: _version(name) for name in names},
        },
    }


def _after(file: str, key: str) -> str | None:
    """Find `key : value` in a file of /proc, on systems that have it."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((x.partition(":")[2].strip() for x in lines if x.startswith(key)), None)


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def child(*arguments: object, **variables: object) -> str:
    """Run Python in a process of its own, and give what it printed.

    Args:
        arguments: of Python.
        variables: of the environment, beside those of this process.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment |= {name: str(value) for name, value in variables.items()}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' files are compiled once
    done = subprocess.run(
        [*SMALL, sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(
            f"python {shlex.join(done.args[len(SMALL) + 1 :])}:\n{done.stderr[-2000:]}"
        )
    return done.stdout
