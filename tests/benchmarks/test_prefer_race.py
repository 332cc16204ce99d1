"""Preferences between rankings: rows of the race agree; the page has the study's."""

import json

import pytest
from click.testing import CliRunner

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import prefer  # noqa: E402
from benchmarks.studies import between_rankings as study  # noqa: E402

RESULTS = harness.ROOT / "benchmarks" / "results" / "between-rankings-cpu.json"


def test_rows_agree_and_a_large_job_is_measured(monkeypatch):
    monkeypatch.setattr(prefer, "child", lambda *call: f"1.5 1.2 {len(call)} 300")
    report = harness.Report(rounds=1)
    prefer.run(report, runs=4, queries=3, depth=60, large=(5, 2, 16))
    (race,) = report.races
    rows = [figure["name"] for figure in race["figures"]]
    assert rows == ["Python, pair by pair", "pgcjax", "with reading and table"]
    assert race["units"] == 7 * 6 * 3
    alone, large = report.tables
    assert 0 < alone["rows"][0][1]
    assert large["rows"] == [[4, 1.5, 1.2, 300.0]]


def test_the_page_has_the_tables_of_the_committed_study(tmp_path):
    drawn = tmp_path / "drawn.svg"
    asked = ["--tables", str(RESULTS), "--figure", str(drawn)]
    done = CliRunner().invoke(study.main, asked)
    assert done.exit_code == 0, done.output
    page = (harness.ROOT / "docs/preferences-between-rankings.md").read_text()
    for table in done.output.strip().split("\n\n")[1::2]:
        assert table in page, "make it by benchmarks.studies.between_rankings --tables"
    assert len(done.output.strip().split("\n\n")) == 4
    kept = harness.ROOT / "docs/pictures/between-rankings.svg"
    assert drawn.read_bytes() == kept.read_bytes()


def test_the_study_counts_of_public_runs(data, monkeypatch):
    some = {"web2012": ("nDCG@20", "lexirecall(subtopics=covered)")}
    monkeypatch.setattr(study, "COLLECTIONS", some)
    made = study.rows(data, 20)
    kept = json.loads(RESULTS.read_text())["power"]
    for row in made["power"]:
        (known,) = [r for r in kept if r["measure"] == row["measure"]]
        assert row == known
    assert [row["topics"] for row in made["halves"]] == 2 * [*study.SIZES]
