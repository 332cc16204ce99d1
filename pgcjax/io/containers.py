"""The bytes of a file as rows of fields, or as a table with named columns."""

from __future__ import annotations

import csv
import gc
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.bytes import MARK, PARQUET, check_size, decode, decoding
from pgcjax.io.in_memory import to_frame
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.reading import chosen
from pgcjax.io.schema import Origin, known_column, shorten
from pgcjax.io.votes.header import of_votes
from pgcjax.later import pa, pd, pq

CONTAINERS = ("csv", "tsv", "jsonl", "parquet", "columns")
CONTAINER_SUFFIXES = {f".{name}": name for name in CONTAINERS if name != "columns"}
CONTAINER_SUFFIXES |= {".ndjson": "jsonl", ".pq": "parquet"}
_WIDEST = 2**31 - 1  # most characters of a field that csv accepts
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_LINES = re.compile(rb"[^\r\n]+").finditer
# Only blanks and tabs separate; str.split() would also cut ids at no-break spaces.
_FIELDS = re.compile(r"[^ \t]+").findall
_JSON = re.compile(rb'\{\s*("|$)|\[\s*(\{|$)').match


@dataclass(frozen=True)
class Columns:
    """A text file without a header: rows of fields, and `head`, the lines above."""

    rows: list[list[str]]
    origin: Origin
    head: tuple[str, ...] = ()
    comments: int = 0

    def text(self, i: int) -> str:
        """Return row i as text for a message."""
        return shorten(" ".join(self.rows[i]))

    def check_width(self, line: str, mend: str) -> None:
        """Refuse rows that do not have as many fields as `line`.

        Raises:
            DataError: there is such a row.
        """
        width = len(line.split())
        for i, row in enumerate(self.rows):
            if len(row) != width:
                raise DataError(
                    f"expected '{line}', found {len(row)} fields: {self.text(i)}",
                    where=self.origin.at(i),
                    mend=mend,
                )


@dataclass(frozen=True)
class Named:
    """A table with named columns.

    Attributes:
        frame: The table.
        origin: Origin of the rows.
        head: Comment lines above the header.
        comments: Number of comment lines.
        silent: Number of queries in the file without a row.
    """

    frame: pd.DataFrame
    origin: Origin
    head: tuple[str, ...] = ()
    comments: int = 0
    silent: int = 0


def split(
    path: Path, data: bytes, container: str, *, any_header: bool = False
) -> Columns | Named:
    """Split the bytes of a file, decompressed, into rows of text.

    The container is one of `CONTAINERS`, or `tabs`. With `any_header`, columns may have
    any names, as in wide tables of scores, and empty rows are left out.

    Raises:
        DataError: the file is empty, or does not fit the container.
    """
    if container == "parquet":
        return _parquet(path, data)
    text = decode(path, data)
    with _uncollected():
        if container in ("columns", "tabs"):
            return _columns(path, text, _tabbed if container == "tabs" else _FIELDS)
        if container == "jsonl":
            return _jsonl(path, text)
        separator = "," if container == "csv" else "\t"
        return _delimited(path, text, separator, any_header)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause garbage collection, which would often scan the rows and find no cycles."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def container_of(path: Path, data: bytes) -> str:
    """Find the container of a file by its suffix, or else by its first line."""
    if data.startswith(PARQUET):
        return "parquet"
    suffix = Path(unpacked_name(path)).suffix
    if suffix in CONTAINER_SUFFIXES:
        return CONTAINER_SUFFIXES[suffix]
    start = len(MARK) if data.startswith(MARK) else 0
    lines = (match[0] for match in _LINES(data, start, 65536))
    first = next((x for x in lines if x.strip() and not x.startswith(b"#")), b"")
    if _JSON(first):
        return "jsonl"
    for separator, kind in (("\t", "tsv"), (",", "csv")):
        header = first.decode("utf-8", "replace").split(separator)
        if len(header) > 1 and sum(map(known_column, header)) > 1:
            return kind
    return "columns"


