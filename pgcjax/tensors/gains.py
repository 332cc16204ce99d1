"""Grades of judged documents, query by query."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Grades:
    """The grades of all queries.

    Attributes:
        docs: the documents of each query, ascending; queries ascending.
        relevance: float64, of the same documents.
        highest: the highest grade of all, at least 0, also of documents left out.
    """

    docs: dict[str, np.ndarray]
    relevance: dict[str, np.ndarray]
    highest: float


def grades(qrels: pd.DataFrame, *, positive_only: bool = True) -> Grades:
    """Cut qrels into queries.

    Args:
        qrels: canonical qrels.
        positive_only: leave out documents whose grade is not above 0: most measures
            take them as if nobody had judged them. Their queries stay.
    """
    query = qrels["query_id"].to_numpy(object)
    doc = qrels["doc_id"].to_numpy(object)
    relevance = qrels["relevance"].to_numpy(np.float64)
    names = sorted(set(query.tolist()))
    highest = float(relevance.max(initial=0))
    if positive_only:
        keep = relevance > 0
        query, doc, relevance = query[keep], doc[keep], relevance[keep]
    code = pd.Categorical(query, categories=names).codes.astype(np.int64)
    by = np.lexsort((pd.Categorical(doc).codes, code))
    ends = np.searchsorted(code[by], np.arange(len(names) + 1))
    parts = [by[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return Grades(
        {name: doc[some] for name, some in zip(names, parts, strict=True)},
        {name: relevance[some] for name, some in zip(names, parts, strict=True)},
        highest,
    )
