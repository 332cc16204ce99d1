"""Readers as plug-ins: which is asked, what is said of a file, what packages bring."""

import gzip
import json
import os
import sys
import zipfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from helpers.pages import blocks

from pgcjax.cli import main
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.files import Reader, read_preferences, read_qrels, read_runs, reading
from pgcjax.io import plugin_readers
from pgcjax.io.plugin_readers import text_id

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
PICKS = {"tool": "picks", "tasks": [{"id": "t1", "pair": ["x", "y"], "picked": 1}]}
BATTLE = {"who": "x", "whom": "y", "task": "t1"}


@pytest.fixture
def readers(monkeypatch):
    """The readers of a test, by name, in place of all others."""
    known: dict[str, Reader] = {}
    monkeypatch.setattr(plugin_readers, "readers", lambda: known)
    return known


def add(readers, name, read, kind="preferences", claims=lambda content: True):
    readers[name] = Reader(name, kind, claims, read)


def battles(content):
    for row in content.rows():
        names = {"doc_id": row["who"], "other_doc_id": row["whom"]}
        yield {"query_id": row["task"], **names, "preference": 1}


def installed(folder: Path, monkeypatch) -> None:
    """Put the package of docs/formats.md where Python finds it, as pip would."""
    example = {block.title: block.text for block in blocks(PAGE.read_text())}
    module, project = example["pgcjax_picks.py"], example["pyproject.toml"]
    (folder / "pgcjax_picks.py").write_text(module)
    assert len([line for line in module.splitlines() if line.strip()]) <= 20
    info = folder / "pgcjax_picks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pgcjax-picks\nVersion: 1.0\n"
    )
    points = project.replace('project.entry-points."', "").replace('"', "")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "pgcjax_picks", raising=False)


def test_a_reader_of_another_package(tmp_path, monkeypatch, capsys):
    installed(tmp_path, monkeypatch)
    plugin_readers.readers.cache_clear()
    path = tmp_path / "picks.json"
    path.write_text(json.dumps(PICKS))
    try:
        for options in ([], ["--reader", "picks"]):
            with pytest.raises(SystemExit, match="0"):
                main(["files", "check", "--prefs", str(path), *options])
        assert "1 query, 1 judgment of 2 documents" in capsys.readouterr().out
        path.write_text(json.dumps(PICKS).replace('"picked": 1', '"picked": 2'))
        with pytest.raises(DataError, match="task t1: picked is neither 0 nor 1"):
            read_preferences(path)
    finally:
        plugin_readers.readers.cache_clear()


@pytest.mark.parametrize("defect", ["import no_such_module", "READER = 3"])
def test_a_package_with_a_defect_is_left_out_and_named(tmp_path, monkeypatch, defect):
    installed(tmp_path, monkeypatch)
    (tmp_path / "pgcjax_picks.py").write_text(defect)
    plugin_readers.readers.cache_clear()
    with pytest.warns(DataWarning, match="package pgcjax-picks: reader pgcjax_picks:"):
        assert {*plugin_readers.readers()} >= {"alpaca-eval", "lmarena"}
    plugin_readers.readers.cache_clear()


@pytest.mark.parametrize("container", ["lines", "array", "gz", "parquet"])
def test_rows_of_any_container(tmp_path, readers, container):
    path, rows = tmp_path / "file", [BATTLE, BATTLE | {"whom": "z"}]
    lines = "\n".join(map(json.dumps, rows)).encode()
    if container == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        array = json.dumps(rows).encode()
        data = {"lines": lines, "array": array, "gz": gzip.compress(lines)}
        path.write_bytes(data[container])
    add(readers, "battles", battles, claims=lambda content: '"whom"' in content.head)
    assert read_preferences(path).values.tolist() == [
        ["t1", "x", "y", 1.0],
        ["t1", "x", "z", 1.0],
    ]


def test_who_is_asked(tmp_path, readers):
    path = tmp_path / "battles.jsonl"
    path.write_text(json.dumps(BATTLE) + "\n")
    with pytest.raises(DataError, match="missing columns .* 'doc_id'"):
        read_preferences(path)  # nobody claims it: what was said first
    add(readers, "two", lambda content: [{}], "qrels")
    with pytest.raises(DataError, match="is a file of two, expected preferences"):
        read_preferences(path)
    add(readers, "one", battles)
    assert len(read_preferences(path)) == 1
    add(readers, "three", lambda content: [])
    both = "may be a file of one and of three. Name one: --reader one or three"
    with pytest.raises(DataError, match=both):
        read_preferences(path)
    with reading(reader="one"):
        assert len(read_preferences(path)) == 1
        with pytest.raises(UsageError, match="reader one and format jsonl: choose"):
            read_preferences(path, format="jsonl")
    with reading(reader="three"), pytest.raises(DataError, match="no preferences of"):
        read_preferences(path)
    with reading(reader="four"), pytest.raises(UsageError, match="one of two, one, th"):
        read_preferences(path)
    plain = tmp_path / "plain.csv"
    plain.write_text("query_id,doc_id,other_doc_id,preference\nq,a,b,-1\n")
    assert read_preferences(plain)["preference"].tolist() == [-1.0]


