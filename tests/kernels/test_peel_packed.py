"""The one-pass peel in words: equal to the wide peel, within and at its limits."""

import jax
import numpy as np
import pytest
from helpers.builders import as_form, form_of, form_sum, graph_of, peel_ranks
from helpers.kernel_weights import telling_weights
from helpers.strategies import cases
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import ABSENT
from pgcjax.kernels.peel_packed import MOST_DEGREE, best_key, peeled_overlap
from pgcjax.reference.pgc import greedy_ideal


def expected(graph, ranks, weights) -> int:
    ideal = peel_ranks(graph.edges(), ranks)
    return int(weights[np.minimum(np.maximum(ranks, ideal), len(weights) - 1)].sum())


@given(cases(), st.integers(0, 10**6))
def test_equals_the_peel_and_the_twin(case, seed):
    graph, weights = graph_of(case.counts), telling_weights(seed)
    total = form_sum(graph, case.ranks, weights, "packed")
    assert total == form_sum(graph, case.ranks, weights, "listed")
    assert total == form_sum(graph, case.ranks, weights, "wide")
    assert total == expected(graph, case.ranks, weights)
    twin = greedy_ideal(case.edges, case.run, tuple(case.docs))
    ideal = np.array([twin.index(doc) for doc in case.docs])
    lower = np.minimum(np.maximum(case.ranks, ideal), len(weights) - 1)
    assert total == weights[lower].sum()


@pytest.mark.parametrize("n", [1, 2, 16, 17, 33, 100, 250])
@pytest.mark.parametrize("density", [0.05, 0.5])
def test_larger_graphs(n, density):
    rng = np.random.default_rng(n)
    counts = rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < density)
    np.fill_diagonal(counts, 0)
    graph, weights = graph_of(counts), telling_weights(n, 2 * n)
    ranks = np.where(rng.random(n) < 0.6, rng.permutation(2 * n)[:n], ABSENT)
    ranks = ranks.astype(np.int32)
    total = expected(graph, ranks, weights)
    for form in ("packed", "listed"):
        assert form_sum(graph, ranks, weights, form) == total


@pytest.mark.parametrize("n", [16, 64])
def test_vertices_without_edges_drop_out(n):
    """As many vertices as the padded size: behind the last place is no padding."""
    peeled = jax.jit(
        lambda rows, words, runs, weights, where: peeled_overlap(
            rows, words, *runs, n, weights, where=where
        )
    )
    for seed in range(8):
        rng = np.random.default_rng([n, seed])
        gone = rng.random(n) < rng.choice([0.1, 0.5, 0.9])
        counts = rng.integers(1, 3, (n, n)) * (rng.random((n, n)) < 2 / n)
        counts[gone], counts[:, gone] = 0, 0
        np.fill_diagonal(counts, 0)
        where = (counts.sum(0) + counts.sum(1)) > 0
        graph, weights = graph_of(counts), telling_weights(seed, 2 * n)
        ranks = np.where(rng.random(n) < 0.7, rng.permutation(2 * n)[:n], ABSENT)
        ranks = ranks.astype(np.int32)
        rows, words, _ = (x[0] for x in as_form("packed", [graph], n))
        inverse = np.argsort(np.minimum(ranks, ABSENT), kind="stable")
        order = np.argsort(inverse)
        runs = [x.astype(np.int32) for x in (order, inverse, ranks[inverse])]
        with jax.enable_x64(True):
            total = int(peeled(rows, words, runs, weights, where))
        rest = graph_of(counts[where][:, where])
        left = expected(rest, ranks[where], weights) if where.any() else 0
        assert total == left


@pytest.mark.parametrize("degree", [MOST_DEGREE - 1, MOST_DEGREE])
def test_degrees_at_the_limit(degree):
    """A cycle, so that it is no weak order, with the largest degrees of a word."""
    counts = np.array([[0, degree, 0], [0, 0, degree], [degree, 0, 0]])
    graph, weights = graph_of(counts), telling_weights(degree)
    form = "packed" if degree < MOST_DEGREE else "wide"
    assert form_of(graph) == form
    ranks = np.array([4, ABSENT, 0], np.int32)
    assert form_sum(graph, ranks, weights) == expected(graph, ranks, weights)


def test_as_many_vertices_as_a_word_can_name():
    rng = np.random.default_rng(0)
    n = 1024
    counts = (rng.random((n, n)) < 0.01).astype(int)
    np.fill_diagonal(counts, 0)
    graph, weights = graph_of(counts), telling_weights(1, 2000)
    assert form_of(graph) == "packed"
    ranks = np.where(rng.random(n) < 0.5, rng.permutation(3 * n)[:n], ABSENT)
    ranks = ranks.astype(np.int32)
    assert form_sum(graph, ranks, weights) == form_sum(graph, ranks, weights, "wide")
    bigger = np.zeros((n + 1, n + 1), int)
    bigger[:n, :n] = counts
    assert form_of(graph_of(bigger)) == "wide"


def test_a_maximum_is_one_reduction_but_on_a_cpu():
    """A GPU reads a row by a warp, and not by a thread."""
    word = jax.ShapeDtypeStruct((5, 192), np.int32)
    traced = jax.jit(jax.vmap(best_key)).trace(word)
    whole = "across dimensions = [1]"
    for platform in ("cuda", "tpu", "cpu"):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert ("stablehlo.slice" in text) == (platform == "cpu")
        assert text.count(whole) == 1
