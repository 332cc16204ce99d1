"""Numbers near the ends of float64: scored, or refused in one line; never a warning."""

import pytest

from pgcjax.files import read_scores

TALL = "1.7e308"
LIMITS = (
    "expected {} from -1e+150 to 1e+150, as squares are added up, found one that is "
    "1.7e+308 from 0. Divide all by one number."
)


def test_scores_and_grades_that_are_only_compared(pgcjax, here):
    """As with numbers of the same order, but for the fingerprint of the judgments."""
    (here / "low.txt").write_text("q1 Q0 a 1 3 t\nq1 Q0 c 3 -3 t\nq1 Q0 b 2 -2 t\n")
    (here / "low.qrels").write_text("q1 0 a 3\nq1 0 b 3\nq1 0 c -3\n")
    for name, suffix in (("low.txt", "txt"), ("low.qrels", "qrels")):
        text = (here / name).read_text()
        text = text.replace("-2 ", "-1.6e308 ").replace("-3", f"-{TALL}")
        text = text.replace("a 1 3", f"a 1 {TALL}").replace(" 3\n", f" {TALL}\n")
        (here / f"tall.{suffix}").write_text(text)
    for order in ("trec", "clarke", "rank"):
        tables = []
        for name in ("low", "tall"):
            line = ("--qrels", f"{name}.qrels", f"{name}.txt", "--order", order)
            done = pgcjax("evaluate", *line, "-o", f"{name}.csv")
            assert done.code == 0, done.err
            tables.append(read_scores(here / f"{name}.csv").table)
        assert tables[0].equals(tables[1]) and len(tables[0]) == 2
    assert pgcjax("files", "pack", "tall.txt", "-o", "tall.parquet").code == 0
    done = pgcjax("rankings", "rbo", "tall.txt", "--against", "tall.parquet")
    assert done.out.splitlines()[1].endswith("\t1.0000"), done


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compare s.csv --test t", f"s.csv: {LIMITS.format('scores')}"),
        ("correlate s.csv", f"scores: {LIMITS.format('scores')}"),
        (
            "judgments agree --prefs prefs.txt --qrels q.txt",
            f"qrels: {LIMITS.format('grades')}",
        ),
        ("files check --prefs t.csv", f"t.csv: {LIMITS.format('seconds')}"),
    ],
)
def test_numbers_that_would_be_squared(pgcjax, here, line, said):
    rows = "".join(f"{r},{q},M,{TALL}\n" for r in "ab" for q in "pq")
    (here / "s.csv").write_text(f"run_id,query_id,measure,value\n{rows}")
    (here / "q.txt").write_text(f"q1 0 a {TALL}\nq1 0 b -{TALL}\nq2 0 c 1\n")
    (here / "t.csv").write_text(f"qid,winner,loser,seconds\nq1,a,b,{TALL}\n")
    assert pgcjax(*line.split()) == (2, "", f"pgcjax: error: {said}\n")


def test_conditional_grades_may_have_decimals(pgcjax, here):
    pytest.importorskip("sklearn", reason="pip install 'pgcjax[context]'")
    grades = "".join(f"q{i} 0 a 1\nq{i} 0 b {i}\n" for i in range(3))
    after = "".join(f"q{i} a b .5\nq{i} b a 1.25\n" for i in range(3))
    (here / "q.txt").write_text(grades)
    (here / "c.txt").write_text(after)
    done = pgcjax(
        "judgments", "predict", "--qrels", "q.txt", "--context", "c.txt", "--folds", "2"
    )
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "method\taccuracy\tcorrect\tpairs"
