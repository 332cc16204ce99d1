"""The verb that estimates the uncertainty from the judgments: uncertainty."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, print_findings, print_leaderboard
from pgcjax.cli.given_scores import give
from pgcjax.cli.options import (
    FILE,
    REAL,
    WHOLE,
    choice_option,
    given_judgments,
    is_by_hand,
    is_folder,
    output_option,
    write_table,
)
from pgcjax.cli.score_files import cluster_option, collections_option
from pgcjax.cli.scoring import Sources, scoring_options, working
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.judging.choices import LEFT_OUT, RESAMPLED
from pgcjax.reporting.progress import say
from pgcjax.stats.choices import REPLICATED, REPLICATED_SINGLY

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.job import Job
    from pgcjax.stats.anytime import StoppingDecision
    from pgcjax.stats.left_out import LeftOut
    from pgcjax.stats.uncertainty import Uncertainty

    Finding = Uncertainty | LeftOut | StoppingDecision

_NOT_RECTIFIED = (
    *("resample", "leave_out", "score_intervals", "interval", "missing", "verify"),
    *("qrels", "float32", "resume", "anytime", "cluster", "collections"),
)
_OF_DRAWS = ("replicates", "score_intervals", "replicates_output", "top")
_NOT_ANYTIME = (*_OF_DRAWS, "leave_out", "resample", "interval", "pairs_output")
_ANYTIME = ("alpha", "ceiling")


@cli.command()
@scoring_options
@click.option(
    "--replicates",
    type=WHOLE,
    metavar="B",
    help="Number of resamples of what --resample names; 1000 by default.",
)
@choice_option(
    "--resample",
    allowed=RESAMPLED,
    help=(
        "Units that are drawn with replacement: each query's judgments; whole "
        "judges; queries (for every measure; the others only for PGC of --prefs); "
        "both queries and judgments."
    ),
)
@click.option("--seed", type=WHOLE, default=0, show_default=True)
@cluster_option
@collections_option
@choice_option("--interval", allowed=REPLICATED, help="Interval from the replicates.")
@click.option(
    "--leave-out",
    type=click.Choice(LEFT_OUT),
    help=(
        "In place of replicates, print the changes without each judge, or without "
        "the judgments of documents that only one run contributed; for PGC of --prefs."
    ),
)
@click.option(
    "--pool-depth",
    type=WHOLE,
    default=10,
    show_default=True,
    metavar="K",
    help=(
        "Depth to which runs contributed documents to be judged, for --leave-out runs."
    ),
)
@click.option(
    "--anytime",
    metavar="QUESTION",
    help="In place of replicates, test whether the queries judged so far settle "
    "which run is best, which are the K best (topK), or which of two is better "
    "(RUN,RUN), and which query to judge next. The answer is valid after each query.",
)
@click.option(
    "--alpha",
    type=REAL,
    default=0.05,
    show_default=True,
    help="Probability that --anytime ever stops with a wrong answer.",
)
@click.option(
    "--ceiling",
    type=REAL,
    default=1.0,
    show_default=True,
    help="Upper bound of scores, for --anytime.",
)
@click.option(
    "--rectify",
    type=FILE,
    metavar="PEOPLE",
    help=(
        "Votes of people on random pairs of each query, where --prefs are a model's "
        "votes on all pairs: the results estimate scores by people's votes, with "
        "intervals over queries."
    ),
)
@output_option(
    "Write the difference of each pair of runs; with --leave-out, the pairs whose "
    "significance changes",
    TABLE_SUFFIXES,
    "--pairs-output",
)
@output_option(
    "Write the interval of each single score, which takes twice the time",
    TABLE_SUFFIXES,
    "--score-intervals",
)
@output_option(
    "Write the means by all replicates, for report --replicates",
    TABLE_SUFFIXES,
    "--replicates-output",
)
@click.pass_context
def uncertainty(
    context: click.Context,
    form: str | None,
    top: int | None,
    interval: str,
    rectify: str | None,
    pairs_output: str | None,
    score_intervals: str | None,
    replicates_output: str | None,
    output: str | None,
    score_format: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Score runs by judgments that are resampled, left out, or not yet complete.

    The leaderboard has intervals, tiers and ranks that say how far the judgments carry.
    """
    leaves, anytime = options["leave_out"], options["anytime"]
    sources = Sources.of(options, judged=not anytime)
    _refuse(context, leaves, anytime, rectify)
    if score_intervals and interval not in REPLICATED_SINGLY:
        kinds = "|".join(REPLICATED_SINGLY)
        raise click.UsageError(f"--score-intervals: expected --interval {kinds}")
    if form == "text" and not (leaves or anytime):
        raise click.UsageError("--format text prints no intervals of replicates")
    if is_folder(output):
        raise click.UsageError("-o DIR/ works only with evaluate: give -o FILE")
    if score_format and not output:
        raise click.UsageError("--score-format needs -o FILE")
    resume = options["resume"]
    with working(output, options) as work:
        options["score_intervals"] = bool(score_intervals)
        result = _scored(sources, rectify, options, work.job)
    scores = result.observed
    if work.first and scores is None:
        for note in result.notes:
            say(note)
    elif work.first and scores is not None:
        form_of = {"spreadsheet": spreadsheet}
        give(scores, output, notes=result.notes, score_format=score_format, **form_of)
        drawn = {} if leaves or anytime else {"interval": interval}
        metadata = scores.metadata | drawn
        if pairs_output:
            pairs = "pairs" if leaves else "differences"
            table = _of_measures(result, pairs, **drawn)
            write_table(table, pairs_output, metadata, "pairs", **form_of)
        if score_intervals:
            table = _of_measures(result, "scores", **drawn)
            write_table(table, score_intervals, metadata, "intervals", **form_of)
        if replicates_output:
            result.save(replicates_output)
            count = result.metadata["replicates"]
            say(f"wrote {count} replicates to {replicates_output}")
    if work.first:
        _print(result, interval, form, top)
    work.end(resume)


