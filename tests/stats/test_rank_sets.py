"""Ranks that runs may have: equal to their definition, and those of every table."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import replicates as twin

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.stats import procedures, rank_sets, tests
from pgcjax.stats.uncertainty import Uncertainty

SHOWN = ["low", "high", "tier"]


def scores(runs: int, queries: int, seed: int = 0, steps: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = 0.15 * random.random((runs, queries)) + 0.1 * random.random((runs, 1))
    return np.round(values * steps) / steps if steps else values


def frame(values: np.ndarray) -> pd.DataFrame:
    runs, queries = (np.arange(n) for n in values.shape)
    return pd.DataFrame(
        {
            "run_id": np.repeat([f"r{i:03}" for i in runs], len(queries)),
            "query_id": np.tile([f"q{i}" for i in queries], len(runs)),
            "value": values.ravel(),
        }
    )


@pytest.mark.parametrize("runs", [2, 3, 6])
@pytest.mark.parametrize("steps", [0, 4])
def test_windows_are_those_of_the_twin(runs, steps):
    """Of statistics at random, with ties, and cut into runs one by one."""
    random = np.random.default_rng(runs)
    found = 0
    for _ in range(10):
        drawn = random.random((60, runs, runs)) + random.random((60, 1, 1))
        drawn = np.round(drawn * steps) / steps if steps else drawn
        drawn = np.maximum(drawn, drawn.transpose(0, 2, 1))
        statistic = np.round(2.6 * random.random((runs, runs)) ** 0.3, 2)
        statistic = np.maximum(statistic, statistic.T)
        np.fill_diagonal(statistic, 0)
        order = random.permutation(runs)
        sides = np.ix_(range(60), order, order)
        maxima = np.where(np.eye(runs, dtype=bool), 0, drawn[sides])
        parts = [np.array([run]) for run in order]
        apart = rank_sets.stepwise(statistic, parts, maxima, 0.1)
        lookups = [lambda i, j, d=each: float(d[i, j]) for each in drawn]
        expected = twin.told_apart(
            lambda i, j, s=statistic: float(s[i, j]), order.tolist(), lookups, 0.1
        )
        assert {*zip(*map(list, np.nonzero(apart)), strict=True)} == {
            pair for a, b in expected for pair in ((a, b), (b, a))
        }
        found += len(expected)
    assert found


@pytest.mark.parametrize("most", [64, 3])
@pytest.mark.parametrize(("runs", "steps"), [(2, 0), (7, 5), (20, 0)])
def test_statistics_are_those_of_max_t(monkeypatch, runs, steps, most):
    """The largest of all windows is that of max-t: what it finds, windows find."""
    monkeypatch.setattr(rank_sets, "_MOST", most)
    monkeypatch.setattr(rank_sets, "_NEAR", 4000)
    values, pairs = scores(runs, 15, steps=steps), tests.all_pairs(runs)
    if runs > 2:
        values[1] = values[0]
    made = procedures.decide(values, pairs, "max-t", resamples=300, seed=1)
    _, _, maxima = rank_sets.resampled(values, 300, 1)
    assert maxima.max((1, 2)) == pytest.approx(largest_statistics(values, 1), rel=1e-9)
    assert np.sort(maxima.max((1, 2))) == pytest.approx(made.outcome.largest, rel=1e-9)
    apart = rank_sets.told_apart(values, 0.05, 300, 1)
    assert apart[pairs][made.significant].all() and (apart == apart.T).all()
    if most > runs and runs == 20:
        assert apart[pairs].sum() > made.significant.sum()
    again = np.random.default_rng(2).permutation(runs)
    other = rank_sets.told_apart(values[again], 0.05, 300, 1)
    assert (other == apart[np.ix_(again, again)]).all()


def largest_statistics(values: np.ndarray, seed: int) -> np.ndarray:
    """Compute the largest |T*| of each resample by its formula."""
    from pgcjax.stats import resample

    first, second = tests.all_pairs(len(values))
    z = values[first] - values[second]
    z = z - z.mean(1, keepdims=True)
    weights = resample.bootstrap_weights(seed, 300, z.shape[1])
    mean = z @ weights / z.shape[1]
    mean[np.abs(mean) < 1e-12] = 0
    error = (z * z @ weights - z.shape[1] * mean**2) / (z.shape[1] - 1) / z.shape[1]
    error = np.maximum(error, 0)
    apart = ~tests.identical(values, (first, second))
    spread = error[apart].mean(0) if apart.any() else 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(mean == 0, 0, np.abs(mean) / np.sqrt(error + spread))
    return found.max(0)


def test_tables_show_the_same_ranks():
    table = frame(scores(12, 30, seed=3))
    found = pgcjax.rank_sets(table, seed=1)
    runs = pgcjax.compare(table, seed=1, ranks="windows").runs.set_index("run_id")
    by_run = found.table.set_index("run_id").loc[runs.index]
    wider = pgcjax.compare(table, seed=1).runs.set_index("run_id")
    assert (wider["rank_low"] <= runs["rank_low"]).all()
    assert (wider["rank_high"] >= runs["rank_high"]).all()
    with pytest.raises(UsageError, match="by test 'max-t' alone"):
        pgcjax.compare(table, test="t", ranks="windows")
    for name, other in zip(SHOWN, ["rank_low", "rank_high", "tier"], strict=True):
        assert by_run[name].tolist() == runs[other].tolist()
    assert found.table["mean"].is_monotonic_decreasing
    assert "together at 95 %" in found.notes[-1] and found.metadata["resamples"] == 2000
    wide = pgcjax.rank_sets(table, seed=1, level=0.999).table.set_index("run_id")
    width = wide["high"] - wide["low"]
    assert (width >= (by_run["high"] - by_run["low"]).loc[width.index]).all()


def test_ranks_over_judgments_are_those_of_uncertainty():
    random = np.random.default_rng(0)
    means = {"PGC": np.arange(8) / 50}
    drawn = {"PGC": means["PGC"] + 0.02 * random.standard_normal((200, 8))}
    about = {"replicates": 200, "resample": "judgments", "seed": 0}
    given = Uncertainty(about, run_ids=[*"abcdefgh"], mean=means, replicates=drawn)
    found = pgcjax.rank_sets(given, "PGC", level=0.9)
    pd.testing.assert_frame_equal(found.table, given.ranks(alpha=0.1))
    assert "judgments drawn again 200 times" in found.notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1}, "level=1: expected a number between 0 and 1"),
        ({"resamples": 0}, "expected at least 1 resample"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        pgcjax.rank_sets(frame(scores(3, 5)), **options)
