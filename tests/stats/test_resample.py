"""Resampling: counts of the papers' loops, exact sums, and no effect of any cut."""

import numpy as np
import pytest
from helpers.twins import significance as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax.errors import DataError, UsageError
from pgcjax.stats import paired_counts, procedures, resample, tests
from pgcjax.stats.resample import WholeScores

few = settings(max_examples=15)


def scores(seed: int, runs: int = 6, queries: int = 9, steps: int = 0) -> np.ndarray:
    """Random scores; with few steps there are ties, as precision at 10 has them."""
    random = np.random.default_rng(seed)
    values = random.random((runs, queries)) + 0.1 * random.random((runs, 1))
    return np.round(values * steps) / steps if steps else values


seeds, grid = st.integers(0, 10**6), st.sampled_from([0, 2, 5, 10])
sizes = st.sampled_from([2, 5, 10])  # of queries: each is compiled


@few
@given(seeds, grid, sizes)
def test_bootstrap_counts_are_those_of_the_pseudocode(seed, steps, queries):
    values = scores(seed, 5, queries, steps)
    drawn = resample.indices(seed, 0, 60, queries)
    counts = resample.count(
        "bootstrap",
        WholeScores.of(values),
        tests.all_pairs(5),
        resample.multiplicities(drawn),
    )
    expected = twin.bootstrap_counts(values.tolist(), drawn.tolist())
    different = ~tests.identical(values, tests.all_pairs(5))
    assert counts[different].tolist() == np.array(expected)[different].tolist()


@few
@given(seeds, grid, sizes)
def test_sign_flip_counts_are_those_of_the_loop(seed, steps, queries):
    values = scores(seed, 5, queries, steps)
    signs = resample.signs(seed, 0, 60, queries)
    counts = resample.count(
        "permutation", WholeScores.of(values), tests.all_pairs(5), signs
    )
    expected = twin.sign_flip_counts(values.tolist(), signs.T.astype(int).tolist())
    assert counts.tolist() == expected


@few
@given(seeds, grid)
def test_tukey_counts_are_those_of_the_pseudocode(seed, steps):
    values = scores(seed, 4, 7, steps)
    random = resample.generator(seed, "tukey", 0)
    columns = np.sort(values, axis=0).T
    permuted = [random.permuted(columns, axis=1).T.tolist() for _ in range(40)]
    found = procedures.run(values, tests.all_pairs(4), "tukey", resamples=40, seed=seed)
    expected = np.array(twin.tukey_counts(values.tolist(), permuted))
    assert np.rint(found.p_value * 41 - 1).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["alike", "other scales", "few"])
def test_what_bounds_leave_open_is_counted_by_the_rule(kind):
    random = np.random.default_rng(9)
    values = {
        "alike": 0.5 + 1e-10 * random.random((5, 9)),
        "other scales": random.random((5, 9)) * 10.0 ** np.arange(-8, 2, 2)[:, None],
        "few": np.array([[1.0] * k + [0.0] * (9 - k) for k in range(1, 6)]),
    }[kind]
    drawn, scores_ = resample.indices(0, 0, 60, 9), WholeScores.of(values)
    weights, pairs = resample.multiplicities(drawn), tests.all_pairs(5)
    counted, in_blocks = [], resample._in_blocks

    def spied(program, step, *of_pairs):
        found = in_blocks(program, step, *of_pairs)
        counted.append(found.copy())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resample, "_in_blocks", spied)
        counts = resample.count("bootstrap", scores_, pairs, weights)
    assert counts.tolist() == twin.bootstrap_counts(values.tolist(), drawn.tolist())
    bounds, ruled = counted
    left = bounds >= paired_counts.OPEN
    assert len(ruled) <= left.sum() and ruled.max() <= 60
    assert (counts[~left] == bounds[~left]).all()


