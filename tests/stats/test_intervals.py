"""Intervals equal scipy's from the same resamples."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax.stats import intervals, resample, tests
from pgcjax.stats.required import borderline, required_difference
from pgcjax.stats.run_preferences import tie_threshold

few = settings(max_examples=10)
seeds = st.integers(0, 10**6)


@few
@given(seeds, st.sampled_from(["percentile", "BCa"]), st.sampled_from([0, 5]))
def test_bootstrap_intervals_are_scipys(seed, method, steps):
    values = np.random.default_rng(seed).random((3, 15))
    if steps:
        values = np.round(values * steps)
        values[:, 0] = [0, steps, 2 * steps]
    pairs = tests.all_pairs(3)
    low, high = intervals.bootstrap(
        values,
        pairs,
        resamples=700,
        seed=seed,
        alpha=0.1,
        corrected=method == "BCa",
        budget=10_000,
    )
    drawn = np.concatenate(
        [resample.indices(seed, 0, 500, 15), resample.indices(seed, 1, 200, 15)]
    )
    for k, (i, j) in enumerate(zip(*pairs, strict=True)):
        z = values[i] - values[j]
        same = SimpleNamespace(bootstrap_distribution=z[drawn].mean(1))
        expected = stats.bootstrap(
            (z,),
            np.mean,
            n_resamples=0,
            bootstrap_result=same,
            method=method,
            confidence_level=0.9,
        ).confidence_interval
        assert low[k] == pytest.approx(expected.low, abs=1e-10)
        assert high[k] == pytest.approx(expected.high, abs=1e-10)


@few
@given(seeds, st.sampled_from([0, 3]), st.sampled_from([1, 2, 37, 500]))
def test_bits_do_not_depend_on_blocks_or_threads(seed, steps, resamples):
    """Of many ties as well: each pair alone, a few at a time, and all at once."""
    values = np.random.default_rng(seed).random((9, 12))
    values = np.round(values * steps) if steps else values
    pairs = tests.all_pairs(9)
    how = {"resamples": resamples, "seed": seed, "alpha": 0.1, "corrected": True}
    whole = intervals.bootstrap(values, pairs, **how)
    for budget in (1, 50_000):
        parts = intervals.bootstrap(values, pairs, **how, budget=budget)
        assert np.array_equal(whole, parts)


@few
@given(seeds, st.sampled_from([3, 10**6]), st.sampled_from([1, 2, 64, 99]))
def test_bisection_counts_what_is_below(seed, steps, count):
    random = np.random.default_rng(seed)
    drawn = np.sort(random.integers(0, steps, (20, count)) / 7.0, axis=1)
    observed, slack = drawn[:, random.integers(count)], random.choice([0.0, 0.2])
    below = intervals._below(drawn, observed - slack)
    below += intervals._below(drawn, observed + slack, equal=True)
    twice = intervals.twice_below(drawn, observed[:, None], slack)
    assert below.tolist() == twice.tolist()


def test_constant_differences_have_intervals_without_width():
    values = np.array([[0.1, 0.5, 0.3], [0.1, 0.5, 0.3], [0.2, 0.6, 0.4]])
    for corrected in (False, True):
        low, high = intervals.bootstrap(
            values,
            tests.all_pairs(3),
            resamples=50,
            seed=0,
            alpha=0.05,
            corrected=corrected,
        )
        assert low == pytest.approx([0, -0.1, -0.1])
        assert high == pytest.approx(low)


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
