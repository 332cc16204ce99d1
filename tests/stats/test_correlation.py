"""Correlations of system orderings: published values, twins, libraries, properties."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import correlation as twin
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pgcjax.errors import DataError
from pgcjax.stats import correlation
from pgcjax.stats.choices import COEFFICIENTS
from pgcjax.stats.correlation import correlation as correlated

# The example of ircor's manual: x and y, y rounded, both rounded.
X = [0.67, 0.45, 0.29, 0.12, 0.57, 0.24, 0.94, 0.75, 0.08, 0.54]
Y = [0.48, 0.68, 0.32, 0.09, 0.06, 0.61, 0.87, 0.22, 0.44, 0.84]
X_TIES = [0.7, 0.4, 0.3, 0.1, 0.6, 0.2, 0.9, 0.8, 0.1, 0.5]
Y_TIES = [0.5, 0.7, 0.3, 0.1, 0.1, 0.6, 0.9, 0.2, 0.4, 0.8]

distinct = st.lists(st.floats(-1, 1, width=16), min_size=2, max_size=12, unique=True)
tied = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), min_size=2, max_size=7)


@st.composite
def orders(draw, values=distinct):
    """Two lists of the same length, the second a shuffle or a list of its own."""
    x = draw(values)
    y = draw(st.permutations(x))
    return x, y


def test_published_values(golden):
    for case in golden("tau_ap")["sets"]:
        x, y, expected = case["x"], case["y"], case["expected"]
        ties = case["x_ties"], case["y_ties"]
        found = {
            "tau_ap": correlated(x, y, "tau_ap"),
            "tau_ap_a_ties_in_y": correlated(x, ties[1], "tau_ap_a"),
            "tau_ap_b": correlated(x, y, "tau_ap_b"),
            "tau_ap_b_ties": correlated(*ties, "tau_ap_b"),
        }
        assert found == pytest.approx(expected, abs=5e-5)
        assert correlated(x, y, "tau_ap_symmetric") == found["tau_ap_b"]


@pytest.mark.parametrize(
    ("coefficient", "x", "y", "printed"),
    [
        ("tau_ap", X, Y, 0.3928571),
        ("tau_ap_a", X, Y, 0.3928571),
        ("tau_ap_a", X, Y_TIES, 0.39903),
        ("tau_ap_b", X, Y_TIES, 0.3317019),
        ("tau_ap_b", X_TIES, Y_TIES, 0.339418),
    ],
)
def test_the_example_of_the_manual_of_ircor(coefficient, x, y, printed):
    assert correlated(x, y, coefficient) == pytest.approx(printed, abs=5e-7)


@given(orders())
def test_without_ties_all_are_their_twins(pair):
    x, y = pair
    assert correlated(x, y, "tau_ap") == pytest.approx(twin.tau_ap(x, y), abs=1e-12)
    expected = twin.symmetric_tau_ap(x, y)
    assert correlated(x, y, "tau_ap_symmetric") == pytest.approx(expected, abs=1e-12)
    assert correlated(x, y, "tau_ap_b") == pytest.approx(expected, abs=1e-12)
    assert correlated(x, y, "tau_ap_a") == pytest.approx(twin.tau_ap(x, y), abs=1e-12)


@given(tied, st.randoms(use_true_random=False))
def test_with_ties_all_are_their_twins(y, random):
    truth = random.sample(range(100), len(y))
    expected = twin.tau_ap_a(truth, y)
    assert correlated(truth, y, "tau_ap_a") == pytest.approx(expected, abs=1e-12)
    x = random.choices([1, 2, 3], k=len(y))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    expected = twin.tau_ap_b(x, y)
    assert correlated(x, y, "tau_ap_b") == pytest.approx(expected, abs=1e-12)


def test_the_others_are_those_of_scipy():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 9, (2, 30)) / 9
        libraries = {
            "tau": stats.kendalltau(x, y).statistic,
            "pearson": stats.pearsonr(x, y).statistic,
            "spearman": stats.spearmanr(x, y).statistic,
        }
        found = {name: correlated(x, y, name) for name in libraries}
        assert found == pytest.approx(libraries, abs=1e-12)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@given(orders())
def test_properties(coefficient, pair):
    x, y = np.array(pair)
    assume(np.ptp(x) > 1e-3)  # else Pearson's squares underflow
    value = correlated(x, y, coefficient)
    assert -1 - 1e-12 <= value <= 1 + 1e-12
    assert correlated(x, x, coefficient) == pytest.approx(1, abs=1e-12)
    assert correlated(x, -x, coefficient) == pytest.approx(-1, abs=1e-12)
    shuffle = np.random.default_rng(0).permutation(len(x))
    again = correlated(x[shuffle], y[shuffle], coefficient)
    assert again == pytest.approx(value, abs=1e-12)
    if coefficient not in correlation.DIRECTED:
        assert correlated(y, x, coefficient) == pytest.approx(value, abs=1e-12)


def test_an_estimate_that_ties_all_is_as_good_as_chance():
    assert correlated([3, 1, 2], [5, 5, 5], "tau_ap_a") == pytest.approx(0)


def test_rounding_is_no_difference():
    x, y = [0.1 + 0.2, 0.3, 0.5], [1, 2, 3]
    assert correlated(x, y) == correlated([0.3, 0.3, 0.5], y) != 1


@pytest.mark.parametrize(
    ("x", "y", "coefficient", "message"),
    [
        (
            [1, 1],
            [1, 2],
            "tau",
            "tau is undefined: the first gives all runs the same value",
        ),
        (
            [1, 2],
            [0.3, 0.1 + 0.2],
            "pearson",
            "pearson is undefined: the second gives all runs the same value",
        ),
        ([1], [2], "tau_ap", "tau_ap is undefined: there are fewer than two runs"),
        (
            [1, 1, 2],
            [1, 2, 3],
            "tau_ap_a",
            "tau_ap_a is undefined: the first has ties; tau_ap_b allows them",
        ),
        (
            [1, 2, 3],
            [1, 1, 2],
            "tau_ap",
            "tau_ap is undefined: the second has ties; tau_ap_b allows them",
        ),
        ([1, 2], [1, 2, 3], "tau", "expected as many values, found 2 and 3"),
        (
            [1, np.nan],
            [1, 2],
            "tau",
            "expected finite numbers to correlate, found NaN or infinity",
        ),
        (
            ["a", "b"],
            [1, 2],
            "tau",
            "expected numbers to correlate, found something else",
        ),
        (
            [[1, 2]],
            [[1, 2]],
            "tau",
            "expected a number per run, found shape (1, 2)",
        ),
    ],
)
def test_what_cannot_be_correlated(x, y, coefficient, message):
    with pytest.raises(DataError) as error:
        correlated(x, y, coefficient)
    assert str(error.value) == message


def test_correlate_says_what_is_undefined():
    rng = np.random.default_rng(0)
    values = {
        "A": rng.random((5, 12)),
        "B": rng.random((5, 12)),
        "flat": np.ones((5, 12)),
    }
    scores = {
        measure: pd.DataFrame(v.T, columns=[f"r{i}" for i in range(5)])
        for measure, v in values.items()
    }
    found = correlation.correlate(scores, coefficients=["tau", "tau_ap", "tau_ap_b"])
    assert list(found) == correlation.COLUMNS
    # tau and tau_ap_b once for each two measures, tau_ap each way.
    assert len(found) == 3 * 4
    flat = found["measure_b"].eq("flat") | found["measure_a"].eq("flat")
    assert found.loc[flat, "value"].isna().all()
    assert found.loc[flat, "undefined"].str.contains("all runs the same value").all()
    assert (found.loc[~flat, "undefined"] == "").all()
    means = values["A"].mean(axis=1), values["B"].mean(axis=1)
    expected = correlated(means[1], means[0], "tau_ap")
    row = found[(found["measure_a"] == "B") & (found["coefficient"] == "tau_ap")]
    assert row["value"].iloc[0] == pytest.approx(expected)
    assert (found["runs"] == 5).all()


def test_published_taus_of_image_search(golden):
    scores, summary = golden("xie")["per_query"], golden("image_summary")["summary"]
    assert {"PMR_N", "WR"} <= set(scores) & set(summary)
    for measure in set(scores) & set(summary):
        sogou, baidu = np.array(scores[measure]).T
        known = summary[measure]["tau_b"]
        assert correlated(sogou, baidu) == pytest.approx(known, abs=1e-12), measure
