"""The verbs that ask what scores mean: discriminate, agree, correlate."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from pgcjax._version import __version__
from pgcjax.cli.commands import cli, measures
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    FILE,
    REAL,
    WHOLE,
    choice_option,
    coefficient_option,
    measure_option,
    output_option,
    spreadsheet_option,
    together,
    write_table,
)
from pgcjax.cli.score_files import (
    by_name,
    each_score_options,
    score_files,
    score_options,
    test_options,
)
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import RANK_INTERVALS, TESTS

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.stats.discrimination import Discrimination


_table = together(format_option, output_option("Write the table at full precision"))
_several = together(score_options, _table)


def _give(
    table: "pd.DataFrame",
    path: str | None,
    notes: Sequence[str],
    form: str | None,
    spreadsheet: bool = False,
    below: Sequence[str] = (),
    **metadata: Any,
) -> None:
    """Print a table, and write it with what it depends on."""
    # What was left out has been said, as a warning.
    metadata |= {"lacking": list(notes)} if notes else {}
    metadata = {"version": __version__, **metadata}
    write_table(table, path, metadata, spreadsheet=spreadsheet)
    print_findings(table, format_of(form), metadata, "power", below)


_SHOWN: dict[str, Callable[["Discrimination"], "pd.DataFrame"]] = {
    "power": lambda result: result.table,
    "curves": lambda result: result.curves(),
    "overlaps": lambda result: result.overlaps(),
    "pairs": lambda result: result.pairs,
}


@measures.command()
@each_score_options
@_table
@click.option(
    "--test",
    "tests",
    multiple=True,
    type=click.Choice(TESTS),
    help="Test; repeat for several. By default max-t.",
)
@test_options
@choice_option(
    "--show",
    allowed=list(_SHOWN),
    help="The share of significant pairs; or p of all pairs, sorted (ASL curves); or "
    "which pairs are significant in common; or all pairs.",
)
@spreadsheet_option
@click.option(
    "--gold",
    multiple=True,
    metavar="NAME",
    help="Show instead which of two measures agrees more with these (intuitiveness).",
)
def discriminate(
    scores: tuple[str, ...],
    measures: list[str],
    missing: str,
    form: str | None,
    output: str | None,
    tests: tuple[str, ...],
    show: str,
    gold: tuple[str, ...],
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Count the pairs of runs that each measure separates significantly."""
    from pgcjax.stats import discrimination

    source, names = score_files(scores), measures or None
    if gold:
        missing = "shared" if missing == "own" else missing  # two measures at once
        table = discrimination.intuitiveness(source, list(gold), names, missing=missing)
        notes = table.attrs["notes"]
        _give(table, output, notes, form, spreadsheet, gold=list(gold), missing=missing)
        return
    with ProgressDisplay() as progress:
        options |= {"missing": missing, "progress": progress.update}
        chosen = list(tests) or "max-t"
        result = discrimination.discriminate(source, names, chosen, **options)
    shown = _SHOWN[show](result)
    for note in result.notes if missing == "own" else ():
        say(note)
    below = result.tested().split("; ")
    _give(shown, output, result.notes, form, spreadsheet, below, **result.metadata)


@measures.command()
@_several
@click.option(
    "--serp",
    type=FILE,
    metavar="FILE",
    help="Preferences of people: a table of query_id, run_a, run_b, preference "
    "(> 0: a is better). Without it, measures are compared with each other.",
)
@click.option(
    "--threshold",
    type=REAL,
    default=0.0,
    show_default=True,
    help="Largest difference of scores that is a tie.",
)
@click.option(
    "--tie-share",
    metavar="SHARE",
    help=(
        "Share of ties that sets the threshold of each measure, in place of "
        "--threshold; preferences: the share of ties in FILE."
    ),
)
def agree(
    scores: tuple[str, ...],
    measures: list[str],
    missing: str,
    form: str | None,
    output: str | None,
    serp: str | None,
    threshold: float,
    tie_share: str | None,
) -> None:
    """Count how often measures prefer what people, or other measures, prefer."""
    from pgcjax.io.scores.door import read_any_scores
    from pgcjax.stats import agreement

    share: Any = None if tie_share is None else _share(tie_share, serp)
    source, names = score_files(scores), measures or None
    settings: dict[str, Any] = {"threshold": threshold, "tie_share": share}
    settings["missing"] = missing
    if serp:
        people, _ = read_any_scores(serp)
        result = agreement.agree(source, people, names, **settings)
        table, notes = result.table, result.notes
    else:
        table = agreement.agree_measures(source, names, **settings)
        notes = table.attrs["notes"]
    _give(table, output, notes, form, **settings)


def _share(text: str, serp: str | None) -> float | str:
    if text == "preferences" and serp:
        return text
    try:
        return REAL.convert(text, None, None)
    except click.BadParameter:
        raise click.UsageError(
            f"--tie-share {text}: expected a share such as 0.2"
            + (", or preferences" if serp else "")
        ) from None


@cli.command()
@_several
@coefficient_option
@click.option(
    "--truth",
    type=FILE,
    metavar="FILE",
    help="Leaderboard with which each of SCORES, leaderboards too, is compared.",
)
@measure_option(
    "Measure of --truth; by default all.", "--truth-measure", "truth_measures"
)
@choice_option(
    "--interval",
    allowed=RANK_INTERVALS,
    help="Interval of tau with --truth, from 50 queries on: simex.",
)
@click.option(
    "--alpha",
    type=REAL,
    default=0.05,
    show_default=True,
    help="One minus the level of the intervals.",
)
@click.option("--resamples", type=WHOLE, default=1000, show_default=True, metavar="N")
@click.option("--seed", type=WHOLE, default=0, show_default=True)
@spreadsheet_option
def correlate(
    scores: tuple[str, ...],
    measures: list[str],
    missing: str,
    form: str | None,
    output: str | None,
    coefficients: tuple[str, ...],
    truth: str | None,
    truth_measures: list[str],
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Correlate the orders of the runs by measures, or by leaderboards."""
    names = measures or None
    settings: dict[str, Any] = {"coefficients": list(coefficients)}
    settings["missing"] = missing
    if truth:
        from pgcjax.stats.leaderboards import correlate_leaderboards

        settings |= options
        boards = by_name(scores)
        table = correlate_leaderboards(
            truth, boards, names, truth_measures or None, **settings
        )
    elif truth_measures:
        raise click.UsageError("--truth-measure needs --truth FILE")
    else:
        from pgcjax.stats.correlation import correlate as correlate_measures

        table = correlate_measures(score_files(scores), names, **settings)
    _give(table, output, table.attrs["notes"], form, spreadsheet, **settings)
