"""The verb that writes a page about scores: report."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import (
    FILE,
    WHOLE,
    choice_option,
    files_option,
    is_by_hand,
    output_option,
    prefs_format_option,
    run_options,
    text_options,
)
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
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import TESTS

if TYPE_CHECKING:
    from pgcjax.reporting.page import Page
    from pgcjax.reporting.score_findings import Findings


@cli.command()
@any_score_options
@output_option(
    "Page: one .html file to explore, or a text with figures in a folder beside it",
    PAGE_SUFFIXES,
    target=Target("{stem}-figures/*.svg"),
    required=True,
)
@files_option(
    "--judgments",
    help="In place of SCORES, votes on answers of systems: a page with a leaderboard, "
    "who beats whom, and an audit of the judges.",
)
@files_option("--prefs", help="Preferences, whose graphs .html shows.")
@prefs_format_option
@files_option(
    "--qrels", help="Grades, whose graphs .html shows if there are no preferences."
)
@click.option(
    "--runs",
    multiple=True,
    type=FILE,
    metavar="RUN",
    help="Runs, which .html shows beside their ideal rankings; repeat for several.",
)
@run_options
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    help="Order of a run, as in evaluate; by default that of SCORES, or trec.",
)
@text_options
@click.option(
    "--replicates",
    type=FILE,
    metavar="FILE",
    help=(
        "File of uncertainty --replicates-output for SCORES: leaderboards get "
        "intervals, tiers and ranks that show the uncertainty from the judgments."
    ),
)
@click.option(
    "--judges",
    type=FILE,
    metavar="FILE",
    help="File of judgments compare --scores-output: a section compares the orders "
    "of runs by different judges.",
)
@click.option(
    "--why",
    type=WHOLE,
    metavar="N",
    help="Number of scores by each measure that .html explains: of the best runs, on "
    f"the queries where they differ most. By default {EXPLAINED} if there are --runs.",
)
@click.option("--title", metavar="TEXT", help="Title of the page; by default the file.")
@cluster_option
@system_option
@collections_option
@choice_option("--test", allowed=TESTS, help="Test of differences, as in compare.")
@test_options
@click.option(
    "--top",
    type=WHOLE,
    default=8,
    show_default=True,
    metavar="N",
    help="Number of best runs with a column in the table of queries of .md.",
)
@output_option(
    "Also write figures there, each as wide as a column of a paper.",
    (),
    "--figures",
    target=Target(*(f"{{path}}/*.{kind}" for kind in FIGURE_KINDS)),
    metavar="DIR",
)
@click.option(
    "--figure-format",
    "kinds",
    multiple=True,
    type=click.Choice(FIGURE_KINDS),
    help="Format of --figures, by default pdf; repeat for several.",
)
def report(
    scores: tuple[str, ...],
    output: str,
    measures: list[str],
    judgments: tuple[str, ...],
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    runs: tuple[str, ...],
    run_format: str,
    name_by: str,
    order: str | None,
    topics: tuple[str, ...] | None,
    texts: tuple[str, ...] | None,
    replicates: str | None,
    judges: str | None,
    why: int | None,
    title: str | None,
    top: int,
    figures: str | None,
    kinds: tuple[str, ...],
    **options: Any,
) -> None:
    """Write a page about scores: leaderboards, significance, queries, plots.

    SCORES are files of evaluate or of any tool: one with all measures, or one for each.
    A page in HTML sorts and searches; with judgments and runs it shows the preference
    graph of each query, and the ideal ranking beside that of a run.

    Without SCORES, --judgments shows which systems win their comparisons.
    """
    if kinds and not figures:
        raise click.UsageError("--figure-format needs --figures DIR")
    if judgments:
        made = _arena(judgments, prefs_format, output, title, options["seed"])
        _save_figures(made, figures, kinds)
        return
    if not scores:
        raise click.UsageError("Missing argument 'SCORES…', or --judgments FILE.")
    from pgcjax.reporting import interactive, page

    html = output.lower().endswith(".html")
    page.ready(output, draws=not html or figures is not None)
    given = {"prefs": prefs, "qrels": qrels, "runs": runs}
    given |= {"topics": topics or (), "texts": texts or ()}
    _check(html, given, prefs_format, why)
    from pgcjax.reporting import score_page
    from pgcjax.reporting.score_findings import find

    score_page.check_top(top)
    if options["system"]:
        if runs:
            raise click.UsageError("--runs are single runs: leave out --system")
        if not is_by_hand(click.get_current_context(), "test"):
            options["test"] = None
    title = title or ", ".join(Path(path).name for path in scores)
    options |= _read_findings(replicates, judges)
    with ProgressDisplay() as progress:
        source, names = score_files(scores), measures or None
        findings = find(source, names, progress=progress.update, **options)
        if options["missing"] == "own" and "lacking" in findings.used:
            say(findings.used["lacking"])
        order = order or str(findings.used.get("scores, order", ORDERS[0]))
        float32 = bool(findings.used.get("scores, float32"))
        reading = {"format": run_format, "name_by": name_by, "float32": float32}
        cells = EXPLAINED if why is None else why
        asked = _Asked(given, prefs_format, reading, order, cells)
        beside = asked.read(findings, progress) if prefs or qrels else {}
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
    _save_figures(made, figures, kinds)


def _read_findings(replicates: str | None, judges: str | None) -> dict[str, Any]:
    """Read what other verbs wrote, as arguments of `score_findings.find`."""
    findings: dict[str, Any] = {}
    if replicates:
        from pgcjax.stats.uncertainty import read_uncertainty

        findings["uncertainty"] = read_uncertainty(replicates)
    if judges:
        from pgcjax.stats.judge_orders import read_judge_orders

        findings["judges"] = read_judge_orders(judges)
    return findings


_OF_ARENA = {"judgments", "prefs_format", "output", "title", "seed", "figures", "kinds"}


def _arena(
    judgments: tuple[str, ...],
    prefs_format: str,
    output: str,
    title: str | None,
    seed: int,
) -> "Page":
    """Write a page about votes alone."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if name not in _OF_ARENA and is_by_hand(context, name):
            text = option.opts[0] if isinstance(option, click.Option) else "SCORES"
            raise click.UsageError(
                f"{text} does not apply to a page of --judgments alone"
            )
    from pgcjax.io.votes.read import read_preferences
    from pgcjax.reporting import arena_page, page

    page.ready(output)
    names = ", ".join(Path(path).name for path in judgments)
    with ProgressDisplay() as progress:
        votes = read_preferences(judgments, format=prefs_format)
        settings = {"seed": seed, "progress": progress.update}
        made = arena_page.arena(votes, title=title or names, **settings)
        page.write(made, output)
    say(f"wrote {output}")
    return made


