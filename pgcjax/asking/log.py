"""The log of a tournament: JSON lines that are only ever added to.

What a call has written when it ends, or is killed, is there for the next one. A last
line that was cut short is of an answer that nobody was told is kept.

Each line ends with its checksum, `"crc32": "1a2b3c4d"}`: the CRC-32 of the text before
it that starts at the number of the line. A changed line does not fit, nor one in
another place. The line LOST stands for one that cannot be restored: all others still
fit.
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

from pgcjax.errors import DataError, DataWarning, UsageError, counted
from pgcjax.io.remote import local_folder
from pgcjax.io.write import written_beside

try:
    import fcntl
except ImportError:  # Windows, where nobody is kept from adding at the same time
    fcntl = None

NAME = "log.jsonl"
LOST = '{"what": "lost"}'
Record = dict[str, Any]
_ANOTHER = "Wait for it to end, or stop it."
_SEALED = re.compile(rb'(.*), "crc32": "([0-9a-f]{8})"\}', re.DOTALL)
_FAR = 1000  # lines that a line is looked for from its place, each way


class Contents(NamedTuple):
    """What a log holds.

    Attributes:
        records: of its lines, in their order.
        rest: of a last line that was cut short; b"" if there is none.
    """

    records: list[Record]
    rest: bytes


def create(folder: str | os.PathLike, records: Iterable[Record]) -> None:
    """Make a log of these records, whole or not at all, and its folder.

    Raises:
        UsageError: there is one, or it is elsewhere. DataError: it cannot be written.
    """
    folder = local_folder(folder)
    if (folder / NAME).exists():
        raise UsageError(
            f"{folder}: holds a tournament already; name another folder, or go on with "
            f"it: pgcjax ask status {folder}"
        )
    if folder.is_dir():  # somebody has made it
        with written_beside(folder / NAME) as beside:
            _create(beside, records)
        _keep_name(folder)
    else:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"cannot make the folder: {error.strerror}"
            raise DataError(problem, where=str(folder.parent)) from None
        with written_beside(folder) as beside:
            beside.mkdir()
            _create(beside / NAME, records)
            _keep_name(beside)
        _keep_name(folder.parent)


def _create(path: Path, records: Iterable[Record]) -> None:
    with path.open("wb") as file:
        file.write(_lines(records))
        file.flush()
        _keep(file.fileno())


def _keep_name(folder: Path) -> None:
    """Wait until the names of the files in a folder are on disk."""
    with suppress(OSError):  # where folders cannot be opened, as on Windows
        file = os.open(folder, os.O_RDONLY)
        try:
            _keep(file)
        finally:
            os.close(file)


def read(folder: str | os.PathLike) -> Contents:
    """Read all records, and what there is of a last line that was cut short.

    Lines of logs that were begun before lines had checksums have none: they stand
    first, and are read unchecked.

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
        parts = _SEALED.fullmatch(line)
        if parts:
            _check_seal(parts[1], parts[2], number, str(path))
            line, sealed = parts[1] + b"}", True
        elif sealed and line != LOST.encode():
            raise _damaged("its checksum is missing", number, str(path))
        records.append(_record(line, number, str(path)))
    return Contents(records, rest)


def _is_cut(rest: bytes) -> bool:
    """Whether a line without an end is the beginning of a record, and no more."""
    try:
        json.JSONDecoder().raw_decode(rest.decode(errors="replace"))
    except (ValueError, RecursionError):
        return True
    return False


def _check_seal(text: bytes, digits: bytes, number: int, path: str) -> None:
    """Refuse a line whose checksum is that of another text or place."""
    crc = int(digits, 16)
    if zlib.crc32(text, number) == crc:
        return
    for place in range(max(1, number - _FAR), number + _FAR):
        if zlib.crc32(text, place) == crc:
            break
    else:
        raise _damaged("its checksum does not fit", number, path)
    off = counted(abs(place - number), "line")
    raise DataError(
        f"was line {place} of the log: {off} above it "
        + ("lost" if place > number else "too many"),
        where=f"{path}:{number}",
        mend="Take the log back from a copy. Without one, "
        + (
            f"put {off} {LOST} above it: what depended on these waits until their "
            "answers are added again."
            if place > number
            else "take out those that stand there twice."
        ),
    )


def _record(line: bytes, number: int, path: str) -> Record:
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict) and isinstance(record.get("what"), str):
            return record
    raise _damaged("expected a record in JSON, found something else", number, path)


def _damaged(problem: str, number: int, path: str) -> DataError:
    without = (
        f" Without one, write {LOST} in the place of this line: what depended on it "
        "waits until its answer is added again."
    )
    return DataError(
        f"is damaged: {problem}",
        where=f"{path}:{number}",
        mend="Take the log back from a copy." + (without if number > 1 else ""),
    )


class Appender:
    """A log that is open for more records, to one process at a time."""

    def __init__(self, folder: str | os.PathLike):
        """Open the log.

        Raises:
            UsageError: another process adds to it. DataError: it cannot be written.
        """
        self.path = Path(folder) / NAME
        self._lines = 0
        try:
            self._file = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            read(folder)  # which says that there is none
            raise
        except OSError as error:
            raise self._refused(error) from None
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                raise UsageError(
                    f"{folder}: another process adds answers there. {_ANOTHER}"
                ) from None
            except OSError:  # no locks on this file system
                pass

    def mend(self, contents: Contents) -> None:
        """Take away a last line that was cut short, or end one that is whole."""
        self._lines = len(contents.records)
        end = os.lseek(self._file, 0, os.SEEK_END)
        if contents.rest:
            end -= len(contents.rest)
            os.ftruncate(self._file, end)
            os.lseek(self._file, 0, os.SEEK_END)
        if end and os.pread(self._file, 1, end - 1) != b"\n":
            self._write(b"\n")

    def append(self, records: Iterable[Record]) -> None:
        """Add records, which are on disk when this returns.

        Raises:
            DataError: they cannot be written; then none of them is there.
        """
        records = [*records]
        if records:
            self._write(_lines(records, self._lines + 1))
            self._lines += len(records)

    def close(self) -> None:
        """Let others add."""
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            _keep(self._file)
        except OSError as error:
            with suppress(OSError):  # or the next record would end half a line
                os.ftruncate(self._file, end)
                os.lseek(self._file, end, os.SEEK_SET)
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> DataError:
        return DataError(f"cannot add to it: {error.strerror}", where=str(self.path))


def _lines(records: Iterable[Record], first: int = 1) -> bytes:
    """Write records as lines of these numbers."""
    return b"".join(
        _line(record, number) for number, record in enumerate(records, first)
    )


def _line(record: Record, number: int) -> bytes:
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).removesuffix("}")
    data = text.encode(errors="backslashreplace")  # half a character is JSON like that
    return b'%s, "crc32": "%08x"}\n' % (data, zlib.crc32(data, number))


def _keep(file: int) -> None:
    """Wait until what was written is on disk, where the file system can say so."""
    with suppress(OSError):
        os.fsync(file)


def warn_of_rest(path: str | os.PathLike) -> None:
    """Warn that a last line was cut short, and is left out."""
    warnings.warn(
        f"{Path(path) / NAME}: its last line was cut short, and is left out: what it "
        "held was not kept when the call that wrote it ended; add it again",
        DataWarning,
        stacklevel=4,
    )
