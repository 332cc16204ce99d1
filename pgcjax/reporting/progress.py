"""Messages and progress on stderr: a bar on a terminal, lines elsewhere."""

import sys
import time
from typing import Any

import click

from pgcjax.errors import printable

_bar: Any = None  # the bar of rich on the screen
_quiet = False


def be_quiet(quiet: bool) -> None:
    """Turn progress and notes off, or on again."""
    global _quiet
    _quiet = quiet


def say(message: str, always: bool = False) -> None:
    """Print a line on stderr, above the bar if there is one.

    Args:
        message: The line.
        always: Whether it is printed even if the user asked for quiet.
    """
    if _quiet and not always:
        return
    text = printable(f"pgcjax: {message}", keep="\n")
    if _bar is None:
        click.echo(text, err=True)
    else:
        _bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


class ProgressDisplay:
    """Progress of the stages of a job, shown on stderr.

    It is a context manager, whose `update` is a `pgcjax.errors.Progress`.

    Args:
        silent: Whether nothing is shown, as in all processes of a job but one.
        every: Seconds between two lines, where stderr is no terminal.
    """

    def __init__(self, silent: bool = False, every: float = 10.0):
        self._silent, self._every = silent, every
        self._tasks: dict[str, Any] = {}
        self._last = time.monotonic()

    def __enter__(self) -> "ProgressDisplay":
        global _bar
        if sys.stderr.isatty() and not (self._silent or _quiet):
            from rich.console import Console
            from rich.progress import Progress as Bar

            _bar = Bar(console=Console(stderr=True), transient=True)
            _bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        global _bar
        if _bar is not None:
            _bar.stop()
            _bar = None

    def update(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of a stage are done.

        The part of `stage` after `: ` may change from call to call.
        """
        name, _, note = stage.partition(": ")
        if _bar is not None:
            if name not in self._tasks:
                self._tasks[name] = _bar.add_task(name, total=total)
            task = self._tasks[name]
            _bar.update(task, completed=done, total=total, description=stage)
        elif not self._silent and time.monotonic() - self._last > self._every:
            self._last = time.monotonic()
            say(f"{name} {done}/{total}{f', {note}' if note else ''}")
