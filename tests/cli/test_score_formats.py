"""Score files of other tools, as users write, read and compare them."""

import json

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder
from pgcjax.io.choices import SCORE_FORMATS

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
JUDGED = ["--prefs", str(DEMO / "preferences.csv"), "--qrels", str(DEMO / "qrels.txt")]


def test_what_evaluate_writes(pgcjax, here, demo_scores):
    line = ["evaluate", *JUDGED, str(DEMO / "runs"), "--score-format", "tot"]
    done = pgcjax(*line, "-o", "them.out")
    assert done.code == 0 and "wrote 320 scores to them.out" in done.err, done.err
    written = demo_scores.save("same.out", score_format="tot")
    assert (here / "them.out").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("form", ["trec_eval", "tot", "ir_measures"])
def test_counts_are_whole_numbers(pgcjax, here, form):
    line = ["evaluate", *JUDGED, str(DEMO / "runs/elder.txt"), "-m", "num_ret,P_5"]
    done = pgcjax(*line, "--score-format", form, "-o", "them.out")
    assert done.code == 0, done.err
    rows = [row.split("\t") for row in (here / "them.out").read_text().splitlines()]
    found = {row[-1] for row in rows if "NumRet" in row}
    assert found == {"20", "400"}
    table = package.files.read_scores("them.out").table
    assert table["value"].dtype == "float64" and len(table) == 40


@pytest.mark.parametrize("form", [f for f in SCORE_FORMATS if f != "trec_eval"])
def test_every_verb_reads_each_format(pgcjax, here, scores, demo_scores, form):
    name = "them.jsonl" if form == "jsonl" else "them.out"
    demo_scores.save(name, score_format=form)
    for verb in (
        ["compare", "-m", "PGC"],
        ["correlate"],
        ["measures", "discriminate", "--test", "t"],
        ["measures", "agree"],
        ["correlate", "--truth", scores, "--truth-measure", "PGC", "-m", "Compat"],
        ["files", "merge", "-o", "merged.csv"],
    ):
        ours, theirs = (pgcjax(*verb, file) for file in (scores, name))
        same = [out.replace("them\t", "scores\t") for out in (ours.out, theirs.out)]
        if "merge" in verb:  # and its first line says what ours depend on
            same = [out.split("\n", 1)[1] for out in same]
        if "--truth" in verb:
            same = [out.replace("them.out\t", "scores\t") for out in same]
        assert (ours.code, theirs.code) == (0, 0), theirs.err
        assert same[0] == same[1]
    table = package.files.read_scores("merged.csv").table
    expected = package.files.read_scores(scores).table
    pd.testing.assert_frame_equal(table, expected, check_exact=True)


@pytest.mark.usefixtures("undrawn")
def test_files_of_trec_eval_are_put_together(pgcjax, here, demo_scores):
    """One of each run: as a folder by all verbs, or by merge."""
    (here / "evals").mkdir()
    for run in demo_scores.runs:
        own = demo_scores.table[demo_scores.table["run_id"] == run]
        one = package.Scores(own.reset_index(drop=True))
        one.save(f"evals/{run}.eval", score_format="trec_eval")
    demo_scores.save("scores.parquet")
    ours, theirs = (pgcjax("correlate", name) for name in ("scores.parquet", "evals"))
    assert ours == theirs and ours.code == 0
    assert pgcjax("report", "evals", "-o", "page.md", "--test", "t").code == 0
    files = sorted(map(str, (here / "evals").iterdir()))
    done = pgcjax("files", "merge", *files, "-o", "all.txt", "--score-format", "tot")
    assert done.code == 0, done.err
    assert package.files.read_scores("all.txt").table.equals(demo_scores.table)
    done = pgcjax("files", "merge", files[0], *files, "-o", "all.csv")
    assert done == (
        2,
        "",
        f"pgcjax: error: {files[0]}: scores run 'alder', query 'q101' by PGC, as "
        f"{files[0]} does. Keep one.\n",
    )
    (here / "a.txt").write_text("a map q1 .5\na map q2 .5\n")
    assert pgcjax("files", "merge", "a.txt", "-o", "b.csv").code == 2
    done = pgcjax("files", "merge", "a.txt", "-o", "b.csv", "--input-format", "tot")
    assert done.out.splitlines()[-1] == "map\tall\t0.5000"
    (here / "b.txt").write_text("b map q1 .4\nb map q2 .6\nc map q1 .1\nc map q2 .3\n")
    done = pgcjax("compare", "b.txt", "--test", "t", "--score-format", "tot")
    assert [row.split("\t")[0] for row in done.out.splitlines()] == ["run_id", "b", "c"]
    assert pgcjax("compare", "b.txt", "--test", "t").code == 2


