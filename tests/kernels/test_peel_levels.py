"""The level path: equal to the peel on every weak order."""

import jax
import numpy as np
import pytest
from helpers.builders import form_of, form_sum, graph_of, peel_ranks
from helpers.kernel_weights import telling_weights
from helpers.strategies import cases
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import ABSENT
from pgcjax.kernels.peel_levels import BLOCK, levelled_overlap


@given(cases(), st.data())
def test_the_level_path_is_the_peel_of_a_weak_order(case, data):
    """Whatever the counts: the edges of a weak order are followed, not counted."""
    n = len(case.docs)
    level = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    above = level[:, None] > level[None, :]
    graph = graph_of(np.where(above, 1 + case.counts, 0))
    assert form_of(graph) == "levels"
    ideal = peel_ranks(graph.edges(), case.ranks, 16)
    weights = telling_weights(data.draw(st.integers(0, 10**6)))
    lower = np.minimum(np.maximum(case.ranks, ideal), len(weights) - 1)
    assert form_sum(graph, case.ranks, weights) == weights[lower].sum()


@given(cases())
def test_other_graphs_do_not_take_it(case):
    graph = graph_of(case.counts)
    above = case.counts > 0
    incomparable = ~above & ~above.T
    weak = not (above & above.T).any() and all(
        # Incomparable must be transitive, and comparable with the same documents.
        (above[u] == above[v]).all() and (above[:, u] == above[:, v]).all()
        for u, v in np.argwhere(incomparable)
    )
    transitive = not (((above.astype(int) @ above) > 0) & ~above).any()
    assert (form_of(graph) == "levels") == (weak and transitive)


def test_ties_follow_the_run():
    weights = np.array([1000, 100, 10, 1, 0])
    flat = graph_of(np.zeros((4, 4), int))
    ranks = np.array([ABSENT, 2, 0, ABSENT], np.int32)
    assert form_sum(flat, ranks, weights) == 1000 + 10


@pytest.mark.parametrize("steps", [16, 3 * BLOCK, 3 * BLOCK + 5])
def test_a_known_number_of_steps_gives_the_same(steps):
    """As on a GPU: in blocks, and steps beyond the longest run add nothing."""
    rng, depth = np.random.default_rng(steps), 2 * steps
    weights = telling_weights(0, depth)
    count = np.array([0, steps // 2, steps, 5], np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    level = rng.integers(0, 3, count.sum()).astype(np.int32)
    ranks = np.concatenate([np.sort(rng.permutation(depth)[:n]) for n in count])
    starts = np.array([0, steps // 2, steps], np.int32)
    arrays = starts, level, ranks.astype(np.int32), first, count
    with jax.enable_x64(True):
        looped = jax.jit(levelled_overlap)(*arrays, np.int32(steps), weights)
        known = jax.jit(levelled_overlap, static_argnums=5)
        exact, more = known(*arrays, steps, weights), known(*arrays, steps + 9, weights)
    assert len({*np.asarray(looped).tolist()}) == 4
    assert (exact == looped).all() and (more == looped).all()
