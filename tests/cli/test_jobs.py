"""pack, --dry-run, --memory and --resume, as users call them."""

import pytest

JUDGED = ("--prefs", "judgments.txt", "--qrels", "qrels.txt")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def test_packed_runs_stand_for_runs(pgcjax, demo):
    done = pgcjax("files", "pack", *JUDGED, "runs", "-o", "runs.parquet")
    assert done == (0, "", "pgcjax: packed 8 runs into runs.parquet\n")
    text = pgcjax("evaluate", *JUDGED, "runs", "-o", "a.csv")
    packed = pgcjax("evaluate", *JUDGED, "runs.parquet", "-o", "b.csv")
    assert text.code == packed.code == 0
    assert text.out == packed.out
    assert (demo / "a.csv").read_bytes() == (demo / "b.csv").read_bytes()
    done = pgcjax("files", "check", "runs.parquet")
    assert done.code == 0 and "8 runs" in done.out
    lines = (demo / "qrels.txt").read_text().splitlines(keepends=True)
    (demo / "few.txt").write_text("".join(lines[:3]))
    only = ["--only-judged", "-o", "only.parquet"]
    assert pgcjax("files", "pack", "--qrels", "few.txt", "runs", *only).code == 0
    done = pgcjax("evaluate", *JUDGED, "only.parquet")
    assert done.code == 2 and "only.parquet: was packed for other judgments" in done.err


def test_dry_run_says_and_does_nothing(pgcjax, demo):
    before = sorted(demo.rglob("*"))
    line = ["evaluate", *JUDGED, "runs", "--dry-run", "--memory", "1GB"]
    done = pgcjax(*line, "-o", "out.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("runs: about 8 in 8 units")
    assert "\nchunks: 1 of 8 runs at most, in " in done.out
    assert "time" not in done.out  # nobody has measured it
    assert "memory: 954 MiB allowed" in done.out
    assert sorted(demo.rglob("*")) == before


def test_orders_of_ties_are_scored_in_parts_and_verified(pgcjax, demo):
    line = ["evaluate", *JUDGED, "runs", "-m", "PGC(ties=min,n=5),PGC(ties=mean,n=5)"]
    done = pgcjax(*line, "-o", "all.csv", "--verify", "0.1")
    assert done.code == 0 and " of 320 scores recomputed: equal\n" in done.err
    for i in (1, 2):
        assert pgcjax(*line, "--part", f"{i}/2", "-o", f"{i}.csv").code == 0
    assert pgcjax("files", "merge", "2.csv", "1.csv", "-o", "merged.csv").code == 0
    assert (demo / "merged.csv").read_bytes() == (demo / "all.csv").read_bytes()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "files pack runs -o runs.csv",
            "runs.csv: the suffix of an output file is one of .parquet",
        ),
        (
            "files pack runs -o runs.parquet --only-judged",
            "--only-judged needs --prefs FILE or --qrels FILE",
        ),
        (
            "files pack none -o runs.parquet",
            "none: no such file or folder. Check the path.",
        ),
        (
            "evaluate --qrels qrels.txt runs --resume",
            "--resume needs -o FILE: finished work is stored beside it",
        ),
        (
            "evaluate --qrels qrels.txt runs --memory lots",
            "memory 'lots': expected a size such as 2GB or 500MB",
        ),
        (
            "evaluate --qrels qrels.txt runs --distributed 2/2@localhost:1,0.2",
            "--distributed 2/2@localhost:1: process 1 of 2 did not answer at "
            "localhost:1 within 0.2 s (HOW,SECONDS)",
        ),
        (
            "evaluate --qrels qrels.txt runs --distributed auto,soon",
            "--distributed auto,soon: 'soon' is not a valid float.",
        ),
        (
            "evaluate --qrels qrels.txt runs --distributed 5",
            "--distributed 5: expected auto, or I/N@HOST:PORT such as 1/4@node0:8476",
        ),
    ],
)
def test_mistakes(pgcjax, demo, line, said):
    before = sorted(demo.rglob("*"))
    assert pgcjax(*line.split()) == (2, "", f"pgcjax: error: {said}\n")
    assert sorted(demo.rglob("*")) == before
