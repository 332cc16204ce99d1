"""uncertainty: draws and what is left out, in tables and files; refusals."""

import io
import json

import pandas as pd
import pytest

import pgcjax as package

JUDGED = ("uncertainty", "--prefs", "preferences.csv", "runs", "-m", "PGC")
DRAWN = (*JUDGED, "--replicates", "8")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def test_a_leaderboard_and_pairs_are_those_of_python(pgcjax, demo):
    line = (*DRAWN, "--resample", "judges", "--seed", "3")
    done = pgcjax(*line, "--format", "csv", "--pairs-output", "pairs.csv")
    found = package.uncertainty(
        demo / "runs",
        preferences=demo / "preferences.csv",
        measures="PGC",
        replicates=8,
        resample="judges",
        seed=3,
    )
    told = "".join(f"pgcjax: {note}\n" for note in found.notes)
    assert done.err.endswith(f"{told}pgcjax: wrote 28 pairs to pairs.csv\n")
    used = found.metadata
    assert used == {"replicates": 8, "resample": "judges", "seed": 3}
    assert used.items() <= found.observed.metadata.items()
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
    line = (*DRAWN, "-m", "nDCG@5", "--qrels", "qrels.txt")
    line = (*line, "--resample", "queries", "--interval", "bc")
    done = pgcjax(*line, "--format", "markdown", "--pairs-output", "pairs.csv")
    heads = " | run | PGC | 95 % interval | nDCG@5 | tier | ranks |"
    assert heads in done.out
    assert "Intervals: queries drawn again 8 times (bc)" in done.out
    pairs = pd.read_csv(demo / "pairs.csv", comment="#")
    assert pairs["measure"].tolist() == ["PGC"] * 28 + ["nDCG@5"] * 28


def test_files_of_replicates_and_of_single_scores(pgcjax, demo):
    line = (*DRAWN, "--seed", "3", "-o", "scores.csv")
    done = pgcjax(*line, "--score-intervals", "s.csv", "--replicates-output", "b.csv")
    found = package.uncertainty(
        demo / "runs",
        preferences=demo / "preferences.csv",
        measures="PGC",
        replicates=8,
        seed=3,
        score_intervals=True,
    )
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
    out = {form: pgcjax(*DRAWN, "--format", form).out for form in FORMS}
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
    done = pgcjax(*DRAWN)
    assert "95 % interval" in done.out
    assert "Intervals: judgments drawn again 8 times (centred)" in done.out
    assert done.out.count("●") == 8


def test_what_is_left_out_is_as_in_python(pgcjax, demo):
    for leave_out, depth in (("judges", 10), ("runs", 5)):
        found = package.uncertainty(
            demo / "runs",
            preferences=demo / "preferences.csv",
            measures="PGC",
            leave_out=leave_out,
            pool_depth=depth,
        )
        line = (
            *JUDGED,
            "--leave-out",
            leave_out if leave_out == "judges" else f"runs@{depth}",
        )
        line = (*line, "--pairs-output", "pairs.csv", "-o", "scores.csv")
        done = pgcjax(*line, "--format", "csv")
        assert done.code == 0, done.err
        assert f"pgcjax: {found.notes[-1]}\n" in done.err
        pairs = found.pairs()
        assert done.err.endswith(f"pgcjax: wrote {len(pairs)} pairs to pairs.csv\n")
        for source, expected in (
            (io.StringIO(done.out), found.changes()),
            (demo / "pairs.csv", pairs.assign(measure="PGC")),
        ):
            written = pd.read_csv(source, comment="#", keep_default_na=False)
            same = expected[written.columns]
            pd.testing.assert_frame_equal(
                written, same, check_dtype=False, check_exact=True
            )
        assert f'"leave_out": "{leave_out}"' in done.out.splitlines()[0]
        assert ('"pool_depth": 5' in done.out) == (leave_out == "runs")
        assert len(package.files.read_scores(demo / "scores.csv").table) == 160
    low = found.changes()["tau"].min()
    most = found.changes()["largest_change"].abs().max()
    assert found.notes[-1] == (
        f"PGC: without one of 8 runs, τ with the full order is ≥ {low:.3f}, a mean "
        f"moves by ≤ {most:.4f}"
    )


def test_measures_beside_each_other_in_a_drawn_table(pgcjax, demo):
    line = (*JUDGED, "-m", "PGC(p=0.8)", "--leave-out", "judges")
    done = pgcjax(*line, "--format", "table")
    assert done.out.count("│ PGC(p=0.8) │") == 3 and " gained ┃" in done.out
    head, *rows = pgcjax(*line).out.splitlines()
    assert head.split("\t")[:3] == ["measure", "left_out", "judgments"]
    assert len(rows) == 6


