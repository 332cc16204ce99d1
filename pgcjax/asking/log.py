"""The log of a tournament: an append-only file of JSON lines.

Records that a call has written survive if it is killed. An incomplete last line is an
answer whose receipt was never confirmed.

Each line ends with its checksum, `"crc32": "1a2b3c4d"}`: the CRC-32 of the text before
it, with the number of the line as start value. So a line that was changed or moved
is detected. The line LOST replaces one that cannot be restored; all others stay valid.
"""

import json
import os
import re
import warnings
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pgcjax.errors import DataError, DataWarning, UsageError, outside
from pgcjax.io.remote import local_folder
from pgcjax.io.write import written_beside

try:
    import fcntl
except ImportError:  # Windows, where the log is not locked
    fcntl = None

NAME = "log.jsonl"
LOST = '{"what": "lost"}'
Record = dict[str, Any]
_SEALED = re.compile(rb'(.*), "crc32": "([0-9a-f]{8})"\}', re.DOTALL)
_BINARY = getattr(os, "O_BINARY", 0)  # keeps Windows from changing line ends


class Contents(NamedTuple):
    """Content of a log.

    Attributes:
        records: Records of its lines, in their order.
        rest: Bytes of an incomplete last line; b"" if there is none.
    """

    records: list[Record]
    rest: bytes


def create(folder: str | os.PathLike, records: Iterable[Record]) -> None:
    """Create a log of these records, and its folder, completely or not at all.

    Raises:
        UsageError: there is a log, or the folder is remote. DataError: the log cannot
            be written.
    """
    folder = local_folder(folder)
    if (folder / NAME).exists():
        raise UsageError(
            f"{folder}: holds a tournament already; name another folder, or go on with "
            f"it: pgcjax ask status {folder}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot make the folder: {error.strerror}"
        raise DataError(problem, where=str(folder)) from None
    with written_beside(folder / NAME) as beside, beside.open("wb") as file:
        file.write(_lines(records, 1))
        file.flush()
        _sync(file.fileno())
    for named in (folder, folder.parent):  # entries of the log and of its folder
        with suppress(OSError):  # where folders cannot be opened, as on Windows
            opened = os.open(named, os.O_RDONLY)
            _sync(opened)
            os.close(opened)


def read(folder: str | os.PathLike) -> Contents:
    """Read all records, and an incomplete last line, if there is one.

    Logs of early versions begin with lines without checksums, which are not checked.

    Raises:
        DataError: there is no log, or a line of it was changed, lost or moved.
    """
    path = Path(folder) / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            "holds no tournament",
            where=str(folder),
            mend=f"Start one: pgcjax ask start qrels.txt -o {folder}",
        ) from None
    except OSError as error:
        problem = f"cannot read it: {error.strerror}"
        raise DataError(problem, where=str(path)) from None
    *lines, rest = data.split(b"\n")
    if rest and not _is_cut(rest):
        lines, rest = [*lines, rest], b""
    records, sealed = [], False
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if parts := _SEALED.fullmatch(line):
            if zlib.crc32(parts[1], number) != int(parts[2], 16):
                problem = "its checksum does not fit its text and its place"
                raise _damaged(problem, number, where)
            line, sealed = parts[1] + b"}", True
        elif sealed and line != LOST.encode():
            raise _damaged("its checksum is missing", number, where)
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("what"), str):
                records.append(record)
                continue
        raise _damaged("expected a record in JSON, found something else", number, where)
    return Contents(records, rest)


def _is_cut(rest: bytes) -> bool:
    """Return whether a line without an end is the beginning of a record."""
    try:
        json.JSONDecoder().raw_decode(rest.decode(errors="replace"))
    except (ValueError, RecursionError):
        return True
    return False


def _damaged(problem: str, number: int, where: str) -> DataError:
    mend = "Restore the log from a copy."
    if number > 1:
        mend += (
            f" Without one, write {LOST} in the place of this line, or of the lines "
            "that are missing above it: results that depend on it wait until its "
            "answer is added again."
        )
    return DataError(f"is damaged: {problem}", where=where, mend=mend)


class Appender:
    """A log that one process at a time opens to add records."""

    def __init__(self, folder: str | os.PathLike):
        """Open the log.

        Raises:
            UsageError: another process has it open. DataError: it cannot be written.
        """
        self.path = Path(folder) / NAME
        self._lines = 0
        try:
            self._file = os.open(self.path, os.O_RDWR | _BINARY)
        except FileNotFoundError:
            read(folder)  # raises the error for a missing log
            raise
        except OSError as error:
            raise self._refused(error) from None
        with suppress(OSError):  # no locks on this file system
            try:
                if fcntl is not None:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                raise UsageError(
                    f"{folder}: another process adds answers there. Wait for it to "
                    "end, or stop it."
                ) from None

    def mend(self, contents: Contents) -> None:
        """Remove an incomplete last line, or end one that lacks only its line end."""
        self._lines = len(contents.records)
        end = os.lseek(self._file, 0, os.SEEK_END) - len(contents.rest)
        if contents.rest:
            os.ftruncate(self._file, end)
        if end:
            os.lseek(self._file, end - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                self._write(b"\n")

    def append(self, records: Iterable[Record]) -> None:
        """Add records, which are on disk when this returns.

        Raises:
            DataError: they cannot be written; then none of them is added.
        """
        records = [*records]
        if records:
            self._write(_lines(records, self._lines + 1))
            self._lines += len(records)

    def close(self) -> None:
        """Release the log to other processes."""
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            _sync(self._file)
        except OSError as error:
            with suppress(OSError):  # so that the next record begins a line
                os.ftruncate(self._file, end)
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> DataError:
        return DataError(f"cannot add to it: {error.strerror}", where=str(self.path))


def _lines(records: Iterable[Record], first: int) -> bytes:
    """Write records as lines, the first of which has this number."""
    lines = []
    for number, record in enumerate(records, first):
        text = json.dumps(record, ensure_ascii=False, allow_nan=False).removesuffix("}")
        data = text.encode(errors="backslashreplace")  # JSON escapes lone surrogates
        lines.append(b'%s, "crc32": "%08x"}\n' % (data, zlib.crc32(data, number)))
    return b"".join(lines)


def _sync(file: int) -> None:
    """Wait until written data are on disk, where the file system supports that."""
    with suppress(OSError):
        os.fsync(file)


def warn_of_rest(path: str | os.PathLike) -> None:
    """Warn that an incomplete last line is ignored."""
    warnings.warn(
        f"{Path(path) / NAME}: its last line is incomplete and left out: the call "
        "that wrote it was interrupted; add the answer again",
        DataWarning,
        stacklevel=outside(),
    )
