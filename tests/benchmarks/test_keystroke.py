"""Commands are raced as processes, which the test only pretends to start."""

import pytest

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import keystroke  # noqa: E402


def test_commands_are_raced_and_their_means_compared(monkeypatch, capsys, tmp_path):
    started = []

    def child(*arguments, **variables):
        name = arguments[arguments.index("-m") + 1] if "-m" in arguments else ""
        started.append((name, variables))
        means = ("nDCG@10\t{}0.5000\n", "AP\t{}0.2500\n")
        if name == "ir_measures":
            return "".join(means[::-1]).format("", "")
        return "# pgcjax {}\n" + "".join(means).format("all\t", "all\t")

    monkeypatch.setattr(keystroke, "child", child)
    report = harness.Report(rounds=2)
    keystroke.run(report, tmp_path, queries=2, depth=5)
    (race,), (table,) = report.races, report.tables
    names = [figure["name"] for figure in race["figures"]]
    assert names == [row[0] for row in table["rows"]]
    assert names == [
        *("ir_measures", "pgcjax"),
        *("pgcjax, the first call ever", "pgcjax, PGC and Compat"),
        *("JAX and polars alone", "before", "before, the first call ever"),
        "before, PGC and Compat",
    ]
    assert all(set(figure["ratios"]) == {"pgcjax"} for figure in race["figures"])
    assert "÷ ir_measures" in capsys.readouterr().out
    for here in (True, False):
        folders = [
            variables["XDG_CACHE_HOME"]
            for name, variables in started
            if name == "pgcjax" and here == (variables.get("PYTHONPATH") != tmp_path)
        ]
        assert len(folders) == 4 * 3
        assert len(set(folders)) == 1 + 4  # each first call's own
    monkeypatch.setattr(keystroke, "child", lambda *_, **v: f"nDCG@10\t{len(v)}\nAP\t1")
    with pytest.raises(harness.NotEqualError, match="do not compute the same"):
        keystroke.run(report, queries=2, depth=5)
