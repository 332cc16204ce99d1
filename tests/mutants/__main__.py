"""Seed mistakes, and say which of them `verify=1` catches.

Exit status 1 if one survives, or no longer fits the text of the package.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]
from helpers.compiled import keep_compiled  # noqa: E402

keep_compiled()  # before JAX is imported

from mutants.child import LIBRARIES, verdict  # noqa: E402
from mutants.table import Mutant, mutants, stale  # noqa: E402

Task = tuple[Mutant | None, list[str]]


def verdicts(tasks: list[Task], jobs: int) -> Iterator[tuple[str, str]]:
    """Give what became of each task, each in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LIBRARIES, "mutants.child"])
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        pending = [pool.apply_async(verdict, task) for task in tasks]
        for result in pending:
            yield result.get()


def main() -> int:
    """Run all mutants, or some, and print a line for each."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="in names or files of mutants to run")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if problems := stale():
        print(*problems, f"to refresh in mutants.toml: {len(problems)}", sep="\n")
        return 1
    words = options.words or [""]
    wanted = [m for m in mutants() if any(w in f"{m.path} {m.name}" for w in words)]
    calls = sorted({m.call for m in wanted})
    sound: list[Task] = [(None, calls[i :: options.jobs]) for i in range(options.jobs)]
    seeded: list[Task] = [(m, [m.call]) for m in wanted]
    began, missed = time.monotonic(), 0
    results = verdicts([*sound, *seeded], options.jobs)
    for _ in sound:
        if (result := next(results)) != ("survived", ""):
            print("without a mistake:", *result)
            return 1
    print(f"without a mistake {len(calls)} calls verify", flush=True)
    for mutant, (what, why) in zip(wanted, results, strict=True):
        missed += what != "caught"
        print(f"{what:8}  {mutant.path}: {mutant.name}  [{why}]", flush=True)
    seconds = time.monotonic() - began
    print(f"{len(wanted) - missed} of {len(wanted)} caught, in {seconds:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
