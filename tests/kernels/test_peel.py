"""The peel: properties of its result, and its twin."""

import jax
import numpy as np
import pytest
from helpers.builders import peel_ranks
from helpers.strategies import cases
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import ABSENT, peel
from pgcjax.reference.pgc import greedy_ideal, greedy_steps


@given(cases())
def test_equals_the_twin_at_every_padded_size(case):
    twin = greedy_ideal(case.edges, case.run, tuple(case.docs))
    for size in (9, 16, 21):
        ideal = peel_ranks(case.counts, case.ranks, size)
        assert [case.docs[i] for i in np.argsort(ideal)] == twin
        assert sorted(ideal) == list(range(len(case.docs)))


@given(cases(), st.integers(2, 5))
def test_multiplying_every_judgment_changes_nothing(case, factor):
    once = peel_ranks(case.counts, case.ranks, 16)
    assert (peel_ranks(case.counts * factor, case.ranks, 16) == once).all()


@given(st.permutations(range(9)), cases(9, 9))
def test_strict_order_has_one_ideal(order, case):
    """A complete acyclic graph leaves the run no say."""
    place = np.array(order)
    counts = (place[:, None] < place[None, :]).astype(np.int32)
    assert (peel_ranks(counts, case.ranks, 16) == place).all()


def test_no_edges_gives_the_run_then_ascending_ids():
    ranks = np.array([7, ABSENT, 2, ABSENT], np.int32)
    assert peel_ranks(np.zeros((4, 4)), ranks).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("n", "size"), [(1, 16), (2, 16), (16, 16), (17, 43), (40, 43), (100, 103)]
)
def test_larger_graphs_equal_the_twin(n, size):
    rng = np.random.default_rng(n)
    counts = rng.integers(0, 3, (n, n)) * (rng.random((n, n)) < 0.3)
    np.fill_diagonal(counts, 0)
    docs = [f"d{i:03}" for i in range(n)]
    kept = rng.permutation(n)[: n // 2 + 1]
    ranks = np.full(n, ABSENT, np.int32)
    ranks[kept] = np.arange(len(kept))
    edges = [
        (docs[u], docs[v]) for u, v in np.argwhere(counts) for _ in range(counts[u, v])
    ]
    twin = greedy_ideal(edges, [docs[i] for i in kept], tuple(docs))
    ideal = peel_ranks(counts, ranks, size)
    assert [docs[i] for i in np.argsort(ideal)] == twin


def test_large_counts_do_not_overflow():
    """Degrees near 2^30 and their differences near 2^31 - 1 are still compared."""
    most = 2**30 - 1
    counts = np.array([[0, most, 0], [0, 0, 1], [1, 0, 0]], np.int64)
    docs_first = peel_ranks(counts, np.array([2, 1, 0], np.int32))
    assert docs_first.tolist() == [0, 1, 2]


def test_a_batch_equals_single_calls():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 2, (5, 12, 12)) * (1 - np.eye(12, dtype=int))
    ranks = np.array([rng.permutation(12) for _ in range(5)], np.int32)
    where = np.arange(12)[None, :] < np.array([12, 3, 0, 7, 1])[:, None]
    edges = (edges * where[:, :, None] * where[:, None, :]).astype(np.int32)

    def one(e, r, w):
        return peel.ideal_ranks(e, r, where=w)

    batch, alone = jax.jit(jax.vmap(one))(edges, ranks, where), jax.jit(one)
    for i in range(5):
        single = alone(edges[i], ranks[i], where[i])
        assert (np.asarray(batch[i]) == np.asarray(single)).all()


_RULES = {
    peel.SINK: "beats nobody",
    peel.SOURCE: "nobody beats it",
    peel.MOST: "most wins over losses",
}


@given(cases())
def test_steps_are_those_of_the_twin(case):
    size, n = 16, len(case.docs)
    edges = np.zeros((size, size), np.int32)
    edges[:n, :n] = case.counts
    ranks = np.append(case.ranks, np.full(size - n, ABSENT)).astype(np.int32)
    where = np.arange(size) < n
    ideal, steps = jax.jit(peel.ideal_steps)(edges, ranks, where=where)
    assert (ideal[:n] == peel_ranks(case.counts, case.ranks, size)).all()
    assert (steps.rule[n:] == 0).all()
    made = [
        (case.docs[v], _RULES[rule], {case.docs[i] for i in np.flatnonzero(among)})
        for v, rule, among in zip(*(np.asarray(x)[:n] for x in steps), strict=True)
    ]
    assert made == greedy_steps(case.edges, case.run, tuple(case.docs))
