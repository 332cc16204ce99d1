"""Graphs in the form of their kernel: what the counts of their edges say."""

import numpy as np
from helpers.builders import as_form, graph_of

from pgcjax.tensors import adjacency
from pgcjax.tensors.graphs import Graph, dense

SIZE = 16


def test_each_form_is_made_of_the_counts():
    """Graphs of all forms, together, and each of them alone."""
    rng = np.random.default_rng(0)
    cycle = np.roll(np.eye(9, dtype=int), 1, axis=1)
    more = np.triu(rng.integers(0, 4, (9, 9)), 1)
    docs, wins = graph_of(cycle).doc_ids, graph_of(cycle + more).wins
    grades = np.array([0, 2, -1, 1, 1, -1, 3, 0, 2], np.int32)
    again = np.concatenate([wins, wins[::2]])  # judgments of a pair in several rows
    graphs = {
        "packed": Graph("packed", docs, again),
        "levels": graph_of(np.triu(rng.integers(1, 4, (9, 9)), 1)),
        "graded, packed": Graph("graded", docs, wins, grades, 3),
        "in part, wide": Graph("in part", docs, wins, grades, 2**16),
        "wide": graph_of(1024 * cycle + more),
        "many, levels": graph_of(5000 * np.triu(np.ones((3, 3), int), 1)),
        "no grade above another, packed": Graph("same", docs, wins, 0 * grades, 2**16),
    }
    every = list(graphs.values())
    stacks = adjacency.matrices(every, SIZE, levels=1)
    forms = {}
    for own in stacks:
        for row, i in enumerate(own.which.tolist()):
            graph, form = every[i], own.form
            forms[i] = form
            found = [array[row] for array in own.arrays]
            [alone] = adjacency.matrices([graph], SIZE, levels=1)
            assert alone.form == form and own.vertices[row] == len(graph)
            if form == "levels":
                beaten = (dense([graph], SIZE)[0] > 0).sum(1)[: len(graph)]
                levels = np.unique(beaten, return_inverse=True)[1]
                better = [(levels > k).sum() for k in range(own.size)]
                assert (alone.level == levels).all() and (found[0] == better).all()
                continue
            expected = as_form(form, [graph], SIZE).arrays
            for one, other, right in zip(found, alone.arrays, expected, strict=True):
                assert (one == right[0]).all() and (other[0] == right[0]).all()
    assert [forms[i] for i in range(len(every))] == [
        name.rpartition(" ")[2] for name in graphs
    ]


def test_sizes_together_or_alone():
    """Graphs of several sizes, and each of them alone."""
    rng = np.random.default_rng(1)
    counts = [rng.integers(0, 3, (n, n)) for n in (20, 17, 30, 5, 9, 16, 3)]
    for each in counts:
        np.fill_diagonal(each, 0)
    graphs = [*map(graph_of, counts)]
    graphs[4] = graph_of(np.triu(np.ones((9, 9), int), 1))
    graphs[5] = graph_of(1024 * counts[5])
    stacks = adjacency.matrices(graphs, [32] * 3 + [16] * 4, levels=1)
    assert [(own.form, own.size, own.which.tolist()) for own in stacks] == [
        ("packed", 32, [0, 1, 2]),
        ("wide", 16, [5]),
        ("packed", 16, [3, 6]),
        ("levels", 16, [4]),
    ]
    for own in stacks:
        for row, i in enumerate(own.which.tolist()):
            [alone] = adjacency.matrices([graphs[i]], own.size, levels=1)
            assert alone.form == own.form and own.vertices[row] == len(graphs[i])
            for one, other in zip(own.arrays, alone.arrays, strict=True):
                assert (one[row] == other[0]).all()
