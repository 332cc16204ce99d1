"""Two versions of pgcjax side by side: `python -m benchmarks.versus OLD_PYTHON [ROW…]`.

OLD_PYTHON is the interpreter of the environment inside of another checkout, such as
`../old/.venv/bin/python`. Both do the same jobs on the same files, in processes of
their own, in turn: old, new, old, new. A process gives its fastest call of each job; of
the row `memory`, the lowest peak of each command.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

# The old version runs this file, too: it needs these modules and what is used of them.
import pgcjax
from benchmarks import harness, inputs, ours, packed, rbo, significance, texts
from pgcjax.stats import compare, matrix, procedures

SAMPLES = 5  # of a job in a process, each of at least 0.2 seconds
Jobs = Iterator[tuple[str, Callable[[], Any]]]


def _judged(folder: Path) -> dict[str, Path]:
    return {
        "qrels": folder / "judgments.qrels",
        "preferences": folder / "judgments.pref",
    }


def _peel(_: Path) -> Jobs:
    made_up = inputs.cyclic(64, 64, 16), inputs.cyclic(16, 64, 170)
    sources = inputs.CAST, inputs.DL21, inputs.CAST_COMBINED
    data = Path(os.environ.get("PGCJAX_SHARED", harness.ROOT.parent / "shared"))
    real = inputs.real(data / "data", sources)
    for case in (*made_up, inputs.graded(64, 64, 170), *real):
        arguments = case.graphs, case.rankings, case.p, case.depth
        yield case.title, partial(ours.scores, *arguments)
        yield f"{case.title}, device", ours.device_calls(*arguments)


def _measures(folder: Path) -> Jobs:
    files = (folder / "plain").iterdir()
    tables = ours.canonical_runs({path.name: inputs.plain_run(path) for path in files})
    names = ours.names_of("graded", "binary", "preference")
    for some in (["nDCG@10"], ["ERR@10"], ["AP"], ["RBP"], names):
        job = ours.MeasuresJob(some, _judged(folder))
        title = some[0] if len(some) == 1 else f"{len(some)} measures"
        yield title, partial(job.score, job.look_up(tables))
        yield f"{title}, look-up", partial(job.look_up, tables)


def _reading(folder: Path) -> Jobs:
    find = partial(ours.rankings_of, judged=ours.judged_documents(_judged(folder)))
    for kind in ("plain", "gz"):
        yield f"reading, {kind}", partial(find, sorted((folder / kind).iterdir()))


def _evaluate(folder: Path) -> Jobs:
    of_text = partial(pgcjax.evaluate, **_judged(folder))
    for kind in ("plain", "gz", "packed.parquet"):
        yield f"evaluate, {kind}", partial(of_text, folder / kind)
    many = partial(pgcjax.evaluate, preferences=folder / "prefs.parquet")
    yield "evaluate, packed, cyclic", partial(many, folder / "240.parquet")
    demo = [str(folder / "demo" / name) for name in ("runs", "preferences.csv")]
    command = [sys.executable, "-m", "pgcjax", "evaluate", demo[0], "--prefs", demo[1]]
    yield "evaluate, demo", partial(subprocess.check_output, command)


def _significance(_: Path) -> Jobs:
    x, few = significance.scores(60, 50), significance.scores(20, 50)
    made = matrix.Matrix(*([f"{i:03}" for i in range(n)] for n in few.shape), few)
    for test in ("bootstrap", "permutation", "tukey"):
        resampled = test in procedures.RESAMPLES
        how = {"resamples": 1000} if resampled else {}
        yield f"p of {test}", partial(procedures.p_values, x, test, **how)
        how = {"resamples": 4000} if resampled else {}  # so many, 190 pairs need
        yield f"compare by {test}", partial(compare.compare, made, test=test, **how)
    hundred = significance.scores(100, 50)
    yield "anova of 100 runs", partial(procedures.p_values, hundred, "anova")


def _rbo(folder: Path) -> Jobs:
    for ties in ("broken", "a", "b"):
        yield (
            f"rbo, ties={ties}",
            partial(pgcjax.rankings.rbo, folder / "few", p=0.9, ties=ties),
        )


def _memory(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Give whole commands, whose peak of memory is measured."""
    prefs, qrels = folder / "judgments.pref", folder / "judgments.qrels"
    judged = ["evaluate", "--prefs", str(prefs), "--qrels", str(qrels)]
    names = [
        word for name in ours.names_of("graded", "binary") for word in ("-m", name)
    ]
    for kind in ("plain", "gz", "packed.parquet"):
        yield f"evaluate, {kind}", [*judged, str(folder / kind)]
    yield "evaluate, many measures", [*judged, *names, str(folder / "plain")]
    scores = str(folder / "scores.parquet")
    cyclic = [str(folder / name) for name in ("prefs.parquet", "240.parquet")]
    yield "evaluate, packed, cyclic", ["evaluate", "--prefs", *cyclic, "-o", scores]
    yield "rbo", ["rankings", "rbo", str(folder / "few")]
    for test in ("tukey", "max-t"):  # of so many pairs, which others need more for
        yield (
            f"compare by {test}",
            ["compare", "--test", test, "--measure", "PGC", scores],
        )


