"""compare, discriminate, agree and correlate, as users call them."""

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()


PLACES = ["rank_low", "rank_high", "tier"]


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_runs_with_letters_and_pairs_in_a_file(pgcjax, here, scores):
    line = ["compare", scores, "-m", "PGC", "--test", "bootstrap", "-o", "pairs.csv"]
    done = pgcjax(*line, "--runs-output", "runs.csv", "--required")
    assert done.code == 0, done.err
    head, *runs = rows(done.out)
    assert head == ["run_id", "mean", "low", "high", "rank", *PLACES, "groups"]
    means = package.files.read_scores(scores).mean()["PGC"]
    assert {run[0]: run[1] for run in runs} == {
        run: f"{mean:.4f}" for run, mean in means.items()
    }
    assert "difference required for significance at 0.05, uncorrected: 0." in done.err
    assert "wrote 28 pairs to pairs.csv" in done.err
    pairs = pd.read_csv(here / "pairs.csv", comment="#")
    found = package.compare(scores, measure="PGC", test="bootstrap")
    pd.testing.assert_frame_equal(
        pairs, found.table, check_dtype=False, check_exact=True
    )
    assert len(pd.read_csv(here / "runs.csv", comment="#")) == 8
    assert not list(here.glob("*.partial"))


def test_baselines_print_pairs(pgcjax, scores):
    done = pgcjax("compare", scores, "-m", "Compat", "--baseline", "oak", "--test", "t")
    head, *pairs = rows(done.out)
    assert head[:3] == ["run_a", "run_b", "difference"]
    assert {pair[1] for pair in pairs} == {"oak"} and len(pairs) == 7
    assert {pair[8] for pair in pairs} <= {"true", "false"}


def test_human_scores_rectify_those_of_a_model(pgcjax, here, scores):
    table = package.files.read_scores(scores).table
    people = table[table["query_id"].isin(table["query_id"].unique()[::2])].copy()
    people["value"] = 0.8 * people["value"] + 0.1
    people.rename(columns={"value": "v"}).to_csv("people.csv", index=False)
    table.rename(columns={"value": "v"}).to_csv("model.csv", index=False)
    line = ["compare", "model.csv", "--rectify", "people.csv", "--column", "value=v"]
    done = pgcjax(*line, "-m", "PGC", "-o", "pairs.csv", "--runs-output", "runs.csv")
    assert done.code == 0, done.err
    found = package.compare(scores, measure="PGC", rectify=people)
    told = "".join(f"pgcjax: {note}\n" for note in found.notes)
    assert done.err.startswith(f"{told}pgcjax: wrote 28 pairs to pairs.csv\n")
    for name, ours in (("pairs.csv", found.table), ("runs.csv", found.runs)):
        written = pd.read_csv(here / name, comment="#")
        pd.testing.assert_frame_equal(
            written, ours, check_dtype=False, check_exact=True
        )
    head, *runs = rows(done.out)
    assert head == list(found.runs.columns) and len(runs) == 8
    done = pgcjax(*line, "-m", "PGC,Compat", "--format", "markdown")
    assert (
        "(t, Holm, 28 comparisons, 10 of 20 queries judged by people, α = 0.05)"
        in done.out
    )
    assert (
        "Intervals: of human scores, predicted with the help of a model's" in done.out
    )
    done = pgcjax(*line, "-m", "PGC", "--test", "tukey")
    said = "rectify goes with test 't' alone, not 'tukey'"
    assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
    done = pgcjax(*line, "-m", "PGC", "-o", "people.csv")
    assert done.code == 2 and "people.csv" in done.err


def test_scores_of_another_tool(pgcjax, here):
    text = "system;topic;ndcg\n" + "".join(
        f"s{s};t{t};0.{(7 * s + 3 * t * t) % 10}\n" for s in range(3) for t in range(9)
    )
    (here / "theirs.csv").write_text(text.replace(";", ","))
    line = ["compare", "theirs.csv", "--test", "permutation"]
    done = pgcjax(*line, "--column", "value=ndcg")
    assert done.code == 0, done.err
    assert len(rows(done.out)) == 4
    done = pgcjax(*line, "--column", "ndcg")
    assert done.err == "pgcjax: error: --column ndcg: expected NAME=COLUMN\n"


