"""The content of a file, local or remote: read, decompressed, as UTF-8.

`read_bytes` reads a file at once, `text_pieces` in pieces of whole lines.
"""

import codecs
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path

from pgcjax.errors import DataError
from pgcjax.io import unpack
from pgcjax.io.reading import UTF8, chosen
from pgcjax.io.remote import unreadable
from pgcjax.later import pa

LINE = 2**26
"""Most bytes of a line: a file with a longer one is hardly text."""

PARQUET, ZIP, MARK = b"PAR1", b"PK\x03\x04", b"\xef\xbb\xbf"
"""First bytes of Parquet, of ZIP, and of UTF-8 text with a byte-order mark."""

_PIECE = 2**20


class TooLargeError(DataError):
    """A file is larger than may be read at once."""


def read_bytes(
    path: Path, most: int | None = None, encoding: str | None = None
) -> bytes:
    """Read a file, decompressed; text as UTF-8, whatever its encoding.

    Args:
        path: Path of the file.
        most: Most bytes that it may have, decompressed; by default those of `reading`.
        encoding: Encoding of text; by default that of `reading`.

    Raises:
        TooLargeError: the file has more bytes. DataError: it cannot be read or
            decompressed, is a device, or has an endless line.
    """
    most = chosen().memory if most is None else most
    encoding = encoding or chosen().encoding
    with opened(path) as file:
        about = path.stat()
        check_size(path, about.st_size, most)
        if stat.S_ISREG(about.st_mode):
            data = file.read()
        else:  # a pipe, or a remote file
            data = _gathered(path, iter(lambda: file.read(_PIECE), b""), most)
    if kind := unpack.kind_of(data):
        try:
            data = _gathered(path, unpack.parts(kind, BytesIO(data), most), most)
        except TooLargeError:  # it is also a ValueError
            raise
        except unpack.BROKEN as error:
            raise _broken(path, kind, error) from None
    if data.startswith((PARQUET, ZIP)):
        return data
    if encoding != UTF8:
        try:
            # bytes.decode reads UTF-16 without a mark in this machine's byte order.
            data = codecs.getincrementaldecoder(encoding)().decode(data, True).encode()
        except UnicodeError as error:
            raise _of_other_encoding(path, encoding, error) from None
    check_lines(path, data)
    return data


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file or pipe; raise a `DataError` if it cannot be read.

    Raises:
        DataError: the file cannot be read, or is a device.
    """
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            if stat.S_ISCHR(mode) and not file.isatty() or stat.S_ISBLK(mode):
                raise DataError(
                    "is a device",
                    where=str(path),
                    mend="Expected a file or a pipe.",
                )
            yield file
    except OSError as error:
        raise unreadable(path, error) from None


def _gathered(path: Path, parts: Iterable[bytes], most: int) -> bytes:
    """Put parts together, up to the number of bytes that may be read."""
    data = BytesIO()
    for part in parts:
        check_size(path, data.tell() + len(part), most)
        data.write(part)
    return data.getvalue()


def text_pieces(
    path: Path, size: int, encoding: str | None = None
) -> Iterator[tuple[bytes, int]]:
    """Read a text file, decompressed and as UTF-8, in pieces of whole lines.

    Args:
        path: Path of the file.
        size: Approximate bytes of a piece.
        encoding: As for `read_bytes`.

    Yields:
        A piece, and the number of bytes of the file that have been read.

    Raises:
        DataError: as in `read_bytes`.
    """
    encoding = encoding or chosen().encoding
    before, waiting, count, enough = 0, [], 0, size
    with opened(path) as file:
        try:
            for part in _utf8(_parts(path, file, size), encoding):
                waiting.append(part)
                count += len(part)
                if count < enough:
                    continue
                data = b"".join(waiting)
                # A return at the end of the data may be the first half of a line end.
                end = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1
                enough = size
                if end:
                    yield data[:end], file.tell()
                    before += line_ends(data[:end])
                elif count > LINE:
                    raise _long_line(path, before + 1)
                else:
                    # So a long line is not put together again and again.
                    enough = min(2 * count, LINE + 1)
                waiting, count = [data[end:]], len(data) - end
        except UnicodeError as error:
            before += line_ends(b"".join(waiting))
            raise _of_other_encoding(path, encoding, error, before) from None
        if count:
            yield b"".join(waiting), file.tell()


def _parts(path: Path, file: BufferedReader, size: int) -> Iterator[bytes]:
    """Read a file in parts, decompressed."""
    kind = unpack.kind_of(file.peek(unpack.HEAD))
    if not kind:
        yield from iter(lambda: file.read(min(_PIECE, size)), b"")
        return
    try:
        yield from unpack.parts(kind, file, size)
    except unpack.BROKEN as error:
        if isinstance(error, OSError) and error.errno:
            raise  # an error of the disk
        raise _broken(path, kind, error) from None


def _utf8(parts: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Convert parts of a text to UTF-8."""
    if encoding == UTF8:
        yield from parts
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    for part in parts:
        yield decoder.decode(part).encode()
    yield decoder.decode(b"", True).encode()


