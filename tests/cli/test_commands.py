"""Every verb does what its help says."""

import re
import shlex

import click
import numpy as np
import pytest

from pgcjax import __version__, _aliases, evaluate
from pgcjax.cli import cli
from pgcjax.errors import UsageError
from pgcjax.files import read_scores
from pgcjax.io.containers import CONTAINERS
from pgcjax.io.votes.text import FORMATS
from pgcjax.measures import ir_names
from pgcjax.measures.between_rankings import BETWEEN
from pgcjax.measures.catalogue import catalogue

VERBS = [
    "ask",
    "compare",
    "completion",
    "correlate",
    "demo",
    "devices",
    "evaluate",
    "explain",
    "files",
    "fragile",
    "gate",
    "judgments",
    "measures",
    "power",
    "rankings",
    "report",
    "uncertainty",
]


def test_the_verbs():
    assert cli.list_commands(click.Context(cli)) == VERBS


@pytest.mark.parametrize(("old", "new"), _aliases.VERBS.items())
def test_a_verb_of_before_gives_the_call_of_today(pgcjax, old, new):
    done = pgcjax(old, "a b.csv", "-o", "x")
    line = f"pgcjax {old} is pgcjax {new} now: pgcjax {new} 'a b.csv' -o x"
    assert (done.code, done.out, done.err) == (2, "", f"pgcjax: error: {line}\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--prefs a --bad", "agree --prefs a --bad"),
        ("--prefs a --audit --people b", "audit --prefs a --people b"),
        ("--strengths bt --prefs a", "fit --model bt --prefs a"),
        ("--prefs a --strengths=win-rate", "fit --prefs a --model=win-rate"),
    ],
)
def test_judgments_was_a_verb(pgcjax, old, new):
    done = pgcjax("judgments", *old.split())
    assert done.code == 2 and done.err.endswith(f" now: pgcjax judgments {new}\n")


@pytest.mark.parametrize("verb", [[], *([v] for v in VERBS)])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(pgcjax, verb, option):
    done = pgcjax(*verb, option)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(" ".join(["Usage: pgcjax", *verb]) + " [OPTIONS]")
    assert max(map(len, done.out.splitlines())) <= 88


def test_help_names_every_format(pgcjax):
    names = {*FORMATS, *CONTAINERS} - {"columns"} | {"xie"}
    said = "".join(pgcjax("--help").out.split())
    assert all(name in said for name in names)
    assert "columns(TREC)" in said


def test_version_and_wrong_verbs(pgcjax):
    assert pgcjax("--version") == (0, f"pgcjax {__version__}\n", "")
    done = pgcjax("evaluat")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("pgcjax: error: No such command 'evaluat'.")
    done = pgcjax()
    assert (done.code, done.out) == (2, "") and done.err.startswith("Usage: pgcjax")


def test_measures(pgcjax):
    done = pgcjax("measures")
    assert (done.code, done.err) == (0, "")
    listed = [line.split()[0] for line in done.out.splitlines()]
    assert {"PGC", "Compat", "nDCG"} <= set(listed) == {*catalogue(), *BETWEEN}
    done = pgcjax("measures", "pgc(p=0.8)")
    assert done.code == 0 and done.out.startswith("PGC(p=0.8,depth=1000,")
    assert re.search(r"^  p=0\.8: persistence, ", done.out, re.MULTILINE)
    done = pgcjax("measures", "ir_measures")
    assert (done.code, done.err, done.out.splitlines()) == (0, "", [*ir_names.lines()])
    assert re.search(
        r"^ERR@10 +ERR\(gmax=4\)@10 +gdeval rounds", done.out, re.MULTILINE
    )
    assert re.search(r"^Compat +≠ +looks as deep as", done.out, re.MULTILINE)
    asked = "--qrels", "qrels.txt", "-m", "ERR@20", "-m", "AP", "run.txt"
    assert pgcjax("evaluate", *asked).err.splitlines()[0] == (
        "pgcjax: warning: ERR@20 of ir_measures is ERR(gmax=4)@20 here. `pgcjax "
        "measures ir_measures` lists all"
    )
    for name, known in catalogue().items():  # those that need a cutoff, too
        done = pgcjax("measures", name)
        assert (done.code, done.err) == (0, "")
        assert done.out.split("\n")[1] == f"{known.meaning}."
        assert f"\nSource: {known.source}." in done.out
    assert pgcjax("measures", "xyz").err == (
        "pgcjax: error: no measure is called 'xyz'; `pgcjax measures` lists them\n"
    )


