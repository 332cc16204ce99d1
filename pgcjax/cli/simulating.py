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
    opened,
    output_option,
    prefs_format_option,
    run_options,
    seed_option,
    split_pairs,
    together,
    write_table,
)
from pgcjax.io.choices import FIGURE_KINDS, ORDERS, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say

_FIGURES = tuple(f".{kind}" for kind in FIGURE_KINDS)
_ERRORS = ("error", "ties", "bias")


def _errors(
    context: click.Context, option: click.Parameter, text: str | None
) -> dict[str, float]:
    """Read shares of the answers by name."""
    shares = {}
    pairs = text.split(",") if text else ()
    for name, value in split_pairs(pairs, "--errors", "NAME=SHARE,…"):
        if name not in _ERRORS:
            raise click.UsageError(f"--errors {text}: expected {', '.join(_ERRORS)}")
        shares[name] = REAL.convert(value, option, context)
    return shares


def _count(name: str, default: int, help: str) -> Any:
    return click.option(name, type=WHOLE, default=default, metavar="N", help=help)


_made_up = together(
    _count("--queries", 20, "Made-up queries."),
    _count("--systems", 2, "Made-up runs, each with more noise than the one before."),
    click.option(
        "--bad",
        type=REAL,
        default=0.2,
        metavar="SHARE",
        help="Share of made-up documents that are bad.",
    ),
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
    help="Number of documents of a query; repeat for several. By default 5, 10, 15 "
    "and 20.",
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
    metavar="MEASURE",
    help="Measure that separates runs: ppref, rpref, fpref or wpref.",
)
@click.option("--k", type=WHOLE, default=5, help="Number of documents at the top.")
@choice_option(
    "--over",
    allowed=OVER,
    help="Separate runs on each query, or by their mean over all queries.",
)
@_made_up
@click.option(
    "--errors",
    metavar="NAME=SHARE,…",
    callback=_errors,
    help="Shares of the judge's answers: error names the worse document, ties are "
    "ties, bias names the first document, as error=0.1,ties=0.2; by default 0.",
)
@seed_option
@choice_option("--order", allowed=ORDERS, help="Order of documents in a run.")
@format_option
@output_option(
    "Write the table at full precision, or draw judgments by number of documents; "
    "repeat for both",
    (*TABLE_SUFFIXES, *_FIGURES),
    multiple=True,
)
def simulate(
    runs: tuple[str, ...],
    votes: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    reading: dict[str, str],
    documents: tuple[int, ...],
    designs: tuple[str, ...],
    form: str | None,
    output: tuple[str, ...],
    errors: dict[str, Any],
    **options: Any,
) -> None:
    """Simulate costs and results of designs of asking, by a judge who knows the truth.

    Of made-up queries; or of RUNs, with the grades of --qrels for the truth, or with
    --votes that are replayed: how many answers a query takes, how right the best
    documents come out, and which run is better.
    """
    from pgcjax.asking.simulate import SIZES, simulate_asking

    data: dict[str, Any] = {"runs": opened(runs, reading) if runs else None}
    data |= {"votes": None, "qrels": qrels or None}
    with ProgressDisplay() as progress:
        if votes:
            from pgcjax.io.votes.read import read_preferences

            data["votes"] = read_preferences(votes, format=prefs_format)
        result = simulate_asking(
            **data,
            **options,
            **errors,
            documents=documents or SIZES,
            designs=designs or DESIGNS,
            progress=progress.update,
        )
    for path in output:
        if path.lower().endswith(_FIGURES):
            from pgcjax.reporting import canvas, plots

            shown = "documents", "judgments", "design"
            canvas.save(plots.lines(result.table, *shown), path)
            say(f"wrote {path}")
        else:
            write_table(result.table, path, result.metadata)
    print_findings(result.table, format_of(form), result.metadata)
