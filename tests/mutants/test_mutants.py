"""`verify=1` catches seeded mistakes; `scripts/mutants` runs all of them."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mutants.table import mutants, stale

ROOT = Path(__file__).parents[2]


def test_they_fit_the_package():
    assert not stale()


def test_there_are_many_of_every_kind():
    rooms = Counter(mutant.path.partition("/")[0] for mutant in mutants())
    assert rooms.total() >= 150
    assert min(rooms[room] for room in ("kernels", "tensors", "measures")) >= 35
    assert min(rooms[room] for room in ("engine", "io")) >= 5


@pytest.mark.slow
def test_three_of_them_are_caught():
    names = ["a bad document counts once", "logarithms begin a rank too late"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants", *names, "ties turn around"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stdout + done.stderr
    assert "3 of 3 caught" in done.stdout


def test_a_mistake_that_changes_no_score_survives(monkeypatch):
    """In this process, which has none: what is not caught is said not to be."""
    from mutants import child

    assert child.verdict(None, ["nDCG@5"]) == ("survived", "")
