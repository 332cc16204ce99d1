"""Files are found where a user points, and split into fields without loss."""

import errno
import gzip
import io
import json
import os
from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import run_table

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io import files
from pgcjax.io.graded import read_qrels
from pgcjax.io.grids import read_grids
from pgcjax.io.intents import read_intents
from pgcjax.io.runs import read_runs
from pgcjax.stats.scores import read_scores

RUN = "q1 Q0 d1 1 2 {tag}\nq1 Q0 d2 2 1 {tag}\n"


def test_folders_files_and_patterns(put, tmp_path):
    for name in ("runs/b.run", "runs/a.run", "runs/deep/c.run", "d.run"):
        put(name, RUN.format(tag=name))
    put("runs/.hidden", "not a run")
    here = str(tmp_path)

    def names(*sources):
        return [str(f)[len(here) + 1 :] for f in files.expand(sources)]

    assert names(tmp_path / "runs") == ["runs/a.run", "runs/b.run"]
    assert names(f"{here}/*.run", f"{here}/runs") == [
        "d.run",
        "runs/a.run",
        "runs/b.run",
    ]
    assert names(f"{here}/runs/**/*.run") == [
        "runs/a.run",
        "runs/b.run",
        "runs/deep/c.run",
    ]
    assert names(f"{here}/runs/[ab].run") == ["runs/a.run", "runs/b.run"]
    runs = run_table([tmp_path / "runs", tmp_path / "d.run"])
    assert list(runs["run_id"].unique()) == ["runs/a.run", "runs/b.run", "d.run"]


def test_a_name_is_no_pattern_where_there_is_such_a_file(put, tmp_path):
    odd = put("run[1].txt", RUN.format(tag="odd"))
    put("run1.txt", RUN.format(tag="plain"))
    assert files.expand(str(odd)) == [odd]


def test_home_folder(put, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = put("a.run", RUN.format(tag="t"))
    assert files.expand("~/a.run") == [path]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.run", r"none\.run: no such file or folder\. Check the path\."),
        ("~nobody-here/x", r"~nobody-here/x: no such file or folder\. "),
        ("a\0b", r"no such file or folder\. "),
        ("*.run", r".*\*\.run: no file matches\. Check the path\."),
        ("empty", r".*empty: is a folder that holds no file\. "),
        ("x" * 5000, r"x+: cannot read it: File name too long\. "),
    ],
)
def test_nothing_there(tmp_path, monkeypatch, source, message):
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        files.expand(source)


def test_wrong_arguments():
    with pytest.raises(DataError, match="no file was named"):
        run_table([])


def test_a_file_named_twice(put, tmp_path):
    put("a.run", RUN.format(tag="t"))
    (tmp_path / "link.run").symlink_to(tmp_path / "a.run")
    for sources in ([tmp_path, tmp_path / "a.run"], [tmp_path]):
        with pytest.raises(DataError, match=r"\.run: is named twice\. Name it once\.$"):
            files.expand(sources)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bm25.run", "bm25"),
        ("bm25.v1.txt.gz", "bm25.v1"),
        ("a.b.c", "a.b.c"),
        ("x.csv.zst", "x"),
        ("x.PARQUET", "x"),
        ("input.mono-1", "input.mono-1"),
        (".gz", ".gz"),
    ],
)
def test_stem(name, expected):
    assert files.stem(f"some/folder/{name}") == expected


@pytest.mark.parametrize("name_by", ["tag", "file"])
def test_names_that_are_not_utf8(tmp_path, name_by):
    for name in (b"a\xff", b"a\xfe"):
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:
            file.write(b"q d 1\n")
    runs = run_table(tmp_path, name_by=name_by)
    assert runs["run_id"].tolist() == [r"a\xfe", r"a\xff"]


ROWS = [("q1", "d1", "2.5"), ("q1", "d,2", "1"), ("NA", 'd"3', "-1e-3")]
HEAD = ("qid", "docno", "score")


