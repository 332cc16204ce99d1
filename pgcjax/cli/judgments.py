"""The verb that asks how good judgments are: judgments."""

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import FILE
from pgcjax.cli.progress import say


@cli.command()
@click.option(
    "--prefs",
    required=True,
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Preference judgments; repeat for several files.",
)
@click.option(
    "--prefs-format",
    default="auto",
    metavar="NAME",
    help="As of evaluate.",
)
@click.option("--qrels", multiple=True, type=FILE, metavar="FILE", help="Grades.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Only what this judge says; repeat for several. By default all judges.",
)
@click.option(
    "--sides",
    type=click.Choice(["any", "given"]),
    default="any",
    show_default=True,
    help="any: which document of a pair stands first means nothing; given: it is the "
    "one that judges were shown first, or left.",
)
@click.option("--bad", is_flag=True, help="Count what judgments of bad imply.")
@click.option(
    "--split",
    type=click.Choice(["drop", "tie"]),
    default="drop",
    show_default=True,
    help="What a pair is, for transitivity, whose votes have no majority.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write all numbers at full precision: .csv .tsv .jsonl .parquet.",
)
def judgments(
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    judges: tuple[str, ...],
    sides: str,
    bad: bool,
    split: str,
    output: str | None,
) -> None:
    """Say how far judges agree, with each other, with themselves and with grades.

    Fleiss' and Cohen's kappa, agreement tables, transitivity; with --qrels also the
    agreement with grades, and the strength of preferences against the relevance gap;
    and judging times, where preferences have a column seconds.
    """
    if output:
        from pgcjax.io.write import TABLE_SUFFIXES, check_target

        check_target(output, TABLE_SUFFIXES)
    from pgcjax._version import __version__
    from pgcjax.io.preferences import read_preferences
    from pgcjax.io.qrels import read_qrels
    from pgcjax.io.write import write_table
    from pgcjax.report.judgments import Choices, analyse, lines, tidy

    preferences = read_preferences(prefs, format=prefs_format)
    grades = read_qrels(qrels) if qrels else None
    choices = Choices(list(judges) or None, sides, bad, split)
    found = analyse(preferences, grades, choices)
    if output:
        table = tidy(found)
        used = {"judges": list(judges), "sides": sides, "bad": bad}
        used |= {"split": split, "version": __version__}
        write_table(table, output, used)
        say(f"wrote {len(table)} rows to {output}")
    for line in lines(found):
        click.echo(line)
