"""The house stays as it was built: imports point down, one place has the engine."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import pgcjax
from pgcjax import later

PACKAGE = Path(pgcjax.__file__).parent
# From the ground up: a room imports rooms before it in this list, and itself.
ROOMS = [
    "_version",
    "_aliases",
    "errors",
    "later",
    "kernels",
    "reference",
    "io",
    "runtime",
    "tensors",
    "judging",
    "measures",
    "stats",
    "engine",
    "asking",
    "datasets",
    "reporting",
    "plugins",
    "cli",
    "__main__",
]
# Public modules, which import names and compute nothing.
DOORS = {"ask", "files", "judgments", "meta", "rankings"}
MOST_ROOMS, MOST_FLOORS, MOST_ARROWS = 16, 7, 70
FILES = sorted(PACKAGE.rglob("*.py"))
ENGINE = {"jit", "vmap", "pmap", "shard_map", "device_put", "NamedSharding"}
# What is no score has programs of its own: resampling, and models of comparisons. And
# sums of lists are traced once for all measures of a program.
OWN_PROGRAMS = {
    PACKAGE / file
    for file in (
        *("stats/resample.py", "judging/models.py", "judging/joint.py"),
        "kernels/ranked_list.py",
    )
}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


class Looked(NamedTuple):
    """What tests ask of a file, of one walk: the trees of all files fill memory.

    Attributes:
        modules: that it imports, or imports names of, anywhere in it.
        names: imported, with their modules.
        engine: whether it uses a name of the engine.
        docstrings: lines of each, with the name of what it describes.
        functions: lines of each, with its name.
    """

    modules: set[str]
    names: set[str]
    engine: bool
    docstrings: list[tuple[str, int]]
    functions: list[tuple[str, int]]


@cache
def looked(path: Path) -> Looked:
    modules, names, used, docstrings, functions = set(), set(), set(), [], []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            lines = (ast.get_docstring(node) or "").splitlines()
            docstrings.append((getattr(node, "name", ""), len(lines)))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append((node.name, (node.end_lineno or 0) - node.lineno + 1))
    return Looked(modules, names, bool(used & ENGINE), docstrings, functions)


def imported(path: Path) -> set[str]:
    """Rooms of ours that a file imports, anywhere in it."""
    names = looked(path).names
    ours = {n.split(".")[1] for n in names if n.startswith("pgcjax.")}
    return ours - {"__version__"}


def test_every_room_is_known():
    assert {room(f) for f in FILES} - {"__init__"} == {*ROOMS, *DOORS}
    assert len([name for name in ROOMS if name[0] != "_"]) <= MOST_ROOMS


def test_rooms_are_few_floors_with_few_arrows():
    """A floor is above those of all rooms that its rooms import."""
    below: dict[str, set[str]] = {name: set() for name in ROOMS}
    for path in FILES:
        if room(path) in below:
            below[room(path)] |= imported(path) - {room(path)}
    floors: dict[str, int] = {}
    for name in ROOMS:  # rooms below come first, or the test above fails
        floors[name] = 1 + max((floors[other] for other in below[name]), default=0)
    assert max(floors.values()) <= MOST_FLOORS
    # What is imported of `later` are libraries.
    arrows = [others - {"later"} for others in below.values()]
    assert sum(map(len, arrows)) <= MOST_ARROWS


def test_doors_only_import():
    for door in DOORS:
        body = ast.parse((PACKAGE / f"{door}.py").read_text()).body
        assert {type(x) for x in body} <= {ast.Expr, ast.ImportFrom, ast.Assign}
        assert not any(door in imported(file) for file in FILES)


def test_contributing_lists_the_rooms():
    guide = PACKAGE.parent / "CONTRIBUTING.md"
    if not guide.exists():
        pytest.skip("not in a checkout")
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", guide.read_text(), re.MULTILINE)
    assert rows == [name for name in reversed(ROOMS) if name[0] != "_"]


@pytest.mark.parametrize("path", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_point_down(path):
    if path == PACKAGE / "__init__.py" or room(path) in DOORS:
        return  # doors name every room
    below = set(ROOMS[: ROOMS.index(room(path)) + 1])
    assert imported(path) <= below


def test_rooms_above_are_opened_for_methods_of_findings_alone():
    """What `later` opens of ours does not count as an import: so few may use it."""
    opened = {
        name: value.module
        for name, value in vars(later).items()
        if isinstance(value, later.Later) and value.module.startswith("pgcjax.")
    }
    assert opened == {
        "figures": "pgcjax.reporting.figures",
        "explaining": "pgcjax.engine.explain",
    }
    users = {
        str(path.relative_to(PACKAGE)): name
        for path in FILES
        for name in opened
        if f"pgcjax.later.{name}" in looked(path).names
    }
    assert users == {"io/result.py": "figures", "stats/scores.py": "explaining"}


def test_the_engine_is_in_one_place():
    files = [path for path in FILES if path not in OWN_PROGRAMS]
    assert {room(f) for f in files if looked(f).engine} == {"engine", "runtime"}


def test_libraries_whose_tables_are_taken_are_not_imported():
    others = {"datasets", "ir_measures", "pyterrier", "ranx"}
    for path in FILES:
        if room(path) != "plugins":
            assert not others & {name.split(".")[0] for name in looked(path).modules}


def test_io_and_reference_need_no_jax():
    for path in FILES:
        if room(path) in ("io", "reference", "errors"):
            names = looked(path).modules
            assert "jax" not in {name.split(".")[0] for name in names}
            assert "import jax" not in path.read_text()
            later = {f"pgcjax.later.{name}" for name in ("jax", "jnp", "lax", "Array")}
            assert not later & looked(path).names


PALLAS = ("peel_mosaic.py", "peel_pallas.py")


def test_jax_is_imported_when_it_is_used():
    """A process that finds its programs on disk imports it nowhere: see `later`."""
    for path in FILES:
        tree = ast.parse(path.read_text())
        imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        modules = [
            name
            for node in imports
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
            )
        ]
        tops = {name.split(".")[0] for name in modules}
        assert "jax" not in tops or path.name in PALLAS, path


# Twins of measures, which `verify` runs, and of statistics, which tests alone run.
TWINS = [f for f in FILES if room(f) == "reference"]
TWINS += sorted((Path(__file__).parent / "helpers/twins").glob("*.py"))


@pytest.mark.parametrize("path", TWINS, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_twins_share_no_code_with_what_they_check(path):
    assert imported(path) <= {"reference"}


@pytest.mark.parametrize("path", TWINS, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_twins_are_short(path):
    """At most 40 lines of code each, docstrings and blank lines aside."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            lines = set()
            for inner in node.body[bool(ast.get_docstring(node)) :]:
                lines |= set(range(inner.lineno, (inner.end_lineno or 0) + 1))
            assert len(lines) <= 40


def test_docstrings_are_at_most_25_lines():
    for path in FILES:
        for name, count in looked(path).docstrings:
            assert count <= 25, f"{path.name}: {name}"


MOST_LINES = 60
# Each function that is longer, and why.
LONG = {
    "cli/reporting.py: report": "a parameter for each of its 21 options",
    "kernels/exact.py: extreme_overlap": "a loop of JAX, whose state its parts share",
    "stats/compare.py: compare": "a line for each of its 17 arguments, twice",
    "kernels/rbo_ties.py: of_ties": "sums of JAX over the same arrays of one pair",
}


def test_functions_are_at_most_60_lines():
    """From `def` to the last line; none that is listed may have become short."""
    long = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in FILES
        for name, count in looked(path).functions
        if count > MOST_LINES
    }
    assert long == set(LONG)