def _broken(path: Path, kind: str, error: Exception) -> DataError:
    """Return the error of a file that cannot be decompressed."""
    return DataError(
        f"cannot decompress it as {kind}: {error}",
        where=str(path),
        mend="It may be cut off: fetch it again.",
    )


def check_size(path: Path, size: int, most: int | None = None) -> None:
    """Refuse a file that has more bytes, decompressed, than may be read at once.

    Args:
        path: Path of the file.
        size: Bytes of the file.
        most: As for `read_bytes`.

    Raises:
        TooLargeError: the file has more bytes.
    """
    most = chosen().memory if most is None else most
    if size <= most:
        return
    raise TooLargeError(
        f"has more than {most / 2**20:,.0f} MiB when decompressed, the limit of "
        "memory for a file",
        where=str(path),
        mend="Allow more: pgcjax.files.reading(memory=SIZE), --memory SIZE on the "
        "command line.",
    )


def _of_other_encoding(
    path: Path, encoding: str, error: UnicodeError, lines: int = 0
) -> DataError:
    """Return the error of text in another encoding, found after `lines` lines."""
    # If UTF-16 or UTF-32 lacks the mark of its byte order, Python raises a
    # UnicodeDecodeError since 3.13, a plain UnicodeError before.
    if not isinstance(error, UnicodeDecodeError) or "BOM" in error.reason:
        return DataError(
            f"expected {encoding} text, which begins with a byte-order mark, "
            "found none",
            where=str(path),
            mend=f"Name the order: pgcjax.files.reading(encoding='{encoding}-le'), or "
            "-be; --encoding on the command line.",
        )
    before = error.object[: error.start].decode(encoding, "replace")
    mend = "pgcjax.files.reading(encoding=…), --encoding on the command line"
    by_default = encoding == "UTF-8"
    return DataError(
        f"expected {encoding} text, found byte 0x{error.object[error.start]:02x}",
        where=f"{path}:{lines + _lines(before)}",
        mend=f"Name its encoding: {mend}; for instance latin-1."
        if by_default
        else f"Name another encoding: {mend}.",
    )


@contextmanager
def decoding(path: Path, noun: str, mend: str) -> Iterator[None]:
    """Convert errors that Arrow raises for an unreadable file to a `DataError`.

    Raises:
        DataError: Arrow cannot read the file; the message has the advice `mend`.
    """
    try:
        yield
    except (MemoryError, DataError):  # Arrow's MemoryError is an ArrowException, too
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(path, error) from None
        problem = f"cannot read it as {noun}: {error}"
        raise DataError(problem, where=str(path), mend=mend) from None


def line_ends(data: bytes) -> int:
    """Count the ends of lines, in any convention."""
    if b"\r" not in data:
        return data.count(b"\n")
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def check_lines(path: Path, data: bytes) -> None:
    """Refuse text with a line of more than `LINE` bytes.

    Raises:
        DataError: there is such a line.
    """
    start = 0
    while len(data) - start > LINE:
        limits = start, start + LINE + 1
        end = max(data.rfind(b"\n", *limits), data.rfind(b"\r", *limits))
        if end < 0:
            raise _long_line(path, line_ends(data[:start]) + 1)
        start = end + 1


def _long_line(path: Path, line: int) -> DataError:
    """Return the error of a line of text that is too long."""
    return DataError(
        f"expected lines of at most {LINE >> 20} MiB, found a longer one",
        where=f"{path}:{line}",
        mend="Is this a text file?",
    )


def decode(path: Path, data: bytes) -> str:
    """Read bytes as UTF-8 text, with or without a byte-order mark, in Unix lines.

    Raises:
        DataError: the bytes are something else, or empty.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _of_other_encoding(path, "UTF-8", error) from None
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
    """Replace line ends by those of Unix; old Macs ended lines with a lone return."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> int:
    return _unix(text).count("\n") + 1
