"""Options that several verbs share, and what reads the files that they name."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd

FILE = click.Path(path_type=str)
TESTS = ["tukey", "bootstrap", "permutation", "t", "wilcoxon", "anova"]


def judgment_options(command: Callable) -> Callable:
    """Add --prefs, --prefs-format and --qrels."""
    for option in (
        click.option(
            "--prefs-format",
            default="auto",
            metavar="NAME",
            help="clarke, luo, jelsas, trec-prefs, trec-qrels-prefs, csv, tsv, jsonl, "
            "parquet; by default found from the content.",
        ),
        click.option(
            "--qrels",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="Graded judgments.",
        ),
        click.option(
            "--prefs",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="Preference judgments; repeat for several files.",
        ),
    ):
        command = option(command)
    return command


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


def read_judgments(
    prefs: tuple[str | Path, ...], prefs_format: str, qrels: tuple[str | Path, ...]
) -> dict[str, Any]:
    """Read judgments as keyword arguments of `evaluate`."""
    from pgcjax.tables.preferences import read_preferences
    from pgcjax.tables.qrels import read_qrels

    tables: dict[str, Any] = {}
    if prefs:
        tables["preferences"] = read_preferences(prefs, format=prefs_format)
    if qrels:
        tables["qrels"] = read_qrels(qrels)
    return tables


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
