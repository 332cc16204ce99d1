"""The verb that writes a page about scores: report."""

from pathlib import Path
from typing import Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import (
    WHOLE,
    choice_option,
    output_option,
    score_files,
    score_options,
    test_options,
)
from pgcjax.cli.targets import Target
from pgcjax.io.choices import FIGURE_KINDS, PAGE_SUFFIXES
from pgcjax.report.progress import ProgressDisplay, say
from pgcjax.stats.choices import TESTS


@cli.command()
@score_options
@output_option(
    "One file, or with figures in a folder beside it",
    PAGE_SUFFIXES,
    target=Target("{stem}-figures/*.svg"),
    required=True,
)
@click.option("--title", metavar="TEXT", help="Of the page; by default the file.")
@choice_option("--test", allowed=TESTS, help="Of differences, as of compare.")
@test_options
@click.option(
    "--top",
    type=WHOLE,
    default=8,
    show_default=True,
    metavar="N",
    help="Best runs that have a column in the table of queries.",
)
@output_option(
    "Write figures there, too, each as wide as a column of a paper.",
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
    help="Of --figures, by default pdf; repeat for several.",
)
def report(
    scores: tuple[str, ...],
    output: str,
    measures: list[str],
    title: str | None,
    figures: str | None,
    kinds: tuple[str, ...],
    **how: Any,
) -> None:
    """Write a page about scores: leaderboards, significance, queries, plots.

    SCORES are files of evaluate or of any tool: one with all measures, or one for each.
    """
    if kinds and not figures:
        raise click.UsageError("--figure-format is of --figures DIR, which is absent")
    from pgcjax.report import page

    page.ready(output)
    from pgcjax.report.score_page import summary

    title = title or ", ".join(Path(path).name for path in scores)
    source, names = _read(scores), measures or None
    with ProgressDisplay() as progress:
        made = summary(source, names, title=title, progress=progress.update, **how)
    page.write(made, output)
    say(f"wrote {output}")
    if figures:
        made.save_figures(figures, [f".{kind}" for kind in kinds or FIGURE_KINDS[:1]])
        say(f"wrote {len(made.pictures)} figures to {figures}")


def _read(paths: tuple[str, ...]) -> Any:
    """Read one file with all measures or with one; or several, one for each measure."""
    from pgcjax.io.files import stem
    from pgcjax.io.schema import SCORES, find_columns
    from pgcjax.io.score_files import read_any_scores
    from pgcjax.stats import matrix
    from pgcjax.stats.scores import read_scores

    path, *others = paths
    if others:
        return score_files(paths)
    frame, _ = read_any_scores(Path(path))
    if {*SCORES} <= {*frame}:
        return read_scores(path)  # and what they depend on
    several = find_columns(frame, ["measure"], matrix.NAMES)
    return frame if several else {stem(path): path}
