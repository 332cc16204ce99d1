"""The simulator keeps its promises, and the shipped collection is its output."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pgcjax.datasets.files import demo_folder, write_collection
from pgcjax.datasets.settings import RANGES, CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.errors import DataError, UsageError

JUDGED = ["qrels", "intent_qrels", "intents", "preferences", "utilities", "judges"]
SMALL = CollectionSettings(queries=3, documents=6, runs=3, depth=5, rows=2, columns=2)


@pytest.fixture(scope="module")
def collection():
    return simulate(CollectionSettings())


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(settings, folder):
    write_collection(simulate(settings), folder)
    return files(folder)


def pairs_of(preferences):
    """Preferences with the documents of each pair in order of id, signs to match."""
    swap = preferences["doc_id"] > preferences["other_doc_id"]
    return preferences.assign(
        low=preferences["doc_id"].where(~swap, preferences["other_doc_id"]),
        high=preferences["other_doc_id"].where(~swap, preferences["doc_id"]),
        preference=preferences["preference"].where(~swap, -preferences["preference"]),
    )


def test_shipped_collection_is_a_fresh_simulation(tmp_path):
    shipped = files(demo_folder())
    assert written(CollectionSettings(), tmp_path / "fresh") == shipped
    assert sum(map(len, shipped.values())) < 300_000
    assert not any(b"\r" in data for data in shipped.values())


def test_bytes_depend_on_the_seed_alone(tmp_path):
    first = written(SMALL, tmp_path / "a")
    assert written(SMALL, tmp_path / "b") == first
    other = written(replace(SMALL, seed=1), tmp_path / "c")
    for name in ["qrels.txt", "preferences.csv", "grid.csv", "diversity.qrels.txt"]:
        assert other[name] != first[name]


def test_more_runs_leave_the_judgments(collection):
    more = simulate(CollectionSettings(runs=40))
    for name in JUDGED:
        pd.testing.assert_frame_equal(getattr(more, name), getattr(collection, name))
    assert more.truth["run_id"].is_unique
    assert more.truth["run_id"].tolist()[:8] == collection.truth["run_id"].tolist()


def test_more_queries_leave_the_earlier_ones(collection):
    more = simulate(CollectionSettings(queries=25))
    earlier = set(collection.qrels["query_id"])
    for name in [*JUDGED, "runs", "grid", "truth"]:
        table = getattr(more, name)
        if "query_id" in table:
            table = table[table["query_id"].isin(earlier)].reset_index(drop=True)
        expected = getattr(collection, name)
        keys = expected.columns.tolist()
        pd.testing.assert_frame_equal(
            table.sort_values(keys, ignore_index=True),
            expected.sort_values(keys, ignore_index=True),
        )


def test_judges_are_as_accurate_as_they_are_reliable(collection):
    utility = collection.utilities.set_index(["query_id", "doc_id"])["utility"]
    won = collection.preferences.query("preference != 0")
    left = pd.MultiIndex.from_frame(won[["query_id", "doc_id"]])
    right = pd.MultiIndex.from_frame(won[["query_id", "other_doc_id"]])
    true = np.sign(utility[left].to_numpy() - utility[right].to_numpy())
    accuracy = (won["preference"] == true).groupby(won["judge"]).mean()
    order = collection.judges.sort_values("reliability")["judge"]
    assert accuracy[order].is_monotonic_increasing
    assert 0.6 < accuracy.min() < accuracy.max() < 1


def test_judgments_have_repeats_conflicts_ties_and_gaps(collection):
    pairs = pairs_of(collection.preferences)
    assert (pairs["low"] < pairs["high"]).all()
    assert set(pairs["preference"]) == {-1, 0, 1}
    judgments = pairs.groupby(["query_id", "low", "high"])["preference"]
    assert (judgments.size() > 1).any()
    assert ((judgments.min() == -1) & (judgments.max() == 1)).any()
    assert len(judgments) < 20 * 20 * 19 / 2
    per_judge = pairs.groupby(["query_id", "judge"])
    assert (per_judge.size() == collection.settings.pairs).all()
    assert not pairs.duplicated(["query_id", "judge", "low", "high"]).any()


def test_runs_and_the_pool_overlap_in_part(collection):
    runs, qrels = collection.runs, collection.qrels
    assert set(qrels["relevance"]) == {0, 1, 2, 3}
    pool = set(zip(qrels["query_id"], qrels["doc_id"], strict=True))
    for _, run in runs.groupby("run_id"):
        found = set(zip(run["query_id"], run["doc_id"], strict=True))
        assert found - pool
        assert pool - found
        assert run.duplicated(["query_id", "score"]).any()
        assert not run.duplicated(["query_id", "doc_id"]).any()
        assert (run.groupby("query_id")["rank"].max() == 20).all()
        assert (run.groupby("query_id")["score"].diff().dropna() <= 0).all()


def test_exactly_one_query_is_missing_from_one_run(collection):
    found = collection.runs.groupby(["run_id", "query_id"]).size().unstack()
    assert found.shape == (8, 20)
    assert found.isna().sum().sum() == 1
    worst = collection.truth["run_id"].iloc[-1]
    assert found.loc[worst].isna().any()


def test_names_hide_the_order(collection):
    names = collection.truth["run_id"].tolist()
    assert names != sorted(names) and names != sorted(names, reverse=True)
    assert collection.truth["quality"].is_monotonic_decreasing
    assert np.ptp(np.diff(collection.truth["quality"])) < 2e-4
    assert collection.truth["position"].tolist() == list(range(1, 9))


def test_intents(collection):
    intents = collection.intents
    total = intents.groupby("query_id")["probability"].sum()
    assert total.to_numpy() == pytest.approx(1, abs=1e-12)
    assert (intents["probability"] > 0).all()
    assert set(intents["kind"]) == {"inf", "nav"}
    keys = ["query_id", "intent_id"]
    relevant = collection.intent_qrels.groupby(keys)["relevance"].agg(
        lambda grades: (grades > 0).sum()
    )
    nav = intents[intents["kind"] == "nav"].set_index(keys).index
    assert (relevant[nav] == 1).all()


def test_grid_is_the_top_in_reading_order(collection):
    cell = collection.grid["row"] * 4 + collection.grid["column"]
    grid = collection.grid.assign(rank=cell + 1)
    keys = ["query_id", "run_id", "rank"]
    top = collection.runs[collection.runs["rank"] <= 12]
    both = grid.merge(top, on=keys, suffixes=("", "_run"))
    assert len(both) == len(grid) == len(top)
    assert (both["doc_id"] == both["doc_id_run"]).all()
    assert set(grid["row"]) == {0, 1, 2} and set(grid["column"]) == {0, 1, 2, 3}


def test_files_hold_the_tables(collection):
    folder = demo_folder()
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    assert CollectionSettings(**truth["settings"]) == collection.settings
    assert truth["runs"] == collection.truth.to_dict("records")
    read = pd.read_csv(folder / "preferences.csv")
    pd.testing.assert_frame_equal(read, collection.preferences)
    names = ["query_id", "doc_id", "other_doc_id", "best"]
    clarke = pd.read_csv(folder / "judgments.txt", sep=" ", names=names)
    won = read.query("preference != 0")
    assert clarke["doc_id"].tolist() == won["doc_id"].tolist()
    first, second = won["doc_id"], won["other_doc_id"]
    best = first.where(won["preference"] > 0, second)
    assert clarke["best"].tolist() == best.tolist()


def test_extreme_settings(tmp_path):
    least = CollectionSettings(
        queries=2, documents=2, runs=2, judges=1, intents=1, depth=1, rows=1, columns=1
    )
    texts = written(least, tmp_path / "least")
    assert sum(name.startswith("runs/") for name in texts) == 2
    assert least.pairs == 1
    wide = simulate(CollectionSettings(queries=2, runs=2, depth=3, rows=9, columns=9))
    assert len(wide.grid) == len(wide.runs) == 9


def test_an_existing_folder_is_left_alone(tmp_path):
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("kept")
    with pytest.raises(DataError, match="exists already"):
        write_collection(simulate(SMALL), target)
    assert files(tmp_path) == {"mine/thesis.txt": b"kept"}
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("which", ["below", "above", 1.5, "3", None, True])
def test_a_bad_setting_is_said_in_one_line(name, which):
    low, high = RANGES[name]
    value: Any = {"below": low - 1, "above": high + 1}.get(which, which)
    with pytest.raises(UsageError) as caught:
        CollectionSettings(**{name: value})
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{name} must be a whole number from {low} to {high}")


@pytest.mark.parametrize("value", [0, 11, -1, 2.0])
def test_pairs_are_those_of_the_documents(value):
    with pytest.raises(UsageError, match="pairs must be .* from 1 to 10, the pairs of"):
        CollectionSettings(documents=5, pairs=value)


def test_the_folder_is_found_without_numpy():
    code = (
        "import sys, pgcjax.datasets, pgcjax.datasets.files, pgcjax.datasets.settings;"
        "sys.exit(bool({'numpy', 'pandas', 'jax'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
