"""What verbs write: apart from what they read, and beside it work to go on with."""

import glob
import os
from pathlib import Path
from typing import Any

import click

from pgcjax._aliases import OPTIONS
from pgcjax.cli.examples import EXAMPLES
from pgcjax.report.progress import be_quiet, say


class Target(click.Path):
    """A path that a verb writes.

    Args:
        beside: patterns of what else is written: `path` is the path in them, and `stem`
            the path without its suffix.
    """

    def __init__(self, *beside: str):
        super().__init__(path_type=str)
        self._beside = beside

    def patterns(self, path: str) -> list[str]:
        """List the patterns of what is written with a path."""
        path = glob.escape(path)
        stem = os.path.splitext(path)[0]
        return [pattern.format(path=path, stem=stem) for pattern in self._beside]


ALONE = Target()
WITH_WORK = Target(
    *("{path}.partial", "{path}.partial/*", "{path}.partial.*-of-*/*", "{path}/*")
)
"""A file beside which finished work is kept, or a folder in which it is."""


def _hush(ctx: click.Context, option: click.Parameter, quiet: bool) -> None:
    be_quiet(quiet)


class Verb(click.Command):
    """A verb, which overwrites nothing that it reads, and is quiet if asked to be."""

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        quiet = click.Option(
            ["--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_hush,
            help="No progress and no notes on stderr: warnings and errors only.",
        )
        self.params.append(quiet)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the example of the verb."""
        _example(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options; of one that the verb had, say where it is now."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            place = OPTIONS.get((self.name or "", error.option_name))
            if place is None:
                raise
            raise click.UsageError(
                f"{self.name} has no {error.option_name}: {place}", ctx
            ) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse a call that would, before any work."""
        given = [(p.type, ctx.params.get(p.name or "")) for p in self.params]
        paths = [(t, v) for t, v in given if isinstance(t, click.Path) and v]
        targets = [(v, t.patterns(v)) for t, v in paths if isinstance(t, Target)]
        if targets:
            from pgcjax.io.targets import keep_apart

            keep_apart(targets, [v for t, v in paths if not isinstance(t, Target)])
        return super().invoke(ctx)


class Verbs(click.Group):
    """A verb that has verbs of its own."""

    command_class = Verb

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show an example of one of them."""
        _example(ctx, formatter)


def _example(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    with formatter.section("Example"):
        verb = ctx.command_path.partition(" ")[2]
        formatter.write_text(f"pgcjax {verb} {EXAMPLES[verb]}".strip())


def kept_work(output: str | None, resume: bool, of: str = "") -> Path | None:
    """Give the folder beside an output file where finished work is kept.

    What is there from an earlier call is dropped, unless this call is to `resume` it.

    Args:
        output: the file; there is no folder without it.
        resume: as the option says.
        of: which process it is of, as a suffix.

    Raises:
        click.UsageError: there is nothing to resume. DataError: the folder is not of
            pgcjax.
    """
    if not output:
        if resume:
            raise click.UsageError("--resume needs -o FILE, beside which work is kept")
        return None
    from pgcjax.io.checkpoint import check_folder, remove
    from pgcjax.io.remote import is_remote, path_of

    # Work on a file elsewhere is kept in this folder, not in its store.
    kept = Path(f"{path_of(output).name if is_remote(output) else output}.partial{of}")
    check_folder(kept)
    if not resume and remove(kept):
        say(f"{kept}: dropped; --resume would have gone on with it")
    return kept
