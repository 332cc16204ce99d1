"""The verb that bounds how few judgments, or queries, overturn an order: fragile."""

from typing import Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    FILE,
    REAL,
    choice_option,
    files_option,
    measure_option,
    order_option,
    output_option,
    prefs_format_option,
    run_options,
    spreadsheet_option,
    write_table,
)
from pgcjax.judging.choices import CHANGES, OVERTURNED
from pgcjax.reporting.progress import ProgressDisplay, say


@cli.command()
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN]...")
@files_option("--prefs", help="Preferences; repeat for several.", required=True)
@prefs_format_option
@files_option("--qrels", help="Grades, for PGC(graph=combined).")
@measure_option("PGC, or a measure of preferences such as ppref; by default PGC.")
@click.option(
    "--run-id", metavar="NAME", help="The run that is ahead; by default the best one."
)
@click.option(
    "--other",
    metavar="NAME",
    help="The run to overtake it; by default any that is behind.",
)
@choice_option(
    "--change",
    allowed=(*CHANGES, "queries"),
    help="Remove or reverse judgments, or leave queries out.",
)
@choice_option(
    "--overturn",
    allowed=OVERTURNED,
    help="The order of two runs, or whether a paired t test tells them apart.",
)
@click.option(
    "--alpha",
    type=REAL,
    default=0.05,
    show_default=True,
    help="Level of the test.",
)
@run_options
@order_option
@format_option
@output_option("Write the judgments at full precision")
@spreadsheet_option
def fragile(
    runs: tuple[str, ...],
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    measures: list[str],
    run_format: str,
    name_by: str,
    form: str | None,
    output: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Bound the fewest judgments, or queries, whose change overturns an order.

    The judgments of the smallest set that was found are listed, to be judged again
    first; a proven bound tells how many cannot do it. Without RUN, votes on systems are
    ordered by Bradley and Terry's model.
    """
    if len(measures) > 1:
        raise click.UsageError(f"fragile takes one measure, not {len(measures)}")
    from pgcjax.engine.fragile import fragile as bounded
    from pgcjax.io.graded import read_qrels
    from pgcjax.io.runs import Options, open_runs
    from pgcjax.io.votes.read import read_preferences

    with ProgressDisplay() as progress:
        result = bounded(
            open_runs(runs, Options(run_format, name_by)) if runs else None,
            preferences=read_preferences(prefs, format=prefs_format),
            qrels=read_qrels(qrels) if qrels else None,
            measure=measures[0] if measures else "PGC",
            **options,
            progress=progress.update,
        )
    for note in result.notes:
        say(note)
    write_table(result.table, output, result.metadata, spreadsheet=spreadsheet)
    print_findings(result.table, format_of(form), result.metadata)
