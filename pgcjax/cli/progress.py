"""Messages and progress on stderr: a bar on a terminal, lines elsewhere."""

import sys
import time
from typing import Any

import click

_EVERY = 10.0  # seconds between lines where there is no terminal
_bar: Any = None  # the one that is on the screen


def say(message: str) -> None:
    """Print a line on stderr, above the bar if there is one."""
    text = f"pgcjax: {message}"
    if _bar is None:
        click.echo(text, err=True)
    else:
        _bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


class Progress:
    """Show how far the stages of a job have come.

    Use as a context manager and pass `update` on as a callback.
    """

    def __init__(self, silent: bool = False):
        self._silent = silent
        self._tasks: dict[str, Any] = {}
        self._last = time.monotonic()

    def __enter__(self) -> "Progress":
        global _bar
        if sys.stderr.isatty() and not self._silent:
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
        """Say that `done` of `total` steps of a stage are done."""
        if _bar is not None:
            if stage not in self._tasks:
                self._tasks[stage] = _bar.add_task(stage, total=total)
            _bar.update(self._tasks[stage], completed=done, total=total)
        elif not self._silent and time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            say(f"{stage} {done}/{total}")
