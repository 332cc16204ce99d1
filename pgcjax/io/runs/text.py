"""Runs in columns: `query Q0 doc rank score tag`, or `query doc score`.

Polars reads regular text, which nearly all files have, at once, and several small files
as one text. Python reads other text line by line, and reports its errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io.bytes import MARK, line_ends, text_pieces
from pgcjax.io.containers import Columns, comments_only, split
from pgcjax.io.fast_columns import (
    NUMBER,
    TEXT,
    all_differ,
    fields,
    tidied,
    tidy,
)
from pgcjax.io.runs.contract import Need, Options, RunTable
from pgcjax.io.runs.rows import (
    JUDGMENTS,
    RunRows,
    check_one,
    checked,
    name_of,
    table_of,
)
from pgcjax.io.schema import Origin, all_exact, lenient_number, shorten

_SIX = dict.fromkeys(("query_id", "Q0", "doc_id"), TEXT)
_SIX |= {"rank": NUMBER, "score": NUMBER, "run_id": TEXT}
LAYOUTS = {6: _SIX, 3: {"query_id": TEXT, "doc_id": TEXT, "score": NUMBER}}
_PIECE = 2**24  # most bytes of text in a piece
_RANKING = ["run_id", "query_id"]


def read_text(
    path: Path, data: bytes, name_by: str, ranks: bool, lines: int = 0
) -> RunTable:
    """Read the text of a file, or its text after `lines` lines.

    Without `ranks`, those of the table may be NaN.

    Raises:
        DataError: the text is malformed.
    """
    read = tidied(data, lambda text: read_regular([path], [text], name_by, ranks))
    if read is None:
        return table_of(_exact(path, data, lines), [path], name_by)
    table, comments = read
    return replace(table, comments=comments)


def read_regular(
    paths: Sequence[Path], texts: Sequence[bytes], name_by: str, ranks: bool
) -> RunTable | None:
    """Read files with one blank or one tab between fields, as one text.

    Ranks that are not needed are not checked: the exact reader refuses no file for its
    ranks either, because only one order uses them.

    Returns:
        The table; None if anything is unusual: a comment, an empty field, a number that
        is not plain or not finite, a document twice in a ranking, a run in two files.
    """
    several = len(texts) > 1
    if several:
        # A byte-order mark inside the text would become part of an id.
        if any(text.startswith(MARK) for text in texts):
            return None
        texts = [x if x.endswith(b"\n") else x + b"\n" for x in texts]
    skip = ("Q0",) if ranks else ("Q0", "rank")
    frame = fields(b"".join(texts), LAYOUTS, skip)
    if frame is None or not all_exact(frame["score"]):
        return None
    lengths = [*map(_lines, texts)] if several else [len(frame)]
    try:
        table = table_of(RunRows(frame, lengths, Origin("")), paths, name_by)
    except DataError:
        return None
    # The first of adjacent comments has another query than the line before.
    assert table.outline is not None
    leads = table.frame["query_id"][np.flatnonzero(table.outline.start)]
    return None if leads.str.starts_with("#").any() else table


def _lines(text: bytes) -> int:
    """Count the lines, faster than `bytes.count`, and without Python's lock."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _exact(path: Path, data: bytes, before: int) -> RunRows:
    """Read text that follows `before` lines, line by line."""
    try:
        content = split(path, data, "columns")
    except DataError as error:
        raise _later(path, error, before) from None
    assert isinstance(content, Columns)
    lines, places = content.rows, np.asarray(content.origin.places) + before
    origin = replace(content.origin, places=places)
    content = replace(content, origin=origin)
    width = 3 if len(lines[0]) == 3 else 6
    layout = "query doc score" if width == 3 else "query Q0 doc rank score tag"
    uniform = "All lines of a run have 6 columns, or all have 3."
    of_run = len(lines[0]) in (3, 6)
    content.check_width(layout, uniform if of_run else JUDGMENTS)
    first = lines[0][-1].lower()
    if width == 3 and math.isnan(lenient_number(first)) and first != "nan":
        raise DataError(
            f"expected '{layout}', found {content.text(0)}",
            where=origin.at(0),
            mend=JUDGMENTS,
        )
    # zip(*lines) makes an iterator for each line, which takes longer.
    cells = {
        name: pl.Series([line[i] for line in lines], dtype=TEXT)
        for i, name in enumerate(LAYOUTS[width])
    }
    return checked(pl.DataFrame(cells), origin, content.comments)


