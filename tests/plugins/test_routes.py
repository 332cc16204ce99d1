"""One question by four routes: each gives the p of the test that it names."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.plugins.ir_measures import PGC, nDCG
from pgcjax.reporting import interactive
from pgcjax.reporting.score_findings import find

DEMO = Path(pgcjax.__file__).parent / "datasets/collection"
PAIR = ["run_a", "run_b"]
BEST, OTHER = "alder", "aspen"
# One run lacks a query, and so does a measure.
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


@pytest.fixture(scope="module")
def scores():
    """Three measures; two queries have grades and no preferences."""
    preferences = pgcjax.files.read_preferences(DEMO / "preferences.csv")
    few = sorted(set(preferences["query_id"]))[2:]
    return pgcjax.evaluate(
        sorted((DEMO / "runs").iterdir()),
        preferences=preferences[preferences["query_id"].isin(few)],
        qrels=DEMO / "qrels.txt",
        measures=["nDCG@10", "PGC", "P@5"],
    )


def row(comparison, run_a, run_b):
    pairs = comparison.table.set_index(PAIR)
    return pairs.loc[
        (run_a, run_b) if (run_a, run_b) in pairs.index else (run_b, run_a)
    ]


@pytest.mark.parametrize("measure", ["nDCG@10", "PGC"])
def test_routes_of_pgcjax_agree(scores, measure, tmp_path):
    """All pairs: compare, discriminate and the page, on the same queries."""
    found = pgcjax.compare(scores, measure=measure)
    queries = {"nDCG@10": 20, "PGC": 18}[measure]
    assert found.tested == f"max-t, 28 comparisons, {queries} queries, α = 0.05"
    told = pgcjax.meta.discriminate(scores)
    pairs = told.pairs[told.pairs["measure"] == measure].reset_index(drop=True)
    for name in ("p_value", "p_adjusted", "significant"):
        assert pairs[name].tolist() == found.table[name].tolist(), name
    (counted,) = told.table[told.table["measure"] == measure].to_dict("records")
    assert counted["significant"] == found.table["significant"].sum()
    assert counted["queries"] == queries
    page = interactive.write(find(scores), tmp_path / "page.html")
    text = page.read_text("utf-8")
    (data,) = re.findall(r'id="data">(.*)</script>', text)
    shown = {one["name"]: one for one in json.loads(data)["measures"]}[measure]
    assert shown["tested"] == found.tested and found.notes[0] in shown["notes"]
    assert [one["name"] for one in json.loads(data)["measures"]][0] == "nDCG@10"
    ours = find(scores).compared[measure]
    pd.testing.assert_frame_equal(ours.table, found.table)
    pd.testing.assert_frame_equal(ours.runs, found.runs)
    # Measures on the same queries are another question, which has a name.
    shared = pgcjax.meta.discriminate(scores, missing="shared").table
    assert set(shared["queries"]) == {18}


def test_two_runs_alone_are_a_family_of_one(scores):
    """The same two runs: each route says of how many comparisons its p is."""
    two = scores.table[scores.table["run_id"].isin([BEST, OTHER])]
    how = {"measure": "nDCG@10"}
    alone, among = pgcjax.compare(two, **how), pgcjax.compare(scores, **how)
    assert alone.tested == "max-t, 1 comparison, 20 queries, α = 0.05"
    assert row(alone, BEST, OTHER).p_value < row(among, BEST, OTHER).p_value
    by_t = pgcjax.compare(two, test="t", **how)
    assert by_t.tested == "t, 1 comparison, 20 queries, α = 0.05"
    many = pgcjax.compare(scores, test="t", **how)
    assert many.tested == "t, Holm, 28 comparisons, 20 queries, α = 0.05"
    pair = row(many, BEST, OTHER)
    assert pair.p_value == row(by_t, BEST, OTHER).p_value < pair.p_adjusted


@pytest.mark.parametrize("measure", [nDCG @ 10, PGC])
def test_pyterrier_gives_the_p_that_the_guide_says(scores, measure):
    pt = pytest.importorskip("pyterrier", reason="pip install pyterrier")
    pytest.importorskip("statsmodels", reason="pip install statsmodels")
    runs = {
        path.stem: pt.io.read_results(str(path))
        for path in sorted((DEMO / "runs").iterdir())
    }
    name = str(measure)
    wide = scores.matrix(name)
    if measure is PGC:
        preferences = pgcjax.files.read_preferences(DEMO / "preferences.csv")
        few = preferences["query_id"].isin(wide.columns)
        measure = PGC.bind(preferences[few])
        qrels = {"qid": measure.queries, "docno": "none", "label": 0}
        qrels = pd.DataFrame(qrels)
    else:
        qrels = pt.io.read_qrels(str(DEMO / "qrels.txt"))
    table = pt.Experiment(
        runs,
        qrels[["qid"]].drop_duplicates(),
        qrels,
        eval_metrics=[measure],
        baseline=OTHER,
        correction="holm",
    ).set_index("name")
    np.testing.assert_allclose(table[name], wide.mean(axis=1)[table.index], atol=1e-12)
    how = {"measure": name, "baselines": OTHER, "test": "t"}
    ours = pgcjax.compare(scores, **how).table.set_index("run_a")
    theirs = table.drop(index=OTHER)
    for column, own in (("p-value", "p_value"), ("p-value corrected", "p_adjusted")):
        np.testing.assert_allclose(
            theirs[f"{name} {column}"].astype(float), ours[own][theirs.index]
        )


def test_measures_stay_as_they_were_asked_for(scores, tmp_path):
    """In every verb and file, even where the first one lacks the first query."""
    asked = ["PGC", "nDCG@10"]
    preferences = pgcjax.files.read_preferences(DEMO / "preferences.csv")
    first = min(preferences["query_id"])
    some = pgcjax.evaluate(
        sorted((DEMO / "runs").iterdir())[:3],
        preferences=preferences[preferences["query_id"] != first],
        qrels=DEMO / "qrels.txt",
        measures=asked,
    )
    for suffix in (".csv", ".parquet", ".jsonl"):
        again = pgcjax.files.read_scores(some.save(tmp_path / f"scores{suffix}"))
        for one in (some, again):
            assert one.measures == asked
            assert list(find(one, test="t").scores) == asked
            told = pgcjax.meta.discriminate(one, test="t").table
            assert told["measure"].tolist() == asked
            tau = pgcjax.correlate(one, missing="shared")
            assert tau["measure_a"][0] == "PGC"


def test_measures_are_found_however_they_are_spelled(scores):
    wide = scores.matrix("PGC")
    for text in ("PGC(p=.95)", "PGC(p=0.950)", "pgc", " PGC( p = .95 )"):
        pd.testing.assert_frame_equal(scores.matrix(text), wide)
        found = pgcjax.compare(scores, measure=text, test="t")
        assert (
            found.metadata["scores"]
            == pgcjax.compare(scores, measure="PGC", test="t").metadata["scores"]
        )


def test_preferences_print_the_measure_as_it_was_asked_for():
    found = pgcjax.rankings.prefer(
        sorted((DEMO / "runs").iterdir())[:2],
        qrels=DEMO / "qrels.txt",
        measures=["RPP(rel=1)", "RPP(rel=2)"],
    )
    assert found.measures == ["RPP(rel=1)", "RPP(rel=2)"]
