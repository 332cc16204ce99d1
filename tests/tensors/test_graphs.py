"""Judgments as graphs."""

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError
from pgcjax.tables.preferences import read_preferences
from pgcjax.tensors.graphs import combined_graphs, grade_graphs, preference_graphs


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
