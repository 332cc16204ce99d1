"""Judgments as graphs: one per query, vertices in ascending document id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int32

from pgcjax.errors import DataError
from pgcjax.io.weights import SOFT, by_sides

if TYPE_CHECKING:  # and imported where graphs are made: the engine takes them as arrays
    import pandas as pd
    import polars as pl

    Table = pd.DataFrame | pl.DataFrame

MOST_DEGREE = 2**30
"""Judgments of one document are fewer: so many, int32 degrees hold with room."""

_GRADES = ("query_id", "doc_id", "relevance")
_JUDGMENTS = ("query_id", "doc_id", "other_doc_id", "preference", "weight")
_JUDGMENTS += ("probability",)
_QUERY, _DOCS = ("query_id",), ("doc_id", "other_doc_id")


@dataclass(frozen=True)
class Graph:
    """The judged documents of a query, with votes and grades that order them.

    Attributes:
        query_id: the query.
        doc_ids: the vertices, ascending.
        wins: `[m, 3]` rows of (preferred vertex, other vertex, number of judgments).
        levels: `[n]` dense level of each document by its grade, -1 without a grade;
            None if grades are not used.
        unit: Count of one judgment in `wins`; more than 1 if some count in part.
    """

    query_id: str
    doc_ids: np.ndarray
    wins: np.ndarray
    levels: np.ndarray | None = None
    unit: int = 1

    def __len__(self) -> int:
        return len(self.doc_ids)

    def edges(self) -> np.ndarray:
        """Count the judgments that prefer one vertex to another: int32 `[n, n]`.

        Grades, if used, add an edge for each pair with different grades.
        """
        return dense([self], len(self))[0]

    def above(self) -> Bool[np.ndarray, "n n"]:
        """Find which document has a better grade than which; none without a grade."""
        levels = np.full(len(self), -1) if self.levels is None else self.levels
        # Only graded documents are better than a graded one.
        return (levels[:, None] > levels[None, :]) & (levels >= 0)[None, :]

    def graded_degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the edges that grades add: from each document, and to it."""
        levels = np.full(len(self), -1) if self.levels is None else self.levels
        ends = np.cumsum(np.bincount(levels + 1))  # of the lists of all levels
        below, above = ends[levels] - ends[0], ends[-1] - ends[levels + 1]
        graded = levels >= 0
        return below * graded * self.unit, above * graded * self.unit

    def graded_only(self) -> np.ndarray | None:
        """Return the levels if every document has one and there are no votes."""
        if self.levels is None or (self.levels < 0).any() or len(self.wins):
            return None
        return self.levels


def dense(graphs: Sequence[Graph], size: int) -> Int32[np.ndarray, "graphs n n"]:
    """Count the edges of several graphs, padded to `size` vertices.

    Raises:
        DataError: a document is in more judgments than int32 degrees hold.
    """
    wins = np.concatenate([graph.wins for graph in graphs])
    graph = np.repeat(np.arange(len(graphs)), [len(g.wins) for g in graphs])
    cell = (graph * size + wins[:, 0]) * size + wins[:, 1]
    # Otherwise int32 holds any sum, and is faster.
    many = wins[:, 2].sum() + _graded(graphs) > MOST_DEGREE // 2
    counts = np.zeros((len(graphs), size, size), np.int64 if many else np.int32)
    np.add.at(counts.reshape(-1), cell, wins[:, 2].astype(counts.dtype))
    for row, graph in zip(counts, graphs, strict=True):
        if graph.levels is not None:
            n, above = len(graph), graph.above()
            row[:n, :n] += (
                above if graph.unit == 1 else above * row.dtype.type(graph.unit)
            )
    if many:
        most = np.maximum(counts.sum(1), counts.sum(2)).max(1, initial=0)
        if (most >= MOST_DEGREE).any():
            graph = graphs[int(most.argmax())]
            limit = "2^30" if graph.unit == 1 else f"{MOST_DEGREE // graph.unit}"
            raise DataError(
                f"query {graph.query_id!r} has a document in {limit} judgments or more",
                mend="Lower the weights.",
            )
    return counts.astype(np.int32, copy=False)


def _graded(graphs: Sequence[Graph]) -> int:
    """Bound the edges that grades add to a vertex, where they count in part."""
    return max((len(g) * g.unit for g in graphs if g.unit > 1), default=0)


def preference_graphs(preferences: "Table", *, soft: str = SOFT[0]) -> dict[str, Graph]:
    """Build the multigraph of each query that has judgments.

    A tie and a bad document add no edge; the vertices are the documents that have an
    edge. Repeats and conflicts are kept, as counts; `soft` is the policy by which
    probabilities count, see `by_sides`.
    """
    return _graphs(preferences, None, soft=soft)


def grade_graphs(qrels: "Table", *, positive_only: bool = False) -> dict[str, Graph]:
    """Build the weak order of each query's graded documents.

    Args:
        qrels: canonical qrels.
        positive_only: leave out documents whose grade is not above 0 (Compat does).
    """
    return _graphs(None, qrels, positive_only)


def combined_graphs(
    preferences: "Table", qrels: "Table", *, soft: str = SOFT[0]
) -> dict[str, Graph]:
    """Add up, per query, the multigraph of judgments and that derived from grades."""
    return _graphs(preferences, qrels, soft=soft)


