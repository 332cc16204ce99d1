"""pgcjax judgments compare, and its section of a page, as users call them."""

import io
import json

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.cli.judges import OF_VOTES
from pgcjax.datasets.files import demo_folder

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
RUNS, PREFS = str(demo_folder() / "runs"), str(demo_folder() / "preferences.csv")
DRAWN = ["--resamples", "40", "--seed", "3"]
TWICE = """query_id,first,second,winner,judge
q101,d-101-07,d-101-16,first,model
q101,d-101-16,d-101-07,first,model
q101,d-101-07,d-101-29,first,model
q101,d-101-29,d-101-07,second,model
q102,d-102-07,d-102-16,first,model
"""


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_orders_and_a_file_are_those_of_python(pgcjax, here):
    found = package.judgments.compare_orders(RUNS, PREFS)
    orders = found.orders(resamples=40, seed=3)
    done = pgcjax(
        "judgments", "compare", RUNS, "--prefs", PREFS, *DRAWN, "-o", "judges.csv"
    )
    assert done.code == 0, done.err
    head, *printed = rows(done.out)
    assert head == list(orders) and len(printed) == 3 * 2
    assert [row[:3] for row in printed] == orders.iloc[:, :3].values.tolist()
    assert done.err.endswith(
        "pgcjax: j1, j2, j3: 8 runs, 20 judged queries\n"
        + "".join(f"pgcjax: {note}\n" for note in found.in_words(orders))
        + "pgcjax: wrote 6 rows to judges.csv\n"
    )
    table = pd.read_csv(here / "judges.csv", comment="#", keep_default_na=False)
    few = "low, high: no interval is known to hold for fewer than 50 queries"
    assert orders["undefined"][0] == few and "nan" not in done.err
    ends = ["low", "high"]  # empty, as the demo has 20
    assert orders[ends].isna().all(axis=None) and (table[ends] == "").all(axis=None)
    table, orders = (each.drop(columns=ends) for each in (table, orders))
    pd.testing.assert_frame_equal(table, orders, check_dtype=False, check_exact=True)
    first = (here / "judges.csv").read_text().splitlines()[0]
    about = json.loads(first.removeprefix("# pgcjax "))
    how = {"interval": "simex", "alpha": 0.05, "correction": "holm"}
    how |= {"resamples": 40, "seed": 3, "coefficients": ["tau", "tau_ap_b"]}
    assert about.pop("crc32") and about == found.metadata | how | {"show": "judges"}
    done = pgcjax(
        *(
            "judgments",
            "compare",
            RUNS,
            "--prefs",
            PREFS,
            "--judge",
            "j1",
            "--judge",
            "j3",
        ),
        *("--show", "pairs", "--format", "json", "--correction", "none"),
    )
    swaps = found.swaps(correction="none")
    swaps = swaps[(swaps["judge_a"] == "j1") & (swaps["judge_b"] == "j3")]
    assert json.loads(done.out)["rows"] == swaps.to_dict("records")
    done = pgcjax(
        "judgments",
        "compare",
        RUNS,
        "--prefs",
        PREFS,
        "--show",
        "runs",
        "--order",
        "trec-float32",
    )
    assert [row[:4] for row in rows(done.out)[1:]] == [
        [str(cell) for cell in row]
        for row in found.runs().iloc[:, :4].itertuples(index=False)
    ]


def test_sources_and_votes_in_both_orders(pgcjax, here):
    (here / "twice.csv").write_text(TWICE)
    call = [
        "judgments",
        "compare",
        RUNS,
        "--source",
        "model=twice.csv",
        "--source",
        f"all={PREFS}",
    ]
    done = pgcjax(*call, "--show", "flips", "--interval", "none", "--flips", "drop")
    assert done.code == 0, done.err
    named = {"model": "twice.csv", "all": PREFS}
    found = package.judgments.compare_orders(RUNS, sources=named)
    assert found.flipped == {"model": (2, 1)}
    assert [row[:5] for row in rows(done.out)[1:]] == [
        [*row[:5]] for row in found.flips(interval="none").values.tolist()
    ]
    # By --flips drop, too: each policy is tried, whatever was chosen.
    assert len(rows(done.out)) == 1 + 3 * 2 + 4 * 2
    done = pgcjax(*call, "--flips", "drop", "--interval", "none")
    assert done.err.splitlines()[-1] == (
        "pgcjax: model: 1 of 2 pairs judged in both orders are flipped"
    )
    assert rows(done.out)[1][:2] == ["all", "model"]


