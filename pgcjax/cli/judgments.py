"""The verb that asks how good judgments are: judgments."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax._version import __version__
from pgcjax.cli.commands import cli
from pgcjax.cli.options import (
    FILE,
    REAL,
    choice_option,
    encoding_option,
    file_memory_option,
    files_option,
    output_option,
    prefs_format_option,
    write_table,
)
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.judging.choices import BY, MODELS, SIDES, SPLITS, SWAYS
from pgcjax.report.progress import ProgressDisplay

if TYPE_CHECKING:
    import pandas as pd


@cli.command()
@files_option("--prefs", required=True, help="Preferences; repeat for several files.")
@prefs_format_option
@files_option("--qrels", help="Grades.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Only what this judge says; repeat for several. By default all judges.",
)
@choice_option(
    "--sides",
    allowed=SIDES,
    help="any: which document of a pair stands first means nothing; given: it is the "
    "one that judges were shown first, or left.",
)
@click.option("--bad", is_flag=True, help="Count what judgments of bad imply.")
@choice_option(
    "--split",
    allowed=SPLITS,
    help="What a pair is, for transitivity, whose votes have no majority.",
)
@click.option(
    "--contradicted",
    is_flag=True,
    help="Count the judgments that no order of documents can follow, and name them.",
)
@click.option(
    "--audit",
    is_flag=True,
    help="Audit the judges instead: both orders, place and length, ties, repeats, "
    "cycles, agreement, drift; each with an interval and a verdict.",
)
@click.option(
    "--lengths",
    type=FILE,
    metavar="FILE",
    help="Of documents, for --audit and --remove: doc_id, length; or columns length_a, "
    "length_b.",
)
@click.option(
    "--people",
    multiple=True,
    metavar="NAME",
    help="A judge who is one of the people that --audit compares with; repeat.",
)
@click.option(
    "--strengths",
    type=click.Choice(MODELS),
    help="Say instead how strong the documents of each query are: by Bradley and "
    "Terry's model, Davidson's of ties, wins less losses, the share of votes won, or "
    "a walk to winners.",
)
@choice_option(
    "--by",
    allowed=BY,
    help="For --strengths: all aspects of a query together, or each aspect by itself.",
)
@click.option(
    "--reliability",
    is_flag=True,
    help="With --strengths: of each judge, the chance to have looked.",
)
@click.option(
    "--remove",
    multiple=True,
    type=click.Choice(SWAYS),
    help="With --strengths: keep out what was shown first, or what is longer; repeat.",
)
@click.option(
    "--prior",
    type=REAL,
    help="With --strengths: standard deviation of strengths, in log-odds; inf: none. "
    "By default it is fitted to the votes.",
)
@encoding_option
@file_memory_option
@output_option("Write all numbers at full precision")
@output_option(
    "With --reliability, write judges", TABLE_SUFFIXES, "--judges-output", "judges_to"
)
def judgments(
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    judges: tuple[str, ...],
    sides: str,
    bad: bool,
    split: str,
    contradicted: bool,
    audit: bool,
    lengths: str | None,
    people: tuple[str, ...],
    strengths: str | None,
    by: str,
    reliability: bool,
    remove: tuple[str, ...],
    prior: float | None,
    output: str | None,
    judges_to: str | None,
) -> None:
    """Say how far judges agree, with each other, with themselves and with grades.

    Fleiss' and Cohen's kappa, agreement tables, transitivity; with --qrels also the
    agreement with grades, and the strength of preferences against the relevance gap;
    and judging times, where preferences have a column seconds. --contradicted adds how
    many judgments contradict each other, and which. --audit looks at the judges,
    --strengths at the documents.
    """
    if lengths and not (audit or strengths):
        raise click.UsageError("--lengths is of --audit and --strengths")
    if people and not audit:
        raise click.UsageError("--people is of --audit")
    if (audit or strengths) and (qrels or contradicted or bad):
        name = "--audit" if audit else "--strengths"
        raise click.UsageError(f"{name} goes without --qrels, --bad, --contradicted")
    if audit and strengths:
        raise click.UsageError("--audit and --strengths are two calls")
    if (by != BY[0] or reliability or remove or prior is not None) and not strengths:
        raise click.UsageError(
            "--by, --reliability, --remove and --prior are of --strengths"
        )
    if judges_to and not reliability:
        raise click.UsageError("--judges-output is of --reliability")
    from pgcjax.io.qrels import read_qrels
    from pgcjax.io.votes.read import read_preferences
    from pgcjax.report.judgment_analysis import Choices, analyse, lines, tidy

    preferences = read_preferences(prefs, format=prefs_format)
    if audit:
        from pgcjax.judging.audit import audit as audited
        from pgcjax.report.judge_audit import lines as lines_of

        asked = {"judges": list(judges) or None, "people": list(people)}
        with ProgressDisplay() as progress:
            given = {"lengths": lengths, "progress": progress.update}
            found = audited(preferences, **given, **asked)
        write_table(found.table, output, {**asked, "version": __version__})
        for line in lines_of(found):
            click.echo(line)
        return
    if strengths:
        how = {"by": by, "reliability": reliability, "remove": list(remove)}
        how |= {"judges": list(judges) or None}
        how |= {} if prior is None else {"prior": prior}
        _fit(preferences, strengths, lengths, how, output, judges_to)
        return
    grades = read_qrels(qrels) if qrels else None
    choices = Choices(list(judges) or None, sides, bad, split, contradicted)
    sections = analyse(preferences, grades, choices)
    used = {"judges": list(judges), "sides": sides, "bad": bad, "split": split}
    used |= {"contradicted": True} if contradicted else {}
    write_table(tidy(sections), output, {**used, "version": __version__})
    for line in lines(sections):
        click.echo(line)


def _fit(
    preferences: "pd.DataFrame",
    model: str,
    lengths: str | None,
    how: dict[str, Any],
    output: str | None,
    judges_to: str | None,
) -> None:
    from pgcjax.judging.fit import fit
    from pgcjax.report.judge_models import lines

    with ProgressDisplay() as progress:
        found = fit(
            preferences, model, lengths=lengths, progress=progress.update, **how
        )
    used = {"model": model, **how, "version": __version__}
    effects = found.effects.to_dict("records")
    write_table(found.table, output, used | ({"effects": effects} if effects else {}))
    write_table(found.judges, judges_to, used)
    for line in lines(found):
        click.echo(line)
