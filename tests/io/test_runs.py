"""Runs in every form, named by tag or file, checked as they are read."""

import gzip
import math
import os
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.builders import run_table

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.runs import Runs, read_runs

TREC = "q1 Q0 d1 1 2.5 {0}\nq1\tQ0\td2\t2\t1e-3\t{0}\nq2  Q0  d1 \t 1 -4 {0}\n"
COLUMNS_OF_PREFERENCES = ["query_id", "doc_id", "other_doc_id", "preference"]
DICT_PREFERENCES = pd.DataFrame(
    [["q1", "d1", "d2", 1.0], ["q1", "d2", "d3", 1.0]], columns=COLUMNS_OF_PREFERENCES
)
DICT = {"q1": {"d1": 2.5, "d2": 1e-3}, "q2": {"d1": -4}}
EXPECTED = [("q1", "d1", 2.5), ("q1", "d2", 0.001), ("q2", "d1", -4.0)]


def rows(runs):
    return list(
        runs[["query_id", "doc_id", "score"]].itertuples(index=False, name=None)
    )


def test_trec_and_three_columns(put):
    runs = run_table(put("a.run", TREC.format("bm25")))
    assert list(runs.columns) == ["run_id", "query_id", "doc_id", "score", "rank"]
    assert rows(runs) == EXPECTED
    assert runs["run_id"].unique().tolist() == ["bm25"]
    assert runs["rank"].tolist() == [1, 2, 1]
    runs = run_table(put("dense.txt", "q1 d1 2.5\nq1\td2 1e-3\nq2 d1 -4\n"))
    assert rows(runs) == EXPECTED
    assert runs["run_id"].unique().tolist() == ["dense"]
    assert runs["rank"].isna().all()


def test_frames_and_dicts():
    frame = pd.DataFrame(EXPECTED, columns=["qid", "docno", "score"])
    for source in (frame, DICT, run_table(DICT), run_table(frame)):
        runs = run_table(source)
        assert rows(runs) == EXPECTED
        assert runs["run_id"].unique().tolist() == ["run"]
    several = run_table({"b": DICT, "a": {"q1": {"d1": 1}}})
    assert several["run_id"].tolist() == ["b", "b", "b", "a"]
    assert rows(several)[:3] == EXPECTED
    assert frame.columns.tolist() == ["qid", "docno", "score"]  # left as it was


@pytest.mark.parametrize(
    "names",
    [
        ("run_id", "query_id", "doc_id", "score"),
        ("name", "qid", "docno", "score"),
        ("Run", "Q_ID", "DocID", " Score "),
        ("tag", "topic", "did", "sim"),
        ("system", "query", "pid", "score"),
    ],
)
def test_aliases(names):
    frame = pd.DataFrame([("r", "q", "d", 1.0)], columns=list(names))
    runs = run_table(frame.assign(text="of the document"))
    assert runs.iloc[0, :4].tolist() == ["r", "q", "d", 1.0]


def test_ranks_alone():
    frame = pd.DataFrame({"qid": "q", "docno": ["a", "b"], "rank": [1, 2]})
    runs = run_table(frame)
    assert runs["score"].tolist() == [-1, -2]
    with pytest.raises(
        DataError, match=r"^runs, row 2: expected a finite number as rank"
    ):
        run_table(frame.assign(rank=["1", "-"]))


def test_junk_ranks_are_missing_ranks(put):
    """Many tools write no ranks: that matters only if they decide the order."""
    for junk in ("-", "x", "1_0", "nan"):
        runs = run_table(put("a.run", f"q Q0 d {junk} 2 t\nq Q0 e 2 1 t\n"))
        assert math.isnan(runs["rank"][0]) and runs["rank"][1] == 2
    ranks = pd.array([1, None], "Int64")
    frame = pd.DataFrame({"qid": "q", "docno": ["a", "b"], "score": 1, "rank": ranks})
    assert run_table(frame)["rank"].isna().tolist() == [False, True]


def test_many_files(put, tmp_path):
    for name in ("b", "a", "c"):
        put(f"runs/{name}.run", TREC.format(name.upper()))
    runs = run_table(tmp_path / "runs")
    assert runs["run_id"].unique().tolist() == ["A", "B", "C"]
    assert runs.index.tolist() == list(range(9))
    runs = run_table(tmp_path / "runs", name_by="file")
    assert runs["run_id"].unique().tolist() == ["a", "b", "c"]
    put("runs/c.v2.txt.gz", gzip.compress(TREC.format("C").encode()))
    for name_by, last in (("file", "c.v2"), ("filename", "c.v2.txt")):
        runs = run_table(tmp_path / "runs/c.v2.txt.gz", name_by=name_by)
        assert runs["run_id"].unique().tolist() == [last]


