"""The verb that writes a page about scores: report."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.score_files import (
    any_score_options,
    cluster_option,
    collections_option,
    score_files,
    system_option,
    test_options,
)
from pgcjax.cli.targets import Target
from pgcjax.io.choices import EXPLAINED, FIGURE_KINDS, NAME_BY, ORDERS, PAGE_SUFFIXES
from pgcjax.io.judgments import KINDS
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import TESTS

if TYPE_CHECKING:
    from pgcjax.reporting.page import Page
    from pgcjax.reporting.score_findings import Findings


@cli.command()
@any_score_options
@opt.output_option(
    "Page: one .html file to explore, or a text with figures in a folder beside it",
    PAGE_SUFFIXES,
    target=Target(*(f"{{stem}}-figures/*.{kind}" for kind in FIGURE_KINDS)),
    required=True,
)
@opt.judgment_options(
    {
        "preferences": "Preferences, whose graphs .html shows. Without SCORES, votes "
        "on answers of systems: a page with a leaderboard, who beats whom, and an "
        "audit of the judges.",
        "qrels": "Grades, whose graphs .html shows if there are no preferences.",
    }
)
@click.option(
    "--runs",
    multiple=True,
    type=opt.FILE,
    metavar="RUN",
    help="Runs, which .html shows beside their ideal rankings; repeat for several.",
)
@opt.run_options
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    help="Order of a run, as in evaluate; by default that of SCORES, or trec.",
)
@opt.text_options
@click.option(
    "--replicates",
    type=opt.FILE,
    metavar="FILE",
    help="File of uncertainty --replicates-output for SCORES: leaderboards get "
    "intervals, tiers and ranks that show the uncertainty from the judgments.",
)
@click.option(
    "--judges",
    type=opt.FILE,
    metavar="FILE",
    help="File of judgments compare --scores-output: a section compares the orders "
    "of runs by different judges.",
)
@click.option(
    "--why",
    type=opt.WHOLE,
    metavar="N",
    help="Number of scores by each measure that .html explains: of the best runs, on "
    f"the queries where they differ most. By default {EXPLAINED} if there are --runs.",
)
@click.option("--title", metavar="TEXT", help="Title of the page; by default the file.")
@cluster_option
@system_option
@collections_option
@opt.choice_option("--test", allowed=TESTS, help="Test of differences, as in compare.")
@test_options
@click.option(
    "--top",
    type=opt.WHOLE,
    default=8,
    metavar="N",
    help="Number of best runs with a column in the table of queries of .md.",
)
@click.option(
    "--figures",
    multiple=True,
    metavar="KIND[=DIR]",
    help="Also write figures, each as wide as a column of a paper, as "
    f"{', '.join(FIGURE_KINDS)}; into DIR, or a folder beside the page that is called "
    "as it, with -figures. Repeat for several.",
)
def report(
    scores: tuple[str, ...],
    output: str,
    measures: list[str] | None,
    judgments: dict[str, Any],
    runs: tuple[str, ...],
    reading: dict[str, Any],
    order: str | None,
    topics: tuple[str, ...] | None,
    texts: tuple[str, ...] | None,
    replicates: str | None,
    judges: str | None,
    why: int | None,
    title: str | None,
    top: int,
    figures: tuple[str, ...],
    **options: Any,
) -> None:
    """Write a page about scores: leaderboards, significance, queries, plots.

    SCORES are files of evaluate or of any tool: one with all measures, or one for each.
    A page in HTML sorts and searches; with judgments and runs it shows the preference
    graph of each query, and the ideal ranking beside that of a run.

    Without SCORES, --prefs shows which systems win their comparisons.
    """
    from pgcjax.reporting import interactive, page

    folders = _folders(figures, output, scores)
    if not scores:
        made = _arena(judgments, output, title, options["seed"])
        _save_figures(made, folders)
        return

    html = output.lower().endswith(".html")
    page.ready(output, draws=not html or bool(figures))
    _check(html, judgments, {"runs": runs, "topics": topics, "texts": texts}, why)
    from pgcjax.reporting import score_page
    from pgcjax.reporting.score_findings import find

    score_page.check_top(top)
    if options["system"]:
        if runs:
            raise click.UsageError("--runs are single runs: leave out --system")
        if "test" not in opt.given_options():
            options["test"] = None
    title = title or ", ".join(Path(path).name for path in scores)
    options |= _read_findings(replicates, judges)
    with ProgressDisplay() as progress:
        source = score_files(scores)
        findings = find(source, measures, progress=progress.update, **options)
        if options["missing"] == "own" and "lacking" in findings.used:
            say(findings.used["lacking"])
        order = order or str(findings.used.get("scores, order", ORDERS[0]))
        reading["float32"] = bool(findings.used.get("scores, float32"))
        cells = EXPLAINED if why is None else why
        beside: dict[str, Any] = {}
        if judgments:
            beside = _beside(findings, judgments, runs, reading, order, cells, progress)
        if topics or texts:
            beside |= _texts(topics, texts, findings, beside, progress)
    if html:
        interactive.write(findings, output, title=title, **beside)
        say(f"wrote {output}")
        if not figures:
            return
    made = score_page.page_of(findings, title, top)
    if not html:
        page.write(made, output)
        say(f"wrote {output}")
    _save_figures(made, folders)


def _read_findings(replicates: str | None, judges: str | None) -> dict[str, Any]:
    """Read the files of other verbs, as arguments of `score_findings.find`."""
    findings: dict[str, Any] = {}
    if replicates:
        from pgcjax.stats.uncertainty import read_uncertainty

        findings["uncertainty"] = read_uncertainty(replicates)
    if judges:
        from pgcjax.stats.judge_orders import read_judge_orders

        findings["judges"] = read_judge_orders(judges)
    return findings


_OF_ARENA = {"preferences", "output", "title", "seed", "figures"}


def _arena(
    judgments: dict[str, Any], output: str, title: str | None, seed: int
) -> "Page":
    """Write a page about votes alone."""
    if "preferences" not in judgments:
        raise click.UsageError("Missing argument 'SCORES…', or --prefs FILE.")
    opt.refuse_options(
        opt.given_options().keys() - _OF_ARENA, "needs SCORES: a page of votes has none"
    )
    from pgcjax.reporting import arena_page, page

    page.ready(output)
    names = ", ".join(Path(path).name for path in judgments["preferences"][0])
    with ProgressDisplay() as progress:
        votes = opt.read_judgments(judgments)["preferences"]
        settings = {"seed": seed, "progress": progress.update}
        made = arena_page.arena(votes, title=title or names, **settings)
        page.write(made, output)
    say(f"wrote {output}")
    return made


def _folders(
    figures: tuple[str, ...], output: str, scores: tuple[str, ...]
) -> dict[str, str]:
    """Read the folder of figures for each suffix, and check that it can be written."""
    from pgcjax.io.targets import keep_apart
    from pgcjax.io.write import check_folder
    from pgcjax.reporting.page import figures_folder

    folders = {}
    for text in figures:
        kind, _, folder = text.partition("=")
        folders[kind] = folder = folder or str(figures_folder(output))
        if kind not in FIGURE_KINDS:
            known = ", ".join(FIGURE_KINDS)
            raise click.UsageError(f"--figures {text}: expected one of {known}")
        check_folder(folder)
        keep_apart([(folder, [f"{folder}/*.{kind}"])], scores)
    return folders


def _save_figures(made: "Page", folders: dict[str, str]) -> None:
    for kind, folder in folders.items():
        made.save_figures(folder, f".{kind}")
        say(f"wrote {len(made.pictures)} figures to {folder}")


def _check(
    html: bool, judgments: dict[str, Any], others: dict[str, Any], why: int | None
) -> None:
    """Refuse options that would have no effect."""
    named = [KINDS[kind].option for kind in judgments]
    named += [f"--{name}" for name, paths in others.items() if paths]
    if named and not html:
        raise click.UsageError(f"{named[0]} is shown in .html only")
    if others["texts"] and not judgments:
        raise click.UsageError(
            "--texts needs judgments of these documents: --prefs or --qrels"
        )
    if others["runs"] and not judgments:
        raise click.UsageError("--runs needs the judgments, too: --prefs or --qrels")
    if why is not None and not others["runs"]:
        raise click.UsageError("--why needs --runs RUN")
    if why is not None and why < 0:
        raise click.UsageError(f"--why {why}: expected a number of scores, 0 or more")


def _texts(
    topics: tuple[str, ...] | None,
    texts: tuple[str, ...] | None,
    findings: "Findings",
    beside: dict[str, Any],
    progress: ProgressDisplay,
) -> dict[str, Any]:
    """Read texts of queries and documents, as arguments of `interactive.write`."""
    from pgcjax.io.texts import read_texts, read_topics
    from pgcjax.reporting.interactive import documents_shown

    read: dict[str, Any] = {}
    if topics:
        wanted = findings.queries
        read["topics"] = read_topics(topics, only=wanted, progress=progress.update)
    if texts:
        wanted = documents_shown(beside["judged"], beside.get("reasons"))
        read["texts"] = read_texts(texts, only=wanted, progress=progress.update)
    return read


def _beside(
    findings: "Findings",
    judgments: dict[str, Any],
    runs: tuple[str, ...],
    reading: dict[str, Any],
    order: str,
    cells: int,
    progress: ProgressDisplay,
) -> dict[str, Any]:
    """Read judgments and explanations, as arguments of `interactive.write`."""
    from pgcjax.engine.explainer import Explainer
    from pgcjax.reporting import judged_queries
    from pgcjax.reporting.score_reasons import explain_scores

    tables = opt.read_judgments(judgments)
    judged = judged_queries.read(
        findings.queries,
        findings.runs,
        tables.get("preferences"),
        tables.get("qrels"),
        opt.opened(runs, reading) if runs else None,
        order,
        progress.update,
    )
    if not runs:
        return {"judged": judged}
    reasons = explain_scores(
        findings,
        lambda measure: Explainer(judgments=tables, measure=measure, order=order),
        lambda: opt.opened(runs, reading),
        cells=cells,
        command=_command(judgments, runs, reading, order),
        progress=progress.update,
    )
    return {"judged": judged, "reasons": reasons}


def _command(
    judgments: dict[str, Any],
    runs: tuple[str, ...],
    reading: dict[str, Any],
    order: str,
) -> str:
    """Return the command that explains a score of these files, without its name."""
    line = ["pgcjax", "explain"]
    prefs, prefs_format = judgments.get("preferences", ((), "auto"))
    for option, paths in ("--prefs", prefs), ("--qrels", judgments.get("qrels", ())):
        for path in paths:
            line += [option, path]
    for option, value, usual in (
        ("--run-format", reading["format"], "auto"),
        ("--name-by", reading["name_by"], NAME_BY[0]),
        ("--prefs-format", prefs_format, "auto"),
        ("--order", order, ORDERS[0]),
    ):
        line += [option, value] if value != usual else []
    return shlex.join([*line, *runs])
