"""evaluate --replicates: intervals, tiers and ranks; pairs in a file; refusals."""

import io
import json

import pandas as pd
import pytest

import pgcjax as package

JUDGED = ("--prefs", "preferences.csv", "runs", "-m", "PGC", "--replicates", "8")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def test_a_leaderboard_and_pairs_are_those_of_python(pgcjax, demo):
    line = ("evaluate", *JUDGED, "--resample", "judges", "--seed", "3")
    done = pgcjax(*line, "--format", "csv", "--pairs-output", "pairs.csv")
    scores = package.evaluate(
        demo / "runs",
        preferences=demo / "preferences.csv",
        measures="PGC",
        replicates=8,
        resample="judges",
        seed=3,
    )
    found = scores.uncertainty
    assert found is not None
    told = "".join(f"pgcjax: {note}\n" for note in scores.notes)
    assert done.err.endswith(f"{told}pgcjax: wrote 28 pairs to pairs.csv\n")
    used = found.metadata
    assert used == {"replicates": 8, "resample": "judges", "seed": 3}
    assert used.items() <= scores.metadata.items()
    table = pd.read_csv(io.StringIO(done.out), comment="#").set_index("run_id")
    ranks, means = (x.set_index("run_id") for x in (found.ranks(), found.means()))
    assert list(table.index) == list(ranks.index)
    for ours, theirs in (
        ("rank", ranks["rank"]),
        ("tier", ranks["tier"]),
        ("rank_low", ranks["low"]),
        ("rank_high", ranks["high"]),
        ("PGC", means["mean"]),
        ("PGC_low", means["low"]),
        ("PGC_high", means["high"]),
    ):
        own = table[ours].to_numpy()
        assert own == pytest.approx(theirs.loc[table.index].to_numpy(), abs=1e-15)
    pairs = pd.read_csv(demo / "pairs.csv", comment="#")
    assert (pairs.pop("measure") == "PGC").all()
    pd.testing.assert_frame_equal(pairs, found.differences(), check_dtype=False)
    # Of two measures, both are there; queries are drawn for any measure.
    line = ("evaluate", *JUDGED, "-m", "nDCG@5", "--qrels", "qrels.txt")
    line = (*line, "--resample", "queries", "--interval", "bc")
    done = pgcjax(*line, "--format", "markdown", "--pairs-output", "pairs.csv")
    heads = " | run | PGC | 95 % interval | nDCG@5 | tier | ranks |"
    assert heads in done.out
    assert "Intervals: queries drawn again 8 times (bc)" in done.out
    pairs = pd.read_csv(demo / "pairs.csv", comment="#")
    assert pairs["measure"].tolist() == ["PGC"] * 28 + ["nDCG@5"] * 28


def test_files_of_replicates_and_of_single_scores(pgcjax, demo):
    line = ("evaluate", *JUDGED, "--seed", "3", "-o", "scores.csv")
    done = pgcjax(*line, "--score-intervals", "s.csv", "--replicates-output", "b.csv")
    found = package.evaluate(
        demo / "runs",
        preferences=demo / "preferences.csv",
        measures="PGC",
        replicates=8,
        seed=3,
        score_intervals=True,
    ).uncertainty
    assert found is not None
    assert done.err.endswith(
        "pgcjax: wrote 160 scores to scores.csv\n"
        "pgcjax: wrote 160 intervals to s.csv\n"
        "pgcjax: wrote 8 replicates to b.csv\n"
    )
    table = pd.read_csv(demo / "s.csv", comment="#")
    assert (table.pop("measure") == "PGC").all()
    pd.testing.assert_frame_equal(table, found.scores(), check_dtype=False)
    read = package.files.read_uncertainty(demo / "b.csv")
    assert read.replicates["PGC"].tobytes() == found.replicates["PGC"].tobytes()
    done = pgcjax(
        *(
            "report",
            "scores.csv",
            "-o",
            "page.md",
            "--test",
            "t",
            "--replicates",
            "b.csv",
        )
    )
    assert (done.code, done.err) == (0, "pgcjax: wrote page.md\n")
    page = (demo / "page.md").read_text()
    assert "| judged\\_low | judged\\_high | tier | rank\\_low | rank\\_high |" in page
    assert "replicates, resample" in page
    line = ("report", "scores.csv", "-o", "page.md", "--replicates", "scores.csv")
    done = pgcjax(*line)
    assert done.err == (
        "pgcjax: error: scores.csv: missing columns ['replicate', 'mean'] (found "
        "['run_id', 'query_id', 'measure', 'value']). Needed: measure, run_id, "
        "replicate, mean.\n"
    )


