"""The parts of a job: files of scores that belong together, and folders of them."""

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError
from pgcjax.io.remote import find, is_remote, unwritable
from pgcjax.io.schema import shorten
from pgcjax.io.scores.parquet import ScoreFile, parquet_scores
from pgcjax.io.scores.source import ScoreSource

_SHOWN = 10  # missing parts that a message names
_NAME = re.compile(r"([1-9][0-9]*)-of-([1-9][0-9]*)\.parquet")
_MEND = "Name a new folder, or one that has scores of this job alone."


def open_parquet(
    path: str | os.PathLike,
) -> tuple[ScoreSource, dict[str, Any]] | None:
    """Open a file of scores in Parquet, or a folder of the parts of a job.

    Returns:
        The scores and their metadata; None if the path is neither.

    Raises:
        DataError: a file is damaged; or a part is missing, occurs twice, or is from
            another job.
    """
    paths, folder = _listed(path)
    if not folder:
        one = ScoreFile.open(paths[0]) if len(paths) == 1 else None
        return one and (parquet_scores([one]), one.about)
    if not any(_NAME.fullmatch(file.name) for file in paths):
        return None
    files = []
    for file in paths:
        part = ScoreFile.open(file) if _NAME.fullmatch(file.name) else None
        if part is None:
            raise DataError(
                "is no part of a job in a folder of such parts",
                where=str(file),
                mend="Move it away.",
            )
        files.append(part)
    runs = [[run for group in file.runs for run in group] for file in files]
    names = [str(file.path) for file in files]
    return parquet_scores(files), job_of([file.about for file in files], runs, names)


def _listed(path: str | os.PathLike) -> tuple[Sequence[Path], bool]:
    """List the files of a folder, or the one file; return whether it is a folder."""
    if is_remote(path):
        return find(path)
    if os.path.isdir(path):
        return [Path(path, name) for name in _named(path)], True
    return [Path(path)], False


def shares(folder: str | os.PathLike, places: Sequence[int], n: int) -> ScoreSource:
    """Open parts that processes of one job have just written.

    Raises:
        DataError: a part is damaged, or gone.
    """
    files = [ScoreFile.open(part_path(folder, i, n)) for i in places]
    parts = [file for file in files if file]
    if len(parts) < len(files):
        raise DataError("a part is gone, or another file", where=str(folder))
    return parquet_scores(parts)


def part_path(folder: str | os.PathLike, i: int, n: int) -> Path:
    """Return the path of the i-th of n parts (from 1) in a folder of parts."""
    return Path(folder, f"{i}-of-{n}.parquet")


def make_room(folder: str | os.PathLike, n: int) -> None:
    """Make a folder for n parts of a job, if it does not exist.

    Raises:
        DataError: the folder has anything else, or cannot be made.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "Name another one.") from None
    for name in _named(folder):
        part = _NAME.fullmatch(name)
        if not part or int(part[2]) != n:
            target = f"one of {n} parts" if n > 1 else "all scores as one part"
            raise DataError(
                f"has {name!r}: this call writes {target} there",
                where=str(folder),
                mend=_MEND,
            )


def _named(folder: str | os.PathLike) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name[0] != ".")
    except OSError as error:
        raise DataError(
            f"cannot read it: {error.strerror}", where=str(folder)
        ) from None


def job_of(
    metadata: Sequence[dict[str, Any]],
    runs: Sequence[Sequence[str]],
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the metadata of the whole job from those of its parts.

    Args:
        metadata: Metadata of each part, with `part: [i, n]`, 1 <= i <= n.
        runs: Runs of each part.
        names: Name of each part in messages.

    Raises:
        DataError: a part is missing, occurs twice, or is from another job.
    """
    jobs = [{k: v for k, v in about.items() if k != "part"} for about in metadata]
    places = [_place(about, name) for about, name in zip(metadata, names, strict=True)]
    total = places[0][1]
    seen: dict[int, str] = {}
    parts: dict[str, str] = {}
    for run_ids, job, name, (i, n) in zip(runs, jobs, names, places, strict=True):
        if n != total or job != jobs[0]:
            other = [k for k in {**job, **jobs[0]} if job.get(k) != jobs[0].get(k)]
            why = f"it differs in {other[0]}" if other else f"it is one of {n} parts"
            raise DataError(
                f"belongs to another job than {names[0]}: {why}", where=name
            )
        if i in seen:
            raise DataError(f"is part {i}/{n}, as {seen[i]} is", where=name)
        seen[i] = name
        for run in run_ids:
            if run in parts:
                raise DataError(f"scores run {run!r}, as {parts[run]} does", where=name)
            parts[run] = name
    if count := total - len(seen):
        absent = (f"{i}/{total}" for i in range(1, total + 1) if i not in seen)
        shown = ", ".join(islice(absent, _SHOWN)) + ", …" * (count > _SHOWN)
        raise DataError(f"parts are missing: {shown}", mend="Add them.")
    return jobs[0]


def _place(about: dict[str, Any], name: str) -> tuple[int, int]:
    """Return the number of a part, and the number of all parts."""
    place = about.get("part")
    if place is None:
        raise DataError("is no part of a job (evaluate --part I/N)", where=name)
    match place:
        case [i, n] if type(i) is type(n) is int and 1 <= i <= n:
            return i, n
    raise DataError(
        "expected the place of a part, such as [3, 16] of 16 parts, as 'part' in its "
        f"metadata, found {shorten(place)}",
        where=name,
        mend="Restore what evaluate --part wrote, or score the part again.",
    )
