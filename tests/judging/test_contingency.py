"""Coefficients of agreement: twins, worked examples of others."""

from math import isnan

import numpy as np
import pytest
from helpers.twins import correlation as twin
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.judging.contingency import contingency, jaccard, kappa

LABELS = st.lists(st.tuples(*[st.sampled_from([-1, 0, 1])] * 2), min_size=1)


@given(LABELS)
def test_kappa_and_jaccard_are_their_twins(labels):
    first, second = ([pair[i] for pair in labels] for i in (0, 1))
    table = contingency(np.array(first), np.array(second))
    assert jaccard(table) == pytest.approx(twin.jaccard(first, second))
    if len(set(first) | set(second)) > 1:
        expected = twin.kappa(first, second)
        assert kappa(table) == pytest.approx(expected, abs=1e-12)
        assert -1 <= kappa(table) <= 1
    else:
        assert isnan(kappa(table))
    assert kappa(table.T) == pytest.approx(kappa(table), nan_ok=True)


def test_worked_example_of_kappa():
    # Two readers of 50 proposals, as in Wikipedia's "Cohen's kappa": .7, .5, so .4.
    assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)
    # Two pairs of readers who agree on 60 of 100, there too.
    assert kappa(np.array([[45, 15], [25, 15]])) == pytest.approx(0.1304, abs=5e-5)
    assert kappa(np.array([[25, 35], [5, 35]])) == pytest.approx(0.2593, abs=5e-5)
