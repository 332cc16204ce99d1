"""The verb that explains a score, or a difference of two runs: explain."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    WHOLE,
    choice_option,
    given_judgments,
    judgment_options,
    measure_option,
    order_option,
    output_option,
    run_options,
    runs_argument,
    spreadsheet_option,
    text_options,
    write_table,
)
from pgcjax.errors import counted
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.explanation import Difference, Explanation

_SHOWN = ("adds", "steps", "votes", "depths", "judgments")


@cli.command()
@runs_argument
@click.option(
    "--query", metavar="ID", help="Query to explain; by default the loss of each query."
)
@click.option("--run-id", metavar="NAME", help="Run to explain, if RUN... are several.")
@click.option(
    "--other",
    metavar="RUN",
    help="Explain the difference to this run: one of RUN..., by name, or a file.",
)
@judgment_options
@measure_option(
    "One measure: PGC, Compat, ExactPGC, or any of ranked lists; RBO or RBO(p=0.9) "
    "compares with --other. By default PGC of preferences, Compat of grades alone."
)
@choice_option(
    "--show",
    allowed=_SHOWN,
    help=(
        "Contribution of each document, or query, to the score; steps of the peel; "
        "votes on pairs; contribution of each depth; or the judgments whose reversal "
        "changes the score most."
    ),
)
@run_options
@order_option
@click.option(
    "--top",
    type=WHOLE,
    metavar="N",
    help="Print the first N rows only; by default all.",
)
@text_options
@format_option
@output_option("Write the table at full precision")
@spreadsheet_option
def explain(
    runs: tuple[str, ...],
    query: str | None,
    judgments: dict[str, Any],
    measures: list[str],
    show: str,
    run_format: str,
    name_by: str,
    top: int | None,
    topics: Any,
    texts: Any,
    form: str | None,
    output: str | None,
    spreadsheet: bool,
    **settings: Any,
) -> None:
    """Explain a score: what each document adds, by which rule and judgments.

    With --other, what makes the difference of two runs: documents, or queries.
    """
    if len(measures) > 1:
        raise click.UsageError(f"explain takes one measure, not {len(measures)}")
    if top is not None and top < 1:
        raise click.UsageError(f"--top {top}: expected a number of rows, 1 or more")
    if show in ("steps", "votes", "depths") and (query is None or settings["other"]):
        if not (measures and measures[0].startswith("RBO") and show == "depths"):
            raise click.UsageError(f"--show {show} needs one run and --query ID")
    printed = format_of(form)
    from pgcjax.engine import explain as engine
    from pgcjax.io.runs import Options, open_runs
    from pgcjax.io.texts import short, with_texts

    with ProgressDisplay() as progress:
        result = engine.explain(
            open_runs(runs, Options(run_format, name_by)),
            query,
            **given_judgments(judgments),
            measure=measures[0] if measures else None,
            topics=topics,
            **settings,
            progress=progress.update,
        )
        table = with_texts(_table(result, show), topics, texts, progress.update)
    for note in result.notes:
        say(note)
    about = result.metadata | {"show": show}
    write_table(table, output, about, spreadsheet=spreadsheet)
    if show == "adds" and "ideal_rank" in table:
        counts = table["ideal_rank"].notna() | (table["adds"] != 0)
        if not counts.all():
            others = counted(int((~counts).sum()), "document")
            say(f"{others} of the run, which add nothing, are not printed")
        table = table[counts]
    table = table.head(top) if top else table
    for name in table.columns[table.columns.str.endswith("_text")].tolist():
        table = table.assign(**{name: [short(text) for text in table[name]]})
    print_findings(table, printed, about)


def _table(result: "Explanation | Difference", show: str) -> "pd.DataFrame":
    """Choose what is shown; what has several values becomes text."""
    table = result.table if show == "adds" else getattr(result, show)
    if "candidates" in table:
        names = [" ".join(of_step) for of_step in table["candidates"]]
        table = table.assign(candidates=names)
    return table