def test_a_page_compares_judges(pgcjax, here, scores):
    """In HTML; that in Markdown is with the other figures, in test_reporting."""
    (here / "twice.csv").write_text(TWICE)
    call = [
        "judgments",
        "compare",
        RUNS,
        "--prefs",
        PREFS,
        "--source",
        "model=twice.csv",
    ]
    call += ["--judge", "j1", "--judge", "model", "--interval", "none"]
    done = pgcjax(*call, "--scores-output", "judges.parquet")
    assert done.err.endswith("wrote the scores of 2 judges to judges.parquet\n")
    found = package.files.read_judge_orders("judges.parquet")
    orders = found.orders()
    line = ["report", scores, "--test", "t", "-m", "PGC", "-o", "page.html"]
    done = pgcjax(*line, "--judges", "judges.parquet")
    assert done.code == 0, done.err
    text = (here / "page.html").read_text("utf-8")
    assert '<section id="judges"><h2>Judges against each other</h2>' in text
    for note in found.in_words(orders):
        assert f"<p>{note}</p>" in text
    for caption in (
        "flips keep); 95 % intervals by queries drawn again 1,000 times, of tau from "
        "50 queries on",
        "what becomes of pairs judged in both orders (flips); change and explained",
        "Pairs of runs in opposite orders, the surest first; p by Holm",
    ):
        assert caption in text
    for value in orders["value"]:
        assert f"{value:.4f}" in text
    assert "<dt>judges, flips</dt><dd>keep</dd>" in text
    pgcjax(*line)
    assert "Judges against each other" not in (here / "page.html").read_text("utf-8")


def test_two_judges_of_a_file_or_of_two_without_runs(pgcjax, here):
    votes = pd.read_csv(PREFS)
    for judge, name in (("j1", "new.csv"), ("j3", "people.csv")):
        votes[votes["judge"] == judge].to_csv(here / name, index=False)
    found = package.judgments.compare(PREFS, judges=("j1", "j3"))
    line = ["judgments", "compare", PREFS, "--judge", "j1", "--judge", "j3"]
    for show, table in {"judges": found.table, "queries": found.queries}.items():
        done = pgcjax(*line, "--show", show, "--format", "csv", "-o", "two.csv")
        assert done.code == 0, done.err
        for text in (done.out, (here / "two.csv").read_text()):
            read = pd.read_csv(io.StringIO(text), comment="#")
            pd.testing.assert_frame_equal(read, table, check_dtype=False)
    done = pgcjax(
        "judgments", "compare", "new.csv", "people.csv", "--before", "new.csv"
    )
    assert rows(done.out)[1] == rows(pgcjax(*line).out)[1]
    drift = ["drift", "0.6111", "0.6111", "0.0000", "0.0000", "0.0000", "1.0000", "72"]
    assert rows(done.out)[-1] == [*drift, "no change seen; 0 of 72 answers changed"]
    done = pgcjax("judgments", "compare", "new.csv", "people.csv", "-o", "page.html")
    assert done.err.endswith("wrote page.html\n"), done.err
    page = (here / "page.html").read_text("utf-8")
    assert "<h1>new and people</h1>" in page and "<td>fair</td>" in page
    for query in found.queries["query_id"]:
        assert f"<td>{query}</td>" in page
    assert package.judgments.report(found, here / "again.html").exists()


def test_calls_that_cannot_be_meant(pgcjax, here):
    for arguments, message in (
        (
            ("--measure", "PGC"),
            "-m compares orders of runs: give the judgments, too (--prefs FILE or "
            "--source "
            "NAME=FILE)",
        ),
        (
            ("--prefs", PREFS, "--order", "rank-float32"),
            "Invalid value for '--order': 'rank-float32' is not one of 'trec', "
            "'clarke', 'rank', 'trec-float32', 'clarke-float32'.",
        ),
        (("--source", "x.csv"), "--source x.csv: expected NAME=FILE"),
        (
            ("--show", "runs"),
            f"--show runs needs runs; for VOTES: {', '.join(OF_VOTES)}",
        ),
        (
            (PREFS, PREFS),
            "expected the votes of two judges, found 3 files; to compare orders of "
            "runs, give the judgments, too (--prefs FILE or --source NAME=FILE)",
        ),
        (
            ("--prefs", PREFS, "--before", PREFS),
            "--before works only with VOTES, without --prefs and --source",
        ),
        (
            ("--prefs", PREFS, "--show", "queries"),
            "--show queries works only with VOTES, without --prefs and --source",
        ),
        (
            ("--prefs", PREFS, "-m", "PGC,wpref"),
            "compare takes one measure, not 2",
        ),
        (
            ("--prefs", PREFS, "--coefficient", "rho"),
            "coefficient is one of tau, tau_ap, tau_ap_symmetric, tau_ap_a, tau_ap_b, "
            "pearson, spearman, not 'rho'",
        ),
    ):
        done = pgcjax("judgments", "compare", RUNS, *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines()[-1] == f"pgcjax: error: {message}"
