"""Grades of documents on their own, and of documents right after others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgcjax.errors import DataError, counted
from pgcjax.later import pd


@dataclass(frozen=True)
class Conditional:
    """Grades in isolation and conditional ones, query by query; negative ones are 0.

    Attributes:
        docs: Documents of each query that have a grade of either kind, or after which
            another document was graded, ascending; queries of the qrels, ascending.
        isolation: float64 [n], their grades in isolation; NaN without one.
        pairs: int64 [m] for each query, ascending: d·n + d' for each grade g(d|d').
        grades: float64 [m], grades of the pairs.
        highest: Highest grade of either kind, over all queries.
        notes: Notes on data that were left out, a line each.
    """

    docs: dict[str, np.ndarray]
    isolation: dict[str, np.ndarray]
    pairs: dict[str, np.ndarray]
    grades: dict[str, np.ndarray]
    highest: float
    notes: tuple[str, ...] = ()


def conditional(qrels: pd.DataFrame, context: pd.DataFrame) -> Conditional:
    """Lay out canonical qrels and conditional grades.

    Raises:
        DataError: the qrels grade no document that has a conditional grade.
    """
    queries = sorted(set(qrels["query_id"].tolist()))
    by_query = _by_query(qrels, ["doc_id", "relevance"])
    after = _by_query(context, ["doc_id", "previous_doc_id", "relevance"])
    nothing = [np.array([], object)] * 2 + [np.array([])]
    docs, isolation, pairs, grades, matched = {}, {}, {}, {}, 0
    for query in queries:
        names, relevance = by_query[query]
        doc, previous, grade = after.get(query, nothing)
        matched += int(np.isin(doc, names).sum())
        docs[query] = np.array(sorted({*names, *doc, *previous}), object)
        index, n = pd.Index(docs[query]), len(docs[query])
        alone = np.full(n, np.nan)
        alone[index.get_indexer(pd.Index(names))] = _not_below_0(relevance)
        pair = index.get_indexer(pd.Index(doc)).astype(np.int64) * n
        pair += index.get_indexer(pd.Index(previous))
        by = np.argsort(pair)
        isolation[query], pairs[query] = alone, pair[by]
        grades[query] = _not_below_0(grade)[by]
    if not matched:
        raise DataError(
            "the qrels grade no document that has a conditional grade",
            where="context",
            mend="Do both name queries and documents in the same way?",
        )
    highest = max(qrels["relevance"].max(), context["relevance"].max(), 0.0)
    return Conditional(
        docs, isolation, pairs, grades, float(highest), _notes(context, docs, matched)
    )


def _not_below_0(grades: np.ndarray) -> np.ndarray:
    return np.maximum(grades, 0) + 0.0


def _by_query(table: pd.DataFrame, columns: list[str]) -> dict[str, list[np.ndarray]]:
    values = [
        table[c].to_numpy(np.float64 if c == "relevance" else object) for c in columns
    ]
    groups = table.groupby("query_id", sort=False).indices
    return {str(q): [v[rows] for v in values] for q, rows in groups.items()}


def _notes(
    context: pd.DataFrame, docs: dict[str, np.ndarray], matched: int
) -> tuple[str, ...]:
    notes = []
    inside = context["query_id"].isin(list(docs))
    if not inside.all():
        queries = context.loc[~inside, "query_id"].nunique()
        notes.append(
            f"conditional grades of {counted(queries, 'query')} without qrels: ignored"
        )
    if alone := int(inside.sum()) - matched:
        notes.append(
            f"{counted(alone, 'conditional grade')} for a document without a grade in "
            "the qrels, which counts as 0"
        )
    return tuple(notes)
