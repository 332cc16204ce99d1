"""Regular files of columns, read fast; unusual ones are left to the exact reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from pgcjax.io.bytes import MARK, read_bytes
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.schema import Origin
from pgcjax.later import pd

T = TypeVar("T")
TEXT, NUMBER = pl.String, pl.Float64
Parse = Callable[[bytes], T | None]
"""Makes a table of a regular file; returns None for other files."""
Layouts = Mapping[int, Mapping[str, type[pl.DataType]]]
"""The columns of a file by their number."""

CHUNK = 2**20
"""Bytes that fit a core's cache; with fewer, threads wait for each other."""


@dataclass(frozen=True)
class Regular:
    """A regular file of columns, whose cells need no further check, nor pandas.

    Attributes:
        frame: Columns with their canonical names; text is valid for ids.
        origin: Origin of the rows.
        comments: Number of comment lines.
    """

    frame: pl.DataFrame
    origin: Origin
    comments: int


@dataclass(frozen=True)
class PlainTable:
    """A canonical table of regular files, converted to pandas only when needed.

    Attributes:
        frame: The table.
        attrs: `attrs` of the DataFrame.
    """

    frame: pl.DataFrame
    attrs: dict[Hashable, Any]

    def in_pandas(self) -> pd.DataFrame:
        """Return the DataFrame that the exact reader makes of the same files."""
        # Polars up to 1.40 locks the frame during the conversion, and other threads may
        # read it; a clone shares the columns without a copy.
        table = self.frame.clone().to_pandas()
        table.attrs = dict(self.attrs)
        return table


def in_pandas(table: PlainTable | pd.DataFrame) -> pd.DataFrame:
    """Return a canonical table as a DataFrame."""
    return table.in_pandas() if isinstance(table, PlainTable) else table


def load(
    path: Path, container: str, parse: Parse[pl.DataFrame]
) -> Columns | Named | Regular:
    """Read one file as `files.load` does, or fast if it is regular and in columns."""
    data = read_bytes(path)
    for end in (b"\n", b"\r"):  # concatenated files, each with its mark
        data = data.replace(end + MARK, end)
    if container == "auto":
        container = container_of(path, data)
    read = tidied(data, parse) if container == "columns" else None
    if read is None:
        return split(path, data, container)
    frame, comments = read
    origin = Origin(str(path), "line", places(data, len(frame)))
    return Regular(frame, origin, comments)


def tidied(data: bytes, parse: Parse[T]) -> tuple[T, int] | None:
    """Parse a file unchanged or else tidied; return table and number of comments."""
    parsed, comments = parse(data), 0
    if parsed is None and is_text(data):  # also in the comments, which are removed
        tidy_data, comments = tidy(data)
        parsed = parse(tidy_data) if tidy_data != data else None
    return None if parsed is None else (parsed, comments)


def table(data: bytes, layouts: Layouts) -> pl.DataFrame | None:
    """Read columns of text and numbers with one blank or one tab between fields.

    Args:
        data: The bytes of the file.
        layouts: The columns, by their number.

    Returns:
        The table, whose text is valid for ids. None if anything is unusual: other
        separators, empty fields, lines of another width, comments, control characters,
        text that is not UTF-8, a number that is not plain.

    The characters that end fields are counted: `_blanks` finds no empty field, polars
    fills all columns of each row, so by the total no row has more fields. Polars reads
    fewer spellings of numbers than Python does, and those to the same bits.
    """
    frame = fields(data, layouts)
    if frame is None or frame.to_series(0).str.starts_with("#").any():  # a comment
        return None
    return frame


def fields(
    data: bytes, layouts: Layouts, skip: Collection[str] = ()
) -> pl.DataFrame | None:
    """Read columns as `table` does, but do not look for comments.

    Columns to `skip` are never the last, which a short line lacks.
    """
    end = data.find(b"\n")
    first = data if end < 0 else data[:end]
    separator = "\t" if b"\t" in first else " "
    layout = layouts.get(first.count(separator.encode()) + 1)
    if not layout or data.startswith(MARK):
        return None
    ascii_ = data.isascii()
    blanks = _blanks(data) if ascii_ or is_text(data) else None
    if not blanks:
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separator,
            quote_char=None,
            schema=layout,
            columns=[i for i, name in enumerate(layout) if name not in skip],
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    fields = blanks + (not data.endswith(b"\n"))
    if frame.height * len(layout) != fields or any(s.null_count() for s in frame):
        return None
    # In ASCII, all blanks are counted.
    return frame if ascii_ or _stripped(frame) else None


def of_pandas(table: pd.DataFrame, names: Iterable[Hashable]) -> pl.DataFrame:
    """Convert those of the columns that a table has to polars.

    For a small table, this takes a third of the time of converting it as a whole.
    """
    return pl.DataFrame(
        {str(name): pl.from_pandas(table[name]) for name in names if name in table}
    )


def all_differ(frame: pl.DataFrame) -> bool:
    """Return whether no row repeats another; False also if it is in doubt."""
    # Equal rows have equal hashes; a slower check decides if the rows are equal.
    return frame.hash_rows().n_unique() == len(frame)


def _stripped(frame: pl.DataFrame) -> bool:
    return all((s.str.strip_chars() == s).all() for s in frame if s.dtype == TEXT)


def is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8 text without NUL."""
    try:
        return b"\0" not in data and (data.isascii() or bool(data.decode()))
    except UnicodeDecodeError:
        return False


def _blanks(data: bytes) -> int | None:
    """Count blanks, line ends and other control characters; None if two are adjacent.

    If none are adjacent, each separates two fields, and no field is empty.
    """
    cells, count = np.frombuffer(data, np.uint8), 0
    for start in range(0, len(cells), CHUNK):
        blank = cells[start : start + CHUNK + 1] <= 32  # and the next chunk's first
        if (blank[1:] & blank[:-1]).any():
            return None
        count += int(np.count_nonzero(blank[:CHUNK]))
    return count


def tidy(data: bytes) -> tuple[bytes, int]:
    """Put one blank between fields, drop comments and empty lines, count comments.

    The exact reader reads the same rows from the result.
    """
    data = _unix(data).replace(b"\t", b" ")
    data = _single(data, b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
    data = _single(data, b"\n").strip(b" \n")
    comments = 0
    if data.startswith(b"#") or b"\n#" in data:
        data, comments = re.subn(rb"(?m)^#.*\n?", b"", data)
    return data, comments


def places(data: bytes, rows: int) -> np.ndarray:
    """Return the line (from 1) of each row; empty if row i is in line i + 1."""
    if b"\r" not in data and data.count(b"\n") + (not data.endswith(b"\n")) == rows:
        return np.array([], int)
    lines = (line.lstrip(b" \t") for line in _unix(data).split(b"\n"))
    # A slice, not the first byte: an empty line has none.
    return np.array([i for i, x in enumerate(lines, 1) if x[:1] not in (b"", b"#")])


def _unix(data: bytes) -> bytes:
    """Drop the byte-order mark, and convert line ends to those of Unix."""
    data = data.removeprefix(MARK)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _single(data: bytes, character: bytes) -> bytes:
    while 2 * character in data:
        data = data.replace(2 * character, character)
    return data
