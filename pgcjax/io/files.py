"""Files as rows: found, and split line by line into fields."""

import csv
import gc
import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.io.content import decode, read_bytes, unreadable
from pgcjax.io.schema import Origin, Origins, known_column, shorten

Source = str | os.PathLike
"""A file, a folder or a glob pattern."""

CONTAINERS = ("csv", "tsv", "jsonl", "parquet", "columns")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_PLAIN = (".txt", ".run", ".trec", ".res", ".out", *_SUFFIXES)
# Only blanks and tabs separate: str.split() would cut ids at, say, a no-break space.
_FIELDS = re.compile(r"[^ \t]+").findall


@dataclass(frozen=True)
class Columns:
    """A text file without a header: rows of fields; `head` holds what is above them."""

    rows: list[list[str]]
    origin: Origin
    head: tuple[str, ...] = ()
    comments: int = 0

    def text(self, i: int) -> str:
        """Give back row i for a message."""
        return shorten(" ".join(self.rows[i]))


@dataclass(frozen=True)
class Named:
    """A table with named columns.

    Attributes:
        frame: the table.
        origin: where its rows came from.
        head: comment lines above the header.
        comments: how many comment lines there were.
        silent: how many queries of the file led to no row.
        checked: whether columns have their canonical names, ids and numbers.
    """

    frame: pd.DataFrame
    origin: Origin
    head: tuple[str, ...] = ()
    comments: int = 0
    silent: int = 0
    checked: bool = False


def read_tables(
    source: Source | Iterable[Source] | pd.DataFrame | Named,
    name: str,
    load: Callable[[Path], Named],
    canonical: Callable[[Named], pd.DataFrame],
) -> tuple[pd.DataFrame, Origins]:
    """Read tables, and put them one below the other.

    Args:
        source: files, folders and globs; or a table in memory.
        name: of a DataFrame, in messages.
        load: reads a file.
        canonical: selects and checks the columns of a table.

    Returns:
        The table, whose `attrs["comments"]` counts comment lines, and where its rows
        came from.
    """
    if isinstance(source, pd.DataFrame):
        source = Named(source, Origin(name))
    contents = [source] if isinstance(source, Named) else map(load, expand(source))
    contents = [(content, canonical(content)) for content in contents]
    table = pd.concat([table for _, table in contents], ignore_index=True)
    table.attrs = {"comments": sum(content.comments for content, _ in contents)}
    origins = Origins([c.origin for c, _ in contents], [len(t) for _, t in contents])
    return table, origins


def with_header(path: Path, data: bytes, header: str) -> Named:
    """Read a file as a table that needs a header.

    Args:
        path: the file.
        data: its bytes, decompressed.
        header: what is expected above the rows, for messages.

    Raises:
        DataError: there is no header, or `split` finds the file wrong.
    """
    content = split(path, data, container_of(path, data))
    if isinstance(content, Named):
        return content
    raise DataError(
        f"expected a header with the columns {header}, found {content.text(0)}",
        where=content.origin.at(0),
        mend="Separate the columns by tabs or commas.",
    )


def stem(path: Source) -> str:
    """Name a run after its file: without folder, compression and known suffix."""
    name = Path(path).name
    for suffixes in (_COMPRESSED, _PLAIN):
        for suffix in suffixes:
            if name.lower().endswith(suffix) and len(name) > len(suffix):
                name = name[: -len(suffix)]
                break
    # A name that is not UTF-8 must be text all the same, and stay different.
    return os.fsencode(name).decode(errors="backslashreplace")


