"""Judgments as graphs: one per query, vertices in ascending document id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgcjax.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_MOST = 2**30  # judgments of one document that int32 degrees hold with room


@dataclass(frozen=True)
class Graph:
    """The judged documents of a query, and what is known of their order.

    Attributes:
        query_id: the query.
        doc_ids: the vertices, ascending.
        wins: `[m, 3]` rows of (preferred vertex, other vertex, number of judgments).
        levels: `[n]` dense level of each document by its grade, -1 where there is
            none; None where grades play no part.
    """

    query_id: str
    doc_ids: np.ndarray
    wins: np.ndarray
    levels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.doc_ids)

    def edges(self) -> np.ndarray:
        """Count the judgments that prefer one vertex to another: int32 `[n, n]`.

        Grades, where there are any, add an edge for each pair that they tell apart.
        """
        return dense([self], len(self))[0]

    def graded_only(self) -> np.ndarray | None:
        """Give the levels if every document has one and nothing else is known."""
        if self.levels is None or (self.levels < 0).any() or len(self.wins):
            return None
        return self.levels


def dense(graphs: Sequence[Graph], size: int) -> np.ndarray:
    """Count the edges of several graphs, padded: int32 `[graphs, size, size]`.

    Raises:
        DataError: a document is in more judgments than int32 degrees hold.
    """
    wins = np.concatenate([graph.wins for graph in graphs])
    graph = np.repeat(np.arange(len(graphs)), [len(g.wins) for g in graphs])
    cell = (graph * size + wins[:, 0]) * size + wins[:, 1]
    # Sums of whole numbers below 2^53 are exact in float64.
    counts = np.bincount(cell, wins[:, 2], len(graphs) * size * size)
    counts = counts.reshape(len(graphs), size, size)
    for row, graph in zip(counts, graphs, strict=True):
        if graph.levels is not None:
            n, level = len(graph), graph.levels
            # Better than a graded document is only what is graded too.
            row[:n, :n] += (level[:, None] > level[None, :]) & (level >= 0)[None, :]
    most = np.maximum(counts.sum(1), counts.sum(2)).max(1, initial=0)
    if (most >= _MOST).any():
        query = graphs[int(most.argmax())].query_id
        raise DataError(
            f"query {query!r} has a document in 2^30 judgments or more",
            mend="Lower the weights.",
        )
    return counts.astype(np.int32)


def preference_graphs(preferences: "pd.DataFrame") -> dict[str, Graph]:
    """Build the multigraph of each query that has judgments.

    A tie and a bad document add no edge; the vertices are the documents that an edge
    touches. Repeats and conflicts are kept, as counts.
    """
    weight = (
        preferences["weight"].to_numpy()
        if "weight" in preferences
        else np.ones(len(preferences))
    )
    edge = (preferences["preference"] != 0) & preferences["other_doc_id"].notna()
    graphs = {}
    for query, rows in preferences.groupby("query_id", sort=True).indices.items():
        rows = np.sort(rows)[edge.to_numpy()[np.sort(rows)]]
        doc = preferences["doc_id"].iloc[rows].to_numpy(object)
        other = preferences["other_doc_id"].iloc[rows].to_numpy(object)
        vertices, index = _vertices(np.concatenate([doc, other]))
        pair = index.reshape(2, -1).T
        reverse = preferences["preference"].to_numpy()[rows] < 0
        pair = np.where(reverse[:, None], pair[:, ::-1], pair)
        wins = np.column_stack([pair, weight[rows].astype(np.int64)])
        graphs[str(query)] = Graph(str(query), vertices, wins)
    return graphs


def grade_graphs(
    qrels: "pd.DataFrame", *, positive_only: bool = False
) -> dict[str, Graph]:
    """Build the weak order of each query's graded documents.

    Args:
        qrels: canonical qrels.
        positive_only: leave out documents whose grade is not above 0 (Compat does).
    """
    graphs = {}
    for query, rows in qrels.groupby("query_id", sort=True).indices.items():
        grade = qrels["relevance"].to_numpy()[rows]
        doc = qrels["doc_id"].iloc[rows].to_numpy(object)
        if positive_only:
            doc, grade = doc[grade > 0], grade[grade > 0]
        ascending = np.argsort(doc, kind="stable")
        levels = np.unique(grade[ascending], return_inverse=True)[1].astype(np.int32)
        none = np.zeros((0, 3), np.int64)
        graphs[str(query)] = Graph(str(query), doc[ascending], none, levels)
    return graphs


def combined_graphs(
    preferences: "pd.DataFrame", qrels: "pd.DataFrame"
) -> dict[str, Graph]:
    """Add up, per query, the multigraph of judgments and that derived from grades."""
    real, derived = preference_graphs(preferences), grade_graphs(qrels)
    graphs = {}
    for query in sorted({*real, *derived}):
        nothing = Graph(query, np.array([], object), np.zeros((0, 3), np.int64))
        judged, graded = real.get(query, nothing), derived.get(query, nothing)
        vertices, index = _vertices(np.concatenate([judged.doc_ids, graded.doc_ids]))
        wins = judged.wins.copy()
        wins[:, :2] = index[: len(judged)][wins[:, :2]]
        levels = np.full(len(vertices), -1, np.int32)
        if graded.levels is not None:
            levels[index[len(judged) :]] = graded.levels
        graphs[query] = Graph(query, vertices, wins, levels)
    return graphs


def _vertices(docs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the distinct ids in ascending order, and the place of each given one."""
    if not len(docs):
        return docs, np.array([], np.int64)
    return np.unique(docs, return_inverse=True)
