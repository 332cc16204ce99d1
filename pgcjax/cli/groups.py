"""Groups of verbs that answer calls of before the redesign, or need no verb."""

import shlex
from collections.abc import Sequence

import click

from pgcjax.cli.verbs import Verbs

_HELP = ("-h", "--help")
_AUDIT, _FIT = "--audit", "--strengths"


def moved(
    old: str, new: str, rest: Sequence[str], ctx: click.Context
) -> click.UsageError:
    """Make the error of a verb that has another name now, with the call to paste."""
    call = shlex.join(["pgcjax", *new.split(), *rest])
    return click.UsageError(f"pgcjax {old} is pgcjax {new} now: {call}", ctx)


class JudgmentVerbs(Verbs):
    """The verbs of `judgments`, which was one verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a call; of one without a verb, tell the call of today."""
        if args and args[0].startswith("-") and args[0] not in _HELP:
            given = {option.partition("=")[0] for option in args}
            verb = "audit" if _AUDIT in given else "fit" if _FIT in given else "agree"
            rest = [a.replace(_FIT, "--model") for a in args if a != _AUDIT]
            raise moved("judgments", f"judgments {verb}", rest, ctx)
        return super().parse_args(ctx, args)


class MeasureVerbs(Verbs):
    """The verbs of `measures`: without one, `show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a call; the name of a measure, or nothing, is one of `show`."""
        if not args or args[0] not in (*self.commands, *_HELP):
            args = ["show", *args]
        return super().parse_args(ctx, args)