LEFT = ("--leave-out", "judges")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--format", "text"), "--format text prints no intervals of replicates"),
        (("-o", "set/"), "-o DIR/ works only with evaluate: give -o FILE"),
        (("--score-format", "tot"), "--score-format needs -o FILE"),
        (
            ("-m", "P@5", "--qrels", "qrels.txt"),
            "P@5: resample='judgments' works with PGC of preferences alone; "
            "resample='queries' works with every measure (--resample on the command "
            "line)",
        ),
        (
            ("--replicates", "-1"),
            "replicates=-1: expected a whole number, 0 or more",
        ),
        (
            ("--score-intervals", "pairs.csv", "--interval", "bc"),
            "--score-intervals: expected --interval centred|basic|percentile",
        ),
        *(
            ((*LEFT, *option), f"{option[0]} goes without --leave-out")
            for option in (
                ("--top", "3"),
                ("--replicates", "5"),
                ("--score-intervals", "pairs.csv"),
                ("--replicates-output", "pairs.csv"),
            )
        ),
        (
            ("--leave-out", "runs@x"),
            "--leave-out runs@x: 'x' is not a valid integer.",
        ),
        (
            ("--leave-out", "judges@5"),
            "--leave-out judges@5: expected judges, runs, or runs@K",
        ),
        (
            ("--leave-out", "runs@0"),
            "pool_depth=0: expected a whole number, 1 or more",
        ),
        (
            (*LEFT, "-m", "P@5", "--qrels", "qrels.txt"),
            "P@5: leave_out='judges' works with PGC of preferences alone",
        ),
    ],
)
def test_options_that_do_not_go_together(pgcjax, demo, line, said):
    done = pgcjax(*JUDGED, *line)
    assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
    assert not (demo / "pairs.csv").exists()


def test_a_stopped_call_is_gone_on_with(pgcjax, demo, monkeypatch):
    from pgcjax.engine.variant_batch import VariantMeans

    line = (*DRAWN, "--format", "csv", "-o", "scores.csv")
    whole = pgcjax(*line)
    score, calls = VariantMeans.score, []

    def stopped(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(self, *given)

    from pgcjax.engine import plan

    with plan.using(seconds=0.0, rows=0):
        monkeypatch.setattr(VariantMeans, "score", stopped)
        assert pgcjax(*line).code == 130
        assert [*(demo / "scores.csv.partial").glob("*.npz")]
        monkeypatch.setattr(VariantMeans, "score", score)
        again = pgcjax(*line, "--resume")
    assert (again.code, again.out) == (0, whole.out)


def test_judging_may_stop_by_the_judgments_so_far(pgcjax, demo):
    """Which to judge first; then what is settled, as by the scores alone."""
    line = ("uncertainty", "runs", "--anytime", "best", "--seed", "4")
    asked = package.uncertainty(demo / "runs", anytime="best", seed=4)
    order = asked.queries["query_id"].tolist()
    done = pgcjax(*line)
    assert f"judge next: {', '.join(order[:5])}, …\n" in done.err
    assert done.out.startswith("run_id\tmean\tp_value\truled_out\nalder\tnan")
    votes = pd.read_csv(demo / "preferences.csv", comment="#")
    votes[votes["query_id"].isin(order[:7])].to_csv(demo / "some.csv", index=False)
    done = pgcjax(*line, "--prefs", "some.csv", "-o", "scores.csv", "--format", "csv")
    means = package.compare(demo / "scores.csv", measure="PGC").runs
    table = pd.read_csv(io.StringIO(done.out), comment="#").set_index("run_id")
    assert table["mean"].to_dict() == pytest.approx(
        means.set_index("run_id")["mean"].to_dict()
    )
    assert "pgcjax: open after 7 of 20 queries: " in done.err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--anytime", "best", "--replicates", "9"), "--replicates goes without --any"),
        (("--anytime", "best", "--leave-out", "runs"), "--leave-out goes without --an"),
        (("--anytime", "best", "--missing", "skip"), "missing='skip' averages runs o"),
        (("--anytime", "best", "-m", "PGC(p=0.8)"), "expected one measure, found 2"),
        (("--alpha", "0.1"), "--alpha needs --anytime QUESTION"),
    ],
)
def test_what_goes_with_anytime(pgcjax, demo, options, message):
    done = pgcjax(*JUDGED, *options)
    assert done.code == 2 and message in done.err


def test_votes_of_people_rectify_a_model(pgcjax, demo):
    judged = package.files.read_preferences("preferences.csv")
    pair = judged[["doc_id", "other_doc_id"]]
    key = judged["query_id"] + pair.min(axis=1) + pair.max(axis=1)
    model = judged["judge"] == "j3"
    judged[model].to_csv("model.csv", index=False)
    judged[~model & key.isin(key[model])].to_csv("people.csv", index=False)
    line = ("uncertainty", "--prefs", "model.csv", "--rectify", "people.csv", "runs")
    done = pgcjax(*line, "--replicates", "50", "--seed", "2", "--format", "csv")
    votes = {"people": "people.csv", "model": "model.csv"}
    found = package.judgments.rectify("runs", **votes, replicates=50, seed=2)
    assert "people judged 117 of 500 pairs" in done.err
    table = pd.read_csv(io.StringIO(done.out), comment="#").set_index("run_id")
    means = found.means().set_index("run_id").loc[table.index]
    assert table["PGC"].to_numpy() == pytest.approx(means["mean"].to_numpy())
    for more, says in (
        (("--resample", "judges"), "--resample goes without --rectify"),
        (("-m", "PGC", "-m", "PGC(p=0.8)"), "one measure"),
    ):
        assert says in pgcjax(*line, *more).err
