"""The verbs of the command line. What a verb needs is imported inside it."""

import os
from importlib import import_module
from typing import Any

import click

from pgcjax._version import __version__
from pgcjax.cli.options import (
    FILE,
    WHOLE,
    choice_option,
    file_memory_option,
    judgment_options,
    output_option,
    read_judgments,
    run_options,
)
from pgcjax.cli.targets import Verb
from pgcjax.io.choices import FILE_KINDS, SCORE_SUFFIXES
from pgcjax.io.judgments import KINDS
from pgcjax.io.memory import address_space
from pgcjax.report.progress import ProgressDisplay, say

OUT_OF_MEMORY = 3
LEAST_ADDRESSES = 1280 * 2**20
_MODULES = (
    *("asking", "comparing", "enough", "findings", "judges", "judgments", "merging"),
    *("predicting", "rankings", "reporting", "scoring", "simulating"),
    "uncertainty",
)
_EARLY = {"evaluate": "scoring"}  # the verb that answers within a second
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 88}


class _Program(click.Group):
    """All verbs; what is imported for one of them alone is not for all."""

    command_class = Verb

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a verb."""
        if cmd_name not in self.commands:
            self._load(_EARLY.get(cmd_name))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all verbs."""
        self._load()
        return super().list_commands(ctx)

    def _load(self, module: str | None = None) -> None:
        for name in [module] if module else _MODULES:
            import_module(f"{__package__}.{name}")  # it adds its verbs


@click.group(
    cls=_Program,
    context_settings=HELP,
    epilog="Exit status: 0 done, 1 a defect of pgcjax, 2 wrong use or data, 3 out of "
    "memory, 130 stopped.",
)
@click.version_option(__version__, "-V", "--version", message="pgcjax %(version)s")
def cli() -> None:
    """Score search runs against pairwise preferences: Greedy PGC and compatibility.

    FILE and RUN are files, folders or quoted glob patterns; .gz .bz2 .xz .zst too.
    """
    limit = address_space()
    if limit and limit < LEAST_ADDRESSES:  # libraries would end without a word
        say(
            f"error: out of memory: a limit (ulimit -v) leaves {limit >> 20:,} MiB of "
            f"addresses, and libraries need {LEAST_ADDRESSES >> 20:,} MiB. Raise it.",
            always=True,
        )
        click.get_current_context().exit(OUT_OF_MEMORY)


@cli.command()
@click.argument("paths", nargs=-1, type=FILE, metavar="FILE...")
@judgment_options
@run_options
@file_memory_option
@choice_option("--as", "kind", allowed=["auto", *FILE_KINDS], help="What FILE... are.")
def check(
    paths: tuple[str, ...],
    judgments: dict[str, Any],
    run_format: str,
    name_by: str,
    kind: str,
) -> None:
    """Read files as evaluate would, and say what is in them."""
    if not (paths or judgments):
        raise click.UsageError("nothing to check: give FILE, --prefs or --qrels")
    from pgcjax.io import check as checks
    from pgcjax.io.file_kinds import sort_by_kind

    files = sort_by_kind(paths, kind)
    if prefs := files["prefs"]:
        given, form = judgments.get("preferences", ((), "auto"))
        judgments["preferences"] = (*given, *prefs), form
    if qrels := files["qrels"]:
        judgments["qrels"] = *judgments.get("qrels", ()), *qrels
    tables = read_judgments(judgments)
    if files["runs"]:
        from pgcjax.io.runs import Options, open_runs

        runs = open_runs(files["runs"], Options(run_format, name_by))
        tables["runs"] = runs.table
    if files["grids"]:
        from pgcjax.io.grids import read_grids

        tables["grids"] = read_grids(files["grids"])
    lines = [
        f"{name}: {line}"
        for name, table in tables.items()
        for line in checks.SUMMARIES[name](table)
    ]
    lines += checks.summarise_overlap(tables)  # or an error: then nothing is printed
    for line in lines:
        click.echo(line)


@cli.command()
@output_option("New.", (), required=True, metavar="DIR")
@click.option("--queries", type=WHOLE, help="Number of queries.")
@click.option("--documents", type=WHOLE, help="Judged documents per query.")
@click.option("--runs", type=WHOLE, help="Number of runs.")
@click.option("--judges", type=WHOLE, help="Number of judges of preferences.")
@click.option("--pairs", type=WHOLE, help="Pairs that each judge judges per query.")
@click.option("--intents", type=WHOLE, help="Intents per query.")
@click.option("--depth", type=WHOLE, help="Documents per query in a run.")
@click.option("--rows", type=WHOLE, help="Rows of the image grid.")
@click.option("--columns", type=WHOLE, help="Columns of the image grid.")
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="Of everything.")
def simulate(output: str, **settings: int | None) -> None:
    """Write a made-up collection whose true order of runs is known to a new DIR."""
    from pgcjax.datasets.files import write_collection
    from pgcjax.datasets.settings import Settings
    from pgcjax.io.write import check_room

    given = Settings(**{k: v for k, v in settings.items() if v is not None})
    if os.path.exists(output):  # of a name that is too long, writing tells
        raise click.UsageError(f"{output} exists already: name a new folder")
    check_room(output)
    from pgcjax.datasets.simulator import simulate as make

    write_collection(make(given), output)
    say(f"wrote {given.runs} runs and their judgments to {output}")