def test_measures_compared(pgcjax, here, scores):
    done = pgcjax("measures", "discriminate", scores, "--test", "t", "-o", "power.csv")
    assert done.code == 0, done.err
    assert [row[:2] for row in rows(done.out)[1:]] == [["t", "PGC"], ["t", "Compat"]]
    assert len(pd.read_csv(here / "power.csv", comment="#")) == 2
    for show, count in (("curves", 56), ("overlaps", 1), ("pairs", 56)):
        done = pgcjax("measures", "discriminate", scores, "--test", "t", "--show", show)
        assert len(rows(done.out)) == 1 + count
    judged = ["--prefs", DEMO / "preferences.csv", "--qrels", DEMO / "qrels.txt"]
    three = ["-m", "PGC", "-m", "PGC(p=0.8)", "-m", "Compat", "-o", "three.parquet"]
    pgcjax("evaluate", *map(str, judged), *three, str(DEMO / "runs"))
    done = pgcjax("measures", "discriminate", "three.parquet", "--gold", "Compat")
    assert done.code == 0, done.err
    assert rows(done.out)[1][:2] == ["PGC", "PGC(p=0.8)"]
    done = pgcjax("correlate", scores, "--coefficient", "tau_ap_symmetric")
    assert rows(done.out)[1][:3] == ["PGC", "Compat", "tau_ap_symmetric"]


def test_agreement(pgcjax, here, scores):
    done = pgcjax("measures", "agree", scores, "--threshold", "20%")
    assert rows(done.out)[1][:2] == ["PGC", "Compat"]
    people = ["query_id,run_a,run_b,preference", "q101,reed,oak,1", "q102,oak,reed,-1"]
    (here / "people.csv").write_text("\n".join([*people, "q103,reed,sage,0\n"]))
    done = pgcjax("measures", "agree", scores, "--serp", "people.csv", "-m", "PGC")
    assert done.code == 0, done.err
    table = package.meta.agree(scores, pd.read_csv("people.csv"), ["PGC"]).table
    assert rows(done.out)[0] == list(table.columns)


@pytest.mark.usefixtures("undrawn")
def test_what_is_left_out_is_said_in_a_line(pgcjax, here, scores):
    """By every verb; of one run, or of a measure as a whole."""
    table = package.files.read_scores(scores).table
    (query, *_), lost = table["query_id"].unique(), table["run_id"] == "oak"
    table[~(lost & (table["query_id"] == query))].to_csv("gap.csv", index=False)
    lost = table["measure"] == "Compat"
    table[~(lost & (table["query_id"] == query))].to_csv("short.csv", index=False)
    total = table["query_id"].nunique()
    own = "measures have different queries: PGC 20; Compat 19. missing shared "
    own += "compares them on the same"
    for name, how, lacking in (
        ("gap.csv", ["--missing", "drop"], "oak lacks 1 query by PGC, Compat"),
        ("short.csv", [], "there are no scores of 1 query by Compat"),
    ):
        for verb in (
            ["correlate"],
            ["measures", "discriminate", "--test", "t"],
            ["measures", "agree"],
            ["report", "--test", "t", "-o", "page.md"],
        ):
            done = pgcjax(*verb, name, *how)
            said = [line for line in done.err.splitlines() if " wrote " not in line]
            note = f"warning: 1 of {total} queries left out: {lacking}"
            if not how and {"discriminate", "report"} & {*verb}:
                note = own  # and nothing is left out
            assert (done.code, said) == (0, [f"pgcjax: {note}"]), verb
    assert f"- lacking: {own}" in (here / "page.md").read_text()
    pgcjax("correlate", "short.csv", "-o", "tau.csv")
    note = f"1 of {total} queries left out: {lacking}"
    assert f'"lacking": ["{note}"]' in (here / "tau.csv").read_text()
    done = pgcjax("compare", "gap.csv", "-m", "PGC", "--test", "t", "--missing", "drop")
    assert "1 query left out that some run lacks: oak\n" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compare scores.parquet", "scores of 2 measures: choose one of PGC, Compat"),
        ("compare none.csv", "none.csv: cannot read it: No such file or directory. C"),
        ("compare scores.parquet -m PGC --baseline x", "baseline 'x' is no run; there"),
        (
            "compare scores.parquet -m PGC --resume",
            "--resume needs -o FILE: finished w",
        ),
        ("compare scores.parquet -m PGC -o x.trec", "x.trec: the suffix of an output "),
        (
            "compare scores.parquet -m PGC --test t --required",
            "--required works with --test",
        ),
        ("compare scores.parquet -m PGC --alpha 2", "alpha=2.0: expected a level betw"),
        (
            "measures discriminate scores.parquet -m nDCG",
            "no scores of 'nDCG'; there are PGC, Comp",
        ),
        (
            "measures discriminate a/s.csv b/s.csv",
            "two files of scores are called s: rename o",
        ),
        (
            "measures agree scores.parquet --threshold lots%",
            "--threshold lots%: expected a difference",
        ),
        (
            "measures agree scores.parquet --threshold .２%",
            "--threshold .２%: expected a difference",
        ),
        (
            "compare scores.parquet -m PGC --seed １",
            "Invalid value for '--seed': '１' is",
        ),
        (
            "measures agree scores.parquet --serp no.csv",
            "no.csv: cannot read it: No such file ",
        ),
        ("correlate scores.parquet -m PGC", ""),
    ],
)
def test_mistakes(pgcjax, here, scores, line, said):
    done = pgcjax(*line.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"pgcjax: error: {said}"), done.err
    assert len(done.err.splitlines()) == 1
