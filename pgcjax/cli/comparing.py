"""The verb that tests which runs differ: compare."""

from typing import Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import (
    FILE,
    REAL,
    choice_option,
    memory_option,
    output_option,
    print_table,
    resume_option,
    spreadsheet_option,
    test_options,
)
from pgcjax.cli.targets import WITH_WORK, kept_work
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.report.progress import ProgressDisplay, say
from pgcjax.stats.choices import CORRECTIONS, INCOMPLETE, INTERVALS, TESTS


@cli.command()
@click.argument("scores", type=FILE, metavar="SCORES")
@click.option("-m", "--measure", metavar="NAME", help="Needed if there are several.")
@choice_option(
    "--test",
    allowed=TESTS,
    help="tukey: randomised Tukey HSD; bootstrap: paired, studentised; permutation: "
    "sign flips; t and wilcoxon: paired; anova: of two ways, with Tukey HSD.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    help="Compare with this run only; repeat for several. By default all pairs.",
)
@choice_option(
    "--correction",
    allowed=CORRECTIONS,
    help="Of p for many tests, where the test is not for all pairs at once.",
)
@test_options
@click.option(
    "--interval",
    type=click.Choice(INTERVALS),
    help="Of differences; by default the one that suits the test.",
)
@click.option(
    "--precision",
    type=REAL,
    metavar="E",
    help="Resample until no Monte-Carlo standard error of a p is larger.",
)
@choice_option(
    "--missing",
    allowed=INCOMPLETE,
    help="What a query that some runs lack does: drop leaves it out for all.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="Where run_id, query_id, measure or value stand, as value=ndcg; repeat.",
)
@click.option("--pairs", is_flag=True, help="Print pairs; with --baseline always so.")
@click.option("--required", is_flag=True, help="Say what difference is significant.")
@memory_option
@resume_option
@output_option("Write all pairs at full precision", target=WITH_WORK)
@output_option("Write runs at full precision", TABLE_SUFFIXES, "--runs-output")
@spreadsheet_option
def compare(
    scores: str,
    measure: str | None,
    test: str,
    baselines: tuple[str, ...],
    resamples: int | None,
    seed: int,
    alpha: float,
    missing: str,
    columns: tuple[str, ...],
    pairs: bool,
    required: bool,
    resume: bool,
    output: str | None,
    runs_output: str | None,
    spreadsheet: bool,
    **how: Any,
) -> None:
    """Test which runs differ, in scores of evaluate or of any other tool.

    Prints mean, interval and rank of each run, and letters: runs that share one do not
    differ significantly.
    """
    if required and test not in ("tukey", "bootstrap"):
        raise click.UsageError("--required is of --test tukey and bootstrap")
    from pgcjax.io.checkpoint import remove
    from pgcjax.stats.compare import compare as compare_runs
    from pgcjax.stats.matrix import read
    from pgcjax.stats.required import required_difference

    kept = kept_work(output, resume)
    matrix = read(scores, measure=measure, columns=_mapping(columns), missing=missing)
    resampling: dict[str, Any] = {"test": test, "resamples": resamples}
    resampling |= {"seed": seed, "alpha": alpha}
    with ProgressDisplay() as progress:
        how |= {"baselines": list(baselines), "journal": kept}
        comparison = compare_runs(matrix, **resampling, **how, progress=progress.update)
    for note in comparison.notes:
        say(note)
    if required:
        least = required_difference(matrix, **resampling)
        what = "no difference is significant" if least is None else f"{least:.4f}"
        say(f"difference required for significance at {alpha:g}: {what}")
    if output:
        comparison.save(output, spreadsheet=spreadsheet)
        say(f"wrote {len(comparison.table)} pairs to {output}")
    if runs_output:
        comparison.save(runs_output, runs=True, spreadsheet=spreadsheet)
    if kept:
        remove(kept)
    print_table(comparison.table if pairs or baselines else comparison.runs)


def _mapping(columns: tuple[str, ...]) -> dict[str, str]:
    """Read `value=ndcg`."""
    mapping = {}
    for text in columns:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise click.UsageError(f"--column {text}: expected NAME=COLUMN")
        mapping[name] = column
    return mapping
