"""`pgcjax explain`: what it prints and writes is what `pgcjax.explain` returns."""

import json

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder

RUNS, PREFS = str(demo_folder() / "runs"), str(demo_folder() / "preferences.csv")
QRELS = str(demo_folder() / "qrels.txt")
pytestmark = pytest.mark.filterwarnings("ignore:.*judged queries are missing in 1 run")
LINE = ("explain", "--prefs", PREFS, RUNS, "--run-id", "rose")


def rows(text):
    return [line.split("\t") for line in text.splitlines()]


def test_documents_of_a_query(pgcjax, here):
    done = pgcjax(*LINE, "--query", "q115", "-o", "rose.csv")
    assert done.code == 0, done.err
    explained = package.explain(RUNS, "q115", run_id="rose", preferences=PREFS)
    head, *lines = rows(done.out)
    assert head == [*explained.table]
    judged = explained.table[explained.table["ideal_rank"].notna()]
    assert [line[0] for line in lines] == judged["doc_id"].tolist()
    assert [line[4] for line in lines] == [f"{x:.4f}" for x in judged["adds"]]
    assert lines[-1][1] == "" and lines[-1][2] == "20"  # a document that it lacks
    assert f"rose, q115: PGC {explained.score:.4f} of 0.8534" in done.err
    assert "7 documents of the run, which add nothing, are not printed" in done.err
    table = pd.read_csv(here / "rose.csv", comment="#", keep_default_na=False)
    assert table["adds"].tolist() == explained.table["adds"].tolist()
    assert table["rank"].astype(str).tolist()[:3] == ["1", "2", "3"]
    first = (here / "rose.csv").read_text().splitlines()[0]
    about = json.loads(first.removeprefix("# pgcjax "))
    assert about["query_id"] == "q115" and about["measure"].startswith("PGC(p=0.95")


@pytest.mark.parametrize(
    ("show", "columns"),
    [
        ("steps", "step doc_id ideal_rank rule decided_by candidates"),
        ("votes", "doc_id other_doc_id votes votes_against judges conflicts kept"),
        ("depths", "depth overlap adds"),
        ("judgments", "query_id doc_id other_doc_id votes votes_against judges change"),
    ],
)
def test_what_else_is_shown(pgcjax, show, columns):
    done = pgcjax(*LINE, "--query", "q115", "--show", show, "--top", "4")
    assert done.code == 0, done.err
    head, *lines = rows(done.out)
    assert head == columns.split() and len(lines) == 4


def test_a_difference_and_all_queries(pgcjax):
    done = pgcjax(*LINE, "--other", "alder", "--format", "csv")
    assert done.code == 0, done.err
    explained = package.explain(RUNS, run_id="rose", other="alder", preferences=PREFS)
    assert f"rose - alder: {explained.difference:.4f} by PGC" in done.err
    assert ", ".join(explained.decisive) in done.err
    printed = [line.split(",") for line in done.out.splitlines()[2:]]
    assert [float(x) for *_, x in printed] == explained.table["difference"].tolist()
    done = pgcjax(*LINE, "--top", "2")
    assert done.out.startswith("query_id\tscore\tideal_score\tloss\n")
    assert len(done.out.splitlines()) == 3


def test_texts_are_shown_on_one_line(pgcjax, here):
    votes = pd.read_csv(PREFS)
    docs = sorted({*votes["doc_id"], *votes["other_doc_id"]})
    lines = [f'{{"_id": "{doc}", "text": "{doc} {"says " * 30}"}}' for doc in docs]
    (here / "docs.jsonl").write_text("\n".join(lines))
    (here / "topics.tsv").write_text("q115\twhat is it\n")
    texts = ["--texts", "docs.jsonl", "--topics", "topics.tsv"]
    done = pgcjax(*LINE, "--query", "q115", "--show", "votes", "--top", "2", *texts)
    assert done.code == 0, done.err
    head, line, _ = rows(done.out)
    assert head[-2:] == ["doc_text", "other_doc_text"] and len(line[-1]) <= 80
    assert line[-1].startswith(f"{line[1]} says") and "q115: what is it" in done.err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--top", "0"], "--top 0: expected a number of rows, 1 or more"),
        (["-m", "PGC,Compat"], "explain takes one measure, not 2"),
        (["--show", "steps"], "--show steps needs one run and --query ID"),
        (
            ["--qrels", QRELS, "-m", "AP", "--show", "judgments"],
            "AP: turning judgments round works with PGC of preferences alone",
        ),
        (["--query", "no"], "query 'no' is not judged; there are q101, q102"),
        (["--other", "no.txt"], "there is no run 'no.txt'; there are alder"),
    ],
)
def test_wrong_use_is_one_line(pgcjax, more, text):
    done = pgcjax(*LINE, *more)
    assert done.code == 2 and text in done.err and "Traceback" not in done.err
    assert not done.out
