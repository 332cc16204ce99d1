"""Grades of a document right after another: files and DataFrames in, a table out."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pgcjax.io import files
from pgcjax.io.graded import GradedFormat, read, without_repeats
from pgcjax.io.schema import CONTEXT, refuse

_GRADES = GradedFormat(
    name="context",
    columns=CONTEXT,
    line="query doc previous-doc grade",
    file=CONTEXT,
    width="Conditional grades have 4 columns, or a header.",
    twice="document {doc_id!r} after {previous_doc_id!r}, of query {query_id!r}, has "
    "two grades",
)


def read_context(
    source: files.Source | Iterable[files.Source] | Any,
) -> pd.DataFrame:
    """Read conditional grades g(d|d'): of a document d read right after another, d'.

    Args:
        source: files, folders and globs of `query doc previous-doc grade`, or of the
            named columns below (CSV, TSV, JSONL, Parquet), plain or compressed; or a
            table, as of `read_runs`; or what `predict_context` returns. Grades may have
            decimals. What a document is worth on its own goes into qrels.

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
    table, origins = read(source, _GRADES)
    refuse(
        (table["doc_id"] == table["previous_doc_id"]).to_numpy(),
        lambda i: (
            f"document {table.doc_id[i]!r} of query {table.query_id[i]!r} is "
            "graded after itself"
        ),
        origins,
        "Name the document before it; grades without one go into qrels.",
    )
    return without_repeats(table, origins, _GRADES)
