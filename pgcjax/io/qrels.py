"""Graded judgments: files, tables, DataFrames and dicts in, a canonical table out."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast, files
from pgcjax.io.schema import (
    QRELS,
    Origin,
    Origins,
    canonical,
    first_repeat,
    ids,
    numbers,
)

_LAYOUT = {
    "query_id": fast.TEXT,
    "iteration": fast.TEXT,
    "doc_id": fast.TEXT,
    "relevance": fast.NUMBER,
}
_NEEDED = "Every row needs one; preferences go with --prefs."


def read_qrels(
    source: files.Source | Iterable[files.Source] | pd.DataFrame | Mapping,
) -> pd.DataFrame:
    """Read graded judgments.

    Args:
        source: files, folders and globs of `query iteration doc grade`, or of named
            columns (CSV, TSV, JSONL, Parquet), plain or compressed; or a DataFrame; or
            a dict `{query: {doc: grade}}`. Grades may have decimals.

    Returns:
        Table of query_id, doc_id and relevance (float64). A judgment that is repeated
        with the same grade is kept once.

    Raises:
        DataError: a row is malformed, or a document has two grades in one query.
    """
    if isinstance(source, pd.DataFrame):
        frames = [files.Named(source, Origin("qrels"))]
    elif isinstance(source, Mapping):
        frames = [files.Named(_from_dict(source), Origin("qrels", "entry"))]
    else:
        contents = (fast.load(path, "auto", _parse) for path in files.expand(source))
        frames = [_named(c) if isinstance(c, files.Columns) else c for c in contents]
    tables = [_canonical_qrels(c) for c in frames]
    origins = Origins([c.origin for c in frames], [len(t) for t in tables])
    qrels, repeats = _without_repeats(pd.concat(tables, ignore_index=True), origins)
    qrels.attrs = {"comments": sum(c.comments for c in frames), "repeats": repeats}
    return qrels


def _parse(data: bytes) -> pl.DataFrame | None:
    """Read regular qrels fast; None of what is unusual or wrong."""
    frame = fast.table(data, {len(_LAYOUT): _LAYOUT})
    return frame if frame is not None and frame["relevance"].is_finite().all() else None


def _named(content: files.Columns) -> files.Named:
    for i, row in enumerate(content.rows):
        if len(row) != 4:
            raise DataError(
                f"expected 'query iteration doc grade', found {len(row)} fields: "
                + content.text(i),
                where=content.origin.at(i),
                mend="Qrels have 4 columns, or a header; runs go without an option.",
            )
    query, iteration, doc, grade = zip(*content.rows, strict=True)
    named = {"query_id": query, "doc_id": doc, "relevance": grade}
    frame = pd.DataFrame({**named, "iteration": iteration})
    return files.Named(frame, content.origin, comments=content.comments)


def _from_dict(source: Mapping) -> pd.DataFrame:
    rows = []
    for query, grades in source.items():
        if not isinstance(grades, Mapping):
            raise DataError(
                f"expected a dict of grades for query {query!r}",
                where="qrels",
                mend="Pass {query: {doc: grade}}.",
            )
        rows += [(query, doc, grade) for doc, grade in grades.items()]
    return pd.DataFrame(
        np.array(rows, dtype=object).reshape(-1, 3), columns=list(QRELS)
    )


def _canonical_qrels(content: files.Named) -> pd.DataFrame:
    frame, origin = content.frame, content.origin
    if content.checked:
        return frame
    table = canonical(frame, origin, QRELS, ("iteration",))
    for name in QRELS[:2]:
        table[name] = ids(table[name], origin)
    table["relevance"] = numbers(table["relevance"], "grade", origin, _NEEDED)
    return table


def _without_repeats(table: pd.DataFrame, origins: Origins) -> tuple[pd.DataFrame, int]:
    """Keep each judgment once, and count those that repeat another."""
    if fast.all_differ(pl.from_pandas(table[list(QRELS[:2])])):
        return table[list(QRELS)], 0
    once = ~table.duplicated(list(QRELS))
    unique = table[once]
    repeat = first_repeat(unique.reset_index(drop=True), list(QRELS[:2]))
    if repeat:
        first, second = (int(unique.index[i]) for i in repeat)
        a, b = table.loc[first], table.loc[second]
        iteration = table["iteration"].tolist() if "iteration" in table else []
        raise DataError(
            f"document {b.doc_id!r} of query {b.query_id!r} has two grades: "
            f"{a.relevance:g} ({origins.at(first)}) and {b.relevance:g}",
            where=origins.at(second),
            mend="Grades per intent or judge (the second column) are not plain qrels."
            if iteration and iteration[first] != iteration[second]
            else "Keep one of the two.",
        )
    unique = unique[list(QRELS)].reset_index(drop=True)
    return unique, int((~once).sum())
