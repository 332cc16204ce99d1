"""The verbs of the command line. Each imports its libraries when it is called."""

from importlib import import_module
from typing import Any

import click

from pgcjax._aliases import VERBS
from pgcjax._version import __version__
from pgcjax.cli.options import output_option
from pgcjax.cli.verbs import (
    JudgmentVerbs,
    MeasureVerbs,
    Verb,
    Verbs,
    moved,
    shared_options,
)
from pgcjax.io.choices import SCORE_SUFFIXES
from pgcjax.io.reading import address_space
from pgcjax.reporting.progress import ProgressDisplay, say

OUT_OF_MEMORY = 3
LEAST_ADDRESSES = 1280 * 2**20
_MODULES = (
    "asking comparing enough explaining files findings fragile judges judgments "
    "measures rankings reporting scoring uncertainty"
).split()
_EARLY = {"evaluate": "scoring"}  # the verb that answers within a second
_HEADINGS = {
    "Score": "evaluate uncertainty demo",
    "Compare": "compare gate power correlate explain fragile report",
    "Judge": "ask judgments",
    "Explore": "measures rankings",
    "Files and machine": "files devices completion",
}
HELP: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 88,
    "show_default": True,
}


class _LazyVerbs(click.Group):
    """All verbs, of which only the called one is imported."""

    command_class = Verb

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a verb."""
        self._load(_EARLY.get(cmd_name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb of a call; for an old name, name the new call."""
        if args[0] in VERBS:
            raise moved(args[0], VERBS[args[0]], args[1:], ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all verbs."""
        self._load()
        return super().list_commands(ctx)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Show the verbs under headings, and the options that many of them share."""
        limit = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for heading, names in _HEADINGS.items():
            rows = [
                (name, verb.get_short_help_str(limit))
                for name in names.split()
                if (verb := self.get_command(ctx, name))
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
        options = shared_options(self, ctx).values()
        records = (option.get_help_record(ctx) for option in options)
        with formatter.section("Options of many verbs"):
            formatter.write_dl([record for record in records if record])

    def _load(self, module: str | None = None) -> None:
        for name in [module] if module else _MODULES:
            import_module(f"{__package__}.{name}")  # adds its verbs


@click.group(
    cls=_LazyVerbs,
    context_settings=HELP,
    epilog=(
        "Exit status: 0 success, 1 a defect of pgcjax, 2 wrong use or data, 3 out of "
        "memory, 4 and 5 see gate, 130 interrupted."
    ),
)
@click.version_option(__version__, "-V", "--version", message="pgcjax %(version)s")
def cli() -> None:
    """Score search runs against pairwise preferences: Greedy PGC and compatibility.

    FILE and RUN are files, folders or quoted glob patterns; .gz .bz2 .xz .zst too.
    """
    limit = address_space()
    if limit and limit < LEAST_ADDRESSES:  # libraries would abort without a message
        say(
            f"error: out of memory: a limit (ulimit -v) leaves {limit >> 20:,} MiB of "
            f"addresses, and libraries need {LEAST_ADDRESSES >> 20:,} MiB. Raise it.",
            always=True,
        )
        click.get_current_context().exit(OUT_OF_MEMORY)


@cli.group(cls=JudgmentVerbs)
def judgments() -> None:
    """Judgments and judges: agreement, audit, models, and which to make next."""


@cli.group(cls=Verbs)
def rankings() -> None:
    """Pairs of rankings: rank-biased overlap, and which of two is preferred."""


@cli.group(cls=Verbs)
def files() -> None:
    """Files: check, pack and merge them, or simulate a collection."""


@cli.group(cls=MeasureVerbs)
def measures() -> None:
    """List the measures, explain one, or test how well measures separate runs.

    `pgcjax measures nDCG@10` explains a measure.
    """


@cli.command()
@output_option(
    "File of all scores",
    SCORE_SUFFIXES,
    default="pgcjax-demo-scores.csv",
)
def demo(output: str) -> None:
    """Score the runs of the embedded collection and show a leaderboard."""
    from pgcjax.datasets.files import demo_folder
    from pgcjax.engine.evaluate import evaluate as score
    from pgcjax.engine.job import Job
    from pgcjax.io.remote import path_of
    from pgcjax.reporting.leaderboard import leaderboard, show

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
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script with which a shell completes verbs, options and file names.

    Add it to the file that your shell reads when it starts.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete
    click.echo(complete(cli, {}, "pgcjax", "_PGCJAX_COMPLETE").source())


@cli.command()
def devices() -> None:
    """List the devices that JAX would compute on, and the program that peels."""
    import jax

    from pgcjax.engine.peel_programs import peel_choice
    from pgcjax.runtime.devices import default_backend

    click.echo(f"jax {jax.__version__}, {default_backend()}")
    for device in jax.local_devices():
        click.echo(f"{device.id}: {device.device_kind}")
    choice = peel_choice()
    why = f" ({'; '.join(choice.reasons)})" if choice.reasons else ""
    click.echo(f"peel: {choice.name}{why}")
