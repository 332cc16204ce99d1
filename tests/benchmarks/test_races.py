"""The benchmarks run, and refuse to time what does not agree. No time is asserted."""

import json

import numpy as np
import pytest

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
import pgcjax  # noqa: E402
from benchmarks import baselines, inputs, levels, ours, peel  # noqa: E402
from benchmarks import packed as packed_runs  # noqa: E402
from benchmarks.studies import growth, text_readers  # noqa: E402
from pgcjax.datasets.files import demo_folder  # noqa: E402


def numba_is_installed() -> bool:
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.parametrize(("race", "draw"), [(peel, "cyclic"), (levels, "graded")])
def test_rows_agree_and_are_timed(report, tmp_path, capsys, race, draw):
    case = getattr(inputs, draw)(3, 4, 7)
    race.race(report, case, seconds=0.001)
    (found,) = report.races
    rows = {figure["name"]: figure for figure in found["figures"]}
    expected = {
        "published Python",
        "Python, RBO counted",
        "pgcjax",
        "its device part",
        *(["textbook JAX"] if race is peel else []),
        *(["numba, one core"] if numba_is_installed() else []),
    }
    assert set(rows) == expected
    assert found["units"] == 12
    for row in rows.values():
        assert len(row["rounds"]) == 2
        assert set(row["ratios"]) == {"pgcjax", "its device part"}
    out = tmp_path / "out.json"
    report.save(out, harness.facts(["test"]))
    saved = json.loads(out.read_text())
    assert saved["races"] == report.races
    assert saved["machine"]["devices"]
    assert "÷ pgcjax" in capsys.readouterr().out


def test_both_readers_of_text_find_the_same(report):
    text_readers.run(report, queries=3, depth=20)
    rows = [figure["name"] for figure in report.races[0]["figures"]]
    assert rows == ["pyarrow", "polars"]
    twice = b"q Q0 a 1 2.5 r\nq Q0 b 2 1.5 r\nq Q0 a 3 0.5 r\n"
    for read in (text_readers.by_polars, text_readers.by_pyarrow):
        scores, distinct = read(twice)
        assert (scores.tolist(), distinct) == ([2.5, 1.5, 0.5], 2)


def test_a_difference_is_loud(report):
    contenders = [
        harness.Contender("theirs", lambda: np.array([0.5, 0.5]), 2),
        harness.Contender("ours", lambda: np.array([0.5, 0.5 + 1e-9]), 2, ours=True),
    ]
    with pytest.raises(harness.NotEqualError, match="theirs and ours .* up to 1e-09"):
        report.race("a job", contenders, per="score", units=2)
    assert not report.races


def test_growth_fits_exponents(report):
    growth.run(report, {"Q": (2, 4), "N": (4, 8)})
    titles = [table["title"] for table in report.tables]
    assert titles == [f"growth in {x}: µs per (query, run)" for x in "QN"]
    assert report.tables[0]["rows"][-1][0] == "exponent"


def test_both_overlaps_are_one_number():
    run, ideal = ["a", "x", "b", "c"], ["c", "a", "d"]
    expected = baselines.rbo(run, ideal, 0.9, 1000)
    assert baselines.counted_rbo(run, ideal, 0.9, 1000) == pytest.approx(expected)
    weights = baselines.suffix_weights(0.9, 1000)
    assert weights[1] + weights[3] == pytest.approx(expected)


def test_made_up_packed_runs_are_as_if_they_had_been_packed(tmp_path):
    packed, prefs = packed_runs.write(tmp_path, packed_runs.BLOCK + 3, 4, 9)
    runs = pgcjax.files.read_runs(packed).table
    assert runs.groupby(["run_id", "query_id"]).size().eq(9).all()
    scores = pgcjax.evaluate(packed, preferences=prefs, verify=0.1)
    assert len(scores.table) == 4 * (packed_runs.BLOCK + 3)
    pgcjax.files.pack(runs, tmp_path / "again.parquet", preferences=prefs)
    again = pgcjax.evaluate(tmp_path / "again.parquet", preferences=prefs)
    assert scores.table.equals(again.table)


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_replicates_are_raced_and_intervals_counted(report, monkeypatch):
    from benchmarks import ours, replicates
    from benchmarks.studies import judgment_coverage as study
    from pgcjax.datasets.files import demo_folder

    monkeypatch.setattr(replicates, "REPLICATES", 8)
    monkeypatch.setattr(replicates, "FEW", 2)
    runs = sorted((demo_folder() / "runs").iterdir())
    job = ours.Replicated(demo_folder() / "preferences.csv", runs, 8)
    replicates.race(report, "demo", job, 160)
    (found,) = report.races
    assert [f["name"] for f in found["figures"]] == ["one after the other", "pgcjax"]
    monkeypatch.setattr(study, "PANELS", ((2, 5),))
    monkeypatch.setattr(study, "EVERY", 6)
    monkeypatch.setattr(study, "OTHERS", 2)
    monkeypatch.setattr(study, "SIZE", {"queries": 3, "documents": 4, "runs": 2})
    rows = list(study.rows(2, 8))
    assert len(rows) == 4 * 2 * (2 * 4 + 1)
    assert all(0 <= row["held"] <= 1 for row in rows)
    lines = list(study.tables({"coverage": rows}))
    assert sum(line.startswith("| 2 × 5 |") for line in lines) == 8


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_orders_of_ties_are_raced_and_their_ranges_measured(report, monkeypatch):
    from benchmarks import ties
    from benchmarks.studies import ties as study
    from pgcjax.datasets.files import demo_folder

    ties.race(report, inputs.cyclic(3, 4, 7), orders=5)
    (found,) = report.races
    names = ["order by order", "pgcjax", "greedy peel, one order"]
    assert [figure["name"] for figure in found["figures"]] == names
    folder = demo_folder()
    monkeypatch.setattr(study, "COLLECTIONS", {"demo": ("preferences.csv", "runs")})
    rows = {
        "shares": [*study.shares(folder)],
        "widths": [*study.widths(folder, (2, 20))],
        "together": [*study.together(folder, 3)],
        "exact": [*study.exact(folder)],
    }
    few, more = rows["widths"]
    assert few["pairs"] == more["pairs"] == rows["together"][0]["pairs"] == 28
    assert 0 < few["mean"] == more["mean"] < 0.01 < rows["exact"][0]["mean"] < 1
    assert rows["shares"][0]["drawn"] == 0 < rows["shares"][0]["moved"]
    lines = list(study.tables(rows))
    assert sum(line.startswith("| demo |") for line in lines) == 7


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_a_job_of_measures_looks_runs_up_as_evaluate_does():
    demo = demo_folder()
    judgments = {"qrels": demo / "qrels.txt"}
    scores = pgcjax.evaluate(demo / "runs", **judgments, measures="AP", missing="zero")
    files = sorted((demo / "runs").iterdir())
    runs = {path.stem: inputs.plain_run(path) for path in files}
    job = ours.MeasuresJob(["AP"], judgments)
    rankings = job.look_up(ours.canonical_runs(runs))
    (values,) = job.score(rankings)
    table = scores.table.pivot(index="run_id", columns="query_id", values="value")
    assert (values == table.loc[rankings.run_ids].to_numpy()).all()