def read_pieces(path: Path, options: Options, need: Need) -> Iterator[RunTable]:
    """Read a file in pieces of whole rankings.

    Raises:
        DataError: the file is malformed, or the lines of a ranking are not adjacent.
    """
    seen: set[tuple[str, str]] = set()
    waiting: RunTable | None = None  # the ranking that may continue in the next piece
    for piece in _tables(path, options, need):
        if waiting is not None:
            frame = pl.concat([waiting.frame, piece.frame])
            equal = waiting.indistinct + piece.indistinct
            piece = replace(piece, frame=frame, indistinct=equal)
            _check_repeats(path, frame)
        at_end = _of_ranking(piece.frame, -1)
        whole, last = piece.frame.filter(~at_end), piece.frame.filter(at_end)
        here = set(whole.select(_RANKING).unique().rows())
        if scattered := here & seen or seen & {last.row(0)[:2]}:
            raise _scattered(path, *min(scattered), need.share)
        seen |= here
        waiting = replace(piece, frame=last, indistinct=0)
        if len(whole):
            yield replace(_of_runs(piece, whole), last=False)
        else:
            waiting = replace(waiting, indistinct=piece.indistinct)
    if waiting is None:
        raise comments_only(path)
    yield _of_runs(waiting, waiting.frame)


def _of_runs(piece: RunTable, frame: pl.DataFrame) -> RunTable:
    runs = tuple(frame["run_id"].unique(maintain_order=True))
    return replace(piece, frame=frame, by_unit=(runs,), outline=None)


def _tables(path: Path, options: Options, need: Need) -> Iterator[RunTable]:
    """Read pieces of text as tables."""
    lines = width = 0
    tags: dict[str, None] = {}
    size = min(_PIECE, need.share // 4)
    for data, _ in text_pieces(path, size, options.encoding):
        place, first = _first_line(data)
        if first and width and len(first) != width:
            raise DataError(
                f"expected {width} fields as before, found {len(first)} fields: "
                + shorten(b" ".join(first).decode(errors="replace")),
                where=f"{path}:{lines + place}",
                mend="All lines of a run have 6 columns, or all have 3.",
            )
        if first:
            width = len(first)
            table = read_text(path, data, "tag", need.ranks, lines)
            frame = table.frame
            if options.name_by != "tag":
                tags |= dict.fromkeys(table.by_unit[0])
                check_one(path, [*tags])
                name = pl.lit(name_of(path, options.name_by))
                frame = frame.with_columns(run_id=name)
            yield replace(table, frame=frame)
        lines += line_ends(data)


def _first_line(data: bytes) -> tuple[int, list[bytes]]:
    """Return the number of the first line that is no comment, and its fields."""
    head = data.removeprefix(MARK)[: 2**16]
    for number, line in enumerate(head.splitlines(), 1):
        words = [x for x in line.replace(b"\t", b" ").split(b" ") if x]
        if words and not words[0].startswith(b"#"):
            return number, words
    return (0, []) if len(data) <= 2**16 else _first_line(tidy(data)[0])


def _later(path: Path, error: DataError, lines: int) -> DataError:
    """Convert an error's line in a piece after `lines` lines to a line of the file."""
    name, _, line = error.where.rpartition(":")
    if name != str(path) or not line.isdecimal():
        return error
    where = f"{name}:{int(line) + lines}"
    return DataError(error.problem, where=where, mend=error.mend)


def _of_ranking(frame: pl.DataFrame, row: int) -> pl.Series:
    """Return which rows belong to the ranking of a row."""
    run, query = frame.select(_RANKING).row(row)
    return (frame["run_id"] == run) & (frame["query_id"] == query)


def _check_repeats(path: Path, frame: pl.DataFrame) -> None:
    """Refuse a document that is twice in the ranking that two pieces share."""
    docs = frame.filter(_of_ranking(frame, 0))
    if all_differ(docs.select("doc_id")):
        return
    twice = docs.filter(docs["doc_id"].is_duplicated())
    if len(twice):
        run, query, doc = twice.select(*_RANKING, "doc_id").row(0)
        raise DataError(
            f"document {doc!r} is twice in query {query!r} of run {run!r}",
            where=str(path),
            mend="Keep one of the two.",
        )


def _scattered(path: Path, run: str, query: str, share: int) -> DataError:
    return DataError(
        f"has more than {share / 2**20:,.0f} MiB, and query {query!r} of run {run!r} "
        "is in several places",
        where=str(path),
        mend="Put the lines of each run and query together, or allow eight times the "
        "size of the file: pgcjax.files.reading(memory=SIZE), --memory SIZE on the "
        "command line.",
    )