def text_of(kind: str) -> str:
    if kind == "jsonl":
        records = (dict(zip(HEAD, row, strict=True)) for row in ROWS)
        return "".join(json.dumps(r) + "\n" for r in records)
    frame = pd.DataFrame(ROWS, columns=list(HEAD))
    return frame.to_csv(index=False, sep="," if kind == "csv" else "\t")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("name", ["a.{}", "a.{}.gz", "a.txt", "a"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_tables_with_named_columns(put, kind, name, mark):
    """The suffix says what a file is, or else its first line does."""
    runs = run_table(put(name.format(kind), mark + text_of(kind)))
    assert runs["query_id"].tolist() == ["q1", "q1", "NA"]
    assert runs["doc_id"].tolist() == ["d1", "d,2", 'd"3']
    assert runs["score"].tolist() == [2.5, 1.0, -0.001]
    assert runs["run_id"].tolist() == ["a"] * 3


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.run", "a.parquet.gz"])
def test_parquet(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame(ROWS, columns=list(HEAD)).astype({"score": float})
    frame.to_parquet(path, compression="zstd")
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    runs = run_table(path)
    assert runs["doc_id"].tolist() == ["d1", "d,2", 'd"3']
    assert runs["score"].tolist() == [2.5, 1.0, -0.001]


def test_parquet_keeps_index_and_whole_numbers(tmp_path):
    frame = pd.DataFrame({"qid": [7, 7], "docno": [2**60 + 1, 5], "score": [1, 2]})
    frame.set_index("qid").to_parquet(tmp_path / "a.parquet")
    runs = run_table(tmp_path / "a.parquet")
    assert runs["query_id"].tolist() == ["7", "7"]
    assert runs["doc_id"].tolist() == ["1152921504606846977", "5"]


def test_parquet_damaged(tmp_path, put):
    pq.write_table(pa.table({"qid": ["q"] * 999}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for data in (b"", b"q d 1\n", whole[:-9], b"PAR1" + b"\1" * 50 + b"PAR1"):
        with pytest.raises(DataError, match=r"a\.parquet: cannot read it as Parquet: "):
            run_table(put("a.parquet", data))
    pq.write_table(pa.table({"qid": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: holds no rows\. Add rows\.$"):
        run_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "read",
    [
        read_runs,
        read_qrels,
        read_preferences,
        partial(read_preferences, format="xie"),
        read_grids,
        read_intents,
        read_scores,
    ],
)
def test_paths_that_nobody_can_look_at(put, tmp_path, monkeypatch, read):
    """A name that is too long, and a file in a folder that may not be searched."""
    long, locked = tmp_path / ("x" * 300), put("locked/a.txt", "text")
    look, real = os.stat, io.open

    def checked(path):
        if "locked/" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return path

    monkeypatch.setattr(os, "stat", lambda p, **more: look(checked(p), **more))
    monkeypatch.setattr(io, "open", lambda p, *more: real(checked(p), *more))
    for path, why in ((long, "File name too long"), (locked, "Permission denied")):
        with pytest.raises(DataError) as error:
            read(path)
        assert str(error.value) == (
            f"{path}: cannot read it: {why}. Check the path and its permissions."
        )


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_field_may_be_of_any_length(put, name, mark):
    doc = "d" * 200_000
    text = f"qid,docno,score\nq1,{doc},1\n".replace(",", mark)
    assert run_table(put(name, text))["doc_id"].tolist() == [doc]


def test_quoted_fields_and_places(put):
    """Lines are counted as in the file, whatever a quoted field holds."""
    text = (
        '# one\n# two\n\n"query_id","doc_id",score\nq,"d ""1"", x",3\n\n   \nq,d2,2\n'
    )
    runs = run_table(put("a.csv", text))
    assert runs["doc_id"].tolist() == ['d "1", x', "d2"]
    assert runs.attrs == {"comments": 2}
    with pytest.raises(
        DataError, match=r"a\.csv:9: expected 3 fields as in the header"
    ):
        run_table(put("a.csv", text + "q,d3\n"))
    with pytest.raises(DataError, match=r"a\.csv:9: expected 3 fields .*'q,d,3,4'"):
        run_table(put("a.csv", text + "q,d,3,4\n"))
    with pytest.raises(DataError, match=r"a\.csv:9: expected fields separated by ','"):
        run_table(put("a.csv", text + 'q,"d3,1\nq,d4,1\n'))
    with pytest.raises(DataError, match=r"a\.csv:9: expected doc_id, found 'a\\nb'"):
        run_table(put("a.csv", text + 'q,"a\nb",1\nq,d4,1\n'))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "q Q0 d 1 2 t\n", r"a\.tsv:1: expected a header .*\(\.txt\)"),
        ("a.csv", "qid;docno;score\nq;d;1\n", r"a\.csv:1: expected a header"),
        ("a.csv", "qid,docno,score\n", r"a\.csv: holds a header only\. Add rows\."),
        ("a.csv", "# nothing\n\n", r"a\.csv: holds comments only\. "),
        ("a.csv", "# one\n\n# two\n\nx,y\n", r"a\.csv:5: expected a header .* 'x,y'"),
        ("a.txt", "# nothing\n#\n", r"a\.txt: holds comments only\. "),
        (
            "a.jsonl",
            '{"qid": 1}\n[1]\n',
            r"a\.jsonl:2: expected one JSON object a line",
        ),
        ("a.jsonl", '{\n"qid": 1\n}\n', r"a\.jsonl:1: expected one JSON object a line"),
        (
            "a.jsonl",
            "[" * 99_999,
            r"a\.jsonl:1: expected one JSON object a line, found",
        ),
        ("a.jsonl", '{"qid": 1}\n', r"a\.jsonl: missing columns \['doc_id'\] \(found"),
    ],
)
def test_malformed_tables(put, name, text, message):
    with pytest.raises(DataError, match=message) as caught:
        run_table(put(name, text))
    assert len(str(caught.value)) < 500


def test_jsonl_with_gaps_keeps_ids(put):
    text = (
        '{"qid": 9007199254740993, "docno": 1, "score": 1}\n\n{"qid": 2, "score": 2}\n'
    )
    with pytest.raises(
        DataError, match=r"a\.jsonl:3: expected doc_id, found nothing\."
    ):
        run_table(put("a.jsonl", text))
    text = text.replace('2, "score"', '2, "docno": "x", "score"')
    assert run_table(put("a.jsonl", text))["query_id"].tolist() == [
        "9007199254740993",
        "2",
    ]
