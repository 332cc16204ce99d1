"""The verbs that interpret scores: discriminate, agree, correlate."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from pgcjax._version import __version__
from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli, measures
from pgcjax.cli.formats import Output, findings_options
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


def _give(
    output: Output,
    table: "pd.DataFrame",
    notes: Sequence[str],
    below: Sequence[str] = (),
    **metadata: Any,
) -> None:
    """Print a table, and write it with its settings."""
    # Notes on data left out were shown as warnings before.
    metadata |= {"lacking": list(notes)} if notes else {}
    metadata = {"version": __version__, **metadata}
    output.give(table, metadata, best="power", below=below)


_SHOWN: dict[str, Callable[["Discrimination"], "pd.DataFrame"]] = {
    "power": lambda result: result.table,
    "curves": lambda result: result.curves(),
    "overlaps": lambda result: result.overlaps(),
    "pairs": lambda result: result.pairs,
}


@measures.command()
@each_score_options
@findings_options()
@click.option(
    "--test",
    "tests",
    multiple=True,
    type=click.Choice(TESTS),
    help="Test; repeat for several. By default max-t.",
)
@test_options
@opt.choice_option(
    "--show",
    allowed=list(_SHOWN),
    help="The share of significant pairs; or p of all pairs, sorted (ASL curves); or "
    "which pairs are significant in common; or all pairs.",
)
@click.option(
    "--gold",
    multiple=True,
    metavar="NAME",
    help="Show instead which of two measures agrees more with these (intuitiveness).",
)
def discriminate(
    scores: tuple[str, ...],
    measures: list[str] | None,
    missing: str,
    output: Output,
    tests: tuple[str, ...],
    show: str,
    gold: tuple[str, ...],
    **options: Any,
) -> None:
    """Count the pairs of runs that each measure separates significantly."""
    from pgcjax.stats import discrimination

    source = score_files(scores)
    if gold:
        missing = "shared" if missing == "own" else missing  # needs common queries
        settings: dict[str, Any] = {"gold": list(gold), "missing": missing}
        table = discrimination.intuitiveness(source, measures=measures, **settings)
        _give(output, table, table.attrs["notes"], **settings)
        return
    with ProgressDisplay() as progress:
        options |= {"missing": missing, "progress": progress.update}
        chosen = list(tests) or "max-t"
        result = discrimination.discriminate(source, measures, chosen, **options)
    for note in result.notes if missing == "own" else ():
        say(note)
    below = result.tested().split("; ")
    _give(output, _SHOWN[show](result), result.notes, below, **result.metadata)


@measures.command()
@score_options
@findings_options()
@click.option(
    "--serp",
    type=opt.FILE,
    metavar="FILE",
    help="Preferences of people: a table of query_id, run_a, run_b, preference "
    "(> 0: a is better). Without it, measures are compared with each other.",
)
@click.option(
    "--threshold",
    default="0",
    metavar="D|SHARE%",
    help="Largest difference of scores that is a tie; or, with %, the share of ties "
    "that sets it for each measure; preferences: the share of ties in FILE.",
)
def agree(
    scores: tuple[str, ...],
    measures: list[str] | None,
    missing: str,
    output: Output,
    serp: str | None,
    threshold: str,
) -> None:
    """Count how often measures prefer what people, or other measures, prefer."""
    from pgcjax.io.scores.door import read_any_scores
    from pgcjax.stats import agreement

    settings: dict[str, Any] = _tie_settings(threshold, serp)
    settings["missing"] = missing
    source = score_files(scores)
    if serp:
        people, _ = read_any_scores(serp)
        result = agreement.agree(source, people, measures, **settings)
        table, notes = result.table, result.notes
    else:
        table = agreement.agree_measures(source, measures, **settings)
        notes = table.attrs["notes"]
    _give(output, table, notes, **settings)


def _tie_settings(text: str, serp: str | None) -> dict[str, Any]:
    """Read the threshold of ties, as arguments of `agree`."""
    if text == "preferences" and serp:
        return {"threshold": 0.0, "tie_share": text}
    try:
        number = opt.REAL.convert(text.removesuffix("%"), None, None)
    except click.BadParameter:
        raise click.UsageError(
            f"--threshold {text}: expected a difference such as 0.01, or a share such "
            "as 20%" + (", or preferences" if serp else "")
        ) from None
    if text.endswith("%"):
        return {"threshold": 0.0, "tie_share": number / 100}
    return {"threshold": number, "tie_share": None}


@cli.command()
@score_options
@findings_options()
@opt.coefficient_option
@click.option(
    "--truth",
    type=opt.FILE,
    metavar="FILE",
    help="Leaderboard with which each of SCORES, leaderboards too, is compared.",
)
@opt.measure_option(
    "Measure of --truth; by default all.", "--truth-measure", "truth_measures"
)
@opt.choice_option(
    "--interval",
    allowed=RANK_INTERVALS,
    help="Interval of tau with --truth, from 50 queries on: simex.",
)
@opt.alpha_option("One minus the level of the intervals.")
@opt.resamples_option
@opt.seed_option
def correlate(
    scores: tuple[str, ...],
    measures: list[str] | None,
    missing: str,
    output: Output,
    coefficients: tuple[str, ...],
    truth: str | None,
    truth_measures: list[str] | None,
    **options: Any,
) -> None:
    """Correlate the orders of the runs by measures, or by leaderboards."""
    settings: dict[str, Any] = {"coefficients": list(coefficients)}
    settings["missing"] = missing
    if truth:
        from pgcjax.stats.leaderboards import correlate_leaderboards

        settings |= options
        table = correlate_leaderboards(
            truth, by_name(scores), measures, truth_measures, **settings
        )
    elif truth_measures:
        raise click.UsageError("--truth-measure needs --truth FILE")
    else:
        from pgcjax.stats.correlation import correlate as correlate_measures

        table = correlate_measures(score_files(scores), measures, **settings)
    _give(output, table, table.attrs["notes"], **settings)
