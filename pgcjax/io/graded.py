"""Graded judgments of any kind: plain, for each intent, or after another document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast_columns, files
from pgcjax.io.containers import Columns, Named
from pgcjax.io.fast_columns import NUMBER, TEXT, PlainTable, Regular
from pgcjax.io.schema import (
    Origin,
    Origins,
    all_exact,
    first_repeat,
    indistinct,
    keyed,
    numbers,
    refuse,
    shorten,
    tell_indistinct,
)
from pgcjax.later import pd


@dataclass(frozen=True)
class GradedFormat:
    """A kind of graded judgments, and how its files look.

    Attributes:
        name: of a DataFrame, in messages.
        columns: of the canonical table: ids, and then relevance.
        line: a line of a file without a header, for messages.
        file: the columns of such a line.
        width: what to do about a line of another width.
        number: what to do about a grade that is not a number.
        twice: says in a message that a document has two grades; `{}` for its columns.
    """

    name: str
    columns: tuple[str, ...]
    line: str
    file: tuple[str, ...]
    width: str
    twice: str
    number: str = "Every row needs one."


def read(
    source: files.Source | Iterable[files.Source] | Any | Named, kind: GradedFormat
) -> tuple[pd.DataFrame, Origins]:
    """Read grades of a kind, repeats included.

    Returns:
        Table of the columns of the kind, ids as text and relevance as float64, perhaps
        with `iteration`; and where its rows came from.

    Raises:
        DataError: a row is malformed.
    """
    parts = partial(_load, kind), partial(_canonical, kind)
    return files.read_tables(source, kind.name, *parts)


def read_unique(
    source: files.Source | Iterable[files.Source] | Any | Named, kind: GradedFormat
) -> PlainTable | pd.DataFrame:
    """Read grades of a kind, without repeats; of regular files without pandas, too.

    Raises:
        DataError: as of `read` and `without_repeats`.
    """
    read = []
    for content in files.contents(source, kind.name, partial(_load, kind)):
        plain = isinstance(content, Regular) and not _like_preferences(
            kind, content.frame
        )
        read.append((content, content.frame if plain else _canonical(kind, content)))
    frames = [table for _, table in read if isinstance(table, pl.DataFrame)]
    if len(frames) == len(read):
        frame = pl.concat(frame.select(kind.columns) for frame in frames)
        if fast_columns.all_differ(frame.select(kind.columns[:-1])):
            comments = sum(content.comments for content, _ in read)
            return PlainTable(frame, {"comments": comments, "repeats": 0})
    tables = [
        (content, table.to_pandas() if isinstance(table, pl.DataFrame) else table)
        for content, table in read
    ]
    return without_repeats(*files.together(tables), kind)


def _load(kind: GradedFormat, path: Path) -> Named | Regular:
    layout = dict.fromkeys(kind.file, TEXT) | {"relevance": NUMBER}

    def parse(data: bytes) -> pl.DataFrame | None:
        frame = fast_columns.table(data, {len(layout): layout})
        regular = frame is not None and all_exact(frame["relevance"])
        return frame if regular else None

    content = fast_columns.load(path, "auto", parse)
    if not isinstance(content, Columns):
        return content
    content.check_width(len(layout), kind.line, kind.width)
    columns = zip(*content.rows, strict=True)
    frame = pd.DataFrame(dict(zip(layout, columns, strict=True)))
    return Named(frame, content.origin, comments=content.comments)


def _canonical(kind: GradedFormat, content: Named | Regular) -> pd.DataFrame:
    if isinstance(content, Regular):
        content = content.named()
    table = content.frame if content.checked else _checked(kind, content)
    in_file = content.origin.unit == "line"  # which nobody gave names of columns
    if in_file and kind.file[1] in table and kind.file[1] != "doc_id":
        _refuse_preferences(kind, table, content.origin)
    return table


def _refuse_preferences(
    kind: GradedFormat, table: pd.DataFrame, origin: Origin
) -> None:
    """Refuse lines `query doc doc -2..2`, whose second field is a document.

    They are Jelsas' preferences beyond doubt where all labels and NA are as there, and
    the second field is NA or a document of the query: no iteration, judge or intent is
    called so. Small whole numbers may be both, and tell nothing.
    """
    query, second, doc = (table[n] for n in ("query_id", kind.file[1], "doc_id"))
    grade = table["relevance"]
    if (
        (second == second.iloc[0]).all()
        or not grade.isin((-2, -1, 0, 1, 2)).all()
        or ((second == "NA") != (grade == 2)).any()
        or ((doc == "NA") != (grade == -2)).any()
    ):
        return
    names = {*second.unique()} & {*doc.unique()}
    names = {name for name in names if not re.fullmatch("[0-9]{1,3}", str(name))}
    docs = {*zip(query, doc, strict=True)} if names else set()
    judged = [s in names and (q, s) in docs for q, s in zip(query, second, strict=True)]

    def problem(i: int) -> str:
        line = f"{query[i]} {second[i]} {doc[i]} {grade[i]:g}"
        return f"expected '{kind.line}', found preferences of Jelsas: {shorten(line)}"

    mend = "Preferences go with preferences= (--prefs on the command line)."
    refuse(np.array(judged) | (grade.abs() == 2).to_numpy(), problem, origin, mend)


def _like_preferences(kind: GradedFormat, table: pl.DataFrame) -> bool:
    """Return whether `_refuse_preferences` has to look at the documents of a file."""
    second, doc, grade = (table[n] for n in (kind.file[1], "doc_id", "relevance"))
    return not (
        kind.file[1] == "doc_id"
        or (second == second[0]).all()
        or not grade.is_in([-2.0, -1.0, 0.0, 1.0, 2.0]).all()
        or ((second == "NA") != (grade == 2)).any()
        or ((doc == "NA") != (grade == -2)).any()
    )


def _checked(kind: GradedFormat, content: Named) -> pd.DataFrame:
    origin = content.origin
    optional = [name for name in kind.file if name not in kind.columns]
    *keys, grade = kind.columns
    table = keyed(content.frame, origin, keys, [grade], optional)
    grades = numbers(table["relevance"], "grade", origin, kind.number)
    equal = indistinct(table["relevance"], grades, table[["query_id"]])
    tell_indistinct(equal, f"grades of {origin.name}")
    table["relevance"] = grades
    return table


def without_repeats(
    table: pd.DataFrame, origins: Origins, kind: GradedFormat
) -> pd.DataFrame:
    """Keep each judgment of `read` once; `attrs["repeats"]` counts the others.

    Raises:
        DataError: a document has two grades.
    """
    columns, key = list(kind.columns), list(kind.columns[:-1])
    differ = fast_columns.all_differ(fast_columns.of_pandas(table, key))
    unique = table if differ else table[~table.duplicated(columns)]
    repeat = None if differ else first_repeat(unique.reset_index(drop=True), key)
    if repeat:
        first, second = repeated = [int(unique.index[i]) for i in repeat]
        a, b = ({str(n): table[n].iloc[row] for n in table} for row in repeated)
        mend = "Keep one of the two."
        if "iteration" in table and a["iteration"] != b["iteration"]:
            mend = "Grades per intent or judge (the second column) are not plain qrels."
        raise DataError(
            f"{kind.twice.format(**b)}: {a['relevance']:g} ({origins.at(first)}) and "
            f"{b['relevance']:g}",
            where=origins.at(second),
            mend=mend,
        )
    unique = unique[columns].reset_index(drop=True)
    unique.attrs = {**table.attrs, "repeats": len(table) - len(unique)}
    return unique
