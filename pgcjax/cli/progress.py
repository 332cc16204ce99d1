"""Progress on stderr: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from typing import Any

_EVERY = 10.0  # seconds between lines where there is no terminal


class Progress:
    """Show how far the stages of a job have come.

    Use as a context manager and pass `update` on as a callback.
    """

    def __init__(self):
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._last = time.monotonic()

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, stage: str, done: int, total: int) -> None:
        """Say that `done` of `total` steps of a stage are done."""
        if self._bar:
            if stage not in self._tasks:
                self._tasks[stage] = self._bar.add_task(stage, total=total)
            self._bar.update(self._tasks[stage], completed=done, total=total)
        elif time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            print(f"pgcjax: {stage} {done}/{total}", file=sys.stderr, flush=True)
