"""The measures find the true order of the demo collection's runs."""

import json
from dataclasses import asdict

import pytest
from scipy.stats import kendalltau

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
MEASURES = ["PGC", "PGC(graph=derived)", "PGC(graph=combined)", "Compat"]


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_order_the_demo_runs_as_they_truly_are(measure):
    folder = demo_folder()
    truth = json.loads((folder / "truth.json").read_text())
    best_first = [row["run_id"] for row in truth["runs"]]
    mean = (
        pgcjax.evaluate(
            folder / "runs",
            preferences=folder / "preferences.csv",
            qrels=folder / "qrels.txt",
            measures=measure,
        )
        .mean()[measure]
        .loc[best_first]
    )
    assert kendalltau(mean, range(len(mean), 0, -1)).statistic >= 0.85


@pytest.mark.parametrize("seed", [1, 2])
def test_with_more_queries_the_order_is_clearer(seed):
    collection = simulate(CollectionSettings(seed=seed, queries=100))
    mean = (
        pgcjax.evaluate(
            collection.runs,
            preferences=collection.preferences,
            qrels=collection.qrels,
            measures=MEASURES,
        )
        .mean()
        .loc[collection.truth["run_id"]]
    )
    for measure in MEASURES:
        tau = kendalltau(mean[measure], -collection.truth["position"]).statistic
        assert tau >= 0.9, (measure, asdict(collection.settings))
