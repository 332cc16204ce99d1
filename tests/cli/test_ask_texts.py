"""Judges, people and programs, are shown what queries ask and documents say."""

import json
import sys

import pandas as pd
import pytest

QRELS = "q1 0 d1 1\nq1 0 d2 1\nq2 0 d3 1\nq2 0 d4 1\nq2 0 x 0\n"
HOSTILE = "<b>\x1b[1m&</b>\nnext"
SAYING = {"d1": "tie", "d2": HOSTILE, "d3": "three", "d9": "nobody asks"}
JUDGE = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    print(line, end="", file=open("seen.jsonl", "a"))
    print(json.dumps({"id": request["id"], "preference": 1}), flush=True)
"""


@pytest.fixture
def state(here, pgcjax):
    (here / "qrels.txt").write_text(QRELS)
    (here / "topics.txt").write_text("<top><num> q1 <title> A & &lt;b>?</top>")
    rows = [json.dumps({"_id": d, "text": text}) for d, text in SAYING.items()]
    (here / "corpus.jsonl").write_text("\n".join(rows))
    assert pgcjax("ask", "start", "qrels.txt", "-o", "state").code == 0
    return "state", "--topics", "topics.txt", "--texts", "corpus.jsonl"


def test_requests_have_texts(here, pgcjax, state):
    for name, read in (("r.csv", pd.read_csv), ("r.parquet", pd.read_parquet)):
        done = pgcjax("ask", "requests", *state, "-o", name)
        assert (done.code, done.out) == (0, "")
        assert done.err == (
            "pgcjax: warning: topics.txt: has no text of 1 query, q2\n"
            "pgcjax: warning: corpus.jsonl: has no text of 1 document, d4\n"
            f"pgcjax: wrote 2 requests to {name}\n"
        )
        table = read(here / name).set_index("query_id")
        assert table.loc["q1", "query_text"] == "A & <b>?"
        shown = {}
        for row in table.to_dict("records"):
            shown[row["doc_id"]] = row["doc_text"]
            shown[row["other_doc_id"]] = row["other_doc_text"]
        assert table["query_text"].isna().to_dict() == {"q1": False, "q2": True}
        assert pd.isna(shown.pop("d4"))
        assert shown == {"d1": "tie", "d2": "<b>\\x1b[1m&</b>\nnext", "d3": "three"}
    answered = pd.read_csv(here / "r.csv").assign(winner="tie")  # texts are no answers
    answered.drop(columns="judge").to_csv(here / "answers.csv", index=False)
    done = pgcjax("ask", "add", "state", "answers.csv")
    assert done.err.startswith("pgcjax: 2 answers counted\n")


def test_a_program_is_shown_texts(here, pgcjax, state):
    (here / "judge.py").write_text(JUDGE)
    command = f"'{sys.executable}' judge.py"
    call = ("ask", "judge", *state, command, "--most", "1")
    assert pgcjax(*call).code == 0
    (seen,) = map(json.loads, (here / "seen.jsonl").read_text().splitlines())
    assert seen["query_text"] == "A & <b>?"
    said = {seen["doc_id"]: seen["doc_text"]}
    said[seen["other_doc_id"]] = seen["other_doc_text"]
    assert said == {"d1": "tie", "d2": HOSTILE}
    following = pgcjax("ask", "status", "state").out.splitlines()[-1]
    assert following.endswith(" --topics topics.txt --texts corpus.jsonl")
    assert pgcjax(*call[:3], *call[5:-2]).code == 0  # no topics; d4 has no text
    seen = json.loads((here / "seen.jsonl").read_text().splitlines()[-1])
    d3 = {"d3": "doc_text", "d4": "other_doc_text"}[seen["doc_id"]]
    assert {name: seen[name] for name in seen if "_text" in name} == {d3: "three"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "--topics and --texts need -o FILE with one of these suffixes: .csv "),
        ("-o corpus.jsonl", "corpus.jsonl: would overwrite corpus.jsonl, which t"),
        ("-o r.csv --texts no", "no: no such file or folder. Check the path."),
        ("-o r.csv --texts qrels.txt", "qrels.txt:1: expected lines of id<TAB>te"),
    ],
)
def test_wrong_texts_are_one_line(here, pgcjax, state, more, message):
    before = sorted(here.iterdir())
    done = pgcjax("ask", "requests", *state, *more.split())
    assert (done.code, done.out, sorted(here.iterdir())) == (2, "", before)
    last = done.err.splitlines()[-1]
    assert last.startswith(f"pgcjax: error: {message}")
