"""Intervals agree with the p beside them, and are what the inverted test says."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax.errors import UsageError
from pgcjax.stats import intervals, procedures, resample, tests
from pgcjax.stats.agreement import tie_threshold
from pgcjax.stats.choices import CORRECTIONS
from pgcjax.stats.compare import compare
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.required import borderline, required_difference
from pgcjax.stats.rounding import exact

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10**6)
grains = st.sampled_from([0, 2, 5, 10])
PAIRED = ("bootstrap", "permutation", "t", "wilcoxon")
LEVELS = (Fraction(1, 20), Fraction(1, 120), Fraction(1, 5))


def scores(seed: int, steps: int, runs: int = 4) -> Matrix:
    """Scores with ties and zeros, of runs of which some differ, and two may not."""
    random = np.random.default_rng(seed)
    x = random.random((runs, int(random.integers(4, 22))))
    x = np.round(x * steps) / steps if steps else x
    x[1] += random.choice([0, 0.1, 0.3, 0.5])
    if random.random() < 0.3:
        x[2] = x[0]
    names = [f"{i:02}" for i in range(max(x.shape))]
    return Matrix(names[:runs], names[: x.shape[1]], x, "AP")


@few
@given(seeds, grains, st.sampled_from(PAIRED), st.sampled_from(CORRECTIONS))
def test_zero_is_outside_exactly_where_p_is_below_the_level(
    seed, steps, test, correction
):
    how = {"test": test, "correction": correction, "seed": seed}
    if test in procedures.RESAMPLES:
        how["resamples"] = 399
    found = compare(scores(seed, steps), **how)
    table, used = found.table, found.metadata
    outside = ((table.low > 0) | (table.high < 0)).to_numpy()
    level = {"none": 0.05, "holm": 0.05 / 6}.get(correction)
    if level is None:  # of bh the level is that of the pairs that are significant
        level = 0.05 * max(1, table.significant.sum()) / 6
    assert used["interval_level"] == pytest.approx(1 - level)
    assert (outside == (table.p_value < level)).all()
    assert used["simultaneous"] == (correction == "holm")
    if correction == "holm":
        assert table.significant[outside].all()
        more = (table.significant & ~outside).sum()
        assert bool(more) == any("0 in the interval" in note for note in found.notes)
    else:
        assert (outside == table.significant).all()


@few
@given(seeds, grains, st.sampled_from(LEVELS))
def test_sign_flips_reject_what_is_outside(seed, steps, level):
    """At both sides of each end, the test of scores moved by it is made again."""
    values, pairs = scores(seed, steps).values, tests.all_pairs(4)
    outcome = procedures.run(values, pairs, "permutation", resamples=199, seed=seed)
    how = {"resamples": outcome.resamples, "exact": outcome.exact, "seed": seed}
    low, high = intervals.sign_flips(values, pairs, **how, level=level)
    queries = values.shape[1]
    make = resample.all_signs if outcome.exact else resample.signs
    half = outcome.resamples // 2 if outcome.exact else outcome.resamples
    if half > 600:
        return  # the plain test is slow
    sizes = [min(500, half - at) for at in range(0, half, 500)]
    given_ = [() if outcome.exact else (seed,)] * len(sizes)
    drawn = np.concatenate(
        [
            make(*g, i, n, queries)
            for i, (g, n) in enumerate(zip(given_, sizes, strict=True))
        ],
        axis=1,
    )
    signs = drawn.T.astype(int).tolist()
    z = values[0] - values[1]
    for end, inner in ((low[0], 1), (high[0], -1)):
        if np.isinf(end):
            continue
        for side in (1, -1):
            moved = (z - end - side * inner * 1e-6).tolist()
            (count,) = twin.sign_flip_counts([moved, [0.0] * queries], signs)
            p = count / half if outcome.exact else (1 + count) / (1 + half)
            assert (p >= level) == (side == 1)


@few
@given(seeds, grains, st.sampled_from(LEVELS))
def test_bootstrap_t_is_its_twin(seed, steps, level):
    values, pairs = scores(seed, steps).values, tests.all_pairs(4)
    queries = values.shape[1]
    how = {"resamples": 199, "seed": seed, "level": level}
    low, high = intervals.bootstrap_t(values, pairs, **how)
    drawn = resample.indices(seed, 0, 199, queries).tolist()
    found = twin.bootstrap_t_interval(*values[:2].tolist(), drawn, level)
    assert (low[0], high[0]) == pytest.approx(found, abs=1e-9)


@few
@given(seeds, st.sampled_from(LEVELS))
def test_signed_ranks_reject_what_is_outside(seed, level):
    """Without ties scipy's exact p of moved differences says where the ends are."""
    values, pairs = scores(seed, 0).values, tests.all_pairs(4)
    low, high = intervals.wilcoxon(values, pairs, tests.wilcoxon(values, pairs), level)
    z = values[0] - values[1]
    for end, inner in ((low[0], 1), (high[0], -1)):
        if np.isinf(end):
            assert 2 / 2 ** len(z) >= level
            continue
        for side in (1, -1):
            p = stats.wilcoxon(z - end - side * inner * 1e-9).pvalue
            assert (p >= level) == (side == 1)


def test_constant_differences_have_no_width():
    x = np.array([[0.1, 0.5, 0.3, 0.2, 0.7], [0.2, 0.6, 0.4, 0.3, 0.8]])
    found = intervals.bootstrap_t(
        x, tests.all_pairs(2), resamples=99, seed=0, level=Fraction(1, 20)
    )
    assert np.ravel(found) == pytest.approx([-0.1, -0.1])


