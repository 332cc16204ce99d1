"""evaluate --leave-out: what changes without each judge or run; pairs; refusals."""

import io

import pandas as pd
import pytest

import pgcjax as package

JUDGED = ("evaluate", "--prefs", "preferences.csv", "runs", "-m", "PGC")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def test_tables_and_pairs_are_those_of_python(pgcjax, demo):
    for what, depth in (("judges", 10), ("runs", 5)):
        scores = package.evaluate(
            demo / "runs",
            preferences=demo / "preferences.csv",
            measures="PGC",
            leave_out=what,
            pool_depth=depth,
        )
        found = scores.left_out
        line = (*JUDGED, "--leave-out", what, "--pool-depth", str(depth))
        line = (*line, "--pairs-output", "pairs.csv", "-o", "scores.csv")
        done = pgcjax(*line, "--format", "csv")
        assert done.code == 0, done.err
        assert f"pgcjax: {scores.notes[-1]}\n" in done.err
        pairs = found.pairs()
        assert done.err.endswith(f"pgcjax: wrote {len(pairs)} pairs to pairs.csv\n")
        for source, expected in (
            (io.StringIO(done.out), found.changes()),
            (demo / "pairs.csv", pairs.assign(measure="PGC")),
        ):
            written = pd.read_csv(source, comment="#", keep_default_na=False)
            own = expected[written.columns]
            pd.testing.assert_frame_equal(
                written, own, check_dtype=False, check_exact=True
            )
        assert f'"leave_out": "{what}"' in done.out.splitlines()[0]
        assert ('"pool_depth": 5' in done.out) == (what == "runs")
        assert len(package.read_scores(demo / "scores.csv").table) == 160
    low = found.changes()["tau"].min()
    most = found.changes()["largest_change"].abs().max()
    assert scores.notes[-1] == (
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


def test_options_that_do_not_go_together(pgcjax, demo):
    for line, said in (
        (("-q",), "-q prints no table of --leave-out"),
        (("--top", "3"), "--top prints no table of --leave-out"),
        (("--part", "1/2"), "--part goes without --leave-out"),
        (("--dry-run",), "--dry-run goes without --leave-out"),
        (
            ("--pool-depth", "0"),
            "pool_depth=0: expected a number from 1",
        ),
        (
            ("-m", "P@5", "--qrels", "qrels.txt"),
            "P@5: leave_out='judges' is of PGC of preferences alone",
        ),
        (
            ("--replicates", "5", "--resample", "queries"),
            "leave_out and replicates: ask for one after the other",
        ),
    ):
        done = pgcjax(*JUDGED, "--leave-out", "judges", *line)
        assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
