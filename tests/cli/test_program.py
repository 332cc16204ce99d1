"""The program as a shell starts it: what it loads, and how it ends."""

import os
import subprocess
import sys

import pytest

LIGHT = """
import os, sys, pgcjax
dir(pgcjax), pgcjax.__version__
from pgcjax.cli import main
os._exit = sys.exit  # by which the program ends at once
for line in ["--help"], ["--version"], ["evaluate", "--help"]:
    sys.argv = ["pgcjax", *line]
    try:
        main()
    except SystemExit as done:
        assert not done.code, done.code
    heavy = {"jax", "pandas", "numpy", "polars", "pyarrow", "scipy"} & set(sys.modules)
    assert not heavy, (line, heavy)
"""


def test_nothing_heavy_is_loaded():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_are_loaded_when_used():
    code = (
        "import sys, pgcjax; pgcjax.files.read_runs({'q': {'d': 1}}); assert 'pandas' "
        "in sys.modules and 'jax' not in sys.modules; pgcjax.evaluate; assert "
        "'polars' in sys.modules and not {'jax', 'scipy.optimize'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What a small evaluate has no use for; each takes as long as a tenth of it, or more.
UNUSED = {"pandas", "pyarrow", "scipy", "rich", "fsspec", "matplotlib", "jinja2"}
UNUSED |= {"jax.experimental.pallas", "pgcjax.cli.comparing"}
UNUSED |= {"pgcjax.engine.grid_batch", "pgcjax.judging.variants", "pgcjax.plugins"}


def program(line: str, here, **more: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHON": sys.executable, **more}
    line = "set -o pipefail; " + line.replace("pgcjax", '"$PYTHON" -m pgcjax')
    return subprocess.run(
        ["bash", "-c", line], cwd=here, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("module", ["pgcjax", "pgcjax.cli"])
def test_as_a_module(module):
    """Both speak of `pgcjax`, whatever the file is called that Python runs."""

    def run(*line: str) -> subprocess.CompletedProcess:
        python = [sys.executable, "-W", "error", "-m", module]
        return subprocess.run([*python, *line], capture_output=True, text=True)

    done = run("evaluate", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: pgcjax evaluate [OPTIONS] RUN...\n")
    done = run("evaluat")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pgcjax: error: No such command 'evaluat'.")


def imported(stderr: str) -> set[str]:
    """Name the modules and packages that PYTHONPROFILEIMPORTTIME lists."""
    lines = (line for line in stderr.splitlines() if line.startswith("import time:"))
    names = (line.rpartition("|")[2].strip().split(".") for line in lines)
    return {".".join(name[:n]) for name in names for n in range(1, len(name) + 1)}


def test_pipes(here):
    """Runs come through a pipe, and a reader may leave early.

    Nothing is imported that the call does not use.
    """
    (here / "long.txt").write_text(
        "".join(f"q1 Q0 d{i} {i} {-i} r{i}\n" for i in range(30_000))
    )
    line = "evaluate --prefs prefs.txt long.txt --missing skip 2>/dev/null | head -n 2"
    done = program(f"pgcjax {line}", here)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# pgcjax {") and len(done.stdout.splitlines()) == 2
    line = "evaluate --prefs <(gzip -c prefs.txt) <(cat run.txt)"
    done = program(f"pgcjax {line}", here, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0 and done.stdout.splitlines()[1].startswith("PGC\tall")
    assert imported(done.stderr) > {"polars", "pgcjax.engine.evaluate"}
    assert imported(done.stderr) & UNUSED == set()


def test_errors(here):
    done = program("pgcjax evaluate --prefs run.txt run.txt", here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "pgcjax: error: run.txt:1: expected preferences, found 6"
    )
    assert len(done.stderr.splitlines()) == 1


def test_a_pattern_that_the_shell_expanded(here, pgcjax):
    """Unquoted, `judge.*` gives --prefs one file and makes runs of the others."""
    for i in range(3):
        (here / f"judge.0{i}").write_text(f"q1 a b{i}\n")
    done = program("pgcjax evaluate --prefs judge.* run.txt", here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "pgcjax: error: judge.01:1: expected 'query doc score', found 'q1 a b1'. A run "
        "has 6 or 3 columns, or a header; on the command line, judgments go with "
        "--prefs or --qrels, once for each file or as one quoted pattern.\n"
    )
    done = pgcjax("evaluate", "--prefs", "judge.*", "run.txt")  # as one quoted it
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("PGC\tall\t")