def unpacked_name(path: Path) -> str:
    """Return the name of a file in lower case, without a suffix of compression."""
    name = path.name.lower()
    return name.removesuffix(next((s for s in COMPRESSED if name.endswith(s)), ""))


def _tabbed(line: str) -> list[str]:
    """Split at tabs, as in trec_eval's output, or at blanks if there are no tabs."""
    if "\t" not in line:
        return _FIELDS(line)
    return [field.strip(" ") for field in line.split("\t")]


def _columns(path: Path, text: str, split: Callable[[str], list[str]]) -> Columns:
    rows, places, comments = [], [], 0
    for number, line in enumerate(text.split("\n"), 1):
        fields = split(line)
        if not fields:
            continue
        if fields[0].startswith("#"):  # a comment, as in trec_eval; they are counted
            comments += 1
            continue
        rows.append(fields)
        places.append(number)
    if not rows:
        raise comments_only(path)
    if all(map(known_column, rows[0])):
        raise DataError(
            f"expected tabs or commas between the columns of a header, found "
            f"{shorten(' '.join(rows[0]))}",
            where=f"{path}:{places[0]}",
            mend="Separate all columns so, or remove the header.",
        )
    head = tuple(text.split("\n", 1)[:1]) if text.startswith("#") else ()
    origin = Origin(str(path), "line", np.array(places))
    return Columns(rows, origin, head, comments)


def comments_only(path: Path) -> DataError:
    """Return the error of a file that has only comments."""
    mend = "Expected lines of data."
    return DataError("holds comments only", where=str(path), mend=mend)


def _delimited(path: Path, text: str, separator: str, any_header: bool) -> Named:
    lines = text.split("\n")
    # Comments are allowed only above the header: below it, # may begin an id.
    skipped = next(
        (i for i, x in enumerate(lines) if x.strip() and not x.startswith("#")), None
    )
    if skipped is None:
        raise comments_only(path)
    head = tuple(line for line in lines[:skipped] if line.startswith("#"))
    csv.field_size_limit(_WIDEST)  # holds for the whole process; csv's default is 2^17
    body = lines[skipped:]
    plain = separator == "\t" and _unquoted(body)
    reader = csv.reader(
        body if plain else (line + "\n" for line in body),
        delimiter=separator,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        strict=True,
    )
    rows, places, header, first = [], [], [], []
    place = start = skipped
    try:
        for row in reader:
            place, start = start + 1, skipped + reader.line_num
            row = [unquote(x) for x in row] if plain else row
            if (any_header or len(row) < 2) and not "".join(row).strip():
                continue
            if not header:
                header, first = [name.strip() for name in row], row
            elif row == first:  # the header of an appended file
                continue
            elif _full(lines[place - 1 : start], separator, len(header)):
                raise csv.Error("a quote spans lines that each have all fields")
            elif len(row) != len(header):
                raise DataError(
                    f"expected {len(header)} fields as in the header, found "
                    f"{len(row)}: {shorten(separator.join(row))}",
                    where=f"{path}:{place}",
                    mend="Quote fields that hold the separator.",
                )
            else:
                rows.append(row)
                places.append(place)
    except csv.Error as error:
        raise DataError(
            f"expected fields separated by {separator!r}: {error}",
            where=f"{path}:{place if 'spans' in str(error) else start + 1}",
            mend="Is a quote not closed?",
        ) from None
    _check_header(path, separator, header, skipped + 1, any_header)
    if not rows:
        raise DataError("holds a header only", where=str(path), mend="Add rows.")
    frame = pd.DataFrame(dict(zip(header, zip(*rows, strict=True), strict=True)))
    if len(frame.columns) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        problem, where = f"has more than one column {twice!r}", f"{path}:{skipped + 1}"
        raise DataError(problem, where=where, mend="Rename or drop one.")
    origin = Origin(str(path), "line", np.array(places))
    return Named(frame, origin, head, len(head))


def _check_header(
    path: Path, separator: str, header: Sequence[str], line: int, any_header: bool
) -> None:
    """Refuse a header without known columns."""
    named = any_header or chosen().columns or sum(map(known_column, header)) > 1
    if not named and not of_votes(header):
        raise DataError(
            "expected a header with column names such as query_id and doc_id, "
            f"separated by {separator!r}, found {shorten(separator.join(header))}",
            where=f"{path}:{line}",
            mend="Add it, or name the file otherwise (.txt) if it is in a TREC format; "
            "--columns names other columns of votes.",
        )


