"""The verb that compares rankings without judgments: rbo."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import (
    REAL,
    WHOLE,
    choice_option,
    files_option,
    memory_option,
    output_option,
    per_query_option,
    print_table,
    run_options,
    runs_argument,
    spreadsheet_option,
)
from pgcjax.engine.choices import TIES, VARIANTS
from pgcjax.io.choices import MISSING, ORDERS
from pgcjax.report.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.similarity_result import Similarity


@cli.command()
@runs_argument
@files_option(
    "--against",
    metavar="RUN",
    help="Compare with these runs; repeat. By default all pairs of RUN...",
)
@run_options
@click.option(
    "-p",
    type=REAL,
    default=0.9,
    show_default=True,
    help="Persistence, above 0 and below 1; at .9 the first 10 ranks have 86 % of the "
    "weight.",
)
@choice_option(
    "--variant",
    allowed=VARIANTS,
    help="Beyond what was retrieved: as before (ext), at worst (min), at best (max); "
    "or max - min (res).",
)
@choice_option(
    "--ties",
    allowed=TIES,
    help="Equal scores: all have the first rank (w), each a share of each rank (a), "
    "the same corrected for ties (b), or broken by --order.",
    default="a",
)
@choice_option(
    "--order",
    allowed=ORDERS,
    help="Order of a run: by score, ties broken by doc id descending (trec) or "
    "ascending (clarke); or by the rank column, where equal ranks tie.",
)
@choice_option(
    "--missing",
    allowed=MISSING,
    help="What a query does to the mean of two runs of which one lacks it.",
)
@click.option(
    "--depth",
    type=WHOLE,
    metavar="N",
    help="Last rank that counts; a tie that begins there counts as a whole.",
)
@memory_option
@per_query_option
@output_option("Write all values at full precision")
@spreadsheet_option
def rbo(
    runs: tuple[str, ...],
    against: tuple[str, ...],
    run_format: str,
    name_by: str,
    per_query: bool,
    output: str | None,
    spreadsheet: bool,
    **how: Any,
) -> None:
    """Compare runs with each other by rank-biased overlap, without judgments."""
    from pgcjax.engine.similarity import rbo as compare
    from pgcjax.io.runs import Runs

    with ProgressDisplay() as progress:
        a, b = (
            Runs(paths, format=run_format, name_by=name_by) if paths else None
            for paths in (runs, against)
        )
        similarity = compare(a, b, **how, progress=progress.update)
    for note in similarity.notes:
        say(note)
    if output:
        similarity.save(output, spreadsheet=spreadsheet)
        say(f"wrote {len(similarity.table)} values to {output}")
    print_table(_per_query(similarity) if per_query else similarity.mean())


def _per_query(similarity: "Similarity") -> "pd.DataFrame":
    """Put the mean of each pair, of query `all`, behind its values."""
    import pandas as pd

    means = similarity.mean().rename(columns={"mean": "value"}).assign(query_id="all")
    rows = pd.concat([similarity.table, means])
    # Stable: queries stay in their order, and the mean behind them.
    rows = rows.sort_values(["run_a", "run_b"], kind="stable", ignore_index=True)
    return rows[["run_a", "run_b", "measure", "query_id", "value"]]
