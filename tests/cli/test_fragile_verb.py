"""`pgcjax fragile`: what it prints and writes is what `pgcjax.fragile` returns."""

import pandas as pd

import pgcjax as package
from pgcjax.datasets.files import demo_folder

RUNS, PREFS = str(demo_folder() / "runs"), str(demo_folder() / "preferences.csv")
VOTES = "model_a,model_b,winner\nx,y,model_a\nx,y,model_a\nx,y,model_b\nx,z,model_a\n"


def test_queries_are_printed_and_written(pgcjax, here):
    line = ("--change", "queries", "--run-id", "rose", "--other", "reed")
    done = pgcjax("fragile", "--prefs", PREFS, RUNS, *line, "-o", "queries.csv")
    assert done.code == 0, done.err
    found = package.fragile(
        RUNS, preferences=PREFS, change="queries", run_id="rose", other="reed"
    )
    assert f"leaving out {found.count} queries of 20 puts" in done.err
    table = pd.read_csv(here / "queries.csv", comment="#")
    assert table["query_id"].tolist() == found.table["query_id"].tolist()
    assert table["difference"].tolist() == found.table["difference"].tolist()


def test_systems_need_no_runs(pgcjax, here):
    (here / "votes.csv").write_text(VOTES)
    line = ("--run-id", "x", "--other", "y", "--change", "reverse")
    done = pgcjax("fragile", "--prefs", "votes.csv", *line)
    assert done.code == 0, done.err
    assert "reversing 1 judgment puts y above x" in done.err
    assert "x\ty" in done.out


def test_two_measures_are_refused(pgcjax):
    done = pgcjax("fragile", "--prefs", PREFS, RUNS, "-m", "PGC", "-m", "PGC(p=0.8)")
    assert done.code == 2 and "one measure, not 2" in done.err
