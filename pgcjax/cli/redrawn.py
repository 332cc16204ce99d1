"""Judgments drawn again, or left out: options of evaluate, and tables of both."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.options import WHOLE, choice_option, output_option, together
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.judging.choices import LEFT_OUT, RESAMPLED
from pgcjax.stats.choices import REPLICATED, REPLICATED_SINGLY

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.stats.scores import Scores

redrawn_options = together(
    click.option(
        "--replicates",
        type=WHOLE,
        default=0,
        metavar="B",
        help="Draw what --resample says again so often, such as 1000: the leaderboard "
        "gets intervals, tiers and ranks that say how far the judgments carry.",
    ),
    choice_option(
        "--resample",
        allowed=RESAMPLED,
        help="Draw with replacement: each query's judgments; whole judges; queries (of "
        "every measure; the others are of PGC of --prefs); both queries and judgments.",
    ),
    click.option("--seed", type=WHOLE, default=0, show_default=True),
    choice_option("--interval", allowed=REPLICATED, help="Of replicates."),
    click.option(
        "--leave-out",
        type=click.Choice(LEFT_OUT),
        help="Print what changes without each judge, or without the judgments of "
        "documents that each run alone brought: of PGC of --prefs.",
    ),
    click.option(
        "--pool-depth",
        type=WHOLE,
        default=10,
        show_default=True,
        metavar="K",
        help="Ranks of a run that brought documents to be judged: of --leave-out runs.",
    ),
    output_option(
        "Write the difference of each pair of runs by --replicates, or pairs whose "
        "significance changes by --leave-out",
        TABLE_SUFFIXES,
        "--pairs-output",
    ),
    output_option(
        "Write the interval of each single score, by --replicates, which takes twice "
        "the time",
        TABLE_SUFFIXES,
        "--score-intervals",
    ),
    output_option(
        "Write the means by all --replicates, for report --replicates",
        TABLE_SUFFIXES,
        "--replicates-output",
    ),
)
"""The command gets replicates, resample, seed, interval, leave_out, pool_depth,
pairs_output, score_intervals and replicates_output."""


def check_redrawn(
    replicates: int,
    leave_out: str | None,
    jobs: Mapping[str, Any],
    prints: Mapping[str, Any],
    files: Mapping[str, str | None],
    interval: str,
) -> None:
    """Refuse options that do not go together.

    Args:
        replicates: as of the command.
        leave_out: likewise.
        jobs: options that go with neither, and their values.
        prints: options of what is printed: replicates have leaderboards with intervals,
            what is left out has a table of its own.
        files: options of what is written, and their values.
        interval: as of the command.

    Raises:
        click.UsageError: they do not.
    """
    asked = "--replicates" if replicates else "--leave-out" if leave_out else ""
    for option, path in files.items():
        both = option == "--pairs-output"
        if path and not (asked if both else replicates):
            needed = "--replicates B or --leave-out" if both else "--replicates B"
            raise click.UsageError(f"{option} needs {needed}")
    if files["--score-intervals"] and interval not in REPLICATED_SINGLY:
        kinds = "|".join(REPLICATED_SINGLY)
        raise click.UsageError(f"--score-intervals: expected --interval {kinds}")
    if not asked:
        return
    bad = {"--replicates": ("-q", "--format text"), "--leave-out": ("-q", "--top")}
    for option in bad[asked]:
        if prints[option]:
            what = "intervals" if replicates else "table"
            raise click.UsageError(f"{option} prints no {what} of {asked}")
    for option, given in jobs.items():
        if given:
            raise click.UsageError(f"{option} goes without {asked}")


def pairs_of(scores: "Scores", interval: str) -> "pd.DataFrame":
    """Give the differences of all pairs, or those whose significance changes."""
    left_out, uncertainty = scores.left_out, scores.uncertainty
    if left_out is not None:
        return _of_measures(scores, left_out.pairs)
    assert uncertainty is not None
    return _of_measures(
        scores, lambda measure: uncertainty.differences(measure, interval=interval)
    )


def intervals_of(scores: "Scores", interval: str) -> "pd.DataFrame":
    """Give the interval of each single score."""
    found = scores.uncertainty
    assert found is not None
    return _of_measures(
        scores, lambda measure: found.scores(measure, interval=interval)
    )


def left_out_of(scores: "Scores") -> "pd.DataFrame":
    """Give what changes without each judge or run; of one measure without its name."""
    assert scores.left_out is not None
    table = _of_measures(scores, scores.left_out.changes)
    return table if len(scores.measures) > 1 else table.drop(columns="measure")


def _of_measures(
    scores: "Scores", table: Callable[[str], "pd.DataFrame"]
) -> "pd.DataFrame":
    """Put the tables of all measures together, each with the name of its measure."""
    import pandas as pd

    parts = []
    for measure in scores.measures:
        part = table(measure)
        part.insert(0, "measure", measure)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
