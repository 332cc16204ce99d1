"""Whether the environment of each script has the libraries that the script imports.

Read from the text of the files: nothing is installed, nor imported.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MODULES = {
    "distributed": {"distributed", "dask"},
    "jax": {"jax", "jaxlib"},
    "jinja2": {"jinja2", "markupsafe"},
    "mkdocs-material": {"mkdocs"},
    "mkdocstrings": {"griffe"},
    "nbclient": {"nbclient", "nbformat", "traitlets"},
    "pyyaml": {"yaml"},
    "scikit-learn": {"sklearn"},
}
"""Modules of distributions that have others than their name says."""

RUNS = {"mkdocs": "scripts/site", "pytest": "tests"}
"""Folders of the files that a program runs, where it is not of the repository."""

OF_SOME_FILES = {"zstandard"}
"""Libraries that pgcjax imports for such files alone, and asks for in one line."""

_MADE = re.compile(r"scripts/env \S+ --editable '?\.(?:\[([\w,]+)\])?'?\)")
_RUN = re.compile(r'"\$env/bin/(?:python" -m )?([\w.]+)')


def scripts(root: Path) -> list[str]:
    """List the scripts of a checkout that make an environment."""
    files = [path for path in sorted((root / "scripts").iterdir()) if path.is_file()]
    return [f"scripts/{path.name}" for path in files if _MADE.search(path.read_text())]


def missing(root: Path, script: str, text: str | None = None) -> dict[str, str]:
    """Find the libraries that a script imports and its environment lacks.

    Args:
        root: the checkout.
        script: its path there.
        text: of the script; what is in the file by default.

    Returns:
        Names of modules, each with a file that imports it.
    """
    text = (root / script).read_text() if text is None else text
    made = _MADE.search(text)
    provided = modules(root, (made[1] or "").split(",") if made else [])
    needed: dict[str, str] = {}
    for program in {*_RUN.findall(text)} - {"python", "pgcjax"}:
        if not _path(root, root, program):
            needed[program] = script
        folder = root / RUNS.get(program, program.replace(".", "/"))
        needed |= imported(root, sorted(folder.rglob("*.py")))
    return {name: needed[name] for name in sorted(needed) if name not in provided}


def modules(root: Path, extras: list[str]) -> set[str]:
    """List the modules of the package's dependencies and of extras, which they name."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in filter(None, extras):
        lines += project["optional-dependencies"][extra]
    provided: set[str] = set()
    for line in lines:
        name = re.split(r"[\[<>=;\s]", line)[0]
        provided |= MODULES.get(name, {name.lower().replace("-", "_")})
    return provided


def imported(root: Path, files: list[Path]) -> dict[str, str]:
    """Find the libraries that files import, and files of the repository behind them.

    What a file does without, in `try … except ImportError`, is not needed. Files that
    tests share with other scripts count for those, whose environments are others.
    """
    tests = any(path.relative_to(root).parts[0] == "tests" for path in files)
    seen, libraries, waiting = set(files), {}, list(files)
    while waiting:
        path = waiting.pop()
        place = str(path.relative_to(root))
        for name in _imports(path):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names:
                continue
            if not _is_here(root, path.parent, name):
                if not (place.startswith("pgcjax/") and top in OF_SOME_FILES):
                    libraries[top] = place
            elif not (tests and top in ("benchmarks", "scripts")):
                file = _path(root, path.parent, name)
                if file and file.is_file() and file not in seen:
                    seen.add(file)
                    waiting.append(file)
    return libraries


def _is_here(root: Path, beside: Path, name: str) -> bool:
    """Whether a module, or what it is imported from, is a file of the repository."""
    parts = name.split(".")
    modules = (".".join(parts[: i + 1]) for i in range(len(parts)))
    return any(_path(root, beside, module) for module in modules)


def _path(root: Path, beside: Path, module: str) -> Path | None:
    """Find the file of a module of the repository; None if it is no such module."""
    for folder in (root, root / "tests", beside):
        path = folder / module.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return root / module if module == "scripts" else None


@cache
def _imports(path: Path) -> list[str]:
    return list(_imports_of(ast.parse(path.read_text(encoding="utf-8"))))


def _imports_of(node: ast.AST) -> Iterator[str]:
    """List the modules that code cannot do without, and names that may be modules."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    parts = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        parts = node.orelse
    elif isinstance(node, ast.Try) and any(
        handler.type and "ImportError" in ast.unparse(handler.type)
        for handler in node.handlers
    ):
        parts = [*node.handlers, *node.orelse, *node.finalbody]
    for part in parts:
        yield from _imports_of(part)
