"""A run file that is larger than its share of memory, in pieces of whole rankings."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast_columns
from pgcjax.io.containers import container_of
from pgcjax.io.content import TooLargeError, line_ends
from pgcjax.io.prefetch import size_on_disk
from pgcjax.io.reading import chosen
from pgcjax.io.run_tables import RunTable, distinct, named, read_file, table_of
from pgcjax.io.schema import shorten
from pgcjax.io.text_pieces import text_pieces

_MOST = 2**24  # bytes of text in a piece
_RANKING = ["run_id", "query_id"]


@dataclass(frozen=True, kw_only=True)
class Piece(RunTable):
    """Whole rankings of a run file.

    Attributes, beside those of `RunTable`:
        read: bytes of the file that have been read.
        last: whether no other piece of the file follows.
    """

    read: int = 0
    last: bool = True


def read_in_pieces(
    path: Path, format: str, name_by: str, ranks: bool
) -> RunTable | Iterator[Piece]:
    """Read a file as `read_file` does; in pieces if it has more than its share.

    Tables with a header are read whole, and so is what comes through a pipe.

    Raises:
        DataError: it is malformed.
    """
    if size_on_disk(path):  # a pipe can be read but once
        try:
            return read_file(path, format, name_by, ranks, chosen().share)
        except TooLargeError:
            if format == "auto":
                format = container_of(path, next(text_pieces(path, 2**16))[0])
            if format == "columns":
                return _pieces(path, name_by, ranks)
    return read_file(path, format, name_by, ranks)


def _pieces(path: Path, name_by: str, ranks: bool) -> Iterator[Piece]:
    seen: set[tuple[str, str]] = set()
    waiting: pl.DataFrame | None = None  # the ranking that may go on in what follows
    table, read, equal = None, 0, 0
    for table, read in _tables(path, name_by, ranks):
        frame, equal = table.frame, equal + table.indistinct
        if waiting is not None:
            frame = pl.concat([waiting, frame])
            _check_repeats(path, frame)
        own = _of_ranking(frame, -1)
        waiting, frame = frame.filter(own), frame.filter(~own)
        here = set(frame.select(_RANKING).unique().rows())
        if scattered := here & seen or seen & {waiting.select(_RANKING).row(0)}:
            raise _scattered(path, *min(scattered))
        seen |= here
        if len(frame):
            yield _piece(frame, table.comments, equal, read, last=False)
            equal = 0
    if waiting is None or table is None:
        raise DataError(
            "holds comments only", where=str(path), mend="Expected lines of data."
        )
    yield _piece(waiting, table.comments, equal, read, last=True)


def _piece(
    frame: pl.DataFrame, comments: int, equal: int, read: int, *, last: bool
) -> Piece:
    run_ids = distinct(frame["run_id"])
    return Piece(frame, run_ids, comments, equal, read=read, last=last)


def _tables(path: Path, name_by: str, ranks: bool) -> Iterator[tuple[RunTable, int]]:
    """Read pieces of text as tables, with all comments and bytes up to there."""
    size = min(_MOST, chosen().share // 4)
    lines = comments = width = 0
    tags: dict[str, None] = {}
    for data, read in text_pieces(path, size):
        place, fields = _first_row(data)
        if not fields:
            comments += fast_columns.tidy(data)[1]
        elif width and len(fields) != width:
            raise DataError(
                f"expected {width} fields as before, found {len(fields)} fields: "
                + shorten(b" ".join(fields).decode(errors="replace")),
                where=f"{path}:{lines + place}",
                mend="All lines of a run have 6 columns, or all have 3.",
            )
        else:
            width = len(fields)
            table = table_of(path, data, "columns", ranks, lines)
            comments += table.comments
            tags |= dict.fromkeys(table.run_ids)
            frame = named(path, table.frame, tuple(tags), name_by)
            yield replace(table, frame=frame, comments=comments), read
        lines += line_ends(data)


def _first_row(data: bytes) -> tuple[int, list[bytes]]:
    """Give the first line that is a row, and its fields; none if there is none."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(data[: 2**16].splitlines(), 1):
        fields = [x for x in line.replace(b"\t", b" ").split(b" ") if x]
        if fields and not fields[0].startswith(b"#"):
            return number, fields
    return (0, []) if len(data) <= 2**16 else _first_row(fast_columns.tidy(data)[0])


def _of_ranking(frame: pl.DataFrame, row: int) -> pl.Series:
    """Say of each row whether it is of the ranking that a row is of."""
    run, query = frame.select(_RANKING).row(row)
    return (frame["run_id"] == run) & (frame["query_id"] == query)


def _check_repeats(path: Path, frame: pl.DataFrame) -> None:
    """Refuse a document that is twice in the ranking that two pieces share."""
    docs = frame.filter(_of_ranking(frame, 0))
    if not fast_columns.all_differ(docs.select("doc_id")):
        twice = docs.filter(docs["doc_id"].is_duplicated())
        if len(twice):
            run, query, doc = twice.select(*_RANKING, "doc_id").row(0)
            raise DataError(
                f"document {doc!r} is twice in query {query!r} of run {run!r}",
                where=str(path),
                mend="Keep one of the two.",
            )


def _scattered(path: Path, run: str, query: str) -> DataError:
    most = chosen().share / 2**20
    return DataError(
        f"has more than {most:,.0f} MiB, and query {query!r} of run {run!r} is in "
        "several places",
        where=str(path),
        mend="Put the lines of each run and query together, or allow eight times the "
        "size of the file: pgcjax.reading(memory=SIZE), --memory SIZE on the command "
        "line.",
    )