def test_file_by_file(put, tmp_path):
    seen = []
    put("runs/a.run", TREC.format("A"))
    put("runs/b.txt", "q d 1\n")
    put("runs/c.csv", "run,qid,docno,rank\nx,q,d,1\ny,q,d,2\n")
    tables = list(
        read_runs(tmp_path / "runs").tables(progress=lambda *x: seen.append(x))
    )
    for table in tables:
        assert list(table.schema.items()) == [
            ("run_id", pl.String),
            ("query_id", pl.String),
            ("doc_id", pl.String),
            ("score", pl.Float64),
            ("rank", pl.Float64),
        ]
        assert not any(column.null_count() for column in table)
    assert [t["run_id"].unique().sort().to_list() for t in tables] == [
        ["A"],
        ["b"],
        ["x", "y"],
    ]
    assert tables[1]["rank"].is_nan().all()
    assert seen == [("reading", i, 3) for i in (1, 2, 3)]
    whole = pl.concat(tables).to_pandas()
    pd.testing.assert_frame_equal(whole, run_table(tmp_path / "runs"))
    for source in (DICT, run_table(DICT)):
        (table,) = read_runs(source).tables()
        pd.testing.assert_frame_equal(table.to_pandas(), run_table(DICT))


def test_what_is_wrong_is_said_in_its_turn(put, tmp_path):
    """Arguments at once; a file after those before it."""
    with pytest.raises(DataError, match="no such file"):
        read_runs(tmp_path / "none")
    with pytest.raises(DataError, match=r"^runs: expected a dict of documents"):
        read_runs({})
    for name, text in (("a", TREC.format("A")), ("b", "q Q0 d\n"), ("c", "q\n")):
        put(f"runs/{name}.run", text)
    tables = read_runs(tmp_path / "runs").tables()
    assert next(tables)["run_id"][0] == "A"
    with pytest.raises(DataError, match=r"b\.run:1: expected 'query doc score'"):
        next(tables)
    assert list(tables) == []


def test_one_file_of_several_runs(put):
    text = "run,qid,docno,score\nx,q,d,1\ny,q,d,2\n"
    assert run_table(put("a.csv", text))["run_id"].tolist() == ["x", "y"]
    with pytest.raises(
        DataError,
        match=r"a\.csv: holds 2 runs, such as 'x' and 'y', which its name cannot tell "
        r"apart\. Name runs by tag: name_by=tag \(--name-by on the command line\)\.$",
    ):
        run_table(put("a.csv", text), name_by="file")


def test_two_files_claim_one_name(put, tmp_path):
    put("x/a.run", TREC.format("same"))
    put("y/a.run", TREC.format("same"))
    sources = [tmp_path / "x", tmp_path / "y"]
    for name_by, run, other in (("tag", "same", "file"), ("file", "a", "tag")):
        with pytest.raises(
            DataError,
            match=rf"y/a\.run: claims the run name '{run}', as .*x/a\.run does\. "
            rf"Rename one, or name runs by {other}: name_by={other} \(--name-by on the "
            r"command line\)\.$",
        ):
            run_table(sources, name_by=name_by)


def test_wrong_options():
    with pytest.raises(
        UsageError, match=r"^format is one of auto, csv, .*, not 'trec'$"
    ):
        read_runs(DICT, format="trec")
    with pytest.raises(UsageError, match="^name_by is one of tag, file, filename, not"):
        read_runs(DICT, name_by="x")


