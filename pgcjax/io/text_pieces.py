"""A text file in pieces of whole lines, decompressed and as UTF-8."""

import codecs
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from pgcjax.io import unpack
from pgcjax.io.content import (
    LINE,
    broken,
    line_ends,
    long_line,
    of_other_encoding,
    opened,
    without_mark,
)
from pgcjax.io.reading import UTF8, chosen

_PART = 2**20


def text_pieces(
    path: Path, size: int, encoding: str | None = None
) -> Iterator[tuple[bytes, int]]:
    """Read a text file, decompressed and as UTF-8, in pieces of whole lines.

    Args:
        path: of the file.
        size: bytes of a piece, about.
        encoding: as of `read_bytes`.

    Yields:
        A piece, and how many bytes of the file have been read.

    Raises:
        DataError: as of `read_bytes`.
    """
    encoding = encoding or chosen().encoding
    before, waiting, count, enough = 0, [], 0, size
    with opened(path) as file:
        try:
            for part in _recoded(_parts(path, file, size), encoding):
                waiting.append(part)
                count += len(part)
                if count < enough:
                    continue
                data = b"".join(waiting)
                end, enough = _end_of_lines(data), size
                if end:
                    yield data[:end], file.tell()
                    before += line_ends(data[:end])
                elif count > LINE:
                    raise long_line(path, before + 1)
                else:
                    # Not to put a long line together again and again.
                    enough = min(2 * count, LINE + 1)
                waiting, count = [data[end:]], len(data) - end
        except UnicodeDecodeError as error:
            before += line_ends(b"".join(waiting))
            raise of_other_encoding(path, encoding, error, before) from None
        except UnicodeError:
            raise without_mark(path, encoding) from None
        if count:
            yield b"".join(waiting), file.tell()


def _parts(path: Path, file: BufferedReader, size: int) -> Iterator[bytes]:
    """Read a file in parts, decompressed."""
    kind = unpack.kind_of(file.peek(unpack.HEAD))
    if not kind:
        yield from iter(lambda: file.read(min(_PART, size)), b"")
        return
    try:
        yield from unpack.parts(kind, file, size)
    except unpack.BROKEN as error:
        if isinstance(error, OSError) and error.errno:
            raise  # of the disk
        raise broken(path, kind, error) from None


def _recoded(parts: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Turn parts of a text into UTF-8."""
    if encoding == UTF8:
        yield from parts
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    for part in parts:
        yield decoder.decode(part).encode()
    yield decoder.decode(b"", True).encode()


def _end_of_lines(data: bytes) -> int:
    """Tell where the last whole line ends; 0 if there is none."""
    # Behind a return at the very end may come the other half of a line end.
    return data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1
