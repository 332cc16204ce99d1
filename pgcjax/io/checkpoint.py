"""Finished work of a job on disk, so that a stopped job can be continued."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile
from zlib import crc32

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import seal
from pgcjax.io.nest import sweep
from pgcjax.io.remote import local_folder
from pgcjax.io.write import unsealed, written_beside

_ABOUT = "job.json"
_BEGINS = (b'{"crc32": "', b'{"version": "')  # the second is of earlier versions
_PIECE = re.compile(r"(\d+-\d+|finished-blocks)\.npz")
_LOCAL = 30  # bytes before the name of a member of an archive
_MARK = b"pgcj"  # at the end of a piece, before its checksum
_AWAY = "Move it away, or name another output file or journal."


class Checkpoint:
    """A folder with named pieces of finished work; made when the first is saved.

    Attributes:
        folder: Path of the folder, which need not exist.
    """

    def __init__(self, folder: str | os.PathLike, job: Mapping[str, Any]):
        """Open the checkpoint of a job, given as all that its pieces depend on.

        Raises:
            DataError: the folder has finished work of another job, has damaged work, or
                is not of pgcjax.
        """
        check_folder(folder)
        self.folder, self._job = Path(folder), dict(job)
        # Each checksum begins with the job, so pieces of another job do not fit.
        self._crc = crc32(json.dumps(self._job).encode())
        about = self.folder / _ABOUT
        mend = (
            "Remove the folder, or name another journal; on the command line, start "
            "without --resume."
        )
        try:
            data = about.read_bytes()
            seal.check(data, str(about), mend)
            saved = json.loads(data)
        except FileNotFoundError:
            return
        except (OSError, json.JSONDecodeError) as error:
            problem = f"cannot read it: {error}"
            raise DataError(problem, where=str(about), mend=mend) from None
        differs = [key for key in self._job if saved.get(key) != self._job[key]]
        if differs:
            raise DataError(
                f"holds finished work of another job: it differs in {differs[0]}",
                where=str(self.folder),
                mend=mend,
            )

    def save(self, name: str, **arrays: np.ndarray) -> None:
        """Save a piece, whole or not at all.

        Raises:
            DataError: the folder cannot be written.
        """
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot store finished work there: {error.strerror}",
                where=str(self.folder),
            ) from None
        if not (self.folder / _ABOUT).exists():
            with written_beside(self.folder / _ABOUT, sealed=True) as beside:
                beside.write_text(json.dumps(unsealed(self._job)), "utf-8")
        with written_beside(self.folder / f"{name}.npz") as beside:
            # Without allow_pickle, of which numpy 2.0 makes an array; stubs want Any.
            np.savez(beside, **dict[str, Any](arrays))
            with beside.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                crc = seal.checksum(file, 0, size, self._crc)
                file.write(_MARK + crc.to_bytes(4))

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of a piece; None if there is none, or it is damaged."""
        try:
            with (self.folder / f"{name}.npz").open("rb") as file:
                size = file.seek(0, os.SEEK_END) - 8
                crc = seal.checksum(file, 0, size, self._crc)
                if file.read() != _MARK + crc.to_bytes(4):
                    return None
                file.seek(0)
                with np.load(file) as piece:
                    return {key: piece[key] for key in piece.files}
        except OSError:
            return None

    def views(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of a piece after `save` or `load`, mapped from disk.

        Raises:
            DataError: the piece is gone.
        """
        path = self.folder / f"{name}.npz"
        try:
            with path.open("rb") as file, ZipFile(file) as archive:
                return {
                    Path(member.filename).stem: _view(path, file, member.header_offset)
                    for member in archive.infolist()
                }
        except (OSError, BadZipFile, ValueError) as error:
            raise DataError(
                f"cannot read finished work again: {error}",
                where=str(path),
                mend="Repeat the same call, and do not change the folder.",
            ) from None

    def names(self) -> list[str]:
        """List the pieces."""
        return [path.stem for path in _ours(self.folder) if path.name != _ABOUT]


def _view(path: Path, file: IO[bytes], start: int) -> np.ndarray:
    """Map an array of an archive that is not compressed."""
    file.seek(start)
    head = file.read(_LOCAL)
    name, extra = (int.from_bytes(head[i : i + 2], "little") for i in (26, 28))
    file.seek(name + extra, os.SEEK_CUR)
    np.lib.format.read_magic(file)
    shape, columns, kind = np.lib.format.read_array_header_1_0(file)
    if 0 in shape:  # nothing can be mapped
        return np.zeros(shape, kind)
    return np.memmap(path, kind, "r", file.tell(), shape, "F" if columns else "C")


def check_folder(folder: str | os.PathLike) -> None:
    """Refuse a folder for finished work that has other files, except hidden ones.

    Raises:
        DataError: the folder has other files, is a file, or cannot be read. UsageError:
            it is remote.
    """
    folder = local_folder(folder)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(
            f"finished work cannot be stored there: {error.strerror}",
            where=str(folder),
            mend=_AWAY,
        ) from None
    sweep(folder)
    ours = {path.name for path in _ours(folder)}
    for name in names:
        if name not in ours and name[0] != ".":
            raise DataError(
                f"has {name!r}, which pgcjax did not write, or which is damaged: "
                "finished work would be stored there",
                where=str(folder),
                mend=_AWAY,
            )


def remove(folder: str | os.PathLike) -> bool:
    """Remove finished work, and return whether there was any; other files stay."""
    folder = Path(folder)
    sweep(folder)
    paths = _ours(folder)
    for path in paths:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # it is missing, a link, or has other files
        folder.rmdir()
    return bool(paths)


def _ours(folder: Path) -> list[Path]:
    """List the files of finished work, the one that describes the job last.

    If that file exists, pieces may be damaged; without it, a piece has a mark.
    """
    pieces = [path for path in folder.glob("*.npz") if _PIECE.fullmatch(path.name)]
    about = folder / _ABOUT
    if _read(about, 0).startswith(_BEGINS):
        return [*pieces, about]
    return [path for path in pieces if _read(path, -8).startswith(_MARK)]


def _read(path: Path, start: int) -> bytes:
    """Read bytes from `start` on, from the end if it is negative; b"" if missing."""
    try:
        with path.open("rb") as file:
            file.seek(start, os.SEEK_END if start < 0 else os.SEEK_SET)
            return file.read(16)
    except OSError:
        return b""
