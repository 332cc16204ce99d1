"""Tournaments as users play them."""

import json
import sys

import pandas as pd
import pytest

import pgcjax as package

PREFERENCES = ["query_id", "doc_id", "other_doc_id", "preference"]
QRELS = "".join(f"q1 0 d{i} 1\n" for i in range(8)) + "q2 0 x 2\nq2 0 y 1\nq3 0 z 0\n"
PAIRS = 28 + 1
NEXT = (
    "pgcjax ask requests state -o requests.txt, have them answered, and pgcjax ask add "
    "state answers.txt"
)
END = "pgcjax ask finish state -o top.qrels.txt"
JUDGE = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    better = min(request["doc_id"], request["other_doc_id"])
    print(json.dumps({"id": request["id"], "winner": better, "cost": 0.5}), flush=True)
"""


@pytest.fixture
def start(here, pgcjax):
    def started(*more: str) -> None:
        (here / "qrels.txt").write_text(QRELS)
        done = pgcjax("ask", "start", "qrels.txt", "-o", "state", *more)
        assert (done.code, done.out, done.err) == (0, "", f"pgcjax: next: {NEXT}\n")

    return started


def answer(here) -> None:
    """The smaller id is better."""
    rows = (here / "requests.txt").read_text().split("\n")[:-1]
    said = [f"{row} {min(row.split()[1:])}\n" for row in rows]
    (here / "answers.txt").write_text("".join(said))


def test_from_grades_to_grades(here, pgcjax, start):
    start()
    status = (
        "3 queries: 1 decided, 2 in round 1\n"
        "0 answers counted, 0 set aside, 29 missing in the open rounds\n"
        f"next: {NEXT}\n"
    )
    assert pgcjax("ask", "status", "state").out == status
    printed = pgcjax("ask", "requests", "state")
    assert len(printed.out.splitlines()) == PAIRS and printed.err == ""
    done = pgcjax("ask", "requests", "state", "-o", "requests.txt")
    assert done.err == f"pgcjax: wrote {PAIRS} requests to requests.txt\n"
    assert (here / "requests.txt").read_text() == printed.out
    answer(here)
    own = (here / "answers.txt").read_text()
    (here / "answers.txt").write_text(own + "q1 d0 d9 d0\nq7 a b b\nq1 d0 d1 d0\n")
    done = pgcjax("ask", "add", "state", "answers.txt")
    aside = [
        ("30", "q1 d0 d9", "document 'd9' has no grade"),
        ("31", "q7 a b", "query 'q7' has no grades"),
        ("32", "q1 d0 d1", "the query is decided already"),
    ]
    assert (done.code, done.out) == (0, "")
    assert (
        done.err
        == "".join(
            f"pgcjax: warning: answers.txt:{line}: set aside: {pair}: {why}\n"
            for line, pair, why in aside
        )
        + f"pgcjax: {PAIRS} answers counted\npgcjax: next: {END}\n"
    )
    assert pgcjax("ask", "status", "state", "--show", "aside").out == "".join(
        "\t".join([f"answers.txt:{line}", *pair.split(), why]) + "\n"
        for line, pair, why in aside
    )
    done = pgcjax("ask", "add", "state", "answers.txt", "--quiet")
    assert done.err.count("warning") == 3 and "counted" not in done.err
    line = ("ask", "finish", "state", "-o", "top.qrels", "--votes", "votes.txt")
    done = pgcjax(*line)
    assert done.err == (
        f"pgcjax: wrote {PAIRS} votes to votes.txt\n"
        "pgcjax: wrote 11 grades to top.qrels\n"
    )
    top = [f"q1 Q0 d{i} {108 - i}\n" for i in range(5)]
    rest = [f"q1 Q0 d{i} 1\n" for i in range(5, 8)]
    expected = [*top, *rest, "q2 Q0 x 103\n", "q2 Q0 y 1\n", "q3 Q0 z 0\n"]
    assert (here / "top.qrels").read_text() == "".join(expected)
    assert (here / "votes.txt").read_text() == own
    assert pgcjax("ask", "finish", "state").out == "".join(expected)
    # What came out, the other verbs take in.
    done = pgcjax("files", "check", "--prefs", "votes.txt", "--qrels", "top.qrels")
    assert done.code == 0 and f"{PAIRS} judgments" in done.out


def test_tables_in_and_out(here, pgcjax, start):
    """Both orders, by two judges; ties are in tables, and not in lines."""
    start("--sides", "both", "--judges", "2")
    done = pgcjax("ask", "requests", "state", "-o", "requests.csv", "--judge", "me")
    assert done.err == f"pgcjax: wrote {PAIRS * 2} requests to requests.csv\n"
    asked = pd.read_csv(here / "requests.csv")
    assert asked["number"].unique().tolist() == [1]
    for judge in ("me", "you"):
        answers = asked.assign(winner=asked["doc_id"], judge=judge)  # always the first
        answers.to_csv(here / "answers.csv", index=False)
        done = pgcjax("ask", "add", "state", "answers.csv")
        assert done.err.startswith(f"pgcjax: {PAIRS * 2} answers counted\n")
    assert pgcjax("ask", "finish", "state").out.startswith("q1 Q0 d0 104.5\n")
    done = pgcjax("ask", "finish", "state", "--votes", "v.jsonl", "-o", "q.parquet")
    votes = [json.loads(row) for row in (here / "v.jsonl").read_text().splitlines()]
    assert len(votes) == PAIRS * 4 and {v["judge"] for v in votes} == {"me", "you"}
    assert all(v["first"] == v["doc_id"] and v["preference"] == 1 for v in votes)
    assert pgcjax("judgments", "audit", "--prefs", "v.jsonl").code == 0


def test_a_program_judges(here, pgcjax, start):
    start("--infer", "majority")
    (here / "judge.py").write_text(JUDGE)
    line = ("ask", "judge", "state", f"{sys.executable} -S judge.py")
    done = pgcjax(*line, "--most", "3")
    assert done.err == (
        "pgcjax: 3 requests sent, 3 answers counted, cost 1.5\n"
        f"pgcjax: next: pgcjax ask judge state '{line[-1]}'\n"
    )
    done = pgcjax(*line)
    assert done.err.endswith(f"pgcjax: next: {END}\n")
    status = pgcjax("ask", "status", "state").out.splitlines()
    asked = int(status[1].split()[0])
    assert asked < PAIRS
    assert status[2:4] == [
        f"{PAIRS - asked} answers not needed: {PAIRS - asked} as a chain of answers "
        "leads there",
        f"{asked} requests sent to programs, cost {asked / 2:g}",
    ]
    command = f"{sys.executable} -S -c 'import sys; sys.stdin.readline()'"
    start_again = pgcjax("ask", "start", "qrels.txt", "-o", "other")
    assert start_again.code == 0
    done = pgcjax("ask", "judge", "other", command, "--retries", "0")
    assert done.code == 2 and done.err == (
        f"pgcjax: error: {command}: ended with status 0, 16 requests unanswered, 1 "
        "time. Try it on a line of pgcjax ask requests -o FILE.jsonl. It has to write "
        "out each answer at once (in Python print(…, flush=True)).\n"
    )


def test_contradictions(here, pgcjax, start):
    start("--k", "5")
    (here / "a.txt").write_text("q1 d0 d1\nq1 d1 d2\nq1 d2 d0\nq1 d3 d0\n")
    pgcjax("ask", "add", "state", "a.txt")
    done = pgcjax("ask", "status", "state", "--show", "contradictions")
    assert done.out == "q1\td0\td1\nq1\td1\td2\nq1\td2\td0\n"
    assert pgcjax("ask", "status", "state").out.splitlines()[2] == (
        "3 answers contradicted by others: pgcjax ask status state --show "
        "contradictions"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "start qrels.txt -o state",
            "state: holds a tournament already; name another folder, or go on with it: "
            "pgcjax ask status state",
        ),
        (
            "start qrels.txt -o new --k 7 --pairings 7",
            "expected 1 <= k < pairings < final, found k=7, pairings=7, final=9",
        ),
        ("start qrels.txt -o new --judges 0", "judges: expected 1 or more, found 0"),
        (
            "status nowhere",
            "nowhere: holds no tournament. Start one: pgcjax ask start qrels.txt -o "
            "nowhere",
        ),
        ("requests state --at-once 0", "at_once: expected 1 or more, found 0"),
        (
            "finish state",
            "state: at least 29 answers missing. Ask for them, pgcjax ask requests "
            "state; or finish the decided queries, --partial (partial=True in Python)",
        ),
        (
            "add state prefs.txt --rounds",
            "prefs.txt:1: the answers of query 'q1' do not make up a round: document "
            "'a' is not in round 1. Add the answers of whole rounds, one round after "
            "the other; add the rest of a round without --rounds (rounds=True in "
            "Python).",
        ),
        (
            "judge state ./nothing",
            "./nothing: cannot be started: No such file or directory. Give a program "
            "and its arguments: 'python judge.py'.",
        ),
        (
            "requests state -o state/log.jsonl",
            "state/log.jsonl: would overwrite state/log.jsonl, which this call reads; "
            "name another file",
        ),
    ],
)
def test_errors_are_one_line(here, pgcjax, start, line, problem):
    start()
    before = (here / "state/log.jsonl").read_bytes()
    done = pgcjax("ask", *line.split())
    assert (done.code, done.out, done.err) == (2, "", f"pgcjax: error: {problem}\n")
    assert (here / "state/log.jsonl").read_bytes() == before
    assert not (here / "new").exists()


def test_ids_with_blanks_need_a_table(here, pgcjax):
    (here / "q.csv").write_text("query_id,doc_id,relevance\nq1,a b,1\nq1,c,1\n")
    assert pgcjax("ask", "start", "q.csv", "-o", "state").code == 0
    done = pgcjax("ask", "requests", "state")
    assert done.code == 2 and done.err in {
        f"pgcjax: error: 'q1 {pair}': an id holds a blank, or begins a comment: name a "
        "file .csv, .tsv, .jsonl or .parquet\n"
        for pair in ("a b c", "c a b")
    }
    assert pgcjax("ask", "requests", "state", "-o", "r.tsv").code == 0
    (here / "tie.csv").write_text(
        "query_id,doc_id,other_doc_id,preference\nq1,a b,c,0\n"
    )
    assert pgcjax("ask", "add", "state", "tie.csv").code == 0
    done = pgcjax("ask", "finish", "state", "--votes", "votes.txt")
    assert done.err == (
        "pgcjax: error: votes hold ties or bad documents, which clarke cannot "
        "express: write jelsas, or name a file .csv, .tsv, .jsonl or .parquet\n"
    )


def test_votes_in_lines_are_read_back(here, pgcjax):
    """Each format that has them; Jelsas' has ties and bad documents."""
    rows = ["q1 a b 1", "q1 c a 1", "q1 b c -1", "q1 a d 0", "q1 d b 0", "q1 c d 1"]
    (here / "q.txt").write_text("".join(f"q1 0 {d} 1\n" for d in "abcd"))
    for name, kept in (("bad", rows), ("strict", rows[:3])):
        assert pgcjax("ask", "start", "q.txt", "-o", name, "--bad").code == 0
        (here / "votes.csv").write_text(
            "query_id,doc_id,other_doc_id,preference\n"
            + "".join(f"{row.replace(' ', ',')}\n" for row in kept[::-1])
        )
        assert pgcjax("ask", "add", name, "votes.csv").code == 0
    (here / "d.txt").write_text("q1 a b -1\nq1 d NA -2\nq1 c a -1\nq1 b c 1\n")
    assert pgcjax("ask", "start", "q.txt", "-o", "four", "--bad").code == 0
    assert pgcjax("ask", "add", "four", "d.txt").code == 0
    for name, form in (
        ("strict", "clarke"),
        ("strict", "luo"),
        ("bad", "jelsas"),
        ("four", "jelsas"),
    ):
        line = ("ask", "finish", name, "--partial", "--votes", f"votes.{form}")
        assert pgcjax(*line).code == 0
        read = package.files.read_preferences(here / f"votes.{form}")
        votes = package.ask.Tournament(here / name).finish(partial=True).votes
        signs = {tuple(sorted(map(str, v[1:3]))): v for v in votes.values.tolist()}
        assert len(read) == len(signs) == {"strict": 3, "bad": 6, "four": 4}[name]
        for _, doc, other, sign in read[PREFERENCES].values.tolist():
            own = signs[tuple(sorted(map(str, (doc, other))))]
            assert sign == (own[3] if doc == own[1] else -own[3])


@pytest.mark.parametrize(
    ("text", "rules"), [("9", (9, 11)), ("9,20", (9, 20)), (",12", (7, 12))]
)
def test_pairings_and_the_final_are_one_option(pgcjax, here, text, rules):
    done = pgcjax("ask", "start", "qrels.txt", "-o", "state", "--pairings", text)
    settings = package.ask.Tournament(here / "state").settings.rules
    assert done.code == 0 and (settings.pairings, settings.final) == rules
    wrong = pgcjax("ask", "start", "qrels.txt", "-o", "x", "--pairings", "7,8,9")
    assert wrong.err == "pgcjax: error: --pairings 7,8,9: expected P[,F]\n"
