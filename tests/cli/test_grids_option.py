"""evaluate --run-format grids: image grids, with all that jobs of other runs have."""

import pytest

import pgcjax as package
from pgcjax.engine import plan
from pgcjax.reporting.progress import ProgressDisplay

JUDGED = ("--prefs", "preferences.csv", "--run-format", "grids", "grid.csv")
MEASURES = ("-m", "ImagePGC", "-m", "PMR", "-m", "WR")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def test_image_grids(pgcjax, here):
    (here / "grids.csv").write_text(
        "query_id,run_id,doc_id,row,column\n"
        "q1,left,A,0,0\nq1,left,B,0,1\nq1,right,B,0,0\nq1,right,A,1,0\n"
    )
    votes = ("--prefs", "votes.txt", "--prefs-format", "luo")
    (here / "votes.txt").write_text("q1 A B\n")
    done = pgcjax(
        "evaluate",
        *votes,
        "-m",
        "ImagePGC",
        "-m",
        "PMR",
        "--run-format",
        "grids",
        "grids.csv",
    )
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert {"left\tPMR\tall\t1.0000", "right\tPMR\tall\t0.0000"} < set(lines)
    for option in (("--order", "rank"), ("--name-by", "file")):
        wrong = pgcjax(
            "evaluate", *votes, "--run-format", "grids", *option, "grids.csv"
        )
        assert wrong.code == 2 and wrong.err.count("\n") == 1
        assert "leave out --name-by and --order" in wrong.err
    (here / "votes.txt").write_text("q1\tA,B\t-2\t-1\t1\n")
    votes = ("--prefs", "votes.txt", "--prefs-format", "xie")
    done = pgcjax("evaluate", *votes, "-m", "PMR", "--run-format", "grids", "grids.csv")
    assert "left\tPMR\tall\t1.0000" in done.out.splitlines()
    checked = pgcjax("files", "check", "grids.csv")
    about = "2 grids of 2-2 images in 1-2 rows of up to 2 columns"
    assert checked.out == f"grids: 2 systems, 1 query, {about}\n"


def test_merged_parts_are_the_whole(pgcjax, demo):
    line = ["evaluate", *JUDGED, *MEASURES, "-o"]
    assert pgcjax(*line, "all.csv").code == 0
    for part in (2, 1):
        done = pgcjax(*line, f"{part}.csv", "--part", f"{part}/2")
        assert done.code == 0, done.err
    assert len(package.files.read_scores("1.csv").runs) == 4
    assert pgcjax("files", "merge", "1.csv", "2.csv", "-o", "merged.csv").code == 0
    assert (demo / "merged.csv").read_bytes() == (demo / "all.csv").read_bytes()


def test_dry_run(pgcjax, demo):
    before = sorted(demo.rglob("*"))
    done = pgcjax("evaluate", *JUDGED, *MEASURES, "--dry-run", "-o", "out.csv")
    assert (done.code, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first.startswith("runs: about 8 in 8 units")
    assert rest[0].startswith("chunks: 1 of 8 runs at most, in ")
    assert rest[-1].startswith("memory: ") and "time" not in done.out
    assert sorted(demo.rglob("*")) == before


def test_resumed_after_a_stop(pgcjax, demo, monkeypatch):
    line = ["evaluate", *JUDGED, *MEASURES, "-o"]
    assert pgcjax(*line, "whole.csv").code == 0

    def stop(self, stage, done, total):
        if stage == "reading" and done > 4:
            raise KeyboardInterrupt

    with plan.using(seconds=-1.0, rows=1), monkeypatch.context() as stopped:
        stopped.setattr(ProgressDisplay, "update", stop)
        done = pgcjax(*line, "out.csv")
        assert (done.code, done.out) == (130, "")
        assert "finished work is in out.csv.partial: --resume continues" in done.err
    assert list((demo / "out.csv.partial").glob("*-*.npz"))
    assert not (demo / "out.csv").exists()
    assert pgcjax(*line, "out.csv", "--resume", "--verify", "1").code == 0
    assert (demo / "out.csv").read_bytes() == (demo / "whole.csv").read_bytes()
    assert (demo / "out.csv.partial").exists()  # the same call reads no run again
    assert pgcjax(*line, "out.csv").code == 0
    assert not (demo / "out.csv.partial").exists()
