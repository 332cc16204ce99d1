"""Base of all verbs and groups: help, shared options, refusals."""

import shlex
from collections.abc import Sequence
from typing import Any

import click

from pgcjax._aliases import OPTIONS
from pgcjax.cli.examples import EXAMPLES
from pgcjax.cli.targets import Target
from pgcjax.reporting.progress import be_quiet

_HEADINGS = {
    "Judgments": "prefs qrels intent-qrels context judge judges votes bad",
    "Runs and measures": "measure missing order only-judged verify",
    "Statistics": "test correction alpha resamples interval replicates resample seed "
    "pairs baseline ranks rectify precision required score-intervals",
    "Output": "output score-format spreadsheet format top per-query means-only title "
    "runs-output pairs-output judges-output scores-output replicates-output bounds "
    "figures",
    "Large jobs": "resume part dry-run distributed",
}
"""The headings of help, in order, and the options below each; others come first."""

_HELP = ("-h", "--help")
_AUDIT, _FIT = "--audit", "--strengths"
_HEADING_OF = {
    f"--{name}": heading
    for heading, names in _HEADINGS.items()
    for name in names.split()
}


class SharedOption(click.Option):
    """An option that means the same in many verbs: `pgcjax --help` explains it."""


def _quiet_option() -> SharedOption:
    return SharedOption(
        ["--quiet"],
        is_flag=True,
        expose_value=False,
        callback=lambda context, option, quiet: be_quiet(quiet),
        help="No progress and no notes on stderr: warnings and errors only.",
    )


class Verb(click.Command):
    """A verb, which never overwrites its input, and has the option --quiet.

    `params` are its own options; `shared` are those that `pgcjax --help` explains.
    """

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.shared = [p for p in self.params if isinstance(p, SharedOption)]
        self.shared.append(_quiet_option())
        self.params = [p for p in self.params if p not in self.shared]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List all parameters: own, shared, and --help."""
        *params, last = super().get_params(ctx)
        return [*params, *self.shared, last]

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Show own options under headings, and name shared ones."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        sections |= {heading: [] for heading in _HEADINGS}
        for option in super().get_params(ctx):
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                headings = (_HEADING_OF.get(name) for name in option.opts)
                heading = next(filter(None, headings), "Options")
                sections[heading].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        with formatter.section("Also, as pgcjax --help explains"):
            formatter.write_text(" ".join(option.opts[0] for option in self.shared))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the example of the verb."""
        _example(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options; for a former option, name its successor."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            verb = ctx.command_path.partition(" ")[2]
            place = OPTIONS.get((verb, error.option_name))
            if place is None:
                raise
            raise click.UsageError(
                f"{verb} has no {error.option_name}: {place}", ctx
            ) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse a call that would overwrite its input, before any work."""
        options = *self.params, *self.shared
        given = [(p.type, ctx.params.get(p.name or "")) for p in options]
        paths = [(t, v) for t, v in given if isinstance(t, click.Path) and v]
        targets = [
            (path, t.patterns(path))
            for t, v in paths
            if isinstance(t, Target)
            for path in ((v,) if isinstance(v, str) else v)
        ]
        if targets:
            from pgcjax.io.targets import keep_apart

            keep_apart(targets, [v for t, v in paths if not isinstance(t, Target)])
        return super().invoke(ctx)


class Verbs(click.Group):
    """A verb with subordinate verbs."""

    command_class = Verb

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show an example of one of its verbs."""
        _example(ctx, formatter)


def shared_options(group: click.Group, ctx: click.Context) -> dict[str, SharedOption]:
    """Return the shared options of the verbs in a group, by name."""
    options: dict[str, SharedOption] = {}
    for name in group.list_commands(ctx):
        verb = group.get_command(ctx, name)
        if isinstance(verb, click.Group):
            options |= shared_options(verb, ctx)
        elif isinstance(verb, Verb):
            options |= {option.opts[0]: option for option in verb.shared}
    return options


def _example(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    with formatter.section("Example"):
        verb = ctx.command_path.partition(" ")[2]
        formatter.write_text(f"pgcjax {verb} {EXAMPLES[verb]}".strip())


def moved(
    old: str, new: str, rest: Sequence[str], ctx: click.Context
) -> click.UsageError:
    """Make the error for a renamed verb, with the new call to paste."""
    call = shlex.join(["pgcjax", *new.split(), *rest])
    return click.UsageError(f"pgcjax {old} is pgcjax {new} now: {call}", ctx)


class JudgmentVerbs(Verbs):
    """The verbs of `judgments`, which was a single verb before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a call; without a verb, name the present call."""
        if args and args[0].startswith("-") and args[0] not in _HELP:
            given = {option.partition("=")[0] for option in args}
            verb = "audit" if _AUDIT in given else "fit" if _FIT in given else "agree"
            rest = [a.replace(_FIT, "--model") for a in args if a != _AUDIT]
            raise moved("judgments", f"judgments {verb}", rest, ctx)
        return super().parse_args(ctx, args)


class MeasureVerbs(Verbs):
    """The verbs of `measures`; without a verb, `show` is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a call; with the name of a measure, or nothing, it calls `show`."""
        if not args or args[0] not in (*self.commands, *_HELP):
            args = ["show", *args]
        return super().parse_args(ctx, args)
