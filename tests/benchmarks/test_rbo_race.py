"""The benchmark of RBO runs, and all its rows compute the same. No time is asserted."""

import pytest
from helpers import processes

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import rbo  # noqa: E402


@pytest.mark.slow
def test_rows_agree_and_a_large_job_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(rbo, "child", processes.module)
    report = harness.Report(rounds=1)
    rbo.run(report, runs=4, queries=2, depth=20, large=(3, 2), alone=("w",))
    rows = [[figure["name"] for figure in race["figures"]] for race in report.races]
    ours = ["pgcjax", "with reading and table"]
    assert rows == [
        ["plain twin", "Python, overlap counted", *ours],
        ["plain twin", *ours],
        ["plain twin", *ours],
    ]
    (table,) = report.tables
    assert [row[:2] for row in table["rows"]] == [["w", 6]]
    assert "÷ pgcjax" in capsys.readouterr().out
