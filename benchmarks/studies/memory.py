"""Peak memory of a process of its own, as the number of runs grows.

`python -m benchmarks.studies.memory MODULE ARGUMENT...` runs a module as `python -m`
would, and prints the peak of its memory in MiB, last.
"""

import os
import resource
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import packed, texts
from benchmarks.harness import Report, child

QUERIES, N = 200, 170
SCORING = (10, 100, 1000, 4000)  # runs
READING = (10, 20, 40, 80)
PACKED = (100, 1000, 10_000)


def run(
    report: Report,
    scoring: tuple[int, ...] = SCORING,
    reading: tuple[int, ...] = READING,
    from_packed: tuple[int, ...] = PACKED,
    queries: int = 50,
    depth: int = 1000,
) -> None:
    """Measure scoring of ranks in memory, and `evaluate` of files."""
    columns = ["runs", "peak, MiB", "more per 1000 runs, MiB"]
    peaks = [peak("benchmarks.studies.memory_scoring", r, QUERIES, N) for r in scoring]
    title = f"memory: scoring {QUERIES} queries, N = {N}, from ranks made as needed"
    report.table(title, columns, _growth(scoring, peaks))
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        made_up = texts.write(folder, max(reading), queries, depth)
        judgments = ("--prefs", made_up.prefs, "--qrels", made_up.qrels)
        of = f"evaluating {queries} queries × depth {depth}"
        peaks = [
            peak("pgcjax", "evaluate", *judgments, *made_up.plain[:r]) for r in reading
        ]
        report.table(f"memory: {of} from text", columns, _growth(reading, peaks))
    peaks = []
    for r in from_packed:
        with TemporaryDirectory(prefix="pgcjax-bench-") as name:
            runs, prefs = packed.write(Path(name), r, QUERIES, N)
            job = ("evaluate", "--prefs", prefs, runs, "-o", Path(name) / "out.parquet")
            peaks.append(peak("pgcjax", *job))
    of = f"evaluating {QUERIES} queries, N = {N}, cyclic graphs"
    report.table(f"memory: {of} from packed", columns, _growth(from_packed, peaks))


def _growth(runs: tuple[int, ...], peaks: list[float]) -> list[list[object]]:
    rows: list[list[object]] = [[str(runs[0]), peaks[0], ""]]
    for i in range(1, len(runs)):
        slope = (peaks[i] - peaks[i - 1]) / (runs[i] - runs[i - 1]) * 1000
        rows.append([f"{runs[i]:,}", peaks[i], slope])
    return rows


def peak(module: str, *arguments: object) -> float:
    """Run a module in a process of its own, and give the peak of its memory in MiB."""
    printed = child("-m", "benchmarks.studies.memory", module, *arguments)
    return float(printed.splitlines()[-1])


def _own_peak() -> float:
    """Peak of this process in MiB; what it was before this program does not count."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8").split()
        return int(status[status.index("VmHWM:") + 1]) / 1024
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / 2**20 if sys.platform == "darwin" else most / 2**10


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    vars(os)["_exit"] = sys.exit  # by which commands end, before the peak is told
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as done:
        if done.code:
            raise
    print(_own_peak())