def test_leaderboards_beside_the_truth(pgcjax, here, scores, demo_scores):
    table = demo_scores.table
    judge = table[(table["measure"] == "PGC") & (table["query_id"] != "q101")]
    package.Scores(judge).save("judge.jsonl", score_format="jsonl")
    means = table[table["measure"] == "PGC"].groupby("run_id")["value"].mean()
    means.rename("score").to_csv("means.csv")
    line = ["correlate", "judge.jsonl", "means.csv", "--truth", scores]
    line += ["--truth-measure", "Compat", "--coefficient", "tau", "--seed", "3"]
    line += ["--coefficient", "tau_ap_b@5", "--resamples", "200"]
    done = pgcjax(*line, "-o", "found.csv")
    assert done.code == 0, done.err
    note = "1 of 20 queries left out: there are no scores of 1 query by PGC of judge"
    assert done.err.splitlines() == [
        f"pgcjax: warning: {note}",
        "pgcjax: wrote 4 rows to found.csv",
    ]
    text = (here / "found.csv").read_text()
    about = json.loads(text.split("\n")[0].removeprefix("# pgcjax "))
    assert about["lacking"] == [note]
    assert (about["interval"], about["resamples"], about["seed"]) == ("simex", 200, 3)
    assert about["coefficients"] == ["tau", "tau_ap_b@5"] and about["alpha"] == 0.05
    found = pd.read_csv("found.csv", comment="#")
    assert found["leaderboard"].tolist() == ["judge", "judge", "means", "means"]
    assert found["queries"].tolist() == [19, 19, 0, 0]
    assert found["runs"].tolist() == [8, 5, 8, 5]
    assert found["low"].isna().all()  # of 19 queries
    expected = package.correlate(scores, coefficients=["tau"])["value"][0]
    assert found["value"][2] == expected
    assert pgcjax(*line, "-o", "again.csv").out == done.out
    assert (here / "again.csv").read_text() == text
    assert pgcjax(*line, "--interval", "none").out.count("nan") == 0


def test_values_are_those_of_the_tool_of_trec_autojudge(pgcjax, here, demo_scores):
    """As autojudge-evaluate 1.1.0 prints them for the same two files.

    Its meta-evaluate was called with `--truth-format tot --eval-format ir_measures`.
    """
    demo_scores.save("truth.txt", score_format="tot")
    demo_scores.save("judge.txt", score_format="ir_measures")
    expected = {
        "tau": 0.9285714286,
        "tau@5": 0.8,
        "spearman": 0.9761904762,
        "spearman@6": 0.9428571429,
        "pearson": 0.9909250683,
        "tau_ap_b": 0.7142857143,
        "tau_ap_b@6": 0.6,
    }
    line = ["correlate", "judge.txt", "--truth", "truth.txt", "-m", "PGC"]
    line += ["--truth-measure", "Compat", "--interval", "none", "-o", "found.csv"]
    for name in expected:
        line += ["--coefficient", name]
    assert pgcjax(*line).code == 0
    found = pd.read_csv("found.csv", comment="#").set_index("coefficient")["value"]
    assert dict(found) == pytest.approx(expected, abs=5e-11)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "evaluate {} --score-format tot",
            "--score-format needs -o FILE",
        ),
        (
            "evaluate {} --score-format tot --part 1/2 -o p.txt",
            "--score-format keeps no description of the job, which merge needs for "
            "--part",
        ),
        (
            "evaluate {} --score-format tot -o p.csv",
            "p.csv: .csv is no suffix of scores in the format tot; name p.txt",
        ),
        (
            "evaluate {} -o p.txt",
            "p.txt: the suffix of an output file is one of .trec, .tsv, .csv, .jsonl, "
            ".parquet",
        ),
        (
            "evaluate {} --score-format trec_eval -o p.txt",
            "p.txt: lines of trec_eval name no run, and there are 2: choose tot, "
            "ir_measures, ranking or jsonl",
        ),
        (
            "correlate scores.parquet --truth-measure PGC",
            "--truth-measure needs --truth FILE",
        ),
        (
            "correlate scores.parquet --truth scores.parquet --coefficient tau@x",
            "coefficient 'tau@x': expected how many of the best runs after @, 2 or "
            "more, such as tau@10",
        ),
        (
            "correlate scores.parquet --truth no.txt",
            "no.txt: cannot read it: No such file or directory. Check the path and its "
            "permissions.",
        ),
        (
            "correlate scores.parquet --truth a.csv -o a.csv",
            "a.csv: would overwrite a.csv, which this call reads; name another file",
        ),
        (
            "compare means.txt",
            "means.txt: holds means alone (topic 'all'), no scores of queries. Let the "
            "tool write queries, too (trec_eval -q); correlate --truth takes means.",
        ),
    ],
)
def test_mistakes(pgcjax, here, scores, line, said):
    (here / "means.txt").write_text("a map all .5\nb map all .6\n")
    (here / "a.csv").write_text("run,score\na,1\n")
    before = {path: path.read_bytes() for path in here.iterdir()}
    done = pgcjax(*line.format("--prefs prefs.txt run.txt two.txt").split())
    lines = [x for x in done.err.splitlines() if "error" in x]
    assert (done.code, done.out, lines) == (2, "", [f"pgcjax: error: {said}"])
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == (
        before
    )
