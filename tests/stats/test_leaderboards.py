"""Leaderboards against the true one: values, intervals, what one of them lacks."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import correlation as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pgcjax import Scores, correlate
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.meta import correlate_leaderboards
from pgcjax.stats import resample
from pgcjax.stats.correlation import correlated, correlation
from pgcjax.stats.orders import FEWEST, DrawnSums, tau_interval, taus

SCIPY = {
    "tau": stats.kendalltau,
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
}


def long(values: np.ndarray, measure: str = "M", name: str = "r") -> pd.DataFrame:
    """Lay scores of runs and queries out in rows."""
    runs, queries = values.shape
    return pd.DataFrame(
        [
            (f"{name}{r}", f"q{q:02}", measure, values[r, q])
            for r in range(runs)
            for q in range(queries)
        ],
        columns=["run_id", "query_id", "measure", "value"],
    )


def two(seed: int = 0, runs: int = 7, queries: int = 12) -> tuple[np.ndarray, ...]:
    """Make scores by two measures that order runs alike, on the whole."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(0.2, 0.5, runs)[:, None]
    return tuple(quality + rng.random((runs, queries)) * 0.5 for _ in range(2))


@given(st.integers(0, 10**6), st.sampled_from([3, 12, 0]))
@settings(max_examples=30)
def test_many_orders_are_each_of_them(seed, steps):
    """With ties and without; NaN if undefined."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, 9, 6))
    if steps:
        x, y = np.round(x * steps), np.round(y * steps)
    found = taus(x, y, budget=800)
    expected = [correlated(a, b, "tau")[0] for a, b in zip(x, y, strict=True)]
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_best_runs_are_those_of_the_truth():
    x, y = [5, 4, 3, 3, 1.0], [1, 3, 2, 4, 9.0]
    for name, function in SCIPY.items():
        assert correlation(x, y, f"{name}@2") == pytest.approx(-1)
        expected = function(x[:4], y[:4]).statistic  # the fourth ties with the third
        assert correlation(x, y, f"{name}@3") == pytest.approx(expected)
        assert correlation(x, y, f"{name}@9") == correlation(x, y, name)
    assert correlation(x, y, "tau_ap_b@3") == pytest.approx(twin.tau_ap_b(x[:4], y[:4]))
    found = correlate(
        {"a": long(two()[0]), "b": long(two()[1])}, coefficients=["tau@3"]
    )
    assert found["measure_a"].tolist() == ["a", "b"] and set(found["runs"]) == {3}


@given(st.integers(0, 10**6), st.sampled_from([8, 13]), st.sampled_from([0, 3]))
@settings(max_examples=12)
def test_intervals_of_tau_are_those_of_the_twin(seed, queries, steps):
    """Queries are drawn for both leaderboards together; ties count as ties."""
    x, y = two(seed, 5, queries)
    y = y if seed % 3 else 1 - y  # a negative correlation mirrors the interval
    if steps:
        x, y = np.round(x * steps), np.round(y * steps)
    drawn = resample.indices(seed, 0, 60, queries).tolist()
    sums = [DrawnSums.of(values, 60, seed) for values in (x, y)]
    low, high, used = tau_interval(*sums, alpha=0.1)
    if np.isnan(low):
        assert np.isnan(taus(*(s.observed for s in sums))).all()
        return
    expected = twin.tau_interval(x.tolist(), y.tolist(), drawn, 0.1)
    assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert 0 < used <= 60 and (steps or used == 60)


def test_a_leaderboard_beside_the_truth():
    x, y = two(queries=50)
    truth = pd.concat([long(x), long(1 - x, "reversed")])
    boards = {"one": long(y, "J"), "same": Scores(long(x, "J"))}
    how = {"coefficients": ["tau", "tau_ap", "pearson", "spearman", "tau@4"]}
    found = correlate_leaderboards(truth, boards, resamples=200, **how)
    assert list(found) == [
        *("leaderboard", "truth_measure", "measure", "coefficient", "value", "low"),
        *("high", "resamples", "runs", "queries", "undefined"),
    ]
    assert len(found) == 2 * 2 * 5 and found.attrs["notes"] == []
    one = found[found["leaderboard"] == "one"].set_index(
        ["truth_measure", "coefficient"]
    )
    means = x.mean(axis=1), y.mean(axis=1)
    for name, function in SCIPY.items():
        value = one.loc[("M", name), "value"]
        assert value == pytest.approx(function(*means).statistic, abs=1e-12)
    assert one.loc[("M", "tau_ap"), "value"] == pytest.approx(twin.tau_ap(*means))
    assert one.loc[("M", "tau@4"), "runs"] == 4
    assert (one["queries"] == 50).all()
    sums = [DrawnSums.of(values, 200, 0) for values in (x, y)]
    tau = one.loc[("M", "tau")]
    assert (tau["low"], tau["high"], tau["resamples"]) == tau_interval(*sums)
    assert tau["low"] < tau["value"] <= tau["high"] and tau["undefined"] == ""
    others = found[found["coefficient"] != "tau"]
    assert others[["low", "high"]].isna().all(axis=None)
    assert one.loc[("M", "pearson"), "undefined"] == (
        "low, high: no interval of pearson is known to hold; tau has one"
    )
    same = found[(found["leaderboard"] == "same") & (found["truth_measure"] == "M")]
    assert (same["value"] > 1 - 1e-12).all()
    assert same.iloc[0][["low", "high"]].tolist() == [1, 1]
    other = correlate_leaderboards(truth, boards, resamples=200, **how)
    pd.testing.assert_frame_equal(found, other, check_exact=True)
    other = DrawnSums.of(x, 200, 1).drawn[0]
    assert (other != sums[0].drawn[0]).any()
    chosen = correlate_leaderboards(
        truth, boards["one"], ["J"], ["M"], ["tau"], resamples=200
    )
    assert chosen["leaderboard"].tolist() == ["scores"]
    plain = correlate_leaderboards(truth, boards["one"], interval="none")
    assert not {"low", "high", "resamples"} & {*plain}


def test_few_queries_have_no_interval():
    x, y = two(queries=FEWEST - 1)
    found = correlate_leaderboards(long(x), long(y), coefficients=["tau"]).iloc[0]
    assert np.isnan([found["low"], found["high"]]).all() and found["value"] > 0
    assert found["undefined"] == (
        f"low, high: no interval is known to hold for fewer than {FEWEST} queries"
    )


def test_means_alone_have_no_intervals():
    x, y = two()
    runs = [f"r{i}" for i in range(7)]
    truth = pd.DataFrame({"run": runs, "score": x.mean(axis=1)})
    found = correlate_leaderboards(truth, long(y), coefficients=["tau"]).iloc[0]
    expected = stats.kendalltau(x.mean(axis=1), y.mean(axis=1)).statistic
    assert found["value"] == pytest.approx(expected)
    assert np.isnan([found["low"], found["high"]]).all()
    assert (found["queries"], found["resamples"]) == (0, 0)
    assert found["undefined"] == "low, high: one of the two has only means"
    both = truth.assign(topic="all", measure="M")
    again = correlate_leaderboards(both, truth, coefficients=["tau"], interval="none")
    assert again["value"].tolist() == [1] and again["undefined"].tolist() == [""]


def test_a_leaderboard_that_ties_all():
    x, _ = two(queries=50)
    found = correlate_leaderboards(long(x), long(x * 0), coefficients=["tau", "tau_ap"])
    assert found["undefined"].tolist() == [
        "the second gives all runs the same value",
        "the second gives all runs the same value",
    ]
    assert found[["low", "high"]].isna().all(axis=None)


def test_what_one_of_two_leaderboards_lacks():
    x, y = two()
    truth, board = long(x), long(y, "J")
    with pytest.warns(DataWarning) as said:
        found = correlate_leaderboards(truth[truth["query_id"] != "q03"], board)
    assert (
        found.attrs["notes"]
        == [
            "1 of 12 queries left out: there are no scores of 1 query by M of the truth"
        ]
        == [str(warning.message) for warning in said]
    )
    assert set(found["queries"]) == {11}
    short = correlation(
        np.delete(x, 3, 1).mean(axis=1), np.delete(y, 3, 1).mean(axis=1)
    )
    assert found["value"][0] == short
    gap = (board["query_id"] != "q03") | (board["run_id"] != "r2")
    for wrong, how, message in (
        (
            board[gap],
            {},
            "J of scores: run 'r2' has no score for query 'q03' (missing in all: 1). "
            "Complete them, or choose missing drop or zero.",
        ),
        (
            truth[truth["query_id"] != "q03"],
            {"missing": "error"},
            "only one of M of the truth and M of scores has scores of query 'q03'. "
            "Complete the other, or choose missing shared, drop or zero.",
        ),
        (
            board[board["run_id"] != "r2"],
            {},
            "only one of M of the truth and J of scores has scores of run 'r2'. "
            "Complete the other, or drop it.",
        ),
        (
            pd.DataFrame({"run": ["r0", "r9"], "score": [1, 2]}),
            {},
            "only one of scores of scores and M of the truth has scores of run 'r1'. "
            "Complete the other, or drop it.",
        ),
        (
            pd.concat([board, board[:1]]),
            {},
            "scores, row 85: scores run 'r0', query 'q00' twice, first in row 1. Keep "
            "one.",
        ),
    ):
        with pytest.raises(DataError) as error:
            correlate_leaderboards(truth, wrong, **how)
        assert str(error.value) == message


def test_runs_that_one_of_two_leaderboards_lacks_can_be_left_out():
    x, y = two()
    truth, board = long(x), long(np.vstack([y, y[:1] / 2]), "J")
    with pytest.warns(DataWarning) as said:
        found = correlate_leaderboards(
            truth[truth["run_id"] != "r2"], board, missing="drop", resamples=50
        )
    note = "2 runs left out that scores or the truth lacks: r2, r7"
    assert [str(warning.message) for warning in said] == [note]
    assert found.attrs["notes"] == [note] and set(found["runs"]) == {6}
    fewer = [long(np.delete(v, 2, 0)) for v in (x, y)]
    expected = correlate_leaderboards(*fewer, resamples=50)
    same = ["value", "low", "high"]
    pd.testing.assert_frame_equal(found[same], expected[same], check_exact=True)
    with pytest.raises(DataError) as error:
        correlate_leaderboards(truth, truth[:0])
    assert str(error.value) == "scores: holds no rows. Add rows."


def test_leaderboards_of_a_column_for_each_run():
    x, y = two()
    runs = [f"r{i}" for i in range(7)]
    wide = pd.DataFrame(y.T, columns=runs)
    wide.insert(0, "topic", [f"q{q:02}" for q in range(12)])
    found = correlate_leaderboards(long(x), wide, resamples=50)
    expected = correlate_leaderboards(long(x), long(y, "J"), resamples=50)
    assert set(found["measure"]) == {""}
    expected["measure"] = ""
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    wide.loc[3, runs] = np.nan
    with pytest.warns(DataWarning, match="1 of 12 queries left out"):
        correlate_leaderboards(long(x), wide, resamples=50)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"coefficients": ["tau@1"]},
            "coefficient 'tau@1': expected how many of the best runs after @, 2 or "
            "more, such as tau@10",
        ),
        (
            {"coefficients": ["rho@3"]},
            "coefficient is one of tau, tau_ap, tau_ap_symmetric, tau_ap_a, tau_ap_b, "
            "pearson, spearman, not 'rho'",
        ),
        ({"coefficients": []}, "name a coefficient"),
        (
            {"interval": "percentile"},
            "interval is one of simex, none, not 'percentile'",
        ),
        ({"interval": "t"}, "interval is one of simex, none, not 't'"),
        ({"alpha": 1}, "alpha=1: expected a level between 0 and 1"),
        (
            {"resamples": 0},
            "resamples=0, seed=0, precision=None: expected at least 1 resample, a seed "
            "from 0 and a precision between 0 and 0.5",
        ),
        ({"measures": ["x"]}, "no scores of 'x'; there are M"),
        ({"truth_measures": ["x"]}, "no scores of 'x'; there are M"),
        (
            {"missing": "skip"},
            "missing is one of shared, error, drop, zero, not 'skip'",
        ),
    ],
)
def test_wrong_arguments(how, message):
    with pytest.raises(UsageError) as error:
        correlate_leaderboards(*map(long, two()), **how)
    assert str(error.value) == message
