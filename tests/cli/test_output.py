"""What `evaluate` prints and writes: every digit, the same each time, or nothing."""

import json

import numpy as np
import pandas as pd
import pytest

import pgcjax as package
from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_scores

SUFFIXES = [".trec", ".tsv", ".csv", ".jsonl", ".parquet"]
BOTH = ["evaluate", "--prefs", "prefs.txt", "--qrels", "qrels.txt"]


def test_one_run(pgcjax):
    done = pgcjax(*BOTH, "run.txt")
    assert done.code == 0
    head, *lines = done.out.splitlines()
    assert json.loads(head.removeprefix("# pgcjax "))["order"] == "trec"
    assert [line.split("\t")[:2] for line in lines] == [
        ["PGC", "all"],
        ["Compat", "all"],
    ]
    assert all(len(line.split("\t")[2]) == len("0.1234") for line in lines)
    assert done.err == "pgcjax: PGC, Compat: 1 run, 2 judged queries\n"


def test_several_runs_and_queries(pgcjax):
    done = pgcjax(*BOTH, "two.txt", "run.txt", "-q", "-m", "PGC", "-m", "Compat(p=.8)")
    fields = [line.split("\t") for line in done.out.splitlines()[1:]]
    assert [f[:3] for f in fields] == [
        [run, measure, query]
        for run in ("one", "two")
        for query in ("q1", "q2", "all")
        for measure in ("PGC", "Compat(p=0.8)")
    ]
    values = {tuple(f[:3]): float(f[3]) for f in fields}
    for run in ("one", "two"):
        each = [values[run, "PGC", q] for q in ("q1", "q2")]
        assert values[run, "PGC", "all"] == pytest.approx(np.mean(each), abs=1e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("runs", [["run.txt"], ["run.txt", "two.txt"]])
def test_files_keep_everything(pgcjax, here, suffix, runs):
    """Scores to the last bit, metadata, and the same bytes each time."""
    expected = package.evaluate(runs, preferences="prefs.txt", qrels="qrels.txt")
    written = []
    for _ in range(2):
        done = pgcjax(*BOTH, *runs, "-o", f"out{suffix}")
        assert done.code == 0
        assert f"wrote {len(expected.table)} scores to out{suffix}" in done.err
        written.append((here / f"out{suffix}").read_bytes())
    assert written[0] == written[1]
    read = read_scores(f"out{suffix}")
    pd.testing.assert_frame_equal(read.table, expected.table, check_exact=True)
    assert read.metadata == expected.metadata
    assert set(read.metadata) >= {"version", "order", "missing", "measures"}
    pd.testing.assert_frame_equal(read.mean(), expected.mean(), check_exact=True)


def test_a_table_of_another_tool(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("value,measure,note,run_id,query_id\n0.5,map,x,r,q1\n")
    assert read_scores(path).table.to_numpy().tolist() == [["r", "q1", "map", 0.5]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "run_id,query_id\nr,q\n",
            r"a\.csv: missing columns \['measure', 'value'\]",
        ),
        (
            "a.csv",
            "run_id,query_id,measure,value\nr,q,m,\n",
            r"a\.csv:2: expected a finite",
        ),
    ],
)
def test_files_that_hold_no_scores(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_scores(tmp_path / name)


def test_files_that_cannot_be_written(tmp_path, demo_scores):
    scores = demo_scores
    with pytest.raises(
        UsageError, match=r"out\.txt: the suffix of an output file is one"
    ):
        scores.save(tmp_path / "out.txt")
    with pytest.raises(DataError, match=r"out\.csv: cannot write there: No such file"):
        scores.save(tmp_path / "none/out.csv")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_job_that_fails_while_writing(pgcjax, here, monkeypatch, suffix):
    """The file of an earlier job stays, and finished work alone lies beside it."""
    (here / f"out{suffix}").write_text("of an earlier job")
    before = sorted(p.name for p in here.iterdir())

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    done = pgcjax("evaluate", "--prefs", "prefs.txt", "run.txt", "-o", f"out{suffix}")
    assert (done.code, done.out) == (2, "")
    kept = f"out{suffix}.partial"
    assert done.err.removeprefix(f"pgcjax: error: out{suffix}") in [
        f"{file}: cannot write there: No space left on device. An existing file "
        "there is unchanged.\n"
        for file in ("", ".partial/job.json")  # finished work is written first
    ]
    monkeypatch.undo()
    assert (here / f"out{suffix}").read_text() == "of an earlier job"
    assert sorted(p.name for p in here.iterdir() if p.name != kept) == before


def test_a_frame_with_gaps_in_whole_number_ids():
    """As `pandas.read_csv` makes one: refused, as 7 has become 7.0."""
    run = pd.DataFrame({"qid": [7.0, 8.0], "docno": ["a", "b"], "score": [1, 2]})
    prefs = pd.DataFrame({"qid": ["7"], "winner": ["a"], "loser": ["b"]})
    with pytest.raises(
        DataError, match=r"^runs, row 1: expected query_id, found 7\.0\. "
    ):
        package.evaluate(run, preferences=prefs)
