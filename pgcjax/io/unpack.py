"""Compressed files, decompressed in pieces and to their last byte.

A file may consist of several streams (members, frames), as parallel compressors write
it. Each is checked, and only zeros may follow a stream, as the gzip tool and the xz
format allow them.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO

from isal import igzip, isal_zlib

from pgcjax.errors import UsageError

# By content, not by name: files named .gz are often plain, and the reverse is common.
_MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\x50\x2a\x4d\x18": "zst",  # first bytes by pzstd
}
_ISAL: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]
HEAD = 10
"""Bytes from which `kind_of` recognises the kind of a file."""

BROKEN = OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, _ISAL
"""Errors raised where a file is damaged or cut off."""

_PIECE = 2**20


def kind_of(data: bytes) -> str | None:
    """Return the compression of a file with these first bytes; None if it has none.

    Raises:
        UsageError: it is .zst, and the library for that is not installed.
    """
    kind = next((k for magic, k in _MAGIC.items() if data.startswith(magic)), None)
    if kind == "bz2" and data[4:HEAD] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None  # text that happens to begin with BZh
    if kind == "zst":
        try:
            import_module("zstandard")
        except ImportError:
            raise UsageError(
                "reading .zst files needs zstandard: pip install 'pgcjax[zst]'"
            ) from None
    return kind


def parts(kind: str, file: BinaryIO, most: int) -> Iterator[bytes]:
    """Decompress a file, a part at a time.

    Args:
        kind: Result of `kind_of`.
        file: The file, at its beginning.
        most: Bytes that the reader needs; no part, nor the memory of the decompressor,
            is much larger.

    Raises:
        OSError, EOFError, ValueError, lzma.LZMAError, zlib.error: the file is damaged.
    """
    if kind == "gz":
        with igzip.IGzipFile(fileobj=file) as unpacked:
            yield from iter(lambda: unpacked.read(min(_PIECE, most)), b"")
    elif kind == "bz2":
        yield from _streams(file, bz2.BZ2Decompressor)
    elif kind == "xz":
        limits = {"format": lzma.FORMAT_XZ, "memlimit": max(most, 2**27)}
        yield from _streams(file, partial(lzma.LZMADecompressor, **limits), padding=4)
    else:
        yield from _zst(file, most)


def _streams(
    file: BinaryIO, new: Callable[[], Any], padding: int = 0
) -> Iterator[bytes]:
    """Decompress streams; multiples of `padding` zero bytes may follow each."""
    packed = file.read(_PIECE)
    while packed:
        stream = new()
        while not stream.eof:
            part = stream.decompress(packed, _PIECE)
            if part:
                yield part
            packed = b""
            if stream.needs_input and not stream.eof:
                packed = file.read(_PIECE)
                if not packed:
                    raise EOFError("it ends in the middle of a stream")
        packed = stream.unused_data or file.read(_PIECE)
        zeros = 0
        while padding and packed.startswith(b"\0"):
            rest = packed.lstrip(b"\0")
            zeros += len(packed) - len(rest)
            packed = rest or file.read(_PIECE)
        if zeros and zeros % padding:
            raise ValueError(f"{zeros} zero bytes follow a stream, not fours of them")


def _zst(file: BinaryIO, most: int) -> Iterator[bytes]:
    import zstandard

    # A byte can expand to 32 KiB, and all bytes of one read expand at once.
    size = max(2**11, min(2**18, most // 2**17))
    context, frame = zstandard.ZstdDecompressor(), None
    try:
        packed = file.read(size)
        while packed:
            frame = frame or context.decompressobj()
            part = frame.decompress(packed)
            if part:
                yield part
            packed = b""
            if frame.eof:
                packed, frame = frame.unused_data, None
            packed = packed or file.read(size)
    except zstandard.ZstdError as error:
        raise ValueError(error) from None
    if frame:
        raise EOFError("it ends in the middle of a frame")
