"""A small page is written by the commands of users, and opened once."""

import shutil

import pytest
from helpers import processes

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import page  # noqa: E402


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")
def test_a_page_is_written_and_opened(monkeypatch):
    pytest.importorskip("playwright")
    monkeypatch.setattr(page, "child", processes.module)
    report = harness.Report(rounds=1)
    page.run(report, None, (4, 3, 6))
    ((title, size, painted, whole),) = report.tables[0]["rows"]
    assert title == "made up, 4 runs × 3 queries" and 0.1 < size < 1
    assert 0 < painted <= whole