def test_devices(pgcjax):
    import jax

    done = pgcjax("devices")
    assert (done.code, done.err) == (0, "")
    first, *rest, peel = done.out.splitlines()
    assert first == f"jax {jax.__version__}, {jax.default_backend()}"
    assert peel.startswith("peel: xla (not triton: needs an NVIDIA GPU of ")
    assert len(rest) == jax.local_device_count()


def test_demo(pgcjax, here):
    done = pgcjax("demo")
    assert done.code == 0
    assert "8 runs by PGC" in done.out
    assert str(here / "pgcjax-demo-scores.csv") in done.out
    assert len(read_scores("pgcjax-demo-scores.csv").runs) == 8
    done = pgcjax("demo", "-o", "none/x.csv")
    assert done == (
        2,
        "",
        "pgcjax: error: none/x.csv: cannot write there: No such file or directory. "
        "Name a file in a folder that exists and that you may write to.\n",
    )


def test_simulate_makes_what_evaluate_takes(pgcjax, here):
    small = "--queries 3 --runs 2 --documents 6 --depth 5 --grid 2,2"
    done = pgcjax("files", "simulate", "-o", "made", *shlex.split(small))
    assert done == (0, "", "pgcjax: wrote 2 runs and their judgments to made\n")
    done = pgcjax("files", "check", "--prefs", "made/preferences.csv", "made/runs")
    assert done.code == 0 and "runs: 2 runs, 3 queries" in done.out
    done = pgcjax("evaluate", "--prefs", "made/preferences.csv", "made/runs")
    assert done.code == 0 and len(done.out.splitlines()) == 3
    before = sorted((here / "made").rglob("*"))
    done = pgcjax("files", "simulate", "-o", "made")
    assert done == (
        2,
        "",
        "pgcjax: error: made exists already: name a new folder\n",
    )
    assert sorted((here / "made").rglob("*")) == before
    done = pgcjax("files", "simulate", "-o", "x" * 300, "--queries", "2", "--runs", "2")
    said = f"pgcjax: error: {'x' * 300}: cannot write there: File name too long. "
    assert (done.code, done.out) == (2, "") and done.err.startswith(said)
    done = pgcjax("files", "simulate", "-o", "other", "--queries", "0")
    assert (done.code, done.out) == (2, "") and not (here / "other").exists()


def test_check_prints_a_summary(pgcjax):
    done = pgcjax("files", "check", "prefs.txt", "qrels.txt", "run.txt", "two.txt")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "preferences: 2 queries, 3 judgments of 5 documents",
        "preferences: 0 repeated judgments, 0 conflicting pairs: all count",
        "qrels: 2 queries, 4 grades",
        "qrels: grade: judgments = 0: 1, 1: 2, 2: 1",
        "runs: 2 runs, 2 queries, 6 rows; 1-2 documents a query",
        "runs: score ties in 0 of 4 rankings (0%): their order follows --order",
        "preferences and runs: 2 common queries, of 2 judged and 2 in runs; 5 of 5 "
        "judged documents retrieved",
        "qrels and runs: 2 common queries, of 2 judged and 2 in runs; 4 of 4 judged "
        "documents retrieved",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("files check", "nothing to check: give FILE, --prefs or --qrels"),
        ("files check none.txt", "none.txt: no such file or folder. Check the path."),
        (
            "files check doubt.txt",
            "doubt.txt: may be any of runs and prefs. Say which: --as runs, --as prefs "
            "or --as qrels.",
        ),
        (
            "files check --prefs prefs.txt --as runs other.txt",
            "judgments and runs have no query in common: judged are 'q1', 'q2'; runs "
            "have 'x'. Do both name queries in the same way?",
        ),
    ],
)
def test_check_refuses_what_evaluate_does(pgcjax, here, line, said):
    (here / "doubt.txt").write_text("q1 a 1\n")
    (here / "other.txt").write_text("x Q0 a 1 2 t\n")
    assert pgcjax(*line.split()) == (2, "", f"pgcjax: error: {said}\n")
    assert pgcjax("files", "check", "--as", "runs", "doubt.txt").code == 0


