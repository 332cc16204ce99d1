"""RBO as a sum of whole weights: its twin, its bounds, its exactness."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.strategies import depths, persistences
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import ABSENT
from pgcjax.kernels.rbo import UNIT, overlap, rank_weights, weight_within
from pgcjax.reference.rbo import rbo

SIZE = 16
overlap_jit = jax.jit(lambda a, b, w, where: overlap(a, b, w, where=where))


def kernel_sum(ranks, others, weights, size=SIZE) -> int:
    def pad(values):
        return np.pad(
            np.asarray(values, np.int32),
            (0, size - len(values)),
            constant_values=ABSENT,
        )

    where = np.arange(size) < len(ranks)
    with jax.enable_x64(True):
        args = [jnp.asarray(x) for x in (pad(ranks), pad(others), weights, where)]
        return int(overlap_jit(*args))


@st.composite
def two_rankings(draw):
    docs = [f"d{i:02}" for i in range(12)]
    lists = st.lists(st.sampled_from(docs), unique=True, max_size=12)
    return draw(lists), draw(lists)


def shared_ranks(a, b):
    docs = sorted(set(a) | set(b))
    return [
        [ranking.index(d) if d in ranking else ABSENT for d in docs]
        for ranking in (a, b)
    ]


@given(two_rankings(), persistences, depths)
def test_equals_the_twin(pair, p, depth):
    a, b = pair
    weights = rank_weights(p, depth)
    total = kernel_sum(*shared_ranks(a, b), weights)
    assert total * UNIT == pytest.approx(rbo(a, b, p, depth), abs=1e-15)
    assert total == kernel_sum(*shared_ranks(b, a), weights)
    assert total == kernel_sum(*shared_ranks(a, b), weights, size=29)
    assert 0 <= total <= weights.sum()


@given(st.integers(1, 12), persistences, depths)
def test_a_ranking_against_itself(n, p, depth):
    docs = [f"d{i:02}" for i in range(n)]
    weights = rank_weights(p, depth)
    total = kernel_sum(*shared_ranks(docs, docs), weights)
    assert total == weights[:n].sum()


@given(persistences, depths)
def test_weights_fall_to_zero_and_sum_to_one(p, depth):
    weights = rank_weights(p, depth)
    assert weights.dtype == np.int64 and len(weights) == depth + 1
    assert (np.diff(weights) <= 0).all() and weights[-1] == 0
    assert weights.sum() * UNIT == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8, 0.95, 0.999])
def test_weights_are_the_nearest_to_exact_arithmetic(p):
    depth, exact_p = 150, Fraction(p)
    total = sum(exact_p ** (d - 1) for d in range(1, depth + 1))
    weights = rank_weights(p, depth)
    tail = Fraction(0)
    for rank in reversed(range(depth)):
        tail += exact_p**rank / (rank + 1)
        assert weights[rank] == round(tail / total * 2**62)
    assert weight_within(p, depth) == float(1 - exact_p**depth)


@pytest.mark.parametrize("rank", [0, 6, 7, 2**15, ABSENT])
def test_ranks_from_the_depth_on_add_nothing(rank):
    weights = rank_weights(0.9, 7)
    assert kernel_sum([rank], [0], weights) == (weights[rank] if rank < 7 else 0)
