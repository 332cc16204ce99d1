"""Options that several verbs share, and what reads the files that they name."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from pgcjax.io.judgments import KINDS

if TYPE_CHECKING:
    import pandas as pd

FILE = click.Path(path_type=str)
TESTS = ["tukey", "bootstrap", "permutation", "t", "wilcoxon", "anova"]


def judgment_options(command: Callable) -> Callable:
    """Add an option for each kind of judgments, and --prefs-format.

    The command gets what `read_judgments` takes as `judgments`.
    """

    @wraps(command)
    def gathered(*args: Any, prefs_format: str, **options: Any) -> Any:
        given = {kind: options.pop(kind) for kind in KINDS}
        judgments = {kind: paths for kind, paths in given.items() if paths}
        if "preferences" in judgments:
            judgments["preferences"] = judgments["preferences"], prefs_format
        return command(*args, judgments=judgments, **options)

    formats = click.option(
        "--prefs-format",
        default="auto",
        metavar="NAME",
        help="clarke, luo, jelsas, trec-prefs, trec-qrels-prefs, csv, tsv, jsonl, "
        "parquet, xie (votes on images); by default found from the content.",
    )
    gathered = formats(gathered)
    for name, kind in reversed(KINDS.items()):
        gathered = click.option(
            kind.option,
            name,
            multiple=True,
            type=FILE,
            metavar="FILE",
            help=kind.meaning,
        )(gathered)
    return gathered


def run_options(command: Callable) -> Callable:
    """Add --run-format and --name-by."""
    for option in (
        click.option(
            "--run-format",
            default="auto",
            metavar="NAME",
            help="columns (TREC), csv, tsv, jsonl or parquet; by default found.",
        ),
        click.option(
            "--name-by",
            type=click.Choice(["tag", "file"]),
            default="tag",
            show_default=True,
            help="What names a run: its tag column or its file name.",
        ),
    ):
        command = option(command)
    return command


def read_judgments(judgments: dict[str, Any]) -> dict[str, Any]:
    """Read judgments as keyword arguments of `evaluate`."""
    from pgcjax.io import judgments as tables
    from pgcjax.io.preferences import read_preferences

    sources = dict(judgments)
    read: dict[str, Any] = {}
    if "preferences" in sources:
        paths, form = sources.pop("preferences")
        read["preferences"] = read_preferences(paths, format=form)
    return {**read, **tables.read_judgments(sources)}


def score_files(paths: tuple[str, ...]) -> Any:
    """Take one file with all measures, or several, each a measure named as its file."""
    if len(paths) == 1:
        return paths[0]
    from pgcjax.io.files import stem

    names = [stem(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"two files of scores are called {name}: rename one")
    return dict(zip(names, paths, strict=True))


def lines_of(table: "pd.DataFrame") -> Iterator[str]:
    """Print a table with tabs, four decimals and a header."""
    yield "\t".join(table.columns)
    for row in table.itertuples(index=False):
        yield "\t".join(
            f"{cell:.4f}"
            if isinstance(cell, float)
            else str(cell).lower()
            if isinstance(cell, bool)
            else str(cell)
            for cell in row
        )
