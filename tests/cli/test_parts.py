"""evaluate --part and merge: the same file as without parts, or a refusal."""

import shutil

import pytest

import pgcjax as package

JUDGED = ("--prefs", "judgments.txt", "--qrels", "qrels.txt")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_merged_parts_are_the_whole(pgcjax, demo, suffix):
    assert pgcjax("evaluate", *JUDGED, "runs", "-o", f"all.{suffix}").code == 0
    names = []
    for i in (2, 3, 1):
        names.append(f"part{i}.{suffix}")
        line = ["evaluate", *JUDGED, "runs", "--part", f"{i}/3", "-o", names[-1]]
        assert pgcjax(*line).code == 0
    done = pgcjax("merge", *names, "-o", f"merged.{suffix}")
    assert done.code == 0 and done.out.count("\tall\t") == 16
    whole, merged = (demo / f"{name}.{suffix}" for name in ("all", "merged"))
    assert whole.read_bytes() == merged.read_bytes()
    assert len(package.read_scores(merged).runs) == 8


def test_parts_that_do_not_belong_together(pgcjax, demo):
    def part(name, *options):
        done = pgcjax("evaluate", *JUDGED, "runs", "-o", name, *options)
        assert done.code == 0, done.err

    part("1.csv", "--part", "1/2")
    part("2.csv", "--part", "2/2")
    part("whole.csv")
    part("of3.csv", "--part", "2/3")
    part("clarke.csv", "--part", "2/2", "--order", "clarke")
    part("p.csv", "--part", "2/2", "-m", "PGC(p=0.8)")
    lines = (demo / "qrels.txt").read_text().splitlines(keepends=True)
    (demo / "qrels.txt").write_text("".join(lines[1:]))
    part("other.csv", "--part", "2/2")
    for second, said in (
        ("whole.csv", "whole.csv: is no part of a job (evaluate --part I/N)"),
        ("of3.csv", "of3.csv: is of another job than 1.csv: it is one of 3 parts"),
        ("clarke.csv", "clarke.csv: is of another job than 1.csv: it differs in order"),
        ("p.csv", "p.csv: is of another job than 1.csv: it differs in measures"),
        (
            "other.csv",
            "other.csv: is of another job than 1.csv: it differs in judgments",
        ),
    ):
        done = pgcjax("merge", "1.csv", second, "-o", "out.csv")
        assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
        assert not (demo / "out.csv").exists()
    done = pgcjax("merge", "1.csv", "-o", "out.csv")
    assert done.err == "pgcjax: error: parts are missing: 2/2. Add them.\n"
    shutil.copy(demo / "1.csv", demo / "copy.csv")
    done = pgcjax("merge", "1.csv", "copy.csv", "2.csv", "-o", "out.csv")
    assert done.err == "pgcjax: error: copy.csv: is part 1/2, as 1.csv is\n"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("3", "--part 3: expected I/N such as 3/16, 1 <= I <= N"),
        ("0/2", "--part 0/2: expected I/N such as 3/16, 1 <= I <= N"),
        ("3/2", "--part 3/2: expected I/N such as 3/16, 1 <= I <= N"),
        ("1/9", "part 1/9: 8 run files make at most 8 parts"),
    ],
)
def test_mistakes(pgcjax, demo, part, said):
    line = ["evaluate", *JUDGED, "runs", "-o", "out.csv", "--part", part]
    assert pgcjax(*line) == (2, "", f"pgcjax: error: {said}\n")
    done = pgcjax("evaluate", *JUDGED, "runs", "--part", "1/2")
    assert done.err == (
        "pgcjax: error: --part needs -o FILE: merge puts the files together\n"
    )
