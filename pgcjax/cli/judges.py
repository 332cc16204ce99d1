"""The verb that compares judges, by the orders of runs or by their votes: compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax._version import __version__
from pgcjax.cli import options as opt
from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import Output, findings_options
from pgcjax.errors import Progress, listed
from pgcjax.io.choices import MISSING, PAGE_SUFFIXES, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import CORRECTIONS, INCOMPLETE, RANK_INTERVALS

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.judging.two_judges import JudgeComparison
    from pgcjax.stats.judge_orders import JudgeOrders

SHOWN = ("judges", "pairs", "flips", "runs")
OF_VOTES: tuple[str, ...] = ("judges", "pairs", "queries", "documents")


@judgments.command("compare")
@click.argument(
    "runs", nargs=-1, required=True, type=opt.FILE, metavar="VOTES [VOTES] | RUN..."
)
@opt.files_option(
    "--prefs", help="Preferences that name judges; repeat for several files."
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME=FILE",
    help="Preferences by the judge NAME, whatever judge their rows name; repeat for "
    "several judges, or several files of one.",
)
@opt.prefs_format_option
@opt.files_option("--qrels", help="Grades, for PGC(graph=combined).")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Compare this judge; repeat for several. By default all.",
)
@click.option(
    "--before",
    type=opt.FILE,
    metavar="FILE",
    help="Earlier votes of the first judge on the same pairs, to test whether it "
    "agrees with the other as often as then.",
)
@opt.run_options
@opt.one_measure_option("One measure of preferences; by default PGC.", "PGC")
@opt.choice_option(
    "--show",
    allowed=[*SHOWN, *OF_VOTES[2:]],
    help="Correlations of the orders of runs by each two judges; the pairs of runs "
    "that two judges put in opposite orders; the effect of position bias "
    "(--flips of pairs judged in both orders); or the leaderboards. For VOTES: "
    "judges, pairs, queries and documents.",
)
@opt.coefficient_option
@opt.choice_option(
    "--interval",
    allowed=RANK_INTERVALS,
    help="Interval of tau, from 50 queries on: simex extrapolates resamples.",
)
@opt.choice_option(
    "--correction",
    allowed=CORRECTIONS,
    default="holm",
    help="Correction of p-values of all pairs of runs, for each judge.",
)
@opt.alpha_option()
@opt.resamples_option
@opt.seed_option
@opt.rounded_order_option("Order of a run, as in evaluate.")
@opt.choice_option(
    "--missing",
    allowed=[name for name in MISSING if name != "skip"],
    help="Treatment of a judged query that a run lacks: score 0, or an error.",
)
@opt.memory_option
@findings_options(
    "Write the table at full precision, or for VOTES a page",
    (*TABLE_SUFFIXES, *PAGE_SUFFIXES),
)
@opt.output_option(
    "Write all scores, for report --judges", TABLE_SUFFIXES, "--scores-output"
)
def judges(
    runs: tuple[str, ...],
    prefs: tuple[str, ...],
    sources: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    judges: tuple[str, ...],
    before: str | None,
    reading: dict[str, str],
    show: str,
    output: Output,
    scores_output: str | None,
    **options: Any,
) -> None:
    """Compare two judges by their votes, or judges by the orders of runs.

    VOTES are those of two judges or versions of one, or of one file two judges
    (--judge A --judge B): agreement, where they differ, and what sways one more.

    With --prefs or --source, each RUN is scored by the judgments of each judge alone;
    two judges are compared on the queries that both judged. Intervals are from
    resampled queries.
    """
    if not (prefs or sources):
        votes = _compare_votes(runs, show, judges, prefs_format, before)
        _give_votes(votes, show, output)
        return
    page = (output.path or "").lower().endswith(PAGE_SUFFIXES)
    given = {"--before": before, "a page (-o)": page}
    given[f"--show {show}"] = show not in SHOWN
    for option in (option for option, value in given.items() if value):
        raise click.UsageError(
            f"{option} works only with VOTES, without --prefs and --source"
        )
    from pgcjax.engine.judges import compare_judges

    drawing: dict[str, Any] = {name: options.pop(name) for name in _DRAWING}
    drawing["coefficients"] = list(drawing["coefficients"])
    testing = {"alpha": drawing["alpha"], "correction": options.pop("correction")}
    with ProgressDisplay() as progress:
        of_judges, table = _read(sources, prefs, prefs_format)
        result = compare_judges(
            opt.opened(runs, reading),
            table,
            sources=of_judges,
            judges=list(judges) or None,
            qrels=list(qrels) or None,
            **options,
            progress=progress.update,
        )
        update = progress.update
        shown, notes, metadata = _shown(result, show, drawing, testing, update)
    about = result.metadata | {"show": show} | metadata
    output.give(shown, about, (*result.notes, *notes))
    if scores_output:
        result.save(scores_output)
        say(f"wrote the scores of {len(result.boards)} judges to {scores_output}")


_DRAWING = ("interval", "alpha", "resamples", "seed", "coefficients")
_WITH_VOTES = {"runs", "judges", "before", "show", "form", "output"}


def _compare_votes(
    files: tuple[str, ...],
    show: str,
    judges: tuple[str, ...],
    prefs_format: str,
    before: str | None,
) -> "JudgeComparison":
    """Compare the judges of two files, or two judges of one."""
    opt.refuse_options(
        opt.given_options().keys() - _WITH_VOTES,
        "compares orders of runs: give the judgments, too (--prefs FILE or --source "
        "NAME=FILE)",
    )
    if len(files) > 2:
        raise click.UsageError(
            f"expected the votes of two judges, found {len(files)} files; to compare "
            "orders of runs, give the judgments, too (--prefs FILE or --source "
            "NAME=FILE)"
        )
    if show not in OF_VOTES:
        raise click.UsageError(
            f"--show {show} needs runs; for VOTES: {listed(OF_VOTES, 4)}"
        )
    from pgcjax.io.votes.read import read_preferences
    from pgcjax.judging.two_judges import compare

    tables = [read_preferences(path, format=prefs_format) for path in files]
    earlier = before and read_preferences(before, format=prefs_format)
    stems = [Path(path).name.split(".")[0] for path in files]
    named = len({*stems}) == 2 and len({*judges}) != 2
    with ProgressDisplay() as progress:
        return compare(
            *tables,
            judges=judges or None,
            names=stems if named else None,
            before=earlier,
            progress=progress.update,
        )


def _give_votes(found: "JudgeComparison", show: str, output: Output) -> None:
    """Print and write the chosen comparison of two judges."""
    of = (found.table, found.pairs, found.queries, found.documents)
    table = dict(zip(OF_VOTES, of, strict=True))[show]
    about = {**found.metadata, "show": show, "version": __version__}
    page = (output.path or "").lower().endswith(PAGE_SUFFIXES)
    given = output._replace(path=None) if page else output
    given.give(table, about, found.notes)
    if page:
        from pgcjax.reporting.arena_page import report

        report(found, str(output.path))
        say(f"wrote {output.path}")


def _read(
    sources: tuple[str, ...], prefs: tuple[str, ...], prefs_format: str
) -> "tuple[dict[str, pd.DataFrame], pd.DataFrame | None]":
    """Read the judgments of each judge of `--source`, and those that name judges."""
    from pgcjax.io.choices import FLIPS
    from pgcjax.io.reading import reading
    from pgcjax.io.votes.read import read_preferences

    files: dict[str, list[str]] = {}
    for name, path in opt.split_pairs(sources, "--source", "NAME=FILE"):
        files.setdefault(name, []).append(path)
    with reading(flips=FLIPS[0]):  # "keep" all votes: each policy is tried
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
    """Compute the chosen table, its notes, and its settings."""
    if show == "judges":
        table = result.orders(**(drawing | testing), progress=progress)
        return table, result.in_words(table), drawing | testing
    if show == "pairs":
        return result.swaps(**testing), [], testing
    if show == "flips":
        table = result.flips(**drawing, progress=progress)
        return table, [] if result.flipped else result.in_words(table), drawing
    return result.runs(), [], {}


@judgments.command()
@click.argument("judge_scores", type=opt.FILE, metavar="JUDGE_SCORES")
@click.argument("people_scores", type=opt.FILE, metavar="PEOPLE_SCORES")
@click.option(
    "--judge-runs",
    multiple=True,
    required=True,
    metavar="RUN",
    help="Run made with the judge, or with a model of its family; repeat for several.",
)
@opt.one_measure_option("Measure, required if SCORES have several.")
@opt.choice_option(
    "--show",
    allowed=("lifts", "runs"),
    help="Lift of the named runs by the judge; or all runs with their corrected ranks.",
)
@opt.choice_option("--missing", allowed=INCOMPLETE, help="As of compare.")
@opt.alpha_option()
@opt.seed_option
@opt.file_memory_option
@findings_options()
def circular(
    judge_scores: str,
    people_scores: str,
    judge_runs: tuple[str, ...],
    show: str,
    output: Output,
    **settings: Any,
) -> None:
    """Test whether a judge favours runs that were made with it, beside people's scores.

    Both files have scores of the same runs, from evaluate. A lift is how far a run is
    above the line of the judge's scores of the other runs over people's.
    """
    from pgcjax.stats.circularity import circular as lifts

    with ProgressDisplay() as progress:
        settings["progress"] = progress.update
        finding = lifts(judge_scores, people_scores, judge_runs, **settings)
    table = finding.table if show == "lifts" else finding.runs
    output.give(table, finding.metadata, finding.notes)
