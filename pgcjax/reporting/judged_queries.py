"""Judgments and runs beside scores: graphs of queries, and ranks of documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Int32, UInt32
from scipy import sparse

from pgcjax.errors import DataError, Progress, counted, listed
from pgcjax.io.judged import JudgedDocuments
from pgcjax.judging.tally import PAIR, tally_votes
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.reporting.introduction import judging_in_words
from pgcjax.reporting.judgment_analysis import Analysis, Choices, Part, analyse
from pgcjax.tensors.graphs import Graph, grade_graphs, preference_graphs
from pgcjax.tensors.rankings import read_rankings

if TYPE_CHECKING:
    from pgcjax.io.runs import Runs


@dataclass(frozen=True)
class JudgedQueries:
    """The judged documents of queries: graphs, grades, and ranks in runs.

    Attributes:
        graphs: Graph of each query, in the order of the queries; without documents if
            the query has no judgments.
        grades: Grades of the documents of all graphs, concatenated; NaN without one.
        run_ids: Runs that were read and have scores, ascending.
        ranks: Ranks, from 1, of each query's documents in the runs; 0 if absent.
        sections: Analyses of the judgments.
        notes: Notes on missing data, one line each.
        judging: Description of the judging of the queries.
        judges: Voters by query, preferred and other document; empty without names.
    """

    graphs: Sequence[Graph]
    grades: np.ndarray
    run_ids: Sequence[str] = ()
    ranks: Sequence[UInt32[np.ndarray, "runs documents"]] = ()
    sections: Sequence[Analysis] = ()
    notes: tuple[str, ...] = ()
    judging: str = ""
    judges: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    @cached_property
    def edges(self) -> Int[np.ndarray, "edges 3"]:
        """All edges once: preferred document, other document, number of judgments.

        Documents are numbered through all queries. Grades make no edges.
        """
        first = np.cumsum([0, *map(len, self.graphs)])
        wins = [g.wins + [at, at, 0] for g, at in zip(self.graphs, first, strict=False)]
        rows = np.concatenate([np.zeros((0, 3), np.int64), *wins])
        pairs, which = np.unique(rows[:, :2], axis=0, return_inverse=True)
        times = np.bincount(which.ravel(), rows[:, 2], len(pairs))
        return np.column_stack([pairs, times.astype(np.int64)])

    def voters(self) -> list[str]:
        """List the judges who preferred the first document of each edge."""
        docs = [(g.query_id, doc) for g in self.graphs for doc in g.doc_ids.tolist()]
        pairs = ((docs[a], docs[b][1]) for a, b, _ in self.edges.tolist())
        return [self.judges.get((*better, worse), "") for better, worse in pairs]

    @cached_property
    def parts(self) -> Int32[np.ndarray, " documents"]:
        """Number of the strongly connected component of each document."""
        a, b, times = self.edges.T
        size = sum(map(len, self.graphs))
        links = sparse.csr_array((times, (a, b)), shape=(size, size))
        return sparse.csgraph.connected_components(links, connection="strong")[1]

    def direct(self) -> Bool[np.ndarray, " edges"]:
        """Find edges that no chain of other edges implies, or that are in a cycle."""
        edges, part = self.edges, self.parts
        a, b = part[edges[:, 0]], part[edges[:, 1]]
        needed = a == b
        first = np.cumsum([0, *map(len, self.graphs)])
        query = np.searchsorted(first, edges[:, 0], side="right")
        for one in np.unique(query):
            rows = np.flatnonzero((query == one) & (a != b))
            names, ends = np.unique([a[rows], b[rows]], return_inverse=True)
            u, v = ends.reshape(2, -1)
            leads = np.zeros((len(names), len(names)), np.float32)
            leads[u, v] = 1
            reach = leads
            while True:  # doubles the length of chains each time
                longer = np.minimum(reach + reach @ reach, 1)
                if (longer == reach).all():
                    break
                reach = longer
            needed[rows] = (leads @ reach)[u, v] == 0
        return needed

    def counts(self) -> dict[str, list[int]]:
        """Count documents, judgments, conflicts and cycles of each query, by name.

        For grades, which make no edges, documents alone are counted.
        """
        sizes = [len(graph) for graph in self.graphs]
        if not len(self.edges):
            return {"documents": sizes}
        queries = np.repeat(np.arange(len(sizes)), sizes)
        a, b, times = self.edges.T
        query, code = queries[a], a * len(queries) + b
        both = np.isin(code, b * len(queries) + a)
        count = partial(np.bincount, minlength=len(sizes))
        conflicts = count(query[both]) // 2
        size = np.bincount(self.parts)[self.parts]
        largest = np.zeros(len(sizes), np.int64)
        np.maximum.at(largest, queries, np.where(size > 1, size, 0))
        table = {
            "documents": np.array(sizes),
            "judgments": count(query, weights=times),
            "pairs": count(query) - conflicts,
            "conflicts": conflicts,
            "in cycles": count(queries[size > 1]),
            "largest part": largest,
        }
        return {name: values.astype(int).tolist() for name, values in table.items()}

    def ideal_ranks(self) -> Int[np.ndarray, " documents"]:
        """Rank documents of each query, from 1, by an ideal ranking without a run.

        Document ids decide what the judgments leave open.
        """
        return np.concatenate(
            [np.zeros(0, np.int64), *(_ideal_ranks(graph) for graph in self.graphs)]
        )


def _ideal_ranks(graph: Graph) -> Int[np.ndarray, " documents"]:
    docs, ranks = np.arange(len(graph)), np.empty(len(graph), np.int64)
    if len(graph.wins):
        names = [str(doc) for doc in graph.doc_ids]
        counts: dict[tuple[str, str], int] = {}
        for a, b, times in graph.wins.tolist():
            pair = names[a], names[b]
            counts[pair] = counts.get(pair, 0) + times
        number = {name: i for i, name in enumerate(names)}
        docs = np.array([number[doc] for doc in greedy_ideal(counts, [], tuple(names))])
    elif graph.levels is not None:
        docs = np.argsort(-graph.levels, kind="stable")
    ranks[docs] = np.arange(1, len(graph) + 1)
    return ranks


def read(
    queries: Sequence[str],
    scored: Sequence[str],
    preferences: pd.DataFrame | None,
    qrels: pd.DataFrame | None = None,
    runs: "Runs | None" = None,
    order: str = "trec",
    progress: Progress | None = None,
) -> JudgedQueries:
    """Collect judgments, and runs if there are any, for a page about scores.

    Args:
        queries: Queries that have scores.
        scored: Runs that have scores.
        preferences: Canonical preferences, whose graphs are shown.
        qrels: Canonical qrels, whose graphs are shown without preferences.
        runs: Runs in which the judged documents are searched.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        progress: Called with `("reading", done, total)`.

    Raises:
        DataError: no query is judged, no run has scores, or a run is malformed.
    """
    if preferences is not None:
        by_query = preference_graphs(preferences)
        sections = analyse(preferences, qrels, Choices())
    else:
        assert qrels is not None
        by_query, sections = grade_graphs(qrels), [_grades(qrels)]
    nothing = Graph("", np.array([], object), np.zeros((0, 3), np.int64))
    graphs = [by_query.get(query, nothing) for query in queries]
    if not any(map(len, graphs)):
        raise DataError(
            f"are for queries {listed(list(by_query))}; scores are for "
            f"{listed(list(queries))}",
            where="judgments",
            mend="Give the judgments of these queries.",
        )
    names, ranks, notes = [], [], []
    if any(graph.unit > 1 for graph in graphs):
        notes.append("judgments count in part: numbers beside arrows are multiples")
    if runs is not None:
        names, ranks = _ranks(graphs, scored, runs, order, progress)
        if absent := sorted({*scored} - {*names}):
            notes.append(
                f"{counted(len(absent), 'run')} with scores not among the runs that "
                f"were read: {listed(absent)}"
            )
    return JudgedQueries(
        graphs,
        _grade_of(graphs, queries, qrels),
        names,
        ranks,
        sections,
        tuple(notes),
        judging_in_words(preferences, qrels, queries),
        _judges(preferences, queries),
    )


def _judges(
    preferences: pd.DataFrame | None, queries: Sequence[str]
) -> dict[tuple[str, str, str], str]:
    """Name the judges who prefer one document to another, if any has a name."""
    if preferences is None or "judge" not in preferences:
        return {}
    tally = tally_votes(preferences[preferences["query_id"].isin(queries)])
    pairs = tally[PAIR].itertuples(index=False, name=None)
    return dict(zip(pairs, tally["judges"], strict=True))


def _ranks(
    graphs: Sequence[Graph],
    scored: Sequence[str],
    runs: "Runs",
    order: str,
    progress: Progress | None,
) -> tuple[list[str], list[np.ndarray]]:
    """Find the judged documents in runs that have scores; run ids ascend."""
    docs = {graph.query_id: graph.doc_ids for graph in graphs if len(graph)}
    judged = JudgedDocuments(docs)
    rankings = read_rankings(runs, judged, order, progress=progress)
    place = {name: i for i, name in enumerate(rankings.run_ids)}
    names = [name for name in scored if name in place]
    if not names:
        raise DataError(
            f"are called {listed(sorted(rankings.run_ids))}; scores are for "
            f"{listed(list(scored))}",
            where="runs",
            mend="Name them as in the scores (name_by, --name-by).",
        )
    places = [place[name] for name in names]
    retrieved, ranks = rankings.retrieved(docs), []
    for graph in graphs:
        at = np.zeros((len(rankings.run_ids), len(graph)), np.uint32)
        if len(graph):
            here = retrieved[graph.query_id]
            at[here.run, here.vertex] = here.rank + 1
        ranks.append(at[places])
    return names, ranks


def _grade_of(
    graphs: Sequence[Graph], queries: Sequence[str], qrels: pd.DataFrame | None
) -> np.ndarray:
    names = [
        (query, doc)
        for query, graph in zip(queries, graphs, strict=True)
        for doc in graph.doc_ids.tolist()
    ]
    if qrels is None:
        return np.full(len(names), np.nan)
    columns = (qrels[name].tolist() for name in ("query_id", "doc_id", "relevance"))
    grades = {(query, doc): g for query, doc, g in zip(*columns, strict=True)}
    return np.array([grades.get(name, np.nan) for name in names])


def _grades(qrels: pd.DataFrame) -> Analysis:
    counts: Any = qrels.groupby("relevance")["doc_id"].size()
    frame = counts.rename_axis("grade").reset_index(name="documents")
    frame["grade"] = [f"{grade:g}" for grade in frame["grade"]]
    part = Part("grades", "Documents by grade", frame.iloc[::-1], ("grade",))
    return Analysis("Judgments", (part,))