def test_runs_and_qrels(tmp_path, readers):
    path = tmp_path / "nested.json"
    path.write_text('{"q1": {"a": 2, "b": 1}}')

    def cells(content, column):
        for query, docs in content.json().items():
            for doc, x in docs.items():
                yield {"run_id": "r", "query_id": query, "doc_id": doc, column: x}

    add(readers, "nested-runs", lambda content: cells(content, "score"), "runs")
    assert read_runs(path).table["score"].tolist() == [2.0, 1.0]
    with reading(
        reader="nested-runs"
    ):  # kept, as runs are read when they are asked for
        runs = read_runs(path)
    readers["other"] = replace(readers["nested-runs"], name="other")
    assert runs.table["score"].tolist() == [2.0, 1.0]
    del readers["other"]
    add(readers, "nested-qrels", lambda content: cells(content, "grade"), "qrels")
    assert read_qrels(path)["relevance"].tolist() == [2.0, 1.0]


def test_answers_that_are_none(tmp_path, readers):
    path = tmp_path / "battles.jsonl"
    path.write_text(json.dumps(BATTLE))
    signs: list[int | None] = [None, 2]

    def unsure(content):
        for row, sign in product(battles(content), signs):
            yield row | {"preference": sign, "judge": "j"}

    add(readers, "unsure", unsure)
    table = read_preferences(path)
    assert table["preference"].tolist() == [2.0]
    assert table.attrs["refused"] == {"j": 1}
    signs.pop()
    with pytest.raises(DataError, match="battles.jsonl: no row says which of two"):
        read_preferences(path)


FAULTS = [
    ({"who": "y"}, "battles.jsonl:3: document 'y' is compared with itself"),
    ({"who": ""}, "battles.jsonl:3: expected doc_id, found nothing"),
    ({"who": 0.5}, "battles.jsonl:3: expected doc_id, found 0.5"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_errors_name_the_line(tmp_path, readers, change, message):
    path = tmp_path / "battles.jsonl"
    rows = map(json.dumps, (BATTLE, BATTLE | change))
    path.write_text("\n\n".join(rows))
    add(readers, "battles", battles)
    with pytest.raises(DataError) as caught:
        read_preferences(path)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_a_file_of_another_form_is_no_traceback(tmp_path, readers):
    path = tmp_path / "battles.json"
    path.write_text(json.dumps([BATTLE, {"task": "t1"}]))
    add(readers, "battles", battles)
    with pytest.raises(DataError) as caught:
        read_preferences(path)
    assert str(caught.value) == (
        f"{path}, record 2: does not have the layout that battles reads (KeyError: "
        "'who'). Is it of "
        "another version of the tool, or a file of something else?"
    )
    add(readers, "faulty", battles, claims=lambda content: 1 / 0)
    with pytest.warns(
        DataWarning, match="reader faulty is left out, because of ZeroDivision"
    ):
        with pytest.raises(DataError, match="record 2"):
            read_preferences(path)


def test_archives(tmp_path, readers):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("votes.json", json.dumps([BATTLE]))
    data = path.read_bytes()

    def unzipped(content):
        names = content.members()
        assert names == ["votes.json"]
        for row in json.loads(content.member(names[0])):
            yield {"query_id": "q", "winner": row["who"], "loser": row["whom"]}
        content.member("other.json")

    add(readers, "archive", unzipped)
    with pytest.raises(
        DataError, match="log.eval: does not have the layout that archive"
    ):
        read_preferences(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="cannot read the ZIP archive"):
        read_preferences(path)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no pipes by name")
def test_a_pipe_is_kept_for_whoever_reads_it(readers):
    add(readers, "battles", battles)
    for chosen in (None, "battles"):
        end, start = os.pipe()
        os.write(start, json.dumps(BATTLE).encode())
        os.close(start)
        with reading(reader=chosen):
            assert len(read_preferences(f"/dev/fd/{end}")) == 1
        os.close(end)


def test_ids_of_texts():
    assert text_id("A fruit.") == "A fruit."
    long = [text_id(text) for text in ("a\nb", "a b ", "a  b" * 40, "", "\ud800")]
    assert len({*long}) == 5 and all(" #" in f" {name}" for name in long)
    assert max(map(len, long)) <= 60 and all(name.isprintable() for name in long)