def _refuse(
    context: click.Context,
    leaves: str | None,
    anytime: str | None,
    rectify: str | None,
) -> None:
    """Refuse options that do not go with others that are given."""
    for names, without, given in (
        (_OF_DRAWS, "goes without --leave-out", leaves),
        (_NOT_ANYTIME, "goes without --anytime", anytime),
        (_ANYTIME, "needs --anytime QUESTION", not anytime),
        (_NOT_RECTIFIED, "goes without --rectify", rectify),
    ):
        for option in context.command.get_params(context) if given else ():
            if option.name in names and is_by_hand(context, option.name):
                raise click.UsageError(f"{option.opts[0]} {without}")


def _scored(
    sources: Sources, people: str | None, options: dict[str, Any], job: "Job"
) -> "Finding":
    """Score runs as is asked; with --rectify by votes of people, of which few are."""
    from pgcjax.engine.rectify import rectify
    from pgcjax.engine.uncertainty import uncertainty as score

    tables = given_judgments(sources.judgments)
    if people is None:
        return score(sources.opened(), **tables, **options, job=job)
    if "preferences" not in tables:
        raise click.UsageError("--rectify needs a model's votes: --prefs")
    measures = [*(options["measures"] or ["PGC"])]
    if len(measures) > 1:
        raise click.UsageError("--rectify takes one measure: name one")
    return rectify(
        sources.opened(),
        people=people,
        model=tables["preferences"],
        measure=measures[0],
        replicates=options["replicates"] or 1000,
        seed=options["seed"],
        order=options["order"],
        memory=job.memory,
        progress=job.progress,
    )


def _print(result: "Finding", interval: str, form: str | None, top: int | None) -> None:
    """Print the leaderboard, what changes without each owner, or what is settled."""
    from pgcjax.reporting.leaderboard import leaderboard
    from pgcjax.stats.anytime import StoppingDecision
    from pgcjax.stats.left_out import LeftOut

    if isinstance(result, StoppingDecision):
        print_findings(result.table, format_of(form), result.metadata)
        return
    if not isinstance(result, LeftOut):
        board = leaderboard(result, interval=interval)
        print_leaderboard(board, form or "table", top)
        return
    assert result.observed is not None
    table = result.table
    if table["measure"].nunique() == 1:
        table = table.drop(columns="measure")
    print_findings(table, format_of(form), result.observed.metadata)


def _of_measures(result: "Finding", table: str, **options: Any) -> "pd.DataFrame":
    """Put the tables of all measures together, each with the name of its measure."""
    import pandas as pd

    assert result.observed is not None
    parts = []
    for measure in result.observed.measures:
        part = getattr(result, table)(measure, **options)
        part.insert(0, "measure", measure)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
