"""The page of a gate: its decision, its queries, and documents that explain them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.reporting.gate_page import page_of
from pgcjax.reporting.page import Picture, Table

DEMO = demo_folder()
LINE = ["--prefs", str(DEMO / "preferences.csv"), "--margin", "0.05"]


def decided(claim: str = "not-worse") -> pgcjax.stats.gates.GateDecision:
    """A gate by two measures, of 12 queries: 4 are lost, 5 won and 3 equal."""
    d = np.array([-0.5, -0.2, -0.1, -0.05, 0, 0, 0, 0.01, 0.02, 0.03, 0.3, 0.1])
    ids = [f"q{i:02}" for i in range(12)]
    rows = [
        pd.DataFrame({"run_id": run, "query_id": ids, "measure": m, "value": 0.5 + x})
        for m, by in (("AP", 1.0), ("RR", -1.0))
        for run, x in (("old", 0 * d), ("new", by * d))
    ]
    settings = {"margin": 0.05, "claim": claim}
    return pgcjax.gate(pd.concat(rows), "new", "old", **settings)


@pytest.mark.parametrize(
    ("claim", "borders"),
    [("not-worse", [-0.05]), ("better", [0]), ("equivalent", [-0.05, 0.05])],
)
def test_the_figure_has_the_interval_and_the_borders_of_the_claim(claim, borders):
    decision = decided(claim)
    axes = decision.plot().axes[0]
    drawn = [x for line in axes.lines for x in np.unique(line.get_xdata()).tolist()]
    for border in borders:
        assert border in drawn
    (ends,) = axes.collections
    expected = decision.table[["low", "high"]].to_numpy()
    assert np.array(ends.get_segments())[:, :, 0] == pytest.approx(expected)


def test_the_page_has_the_queries_that_decide():
    decision = decided()
    page = page_of(decision)
    assert page.sections[0].parts[0] == decision.why + "."
    ap, rr = (s for s in page.sections if s.title.startswith("Queries"))
    assert "worse on 4 queries, better on 5, equal on 3" in ap.parts[0]
    assert "worse on 5 queries, better on 4, equal on 3" in rr.parts[0]
    worse, better = (part for part in ap.parts if isinstance(part, Table))
    assert [row[0] for row in worse.rows] == ["q00", "q01", "q02", "q03"]
    assert [row[0] for row in better.rows] == ["q10", "q11", "q09", "q08", "q07"]
    (bars,) = (part for part in rr.parts if isinstance(part, Picture))
    heights = [bar.get_height() for bar in bars.figure.axes[0].patches]
    rows = decision.queries.query("measure == 'RR'")
    assert heights == rows["difference"].tolist() == sorted(heights)
    assert "pgcjax explain RUN…" in page.sections[-1].parts[0]


def gate(*line: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["gate", *line])
    return done.value.code


def test_two_runs_and_judgments_are_enough(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    elder, rose = (str(DEMO / "runs" / f"{name}.txt") for name in ("elder", "rose"))
    line = [*LINE[:2], "--margin", "0.02", "-o", "why.md", "-o", "d.json"]
    assert gate(elder, "--against", rose, *line) == 4
    printed = capsys.readouterr()
    page = Path("why.md").read_text(encoding="utf-8")
    decided = json.loads(Path("d.json").read_text(encoding="utf-8"))
    scores = pgcjax.evaluate([elder, rose], preferences=LINE[1])
    expected = pgcjax.gate(scores, "elder", "rose", margin=0.02)
    assert decided["pgcjax"]["why"] == expected.why
    assert expected.why in printed.err and f"\n{expected.why}.\n" in page
    explained = re.findall(r"## Query (\S+): (\S+) by PGC", page)
    worst = expected.queries[:3]
    assert [query for query, _ in explained[:3]] == worst["query_id"].tolist()
    found = scores.explain("elder", explained[1][0], other="rose").table
    rows = page.split("## Query")[2].split("| doc")[1].splitlines()[2:12]
    assert [row.split(" | ")[0][2:] for row in rows] == found["doc_id"][:10].tolist()
    assert float(explained[1][1]) == pytest.approx(found["difference"].sum(), abs=1e-4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["runs", "--against", "runs/oak.txt", *LINE], "expected one run, found 8"),
        (["runs/oak.txt", "runs/elm.txt", "--against", "x", *LINE], "give one run and"),
        (["qrels.txt", "--against", "x", "--margin", "1"], "Missing option '--run'"),
        (["qrels.txt", "--against", "x", *LINE[2:], "-o", "why.pdf"], "why.pdf"),
    ],
)
def test_wrong_calls_are_named(line, message, monkeypatch, capsys):
    monkeypatch.chdir(DEMO)
    assert gate(*line) in (1, 2)
    assert message in capsys.readouterr().err


def test_files_of_runs_with_one_name(tmp_path, monkeypatch, capsys):
    rose = DEMO / "runs" / "rose.txt"
    (tmp_path / "rose.txt").write_bytes(rose.read_bytes())
    assert gate(str(tmp_path / "rose.txt"), "--against", str(rose), *LINE) == 0
    assert f"{tmp_path}/rose.txt is not worse than {rose}" in capsys.readouterr().err
