"""report, as users call it."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder
from pgcjax.stats.judge_orders import Board, JudgeOrders

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
FLIPPED = [(0, "ann"), (1, "bob")]  # whose orders of two runs are opposite
FAST = ["--test", "t"]


def test_from_scores_of_evaluate_to_a_page(pgcjax, here):
    judged = ["--prefs", str(DEMO / "preferences.csv")]
    judged += ["--qrels", str(DEMO / "qrels.txt"), "-m", "PGC", "-m", "nDCG@10"]
    done = pgcjax("evaluate", *judged, "-o", "scores.csv", str(DEMO / "runs"))
    assert done.code == 0, done.err
    beside = [*judged[:4], "--runs", str(DEMO / "runs")]
    line = ["report", "scores.csv", "-o", "page.html", *FAST, *beside, "--why", "4"]
    done = pgcjax(*line)
    assert (done.code, done.out) == (0, ""), done.err
    assert done.err.splitlines()[-1] == "pgcjax: wrote page.html"
    text = (here / "page.html").read_text("utf-8")
    assert "<title>scores.csv</title>" in text and text.endswith("</html>\n")
    for run, mean in package.files.read_scores("scores.csv").mean()["PGC"].items():
        assert f'<td>{run}</td><td class="number">{mean:.4f}</td>' in text
    assert "<dt>scores, order</dt><dd>trec</dd>" in text
    found = re.search(r'id="data">(.*)</script>', text)
    data = json.loads(found[1] if found else "")
    assert data["judged"]["runs"] == [*range(8)]
    assert data["why"]["notes"] == ["", ""]
    asked = shlex.split(data["why"]["command"])
    assert asked[:2] == ["pgcjax", "explain"]
    done = pgcjax(*asked[1:], "--run-id", "oak", "--query", "q101", "-m", "PGC")
    assert done.code == 0 and "oak, q101: PGC 0." in done.err
    Path("topics.tsv").write_text("q101\twhy is the sky blue\n", encoding="utf-8")
    Path("texts.jsonl").write_text(
        '{"_id": "d-101-29", "title": "Sky", "text": "<b>"}', encoding="utf-8"
    )
    line[-2:] = ["--why", "0", "--topics", "topics.tsv", "--texts", "texts.jsonl"]
    line[3] = "p.html"
    done = pgcjax(*line)
    assert done.code == 0, done.err
    plain = json.loads(
        re.findall(
            r'id="data">(.*)</script>', Path("p.html").read_text(encoding="utf-8")
        )[0]
    )
    assert plain["topics"]["ids"]["kind"] == plain["texts"]["texts"]["kind"] == "text"
    assert len(plain["why"]["cells"]["zip"]) < len(data["why"]["cells"]["zip"])


def test_markdown_and_figures_replace_older_ones(pgcjax, here, scores):
    boards = {j: {"keep": Board(["q1"], np.eye(2)[i, :, None])} for i, j in FLIPPED}
    about = {"measure": "PGC", "flips": "keep"}
    JudgeOrders(about, run_ids=["x", "y"], boards=boards, flipped={}).save("judges.csv")
    line = ["report", scores, "-o", "page.md", *FAST]
    line += ["--judges", "judges.csv"]
    line += ["--figures", "png", "--figures", "pdf=new/figures"]
    done = pgcjax(*line, "--title", "Mine", "-m", "Compat")
    assert done.code == 0, done.err
    lines = done.err.splitlines()
    assert lines[-3:] == [
        "pgcjax: wrote page.md",
        "pgcjax: wrote 2 figures to page-figures",
        "pgcjax: wrote 2 figures to new/figures",
    ]
    first = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    names = ["leaderboard-1", "differences-1"]
    for name in names:
        assert first[here / "page-figures" / f"{name}.svg"].startswith(b"<?xml")
        pdf = first[here / f"new/figures/{name}.pdf"]
        png = first[here / f"page-figures/{name}.png"]
        wide = 3.3  # inches: points in .pdf, 600 pixels each in .png
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", pdf)
        assert box and float(box[1]) == pytest.approx(72 * wide)
        assert int.from_bytes(png[16:20]) == 600 * wide
    text = (here / "page.md").read_text()
    assert text.startswith("# Mine\n")
    judges = text[text.index("## Judges against each other") :]
    assert "| ann | bob | tau | -1.0000 | — | — | 2 | 1 | 1 | 0 | 0 |" in judges
    assert "| ann | bob | x | y | 1.0000 | -1.0000 | — | — | no | no |" in judges
    (here / "page.md").write_text("older")
    assert pgcjax(*line, "--title", "Mine", "-m", "Compat").code == 0
    again = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert again == first


@pytest.mark.usefixtures("undrawn")
def test_several_files_are_several_measures(pgcjax, here, demo_scores):
    for measure in demo_scores.measures:
        wide = demo_scores.matrix(measure).T
        wide.to_csv(f"{measure}.tsv", sep="\t")
    done = pgcjax("report", "PGC.tsv", "Compat.tsv", "-o", "page.md", *FAST)
    assert done.code == 0, done.err
    text = (here / "page.md").read_text()
    assert text.startswith("# PGC.tsv, Compat.tsv\n")
    assert "## Runs by PGC\n" in text and "## Measures compared\n" in text


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("form", ["wide", "long", "metric", "trec"])
def test_one_file_of_another_tool(pgcjax, here, demo_scores, form):
    wide = demo_scores.matrix("PGC")
    if form == "trec":
        name = str(demo_scores.save("them.trec"))
    else:
        name = "them.csv"
        long = wide.stack().rename("score").reset_index()
        table = {
            "wide": wide.T.reset_index(),
            "long": long.rename(columns={"run_id": "system", "query_id": "topic"}),
            "metric": long.assign(metric="PGC"),
        }[form]
        table.to_csv(name, index=False)
    done = pgcjax("report", name, "-o", "page.md", *FAST)
    assert done.code == 0, done.err
    text = (here / "page.md").read_text()
    assert f"## Runs by {'them' if form in ('wide', 'long') else 'PGC'}\n" in text
    for run, mean in wide.mean(axis=1).items():
        assert f" | {run} | {mean:.4f} | " in text


@pytest.mark.usefixtures("undrawn")
def test_help_of_what_a_run_lacks(pgcjax, here, demo_scores):
    demo_scores.table.iloc[1:].to_csv("gap.csv", index=False)
    gap = str(demo_scores.table.iloc[0]["measure"])
    line = ["report", "gap.csv", "-m", gap, *FAST, "-o"]
    done = pgcjax(*line, "page.md")
    assert (done.code, done.out) == (2, "") and len(done.err.splitlines()) == 1
    assert "has no score for query" in done.err and "drop or zero" in done.err
    assert not (here / "page.md").exists()
    assert pgcjax(*line, "p.md", "--missing", "drop").code == 0
    assert "\n- missing: drop\n" in (here / "p.md").read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scores.parquet", "Missing option '-o' / '--output'."),
        ("-o page.md", "Missing argument 'SCORES…', or --prefs FILE."),
        ("none.csv -o page.md", "none.csv: cannot read it: No such file or directory"),
        (
            "scores.parquet -o page.pdf",
            "page.pdf: the suffix of an output file is one ",
        ),
        ("scores.parquet -o no/page.md", "no/page.md: cannot write there: No such f"),
        ("scores.parquet -o p.md -m map", "no scores of 'map'; there are PGC, Compat"),
        ("scores.parquet -o p.md --alpha 5", "alpha=5.0: expected a level between 0"),
        ("scores.parquet -o p.md --top 0", "the table of queries shows 1 run or more"),
        ("scores.parquet -o p.md --resamples 3", "resamples=3: no p can be below 0.05"),
        ("scores.parquet -o p.md --figures pdf=run.txt", "run.txt: is no folder"),
        ("x -o p.md --figures gif", "--figures gif: expected one of pdf, svg, png"),
        ("one.csv -o p.md", "scores: holds 1 run to compare. At least 2 runs and 2 "),
        ("query.csv -o p.md", "scores: holds 1 query to compare. At least 2 runs and "),
        ("bad.csv -o p.md", "bad.csv:3: "),
        ("a/s.csv b/s.csv -o p.md", "two files of scores are called s: rename one"),
        ("scores.parquet -o p.md --qrels qrels.txt", "--qrels is shown in .html only"),
        (
            "scores.parquet -o p.html --runs run.txt",
            "--runs needs the judgments, too: ",
        ),
        (
            "scores.parquet -o p.html --texts t.tsv",
            "--texts needs judgments of these documents: ",
        ),
        ("scores.parquet -o p.md --topics t.tsv", "--topics is shown in .html only"),
        ("scores.parquet -o p.html --why 5", "--why needs --runs RUN"),
        (
            "scores.parquet -o p.html --qrels qrels.txt --runs run.txt --why -1",
            "--why -1: expected a number of scores, 0 or more",
        ),
        ("scores.parquet -o p.html --prefs-format luo", "--prefs-format needs --prefs"),
        (
            "scores.parquet -o p.html --prefs prefs.txt",
            "judgments: are for queries q1, q2; scores are for q101, q102, q103, …. ",
        ),
        ("scores.parquet -o p.html --prefs no.txt", "no.txt: no such file or folder"),
        ("prefs.txt -o p.md", "prefs.txt:2: expected a finite number as score"),
    ],
)
def test_mistakes(pgcjax, here, scores, demo_scores, line, said):
    table = demo_scores.table
    table[table["run_id"] == "oak"].to_csv("one.csv", index=False)
    table[table["query_id"] == "q101"].to_csv("query.csv", index=False)
    rows = ["run_id,query_id,measure,value", "a,q,PGC,0.5", "b,q,PGC,much"]
    (here / "bad.csv").write_text("\n".join(rows))
    before = sorted(here.rglob("*"))
    done = pgcjax("report", *line.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"pgcjax: error: {said}"), done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(here.rglob("*")) == before


def test_what_to_install_is_said_before_work_is_done(pgcjax, here, scores, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = pgcjax("report", "never-read.csv", "-o", "page.md")
    assert (done.code, done.out) == (2, "")
    said = "figures need matplotlib: pip install 'pgcjax[plots]'"
    assert done.err == f"pgcjax: error: {said}\n"
    # It draws for Markdown, and no page to explore.
    assert pgcjax("report", scores, "-o", "page.html", *FAST).code == 0


def test_odd_names_of_runs_and_of_the_page(pgcjax, here, demo_scores):
    table = demo_scores.table.replace({"run_id": {"oak": "<b>|*x*", "ash": "$5_off$"}})
    pd.DataFrame(table).to_csv("odd.csv", index=False)
    shutil.copy("odd.csv", "<i>.csv")
    for page in ("page.html", "page.md"):
        done = pgcjax("report", "<i>.csv", "-o", page, *FAST, "-m", "PGC")
        assert done.code == 0, done.err
    html = (here / "page.html").read_text()
    assert "&lt;b&gt;|*x*" in html and "\\u003cb\\u003e|*x*" in html
    assert "<b>" not in html and "<i>" not in html
    text = (here / "page.md").read_text()
    assert "\\<b\\>\\|\\*x\\*" in text and "<" not in text.replace("\\<", "")
