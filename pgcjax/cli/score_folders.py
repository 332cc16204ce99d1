"""Folders of scores, in which processes and parts of a job write side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pgcjax.cli.options import is_folder
from pgcjax.cli.targets import kept_work
from pgcjax.errors import Progress

if TYPE_CHECKING:
    from pgcjax.runtime.processes import Processes
    from pgcjax.stats.scores import Scores


class PartFolder(NamedTuple):
    """A folder of parts, of which each process writes one.

    Attributes:
        path: of the folder.
        part: which part of the run files is scored, and of how many.
        processes: those that share it.
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
        """Make the folder; None if the output is no folder."""
        if output is None or not is_folder(output):
            return None
        from pgcjax.io.scores.parts import make_room

        folder = cls(output, part or (1, 1), processes)
        make_room(output, folder.total)
        return folder

    @property
    def total(self) -> int:
        """Number of parts: run files are dealt out to all processes."""
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
        """Return the folder of finished work; readers of the data set look past it."""
        return kept_work(str(self.target.with_name(f".{self.target.name}")), resume)

    def save(self, scores: "Scores", progress: Progress) -> "Scores":
        """Write this process's part, and give the scores of all processes."""
        scores.metadata["part"] = [self.place, self.total]
        scores.save(self.target, progress=progress)
        if self.processes is None:
            return scores
        from pgcjax.engine.distributed import total
        from pgcjax.io.scores.parts import shares
        from pgcjax.stats.scores import Scores

        total(self.processes, lambda: scores.count)  # all have written theirs
        if self.processes.number:
            return scores
        every = shares(self.path, self.places, self.total)
        return Scores(every, scores.metadata, scores.notes)
