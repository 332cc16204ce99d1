"""Grades of judged documents, and gains of the best list of them, query by query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from pgcjax.io.fast_columns import of_pandas
from pgcjax.later import pd
from pgcjax.tensors.judgments import Judgments


@dataclass(frozen=True)
class GradeTables:
    """The grades of all queries.

    Attributes:
        docs: Documents of each query, ascending; queries ascending.
        relevance: Grades of these documents, float64.
        highest: Highest grade of all documents, also of those left out; at least 0.
    """

    docs: dict[str, np.ndarray]
    relevance: dict[str, np.ndarray]
    highest: float


def grades_of(judgments: Judgments, *, positive_only: bool = True) -> GradeTables:
    """Cut the qrels of judgments into queries, once; see `grades`."""
    settings = {"positive_only": positive_only}
    return judgments.once_plain(grades, "qrels", **settings)


def grades(
    qrels: pd.DataFrame | pl.DataFrame, *, positive_only: bool = True
) -> GradeTables:
    """Cut qrels into queries.

    Args:
        qrels: canonical qrels, of pandas or polars.
        positive_only: Leave out documents whose grade is not above 0: most measures
            treat them as unjudged. Their queries stay.
    """
    if not isinstance(qrels, pl.DataFrame):
        qrels = of_pandas(qrels, ("query_id", "doc_id", "relevance"))
    names = qrels["query_id"].unique().sort().to_list()
    highest = float(qrels["relevance"].to_numpy().max(initial=0))
    if positive_only:
        qrels = qrels.filter(pl.col("relevance") > 0)
    qrels = qrels.sort("query_id", "doc_id")
    each = qrels["query_id"].rle().struct.unnest()
    lengths = dict(zip(each["value"], each["len"], strict=True))
    ends = np.cumsum([lengths.get(name, 0) for name in names])
    docs, graded = (
        dict(zip(names, np.split(column, ends[:-1]), strict=True))
        for column in (
            qrels["doc_id"].to_numpy(),
            qrels["relevance"].to_numpy(writable=True),
        )
    )
    return GradeTables(docs, graded, highest)


def best_first(gains: np.ndarray, depth: int | None = None) -> np.ndarray:
    """Return the gains above 0 in the order of the ideal list, down to a depth."""
    return -np.sort(-gains[gains > 0])[:depth]


# A perfect run must score 1 to the last bit: these sums have the order of the sums in
# `kernels.ranked_list`, and their products are those of the kernels.


def total(terms: np.ndarray) -> float:
    """Add terms up as `kernels.ranked_list.total` does."""
    size = 1 << max(0, len(terms) - 1).bit_length()
    x = np.pad(terms, (0, size - len(terms)))
    while size > 1:
        size //= 2
        x = x[:size] + x[size:]
    return float(x[0])


def running(
    join: Callable[[np.ndarray, np.ndarray], np.ndarray], x: np.ndarray
) -> np.ndarray:
    """Join every item with all before it as `kernels.ranked_list.running` does."""
    step = 1
    while step < len(x):
        x, step = np.append(x[:step], join(x[step:], x[:-step])), 2 * step
    return x


def best_discounted(gains: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest value of `kernels.graded.discounted`.

    `gains` are in the order of the ideal list; `weights` are those of ranks 0 to at
    least the last rank of the list.
    """
    return total(gains * weights[1 : len(gains) + 1])


def best_reciprocal(gains: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest `kernels.graded.reciprocal`: see `best_discounted`."""
    reached = np.append(1.0, running(np.multiply, 1 - gains))[:-1]
    return total(gains * reached * weights[1 : len(gains) + 1])


def cumulative(gains: np.ndarray) -> np.ndarray:
    """Return cg*, the cumulative gains of the ideal list, with at least one rank."""
    return running(np.add, gains) if len(gains) else np.zeros(1)
