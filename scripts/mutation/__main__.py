"""Draw mutants by lot, and count those that the tests of their lines catch.

    scripts/mutate                                     200 mutants of six rooms, seed 0
    scripts/mutate --count 50 --seed 1 --rooms io/votes,stats

The mutants are those of cosmic-ray: another operator, comparison, number or keyword, a
loop without turns, one decorator less. First, each file of tests is run alone, and the
lines of the package that it runs are written down. Then each mutant is run against the
files of tests that run its line: those with its file's name first, then those of its
room, then the quick ones, within `--budget` seconds. Survivors are printed with their
change.
"""

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
ROOMS = "io,tensors,judging,stats,asking,engine"
COPIED = ("pgcjax", "tests", "benchmarks", "scripts", "docs", ".github")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")


class DrawnMutant(NamedTuple):
    """A file of the package with one change.

    Attributes:
        path: Path of the file.
        line: Line of the change.
        begin: First line of its statement, by which coverage counts.
        operator: Name of the operator that cosmic-ray applied.
        source: Text of the changed file.
    """

    path: str
    line: int
    begin: int
    operator: str
    source: str


class Tested(NamedTuple):
    """A file of tests: how long it takes, and the lines that it runs, by file."""

    seconds: float
    lines: dict[str, list[int]]


def copy_checkout(folder: Path) -> None:
    """Copy what tests need, so that a mutant does not touch the checkout."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)


def run(folder: Path, arguments: list[str], limit: float) -> int:
    """Run Python with the package of a folder; return its status, 124 if too late."""
    shared = os.environ.get("PGCJAX_SHARED", str(ROOT.parent / "shared"))
    paths = {"PYTHONPATH": str(folder), "PGCJAX_SHARED": shared}
    try:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=os.environ | paths | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
        ).returncode
    except subprocess.TimeoutExpired:
        return 124


def covered(folder: Path, test: str) -> Tested:
    """Run a file of tests alone, and read which lines of the package it runs."""
    data, report = (
        folder / f"{Path(test).stem}.data",
        folder / f"{Path(test).stem}.json",
    )
    coverage = ["-m", "coverage"]
    began = time.monotonic()
    measure = [f"--data-file={data}", "--source=pgcjax", *PYTEST, test]
    status = run(folder, [*coverage, "run", *measure], 1200)
    seconds = time.monotonic() - began
    # With 5, all tests are skipped here.
    if status not in (0, 5):
        print(f"{test}: exit status {status} without a mutant, left out", flush=True)
        return Tested(seconds, {})
    write = [f"--data-file={data}", "-q", "-o", str(report)]
    if run(folder, [*coverage, "json", *write], 600):
        return Tested(seconds, {})
    files = json.loads(report.read_text())["files"]
    return Tested(seconds, {name: of["executed_lines"] for name, of in files.items()})


def without_types(source: str) -> str:
    """Return the syntax tree of a source without annotations and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    return ast.dump(tree)


def drawn(path: Path, generator: random.Random) -> DrawnMutant | None:
    """Draw a place of a file and then an operator; None where types alone change."""
    source = path.read_text(encoding="utf-8")
    places: dict[tuple[int, int], list[tuple[str, int]]] = {}
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments() or name.endswith("NoOp"):
            continue
        starts = (at for node in nodes for at, _ in operator().mutation_positions(node))
        for occurrence, start in enumerate(starts):
            places.setdefault(start, []).append((name, occurrence))
    if not places:
        return None
    place = generator.choice(sorted(places))
    name, occurrence = generator.choice(places[place])
    changed = mutate_code(source, get_operator(name)(), occurrence)
    try:
        if not changed or without_types(changed) == without_types(source):
            return None
    except SyntaxError:
        return None
    (line, _), tree = place, ast.parse(source)
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    around = (n.lineno for n in statements if n.lineno <= line <= (n.end_lineno or 0))
    return DrawnMutant(
        str(path.relative_to(ROOT)), line, max(around, default=line), name, changed
    )


