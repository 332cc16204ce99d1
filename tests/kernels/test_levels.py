"""The level path: properties of its result, and its twin."""

import numpy as np
from builders import level_ranks
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases

from pgcjax.kernels import ABSENT
from pgcjax.reference.compatibility import compat_ideal


@given(cases(), st.data())
def test_equals_the_twin_at_every_padded_size(case, data):
    n = len(case.docs)
    level = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    values = {doc: x + 1.0 for doc, x in zip(case.docs, level, strict=True)}
    twin = compat_ideal(values, case.run)
    for size in (9, 16, 21):
        ideal = level_ranks(level, case.ranks, size)
        assert [case.docs[i] for i in np.argsort(ideal)] == twin


def test_ties_follow_the_run_then_ascending_ids():
    ranks = np.array([ABSENT, 5, 3, ABSENT], np.int32)
    assert level_ranks([1, 1, 1, 1], ranks).tolist() == [2, 1, 0, 3]
    assert level_ranks([0, 0, 0, 9], ranks).tolist() == [3, 2, 1, 0]
