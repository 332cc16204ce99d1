"""`verify` recomputes means and their intervals, and which queries they are of."""

import numpy as np
import pandas as pd
import pytest
from helpers.collections import collection

import pgcjax
from pgcjax.errors import VerificationError
from pgcjax.reference.means import interval, mean
from pgcjax.stats import means
from pgcjax.stats.run_means import run_means

MEASURES = {"P@5": "arithmetic", "AP(mean=geometric)": "geometric", "NumRet": "sum"}


@pytest.fixture(scope="module")
def judged():
    """Judgments and three runs, one of which lacks queries."""
    prefs, qrels, runs = collection(8, queries=6, runs=3, most_docs=12)
    first = runs["run_id"].min()
    lacks = runs["query_id"].isin(sorted(runs["query_id"].unique())[:2])
    return {
        "runs": runs[~(lacks & (runs["run_id"] == first))],
        "preferences": prefs,
        "qrels": qrels,
    }


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("share", [0.2, 1.0])
@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_means_of_some_and_of_all_twins_are_equal(judged, missing, share):
    scores = pgcjax.evaluate(
        **judged, measures=[*MEASURES, "rpref"], missing=missing, verify=share
    )
    assert scores.notes[-1].endswith("scores recomputed: equal")


@pytest.mark.parametrize("share", [0.01, 1.0])
@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        (
            "_averaged",
            lambda values, keep: values.sum(1) / (values.shape[1] + 1),
            "the mean of P@5 is",
        ),
        ("FLOOR", 1e-3, "the mean of AP.mean=geometric. is"),
        ("mean_of", lambda measure: "arithmetic", "the mean of"),
    ],
)
@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_a_wrong_mean_is_caught(judged, monkeypatch, share, name, wrong, said):
    monkeypatch.setattr(means, name, wrong)
    with pytest.raises(VerificationError, match=f"run '.*': {said}"):
        pgcjax.evaluate(**judged, measures=[*MEASURES], verify=share)


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_a_mean_beside_replicates_is_recomputed(judged, monkeypatch):
    from pgcjax.stats import uncertainty

    right = uncertainty.query_means
    monkeypatch.setattr(uncertainty, "query_means", lambda *a: right(*a) * 0.99)
    how = {"replicates": 3, "resample": "queries", "verify": 0.01}
    with pytest.raises(VerificationError, match="the mean of P@5 is"):
        pgcjax.uncertainty(**judged, measures=["P@5"], **how)


@pytest.mark.parametrize("measure", MEASURES)
def test_means_and_intervals_equal_their_twins(measure):
    rng = np.random.default_rng(4)
    rows = []
    for run, queries in enumerate((1, 2, 7, 50)):
        values = rng.integers(0, 5, queries) / (1 if measure == "NumRet" else 4)
        rows += [(f"r{run}", measure, value) for value in values]
    table = pd.DataFrame(rows, columns=["run_id", "measure", "value"])
    found = run_means([table]).xs(measure, level="measure")
    for run, scores in table.groupby("run_id")["value"]:
        scores = scores.tolist()
        twin = [mean(scores, MEASURES[measure]), *interval(scores, MEASURES[measure])]
        computed = found.loc[run, ["mean", "low", "high"]].tolist()
        np.testing.assert_allclose(computed, twin, rtol=1e-12, atol=1e-12)


def test_an_interval_by_hand():
    """Scores 1, 2, 3: mean 2, deviation 1, and t of 2 degrees of freedom is 4.30265."""
    low, high = interval([1.0, 2.0, 3.0], "arithmetic")
    half = 4.302652729911275 / 3**0.5
    assert (low, high) == pytest.approx((2 - half, 2 + half))
    assert interval([0.5], "arithmetic") == (0.5, 0.5)
    assert mean([0.0, 0.1], "geometric") == pytest.approx(1e-3)
