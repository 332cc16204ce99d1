"""evaluate --part and merge: the same file as without parts, or a refusal."""

import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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
    done = pgcjax("files", "merge", *names, "-o", f"merged.{suffix}")
    assert done.code == 0 and done.out.count("\tall\t") == 16
    whole, merged = (demo / f"{name}.{suffix}" for name in ("all", "merged"))
    assert whole.read_bytes() == merged.read_bytes()
    assert len(package.files.read_scores(merged).runs) == 8


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
        ("of3.csv", "of3.csv: belongs to another job than 1.csv: it is one of 3 parts"),
        (
            "clarke.csv",
            "clarke.csv: belongs to another job than 1.csv: it differs in order",
        ),
        ("p.csv", "p.csv: belongs to another job than 1.csv: it differs in measures"),
        (
            "other.csv",
            "other.csv: belongs to another job than 1.csv: it differs in judgments",
        ),
    ):
        done = pgcjax("files", "merge", "1.csv", second, "-o", "out.csv")
        assert (done.code, done.err) == (2, f"pgcjax: error: {said}\n")
        assert not (demo / "out.csv").exists()
    done = pgcjax("files", "merge", "1.csv", "-o", "out.csv")
    assert done.err == "pgcjax: error: parts are missing: 2/2. Add them.\n"
    shutil.copy(demo / "1.csv", demo / "copy.csv")
    done = pgcjax("files", "merge", "1.csv", "copy.csv", "2.csv", "-o", "out.csv")
    assert done.err == "pgcjax: error: copy.csv: is part 1/2, as 1.csv is\n"


PLACE = (
    "expected the place of a part, such as [3, 16] of 16 parts, as 'part' in its "
    "metadata, found {}. Restore what evaluate --part wrote, or score the part again."
)
NO_OBJECT = "expected an object of JSON after '# pgcjax'. Restore or remove the line."


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('{"part": 1}', f": {PLACE.format(1)}"),
        ('{"part": "1/2"}', f": {PLACE.format(repr('1/2'))}"),
        ('{"part": []}', f": {PLACE.format([])}"),
        ('{"part": [1]}', f": {PLACE.format([1])}"),
        ('{"part": [2, 1]}', f": {PLACE.format([2, 1])}"),
        ('{"part": [0, 1]}', f": {PLACE.format([0, 1])}"),
        ('{"part": [1.0, 2]}', f": {PLACE.format([1.0, 2])}"),
        ('{"part": [true, 1]}', f": {PLACE.format([True, 1])}"),
        ('{"part": {"1": 2}}', f": {PLACE.format({'1': 2})}"),
        ("[1, 2]", f":1: {NO_OBJECT}"),
        ('"part"', f":1: {NO_OBJECT}"),
        ("null", f":1: {NO_OBJECT}"),
        ("{", f":1: {NO_OBJECT}"),
        ("[" * 9999, f":1: {NO_OBJECT}"),
        (f'{{"x": "of x", "part": {"9" * 9999}}}', f":1: {NO_OBJECT}"),
        (
            '{"part": [1, 2], "part": [2, 2]}',
            ":1: the key 'part' is twice in one object. Keep one of the two.",
        ),
    ],
)
def test_wrong_headers(pgcjax, here, header, said):
    rows = "run_id,query_id,measure,value\nr,q,PGC,1\n"
    (here / "a.csv").write_text(f"# pgcjax {header}\n{rows}")
    done = pgcjax("files", "merge", "a.csv", "-o", "out.csv")
    assert done == (2, "", f"pgcjax: error: a.csv{said}\n")
    assert not (here / "out.csv").exists()


def test_headers_of_many_parts_or_of_parquet(pgcjax, here):
    rows = "run_id,query_id,measure,value\nr,q,PGC,1\n"
    (here / "a.csv").write_text(f'# pgcjax {{"part": [7, 1000000000000]}}\n{rows}')
    (here / "b.csv").write_text(f'# pgcjax {{"part": [1, 2], "x": 1}}\n{rows}')
    (here / "c.csv").write_text(f'# pgcjax {{"part": [2, 2]}}\n{rows}')
    said = "parts are missing: " + ", ".join(
        f"{i}/1000000000000" for i in (*range(1, 7), *range(8, 12))
    )
    done = pgcjax("files", "merge", "a.csv", "-o", "out.csv")
    assert done == (2, "", f"pgcjax: error: {said}, …. Add them.\n")
    done = pgcjax("files", "merge", "b.csv", "c.csv", "-o", "out.csv")
    said = "c.csv: belongs to another job than b.csv: it differs in x"
    assert done == (2, "", f"pgcjax: error: {said}\n")
    (here / "d.csv").write_text(rows)
    done = pgcjax("files", "merge", "b.csv", "d.csv", "-o", "out.csv")
    said = "d.csv: is no part of a job (evaluate --part I/N)"
    assert done == (2, "", f"pgcjax: error: {said}\n")
    table = pa.Table.from_pandas(pd.read_csv(here / "a.csv", skiprows=1))
    table = table.replace_schema_metadata({b"pgcjax": b"# pgcjax \xff"})
    pq.write_table(table, here / "p.parquet")
    done = pgcjax("files", "merge", "p.parquet", "-o", "out.csv")
    assert done == (2, "", f"pgcjax: error: p.parquet:1: {NO_OBJECT}\n")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("3", "--part 3: expected I/N such as 3/16, 1 <= I <= N"),
        ("0/2", "--part 0/2: expected I/N such as 3/16, 1 <= I <= N"),
        ("3/2", "--part 3/2: expected I/N such as 3/16, 1 <= I <= N"),
        ("1/9", "part 1/9: these runs make at most 8 parts"),
    ],
)
def test_mistakes(pgcjax, demo, part, said):
    line = ["evaluate", *JUDGED, "runs", "-o", "out.csv", "--part", part]
    assert pgcjax(*line) == (2, "", f"pgcjax: error: {said}\n")
    done = pgcjax("evaluate", *JUDGED, "runs", "--part", "1/2")
    assert done.err == (
        "pgcjax: error: --part needs -o FILE: merge combines the files\n"
    )
