"""The verb that tries designs of asking on simulated judges: ask simulate."""

from typing import Any

import click

from pgcjax.asking.choices import DESIGNS, OVER
from pgcjax.cli.asking import ask
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    FILE,
    REAL,
    WHOLE,
    choice_option,
    files_option,
    output_option,
    prefs_format_option,
    run_options,
    together,
    write_table,
)
from pgcjax.io.choices import FIGURE_KINDS, ORDERS
from pgcjax.reporting.progress import ProgressDisplay, say


def _share(name: str, default: float, help: str) -> Any:
    return click.option(
        name, type=REAL, default=default, show_default=True, metavar="SHARE", help=help
    )


_made_up = together(
    click.option(
        "--queries",
        type=WHOLE,
        default=20,
        show_default=True,
        metavar="N",
        help="Made-up queries.",
    ),
    click.option(
        "--systems",
        type=WHOLE,
        default=2,
        show_default=True,
        metavar="N",
        help="Made-up runs, each with more noise than the one before.",
    ),
    _share("--bad", 0.2, "Share of made-up documents that are bad."),
)
_judge = together(
    _share("--error", 0.0, "Share of answers that name the worse document."),
    _share("--ties", 0.0, "Share of answers that are ties."),
    _share("--bias", 0.0, "Share of answers that name the first document."),
)


@ask.command()
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN...]")
@files_option("--votes", help="Replay these preferences; repeat for several files.")
@prefs_format_option
@files_option("--qrels", help="Grades that the simulated judge of the runs follows.")
@run_options
@click.option(
    "--documents",
    type=WHOLE,
    multiple=True,
    metavar="N",
    help=(
        "Number of documents of a query; repeat for several. By default 5, 10, 15 "
        "and 20."
    ),
)
@click.option(
    "--design",
    "designs",
    type=click.Choice(DESIGNS),
    multiple=True,
    metavar="NAME",
    help="Only this one; repeat for several: " + "; ".join(DESIGNS) + ".",
)
@click.option(
    "-m",
    "--measure",
    default="ppref",
    show_default=True,
    metavar="MEASURE",
    help="Measure that separates runs: ppref, rpref, fpref or wpref.",
)
@click.option(
    "--k",
    type=WHOLE,
    default=5,
    show_default=True,
    help="Number of documents at the top.",
)
@choice_option(
    "--over",
    allowed=OVER,
    help="Separate runs on each query, or by their mean over all queries.",
)
@_made_up
@_judge
@click.option("--seed", type=WHOLE, default=0, show_default=True)
@choice_option("--order", allowed=ORDERS, help="Order of documents in a run.")
@format_option
@output_option("Write the table at full precision")
@output_option(
    "Draw judgments by number of documents",
    [f".{kind}" for kind in FIGURE_KINDS],
    "--figure",
)
def simulate(
    runs: tuple[str, ...],
    votes: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    run_format: str,
    name_by: str,
    documents: tuple[int, ...],
    designs: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
    **options: Any,
) -> None:
    """Simulate costs and results of designs of asking, by a judge who knows the truth.

    Of made-up queries; or of RUNs, with the grades of --qrels for the truth, or with
    --votes that are replayed: how many answers a query takes, how right the best
    documents come out, and which run is better.
    """
    from pgcjax.asking.simulate import SIZES, simulate_asking

    data: dict[str, Any] = {"runs": None, "votes": None, "qrels": qrels or None}
    with ProgressDisplay() as progress:
        if runs:
            from pgcjax.io.runs import Options, open_runs

            data["runs"] = open_runs(runs, Options(run_format, name_by))
        if votes:
            from pgcjax.io.votes.read import read_preferences

            data["votes"] = read_preferences(votes, format=prefs_format)
        result = simulate_asking(
            **data,
            **options,
            documents=documents or SIZES,
            designs=designs or DESIGNS,
            progress=progress.update,
        )
    write_table(result.table, output, result.metadata)
    if figure:
        from pgcjax.reporting import canvas, plots

        shown = "documents", "judgments", "design"
        canvas.save(plots.lines(result.table, *shown), figure)
        say(f"wrote {figure}")
    print_findings(result.table, format_of(form), result.metadata)
