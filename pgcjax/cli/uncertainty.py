"""The verb that estimates the uncertainty from the judgments: uncertainty."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, give, print_findings, print_leaderboard
from pgcjax.cli.score_files import cluster_option, collections_option
from pgcjax.cli.scoring import check_sources, open_sources, scoring_options, working
from pgcjax.cli.targets import is_folder
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.judging.choices import LEFT_OUT, RESAMPLED
from pgcjax.reporting.progress import say
from pgcjax.stats.choices import REPLICATED, REPLICATED_SINGLY

if TYPE_CHECKING:
    from pgcjax.engine.job import Job
    from pgcjax.io.runs import Runs
    from pgcjax.stats.anytime import StoppingDecision
    from pgcjax.stats.left_out import LeftOut
    from pgcjax.stats.uncertainty import Uncertainty

    Finding = Uncertainty | LeftOut | StoppingDecision

_NOT_RECTIFIED = (
    *("resample", "leave_out", "score_intervals", "interval", "missing", "verify"),
    *("qrels", "resume", "anytime", "cluster", "collections"),
)
_OF_DRAWS = ("replicates", "score_intervals", "replicates_output", "top")
_NOT_ANYTIME = (*_OF_DRAWS, "leave_out", "resample", "interval", "pairs_output")
_ANYTIME = ("alpha", "ceiling")


@cli.command()
@scoring_options
@click.option(
    "--replicates",
    type=opt.WHOLE,
    metavar="B",
    help="Number of resamples of what --resample names; 1000 by default.",
)
@opt.choice_option(
    "--resample",
    allowed=RESAMPLED,
    help="Units that are drawn with replacement: each query's judgments; whole "
    "judges; queries (for every measure; the others only for PGC of --prefs); "
    "both queries and judgments.",
)
@opt.seed_option
@cluster_option
@collections_option
@opt.choice_option(
    "--interval", allowed=REPLICATED, help="Interval from the replicates."
)
@click.option(
    "--leave-out",
    metavar="judges|runs[@K]",
    help="In place of replicates, print the changes without each judge, or without the "
    "judgments of documents that only one run contributed, from the K ranks to which "
    "runs were judged, by default 10; for PGC of --prefs.",
)
@click.option(
    "--anytime",
    metavar="QUESTION",
    help="In place of replicates, test whether the queries judged so far settle "
    "which run is best, which are the K best (topK), or which of two is better "
    "(RUN,RUN), and which query to judge next. The answer is valid after each query.",
)
@opt.alpha_option("Probability that --anytime ever stops with a wrong answer.")
@click.option(
    "--ceiling",
    type=opt.REAL,
    default=1.0,
    help="Upper bound of scores, for --anytime.",
)
@click.option(
    "--rectify",
    type=opt.FILE,
    metavar="PEOPLE",
    help="Votes of people on random pairs of each query, where --prefs are a model's "
    "votes on all pairs: the results estimate scores by people's votes, with "
    "intervals over queries.",
)
@opt.output_option(
    "Write the difference of each pair of runs; with --leave-out, the pairs whose "
    "significance changes",
    TABLE_SUFFIXES,
    "--pairs-output",
)
@opt.output_option(
    "Write the interval of each single score, which takes twice the time",
    TABLE_SUFFIXES,
    "--score-intervals",
)
@opt.output_option(
    "Write the means by all replicates, for report --replicates",
    TABLE_SUFFIXES,
    "--replicates-output",
)
def uncertainty(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
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

    The leaderboard shows the uncertainty from judgments as intervals, tiers and ranks.
    """
    leaves, anytime = options["leave_out"], options["anytime"]
    check_sources(bool(judgments or anytime), reading, options)
    _refuse(leaves, anytime, rectify)
    options |= _left_out(leaves)
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
        source, tables = open_sources(runs, reading), opt.given_judgments(judgments)
        result = _scored(source, tables, rectify, options, work.job)
    scores = result.observed
    if work.first:
        drawn = {} if leaves or anytime else {"interval": interval}
        if scores is None:
            for note in result.notes:
                say(note)
        else:
            written_as = {"spreadsheet": spreadsheet, "score_format": score_format}
            give(scores, output, notes=result.notes, **written_as)
            pairs = "pairs" if leaves else "differences"
            for path, noun, name in (
                (pairs_output, "pairs", pairs),
                (score_intervals, "intervals", "scores"),
            ):
                _write(result, name, path, noun, drawn, spreadsheet)
        if replicates_output:
            result.save(replicates_output)
            count = result.metadata["replicates"]
            say(f"wrote {count} replicates to {replicates_output}")
        _print(result, interval, form, top)
    work.end(resume)


def _refuse(leaves: str | None, anytime: str | None, rectify: str | None) -> None:
    """Refuse options that are incompatible with other given ones."""
    for names, reason, given in (
        (_OF_DRAWS, "goes without --leave-out", leaves),
        (_NOT_ANYTIME, "goes without --anytime", anytime),
        (_ANYTIME, "needs --anytime QUESTION", not anytime),
        (_NOT_RECTIFIED, "goes without --rectify", rectify),
    ):
        opt.refuse_options(names if given else (), reason)


def _left_out(text: str | None) -> dict[str, Any]:
    """Read the units that are left out, as arguments of `uncertainty`."""
    what, at, depth = (text or "").partition("@")
    if text and (what not in LEFT_OUT or at and what != "runs"):
        raise click.UsageError(
            f"--leave-out {text}: expected {', '.join(LEFT_OUT)}, or runs@K"
        )
    settings: dict[str, Any] = {"leave_out": what or None}
    if at:
        option = f"--leave-out {text}"
        settings["pool_depth"] = opt.converted(opt.WHOLE, depth, option)
    return settings


def _scored(
    runs: "Runs",
    tables: dict[str, Any],
    people: str | None,
    options: dict[str, Any],
    job: "Job",
) -> "Finding":
    """Score runs as the options say; with --rectify, also by few votes of people."""
    from pgcjax.engine.rectify import rectify
    from pgcjax.engine.uncertainty import uncertainty as score

    if people is None:
        return score(runs, **tables, **options, job=job)
    if options["float32"]:
        raise click.UsageError("--order with -float32 goes without --rectify")
    if "preferences" not in tables:
        raise click.UsageError("--rectify needs a model's votes: --prefs")
    measures = [*(options["measures"] or ["PGC"])]
    if len(measures) > 1:
        raise click.UsageError("--rectify takes one measure: name one")
    return rectify(
        runs,
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
    """Print the leaderboard, the changes without each unit, or the settled orders."""
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


def _write(
    result: "Finding",
    name: str,
    path: str | None,
    noun: str,
    drawn: dict[str, Any],
    spreadsheet: bool,
) -> None:
    """Write the tables of all measures as one, with a column for the measure."""
    if path:
        from pgcjax.io.result import stacked

        assert result.observed is not None
        measures = result.observed.measures
        table = stacked({m: getattr(result, name)(m, **drawn) for m in measures})
        metadata = result.observed.metadata | drawn
        opt.write_table(table, path, metadata, noun, spreadsheet=spreadsheet)
