"""`pgcjax judgments`, as users call it."""

import json

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder
from pgcjax.reporting.judgment_analysis import aligned

DEMO = demo_folder()
PREFS = ["judgments", "agree", "--prefs", "prefs.csv"]
TEXT = """query_id,doc_id,other_doc_id,preference,judge
q1,a,b,2,x
q1,a,b,1,y
q1,b,c,1,x
q1,c,b,0,y
q1,a,c,1,x
q1,a,c,1,y
q2,a,c,-1,x
q2,b,,-1,y
"""
TITLES = [
    "Judgments",
    "Agreement of judges",
    "Transitivity",
    "Agreement with grades",
    "Strength against relevance",
    "Judging times",
]


@pytest.fixture
def small(here):
    (here / "prefs.csv").write_text(TEXT)
    return here


def section(text: str, title: str) -> list[list[str]]:
    """Lines of a section, in words."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    ends = [i for i, x in enumerate(lines) if i > start and x[:1].strip()]
    return [line.split() for line in lines[start : ends[0] if ends else None]]


def test_every_analysis_that_the_data_allow(pgcjax, small):
    done = pgcjax(*PREFS, "--qrels", "qrels.txt")
    assert done.code == 0, done.err
    assert [x for x in done.out.split("\n") if x[:1].strip()] == [
        *TITLES[:-1],
        "Judging times: left out, because judgments have no times (a column seconds)",
    ]
    assert ["judgments", "8"] in section(done.out, "Judgments")
    assert ["bad", "1"] in section(done.out, "Judgments")
    agreement = section(done.out, "Agreement of judges")
    assert ["x", "y", "3", "2", "0.6667", "0.5000", "0.5000"] in agreement
    assert ["A=B", *["0.0000"] * 3, "1.0000", "0.0000", "1"] in agreement
    assert "left out: 1 judgment that a document is bad".split() in agreement
    triples = section(done.out, "Transitivity")
    assert ["x", "asym", "1", "1", "1.0000"] in triples
    assert ["y", "s2a", "1", "1", "1.0000"] in triples
    assert ["majority", "all", "0", "0", "nan"] in triples  # b and c have no majority
    grades = section(done.out, "Agreement with grades")
    assert grades[2][:3] == ["Votes", "and", "the"]
    assert "left out: 2 pairs with a document that has no grade".split() in grades


def test_numbers_are_those_of_python(pgcjax, demo):
    line = ["judgments", "agree", "--prefs", "preferences.csv", "--qrels", "qrels.txt"]
    done = pgcjax(*line, "-o", "all.csv")
    assert done.code == 0, done.err
    table = pd.read_csv("all.csv", comment="#", keep_default_na=False)
    assert f"wrote {len(table)} rows to all.csv" in done.err
    numbers = {tuple(row[:5]): row[5] for row in table.to_numpy().tolist()}
    prefs, qrels = DEMO / "preferences.csv", DEMO / "qrels.txt"
    kappa = package.judgments.judge_agreement(prefs).kappa
    key = ("Agreement of judges", "agreement", "all", "", "kappa")
    assert float(numbers[key]) == kappa
    assert f"{kappa:.4f}" in done.out
    asym = package.judgments.transitivity(prefs).iloc[0]
    key = ("Transitivity", "transitivity", "majority", "asym", "share")
    assert float(numbers[key]) == asym["share"]
    gap = package.judgments.strength(prefs, qrels).table.iloc[0]
    key = ("Strength against relevance", "strength", "strength", "B - A", "pearson")
    assert float(numbers[key]) == gap["pearson"]
    chi2 = package.judgments.grade_agreement(prefs, qrels).table["chi2"][0]
    key = ("Agreement with grades", "grades", "all", "", "chi2")
    assert float(numbers[key]) == chi2


def test_simulated_judges_agree_with_grades_as_they_are_reliable(demo):
    truth = json.loads((DEMO / "truth.json").read_text())["judges"]
    table = package.judgments.grade_agreement(
        DEMO / "preferences.csv", DEMO / "qrels.txt"
    ).table
    share = (table["agree"] / (table["agree"] + table["disagree"])).set_axis(
        table["judge"]
    )
    by_truth = sorted(truth, key=lambda judge: judge["reliability"])
    names = [judge["judge"] for judge in by_truth]
    assert share[names].is_monotonic_increasing and len(names) == 3


def test_lines_in_another_order_say_the_same(pgcjax, small):
    first = pgcjax(*PREFS, "--qrels", "qrels.txt", "--bad").out
    head, *rows = TEXT.splitlines()
    (small / "prefs.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert pgcjax(*PREFS, "--qrels", "qrels.txt", "--bad").out == first


def test_choices(pgcjax, small):
    done = pgcjax(*PREFS, "--judge", "x")
    assert "Agreement of judges: left out, because no pair has two votes" in done.out
    assert (
        "Agreement with grades: left out, because there are no grades (--qrels)"
        in done.out
    )
    assert ["majority", "asym", "1", "1", "1.0000"] in section(done.out, "Transitivity")
    tie = section(pgcjax(*PREFS, "--split", "tie").out, "Transitivity")
    assert ["majority", "s2a", "1", "1", "1.0000"] in tie
    bad = pgcjax(*PREFS, "--bad", "-o", "all.jsonl")
    assert "left out: 1 judgment that a document is bad" not in bad.out
    head, *records = map(json.loads, (small / "all.jsonl").read_text().splitlines())
    assert head["pgcjax"]["bad"] is True and head["pgcjax"]["sides"] == "any"
    assert {record["analysis"] for record in records} <= set(TITLES)


def test_times_in_a_file(pgcjax, small):
    head, *rows = TEXT.splitlines()
    timed = [f"{head},seconds", *(f"{row},{i}" for i, row in enumerate(rows))]
    timed[1] = timed[1].removesuffix("0")  # not known
    (small / "prefs.csv").write_text("\n".join(timed) + "\n")
    found = section(pgcjax(*PREFS).out, "Judging times")
    assert ["all", "all", "7", "4.0000", "4.0000", "4", "3.5000"] in found
    assert ["option", "bad", "1", "7.0000", "7.0000", "0", "nan"] in found
    (small / "prefs.csv").write_text("\n".join(timed) + "5s\n")
    wrong = pgcjax(*PREFS)
    assert wrong.code == 2
    assert "prefs.csv:9: expected seconds, 0 or more, found '75s'" in wrong.err


def test_little_data(pgcjax, here):
    (here / "one.csv").write_text("qid,winner,loser\nq,a,b\n")
    done = pgcjax("judgments", "agree", "--prefs", "one.csv", "--qrels", "qrels.txt")
    assert done.code == 0, done.err
    assert [x for x in done.out.split("\n") if x[:1].strip()][1:] == [
        "Agreement of judges: left out, because no pair has two votes",
        "Transitivity: left out, because no three documents have all pairs judged",
        "Agreement with grades: left out, because no judged pair has two grades",
        "Strength against relevance: left out, because no judged pair has two grades "
        "that differ",
        "Judging times: left out, because judgments have no times (a column seconds)",
    ]


def test_votes_on_images(pgcjax, here):
    text = "q\ta,b\t-2\t-1\t0\nq\tb,c\t1\t1\t1\nq\ta,c\t0\t-1\t1\n"
    (here / "votes").write_text(text)
    done = pgcjax("judgments", "agree", "--prefs", "votes", "--prefs-format", "xie")
    assert done.code == 0, done.err
    assert ["judgments", "9"] in section(done.out, "Judgments")
    wrong = pgcjax(
        "judgments", "agree", "--prefs", "prefs.txt", "--prefs-format", "xie"
    )
    assert (
        wrong.code == 2 and "prefs.txt:1: expected query, image,image and" in wrong.err
    )


def test_many_judges_are_left_for_the_file(pgcjax, here):
    rows = [f"q,a,b,1,j{i}\nq,b,c,1,j{i}\nq,a,c,1,j{i}" for i in range(9)]
    (here / "many.csv").write_text("\n".join([TEXT.splitlines()[0], *rows]) + "\n")
    done = pgcjax("judgments", "agree", "--prefs", "many.csv", "-o", "all.tsv")
    assert "36 rows: written with -o" in done.out
    assert "27 rows: written with -o" in done.out
    table = pd.read_csv("all.tsv", sep="\t", comment="#")
    judges = table[(table["table"] == "judges") & (table["statistic"] == "triples")]
    assert len(judges) == 27


def test_columns_are_aligned():
    frame = pd.DataFrame({"name": ["a", "long"], "n": [10, 1], "p": [0.25, 1e-9]})
    assert list(aligned(frame)) == [
        "name   n        p",
        "a     10   0.2500",
        "long   1  1.0e-09",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "Missing option '--prefs'"),
        (["--prefs", "none.csv"], "none.csv: no such file or folder"),
        (["--prefs", "prefs.csv", "--judge", "z"], "no judge 'z'; there are x, y"),
        (["--prefs", "prefs.csv", "--sides", "left"], "'left' is not one of"),
        (["--prefs", "prefs.csv", "--sides", "given", "--bad"], "have no sides"),
        (["--prefs", "prefs.csv", "-o", "all.xlsx"], "all.xlsx"),
        (["--prefs", "broken.csv"], "broken.csv:2: expected which of 'a' and 'b'"),
        (["--prefs", "prefs.csv", "--qrels", "prefs.csv"], "missing columns"),
    ],
)
def test_wrong_use_is_one_line(pgcjax, small, line, message):
    (small / "broken.csv").write_text(TEXT.splitlines()[0] + "\nq,a,b,much,x\n")
    done = pgcjax("judgments", "agree", *line)
    assert done.code == 2 and done.out == ""
    assert message in done.err and done.err.count("\n") == 1


def test_judgments_that_no_order_follows(pgcjax, small):
    """Two of three judgments of a cycle are kept: c > a was said but once."""
    cycle = "q3,a,b,1,x\nq3,a,b,1,y\nq3,c,b,-1,x\nq3,b,c,1,y\nq3,a,c,-1,x\n"
    (small / "prefs.csv").write_text(TEXT + cycle)
    assert "Contradictions" not in pgcjax(*PREFS).out
    done = pgcjax(*PREFS, "--contradicted", "-o", "all.csv")
    assert done.code == 0, done.err
    found = section(done.out, "Contradictions")
    assert ["all", "3", "11", "1", "1", "0", "3"] in found
    assert ["q3", "3", "5", "1", "1", "0", "True"] in found
    assert ["q3", "c", ">", "a", "1"] in found
    table = pd.read_csv("all.csv", comment="#")
    table = table[table["analysis"] == "Contradictions"]
    named = table[table["table"] == "judgments"]
    assert named[["subject", "item", "value"]].values.tolist() == [["q3", "c > a", 1.0]]


def test_audit_of_judges(pgcjax, small, demo):
    done = pgcjax("judgments", "audit", "--prefs", "preferences.csv", "-o", "a.jsonl")
    assert done.code == 0, done.err
    lines = done.out.split("\n")
    assert [x for x in lines if x[:1].strip()] == ["all judges", "j1", "j2", "j3"]
    why = "not asked: the presentation order is unknown (a column first)"
    assert f"  swap, first {why}" in lines
    head, *rows = map(json.loads, (small / "a.jsonl").read_text().splitlines())
    assert head["pgcjax"]["people"] == []
    names = ["judge", "probe", "of", "estimate", "low", "high", "count", "verdict"]
    assert list(rows[0]) == names and f"wrote {len(rows)} rows" in done.err
    with_j2 = [r for r in rows if (r["judge"], r["of"]) == ("j1", "j2")]
    assert round(with_j2[0]["estimate"], 4) == 0.4087  # as `judgments` says itself
    for options, message in (
        (["--people", "z"], "no judge 'z'; there are j1, j2, j3"),
        (["--lengths", "none.csv"], "none.csv: no such file or folder"),
    ):
        done = pgcjax("judgments", "audit", "--prefs", "preferences.csv", *options)
        assert done.code == 2 and message in done.err
