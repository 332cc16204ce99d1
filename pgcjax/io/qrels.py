"""Graded judgments: files, tables, DataFrames and dicts in, a canonical table out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.containers import Named
from pgcjax.io.fast_columns import PlainTable
from pgcjax.io.graded import GradedFormat, read_unique
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import QRELS, Origin
from pgcjax.later import pd

_GRADES = GradedFormat(
    name="qrels",
    columns=QRELS,
    line="query iteration doc grade",
    file=("query_id", "iteration", "doc_id", "relevance"),
    width="Qrels have 4 columns, or a header; runs go without an option.",
    twice="document {doc_id!r} of query {query_id!r} has two grades",
    number="Every row needs one; preferences go with preferences= (--prefs on the "
    "command line).",
)


def read_qrels(
    source: files.Source | Iterable[files.Source] | Mapping | Any,
) -> pd.DataFrame:
    """Read graded judgments.

    Args:
        source: files, folders and globs of `query iteration doc grade`, or of named
            columns (CSV, TSV, JSONL, Parquet), plain or compressed; or a table, as of
            `read_runs`; or `{query: {doc: grade}}`. Grades may have decimals.

    Returns:
        Table of query_id, doc_id and relevance (float64). A judgment that is repeated
        with the same grade is kept once.

    Raises:
        DataError: a row is malformed, or a document has two grades in one query.

    Examples:
        >>> read_qrels({"q1": {"a": 2, "b": 0}}).values.tolist()
        [['q1', 'a', 2.0], ['q1', 'b', 0.0]]
    """
    qrels = read_qrels_as_they_come(source)
    return qrels.in_pandas() if isinstance(qrels, PlainTable) else qrels


def read_qrels_as_they_come(source: Any) -> PlainTable | pd.DataFrame:
    """Read graded judgments as `read_qrels`, and of regular files without pandas."""
    source = in_hand(source, "qrels")
    if isinstance(source, Mapping):
        source = Named(_from_dict(source), Origin("qrels", "entry"))
    return read_unique(source, _GRADES)


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
