"""From the keystroke to the answer: small commands, as whole processes.

    python -m benchmarks keystroke
    python -m benchmarks keystroke --before ../old

The second gives the same commands of another checkout, too.
"""

import resource
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import texts
from benchmarks.harness import Contender, Report, child

MEASURES = ("nDCG@10", "AP")
QUERIES, DEPTH = 50, 1000


LIBRARIES = "import os, jax, polars; jax.devices(); os._exit(0)"


def run(
    report: Report,
    old: Path | None = None,
    queries: int = QUERIES,
    depth: int = DEPTH,
) -> None:
    """Race commands that score one made-up run; then give the time of the processor."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        made_up = texts.write(folder, 1, queries, depth)
        used: dict[str, list[float]] = {}
        pgc = ("--prefs", made_up.prefs, "--qrels", made_up.qrels, *made_up.plain)
        graded = ("--qrels", made_up.qrels, *_named(), *made_up.plain)
        kept = _cache(folder, "kept")
        rows: dict[str, Callable[[], str]] = {
            "ir_measures": partial(
                *(child, "-m", "ir_measures", made_up.qrels, *made_up.plain, *MEASURES)
            ),
            "pgcjax": partial(_evaluate, *graded, **kept),
            "pgcjax, the first call ever": partial(_first, *graded),
            "pgcjax, PGC and Compat": partial(_evaluate, *pgc, **kept),
            "JAX and polars alone": partial(child, "-c", LIBRARIES),
        }
        if old:
            there = {"PYTHONPATH": old}
            kept = _cache(folder, "before") | there
            rows |= {
                "before": partial(_evaluate, *graded, **kept),
                "before, the first call ever": partial(_first, *graded, **there),
                "before, PGC and Compat": partial(_evaluate, *pgc, **kept),
            }
        contenders = [
            Contender(
                row,
                partial(_watched, call, used.setdefault(row, [])),
                1,
                ours=row == "pgcjax",
                values=None if row.endswith(("Compat", "alone")) else _values,
            )
            for row, call in rows.items()
        ]
        title = f"1 run × {queries} queries × depth {depth}"
        report.race(f"keystroke to answer: {title}", contenders, per="command", units=1)
        theirs = max(1e-6, statistics.median(used["ir_measures"][-report.rounds :]))
        report.table(
            f"time of the processor: {title}",
            ["", "seconds", "÷ ir_measures"],
            [
                [row, seconds, seconds / theirs]
                for row, all_of_row in used.items()
                for seconds in [statistics.median(all_of_row[-report.rounds :])]
            ],
        )


def _named() -> list[str]:
    return [word for measure in MEASURES for word in ("-m", measure)]


def _cache(folder: Path, name: str) -> dict[str, Path | str]:
    """Name the two places where a cache can be: JAX's own setting, and a user's."""
    place = folder / name
    return {"JAX_COMPILATION_CACHE_DIR": place / "jax", "XDG_CACHE_HOME": place}


def _evaluate(*arguments: object, **places: object) -> str:
    # Python would put the folder that it starts in before another checkout.
    return child("-P", "-m", "pgcjax", "evaluate", *arguments, **places)


def _first(*arguments: object, **places: object) -> str:
    """Start with an empty cache folder."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as folder:
        return _evaluate(*arguments, **_cache(Path(folder), "new"), **places)


def _watched(call: Callable[[], str], used: list[float]) -> str:
    """Note the seconds that a process takes of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    used.append(spent)
    return printed


def _values(printed: str) -> np.ndarray:
    """Read the means that a command printed, in the order of `MEASURES`."""
    lines = [line.split("\t") for line in printed.splitlines() if line[:1] != "#"]
    means = {line[0]: float(line[-1]) for line in lines}
    return np.array([means[measure] for measure in MEASURES])
