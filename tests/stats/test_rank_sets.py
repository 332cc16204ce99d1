"""Ranks that runs may have: equal to their definition, and those of every table."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import replicates as twin

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.stats import procedures, rank_sets, resample, tests
from pgcjax.stats.rectified import BothScores
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
        expected = twin.significant_pairs(
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
    apart = rank_sets.significant_pairs(values, 0.05, 300, 1)
    assert apart[pairs][made.significant].all() and (apart == apart.T).all()
    if most > runs and runs == 20:
        assert apart[pairs].sum() > made.significant.sum()
    again = np.random.default_rng(2).permutation(runs)
    other = rank_sets.significant_pairs(values[again], 0.05, 300, 1)
    assert (other == apart[np.ix_(again, again)]).all()


def judged(seed: int, people: int = 20, queries: int = 60, like: float = 0.9):
    """Make scores by a model, and those by people of the first queries."""
    random = np.random.default_rng(seed)
    model = random.random((8, queries)) + 0.05 * np.arange(8)[:, None]
    noise = random.random((8, people)) + 0.2 * np.arange(8)[:, None]
    human = like * model[:, :people] + (1 - like) * noise
    return frame(model), frame(human)


def test_rectified_scores_have_the_mean_and_error_of_both_kinds_of_queries():
    random = np.random.default_rng(1)
    model = random.random((5, 30))
    human = 0.7 * model[:, :12] + 0.1 * random.random((5, 12))
    both = BothScores(human, model, 1e-12)
    values, strata = both.with_one_power()
    assert strata == (12, 18)
    pairs = a, b = tests.all_pairs(5)
    y, f, g = human[a] - human[b], (model[a] - model[b])[:, :12], model[a] - model[b]
    covariance = sum(np.cov(y[i], f[i])[0, 1] for i in range(len(a)))
    power = covariance * (1 - 12 / 30) / f.var(1, ddof=1).sum()
    assert 0 < power < 1
    u, w = y - power * f, power * g[:, 12:]
    mean, deviation = tests.moments(values, pairs)
    assert mean == pytest.approx(u.mean(1) + w.mean(1), abs=1e-12)
    square = u.var(1, ddof=2) / 12 + w.var(1, ddof=1) / 18
    assert deviation**2 / 30 == pytest.approx(square, rel=1e-9)
    for constant in (np.ones_like(model), -model):  # of no help: people alone
        alone, _ = BothScores(human, constant, 1e-12).with_one_power()
        assert alone.mean(1) == pytest.approx(human.mean(1))
        assert np.ptp(alone[:, 12:], axis=1).max() < 1e-12


def test_strata_are_drawn_and_centred_separately():
    values, pairs = scores(6, 30, seed=5), tests.all_pairs(6)
    values[:, 10:] += (values[:, :10].mean(1) - values[:, 10:].mean(1))[:, None]
    statistic, parts, maxima = rank_sets.resampled(values, 300, 3, strata=(10, 20))
    whole, _, _ = rank_sets.resampled(values, 300, 3)
    assert statistic == pytest.approx(whole, rel=1e-9)
    drawn = resample.indices(3, 0, 300, 10, 20)
    assert drawn[:, :10].max() == 9 and drawn[:, 10:].min() == 10
    assert (drawn[:, :10] == resample.indices(3, 0, 300, 10)).all()
    a, b = pairs
    z = (values[a] - values[b])[:, drawn].transpose(1, 0, 2)
    observed = (values[a] - values[b]).mean(1)
    inner = [z[:, :, :10], z[:, :, 10:]]
    square = np.add(*(part.var(2) * part.shape[2] for part in inner)) / (29 * 30)
    spread = square.mean(1, keepdims=True)
    expected = np.abs(z.mean(2) - observed) / np.sqrt(square + spread)
    assert maxima.max((1, 2)) == pytest.approx(expected.max(1), rel=1e-9)


def test_a_model_makes_sets_narrower():
    model, human = judged(0)
    found = pgcjax.rank_sets(model, rectify=human, seed=1)
    alone = pgcjax.rank_sets(human, seed=1)
    by_run = [t.table.set_index("run_id").sort_index() for t in (found, alone)]
    widths = [(t["high"] - t["low"]).sum() for t in by_run]
    assert widths[0] < widths[1]
    assert "60 queries, 20 of them judged by people; ranks" in found.notes[-1]
    assert found.metadata["human_queries"] == 20 and found.metadata["drawn"] == "query"
    runs = pgcjax.compare(model, rectify=human, seed=1, ranks="windows").runs
    runs = runs.set_index("run_id").sort_index()
    for name, other in zip(SHOWN, ["rank_low", "rank_high", "tier"], strict=True):
        assert by_run[0][name].tolist() == runs[other].tolist()
    with pytest.raises(UsageError, match="cluster does not go with rectify"):
        pgcjax.rank_sets(
            model, rectify=human, cluster={f"q{i}": f"{i % 30}" for i in range(60)}
        )


def largest_statistics(values: np.ndarray, seed: int) -> np.ndarray:
    """Compute the largest |T*| of each resample by its formula."""
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