def unquote(field: str) -> str:
    """Return a field without quotes around the whole; inner quotes are text."""
    inner = field[1:-1].replace('""', "")
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner:
        return field
    return field[1:-1].replace('""', '"')


def _unquoted(lines: list[str]) -> bool:
    """Return whether quotes hold no tabs and no line ends: each line has all fields.

    Otherwise an unclosed quote would swallow the lines up to the next quote.
    """
    there = [line for line in lines if line.strip()]
    width = there[0].count("\t")
    return any('"' in line for line in there) and all(
        line.count("\t") == width for line in there
    )


def _full(lines: list[str], separator: str, width: int) -> bool:
    """Return whether one row was made of several lines that each have all fields."""
    return len(lines) > 1 and all(x.count(separator) == width - 1 for x in lines)


def _jsonl(path: Path, text: str) -> Named:
    records, origin = json_records(path, text)
    names = list(dict.fromkeys(name for record in records for name in record))
    # Objects, because pandas would turn whole-number ids with a gap into floats.
    frame = pd.DataFrame(
        {n: pd.Series([r.get(n) for r in records], dtype=object) for n in names}
    )
    return Named(frame, origin)


def json_records(path: Path, text: str) -> tuple[list[dict[str, Any]], Origin]:
    """Read objects of JSON lines, or of one JSON array, and their origin.

    Raises:
        DataError: a line is no object.
    """
    if records := _array(path, text):
        return records, Origin(str(path), "record")
    there = [*json_lines(path, enumerate(text.split("\n"), 1))]
    records = [record for _, record in there]
    places = np.array([number for number, _ in there])
    return records, Origin(str(path), "line", places)


def json_lines(
    path: Path, lines: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON objects, one per line, with the numbers of their lines.

    Raises:
        DataError: a line is no object.
    """
    for number, line in lines:
        if not line.strip():
            continue
        record = None
        with suppress(NoJson):
            record = read_json(line, str(path), number)
        if not isinstance(record, dict):
            raise DataError(
                f"expected one JSON object a line, found {shorten(line)}",
                where=f"{path}:{number}",
                mend="Write each record on a line of its own.",
            )
        yield number, record


def _array(path: Path, text: str) -> list[dict[str, Any]] | None:
    """Read records of one JSON array, or of the one array of an object."""
    start, _, rest = text.lstrip().partition("\n")
    if not (start.startswith("[") or start.strip() == "{" or '": [{' in start):
        return None
    try:
        value = read_json(text, str(path))
    except NoJson:
        return None
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
        return value
    return None


def _parquet(path: Path, data: bytes) -> Named:
    table = read_parquet(path, data)
    head = (table.schema.metadata or {}).get(b"pgcjax", b"").decode(errors="replace")
    return Named(to_frame(table), Origin(str(path)), (head,))


def read_parquet(
    path: Path,
    data: bytes,
    most: int | None = None,
    select: Callable[[list[str]], list[str]] | None = None,
) -> pa.Table:
    """Read a Parquet file.

    Args:
        path: Path of the file.
        data: Bytes of the file.
        most: Most bytes in memory, as for `bytes.read_bytes`.
        select: Selects columns by their names; by default all.

    Raises:
        DataError: the file is damaged, too large, or has no rows.
    """
    mend = "It may be cut off, or in another format than its suffix says."
    with decoding(path, "Parquet", mend):
        file = pq.ParquetFile(pa.BufferReader(data))
        about = file.metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        stored = sum(group.total_byte_size for group in groups)
        # Equal cells are stored once in the file, but each takes memory.
        check_size(path, max(stored, 8 * about.num_rows * about.num_columns), most)
        if not about.num_rows or not about.num_columns:
            raise DataError("holds no rows", where=str(path), mend="Add rows.")
        return file.read(select and select(file.schema_arrow.names))
