"""Intervals equal scipy's, and decide as p does."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax.stats import intervals, resample, tests
from pgcjax.stats.agreement import tie_threshold
from pgcjax.stats.required import borderline, required_difference

few = settings(max_examples=10)
seeds = st.integers(0, 10**6)


def test_student_is_scipys():
    z = np.random.default_rng(0).random(12)
    expected = stats.ttest_1samp(z, 0).confidence_interval(0.9)
    found = intervals.student(z.mean(), z.std(ddof=1), 12, 0.1)
    assert found == pytest.approx((expected.low, expected.high))


@few
@given(seeds, st.integers(20, 200), st.sampled_from([0.01, 0.05, 0.2]))
def test_critical_difference_decides_as_p_does(seed, resamples, alpha):
    ranges = np.sort(np.random.default_rng(seed).random(resamples))
    if 1 / (1 + resamples) >= alpha:
        return
    critical = intervals.critical_value(ranges, alpha)
    for d in np.concatenate([ranges - 1e-9, ranges + 1e-9]):
        p = (1 + (ranges >= d).sum()) / (1 + resamples)
        assert (p < alpha) == (d > critical)


def test_levels_are_the_decimals_that_they_are_written_as():
    """Products of floats miss whole numbers: 100 * .29 is below 29, .07 * 100 above."""
    values = np.random.default_rng(0).random((4, 10))
    pairs, wide = tests.all_pairs(4), pd.DataFrame(values.T, columns=list("abcd"))
    weights = resample.bootstrap_weights(0, 100, 10)
    found = required_difference(wide, alpha=0.29, resamples=100)
    assert found == borderline(values, pairs, weights, 29).max()
    assert found != borderline(values, pairs, weights, 28).max()
    # With 99 ranges p = 7/100 is not below .07, so that six ranges may reach d.
    ranges = np.arange(99.0)
    assert intervals.critical_value(ranges, 0.07) == 99 - 1 - 5
    # 3.5 of 50 ties are asked for: 3 and 4 are as near, and the smaller one is chosen.
    sizes = np.arange(1.0, 51)
    assert tie_threshold(sizes, np.zeros(50), 0.07) == 3


@few
@given(seeds)
def test_required_difference_is_that_of_the_pseudocode(seed):
    values = np.random.default_rng(seed).random((4, 10))
    found = required_difference_of(values, seed)
    drawn = resample.indices(seed, 0, 200, 10)
    expected = twin.bootstrap_difference(values.tolist(), drawn.tolist(), 0.05)
    assert found == pytest.approx(expected, abs=1e-12)


def required_difference_of(values, seed):
    weights = resample.multiplicities(resample.indices(seed, 0, 200, 10))
    return borderline(values, tests.all_pairs(4), weights, 10).max()


def test_required_difference_of_both_tests(frame):
    table = frame(8, 30)
    few = required_difference(table, test="bootstrap")
    assert few is not None and 0 < few < 1
    needed = required_difference(table, test="tukey")
    assert needed is not None and 0 < needed < 1
    table["value"] = 0.5
    assert required_difference(table, test="bootstrap") is None
    assert required_difference(table, test="tukey", resamples=100) is None
