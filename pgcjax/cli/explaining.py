"""The verb that explains a score, or a difference of two runs: explain."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import Output, findings_options, top_option
from pgcjax.errors import counted
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.explanation import Difference, Explanation

_SHOWN = ("adds", "steps", "votes", "depths", "judgments")


@cli.command()
@opt.runs_argument
@click.option(
    "--query", metavar="ID", help="Query to explain; by default the loss of each query."
)
@click.option("--run-id", metavar="NAME", help="Run to explain, if RUN... are several.")
@click.option(
    "--other",
    metavar="RUN",
    help="Explain the difference to this run: one of RUN..., by name, or a file.",
)
@opt.judgment_options()
@opt.one_measure_option(
    "One measure: PGC, Compat, ExactPGC, or any of ranked lists; RBO or RBO(p=0.9) "
    "compares with --other. By default PGC of preferences, Compat of grades alone."
)
@opt.choice_option(
    "--show",
    allowed=_SHOWN,
    help="Contribution of each document, or query, to the score; steps of the peel; "
    "votes on pairs; contribution of each depth; or the judgments whose reversal "
    "changes the score most.",
)
@opt.run_options
@opt.order_option
@top_option("Print the first N rows only; by default all.", "rows")
@opt.text_options
@findings_options()
def explain(
    runs: tuple[str, ...],
    query: str | None,
    judgments: dict[str, Any],
    measure: str | None,
    show: str,
    reading: dict[str, str],
    top: int | None,
    topics: Any,
    texts: Any,
    output: Output,
    **settings: Any,
) -> None:
    """Explain a score: what each document adds, by which rule and judgments.

    With --other, what makes the difference of two runs: documents, or queries.
    """
    if show in ("steps", "votes", "depths") and (query is None or settings["other"]):
        if not ((measure or "").startswith("RBO") and show == "depths"):
            raise click.UsageError(f"--show {show} needs one run and --query ID")
    from pgcjax.engine import explain as engine
    from pgcjax.io.texts import short, with_texts

    with ProgressDisplay() as progress:
        result = engine.explain(
            opt.opened(runs, reading),
            query,
            **opt.given_judgments(judgments),
            measure=measure,
            topics=topics,
            **settings,
            progress=progress.update,
        )
        table = with_texts(_table(result, show), topics, texts, progress.update)
    for note in result.notes:
        say(note)
    about = result.metadata | {"show": show}
    output.write(table, about)
    if show == "adds" and "ideal_rank" in table:
        counts = table["ideal_rank"].notna() | (table["adds"] != 0)
        if not counts.all():
            others = counted(int((~counts).sum()), "document")
            say(f"{others} of the run, which add nothing, are not printed")
        table = table[counts]
    table = table.head(top) if top else table
    for name in table.columns[table.columns.str.endswith("_text")].tolist():
        table = table.assign(**{name: [short(text) for text in table[name]]})
    output.print(table, about)


def _table(result: "Explanation | Difference", show: str) -> "pd.DataFrame":
    """Choose the table to show; cells with several values become text."""
    table = result.table if show == "adds" else getattr(result, show)
    if "candidates" in table:
        names = [" ".join(of_step) for of_step in table["candidates"]]
        table = table.assign(candidates=names)
    return table
