"""Rebuild the papers' tables and figures: `scripts/reproduce [--data DIR] [-o DIR]`."""

import csv
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import click

import pgcjax
from pgcjax.errors import DataError, DataWarning, PgcjaxError
from pgcjax.io.write import written_beside
from pgcjax.reporting.page import Page, Part, Section, write
from pgcjax.reporting.progress import ProgressDisplay, say
from scripts.reproduction import (
    arithmetic,
    carterette,
    examples,
    luo_images,
    luo_lists,
    sakai,
    xie,
)
from scripts.reproduction.chapter import Chapter, counts
from scripts.reproduction.data import FOLDERS, Data
from scripts.reproduction.images import Images
from scripts.reproduction.verdicts import VERDICTS, Cell

_WORDS = {
    "exact": "ours, rounded to the printed digits, is what was printed",
    "consistent in print": "what other printed numbers of the paper give: the paper "
    "agrees with itself, and nothing was computed from data",
    "within print rounding": "one unit of the last digit away at most: the paper cut "
    "digits off, or added rounded numbers up; or ours is made of its rounded numbers",
    "holds": "what the text says of a figure is so",
    "not reproducible": "the public data give another number; the remark says why",
    "data not public": "nobody can compute it from public data; ours, if any, are of "
    "the public part",
    "data not found here": "public, but not in the folder that was given",
    "differs": "unexplained",
}


CHAPTERS = (
    *("examples", "arithmetic", "luo-lists", "luo-images"),
    *("xie", "carterette", "sakai"),
)
"""Names of the chapters, in the order of the report."""


def chapters(
    data: Data,
    progress: Callable[[str, int, int], None] | None = None,
    names: Sequence[str] = CHAPTERS,
) -> list[Chapter]:
    """Compute chapters, in the order of the report."""
    images = Images(data) if "xie2020" in data else None
    work = {
        "examples": examples.chapter,
        "arithmetic": arithmetic.chapter,
        "luo-lists": partial(luo_lists.chapter, data),
        "luo-images": partial(luo_images.chapter, data, images),
        "xie": partial(xie.chapter, data, images),
        "carterette": partial(carterette.chapter, data),
        "sakai": partial(sakai.chapter, data),
    }
    chosen = [name for name in CHAPTERS if name in names]
    computed = []
    for name in chosen:
        computed.append(work[name]())
        if progress:
            progress("chapters", len(computed), len(chosen))
    return computed


def page(found: Sequence[Chapter], data: Data) -> Page:
    """Put the chapters behind a table of verdicts."""
    cells = [cell for chapter in found for cell in chapter.cells]
    found_here = {cell.verdict for cell in cells}
    used = [verdict for verdict in VERDICTS if verdict in found_here]
    parts: list[Part] = [
        "Each number that was printed stands beside what pgcjax computes from public "
        "data.",
        counts(cells),
        *(f"{verdict}: {_WORDS[verdict]}." for verdict in used),
        "Where printed numbers need a convention that is wrong, or a slip, the column "
        "“needs” names the switch, and the column “without” has the right numbers.",
        "What is called the form of a table or figure asks the same question of other, "
        "public data: its numbers are not to be compared with those in print.",
    ]
    sections = [Section("Verdicts", parts), *(chapter.section for chapter in found)]
    absent = [name for name in FOLDERS if name not in data]
    known = {"pgcjax": pgcjax.__version__}
    known |= {"not found": ", ".join(absent)} if absent else {}
    return Page("The papers' numbers, computed from public data", sections, known)


def listed(cells: Sequence[Cell]) -> str:
    """List the verdicts as CSV, for programs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["cell", "published", "pgcjax", "verdict", "needs", "without"])
    for cell in cells:
        ours, right = cell.shown(cell.ours), cell.shown(cell.right)
        row = [cell.key, cell.published, ours, cell.verdict, cell.switch, right]
        writer.writerow(row)
    return out.getvalue()


@click.command()
@click.option(
    "--data",
    "folder",
    default=lambda: str(Path(os.environ.get("PGCJAX_SHARED", "../shared"), "data")),
    show_default="$PGCJAX_SHARED/data or ../shared/data",
    metavar="DIR",
    help=f"Local copies of public data; read are {', '.join(FOLDERS)}, if there.",
)
@click.option(
    "--chapter",
    "names",
    multiple=True,
    type=click.Choice(CHAPTERS),
    help="Repeat for several; by default all.",
)
@click.option(
    "-o",
    "--output",
    default="reproduction",
    show_default=True,
    metavar="DIR",
    help="Gets report.html, report.md with figures, and verdicts.csv.",
)
def reproduce(folder: str, names: tuple[str, ...], output: str) -> None:
    """Write a report of the papers' tables and figures, cell by cell."""
    data, target = Data(Path(folder)), Path(output)
    if not any(name in data for name in FOLDERS):
        raise DataError(
            f"expected one of the folders {', '.join(FOLDERS)}, found none",
            where=folder,
            mend="Give the folder that holds them: --data DIR.",
        )
    with _folder(target):
        with ProgressDisplay() as progress:
            found = chapters(data, progress.update, names or CHAPTERS)
        made = page(found, data)
        for suffix in (".md", ".html"):
            say(f"wrote {write(made, target / f'report{suffix}')}")
        cells = [cell for chapter in found for cell in chapter.cells]
        with written_beside(target / "verdicts.csv") as beside:
            beside.write_text(listed(cells), encoding="utf-8")
        say(f"wrote {target / 'verdicts.csv'}")


@contextmanager
def _folder(target: Path) -> Iterator[None]:
    """Make a folder before work is spent; if nothing comes of it, it goes again."""
    new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):
            pass
    except OSError as error:
        raise DataError(
            f"cannot write into this folder: {error.strerror}",
            where=str(target),
            mend="Name a folder that you may write to, or a new one: -o DIR.",
        ) from None
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):  # it holds something
                target.rmdir()
        raise


def main() -> None:
    """Run, with one line on stderr for what goes wrong."""
    # Runs that lack a question score 0 there, as everywhere: no news in this report.
    warnings.simplefilter("ignore", DataWarning)
    try:
        reproduce.main(prog_name="scripts/reproduce", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (PgcjaxError, OSError) as error:
        _fail(str(error), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped", 130)


def _fail(message: str, code: int) -> None:
    say(f"error: {message}")
    sys.exit(code)


if __name__ == "__main__":
    main()