def _graphs(
    preferences: "Table | None",
    qrels: "Table | None",
    positive_only: bool = False,
    soft: str = SOFT[0],
) -> dict[str, Graph]:
    """Build the graphs of all queries at once: one by one takes ten times as long."""
    import polars as pl

    judged, grades = _frame(preferences, _JUDGMENTS), _frame(qrels, _GRADES)
    queries = _distinct(judged["query_id"], grades["query_id"])
    docs = _distinct(judged["doc_id"], judged["other_doc_id"], grades["doc_id"])
    # Numbers take less memory than ids, whose text is no longer needed.
    judged, grades = (
        frame.with_columns(
            pl.col(name).cast(pl.Enum(ids)).to_physical().cast(pl.Int64)
            for ids, names in ((queries, _QUERY), (docs, _DOCS))
            for name in names
            if name in frame.columns
        )
        for frame in (judged, grades)
    )
    edges, unit = _edges(judged.filter(pl.col("other_doc_id").is_not_null()), soft)
    if positive_only:
        grades = grades.filter(pl.col("relevance") > 0)
    of_edge, of_grade = edges["query_id"].to_numpy(), grades["query_id"].to_numpy()
    doc_ids, of_doc, vertex = _vertices(
        np.concatenate([of_edge, of_edge, of_grade]),
        np.concatenate([edges["doc_id"], edges["other_doc_id"], grades["doc_id"]]),
        docs,
    )
    first = np.searchsorted(of_doc, np.arange(len(queries) + 1))
    levels = np.full(len(doc_ids), -1, np.int32)
    levels[vertex[2 * len(edges) :]] = _levels(of_grade, grades["relevance"].to_numpy())
    pairs = vertex[: 2 * len(edges)].reshape(2, -1) - first[of_edge]
    wins = np.column_stack([*pairs, edges["weight"].to_numpy()])
    wins = wins[np.argsort(of_edge, kind="stable")]
    first_win = np.searchsorted(np.sort(of_edge), np.arange(len(queries) + 1))
    graphs = {}
    for i, query in enumerate(queries.to_list()):
        docs = slice(first[i], first[i + 1])
        level = None if qrels is None else levels[docs]
        won, count = wins[first_win[i] : first_win[i + 1]], unit
        if unit > 1:  # smaller counts are peeled faster, with equal results
            part = np.gcd.reduce([unit, *won[:, 2]])
            won, count = won // [1, 1, part], unit // int(part)
        graphs[query] = Graph(query, doc_ids[docs], won, level, count)
    return graphs


def _edges(judged: "pl.DataFrame", soft: str) -> "tuple[pl.DataFrame, int]":
    """Return an edge for each document that a judgment counts for, the preferred first.

    Weights are whole numbers; the number that is returned is that of one judgment.
    """
    import polars as pl

    query, doc, other, preference, weight, probability = (
        judged[name].to_numpy() for name in _JUDGMENTS
    )
    sides = by_sides(preference, weight, probability, soft)

    def frame(
        better: np.ndarray, worse: np.ndarray, weight: np.ndarray
    ) -> pl.DataFrame:
        columns = dict(zip((*_QUERY, *_DOCS), (query, better, worse), strict=True))
        return pl.DataFrame({**columns, "weight": weight}).filter(pl.col("weight") > 0)

    if sides.unit > 1:  # a judgment may count for both
        both = frame(doc, other, sides.doc), frame(other, doc, sides.other)
        return pl.concat(both), sides.unit
    won = sides.doc > 0
    docs = np.where(won, doc, other), np.where(won, other, doc)
    return frame(*docs, sides.doc + sides.other), 1


def _frame(table: "Table | None", columns: tuple[str, ...]) -> "pl.DataFrame":
    """Select columns of a table that may be absent, as may weights in it."""
    import polars as pl

    from pgcjax.io.fast_columns import of_pandas

    text, number = pl.String(), pl.Float64()
    types = pl.Schema({c: text if c.endswith("_id") else number for c in columns})
    if table is None:
        return pl.DataFrame(schema=types)
    if isinstance(table, pl.DataFrame):
        frame = table.select(c for c in columns if c in table.columns)
    else:
        frame = of_pandas(table, columns)
    if "weight" in columns and "weight" not in frame:
        frame = frame.with_columns(weight=pl.lit(1))
    if "probability" in columns and "probability" not in frame:
        frame = frame.with_columns(probability=pl.lit(np.nan))
    return frame.cast(types)


def _distinct(*columns: "pl.Series") -> "pl.Series":
    """List the ids of columns, ascending by bytes of UTF-8, as Python orders them."""
    import polars as pl

    return pl.concat(columns).drop_nulls().unique().sort()


def _vertices(
    query: np.ndarray, doc: np.ndarray, docs: "pl.Series"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the distinct documents of each query.

    Args:
        query: number of the query of each row.
        doc: place in `docs` of the document of each row.
        docs: all documents, ascending.

    Returns:
        The documents, ascending in each query; the query of each; and the place among
        them of the document of each row.
    """
    import polars as pl

    key = pl.Series(query * len(docs) + doc)
    vertex = key.rank("dense").to_numpy().astype(np.int64) - 1
    of_doc, place = np.divmod(key.unique().sort().to_numpy(), max(1, len(docs)))
    return docs.gather(place).to_numpy(), of_doc, vertex


def _levels(query: np.ndarray, grade: np.ndarray) -> np.ndarray:
    """Number the distinct grades of each query from 0, ascending."""
    from pgcjax.io.order import steps  # which imports polars

    order = np.lexsort((grade, query))
    begins = np.diff(query[order], prepend=-1) != 0
    number = np.cumsum(begins | (steps(grade[order], np.nan) != 0))
    level = np.empty(len(order), np.int32)
    level[order] = number - number[begins][np.cumsum(begins) - 1]
    return level
