"""Checksums of files of pgcjax, which show changed bits when a file is read.

The metadata of a sealed file begin with `{"crc32": "1a2b3c4d", …`: the CRC-32 of its
bytes with zeros in place of these eight digits. It finds every change of up to 32
adjacent bits, and all but one in four billion other changes. Packed runs also have a
checksum of each column of a row group.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

from pgcjax.errors import DataError
from pgcjax.io.remote import RemoteFile
from pgcjax.later import pa, pq

KEY = "crc32"
UNSEALED = {KEY: "00000000"}
"""First entry of the metadata of a file that will be sealed."""

DAMAGED = "is damaged: its checksum does not fit"

_PACK = "Pack the runs again."
_ZEROS = b"00000000"
_HEAD = 32  # bytes of a text file that hold the checksum
_PIECE = 2**16  # bytes that are read at once and fit the cache of a core
# A change in one half does not affect the other. `"crc32": ""` is not sealed.
_SEAL = re.compile(
    rb'(?:# pgcjax |"pgcjax": ).{11}([0-9a-f]{8})|\{"crc32": "(?!"[,}])(.{8})',
    re.DOTALL,
)


def seal(path: Path, first: int = 0) -> None:
    """Fill in the checksum of an unsealed file, over its bytes from `first` on."""
    with path.open("r+b") as file:
        start, end = metadata(file)
        span = _span(read(file, start, end))
        assert span, "is not unsealed"
        crc = checksum(file, first, file.seek(0, os.SEEK_END))
        file.seek(start + span[0])
        file.write(b"%08x" % crc)


def check(data: bytes, where: str, mend: str) -> bool:
    """Return whether the bytes of a file, or those from its metadata on, are sealed.

    Raises:
        DataError: the bytes were sealed, and changed since; `mend` is the advice.
    """
    return _check(BytesIO(data), where, mend)


def check_file(path: Path, mend: str) -> bool:
    """Return whether a file of any size is sealed, as `check` does.

    Raises:
        DataError: it was sealed, and changed since. OSError: it cannot be read.
    """
    elsewhere = isinstance(path, RemoteFile)
    with path.open("rb", jumping=True) if elsewhere else path.open("rb") as file:
        return _check(file, str(path), mend)


def _check(file: Any, where: str, mend: str) -> bool:
    start, end = metadata(file)
    start = max(0, start)
    text = read(file, start, end)
    span = _span(text)
    if not span:
        return False
    low, high = start + span[0], start + span[1]
    crc = crc32(_ZEROS, checksum(file, 0, low))
    crc = checksum(file, high, file.seek(0, os.SEEK_END), crc)
    if text[slice(*span)] != b"%08x" % crc:
        raise DataError(DAMAGED, where=where, mend=mend)
    return True


def checksum(file: Any, start: int, end: int, crc: int = 0) -> int:
    """Compute the CRC-32 of a part of a file, continuing that of earlier bytes."""
    file.seek(start)
    piece = memoryview(bytearray(min(_PIECE, max(0, end - start))))
    while start < end and (count := file.readinto(piece[: end - start])):
        crc, start = crc32(piece[:count], crc), start + count
    return crc


def read(file: Any, start: int, end: int | None = None) -> bytes:
    """Read a part of a file."""
    file.seek(start)
    return file.read(None if end is None else end - start)


def metadata(file: Any) -> tuple[int, int]:
    """Return the span of the metadata: at the end of Parquet, else at the beginning."""
    size = file.seek(0, os.SEEK_END)
    last = read(file, max(0, size - 8))
    if last[4:] != b"PAR1":
        return 0, min(size, _HEAD)
    return size - 8 - int.from_bytes(last[:4], "little"), size - 8


def _span(text: bytes) -> tuple[int, int] | None:
    """Find the digits of the checksum; in Parquet, other metadata may precede them."""
    seals = [*_SEAL.finditer(text)]
    return seals[-1].span(seals[-1].lastindex or 0) if seals else None


def unfilled(columns: int) -> str:
    """Return the placeholder in the metadata for the checksums by `seal_columns`."""
    return "-" * 8 * columns


def seal_columns(path: Path) -> None:
    """Write the checksums of an otherwise complete file into its metadata."""
    rows = pq.read_metadata(path)
    spans = [
        _column_span(rows, group, column)
        for group in range(rows.num_row_groups)
        for column in range(rows.num_columns)
    ]
    with path.open("r+b") as file:
        start, _ = metadata(file)
        place = read(file, start).rindex(unfilled(len(spans)).encode())
        crcs = [b"%08x" % checksum(file, *span) for span in spans]
        file.seek(start + place)
        file.write(b"".join(crcs))
    seal(path, start)


class ColumnChecksums:
    """Checksums of packed runs, with which changed columns are refused.

    Only requested columns are checked, before they are decoded.
    """

    def __init__(self, source: pa.NativeFile, path: Path):
        """Check the metadata.

        Raises:
            DataError: the metadata changed.
        """
        self._source, self._path = source, path
        start, end = metadata(source)
        # If their place is invalid, the decoder reports the error.
        text = read(source, start) if 0 <= start < end else b""
        self._sealed = check(text, str(path), _PACK)

    def expect(self, about: dict[str, Any], rows: pq.FileMetaData) -> None:
        """Take the checksums of columns from the metadata.

        Raises:
            DataError: the metadata have none.
        """
        if not self._sealed:
            raise self._damaged()
        self._crcs, self._rows = str(about.get("crcs")), rows

    def check(self, groups: Iterable[int], columns: list[str]) -> None:
        """Check columns of row groups.

        Raises:
            DataError: a column changed.
        """
        names = self._rows.schema.names
        for group, number in product(groups, map(names.index, columns)):
            place = 8 * (group * len(names) + number)
            crc = checksum(self._source, *_column_span(self._rows, group, number))
            if self._crcs[place : place + 8] != f"{crc:08x}":
                raise self._damaged()

    def _damaged(self) -> DataError:
        return DataError(DAMAGED, where=str(self._path), mend=_PACK)


def _column_span(rows: pq.FileMetaData, group: int, column: int) -> tuple[int, int]:
    """Return the span of the bytes of a column in a row group."""
    about: Any = rows.row_group(group).column(column)
    start = about.data_page_offset
    if about.has_dictionary_page:
        start = min(start, about.dictionary_page_offset)
    return start, start + about.total_compressed_size
