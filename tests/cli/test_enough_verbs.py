"""judgments enough and next, as users call them."""

import io
import json

import pandas as pd
import pytest

import pgcjax as package

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
LACKING = (
    "pgcjax: warning: PGC: judged queries are missing in 1 run (oak), 1 score in all: "
    "scored 0\n"
)


def test_a_curve_is_that_of_python(pgcjax, demo):
    line = (
        "judgments",
        "enough",
        "--prefs",
        "preferences.csv",
        "runs",
        "--share",
        "0.5",
    )
    line = (*line, "--replicates", "8", "--seed", "3", "--best", "2")
    done = pgcjax(*line, "--format", "json", "-o", "curve.csv")
    given = {"preferences": demo / "preferences.csv", "shares": [0.5], "seed": 3}
    found = package.judgments.enough(demo / "runs", **given, replicates=8, top=2)
    told = "".join(f"pgcjax: {note}\n" for note in found.notes)
    assert done.err == f"{LACKING}{told}pgcjax: wrote 2 rows to curve.csv\n"
    table = pd.read_csv(demo / "curve.csv", comment="#")
    pd.testing.assert_frame_equal(table, found.table, check_dtype=False)
    head = (demo / "curve.csv").read_text().splitlines()[0]
    assert '"shares": [0.5], "replicates": 8, "seed": 3' in head
    assert pd.DataFrame(json.loads(done.out)["rows"]).equals(found.table)
    assert not list(demo.glob("*.partial"))
    text = pgcjax(*line).out.splitlines()
    assert text[0].split("\t") == list(found.table)
    assert text[2].split("\t")[1:4] == ["1.0000", "1500", "1.0000"]


def test_pairs_are_those_of_python(pgcjax, demo):
    line = (
        "judgments",
        "next",
        "--prefs",
        "preferences.csv",
        "runs",
        "-m",
        "PGC(p=0.9)",
    )
    line = (*line, "--replicates", "8", "--best", "4", "--documents", "6")
    done = pgcjax(*line, "--rows", "3", "--format", "csv", "-o", "pairs.csv")
    found = package.judgments.next(
        demo / "runs",
        preferences=demo / "preferences.csv",
        measure="PGC(p=0.9)",
        replicates=8,
        top=4,
        documents=6,
    )
    assert len(found.table) == 20 * 15  # of 20 queries, all pairs of 6 documents
    told = "".join(f"pgcjax: {note}\n" for note in found.notes)
    assert done.err.endswith(f"{told}pgcjax: wrote 300 pairs to pairs.csv\n")
    for table, count in (
        (pd.read_csv(demo / "pairs.csv", comment="#"), 300),
        (pd.read_csv(io.StringIO(done.out), comment="#"), 3),
    ):
        pd.testing.assert_frame_equal(table, found.table.head(count), check_dtype=False)


def test_ids_are_no_formulas(pgcjax, here):
    (here / "prefs.txt").write_text("q1 =a b =a\nq1 b c b\nq2 =a c c\n")
    (here / "two.txt").write_text((here / "run.txt").read_text().replace("one", "two"))
    given = "--prefs prefs.txt run.txt two.txt --best 2 --replicates 9"
    line = f"judgments next {given} -o p.csv"
    done = pgcjax(*line.split(), "--spreadsheet")
    assert "1 of 1 comparison among the best 2 runs are undecided" in done.err
    ids = pd.read_csv(here / "p.csv", comment="#")["doc_a"]
    assert {*ids} == {"'=a", "b"}


def test_what_is_refused(pgcjax, demo):
    judged = ("--prefs", "preferences.csv", "runs")
    for line, said in (
        (
            ("judgments", "enough", *judged, "--share", "0"),
            "share=0.0: expected a number above 0, and 1 at most",
        ),
        (
            ("judgments", "enough", *judged, "--resume"),
            "--resume needs -o FILE: finished work is stored beside it",
        ),
        (
            ("judgments", "next", *judged, "--rows", "0"),
            "--rows 0: expected a number of rows, 1 or more",
        ),
        (
            ("judgments", "next", *judged, "--best", "1"),
            "top=1: expected a whole number, 2 or more",
        ),
    ):
        done = pgcjax(*line)
        assert (done.code, done.out, done.err) == (2, "", f"pgcjax: error: {said}\n")
    done = pgcjax("judgments", "next", "runs")
    assert done.err == "pgcjax: error: Missing option '--prefs'.\n"