def _save_figures(made: "Page", figures: str | None, kinds: tuple[str, ...]) -> None:
    if figures:
        made.save_figures(figures, [f".{kind}" for kind in kinds or FIGURE_KINDS[:1]])
        say(f"wrote {len(made.pictures)} figures to {figures}")


def _check(
    html: bool, given: dict[str, tuple[str, ...]], prefs_format: str, why: int | None
) -> None:
    """Refuse options that would have no effect."""
    named = [name for name, paths in given.items() if paths]
    if named and not html:
        raise click.UsageError(f"--{named[0]} is shown in .html only")
    judged = {"prefs", "qrels"} & {*named}
    if "texts" in named and not judged:
        raise click.UsageError(
            "--texts needs judgments of these documents: --prefs or --qrels"
        )
    if "runs" in named and not judged:
        raise click.UsageError("--runs needs the judgments, too: --prefs or --qrels")
    if prefs_format != "auto" and "prefs" not in named:
        raise click.UsageError("--prefs-format needs --prefs FILE")
    if why is not None and "runs" not in named:
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
    """Read what queries ask and documents say, as arguments of `interactive.write`."""
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


@dataclass(frozen=True)
class _Asked:
    """Files beside scores, and how they are read."""

    paths: dict[str, tuple[str, ...]]
    prefs_format: str
    reading: dict[str, Any]
    order: str
    cells: int

    def read(self, findings: "Findings", progress: ProgressDisplay) -> dict[str, Any]:
        """Read what is shown beside scores, as arguments of `interactive.write`."""
        from pgcjax.engine.explainer import Explainer
        from pgcjax.io.graded import read_qrels
        from pgcjax.io.runs import Options, open_runs
        from pgcjax.io.votes.read import read_preferences
        from pgcjax.reporting import judged_queries
        from pgcjax.reporting.score_reasons import explain_scores

        prefs, qrels, runs = (self.paths[name] for name in ("prefs", "qrels", "runs"))

        def opened() -> Any:
            return open_runs(runs, Options(**self.reading))

        judgments = {
            "preferences": read_preferences(prefs, format=self.prefs_format)
            if prefs
            else None,
            "qrels": read_qrels(qrels) if qrels else None,
        }
        judged = judged_queries.read(
            findings.queries,
            findings.runs,
            **judgments,
            runs=opened() if runs else None,
            order=self.order,
            progress=progress.update,
        )
        if not runs:
            return {"judged": judged}

        def explainer(measure: str) -> Explainer:
            return Explainer(judgments=judgments, measure=measure, order=self.order)

        reasons = explain_scores(
            findings,
            explainer,
            opened,
            cells=self.cells,
            command=self._command(),
            progress=progress.update,
        )
        return {"judged": judged, "reasons": reasons}

    def _command(self) -> str:
        """Return the line that explains a score of these files, but for its name."""
        line = ["pgcjax", "explain"]
        for name in ("prefs", "qrels"):
            for path in self.paths[name]:
                line += [f"--{name}", path]
        usual = {"format": "auto", "name_by": NAME_BY[0]}
        options = {"format": "--run-format", "name_by": "--name-by"}
        for name, option in options.items():
            if self.reading[name] != usual[name]:
                line += [option, self.reading[name]]
        if self.prefs_format != "auto":
            line += ["--prefs-format", self.prefs_format]
        if self.order != ORDERS[0]:
            line += ["--order", self.order]
        return shlex.join([*line, *self.paths["runs"]])
