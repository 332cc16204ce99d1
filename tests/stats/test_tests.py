"""Classical tests equal scipy; corrections equal their definitions."""

import numpy as np
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax.stats import tests

few = settings(max_examples=15)
seeds = st.integers(0, 10**6)


def each(values, function):
    return [function(values[i], values[j]) for i, j in zip(*pairs(values), strict=True)]


def pairs(values):
    return tests.all_pairs(len(values))


@few
@given(seeds, st.integers(2, 60))
def test_t_is_scipys(seed, queries):
    values = np.random.default_rng(seed).random((4, queries))
    expected = each(values, lambda a, b: stats.ttest_rel(a, b).pvalue)
    assert tests.t(values, pairs(values)) == pytest.approx(expected, abs=1e-10)


@few
@given(seeds, st.sampled_from([5, 8, 30, 60]), st.sampled_from([0, 5, 100]))
def test_wilcoxon_is_scipys(seed, queries, steps):
    values = np.random.default_rng(seed).random((4, queries))
    if steps:
        values = np.round(values * steps)  # whole: no rounding parts ties
        values[:, 0] = [0, steps, 2 * steps, 3 * steps]  # and no pair is identical
    expected = each(values, lambda a, b: stats.wilcoxon(a, b).pvalue)
    assert tests.wilcoxon(values, pairs(values)) == pytest.approx(expected, abs=1e-10)


def test_wilcoxon_takes_for_tied_what_is_tied_on_paper():
    tenths = np.array([[3, 7, 9, 1, 4, 8], [1, 6, 9, 2, 6, 3]])
    expected = stats.wilcoxon(tenths[0], tenths[1]).pvalue
    found = tests.wilcoxon(tenths / 10, pairs(tenths))
    assert found == pytest.approx([expected], abs=1e-12)


@settings(max_examples=10)  # each takes some 30 integrals
@given(seeds, st.integers(3, 8), st.integers(2, 20))
def test_anova_is_the_literal_sum_of_squares(seed, runs, queries):
    values = np.random.default_rng(seed).random((runs, queries))
    error, freedom, f, p = tests.anova(values)
    assert error == pytest.approx(twin.residual_mean_square(values.tolist()), abs=1e-12)
    ranges = each(values, lambda a, b: abs(np.mean(a - b)) / np.sqrt(error / queries))
    found = tests.tukey(values, pairs(values))
    some = slice(None, None, 1 + len(found) // 8)  # as each takes an integral
    expected = stats.studentized_range.sf(ranges[some], runs, freedom)
    assert found[some] == pytest.approx(expected, abs=1e-10)
    assert 0 <= p <= 1 and f > 0
    # Beyond the critical difference, and only there, p is below alpha.
    mean, _ = tests.moments(values, pairs(values))
    critical = tests.critical_difference(values, 0.3)
    assert ((np.abs(mean) > critical) == (found < 0.3)).all()


def test_tukey_of_two_runs_is_the_paired_t_test():
    values = np.random.default_rng(0).random((2, 20))
    found = tests.tukey(values, pairs(values))
    assert found == pytest.approx(tests.t(values, pairs(values)), abs=1e-10)
    _, _, _, p = tests.anova(values)
    assert found == pytest.approx([p], abs=1e-10)


def test_tukey_of_many_pairs_is_scipys_as_well():
    random = np.random.default_rng(1)
    values = random.random((22, 25)) + np.linspace(0, 0.4, 22)[:, None]
    error, freedom, *_ = tests.anova(values)
    mean, _ = tests.moments(values, pairs(values))
    some = random.permutation(len(mean))[:60]
    ranges = np.abs(mean[some]) / np.sqrt(error / 25)
    expected = stats.studentized_range.sf(ranges, 22, freedom)
    found = tests.tukey(values, pairs(values))[some]
    assert found == pytest.approx(expected, abs=1e-10)
    assert found.min() < 0.001 and found.max() > 0.9


CASES = [(15, 14), (16, 45), (40, 195), (100, 4851), (1000, 48951), (2000, 397_800)]


@pytest.mark.parametrize(("runs", "freedom"), CASES)
def test_the_curve_is_scipys(runs, freedom):
    """Small and large numbers of runs; queries from two to so many that s is 1."""
    random = np.random.default_rng(runs)
    q = np.sort(np.concatenate([random.random(8) * 12, [0.0, 30.0 / freedom + 7.0]]))
    expected = np.asarray(stats.studentized_range.sf(q, runs, freedom))
    assert tests.range_tail(q, runs, freedom) == pytest.approx(expected, abs=1e-9)
    for last in (q[-1], 60.0):  # what the largest difference is has no effect
        found = tests.range_tails(np.append(q, last), runs, freedom)
        assert found[:-1] == pytest.approx(expected, abs=1e-9)
        assert np.abs(found[-1]) < 1e-4 or last < 60


def test_far_out_nothing_is_left():
    found = tests.range_tails(np.array([0.0, 500.0, 1e6]), 30, 580)
    assert found == pytest.approx([1.0, 0.0, 0.0], abs=1e-10)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrections(p):
    given_p = np.array(p)
    assert tests.adjust(given_p, "none").tolist() == p
    assert tests.adjust(given_p, "holm") == pytest.approx(twin.holm(p), abs=1e-15)
    if p:
        expected = stats.false_discovery_control(p)
        assert tests.adjust(given_p, "bh") == pytest.approx(expected)
    for correction in ("holm", "bh"):
        assert (tests.adjust(given_p, correction) >= given_p - 1e-15).all()
