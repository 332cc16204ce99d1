"""Command lines of studies: each is a function of its options that returns rows."""

import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from benchmarks.harness import ROOT, Report, facts, write_sections

Sections = dict[str, list[dict[str, Any]]]
"""Rows of a study, by the name of their section."""

Part = tuple[str, dict[str, Any], Callable[[], Iterable[dict[str, Any]]]]
"""A section, what all rows of the part have in common, and a function of no arguments
that returns these rows."""

Command = Callable[[Callable[..., Any]], click.Command]

DATA = Path(os.environ.get("PGCJAX_SHARED", ROOT.parent / "shared")) / "data"
"""Folder of public collections."""

MATRICES = DATA / "score-matrices"
"""Folder of public score matrices."""

_FILE: Any = {"type": Path, "metavar": "FILE.json"}
_FOLDER: Any = {"type": Path, "show_default": True}

data_option = click.option(
    "--data", default=DATA, help="DIR/dl21, DIR/cast2019 and others.", **_FOLDER
)
matrices_option = click.option(
    "--data", "folder", default=MATRICES, help="Score matrices.", **_FOLDER
)


def study(
    tables: Callable[[Sections], Iterable[str]],
    *,
    draw: Callable[[Sections, Path], None] | None = None,
    resume: bool = False,
    **about: Any,
) -> Command:
    """Make a command of a function that returns sections, or with `resume` parts.

    The command prints the tables of what the function returned, and writes it to the
    file of -o. With --tables it prints those of such a file.

    Args:
        tables: Function that returns the lines of the tables.
        draw: Function of sections and the file of --figure.
        resume: Whether the function returns parts: the file of -o is written after
            each, and parts whose rows it has already are not computed again.
        about: Settings that the file describes.
    """

    def command(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def main(output: Path | None, made: Path | None, **options: Any) -> None:
            figure = options.pop("figure") if draw else None
            described = _described(function) | about
            if made:
                found = _sections(made)
            elif resume:
                found = _resumed(function(**options), output, described)
            else:
                found = function(**options)
                if output:
                    write_sections(output, described, found)
            click.echo("\n".join(tables(found)))
            if draw and figure:
                draw(found, figure)

        main = click.option("--tables", "made", **_FILE, help="Print such a file.")(
            main
        )
        main = click.option("-o", "--output", **_FILE, help="Write all there.")(main)
        if draw:
            main = click.option("--figure", type=Path, metavar="FILE.svg")(main)
        return _command(main)

    return command


def reported(function: Callable[..., None]) -> click.Command:
    """Make a command of a function that adds tables to a report, which -o writes."""

    @wraps(function)
    def main(output: Path | None, **options: Any) -> None:
        report = Report()
        function(report, **options)
        if output:
            report.save(output, _described(function))

    return _command(click.option("-o", "--output", **_FILE)(main))


def _resumed(
    parts: Iterable[Part], output: Path | None, about: dict[str, Any]
) -> Sections:
    """Compute the parts that a file lacks, and write it after each."""
    found = _sections(output) if output and output.exists() else {}
    for section, common, rows in parts:
        there = found.setdefault(section, [])
        if any(common.items() <= row.items() for row in there):
            continue
        start = time.perf_counter()
        there += rows()
        click.echo(f"{common}: {time.perf_counter() - start:.1f} s", err=True)
        if output:
            write_sections(output, about, found)
    return found


def _sections(path: Path) -> Sections:
    """Read the sections of a file, without what it describes."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: rows for name, rows in kept.items() if isinstance(rows, list)}


def _command(main: Callable[..., None]) -> click.Command:
    return click.command(context_settings={"help_option_names": ["-h", "--help"]})(main)


def _described(function: Callable[..., Any]) -> dict[str, Any]:
    """Describe the command, the machine and the versions."""
    module = f"benchmarks.studies.{Path(inspect.getfile(function)).stem}"
    return facts(["python", "-m", module, *sys.argv[1:]])
