"""Checksums of files of pgcjax: a bit that changed is found when a file is read.

The metadata of a sealed file begin with `{"crc32": "1a2b3c4d", …`: the CRC-32 of its
bytes with zeros in place of these eight digits. Every change of up to 32 adjacent bits
is found, and of other changes all but one in four billion.
"""

import os
import re
from pathlib import Path
from typing import Any

from isal.isal_zlib import crc32

from pgcjax.errors import DataError
from pgcjax.io.remote import RemoteFile

KEY = "crc32"
UNSEALED = {KEY: "00000000"}
"""Begins the metadata of a file that will be sealed."""

DAMAGED = "is damaged: its checksum does not fit"

_ZEROS = b"00000000"
_HEAD = 32  # bytes of a text file that hold the checksum
_PIECE = 2**16  # bytes that are read at once: they stay in the cache of a core
# A change in one half leaves the other as it was. `"crc32": ""` is not sealed.
_SEAL = re.compile(
    rb'(?:# pgcjax |"pgcjax": ).{11}([0-9a-f]{8})|\{"crc32": "(?!"[,}])(.{8})',
    re.DOTALL,
)


def seal(path: Path, first: int = 0) -> None:
    """Fill in the checksum of an unsealed file, of its bytes from `first` on."""
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
        DataError: they are, and changed since; `mend` says what to do.
    """
    start, end = _metadata(data[-8:], len(data))
    start = max(0, start)
    span = _span(data[start:end])
    if not span:
        return False
    view, low, high = memoryview(data), start + span[0], start + span[1]
    crc = crc32(view[high:], crc32(_ZEROS, crc32(view[:low])))
    _clear_registers()
    if data[low:high] != b"%08x" % crc:
        raise DataError(DAMAGED, where=where, mend=mend)
    return True


def check_file(path: Path, mend: str) -> bool:
    """Return whether a file of any size is sealed, as `check` does.

    Raises:
        DataError: it is, and changed since. OSError: it cannot be read.
    """
    elsewhere = isinstance(path, RemoteFile)
    with path.open(jumping=True) if elsewhere else path.open("rb") as file:
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
        raise DataError(DAMAGED, where=str(path), mend=mend)
    return True


def checksum(file: Any, start: int, end: int, crc: int = 0) -> int:
    """Compute the CRC-32 of a part of a file, going on from that of other bytes."""
    file.seek(start)
    piece = memoryview(bytearray(min(_PIECE, max(0, end - start))))
    while start < end and (count := file.readinto(piece[: end - start])):
        crc, start = crc32(piece[:count], crc), start + count
    _clear_registers()
    return crc


def _clear_registers() -> None:
    """Undo what makes other code a tenth slower after a CRC-32 by isal.

    It leaves the upper halves of vector registers in use; a loop of numpy ends without.
    """
    import numpy as np  # which what finds the shipped collection does without

    nothing = np.zeros(256, np.int64)
    np.add(nothing, nothing, out=nothing)


def read(file: Any, start: int, end: int | None = None) -> bytes:
    """Read a part of a file."""
    file.seek(start)
    return file.read(None if end is None else end - start)


def metadata(file: Any) -> tuple[int, int]:
    """Tell where the metadata are: at the end of Parquet, else at the beginning."""
    size = file.seek(0, os.SEEK_END)
    return _metadata(read(file, max(0, size - 8)), size)


def _metadata(last: bytes, size: int) -> tuple[int, int]:
    if last[4:] != b"PAR1":
        return 0, min(size, _HEAD)
    return size - 8 - int.from_bytes(last[:4], "little"), size - 8


def _span(text: bytes) -> tuple[int, int] | None:
    """Find the digits: in Parquet, other metadata may stand before ours."""
    seals = [*_SEAL.finditer(text)]
    return seals[-1].span(seals[-1].lastindex or 0) if seals else None
