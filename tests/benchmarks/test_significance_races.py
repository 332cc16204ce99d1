"""Benchmarks of significance run and agree; calibration holds where few trials show."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from helpers import processes

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import significance  # noqa: E402
from benchmarks.studies import (  # noqa: E402
    calibration,
    coverage,
    families,
    left_out,
    order_coverage,
)
from benchmarks.studies import rectified_coverage as rectified  # noqa: E402
from benchmarks.studies.commands import MATRICES  # noqa: E402
from pgcjax.datasets.files import demo_folder  # noqa: E402
from pgcjax.stats import orders, procedures  # noqa: E402

RESULTS = harness.ROOT / "benchmarks" / "results"


def test_rows_agree_and_are_timed(report, monkeypatch):
    monkeypatch.setattr(significance, "child", processes.module)
    significance.run(
        report,
        runs=7,
        queries=20,  # too many for all sign flips to be enumerated
        resamples=700,
        shuffles=600,
        families=(5,),
        many=6,
        sampled=4,
        together=600,
    )
    titles = [race["title"].partition(":")[0] for race in report.races]
    assert titles == [
        *("bootstrap", "sign flips", "max-t", "max-t"),
        "randomised Tukey HSD",
    ]
    rows = [{f["name"] for f in race["figures"]} for race in report.races]
    assert rows[0] == {
        "scipy.stats.bootstrap of t",
        "numpy, textbook",
        "numpy, our formula",
        "pgcjax",
    }
    assert {"numpy, pair by pair", "numpy, our formula", "pgcjax"} <= rows[1]
    assert rows[2] == {"numpy, in blocks", "the same in float32", "pgcjax"}
    assert rows[4] == {"numpy, one by one", "the same by PCG64", "pgcjax"}
    compared, large = report.tables
    assert [row[0] for row in compared["rows"]] == list(procedures.TESTS)
    assert all(row[2] > 100 for row in large["rows"])  # MiB


def test_another_p_value_is_refused():
    ours = np.array([0.5, 0.02])
    significance._check_near("theirs", ours, ours + 0.01, 1000)
    with pytest.raises(harness.NotEqualError, match="theirs: .* up to 0.2, beyond"):
        significance._check_near("theirs", ours, ours + 0.2, 1000)


def test_bytes_are_counted_where_they_could_overflow():
    for length in (7, 8, 1000, 8 * 255, 8 * 256):
        assert significance._ones(np.ones((2, length), bool)).tolist() == [length] * 2


def test_a_share_is_put_beside_what_chance_allows():
    hits = np.arange(1000) < 50
    found = calibration.share(hits, 0.05)
    assert found["share"] == 0.05 and found["expected"] == [0.033, 0.069]
    assert found["where"] == "within"
    assert calibration.share(hits, 0.01)["where"] == "above"
    assert calibration.share(hits, 0.1)["where"] == "below"


@pytest.mark.parametrize(
    ("study", "count"),
    [(calibration, 5), (coverage, 1), (order_coverage, 1), (families, 3)],
)
def test_the_page_has_the_tables_of_the_committed_study(study, count):
    name = study.__name__.rpartition(".")[2]
    made = harness.ROOT / "benchmarks" / "results" / f"{name}-cpu.json"
    done = CliRunner().invoke(study.main, ["--tables", str(made)])
    assert done.exit_code == 0, done.output
    page = (harness.ROOT / "docs" / "significance-evidence.md").read_text()
    tables = done.output.strip().split("\n\n")
    assert len(tables) == count
    for table in tables:
        assert table.strip() in page, f"make it by {study.__name__} --tables"


def test_max_t_holds_its_level_in_all_families_that_were_simulated():
    found = json.loads((RESULTS / "families-cpu.json").read_text())
    levels = {test: [] for test in ("max-t", "tukey", "t, Holm")}
    for row in found["levels"]:
        levels.setdefault(row["test"], []).append(row)
    assert {row["measure"] for row in levels["max-t"]} == {*families.SOURCES}
    assert {row["null"] for row in levels["max-t"]} == {*families.NULLS}
    assert max(row["runs"] for row in levels["max-t"]) == 200
    assert not [row for row in levels["max-t"] if row["where"] == "above"]
    above = [row for row in levels["tukey"] if row["where"] == "above"]
    assert len(above) > len(levels["tukey"]) / 4
    assert {row["null"] for row in above} == {"equal means", "clusters"}
    for row in found["real"]:
        if row["test"] == "max-t":
            assert row["ranks_hold"] >= 0.95 and row["tiers_hold"] >= 0.95


def test_intervals_of_tau_hold_from_as_many_topics_as_are_asked_for():
    found = json.loads((RESULTS / "order_coverage-cpu.json").read_text())
    simex = [row for row in found["order coverage"] if row["test"] == "simex"]
    enough = [row for row in simex if row["topics"] >= orders.FEWEST]
    assert enough and not [row for row in enough if row["where"] == "above"]


def test_a_family_of_each_null_has_equal_means():
    if not MATRICES.is_dir():
        pytest.skip(f"no {MATRICES}")
    for null in families.NULLS:
        cell = families.Cell("RR", null, 10, 200)
        x = families.drawn(MATRICES, cell, np.random.default_rng(0))
        assert x.shape == (10, 200)
        p = families.p_values(x[:, :25], 0)
        assert set(p) >= {"max-t", "tukey", "t, Holm", "replicates"}
        error = x.std(1) / 200**0.5
        assert (np.abs(x.mean(1) - x.mean()) < 5 * error + 0.05).all()


def test_intervals_miss_about_as_often_as_they_may():
    if not MATRICES.is_dir():
        pytest.skip(f"no {MATRICES}")
    rows = list(coverage.rows(MATRICES, 100))
    assert len(rows) == 4 * 4 * 2 * 3
    for row in rows:
        if row["topics"] >= 50:
            assert row["share"] <= 0.1 + row["alpha"], row
        if row["test"] == "t" and row["alpha"] == 0.05:
            assert row["share"] >= 0.01, row


def test_rectified_intervals_hold_human_scores_and_are_narrower():
    """As in the study, of made-up scores: a model that overrates, and one that errs."""
    random = np.random.default_rng(0)
    human = random.beta(2, 4, (6, 60))
    for by, noise, narrow in (("close", 0.05, 0.75), ("far", 2.0, 1.02)):
        model = 0.2 + 0.7 * human + noise * random.random((6, 60))
        scores = rectified.Scores("made up", by, human, model)
        found = [*rectified.counts(scores, 15, 45, 1000, again=True)]
        found += rectified.counts(scores, 30, 30, 1000, again=False)
        rows = {(r["again"], r["of"], r["interval"]): r for r in found}
        assert len(rows) == len(found) == 2 * 2 * len(rectified.KINDS)
        for of in ("means", "differences"):
            ours, people = (rows[True, of, kind] for kind in ("rectified", "people"))
            assert ours["held"] > 0.925 and people["held"] > 0.925
            assert ours["width"] < narrow * people["width"]
            assert rows[True, of, "published"]["held"] < ours["held"]
            assert rows[False, of, "rectified"]["held"] > 0.98  # of those very queries
        assert rows[True, "means", "model"]["held"] < 0.2


@pytest.mark.parametrize(
    ("study", "page", "count"),
    [(rectified, "judging-evidence", 38), (left_out, "judging-evidence", 11)],
)
def test_pages_show_what_studies_found(study, page, count):
    name = study.__name__.rpartition(".")[2]
    found = json.loads((RESULTS / f"{name}-cpu.json").read_text())
    text = (harness.ROOT / "docs" / f"{page}.md").read_text("utf-8")
    lines = [line for line in study.tables(found) if line]
    assert len(lines) == count
    assert [line for line in lines if line not in text.splitlines()] == []


def test_half_of_the_human_topics_are_enough_on_dl21():
    """Intervals hold what they promise, and are narrower: as the study found."""
    found = json.loads((RESULTS / "rectified_coverage-cpu.json").read_text())
    rows = [row for row in found["coverage"] if row["collection"] == "dl21"]
    key = "judged", "others", "again", "of"
    of = {kind: {} for kind in rectified.KINDS}
    for row in rows:
        if row["judged"] >= 10:
            of[row["interval"]][tuple(row[name] for name in key)] = row
    assert {case[:2] for case in of["people"]} == {(10, 36), (23, 23), (23, 100)}
    for case, row in of["rectified"].items():
        assert row["held"] > 0.935 and row["held"] > of["people"][case]["held"] - 0.005
        assert row["width"] < 0.95 * of["people"][case]["width"]


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_the_study_of_runs_left_out_sums_up_their_table():
    collections = {"demo": ("runs", "preferences.csv")}
    (row,) = left_out.rows(demo_folder(), (10,), collections)
    assert row == {
        "collection": "demo",
        "depth": 10,
        "runs": 8,
        "documents": 4.5,
        "judgments": 0.021,
        "own": -0.02179,
        "own_most": -0.07326,
        "ranks_mean": 0.0,
        "ranks_most": 0,
        "tau": 1.0,
        "changed": 0.02232,
        "changed_most": 0.10714,
    }


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    if not MATRICES.is_dir():
        pytest.skip(f"no {MATRICES}")
    path = tmp_path_factory.mktemp("calibration") / "quick.json"
    done = CliRunner().invoke(calibration.main, ["--quick", "-o", str(path)])
    assert done.exit_code == 0, done.output
    return json.loads(path.read_text())


def test_equal_runs_are_rejected_as_often_as_promised(quick):
    rows = [row for row in quick["nulls"] if row["null"] == "exchangeable"]
    assert {row["test"] for row in rows} == set(calibration.PAIRED)
    assert {row["measure"] for row in rows} == set(calibration.SOURCES)
    for row in rows:
        assert row["trials"] == 500
        assert row["share"] <= 2 * row["alpha"], row
        assert row["where"] != "above", row
        if row["alpha"] == 0.05:
            assert row["share"] >= 0.01, row


def test_families_of_equal_runs_are_protected(quick):
    rows = {"t": [], "others": []}
    for row in quick["families"]:
        rows["t" if row["test"] == "t" else "others"].append(row["where"])
    assert "above" not in rows["others"]
    assert set(rows["t"]) == {"above"}  # ten tests at α each


def test_power_grows_with_the_difference_and_the_queries(quick):
    found = {
        (row["measure"], row["test"], row["queries"], row["effect"]): row["share"]
        for part in ("power", "family_power")
        for row in quick[part]
    }
    for (measure, test, queries, effect), share in found.items():
        if effect == 0.1:
            assert share < found[measure, test, queries, 0.8]
        if effect == 0.4 and queries == 25:
            assert share <= found[measure, test, 50, effect] + 0.1


def test_real_runs_are_tested_by_all(quick):
    rows = {row["measure"]: row for row in quick["matrices"]}
    assert set(rows) == {"err20", "ndcg20"}
    for row in rows.values():
        assert row["pairs"] == row["runs"] * (row["runs"] - 1) // 2
        assert set(row["significant"]) == set(calibration.TESTS)
        assert row["tukey_not_bootstrap"] == 0 and row["examples"] == []
        assert row["significant"]["tukey"] <= row["significant"]["t"]