def sample(rooms: list[str], count: int, seed: int) -> Iterator[DrawnMutant]:
    """Draw mutants by lot: files by their sizes, then a place, then an operator."""
    generator = random.Random(seed)
    folders = [ROOT / "pgcjax" / room for room in rooms]
    paths = sorted({path for folder in folders for path in folder.rglob("*.py")})
    sizes = [path.stat().st_size for path in paths]
    while count:
        (path,) = generator.choices(paths, sizes)
        if mutant := drawn(path, generator):
            count -= 1
            yield mutant


def chosen(mutant: DrawnMutant, tested: dict[str, Tested], budget: float) -> list[str]:
    """Return the files of tests that run a line, as many as take `budget` seconds.

    The first are those with the name of the file, then those of its room.
    """
    room, name = mutant.path.split("/")[1], Path(mutant.path).stem
    running = [
        (name not in test, f"/{room}/" not in test, of.seconds, test)
        for test, of in tested.items()
        if {*range(mutant.begin, mutant.line + 1)} & {*of.lines.get(mutant.path, [])}
    ]
    files, left = [], budget
    for *_, seconds, test in sorted(running):
        if not files or seconds <= left:
            files.append(test)
            left -= seconds
    return files


def verdict(mutant: DrawnMutant, files: list[str], folder: Path, limit: float) -> str:
    """Run the tests of a mutant in a copy of the checkout."""
    if not files:
        return "survived: no test runs its line"
    path = folder / mutant.path
    sound = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8", newline="\n")
    try:
        for test in files:
            if run(folder, [*PYTEST, test], limit):
                return f"caught by {test}"
    finally:
        path.write_text(sound, encoding="utf-8", newline="\n")
    return f"survived: {' '.join(files)}"


def change(mutant: DrawnMutant) -> str:
    """Return the lines that a mutant changes, as a diff."""
    sound = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(sound, mutant.source.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in list(lines)[2:] if line[0] in "+-")


def main() -> None:
    """Print a line for each mutant, the changes of survivors, and the share caught."""
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--rooms", default=ROOMS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=90, help="seconds a mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--lines", type=Path, help="file that keeps the lines of tests")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="their folders")
    options = parser.parse_args()
    tests = sorted(
        map(str, (path.relative_to(ROOT) for path in test_files(options.tests)))
    )
    with TemporaryDirectory() as place, ThreadPoolExecutor(options.jobs) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            copy_checkout(Path(place) / str(job))
            free.put(Path(place) / str(job))

        def in_a_copy(work, *arguments):
            folder = free.get()
            try:
                return work(folder, *arguments)
            finally:
                free.put(folder)

        if options.lines and options.lines.exists():
            rows = json.loads(options.lines.read_text())
            tested = {test: Tested(*of) for test, of in rows.items()}
        else:
            results = pool.map(lambda test: in_a_copy(covered, test), tests)
            tested = dict(zip(tests, results, strict=True))
            if options.lines:
                options.lines.write_text(json.dumps(tested))
        mutants = list(sample(options.rooms.split(","), options.count, options.seed))

        def judged(mutant: DrawnMutant) -> str:
            files = chosen(mutant, tested, options.budget)
            limit = 60 + 5 * max((tested[test].seconds for test in files), default=0)
            return in_a_copy(lambda at: verdict(mutant, files, at, limit))

        caught = 0
        for mutant, what in zip(mutants, pool.map(judged, mutants), strict=True):
            caught += what.startswith("caught")
            name = mutant.operator.split("/")[-1]
            print(f"{mutant.path}:{mutant.line} {name}: {what}", flush=True)
            if not what.startswith("caught"):
                print(change(mutant), flush=True)
    share = 100 * caught / len(mutants)
    print(f"{caught} of {len(mutants)} caught ({share:.0f} %), seed {options.seed}")


def test_files(folders: list[str]) -> list[Path]:
    """List files of tests but those of documents, browsers and seeded mistakes."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("test_*.py")]
    apart = {"mutants", "docs", "browser"}
    return [path for path in paths if not apart & set(path.parts)]


if __name__ == "__main__":
    main()
