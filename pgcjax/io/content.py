"""The content of a file as text: read, decompressed, decoded."""

import bz2
import gzip
import lzma
import os
import zlib
from pathlib import Path

from isal import igzip, isal_zlib

from pgcjax.errors import DataError

# By content, not by name: files named .gz that are plain are common, and so is the
# reverse.
_MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\x50\x2a\x4d\x18": "zst",  # as pzstd begins
}
_MOST_DENSE = 1032  # bytes that a compressed byte can stand for


def unreadable(path: str | os.PathLike, error: OSError) -> DataError:
    """Say that a file or folder cannot be read, and why."""
    return DataError(
        f"cannot read it: {error.strerror}",
        where=str(path),
        mend="Check the path and its permissions.",
    )


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressed.

    Raises:
        DataError: it cannot be read or decompressed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    kind = next((k for magic, k in _MAGIC.items() if data.startswith(magic)), None)
    if kind == "bz2" and data[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        kind = None  # text that happens to begin with BZh
    decompress = {"gz": _gz, "bz2": bz2.decompress, "xz": lzma.decompress, "zst": _zst}
    try:
        return decompress[kind](data) if kind else data
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"cannot decompress it as {kind}: {error}",
            where=str(path),
            mend="It may be cut off: fetch it again.",
        ) from None


def _gz(data: bytes) -> bytes:
    try:
        return _one_member(data) or igzip.decompress(data)
    except Exception:
        return gzip.decompress(data)  # or says what is the matter, as it always did


def _one_member(data: bytes) -> bytes | None:
    """Decompress a file that was compressed at once: most were; None of any other.

    Its last four bytes tell its size: memory that has not to grow takes a third less
    time, and this library half of what gzip takes.
    """
    size = int.from_bytes(data[-4:], "little")
    if size > _MOST_DENSE * len(data):
        return None
    member = isal_zlib.decompressobj(wbits=31)
    text = member.decompress(data, size + 1)
    return text if member.eof and not member.unused_data else None


def _zst(data: bytes) -> bytes:
    import zstandard

    parts = []
    try:
        while data:  # a frame, and whatever follows it
            frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(data))
            if not frame.eof:
                raise EOFError("it ends in the middle of a frame")
            data = frame.unused_data
    except zstandard.ZstdError as error:
        raise ValueError(error) from None
    return b"".join(parts)


def decode(path: Path, data: bytes) -> str:
    """Read bytes as UTF-8 text, with or without a byte-order mark, in Unix lines.

    Raises:
        DataError: they are something else, or empty.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        raise DataError(
            f"expected UTF-8 text, found byte 0x{error.object[error.start]:02x}",
            where=f"{path}:{_lines(before)}",
            mend="Convert the file, for instance with iconv -t UTF-8.",
        ) from None
    if "\0" in text:
        raise DataError(
            "expected text, found a NUL character",
            where=f"{path}:{_lines(text[: text.index(chr(0))])}",
            mend="Is this a text file in UTF-8?",
        )
    if not text or text.isspace():
        raise DataError("is empty", where=str(path), mend="Expected lines of data.")
    return _unix(text)


def _unix(text: str) -> str:
    """Give lines their Unix ends; old Macs ended them with a lone return."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> int:
    return _unix(text).count("\n") + 1
