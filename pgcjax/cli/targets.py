"""Outputs of verbs: files, folders of parts, and finished work beside them."""

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from pgcjax.errors import Progress
from pgcjax.reporting.progress import say

if TYPE_CHECKING:
    from pgcjax.runtime.processes import Processes
    from pgcjax.stats.scores import Scores


class Target(click.Path):
    """A path that a verb writes.

    Args:
        beside: Patterns of other files that are written; `path` in them is the path,
            and `stem` the path without its suffix.
    """

    def __init__(self, *beside: str):
        super().__init__(path_type=str)
        self._beside = beside

    def patterns(self, path: str) -> list[str]:
        """List the patterns of all files that are written with a path."""
        path = glob.escape(path)
        stem = os.path.splitext(path)[0]
        return [pattern.format(path=path, stem=stem) for pattern in self._beside]


ALONE = Target()
WITH_WORK = Target(
    *("{path}.partial", "{path}.partial/*", "{path}.partial.*-of-*/*", "{path}/*")
)
"""A file with finished work beside it, or a folder with finished work in it."""


def is_folder(path: str | None) -> bool:
    """Return whether a path names a folder, by a slash at its end."""
    return bool(path) and str(path).endswith(("/", os.sep))


def kept_work(output: str | None, resume: bool, of: str = "") -> Path | None:
    """Return the folder beside an output file where finished work is kept.

    Work of an earlier call is deleted, unless this call is to `resume` it.

    Args:
        output: The file; None makes no folder.
        resume: Value of the option.
        of: Suffix that identifies the process.

    Raises:
        click.UsageError: there is nothing to resume. DataError: the folder was not made
            by pgcjax.
    """
    if not output:
        if resume:
            raise click.UsageError(
                "--resume needs -o FILE: finished work is stored beside it"
            )
        return None
    from pgcjax.io.checkpoint import check_folder, remove
    from pgcjax.io.remote import is_remote, path_of

    # Work on a remote file is kept in the current folder.
    folder = Path(
        f"{path_of(output).name if is_remote(output) else output}.partial{of}"
    )
    check_folder(folder)
    if not resume and remove(folder):
        say(f"{folder}: discarded; --resume would have continued it")
    return folder


class PartFolder(NamedTuple):
    """A folder of parts, of which each process writes one.

    Attributes:
        path: Path of the folder.
        part: Part of the run files that is scored, and number of parts.
        processes: Processes that share it.
    """

    path: str
    part: tuple[int, int]
    processes: "Processes | None"

    @classmethod
    def of(
        cls,
        output: str | None,
        part: tuple[int, int] | None = None,
        processes: "Processes | None" = None,
    ) -> "PartFolder | None":
        """Make the folder; return None if the output is no folder."""
        if output is None or not is_folder(output):
            return None
        from pgcjax.io.scores.parts import make_room

        folder = cls(output, part or (1, 1), processes)
        make_room(output, folder.total)
        return folder

    @property
    def total(self) -> int:
        """Number of parts: run files are distributed to all processes."""
        return self.part[1] * (self.processes.count if self.processes else 1)

    @property
    def places(self) -> list[int]:
        """Numbers of the parts that the processes write."""
        return list(range(self.part[0], self.total + 1, self.part[1]))

    @property
    def place(self) -> int:
        """Number of the part that this process writes."""
        return self.places[self.processes.number if self.processes else 0]

    @property
    def target(self) -> Path:
        """The file that this process writes."""
        from pgcjax.io.scores.parts import part_path

        return part_path(self.path, self.place, self.total)

    def kept_work(self, resume: bool) -> Path | None:
        """Return the folder of finished work, which readers of the data set ignore."""
        return kept_work(str(self.target.with_name(f".{self.target.name}")), resume)

    def save(self, scores: "Scores", progress: Progress) -> "Scores":
        """Write this process's part, and return the scores of all processes."""
        scores.metadata["part"] = [self.place, self.total]
        scores.save(self.target, progress=progress)
        if self.processes is None:
            return scores
        from pgcjax.engine.distributed import total
        from pgcjax.io.scores.parts import shares
        from pgcjax.stats.scores import Scores

        total(self.processes, lambda: scores.count)  # waits until all have written
        if self.processes.number:
            return scores
        every = shares(self.path, self.places, self.total)
        return Scores(every, scores.metadata, scores.notes)