@few
@given(seeds, grid, sizes)
def test_enumerated_sign_flips_are_scipys_exact_test(seed, steps, queries):
    values = scores(seed, 3, queries, steps)
    found = procedures.run(values, tests.all_pairs(3), "permutation")
    assert found.exact and found.resamples == 2**queries and not found.error.any()
    assert found.p_value == pytest.approx(twin.sign_flip_p(values.tolist()), abs=1e-12)
    for p, (i, j) in zip(found.p_value, [(0, 1), (0, 2), (1, 2)], strict=True):
        z = np.round(values[i] - values[j], 12)
        exact = stats.permutation_test(
            (z,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert p == pytest.approx(exact.pvalue, abs=1e-12)


@pytest.mark.parametrize("test", procedures.TESTS)
def test_identical_and_constant_pairs(test):
    values = scores(2, 3, 10)
    values[1] = values[0]
    values[2] = values[0] + 0.5
    found = procedures.p_values(values, test, resamples=99)
    assert np.isfinite(found).all()
    assert found[0] == 1
    assert found[1] == found[2] < 0.05
    assert (procedures.p_values(np.zeros((3, 5)), test, resamples=99) == 1).all()


def test_a_difference_that_rounding_makes_is_none():
    values = np.array([[0.1 + 0.2, 0.7, 0.1], [0.3, 0.7, 0.1]])
    for test in procedures.TESTS:
        assert procedures.p_values(values, test).tolist() == [1.0]


@few
@given(seeds, st.sampled_from(["max-t", "bootstrap", "permutation", "tukey"]), grid)
def test_order_of_runs_does_not_change_p(seed, test, steps):
    values = scores(seed, 5, 20, steps)
    order = np.random.default_rng(seed).permutation(5)
    square, shuffled = np.zeros((2, 5, 5))
    pairs = tests.all_pairs(5)
    square[pairs] = procedures.p_values(values, test, resamples=200)
    shuffled[pairs] = procedures.p_values(values[order], test, resamples=200)
    square, shuffled = square + square.T, shuffled + shuffled.T
    assert (square[np.ix_(order, order)] == shuffled).all()


def test_cuts_do_not_change_counts():
    values, pairs = scores(4, 30, 25, 10), tests.all_pairs(30)
    whole = WholeScores.of(values)
    drawn = resample.multiplicities(resample.indices(0, 0, 300, 25))
    expected = resample.count("bootstrap", whole, pairs, drawn)
    small = 3 * 8 * 300 * 32  # bytes of the statistics of 32 pairs in 300 resamples
    cut = resample.count("bootstrap", whole, pairs, drawn, budget=small)
    assert (cut == expected).all()
    some = resample.count("bootstrap", whole, (pairs[0][7:9], pairs[1][7:9]), drawn)
    assert (some == expected[7:9]).all()
    ranges = resample.largest_ranges(whole.values, 0, 0, 50)
    assert (resample.largest_ranges(whole.values, 0, 0, 50, near=1) == ranges).all()


def test_fewer_resamples_are_the_first_of_more():
    for draw in (resample.indices, lambda *a: resample.signs(*a).T):
        assert (draw(3, 1, 20, 7) == draw(3, 1, 50, 7)[:20]).all()
        assert (draw(3, 0, 20, 7) != draw(3, 1, 20, 7)).any()
        assert (draw(4, 1, 20, 7) != draw(3, 1, 20, 7)).any()
    x = WholeScores.of(scores(0)).values
    ranges = resample.largest_ranges(x, 3, 1, 50)
    assert (resample.largest_ranges(x, 3, 1, 20) == ranges[:20]).all()


@given(seeds, st.integers(2, 60), st.sampled_from([1e-300, 1e-6, 1.0, 1e9]))
def test_whole_numbers_add_up_exactly(seed, queries, scale):
    values = (np.random.default_rng(seed).random((2, queries)) - 0.5) * scale
    whole = WholeScores.of(values)
    assert (whole.values == np.rint(whole.values)).all()
    assert np.abs(whole.values).max() * queries <= 2**52
    assert [sum(map(int, row)) for row in whole.values] == whole.values.sum(1).tolist()
    assert whole.values * whole.unit == pytest.approx(
        values, rel=1e-9, abs=1e-12 * scale
    )


def test_precision_raises_the_number_of_resamples():
    values, pairs = scores(6, 4, 30), tests.all_pairs(4)
    calls = []
    found = procedures.run(
        values,
        pairs,
        "bootstrap",
        resamples=100,
        precision=0.01,
        progress=lambda *call: calls.append(call),
    )
    assert found.error.max() <= 0.01 and found.resamples % resample.BLOCK == 0
    again = procedures.run(values, pairs, "bootstrap", resamples=found.resamples)
    assert (found.p_value == again.p_value).all()
    assert calls[-1] == ("resampling", found.resamples, found.resamples)


class Stop(Exception):
    pass


@pytest.mark.parametrize("test", ["max-t", "bootstrap", "permutation", "tukey"])
def test_a_stopped_sweep_goes_on(test, tmp_path, monkeypatch):
    monkeypatch.setattr(procedures, "SAVE_EVERY", 0.0)
    values, pairs, folder = scores(7, 4, 30), tests.all_pairs(4), tmp_path / "work"

    def stop(stage, done, total):
        if done == 1000:
            raise Stop

    def run(progress=None, seed=0, resamples=2100):
        return procedures.run(
            values,
            pairs,
            test,
            resamples=resamples,
            seed=seed,
            journal=folder,
            progress=progress,
        )

    with pytest.raises(Stop):
        run(stop)
    seen = []
    found = run(lambda stage, done, total: seen.append(done))
    assert seen == [1500, 2000, 2100]
    expected = procedures.run(values, pairs, test, resamples=2100).p_value
    assert (found.p_value == expected).all()
    assert (run(resamples=500).p_value != expected).any()  # from the beginning
    with pytest.raises(DataError, match="another job: it differs in seed"):
        run(seed=1)
    (folder / "finished-blocks.npz").write_bytes(b"cut off")
    assert (run().p_value == expected).all()
    (folder / "job.json").write_text("cut off")
    with pytest.raises(
        DataError, match="has .job.json., which pgcjax did not write, or"
    ):
        run()


def test_wrong_arguments():
    values = scores(0)
    with pytest.raises(UsageError, match="test is one of max-t, tukey, .*, not 'z'"):
        procedures.p_values(values, "z")
    for wrong in ({"resamples": 0}, {"seed": -1}):
        with pytest.raises(UsageError, match="expected at least 1 resample"):
            procedures.p_values(values, "bootstrap", **wrong)
    with pytest.raises(UsageError, match="a precision between 0 and 0.5"):
        procedures.run(values, tests.all_pairs(6), "tukey", precision=0.0)