def test_every_format_has_intervals_tiers_and_ranks(pgcjax, demo):
    out = {form: pgcjax("evaluate", *JUDGED, "--format", form).out for form in FORMS}
    rows = json.loads(out["json"])["rows"]
    table = pd.read_csv(io.StringIO(out["csv"]), comment="#")
    assert [*rows[0]] == [*table] == COLUMNS
    for form, between in (("latex", " & "), ("markdown", " | ")):
        heads = between.join(("run", "PGC", "95 % interval", "tier", "ranks"))
        heads = heads.replace("%", r"\%") if form == "latex" else heads
        assert heads in out[form]
        first = rows[0]
        ends = f"{first['PGC_low']:.4f}, {first['PGC_high']:.4f}"
        cell = rf"\[{ends}\]" if form == "markdown" else f"[{ends}]"
        assert f"{cell}{between}1{between}" in out[form]


FORMS = "json", "csv", "latex", "markdown"
COLUMNS = ["rank", "run_id", "tier", "rank_low", "rank_high"]
COLUMNS += ["PGC", "PGC_low", "PGC_high"]


def test_without_a_format_a_table_is_drawn(pgcjax, demo):
    done = pgcjax("evaluate", *JUDGED)
    assert "95 % interval" in done.out
    assert "Intervals: judgments drawn again 8 times (centred)" in done.out
    assert done.out.count("●") == 8


def test_options_that_do_not_go_together(pgcjax, demo):
    for line, said in (
        (("-q",), "-q prints no intervals of --replicates"),
        (("--format", "text"), "--format text prints no intervals of --replicates"),
        (("--part", "1/2"), "--part goes without --replicates"),
        (("--dry-run",), "--dry-run goes without --replicates"),
        (
            ("-m", "P@5", "--qrels", "qrels.txt"),
            "P@5: resample='judgments' is of PGC of preferences alone; "
            "resample='queries' is of every measure (--resample on the command line)",
        ),
        (
            ("--replicates", "-1"),
            "replicates=-1: expected a whole number, 0 or more",
        ),
        *(
            (
                ("--replicates", "0", option, "pairs.csv"),
                f"{option} needs --replicates B{also}",
            )
            for option, also in (
                ("--pairs-output", " or --leave-out"),
                ("--score-intervals", ""),
                ("--replicates-output", ""),
            )
        ),
        (
            ("--score-intervals", "pairs.csv", "--interval", "bc"),
            "--score-intervals: expected --interval centred|basic|percentile",
        ),
    ):
        done = pgcjax("evaluate", *JUDGED, *line)
        assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
        assert not (demo / "pairs.csv").exists()


def test_a_stopped_call_is_gone_on_with(pgcjax, demo, monkeypatch):
    from pgcjax.engine.replicate_batches import ReplicateBatch

    line = ("evaluate", *JUDGED, "--format", "csv", "-o", "scores.csv")
    whole = pgcjax(*line)
    score, calls = ReplicateBatch.score, []

    def stopped(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(self, *given)

    from pgcjax.engine import plan

    with plan.using(seconds=0.0, rows=0):
        monkeypatch.setattr(ReplicateBatch, "score", stopped)
        assert pgcjax(*line).code == 130
        assert [*(demo / "scores.csv.partial").glob("*.npz")]
        monkeypatch.setattr(ReplicateBatch, "score", score)
        again = pgcjax(*line, "--resume")
    assert (again.code, again.out) == (0, whole.out)
