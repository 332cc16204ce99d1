"""Graphs in the form of their kernel: what the counts of their edges say."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.builders import graph_of

from pgcjax.errors import DataError
from pgcjax.kernels.peel_packed import IN, OUT, rows_and_words
from pgcjax.tensors import adjacency
from pgcjax.tensors.graphs import Graph

SIZE = 16
CYCLE = np.roll(np.eye(9, dtype=int), 1, axis=1)
GRADES = np.array([0, 2, -1, 1, 1, -1, 3, 0, 2], np.int32)


def every_graph() -> dict[str, Graph]:
    """Graphs of all forms, by why they have them, and the form."""
    rng = np.random.default_rng(0)
    more = np.triu(rng.integers(0, 4, (9, 9)), 1)
    docs, wins = graph_of(CYCLE).doc_ids, graph_of(CYCLE + more).wins
    again = np.concatenate([wins, wins[::2]])  # judgments of a pair in several rows
    return {
        "packed": Graph("packed", docs, again),
        "levels": graph_of(np.triu(rng.integers(1, 4, (9, 9)), 1)),
        "graded, packed": Graph("graded", docs, wins, GRADES, 3),
        "grades alone, levels": Graph("grades", docs, wins[:0], np.arange(9) // 2),
        "in part, wide": Graph("in part", docs, wins, GRADES, 2**16),
        "wide": graph_of(1024 * CYCLE + more),
        "many, levels": graph_of(5000 * np.triu(np.ones((3, 3), int), 1)),
        "no grade above another, packed": Graph("same", docs, wins, 0 * GRADES, 2**16),
        "nothing, None": graph_of(np.zeros((0, 0), int)),
    }


def test_the_form_of_a_graph_depends_on_it_alone():
    graphs = every_graph()
    together = adjacency.forms(list(graphs.values()))
    for name, graph, formed in zip(graphs, graphs.values(), together, strict=True):
        assert str(formed and formed.form.name) == name.rpartition(" ")[2]
        [alone] = adjacency.forms([graph])
        assert (alone and alone.form) == (formed and formed.form)
    assert not any(adjacency.forms([graphs["nothing, None"]]))


def test_matrices_are_made_of_the_counts():
    graphs = [g for name, g in every_graph().items() if name.endswith("packed")]
    packed, wide = adjacency.packed(graphs, SIZE), adjacency.wide(graphs, SIZE)
    for row, graph in enumerate(graphs):
        edges = np.zeros((SIZE, SIZE), np.int32)
        edges[: len(graph), : len(graph)] = graph.edges()
        where = np.arange(SIZE) < len(graph)
        assert (wide.edges[row] == edges).all() and (wide.where[row] == where).all()
        words = (edges.sum(1) << OUT) + (edges.sum(0) << IN)
        assert (packed.rows[row] == (edges.T << OUT) + (edges << IN)).all()
        assert (packed.words[row] == words).all()
        assert (packed.where[row] == where).all()
        for dtype in (np.uint8, np.uint16, np.int32):  # as devices are sent them
            rows, words = rows_and_words(jnp.asarray(edges.astype(dtype)))
            assert (rows == packed.rows[row]).all() and (
                words == packed.words[row]
            ).all()


def test_levels_are_numbers_of_beaten_documents():
    for name, graph in every_graph().items():
        if name.endswith("levels"):
            [formed] = adjacency.forms([graph])
            assert formed is not None and formed.level is not None
            beaten = (graph.edges() > 0).sum(1)
            levels = np.unique(beaten, return_inverse=True)[1]
            assert (formed.level == levels).all()
            [starts] = adjacency.of_levels([formed.level], formed.form.size)
            assert starts.tolist() == [(levels > k).sum() for k in range(len(starts))]


def test_few_weak_orders_of_votes_are_peeled():
    graphs = every_graph()
    few = adjacency.forms([graphs["levels"]], weak_orders_from=2**20)
    assert few[0] is not None and few[0].form.name == "packed"
    graded = adjacency.forms([graphs["grades alone, levels"]], weak_orders_from=2**20)
    assert graded[0] is not None and graded[0].form.name == "levels"


def test_too_many_judgments_are_refused():
    with pytest.raises(DataError, match="in 2.30 judgments or more"):
        adjacency.forms([graph_of(2**30 * CYCLE)])
