"""Gains after other documents are found by pairs, and only where a pair is judged."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import context
from pgcjax.kernels.ranked_list import RankedList


def seen_of(vertices, ranks, width) -> RankedList:
    """Documents at ranks from 1, padded to a width."""
    pad = (0, width - len(ranks))
    vertex, rank = (np.pad(x, pad).astype(np.int32) for x in (vertices, ranks))
    return RankedList(vertex, rank, rank > 0, np.zeros(width), np.int32(len(ranks)))


_after = jax.jit(context.after)
_previous = jax.jit(context.previous)


def known_of(
    pairs: dict[tuple[int, int], float], n: int, padding: int
) -> context.PairGains:
    keys = sorted(d * n + before - n * n for d, before in pairs)
    gains = [pairs[divmod(key + n * n, n)] for key in keys]
    return context.PairGains(
        np.int64(n),
        np.array(keys + [0] * padding, np.int64),
        np.array(gains + [0.0] * padding, np.float64),
    )


@pytest.mark.parametrize("n", [5, 10**5, 2 * 10**9])
@given(data=st.data(), size=st.sampled_from([8, 26, 40]))
def test_as_a_dict(n, data, size):
    """Also where numbers of pairs are beyond 32 bits."""
    vertex = st.sampled_from([0, 1, 2, n - 2, n - 1])
    pairs = data.draw(st.dictionaries(st.tuples(vertex, vertex), st.floats(0, 9)))
    asked = data.draw(st.lists(st.tuples(vertex, vertex), min_size=1, max_size=8))
    doc, other = np.array(asked + [(0, 0)] * (8 - len(asked)), np.int32).T
    where, default = np.arange(8) != 1, -np.arange(1.0, 9)
    with jax.enable_x64(True):
        # At least one place is empty.
        known = known_of(pairs, n, max(size, 26 * (len(pairs) > 7)) - len(pairs))
        after = _after(doc, other, known, default, where=where)
    ours = after.tolist()[: len(asked)]
    expected = [
        -(i + 1.0) if i == 1 else pairs.get(pair, -(i + 1.0))
        for i, pair in enumerate(asked)
    ]
    assert ours == expected


@pytest.mark.parametrize("width", [5, 8])
def test_the_one_before_has_the_rank_before(width):
    seen = seen_of([7, 3, 5, 2, 4], [1, 2, 4, 5, 9], width)
    before, follows = _previous(seen)
    assert before[:5].tolist() == [0, 7, 3, 5, 2]
    assert follows.tolist() == [False, True, False, True] + [False] * (width - 4)
    _, follows = _previous(seen_of([7, 3], [2, 3], width))
    assert follows.tolist() == [False, True] + [False] * (width - 2)
