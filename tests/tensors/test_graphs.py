"""Judgments as graphs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.graded import read_qrels
from pgcjax.tensors.graphs import (
    Graph,
    combined_graphs,
    grade_graphs,
    preference_graphs,
)


def prefs(*rows, **columns):
    names = ["query_id", "doc_id", "other_doc_id", "preference"]
    return read_preferences(pd.DataFrame(rows, columns=names).assign(**columns))


def test_counts_repeats_and_conflicts():
    graph = preference_graphs(
        prefs(("q", "B", "A", 1), ("q", "B", "A", 2), ("q", "B", "A", -1))
    )["q"]
    assert graph.doc_ids.tolist() == ["A", "B"]
    assert graph.edges().tolist() == [[0, 1], [2, 0]]
    assert graph.edges().dtype == np.int32


def test_weights_are_numbers_of_judgments():
    graph = preference_graphs(prefs(("q", "A", "B", 1), weight=5))["q"]
    assert graph.edges().tolist() == [[0, 5], [0, 0]]


def test_vertices_are_the_documents_that_an_edge_touches():
    graphs = preference_graphs(
        prefs(
            ("q", "A", "B", 1),
            ("q", "A", "C", 0),
            ("q", "E", None, -1),
            ("r", "A", "B", 0),
        )
    )
    assert graphs["q"].doc_ids.tolist() == ["A", "B"]
    assert len(graphs["r"]) == 0
    assert graphs["r"].edges().shape == (0, 0)


def test_grades_are_labels_in_order():
    qrels = pd.DataFrame(
        {"query_id": "q", "doc_id": ["C", "A", "B"], "relevance": [0.5, -2.0, 40.0]}
    )
    graph = grade_graphs(qrels)["q"]
    assert graph.doc_ids.tolist() == ["A", "B", "C"]
    assert graph.levels is not None and graph.levels.tolist() == [0, 2, 1]
    assert graph.edges().tolist() == [[0, 0, 0], [1, 0, 1], [1, 0, 0]]
    positive = grade_graphs(qrels, positive_only=True)["q"]
    assert positive.doc_ids.tolist() == ["B", "C"]


def test_combined_graphs_are_sums_over_all_queries_of_either():
    qrels = pd.DataFrame(
        {
            "query_id": ["q", "q", "s"],
            "doc_id": ["A", "C", "A"],
            "relevance": [1.0, 0.0, 1.0],
        }
    )
    graphs = combined_graphs(
        prefs(("q", "A", "B", 1), ("q", "C", "A", 1), ("r", "A", "B", 1)), qrels
    )
    assert sorted(graphs) == ["q", "r", "s"]
    assert graphs["q"].doc_ids.tolist() == ["A", "B", "C"]
    assert graphs["q"].edges().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert graphs["r"].edges().tolist() == [[0, 1], [0, 0]]
    assert graphs["s"].edges().tolist() == [[0]]


def test_counts_that_degrees_could_not_hold_are_refused():
    graph = preference_graphs(prefs(("q", "A", "B", 1), weight=2**30))["q"]
    with pytest.raises(DataError, match=r"query 'q' .* 2\^30 judgments"):
        graph.edges()


# Python orders text by code points: the last two the other way round than UTF-16 does.
ID = st.sampled_from(
    ["a", "B", "10", "9", "é", "e\u0301", "two words", "x" * 20, "\uffff", "🙂"]
)
PAIR = st.tuples(ID, ID, st.one_of(ID, st.none()), st.sampled_from([1, 0, -2]))
PREFERENCES = st.lists(
    PAIR.filter(lambda row: row[1] != row[2] and (row[2] or row[3] < 0)), min_size=1
)
GRADE = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0, 3.0])
QRELS = st.dictionaries(ID, st.dictionaries(ID, GRADE, min_size=1), min_size=1)


def plain(preferences, weights, qrels):
    """What is in the graph of each query, row by row: documents, wins, levels."""
    graphs = {}
    for query in sorted({row[0] for row in preferences} | set(qrels)):
        rows = [
            (row[1:], weight)
            for row, weight in zip(preferences, weights, strict=True)
            if row[0] == query and row[2] is not None and row[3]
        ]
        grades = qrels.get(query, {})
        docs = sorted({doc for (a, b, _), _ in rows for doc in (a, b)} | set(grades))
        wins = []
        for (a, b, sign), weight in rows:
            better, worse = (a, b) if sign > 0 else (b, a)
            wins.append([docs.index(better), docs.index(worse), weight])
        steps = sorted(set(grades.values()))
        levels = [steps.index(grades[d]) if d in grades else -1 for d in docs]
        graphs[query] = (docs, wins, levels)
    return graphs


def contents(graphs):
    for query, graph in graphs.items():
        assert graph.query_id == query and type(graph.query_id) is str
        assert graph.doc_ids.dtype == object
        assert graph.wins.dtype == np.int64 and graph.wins.shape[1] == 3
        assert graph.levels is None or graph.levels.dtype == np.int32
    return {
        query: (
            graph.doc_ids.tolist(),
            graph.wins.tolist(),
            None if graph.levels is None else graph.levels.tolist(),
        )
        for query, graph in graphs.items()
    }


@given(PREFERENCES, QRELS, st.data())
def test_graphs_are_what_the_rows_say(rows, grades, data):
    weights = st.lists(
        st.integers(1, 2**30), min_size=len(rows), max_size=len(rows)
    ) | st.just([1] * len(rows))
    weights = data.draw(weights)
    columns = {} if set(weights) == {1} else {"weight": weights}
    preferences, qrels = prefs(*rows, **columns), read_qrels(grades)
    found = contents(preference_graphs(preferences))
    expected = plain(rows, weights, {})
    assert found == {q: (docs, wins, None) for q, (docs, wins, _) in expected.items()}
    assert list(found) == list(expected)
    assert contents(grade_graphs(qrels)) == plain([], [], grades)
    positive = {q: {d: g for d, g in row.items() if g > 0} for q, row in grades.items()}
    found = grade_graphs(qrels, positive_only=True)
    assert contents(found) == plain([], [], positive)
    found = contents(combined_graphs(preferences, qrels))
    expected = plain(rows, weights, grades)
    assert found == expected and list(found) == list(expected)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=9), st.sampled_from([1, 4]))
def test_degrees_of_grades_are_those_of_their_edges(levels, unit):
    """They choose the form of a graph and move no score: no twin sees them."""
    docs = np.array([f"d{i}" for i in range(len(levels))], object)
    none = np.zeros((0, 3), np.int64)
    graph = Graph("q", docs, none, np.array(levels), unit)
    out, into = graph.graded_degrees()
    edges = [[a >= 0 and b >= 0 and a > b for b in levels] for a in levels]
    assert out.tolist() == [unit * sum(row) for row in edges]
    assert into.tolist() == [unit * sum(column) for column in zip(*edges, strict=True)]
