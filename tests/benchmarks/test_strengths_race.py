"""Strengths of many queries: rows of the race agree; what is absent is said."""

import numpy as np
import pytest

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import strengths  # noqa: E402


def test_rows_agree_and_absent_libraries_are_said(monkeypatch):
    said = []
    report = harness.Report(rounds=1)
    monkeypatch.setattr(report, "say", said.append)
    strengths.run(report, queries=4, items=5, each=80)
    (race,) = report.races
    rows = [figure["name"] for figure in race["figures"]]
    assert rows[0] == "pgcjax.judgments.fit, table and errors included"
    assert rows[-1] == "scipy, BFGS" and race["units"] == 4
    assert len(rows) + len(said) == 4
    with pytest.raises(harness.NotEqualError):
        monkeypatch.setattr(strengths, "_scipy", lambda *given: np.zeros(5))
        strengths.run(report, queries=4, items=5, each=80)
