"""Finished chunks of a job on disk, so that it can be stopped and go on."""

import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.tables.write import written_beside

_ABOUT = "job.json"


@dataclass(frozen=True)
class Chunk:
    """What scoring found out about some whole runs.

    Attributes:
        run_ids: the runs.
        query_ids: queries that any of them answers, judged or not.
        has: bool `[runs, judged queries]`: which run answers which.
        parts: `[runs, queries]` of each measure, for its own queries: sums of weights
            (int64), or scores (float64).
    """

    run_ids: list[str]
    query_ids: set[str]
    has: np.ndarray
    parts: list[np.ndarray]

    def save(self, file: Any, **more: Any) -> None:
        """Write it to a file or a path, and more arrays with it."""
        np.savez(
            file,
            run_ids=np.array(self.run_ids, np.str_),
            query_ids=np.array(sorted(self.query_ids), np.str_),
            has=self.has,
            **{f"part{i}": part for i, part in enumerate(self.parts)},
            **more,
        )

    @classmethod
    def load(cls, file: Any, **more: Any) -> "Chunk":
        """Read it back.

        Raises:
            ValueError: one of `more` is not what was written.
        """
        with np.load(file) as arrays:
            if any(arrays[name] != value for name, value in more.items()):
                raise ValueError("it was written for something else")
            count = sum(key.startswith("part") for key in arrays.files)
            parts = [arrays[f"part{i}"] for i in range(count)]
            ids = arrays["run_ids"].tolist(), set(arrays["query_ids"].tolist())
            return cls(*ids, arrays["has"], parts)


class Journal:
    """A folder with the finished chunks of a job; made when there is something to keep.

    A chunk covers some units of the job, and is found again as long as they are what
    they were.
    """

    def __init__(
        self, folder: str | os.PathLike, job: dict[str, Any], units: Sequence[str]
    ):
        """Open the journal of a job.

        Args:
            folder: need not exist.
            job: all that every chunk depends on.
            units: what each unit is.

        Raises:
            DataError: the folder has chunks of another job.
        """
        self.folder, self._job, self._units = Path(folder), job, units
        check_job(self.folder, job)

    def save(self, first: int, end: int, chunk: Chunk) -> None:
        """Keep the chunk of the units from `first` up to `end`, whole or not at all.

        Raises:
            DataError: the folder cannot be written.
        """
        begin(self.folder, self._job)
        with written_beside(self.folder / f"{first}-{end}.npz") as beside:
            chunk.save(beside, units=self._name(first, end))

    def load(self) -> tuple[int, list[Chunk]]:
        """Give finished chunks from the first unit on, and how many units those are."""
        kept: dict[int, tuple[int, Path]] = {}
        for path in self.folder.glob("*-*.npz"):
            first, _, end = path.stem.partition("-")
            if first.isdecimal() and end.isdecimal():
                kept[int(first)] = max(
                    kept.get(int(first), (0, path)), (int(end), path)
                )
        done, chunks = 0, []
        while done in kept:
            end, path = kept[done]
            try:
                chunks.append(Chunk.load(path, units=self._name(done, end)))
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                break  # it is computed again
            done = end
        return done, chunks

    def _name(self, first: int, end: int) -> str:
        return sha256("\n".join(self._units[first:end]).encode()).hexdigest()


def check_job(folder: Path, job: dict[str, Any]) -> None:
    """Refuse a folder with finished work of another job.

    Raises:
        DataError: it has some.
    """
    try:
        known = json.loads((folder / _ABOUT).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError):
        known = {}
    differs = [key for key in job if known.get(key) != job[key]]
    if differs:
        raise DataError(
            f"has finished work of another job: it differs in {differs[0]}",
            where=str(folder),
            mend="Start without --resume, or remove the folder.",
        )


def begin(folder: Path, job: dict[str, Any]) -> None:
    """Make the folder of a job, if it is not there.

    Raises:
        DataError: it cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot keep finished work there: {error.strerror}", where=str(folder)
        ) from None
    if not (folder / _ABOUT).exists():
        with written_beside(folder / _ABOUT) as beside:
            beside.write_text(json.dumps(job))


def remove(folder: str | os.PathLike) -> bool:
    """Remove a journal, and say whether there was one; other files stay."""
    folder = Path(folder)
    paths = [*folder.glob("*-*.npz"), *folder.glob(_ABOUT)]
    for path in paths:
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return bool(paths)


def together(chunks: Sequence[Chunk]) -> Chunk:
    """Put chunks of different runs together, runs ascending.

    Raises:
        DataError: a run is in two of them.
    """
    run_ids = [run for chunk in chunks for run in chunk.run_ids]
    ascending = sorted(range(len(run_ids)), key=run_ids.__getitem__)
    names = [run_ids[i] for i in ascending]
    for name, after in zip(names, names[1:], strict=False):
        if name == after:
            raise DataError(f"run {name!r} comes twice", mend="Give each run once.")
    has = np.concatenate([chunk.has for chunk in chunks])[ascending]
    parts = [
        np.concatenate(each)[ascending]
        for each in zip(*(chunk.parts for chunk in chunks), strict=True)
    ]
    query_ids = {query for chunk in chunks for query in chunk.query_ids}
    return Chunk(names, query_ids, has, parts)
