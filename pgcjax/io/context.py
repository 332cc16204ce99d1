"""Grades of a document right after another: files and DataFrames in, a table out."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io import fast, files
from pgcjax.io.schema import (
    CONTEXT,
    Origin,
    Origins,
    canonical,
    first_repeat,
    ids,
    numbers,
)

_PAIR: list[str] = [*CONTEXT[:3]]


def read_context(
    source: files.Source | Iterable[files.Source] | pd.DataFrame | Any,
) -> pd.DataFrame:
    """Read conditional grades g(d|d'): of a document d read right after another, d'.

    Args:
        source: files, folders and globs of `query doc previous-doc grade`, or of the
            named columns below (CSV, TSV, JSONL, Parquet), plain or compressed; or a
            DataFrame; or what `predict_context` returns. Grades may have decimals. What
            a document is worth on its own goes into qrels.

    Returns:
        Table of query_id, doc_id, previous_doc_id and relevance (float64). A judgment
        that is repeated with the same grade is kept once.

    Raises:
        DataError: a row is malformed, a document is graded after itself, or a pair of
            documents has two grades in one query.

    Source: Golbus et al. 2014, 3.1.
    """
    if not isinstance(source, pd.DataFrame):
        source = getattr(source, "context", source)
    if isinstance(source, pd.DataFrame):
        contents = [files.Named(source, Origin("context"))]
    else:
        contents = [_load(path) for path in files.expand(source)]
    tables = [_canonical_context(content) for content in contents]
    table = pd.concat(tables, ignore_index=True)
    origins = Origins([content.origin for content in contents], [*map(len, tables)])
    _refuse_itself(table, origins)
    context, repeats = _without_repeats(table, origins)
    comments = sum(content.comments for content in contents)
    context.attrs = {"comments": comments, "repeats": repeats}
    return context


def _load(path: Path) -> files.Named:
    shown = "query doc previous-doc grade"
    return fast.load_graded(path, CONTEXT, shown, "Conditional grades")


def _canonical_context(content: files.Named) -> pd.DataFrame:
    frame, origin = content.frame, content.origin
    if content.checked:
        return frame
    table = canonical(frame, origin, CONTEXT)
    for name in _PAIR:
        table[name] = ids(table[name], origin)
    table["relevance"] = numbers(table["relevance"], "grade", origin)
    return table


def _refuse_itself(table: pd.DataFrame, origins: Origins) -> None:
    itself = np.flatnonzero(table["doc_id"] == table["previous_doc_id"])
    if len(itself):
        row = table.loc[int(itself[0])]
        raise DataError(
            f"document {row.doc_id!r} of query {row.query_id!r} is graded after itself",
            where=origins.at(int(itself[0])),
            mend="Name the document before it; grades without one go into qrels.",
        )


def _without_repeats(table: pd.DataFrame, origins: Origins) -> tuple[pd.DataFrame, int]:
    """Keep each judgment once, and count those that repeat another."""
    once = ~table.duplicated(list(CONTEXT))
    unique = table[once]
    if repeat := first_repeat(unique.reset_index(drop=True), _PAIR):
        first, second = (int(unique.index[i]) for i in repeat)
        a, b = table.loc[first], table.loc[second]
        raise DataError(
            f"document {b.doc_id!r} after {b.previous_doc_id!r}, of query "
            f"{b.query_id!r}, has two grades: {a.relevance:g} ({origins.at(first)}) "
            f"and {b.relevance:g}",
            where=origins.at(second),
            mend="Keep one of the two.",
        )
    return unique.reset_index(drop=True), int((~once).sum())