_JOBS = (_peel, _measures, _reading, _evaluate, _significance, _rbo, _memory)
ROWS: dict[str, Callable[[Path], Any]] = {jobs.__name__[1:]: jobs for jobs in _JOBS}


def _write(folder: Path) -> None:
    from pgcjax.datasets.files import demo_folder

    runs = texts.write(folder, 8, 50).plain
    pgcjax.files.pack(runs, folder / "packed.parquet", **_judged(folder))
    packed.write(folder, 240, 50, 170)
    rbo.write(folder / "few", 16, 4, 1000)
    shutil.copytree(demo_folder(), folder / "demo")


def _milliseconds(call: Callable[[], Any]) -> float:
    call()  # compiles
    timer = timeit.Timer(call)
    calls, _ = timer.autorange()
    return 1e3 * min(timer.repeat(SAMPLES, calls)) / calls


def _mebibytes(command: list[str]) -> float:
    """Measure the peak of memory of a command that finds its programs on disk."""
    peaks = []
    for _ in range(3):
        program = [sys.executable, "-P", "-m", "pgcjax", *command]
        small = [sys.executable, "-S", "-c", _PEAK]
        peaks.append(int(subprocess.check_output([*small, *program])) / 1024)
    return min(peaks[1:])


# In a small process: Linux counts what a process has when it starts another to the peak
# of that other.
_PEAK = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(started.pid, 0)
print(used.ru_maxrss)
sys.exit(bool(status))
"""


def _side(python: Path, checkout: Path, row: str, folder: str) -> dict[str, float]:
    """Run this file by a version, with its own `benchmarks` and `pgcjax`."""
    # -P: modules that lie beside this file do not hide others.
    command = [str(python), "-P", __file__, "measure", row, folder]
    env = os.environ | {"PYTHONPATH": str(checkout)}
    printed = subprocess.check_output(command, cwd=checkout, env=env)
    return dict(json.loads(printed.splitlines()[-1]))


def main() -> None:
    """Time rows by both versions in turn, and print a table of the jobs of each."""
    parser = argparse.ArgumentParser("python -m benchmarks.versus", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD_PYTHON")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=5, help="5")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    old = options.old.absolute()  # a link, that names its environment
    sides = (old, old.parents[2]), (Path(sys.executable), Path(__file__).parents[1])
    report = harness.Report()
    columns = [
        "the lowest, ms (MiB of memory)",
        "old",
        "new",
        "new ÷ old",
        "of rounds: lowest",
    ]
    with TemporaryDirectory(prefix="pgcjax-versus-") as folder:
        _write(Path(folder))
        for row in options.rows or ROWS:
            turns = range(options.rounds)
            rounds = [[_side(*one, row, folder) for one in sides] for _ in turns]
            lines = []
            for name in rounds[0][0]:
                times = np.array([[each[name] for each in both] for both in rounds])
                ratios, best = times[:, 1] / times[:, 0], times.min(0)
                spread = min(ratios), np.median(ratios), max(ratios)
                figures = *best, best[1] / best[0], *spread
                lines.append([name, *map(float, figures)])
            report.table(row, [*columns, "median", "highest"], lines)
    if options.output:
        about = harness.facts(["python", "-m", "benchmarks.versus", *sys.argv[1:]])
        git = ["git", "-C", str(sides[0][1]), "rev-parse", "HEAD"]
        about["old"] = subprocess.check_output(git, text=True).strip()
        report.save(options.output, about)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        chosen = ROWS[sys.argv[2]](Path(sys.argv[3]))
        measure = _mebibytes if sys.argv[2] == "memory" else _milliseconds
        print(json.dumps([(name, measure(each)) for name, each in chosen]))
    else:
        main()
