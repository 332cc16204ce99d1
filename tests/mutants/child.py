"""Score the collection with verify=1, in a process whose package has one mistake.

A process does this once: what is imported and compiled is the mistake's.
"""

import importlib.abc
import importlib.machinery
import os
import shlex
import sys
import warnings
from contextlib import redirect_stdout

from mutants.table import Mutant

# What every process needs and no mistake is in; the rest is imported after the mistake.
LIBRARIES = ["jax.numpy", "pandas", "polars", "pyarrow.parquet", "scipy.stats"]


class _Loader(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, fullname):  # and so no bytecode of the right source
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module before others do, with the mistake in it."""

    def __init__(self, mutant: Mutant):
        self.mutant, self.used = mutant, False

    def find_spec(self, fullname, path, target=None):
        if fullname != self.mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec and spec.origin
        spec.loader = loader = _Loader(fullname, spec.origin)
        loader.source, self.used = self.mutant.source(), True
        return spec


def run_tests(call: str) -> None:
    """Run the tests of a call, in this process.

    Raises:
        VerificationError: one fails.
    """
    import pytest

    from pgcjax.errors import VerificationError

    # Modules are imported before pytest could have their shapes checked.
    options = ["-qx", "-p", "no:cacheprovider", "-o", "addopts="]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        code = pytest.main([*options, *shlex.split(call)])
    if code == pytest.ExitCode.TESTS_FAILED:
        raise VerificationError(call)
    if code:
        raise RuntimeError(f"pytest {call} ends with {code}")


def score(call: str) -> None:
    """Score the measures of a call, in tiles of few runs and queries; or run tests.

    Raises:
        VerificationError: a score or a mean differs from its twin, or a test fails.
    """
    if call.startswith("tests/"):
        run_tests(call)
        return
    import pgcjax
    from mutants import collection
    from pgcjax.engine.plan import using
    from pgcjax.measures.catalogue import parse
    from pgcjax.tensors.padding import at_least

    words = call.split()
    missing = words.pop() if words[-1] == "skip" else "zero"
    order = words.pop() if words[-1] in ("clarke", "rank") else "trec"
    measures = [parse(word) for word in words]
    grids = any("grids" in m.needs for m in measures)
    made = collection.soft if "soft=" in call else collection.lists
    made = collection.levelled if "Rnonrel" in call else made
    tables = collection.grids() if grids else made()
    # Every axis is padded, to few shapes: fewer programs to compile.
    few = using(runs=4, queries=2, levels=1)
    with few, at_least(documents=32, axis=32, width=64):
        how = {"order": order, "missing": missing, "verify": 1.0}
        pgcjax.evaluate(**tables, measures=words, **how)


def verdict(mutant: Mutant | None, calls: list[str]) -> tuple[str, str]:
    """Say what became of a mistake: `caught`, `survived` or `broken`, and why."""
    warnings.simplefilter("ignore")
    finder = _Finder(mutant) if mutant else None
    if finder:
        sys.meta_path.insert(0, finder)
    from pgcjax.errors import VerificationError

    try:
        for call in calls:
            score(call)
    except VerificationError as error:
        return "caught", str(error).partition(". This is")[0]
    except Exception as error:
        return "broken", f"{type(error).__name__}: {' '.join(str(error).split())}"
    if finder and not finder.used:
        return "broken", "the file is not imported"
    return "survived", ""
