"""Moderated bootstrap-t max-T: equal to its definition, on ties too, however cut."""

import numpy as np
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.stats import max_t, procedures, resample, tests
from pgcjax.stats.compare import compare
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.resample import WholeScores

B = 120
few = settings(max_examples=25)
seeds = st.integers(0, 10**6)
steps = st.sampled_from(
    [0, 2, 5]
)  # few distinct scores: ties, as reciprocal ranks have
sizes = st.sampled_from([2, 3, 5, 12])  # of queries: each is compiled
kinds = st.sampled_from(["any", "identical", "constant", "shifted"])


def scores(seed: int, runs: int, queries: int, grid: int, kind: str) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.random((runs, queries)) + 0.1 * random.random((runs, 1))
    values = np.round(values * grid) / grid if grid else values
    if kind == "identical":
        values[-1] = values[0]
    elif kind == "constant":  # one pair without variance, up to rounding
        values[-1] = values[0] + 0.3
    elif kind == "shifted":  # all of them
        values = values[0] + 0.1 * np.arange(runs)[:, None]
    return values


def matrix(values: np.ndarray) -> Matrix:
    ids = [[f"{i:03}" for i in range(n)] for n in values.shape]
    return Matrix(*ids, values)


def against(base: int, runs: int) -> tests.RunPairs:
    others = np.array([run for run in range(runs) if run != base])
    return others, np.full(len(others), base)


@few
@given(seeds, st.integers(2, 6), sizes, steps, kinds, st.booleans())
def test_it_is_the_definition(seed, runs, queries, grid, kind, baseline):
    values = scores(seed, runs, queries, grid, kind)
    pairs = against(seed % runs, runs) if baseline else tests.all_pairs(runs)
    found = procedures.run(values, pairs, "max-t", resamples=B, seed=seed)
    drawn = resample.indices(seed, 0, B, queries).tolist()
    sides = list(zip(*(side.tolist() for side in pairs), strict=True))
    each, largest = twin.max_t(values.tolist(), sides, drawn)
    assert found.largest == pytest.approx(sorted(largest), rel=1e-8)
    expected = [
        (1 + sum(other >= one * (1 - 1e-9) for other in largest)) / (1 + B)
        for one in each
    ]
    expected = np.where(tests.identical(values, pairs), 1.0, expected)
    assert found.p_value.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@few
@given(seeds, sizes, steps, st.booleans())
def test_of_two_runs_it_is_the_studentised_bootstrap(seed, queries, grid, shifted):
    values = scores(seed, 2, queries, grid, "shifted" if shifted else "any")
    p = procedures.p_values(values, "max-t", resamples=B, seed=seed)
    assert p == procedures.p_values(values, "bootstrap", resamples=B, seed=seed)


@few
@given(seeds, sizes, steps, kinds, st.sampled_from([0.05, 0.1, 0.3]))
def test_intervals_leave_out_0_exactly_where_p_is_significant(
    seed, queries, grid, kind, alpha
):
    found = compare(
        matrix(scores(seed, 5, queries, grid, kind)),
        test="max-t",
        resamples=B,
        seed=seed,
        alpha=alpha,
    )
    apart = (found.table.low > 0) | (found.table.high < 0)
    assert (apart == found.table.significant).all()
    assert not found.table[["low", "high", "p_value"]].isna().any(axis=None)
    groups = found.runs.set_index("run_id").groups
    for row in found.table.itertuples():
        assert row.significant != bool(set(groups[row.run_a]) & set(groups[row.run_b]))


@few
@given(seeds, steps, kinds)
def test_the_order_of_runs_and_of_pairs_has_no_effect(seed, grid, kind):
    values, order = scores(seed, 5, 12, grid, kind), np.random.default_rng(seed)
    order = order.permutation(5)
    pairs, square, other = tests.all_pairs(5), *np.zeros((2, 5, 5))
    one = procedures.run(values, pairs, "max-t", resamples=B)
    two = procedures.run(values[order], pairs[::-1], "max-t", resamples=B)
    assert one.largest.tolist() == two.largest.tolist()
    square[pairs], other[pairs] = one.p_value, two.p_value
    assert ((square + square.T)[np.ix_(order, order)] == other + other.T).all()


def test_cuts_and_other_float32_numbers_change_no_bit(monkeypatch):
    values, pairs = scores(1, 40, 12, 0, "identical"), tests.all_pairs(40)
    whole = WholeScores.of(values)
    family = max_t.Family.of(whole, pairs, tests.identical(values, pairs))
    weights = resample.bootstrap_weights(0, B, 12)
    expected = max_t.largest(family, weights).tolist()
    assert max_t.largest(family, weights, budget=2**16).tolist() == expected
    monkeypatch.setattr(max_t, "_EXACT", 2**9)
    assert max_t.largest(family, weights).tolist() == expected
    program = resample.program

    def coarse(name):  # as another device may round
        def ratios(*arguments):
            made = np.asarray(program(name)(*arguments))
            noise = np.random.default_rng(0).uniform(-1, 1, made.shape)
            return (made * (1 + 2.0**-20 * noise)).astype(np.float32)

        return ratios

    monkeypatch.setattr(resample, "program", coarse)
    assert max_t.largest(family, weights).tolist() == expected
    monkeypatch.setattr(
        resample,
        "program",
        lambda _: lambda *a: np.full((len(a[-1]) // 16, B), np.nan, np.float32),
    )
    assert max_t.largest(family, weights).tolist() == expected  # all are looked at


def test_a_pair_that_was_not_copied_has_the_same_statistics():
    """Copies of runs add pairs, and to the family's mean what these have."""
    values = scores(3, 4, 12, 0, "any")
    copied, pairs = np.concatenate([values, values]), tests.all_pairs(8)
    found = procedures.run(copied, pairs, "max-t", resamples=B)
    once = procedures.run(values, tests.all_pairs(4), "max-t", resamples=B)
    same = tests.identical(copied, pairs)
    assert same.sum() == 4 and (found.p_value[same] == 1).all()
    assert found.largest == pytest.approx(once.largest, rel=1e-12)


def test_p_depends_on_the_family():
    values = scores(5, 6, 12, 0, "any")
    pairs = against(0, 6)
    some = procedures.run(values, pairs, "max-t").p_value
    everything = procedures.run(values, tests.all_pairs(6), "max-t").p_value[:5]
    assert (some != everything).any() and some.mean() < everything.mean()


@few
@given(seeds, st.integers(1, 4))
def test_no_family_of_equal_runs_makes_nan(seed, count):
    values = np.ones((count + 1, 3)) * np.random.default_rng(seed).random(3)
    found = procedures.run(values, tests.all_pairs(count + 1), "max-t", resamples=20)
    assert (found.p_value == 1).all() and not found.unit.any()
