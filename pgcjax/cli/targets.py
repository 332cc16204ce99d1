"""Outputs of verbs, which differ from their inputs, and finished work beside them."""

import glob
import os
from pathlib import Path

import click

from pgcjax.reporting.progress import say


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


def kept_work(output: str | None, resume: bool, of: str = "") -> Path | None:
    """Return the folder beside an output file where finished work is kept.

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
            raise click.UsageError(
                "--resume needs -o FILE: finished work is stored beside it"
            )
        return None
    from pgcjax.io.checkpoint import check_folder, remove
    from pgcjax.io.remote import is_remote, path_of

    # Work on a file elsewhere is kept in this folder, not in its store.
    folder = Path(
        f"{path_of(output).name if is_remote(output) else output}.partial{of}"
    )
    check_folder(folder)
    if not resume and remove(folder):
        say(f"{folder}: discarded; --resume would have continued it")
    return folder