def test_check_takes_options_too(pgcjax, here):
    (here / "doubt.txt").write_text("q1 a b 1\n")
    done = pgcjax("files", "check", "--prefs-format", "jelsas", "--prefs", "doubt.txt")
    assert done.code == 0 and done.out.startswith("preferences: 1 query, 1 judgment of")
    done = pgcjax(
        "files", "check", "--qrels", "qrels.txt", "--name-by", "file", "run.txt"
    )
    assert done.code == 0 and "qrels and runs: 2 common queries" in done.out


def test_the_order_of_a_run(pgcjax, here):
    """Ties by doc id, one way or the other, or the rank column."""
    (here / "ties.txt").write_text("q1 Q0 a 2 1 t\nq1 Q0 b 3 1 t\nq1 Q0 c 1 0 t\n")
    values = {}
    for order in ("trec", "clarke", "rank"):
        line = f"evaluate --prefs prefs.txt ties.txt -q --order {order}"
        done = pgcjax(*line.split())
        values[order] = [x.split("\t")[2] for x in done.out.splitlines() if "\tq1" in x]
    assert len({tuple(v) for v in values.values()}) == 3


def test_missing(pgcjax, here):
    (here / "less.txt").write_text("q1 Q0 a 1 3 less\n")
    means = {}
    for missing in ("zero", "skip"):
        line = f"evaluate --prefs prefs.txt less.txt -m PGC --missing {missing}"
        done = pgcjax(*line.split())
        assert "judged queries are missing in 1 run (less), 1 score in all" in done.err
        means[missing] = float(done.out.splitlines()[-1].split("\t")[2])
    assert np.isclose(means["skip"], 2 * means["zero"], atol=1e-4)


def test_verify(pgcjax):
    done = pgcjax("evaluate", "--prefs", "prefs.txt", "--verify", "1", "run.txt")
    assert done.code == 0 and "2 of 2 scores recomputed: equal" in done.err


@pytest.mark.parametrize("share", ["x", None, 1.5, float("nan")])
def test_a_share_to_verify_that_is_none(share):
    with pytest.raises(UsageError) as error:
        evaluate({"q": {"a": 1}}, qrels={"q": {"a": 1}}, verify=share)
    assert str(error.value) == f"verify={share!r}: expected a share from 0 to 1"


def test_a_defect_of_ours_exits_with_1(pgcjax, monkeypatch):
    monkeypatch.setattr(type(catalogue()["PGC"]), "twin", lambda measure, case: 0.5)
    done = pgcjax("evaluate", "--prefs", "prefs.txt", "--verify", "1", "run.txt")
    assert (done.code, done.out) == (1, "")
    last = done.err.splitlines()[-1]
    assert last.startswith("pgcjax: error: run 'one', query 'q1': PGC is 0.")
    assert "its reference 0.5. This is a defect of pgcjax" in last


def test_stopped(pgcjax, monkeypatch):
    from pgcjax.io import runs

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "open_runs", stop)
    done = pgcjax("evaluate", "--prefs", "prefs.txt", "run.txt", "-o", "out.csv")
    assert (done.code, done.out) == (130, "")
    assert done.err.strip() == "pgcjax: error: stopped"