@cli.command()
@output_option(
    "Where all scores go",
    SCORE_SUFFIXES,
    default="pgcjax-demo-scores.csv",
    show_default=True,
)
def demo(output: str) -> None:
    """Score the runs of the embedded collection and show a leaderboard."""
    from pgcjax.datasets.files import demo_folder
    from pgcjax.engine.evaluate import evaluate as score
    from pgcjax.engine.job import Job
    from pgcjax.io.remote import path_of
    from pgcjax.report.leaderboard import leaderboard, show

    folder = demo_folder()
    with ProgressDisplay() as progress:
        scores = score(
            folder / "runs",
            preferences=folder / "preferences.csv",
            qrels=folder / "qrels.txt",
            job=Job(progress=progress.update),
        )
    scores.save(output)
    for note in scores.notes:
        say(note)
    show(leaderboard(scores))
    click.echo(f"Scores of every run and query: {path_of(output).resolve()}")
    click.echo(f"The collection and its true order of runs: {folder}")


@cli.command()
@click.argument("name", required=False)
@click.option(
    "--as",
    "tool",
    type=click.Choice(["ir_measures"]),
    help="List those of another tool, and what is equal here.",
)
def measures(name: str | None, tool: str | None) -> None:
    """List the measures, or explain one."""
    from pgcjax.measures.between_rankings import BETWEEN, is_between, parse
    from pgcjax.measures.catalogue import catalogue
    from pgcjax.measures.spec import MEAN, written

    if tool and name:
        raise click.UsageError("--as lists all measures: leave NAME out")
    if tool:
        from pgcjax.measures import ir_names

        for line in ir_names.lines():
            click.echo(line)
        return
    if not name:
        width = max(map(len, catalogue()))
        for definition in catalogue().values():
            click.echo(f"{definition.name:{width}}  {definition.meaning}")
        for definition in BETWEEN.values():
            click.echo(f"{definition.name:{width}}  {definition.meaning} (prefer)")
        return
    measure = parse(name, complete=False)
    definition = measure.definition
    click.echo(f"{measure.in_full()}\n{definition.meaning}.")
    if definition.formula:
        click.echo(f"Formula: {definition.formula}.")
    if is_between(measure):
        click.echo("Verb: pgcjax prefer, of two rankings.")
    needs = definition.needs(measure.parameters)
    needs = sorted(needs, key=lambda kind: (kind == "levels", kind))
    # Grids are no judgments: they are the runs, and --grids says so.
    others = {"grids": "--grids", "levels": "in a format with levels: trec-prefs, …"}
    options = (KINDS[k].option if k in KINDS else others[k] for k in needs)
    click.echo(f"Needs: {', '.join(options)}")
    if definition.cutoff == "level":
        click.echo("Level: @x, a level of recall from 0 to 1, must follow the name.")
    elif definition.cutoff != "no":
        click.echo(f"Cutoff: @k {definition.cutoff} follow the name.")
    if definition.parameters:
        click.echo("Parameters:")
    for parameter in definition.parameters:
        value = written(measure.parameters[parameter.name])
        click.echo(f"  {parameter.name}={value}: {parameter.meaning}")
    if not is_between(measure):
        click.echo(f"Mean over queries: mean={measure.mean}, {MEAN.meaning}.")
    click.echo(f"Source: {definition.source}.")
    if definition.differs:
        click.echo(f"Differs: {definition.differs}.")
    if definition.aliases:
        names = (f"{a} = {m}" for a, m in definition.aliases.items())
        named = ", ".join(names).replace("{k}", "k").replace("{x}", "x")
        click.echo(f"Also called: {named}")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what lets a shell complete verbs, options and names of files.

    Add it to the file that your shell reads when it starts.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete
    click.echo(complete(cli, {}, "pgcjax", "_PGCJAX_COMPLETE").source())


@cli.command()
def devices() -> None:
    """List the devices that JAX would compute on."""
    import jax

    from pgcjax.runtime.devices import default_backend

    click.echo(f"jax {jax.__version__}, {default_backend()}")
    for device in jax.local_devices():
        click.echo(f"{device.id}: {device.device_kind}")
