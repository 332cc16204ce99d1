"""Tables of votes on the command line: what columns mean, and both orders."""

import json

import pytest

VOTES = """model_a,model_b,winner,who
d1,d2,model_a,gpt
d2,d1,model_a,gpt
d1,d3,model_a,gpt
d3,d1,tie,gpt
d2,d3,model_a,gpt
d3,d2,model_b,gpt
d1,d3,,gpt
"""
RUN = "comparisons Q0 d2 1 2 one\ncomparisons Q0 d1 2 1 one\n"


@pytest.fixture
def votes(here):
    (here / "votes.csv").write_text(VOTES)
    (here / "one.run").write_text(RUN)
    return here


def test_check_counts_double_votes(pgcjax, votes):
    done = pgcjax(
        "files", "check", "--columns", "query_id=-,judge=who", "--prefs", "votes.csv"
    )
    assert done.code == 0, done.err
    assert done.out.split("\n") == [
        "preferences: 1 query, 6 judgments of 3 documents",
        "preferences: 1 repeated judgment, 1 conflicting pair: all count",
        "preferences: 1 tie: no edge",
        "preferences: 1 judge",
        "preferences: 3 pairs judged in both orders: 1 agreeing, 1 half tied, 1 "
        "flipped (1 to the one shown first, 0 to the second): all count (--flips)",
        "preferences: 1 vote without an answer: left out",
        "",
    ]


def test_flips_of_every_verb(pgcjax, votes):
    """Of d2 and d1 the model prefers what it sees first: a tie, if it is settled."""
    scored = {}
    prefs = ["--prefs", "votes.csv", "--columns", "query_id=-,judge=who"]
    for flips in ("keep", "tie", "drop", "half"):
        line = ["evaluate", *prefs, "--flips", flips, "--verify", "1"]
        done = pgcjax(*line, "-m", "PGC", "-o", f"{flips}.jsonl", "one.run")
        assert done.code == 0, done.err
        head, *rows = (votes / f"{flips}.jsonl").read_text().splitlines()
        assert json.loads(head)["pgcjax"].get("flips", "keep") == flips
        scored[flips] = json.loads(rows[0])["value"]
    # Settled, no judgment prefers d1 to another, and no ideal ranking has it.
    assert scored["tie"] == scored["drop"] < scored["keep"] == scored["half"]
    done = pgcjax("judgments", "agree", *prefs, "--flips", "tie", "--sides", "given")
    assert done.code == 0 and "judgments  3" in " ".join(done.out.split(" " * 3))
    done = pgcjax("judgments", "agree", *prefs, "--sides", "given")
    assert done.code == 0 and "traceback" not in done.err.lower()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--columns winner", "columns 'winner': expected ROLE=COLUMN,… such as "),
        ("--columns winner=won", "votes.csv: has no column 'won' for winner (found "),
        ("--answers a", "answers 'a': expected a=…,b=…,tie=…,none=…, with | between"),
        (
            "--columns query_id=- --aspect depth",
            "preferences: has no aspect 'depth'; no row names one.",
        ),
        ("--flips toss", "Invalid value for '--flips': 'toss' is not one of 'keep', "),
    ],
)
def test_wrong_use_is_one_line(pgcjax, votes, line, message):
    done = pgcjax("files", "check", "--prefs", "votes.csv", *line.split())
    assert done.code == 2 and done.out == ""
    assert message in done.err and done.err.count("\n") == 1 + ("Try" in done.err)


def test_options_of_preferences_need_some(pgcjax, votes):
    for option in ("--flips tie", "--columns a=x,b=y", "--answers a=1", "--aspect x"):
        done = pgcjax("evaluate", "--qrels", "qrels.txt", *option.split(), "run.txt")
        name = option.split()[0]
        assert done.code == 2
        assert f"{name} needs --prefs FILE" in done.err
