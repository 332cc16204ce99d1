"""Finished work of a job on disk, so that the job can be stopped and go on."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.write import written_beside

_ABOUT = "job.json"


class Checkpoint:
    """A folder with named pieces of finished work; made when there is one to keep.

    Attributes:
        folder: need not exist.
    """

    def __init__(self, folder: str | os.PathLike, job: Mapping[str, Any]):
        """Open the checkpoint of a job: all that every piece depends on, as JSON.

        Raises:
            DataError: the folder has finished work of another job.
        """
        self.folder, self._job = Path(folder), dict(job)
        try:
            saved = json.loads((self.folder / _ABOUT).read_text())
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError):
            saved = {}
        differs = [key for key in self._job if saved.get(key) != self._job[key]]
        if differs:
            raise DataError(
                f"has finished work of another job: it differs in {differs[0]}",
                where=str(self.folder),
                mend="Remove the folder, or name another journal; on the command line, "
                "start without --resume.",
            )

    def save(self, name: str, **arrays: np.ndarray) -> None:
        """Keep a piece, whole or not at all.

        Raises:
            DataError: the folder cannot be written.
        """
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot keep finished work there: {error.strerror}",
                where=str(self.folder),
            ) from None
        if not (self.folder / _ABOUT).exists():
            with written_beside(self.folder / _ABOUT) as beside:
                beside.write_text(json.dumps(self._job))
        with written_beside(self.folder / f"{name}.npz") as beside:
            np.savez(beside, allow_pickle=False, **arrays)

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """Give the arrays of a piece; None if there is none, or it is damaged."""
        try:
            with np.load(self.folder / f"{name}.npz") as piece:
                return {key: piece[key] for key in piece.files}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def names(self) -> list[str]:
        """List the pieces."""
        return [path.stem for path in self.folder.glob("*-*.npz")]


def remove(folder: str | os.PathLike) -> bool:
    """Remove a checkpoint, and say whether there was one; other files stay."""
    folder = Path(folder)
    paths = [*folder.glob("*-*.npz"), *folder.glob(_ABOUT)]
    for path in paths:
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return bool(paths)