@pytest.fixture(scope="module")
def many() -> Matrix:
    """126 runs, as many as make 7,875 pairs."""
    random = np.random.default_rng(0)
    x = random.random((126, 30)) / 2 + np.arange(126)[:, None] / 250
    names = [f"{i:03}" for i in range(126)]
    return Matrix(names, names[:30], x, "AP")


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
@pytest.mark.parametrize("correction", [None, "holm", "bh"])
def test_too_few_resamples_are_refused_with_the_number_that_would_do(
    many, test, correction
):
    message = (
        "^resamples=10000: with 7875 pairs and correction (holm|bh), no p can be below "
        "0.05 by fewer than resamples=157500; test 'max-t' needs few, and 't' none$"
    )
    with pytest.raises(UsageError, match=message):
        compare(many, test=test, correction=correction, resamples=10_000)


def test_resamples_are_as_many_as_the_correction_needs(many):
    """Nobody asks for a number: with 45 pairs, 1,000 of the bootstrap are too few."""
    ten = Matrix(many.run_ids[::13], many.query_ids, many.values[::13], "AP")
    found = compare(ten, test="bootstrap")
    assert found.metadata["resamples"] == 2 * 45 * 20
    assert found.table.p_adjusted.min() == pytest.approx(45 / 1801)
    assert found.table.significant.any()
    names = [f"{i:04}" for i in range(400)]
    every = Matrix(names, many.query_ids, np.zeros((400, 30)), "AP")
    with pytest.raises(
        UsageError, match="^test 'permutation': with 79800 pairs and co"
    ):
        compare(every, test="permutation")


def test_the_queries_may_be_too_few_for_any_p():
    x = np.arange(5)[:, None] + np.zeros(6) + np.arange(6) / 100
    names = [str(i) for i in range(6)]
    for test in ("permutation", "wilcoxon"):
        found = compare(Matrix(names[:5], names, x), test=test)
        assert not found.table.significant.any()
        assert found.notes[-1] == (
            f"no pair could be significant: with 6 queries the smallest p of {test} is "
            "0.3125, once corrected; test max-t and t have no such limit"
        )


def test_one_pair_has_nothing_to_correct():
    pair = scores(1, 0, runs=3)
    two = Matrix(pair.run_ids[:2], pair.query_ids, pair.values[:2], "AP")
    for test in PAIRED:
        found = compare(two, test=test)
        assert found.metadata["correction"] == "none"
        assert (found.table.p_value == found.table.p_adjusted).all()
        assert "1 comparison, " in found.tested and "uncorrected" not in found.tested


def test_the_sentence_says_what_p_depends_on():
    many = scores(1, 0)
    queries = len(many.query_ids)
    for how, said in (
        ({}, "max-t"),
        ({"test": "tukey"}, "tukey"),
        ({"test": "t"}, "t, Holm"),
        ({"test": "t", "correction": "bh"}, "t, Benjamini-Hochberg"),
        ({"test": "t", "correction": "none"}, "t, uncorrected"),
    ):
        found = compare(many, **how)
        assert found.tested == f"{said}, 6 comparisons, {queries} queries, α = 0.05"
    human = pd.DataFrame(many.values[:, :5].T, columns=many.run_ids)
    human.insert(0, "query_id", many.query_ids[:5])
    if queries > 5:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare(many, rectify=human)
        assert found.tested == (
            f"t, Holm, 6 comparisons, 5 of {queries} queries judged by people, α = 0.05"
        )


def test_decisions_are_of_exact_levels():
    made = procedures.decision(np.array([0.001, 0.02, 0.2]), "t", "bh", 0.05)
    assert made.level == Fraction(1, 30) and made.significant.tolist() == [1, 1, 0]
    made = procedures.decision(np.array([0.001, 0.02, 0.2]), "t", None, 0.05)
    assert made.level == Fraction(1, 60) and made.simultaneous


@few
@given(seeds, st.integers(20, 200), st.sampled_from([0.01, 0.05, 0.2]))
def test_critical_difference_decides_as_p_does(seed, resamples, alpha):
    ranges = np.random.default_rng(seed).random(resamples)
    critical = intervals.critical_value(ranges, exact(alpha))
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
    assert intervals.critical_value(ranges, exact(0.07)) == 99 - 1 - 5
    # 3.5 of 50 ties are asked for: 3 and 4 are as near, and the smaller one is chosen.
    sizes = np.arange(1.0, 51)
    assert tie_threshold(sizes, np.zeros(50), 0.07) == 3


@few
@given(seeds)
def test_required_difference_is_that_of_the_pseudocode(seed):
    values = np.random.default_rng(seed).random((4, 10))
    weights = resample.multiplicities(resample.indices(seed, 0, 200, 10))
    found = borderline(values, tests.all_pairs(4), weights, 10).max()
    drawn = resample.indices(seed, 0, 200, 10)
    expected = twin.bootstrap_difference(values.tolist(), drawn.tolist(), 0.05)
    assert found == pytest.approx(expected, abs=1e-12)


def test_required_difference_of_both_tests(frame):
    table = frame(8, 30)
    bootstrap = required_difference(table, test="bootstrap")
    assert bootstrap is not None and 0 < bootstrap < 1
    needed = required_difference(table, test="tukey")
    assert needed is not None and 0 < needed < 1
    table["value"] = 0.5
    assert required_difference(table, test="bootstrap") is None
    assert required_difference(table, test="tukey", resamples=100) is None
