"""Graded judgments of any kind: files, tables and dicts in, a canonical table out.

A grade is of a document alone (qrels), for one intent, or right after another document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast_columns, files, irds
from pgcjax.io.containers import Columns, Named
from pgcjax.io.fast_columns import NUMBER, TEXT, PlainTable, Regular, in_pandas
from pgcjax.io.in_memory import in_hand
from pgcjax.io.reading import chosen
from pgcjax.io.schema import (
    CONTEXT,
    INTENT_QRELS,
    QRELS,
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
    """A kind of graded judgments, and the form of its files.

    Attributes:
        name: Name of a DataFrame, in messages.
        columns: Columns of the canonical table: ids, and then relevance.
        line: Form of a line without a header, for messages.
        file: Columns of a line without a header.
        width: Advice about a line with another number of fields.
        number: Advice about a grade that is not a number.
        twice: Message that a document has two grades; `{}` stands for its columns.
    """

    name: str
    columns: tuple[str, ...]
    line: str
    file: tuple[str, ...]
    width: str
    twice: str
    number: str = "Every row needs one."


_QRELS = GradedFormat(
    name="qrels",
    columns=QRELS,
    line="query iteration doc grade",
    file=("query_id", "iteration", "doc_id", "relevance"),
    width="Qrels have 4 columns, or a header; runs go without an option.",
    twice="document {doc_id!r} of query {query_id!r} has two grades",
    number="Every row needs one; preferences go with preferences= (--prefs on the "
    "command line).",
)
_INTENT_QRELS = GradedFormat(
    name="intent qrels",
    columns=INTENT_QRELS,
    line="query intent doc grade",
    file=("query_id", "intent_id", "doc_id", "relevance"),
    width="Judgments per intent have 4 columns, or a header.",
    twice="document {doc_id!r} has two grades for intent {intent_id!r} of query "
    "{query_id!r}",
)
_CONTEXT = GradedFormat(
    name="context",
    columns=CONTEXT,
    line="query doc previous-doc grade",
    file=CONTEXT,
    width="Conditional grades have 4 columns, or a header.",
    twice="document {doc_id!r} after {previous_doc_id!r}, of query {query_id!r}, has "
    "two grades",
)


def read_qrels(source: files.Sources) -> pd.DataFrame:
    """Read graded judgments.

    Args:
        source: Files, folders and globs with lines `query iteration doc grade` or with
            named columns (CSV, TSV, JSONL, Parquet), plain or compressed; `irds:NAME`
            of ir_datasets; a table, as in `read_runs`; or `{query: {doc: grade}}`.
            Grades may have decimals.

    Returns:
        Table with query_id, doc_id and relevance (float64). A judgment that is repeated
        with the same grade is kept once.

    Raises:
        DataError: a row is malformed, or a document has two grades in one query.

    Examples:
        >>> read_qrels({"q1": {"a": 2, "b": 0}}).values.tolist()
        [['q1', 'a', 2.0], ['q1', 'b', 0.0]]
    """
    return in_pandas(read_qrels_as_they_come(source))


def read_qrels_as_they_come(source: Any) -> PlainTable | pd.DataFrame:
    """Read graded judgments as `read_qrels` does; regular files without pandas."""
    source = in_hand(irds.qrels(source), "qrels")
    if isinstance(source, Mapping):
        source = Named(_from_dict(source), Origin("qrels", "entry"))
    return _read(source, _QRELS)


def _from_dict(source: Mapping) -> pd.DataFrame:
    rows = []
    for query, grades in source.items():
        if not isinstance(grades, Mapping):
            raise DataError(
                f"expected a dict of grades for query {query!r}",
                where="qrels",
                mend="Pass {query: {doc: grade}}, or one table.",
            )
        rows += [(query, doc, grade) for doc, grade in grades.items()]
    return pd.DataFrame(
        np.array(rows, dtype=object).reshape(-1, 3), columns=list(QRELS)
    )


def read_intent_qrels(source: files.Sources) -> pd.DataFrame:
    """Read graded judgments per intent, as diversity tasks make them.

    Args:
        source: Files, folders and globs with lines `query intent doc grade` or with the
            columns below (CSV, TSV, JSONL, Parquet), plain or compressed; or a table,
            as in `read_runs`. Grades may have decimals.

    Returns:
        Table with query_id, doc_id, intent_id and relevance (float64). A judgment that
        is repeated with the same grade is kept once.

    Raises:
        DataError: a row is malformed, or a document has two grades for one intent.
    """
    return in_pandas(_read(source, _INTENT_QRELS))


def read_context(source: files.Sources) -> pd.DataFrame:
    """Read conditional grades g(d|d') of a document d read right after a document d'.

    Args:
        source: Files, folders and globs with lines `query doc previous-doc grade` or
            with the columns below (CSV, TSV, JSONL, Parquet), plain or compressed; a
            table, as in `read_runs`; or the result of `predict_context`. Grades may
            have decimals. Grades of documents alone are read by `read_qrels`.

    Returns:
        Table with query_id, doc_id, previous_doc_id and relevance (float64). A judgment
        that is repeated with the same grade is kept once.

    Raises:
        DataError: a row is malformed, a document is graded after itself, or a pair of
            documents has two grades in one query.

    Source: Golbus et al. 2014, 3.1.
    """
    if not isinstance(source, pd.DataFrame):
        source = getattr(source, "context", source)
    return in_pandas(_read(source, _CONTEXT))


def _read(source: files.Sources, kind: GradedFormat) -> PlainTable | pd.DataFrame:
    """Read grades of a kind, without repeats; regular files need no pandas."""
    read, of_table = [], partial(_with_table, kind)
    for content, table in files.contents(
        source, kind.name, partial(_load, kind), of_table
    ):
        if kind is _CONTEXT:
            _refuse_itself(table, content.origin)
        read.append((content, table))
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
    return _without_repeats(*files.together(tables), kind)


_Read: TypeAlias = "tuple[Named | Regular, pl.DataFrame | pd.DataFrame]"
"""Content of a file, and its canonical table."""


def _load(kind: GradedFormat, path: Path) -> _Read:
    """Read a file; readers of plug-ins may read qrels, too."""

    def ours() -> _Read:
        return _with_table(kind, _load_file(kind, path))

    if kind is not _QRELS:
        return ours()
    of_table = partial(_with_table, kind)
    return files.read_by_any(path, "qrels", "auto", chosen().reader, ours, of_table)


def _with_table(kind: GradedFormat, content: Named | Regular) -> _Read:
    if isinstance(content, Regular):
        return content, content.frame
    return content, _checked(kind, content)


def _load_file(kind: GradedFormat, path: Path) -> Named | Regular:
    layout = dict.fromkeys(kind.file, TEXT) | {"relevance": NUMBER}

    def parse(data: bytes) -> pl.DataFrame | None:
        frame = fast_columns.table(data, {len(layout): layout})
        regular = frame is not None and all_exact(frame["relevance"])
        return frame if regular else None

    content = fast_columns.load(path, "auto", parse)
    if isinstance(content, Named):
        return content
    if isinstance(content, Columns):
        content.check_width(kind.line, kind.width)
        columns = map(list, zip(*content.rows, strict=True))
        frame = pl.DataFrame(dict(zip(layout, columns, strict=True)))
    else:
        frame = content.frame
    if kind is not _CONTEXT:
        _refuse_preferences(kind, frame, content.origin)
    if isinstance(content, Regular):
        return content
    return Named(frame.to_pandas(), content.origin, comments=content.comments)


def _refuse_itself(table: pl.DataFrame | pd.DataFrame, origin: Origin) -> None:
    """Refuse documents that are graded after themselves."""
    query, doc = table["query_id"], table["doc_id"]
    refuse(
        (doc == table["previous_doc_id"]).to_numpy(),
        lambda i: f"document {doc[i]!r} of query {query[i]!r} is graded after itself",
        origin,
        "Name the document before it; grades without one go into qrels.",
    )


def _refuse_preferences(
    kind: GradedFormat, table: pl.DataFrame, origin: Origin
) -> None:
    """Refuse lines `query doc doc -2..2`, whose second field is a document.

    A file certainly holds preferences in Jelsas' format if all labels and NA fit that
    format and each second field is NA or a document of the query, which no iteration,
    judge or intent is. Second fields that are small whole numbers decide nothing.
    """
    query, second, doc = (table[n] for n in ("query_id", kind.file[1], "doc_id"))
    grade = table["relevance"].cast(NUMBER, strict=False)
    if (
        (second == second[0]).all()
        or not grade.is_in([-2.0, -1.0, 0.0, 1.0, 2.0]).fill_null(False).all()
        or ((second == "NA") != (grade == 2)).any()
        or ((doc == "NA") != (grade == -2)).any()
    ):
        return
    names = {*second.unique()} & {*doc.unique()}
    names = {name for name in names if not re.fullmatch("[0-9]{1,3}", name)}
    docs = {*zip(query, doc, strict=True)} if names else set()
    judged = [s in names and (q, s) in docs for q, s in zip(query, second, strict=True)]

    def problem(i: int) -> str:
        line = f"{query[i]} {second[i]} {doc[i]} {grade[i]:g}"
        return f"expected '{kind.line}', found preferences of Jelsas: {shorten(line)}"

    mend = "Preferences go with preferences= (--prefs on the command line)."
    refuse(np.array(judged) | (grade.abs() == 2).to_numpy(), problem, origin, mend)


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


def _without_repeats(
    table: pd.DataFrame, origins: Origins, kind: GradedFormat
) -> pd.DataFrame:
    """Keep each judgment once; `attrs["repeats"]` counts the removed rows.

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
