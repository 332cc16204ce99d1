"""The verb that compares the orders of runs by different judges: judges."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    REAL,
    WHOLE,
    choice_option,
    coefficient_option,
    files_option,
    float32_option,
    measure_option,
    memory_option,
    output_option,
    prefs_format_option,
    run_options,
    runs_argument,
    split_pairs,
    spreadsheet_option,
    write_table,
)
from pgcjax.errors import Progress
from pgcjax.io.choices import MISSING, ORDERS, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import CORRECTIONS, RANK_INTERVALS

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.stats.judge_orders import JudgeOrders

SHOWN = ("judges", "pairs", "flips", "runs")


@judgments.command("compare")
@runs_argument
@files_option("--prefs", help="Preferences that name judges; repeat for several files.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME=FILE",
    help="Preferences that are of one judge, of this name, whoever their rows name; "
    "repeat for several judges, or several files of one.",
)
@prefs_format_option
@files_option("--qrels", help="Grades, for PGC(graph=combined).")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Compare this judge; repeat for several. By default all.",
)
@run_options
@measure_option("Of preferences, one; by default PGC.")
@choice_option(
    "--show",
    allowed=SHOWN,
    help="Correlations of the orders of runs by each two judges; the pairs of runs "
    "that two judges put in opposite orders; what votes that go with the place change "
    "(--flips of pairs judged in both orders); or the leaderboards.",
)
@coefficient_option
@choice_option(
    "--interval",
    allowed=RANK_INTERVALS,
    help="Of tau, from 50 queries on: simex extrapolates resamples.",
)
@choice_option(
    "--correction",
    allowed=CORRECTIONS,
    default="holm",
    help="Of p of all pairs of runs, by paired t tests, for each judge.",
)
@click.option("--alpha", type=REAL, default=0.05, show_default=True)
@click.option("--resamples", type=WHOLE, default=1000, show_default=True, metavar="N")
@click.option("--seed", type=WHOLE, default=0, show_default=True)
@choice_option("--order", allowed=ORDERS, help="Order of a run, as of evaluate.")
@float32_option
@choice_option(
    "--missing",
    allowed=[name for name in MISSING if name != "skip"],
    help="A judged query that a run lacks: it scores 0, or is an error.",
)
@memory_option
@format_option
@output_option("Write what is shown at full precision")
@output_option(
    "Write all scores, for report --judges",
    TABLE_SUFFIXES,
    "--scores-output",
)
@spreadsheet_option
def judges(
    runs: tuple[str, ...],
    prefs: tuple[str, ...],
    sources: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    judges: tuple[str, ...],
    run_format: str,
    name_by: str,
    measures: list[str],
    show: str,
    coefficients: tuple[str, ...],
    interval: str,
    correction: str,
    alpha: float,
    resamples: int,
    seed: int,
    form: str | None,
    output: str | None,
    scores_output: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Compare judges: do they order the runs alike, and what place has to do with it.

    Runs are scored by the judgments of each judge alone; two judges are compared on the
    queries that both judged. Intervals are of queries that are drawn again.
    """
    if len(measures) > 1:
        raise click.UsageError("judges are compared by one measure: name one")
    printed = format_of(form)
    from pgcjax.engine.judges import compare_judges
    from pgcjax.io.runs import Options, open_runs

    drawing: dict[str, Any] = {"interval": interval, "alpha": alpha}
    drawing |= {"resamples": resamples, "seed": seed}
    drawing |= {"coefficients": list(coefficients)}
    testing = {"alpha": alpha, "correction": correction}
    with ProgressDisplay() as progress:
        given, table = _read(sources, prefs, prefs_format)
        result = compare_judges(
            open_runs(runs, Options(run_format, name_by)),
            table,
            sources=given,
            judges=list(judges) or None,
            measure=measures[0] if measures else "PGC",
            qrels=list(qrels) or None,
            **options,
            progress=progress.update,
        )
        update = progress.update
        shown, notes, metadata = _shown(result, show, drawing, testing, update)
    for note in (*result.notes, *notes):
        say(note)
    about = result.metadata | {"show": show} | metadata
    write_table(shown, output, about, spreadsheet=spreadsheet)
    if scores_output:
        result.save(scores_output)
        say(f"wrote the scores of {len(result.boards)} judges to {scores_output}")
    print_findings(shown, printed, about)


def _read(
    sources: tuple[str, ...], prefs: tuple[str, ...], prefs_format: str
) -> "tuple[dict[str, pd.DataFrame], pd.DataFrame | None]":
    """Read the judgments of each judge of `--source`, and those that name judges."""
    from pgcjax.io.choices import FLIPS
    from pgcjax.io.reading import reading
    from pgcjax.io.votes.read import read_preferences

    files: dict[str, list[str]] = {}
    for name, path in split_pairs(sources, "--source", "NAME=FILE"):
        files.setdefault(name, []).append(path)
    with reading(flips=FLIPS[0]):  # each policy is tried
        given = {
            name: read_preferences(paths, format=prefs_format)
            for name, paths in files.items()
        }
        return given, read_preferences(prefs, format=prefs_format) if prefs else None


def _shown(
    result: "JudgeOrders",
    show: str,
    drawing: dict[str, Any],
    testing: dict[str, Any],
    progress: Progress,
) -> "tuple[pd.DataFrame, list[str], dict[str, Any]]":
    """Compute the table that is asked for, its notes, and what it depends on."""
    if show == "judges":
        table = result.orders(**(drawing | testing), progress=progress)
        return table, result.in_words(table), drawing | testing
    if show == "pairs":
        return result.swaps(**testing), [], testing
    if show == "flips":
        table = result.flips(**drawing, progress=progress)
        return table, [] if result.flipped else result.in_words(table), drawing
    return result.runs(), [], {}