def test_named_format_overrules_the_suffix(put):
    path = put("a.tsv", TREC.format("t"))
    assert rows(run_table(path, format="columns")) == EXPECTED
    assert rows(run_table(put("a.txt", "qid,docno,score\nq,d,1\n"), format="csv")) == [
        ("q", "d", 1.0)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q Q0 d 1 1_0 t\n",
            r":1: expected a finite number as score, found '1_0'\. .*",
        ),
        (
            "q Q0 d 1 1,5 t\n",
            r":1: expected a finite number as score, found '1,5'\. .*",
        ),
        (
            "q d 2\nq e 1 x\n",
            r":2: expected 'query doc score', found 4 fields: 'q e 1 x'\. All lines .*",
        ),
        (
            "q Q0 d 1 2 my tag\n",
            r":1: expected 'query Q0 doc rank score tag', found 7 fields: 'q Q0 d 1 2 "
            r"my "
            r"tag'\. A run has 6 or 3 columns, or a header; .*",
        ),
        ("q d nan\n", r":1: expected a finite number as score, found 'nan'\. .*"),
        ("qid,docno,score\nq,,1\n", r":2: expected doc_id, found nothing\. Ids are .*"),
        (
            '{"qid": 1, "docno": 2, "score": true}\n',
            r":1: .* as score, found True\. .*",
        ),
        (
            '{"qid": 1, "docno": 2, "score": 1e999}\n',
            r":1: .* as score, found inf\. .*",
        ),
        (
            '{"qid": 1, "docno": 2, "score": ' + "9" * 400 + "}\n",
            r":1: expected a finite number as score, found 9{40} … 9{40}\. .*",
        ),
    ],
)
def test_malformed_files(put, text, message):
    path = put("a.run", text)
    with pytest.raises(DataError, match=rf"^\S*/a\.run{message}$"):
        run_table(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, r"runs: expected a dict of documents for run 'run', found \{\}\. Pass .*"),
        ({"q": {}}, r"runs: expected a dict of documents for run 'run', found .*"),
        (
            {"q": 1},
            r"runs: expected a dict of dicts, as that of 'q', found 1\. Pass .*",
        ),
        ({"q": ["d"]}, r"runs: expected a dict of dicts, .*, found \['d'\]\. Pass .*"),
        (
            {"q": {"d": 1}, "r": {"q": {"d": 1}}},
            r"runs: expected a dict of scores for query 'd' of run 'q', found 1\. Pass "
            r"\{query: \{doc: score\}\}; for several runs "
            r"\{run: such a dict, or a table\}\.",
        ),
        (
            {"r": {"q": {"d": 1}}, "s": {"q": ["d"]}},
            r"runs: expected a dict of scores .*",
        ),
        ({"r": {"q": {"d": 1}}, "s": {}}, r"runs: .* documents for run 's', found .*"),
        ({"r": {"q": {"d": 1}}, "s": {"q": {}}}, r"runs: .* for run 's', found .*"),
        ({"q": {"d": "x"}}, r"runs, entry 1: expected a finite .* found 'x'\. .*"),
        ({"q": {"d": 1, "e": None}}, r"runs, entry 2: .* as score, found nothing\. .*"),
        ({"q": {1: 1, "1": 2}}, r"runs, entry 2: document '1' is twice .*"),
        (
            {"q": {1.5: 1}},
            r"runs, entry 1: expected doc_id, found 1\.5\. Ids are text .*",
        ),
        (pd.DataFrame(), r"runs: holds no rows\. Add rows\."),
        (
            pd.DataFrame(
                [("q", "a", "b", 1)], columns=["qid", "docno", "docno", "score"]
            ),
            r"runs: has more than one column 'docno'\. Rename or drop one\.",
        ),
        (
            pd.DataFrame({"qid": "q", "docno": ["a", "b"], "score": [1, np.inf]}),
            r"runs, row 2: expected a finite number as score, found inf\. .*",
        ),
        (
            pd.DataFrame({"qid": "q", "docno": ["a", "b"], "score": [1, np.nan]}),
            r"runs, row 2: expected a finite number as score, found nan\. .*",
        ),
        (
            pd.DataFrame({"qid": "q", "docno": ["a", "b", "a"], "score": 1}),
            r"runs, row 3: document 'a' is twice in query 'q' of run 'run': row 1 and "
            r"row 3\. Keep one of the two\.",
        ),
    ],
)
def test_malformed_tables_and_dicts(source, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        run_table(source)


def test_a_query_without_documents_is_missing():
    assert rows(run_table({"q": {}, "q2": {"d": 1}})) == [("q2", "d", 1.0)]


def test_public_runs(data):
    """No row of 89 public runs is lost or changed."""
    for folder, count, lines in (("dl21", 63, 358950), ("cast2019", 26, None)):
        files = sorted((data / folder / "runs").iterdir())
        runs = run_table(data / folder / "runs", name_by="file")
        assert runs["run_id"].nunique() == len(files) == count
        assert lines is None or len(runs) == lines
        for path in (files[0], files[-1]):
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt") as file:
                fields = [line.split() for line in file]
            name = path.name.removesuffix(".gz").removesuffix(".run")
            mine = runs[runs.run_id == name]
            assert mine["query_id"].tolist() == [f[0] for f in fields]
            assert mine["doc_id"].tolist() == [f[2] for f in fields]
            assert mine["score"].tolist() == [float(f[4]) for f in fields]
    with pytest.raises(DataError, match=r"claims the run name 'BERT-.*name_by=file"):
        run_table(data / "cast2019/runs")


def test_trec_eval_runs(data):
    folder = data / "oracles/trec_eval"
    runs = run_table(folder / "results.comment.test.gz")
    assert len(runs) == 30100 and runs.attrs == {"comments": 0}
    assert runs["doc_id"].str.contains("#").all()
    assert len(run_table(folder / "results.test")) == 1500
    for name, line in (("results.trunc", 1), ("prefs.rank20", 1)):
        with pytest.raises(
            DataError, match=rf"{name}:{line}: expected 'query Q0 doc rank"
        ):
            run_table(folder / name)


def test_runs_are_read_when_they_are_needed(put):
    path = put("a.run", TREC.format("A"))
    runs = read_runs(path)
    assert repr(runs) == "<Runs: 1 unit; .table has all of them>"
    assert runs.table is runs.table and len(runs.table) == 3
    path.write_text("no run\n")
    wrong = read_runs(path)
    with pytest.raises(DataError, match="a.run:1: expected"):
        wrong.table  # noqa: B018
    put("b.run", TREC.format("B"))
    several = read_runs(
        [put("a.run", TREC.format("A")), put("b.run", TREC.format("B"))]
    )
    assert len(several.table) == 6 and len(several.first(1).table) == 3


def test_what_was_a_frame_says_where_the_frame_is():
    runs = read_runs(DICT)
    line = (
        "runs are read when they are needed, and are no DataFrame: use .table, a "
        "DataFrame of all of them"
    )
    for use in (lambda: runs["run_id"], lambda: [*runs], lambda: "run_id" in runs):
        with pytest.raises(UsageError) as error:
            use()
        assert str(error.value) == line
    with pytest.raises(AttributeError) as missing:
        runs.groupby("run_id")
    assert str(missing.value) == f"no groupby: {line}"


def test_whatever_takes_runs_takes_what_was_listed(put, tmp_path, monkeypatch):
    """And makes no DataFrame of it."""
    paths = [put(f"{name}.run", TREC.format(name)) for name in "AB"]
    prefs = {"preferences": DICT_PREFERENCES}
    expected = {
        "evaluate": pgcjax.evaluate(paths, **prefs).table,
        "rbo": pgcjax.rankings.rbo(paths).table,
        "prefer": pgcjax.rankings.prefer(
            paths, qrels={"q1": {"d1": 1}}, measures="RPP"
        ).table,
        "next": pgcjax.judgments.next(paths, **prefs).table,
    }
    monkeypatch.setattr(Runs, "table", property(lambda self: 1 / 0))
    runs = read_runs(paths)
    found = {
        "evaluate": pgcjax.evaluate(runs, **prefs).table,
        "rbo": pgcjax.rankings.rbo(runs).table,
        "prefer": pgcjax.rankings.prefer(
            runs, qrels={"q1": {"d1": 1}}, measures="RPP"
        ).table,
        "next": pgcjax.judgments.next(runs, **prefs).table,
    }
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table)
    assert pgcjax.files.pack(runs, tmp_path / "packed.parquet") == 2
    with pytest.raises(UsageError, match="would overwrite"):
        pgcjax.files.pack(
            read_runs(tmp_path / "packed.parquet"), tmp_path / "packed.parquet"
        )
    monkeypatch.undo()
    named = pgcjax.evaluate(
        {"x": read_runs(paths[0]), "y": read_runs(paths[1])}, **prefs
    )
    assert named.runs == ["x", "y"]


def test_runs_keep_the_encoding_with_which_they_were_listed(put):
    path = put("a.run", "q Q0 caf\xe9 1 2 t\n".encode("latin-1") * 1)
    with pgcjax.files.reading(encoding="latin-1"):
        runs = read_runs(path)
    assert runs.table["doc_id"].tolist() == ["café"]
    prefs = pd.DataFrame([["q", "café", "d", 1]], columns=COLUMNS_OF_PREFERENCES)
    assert pgcjax.evaluate(runs, preferences=prefs).mean().loc["t", "PGC"] > 0
    utf8 = put("b.run", "q Q0 café 1 2 t\n".encode())
    runs = read_runs(utf8)
    with pgcjax.files.reading(encoding="latin-1"):
        assert runs.table["doc_id"].tolist() == ["café"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_read_once_and_kept(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(
        target=(tmp_path / "pipe").write_text, args=(TREC.format("A"),)
    )
    writer.start()
    runs = read_runs(tmp_path / "pipe")
    for _ in range(2):
        assert [len(table) for table in runs.tables()] == [3]
    writer.join()