def expand(sources: Source | Iterable[Source]) -> list[Path]:
    """List the files that paths, folders (not their subfolders) and globs name.

    Files of a folder whose names begin with `.` or `_` are left out.

    Raises:
        DataError: nothing is there, a folder or a pattern holds no file, or a file is
            named twice.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    if not isinstance(sources, Iterable) or isinstance(sources, Mapping):
        raise UsageError(f"expected files or a table, found {shorten(sources)}")
    files: list[Path] = []
    for source in sources:
        if not isinstance(source, (str, os.PathLike)):
            raise UsageError(f"expected a file, found {shorten(source)}")
        try:
            files += _find(os.path.expanduser(os.fspath(source)))
        except OSError as error:
            raise unreadable(source, error) from None
    if not files:
        raise DataError("no file was named", mend="Name files, folders or patterns.")
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise DataError("is named twice", where=str(file), mend="Name it once.")
        seen.add(file.resolve())
    return files


def _find(source: str) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        what = "is a folder that holds no file"
        found = [f for f in path.iterdir() if f.is_file() and f.name[0] not in "._"]
    elif path.exists():
        return [path]
    else:
        is_pattern = glob.has_magic(source)
        what = "no file matches" if is_pattern else "no such file or folder"
        found = [Path(f) for f in glob.glob(source, recursive=True)]
        found = [f for f in found if f.is_file()]
    if not found:
        raise DataError(what, where=source, mend="Check the path.")
    return sorted(found)


def load(path: Path, container: str = "auto") -> Columns | Named:
    """Read one file, of any compression, as rows of text.

    Args:
        path: the file.
        container: one of `CONTAINERS`; `tabs` for columns that may hold blanks; or
            `auto` to decide by suffix and content.

    Raises:
        DataError: the file cannot be read, is empty, or is not what it should be.
    """
    data = read_bytes(path)
    if container == "auto":
        container = container_of(path, data)
    return split(path, data, container)


def split(
    path: Path, data: bytes, container: str, *, any_header: bool = False
) -> Columns | Named:
    """Split the bytes of a file into rows of text.

    Args:
        path: the file, for messages.
        data: its bytes, decompressed.
        container: one of `CONTAINERS`, or `tabs`.
        any_header: whether columns may have any names, as in wide tables of scores,
            and rows without content are left out.

    Raises:
        DataError: it is empty, or is not what it should be.
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
    """Pause the search for cycles: rows make none, and it would walk them often."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def container_of(path: Path, data: bytes) -> str:
    """Find the container of a file by its suffix, or else by its first line."""
    if data.startswith(b"PAR1"):
        return "parquet"
    name = path.name.lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    if Path(name).suffix in _SUFFIXES:
        return _SUFFIXES[Path(name).suffix]
    lines = data[:65536].removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((x for x in lines if x.strip() and not x.startswith(b"#")), b"")
    if re.match(rb'\{\s*"', first):
        return "jsonl"
    for separator, kind in (("\t", "tsv"), (",", "csv")):
        header = first.decode("utf-8", "replace").split(separator)
        if len(header) > 1 and sum(map(known_column, header)) > 1:
            return kind
    return "columns"


def _tabbed(line: str) -> list[str]:
    """Split at tabs, as trec_eval's output is, or at blanks if there are none."""
    if "\t" not in line:
        return _FIELDS(line)
    return [field.strip(" ") for field in line.split("\t")]


def _columns(path: Path, text: str, split: Callable[[str], list[str]]) -> Columns:
    rows, places, comments = [], [], 0
    for number, line in enumerate(text.split("\n"), 1):
        fields = split(line)
        if not fields:
            continue
        if fields[0].startswith("#"):  # as trec_eval reads it; counted, not hidden
            comments += 1
            continue
        rows.append(fields)
        places.append(number)
    if not rows:
        raise _comments_only(path)
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


def _comments_only(path: Path) -> DataError:
    mend = "Expected lines of data."
    return DataError("holds comments only", where=str(path), mend=mend)


def _delimited(path: Path, text: str, separator: str, any_header: bool) -> Named:
    lines = text.split("\n")
    # Comments may stand above the header only: below it, # may begin an id.
    skipped = next(
        (i for i, x in enumerate(lines) if x.strip() and not x.startswith("#")), None
    )
    if skipped is None:
        raise _comments_only(path)
    head = tuple(line for line in lines[:skipped] if line.startswith("#"))
    reader = csv.reader(
        (line + "\n" for line in lines[skipped:]), delimiter=separator, strict=True
    )
    rows, places, header = [], [], []
    start = skipped
    try:
        for row in reader:
            place, start = start + 1, skipped + reader.line_num
            if (any_header or len(row) < 2) and not "".join(row).strip():
                continue
            if not header:
                header = [name.strip() for name in row]
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
            where=f"{path}:{start + 1}",
            mend="Is a quote not closed?",
        ) from None
    if not any_header and sum(map(known_column, header)) < 2:
        raise DataError(
            "expected a header with column names such as query_id and doc_id, "
            f"separated by {separator!r}, found {shorten(separator.join(header))}",
            where=f"{path}:{skipped + 1}",
            mend="Add it, or name the file otherwise (.txt) if it is in a TREC format.",
        )
    if not rows:
        raise DataError("holds a header only", where=str(path), mend="Add rows.")
    frame = pd.DataFrame(dict(zip(header, zip(*rows, strict=True), strict=True)))
    if len(frame.columns) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(
            f"has more than one column {twice!r}",
            where=f"{path}:{skipped + 1}",
            mend="Rename or drop one.",
        )
    origin = Origin(str(path), "line", np.array(places))
    return Named(frame, origin, head, len(head))


def _jsonl(path: Path, text: str) -> Named:
    records, places = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise DataError(
                f"expected one JSON object a line, found {shorten(line)}",
                where=f"{path}:{number}",
                mend="Write each record on a line of its own.",
            )
        records.append(record)
        places.append(number)
    names = list(dict.fromkeys(name for record in records for name in record))
    # Columns of objects: pandas would turn whole-number ids with a gap into floats.
    frame = pd.DataFrame(
        {n: pd.Series([r.get(n) for r in records], dtype=object) for n in names}
    )
    return Named(frame, Origin(str(path), "line", np.array(places)))


def _parquet(path: Path, data: bytes) -> Named:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
        # An index is a column here, and whole numbers beside a gap stay whole.
        frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"cannot read it as Parquet: {error}",
            where=str(path),
            mend="It may be cut off, or in another format than its suffix says.",
        ) from None
    if frame.empty:
        raise DataError("holds no rows", where=str(path), mend="Add rows.")
    head = (table.schema.metadata or {}).get(b"pgcjax", b"").decode()
    return Named(frame, Origin(str(path)), (head,))
