"""A large run file is read in pieces: the same rows, and the same refusals."""

import bz2
import codecs
import gzip
import lzma
from contextlib import closing
from functools import partial
from itertools import chain

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

from pgcjax.errors import DataError
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import reading
from pgcjax.io.runs import read_runs

MEMORY = "16MiB"  # of which a run file has 2 MiB, and a piece 512 KiB
QUERIES, DEPTH = 25, 400
DOC = f"document-of-{'some-' * 15}length-"  # few lines of many bytes


def lines(runs=2, queries=QUERIES, depth=DEPTH):
    return [
        f"q{q} Q0 {DOC}{d} {d} {-d} run{r}"
        for r in range(runs)
        for q in range(queries)
        for d in range(depth)
    ]


LINES = lines()
TEXT = "\n".join(LINES).encode()
assert len(TEXT) > 2**21


@pytest.fixture(autouse=True, scope="module")
def little():
    """Let memory be less than users may have, so that small files are large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgcjax.io.reading._LEAST", 2**24)
        yield


def read(path, order="trec", **how) -> list:
    """Read as scoring does, within little memory."""
    judged = JudgedDocuments({"q1": [f"{DOC}1"]})
    with reading(memory=MEMORY):
        with closing(read_runs(path, **how).read(judged, order, lambda x: x)) as units:
            return [*chain.from_iterable(unit.parts for unit in units)]


def message(path, **how) -> str:
    with pytest.raises(DataError) as error:
        read(path, **how)
    return str(error.value)


def put_together(pieces) -> pl.DataFrame:
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    rankings = [set(p.frame.select("run_id", "query_id").rows()) for p in pieces]
    assert sum(map(len, rankings)) == len(set().union(*rankings))  # each in one piece
    return pl.concat([piece.frame for piece in pieces])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.run"
    path.write_bytes(TEXT)
    (table,) = read_runs(path).tables()
    return table


FORMS = {
    "plain": bytes,
    "gz": partial(gzip.compress, compresslevel=1),
    "bz2": partial(bz2.compress, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
    "zst": zstandard.compress,
    "lines of Windows": lambda text: text.replace(b"\n", b"\r\n"),
    "lines of old Macs": lambda text: text.replace(b"\n", b"\r"),
    "tabs, a mark and many comments": lambda text: (
        codecs.BOM_UTF8 + b"# as sent\n" * 75_000 + text.replace(b" ", b"\t")
    ),
    "odd ids": lambda text: text.replace(b"length-2 ", b"length\x0b-2 "),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_rows_are_the_same(put, whole, form):
    path = put("whole.run", FORMS[form](TEXT))
    pieces = read(path, order="rank")
    assert len(pieces) > 3
    if form == "odd ids":  # the exact reader reads them
        (whole,) = read_runs(path).tables()
    assert_frame_equal(put_together(pieces), whole)


def test_three_columns_of_another_encoding(put):
    rows, doc = 30_000, "café-" * 16
    text = "".join(f"q{i // 1000} {doc}{i % 1000} {-i}\n" for i in range(rows))
    with reading(encoding="latin-1"):
        pieces = read(put("été.txt", text.encode("latin-1")))
    table = put_together(pieces)
    assert table["doc_id"].to_list() == [f"{doc}{i % 1000}" for i in range(rows)]
    assert table["run_id"].unique().to_list() == ["été"]
    said = message(put("a.run", text.encode("latin-1")))
    assert ":1: expected UTF-8 text, found byte 0xe9. Name its encoding: " in said
    data = text.replace("é", "e").encode()[:-1]
    with reading(encoding="cp1252"):
        said = message(put("a.run", data[:-9] + b"\x81" + data[-9:]))
    assert f":{rows}: expected cp1252 text, found byte 0x81. Name another" in said


def test_small_files_tables_with_a_header_and_whole_runs_are_no_pieces(put, whole):
    (small,) = read(put("a.run", "\n".join(LINES[:9])))
    assert small.last and len(small.frame) == 9
    rows = "".join(f"q,{'d' * 70}{i},1\n" for i in range(30_000))
    (table,) = read(put("a.csv", "qid,docno,score\n" + rows))
    assert table.last and len(table.frame) == 30_000
    with reading(memory=MEMORY):
        (table,) = read_runs(put("whole.run", TEXT)).tables()
    assert_frame_equal(table, whole)


def changed(line: int, text: str) -> bytes:
    return "\n".join([*LINES[:line], text, *LINES[line + 1 :]]).encode()


LATE = len(LINES) - 7
WRONG = {
    "a short line": changed(LATE, "q24 Q0 d 1"),
    "no number": changed(LATE, "q24 Q0 d 1 x run1"),
    "twice": changed(LATE, LINES[LATE - 1]),
    "no UTF-8": changed(LATE, "q24 Q0 dé 1 -1 run1").replace("é".encode(), b"\xe9"),
    "three columns": changed(LATE, "q24 d -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_as_of_a_whole_file(put, name):
    path = put("a.run", WRONG[name])
    with pytest.raises(DataError) as error:
        list(read_runs(path).tables())
    place = f"line {LATE + 1}" if name == "twice" else f"a.run:{LATE + 1}: "
    assert place in message(path) == str(error.value)


def test_what_pieces_alone_are_refused_for(put):
    tail = "\n".join(LINES[:DEPTH])
    path = put("a.run", TEXT + b"\n" + tail.encode())
    assert message(path) == (
        f"{path}: has more than 2 MiB, and query 'q0' of run 'run0' is in several "
        "places. Put the lines of each run and query together, or allow eight times "
        "the size of the file: pgcjax.files.reading(memory=SIZE), --memory SIZE on the "
        "command line."
    )
    doc = "d" * 120
    one = [f"q Q0 {doc}{i} 1 {-i} run" for i in range(17_500)]
    (piece,) = read(put("a.run", "\n".join(one)))  # one ranking is one piece
    assert len(piece.frame) == 17_500
    path = put("a.run", "\n".join([*one, one[0]]))
    assert message(path) == (
        f"{path}: document {doc + '0'!r} is twice in query 'q' of run 'run'. Keep "
        "one of the two."
    )
    three = "\n".join(f"q9 d{i} 1" for i in range(25_000))
    path = put("a.run", TEXT + b"\n" + three.encode())
    assert f"a.run:{len(LINES) + 1}: expected " in message(path)
    path = put("a.run", b"# nothing\n" * 2**18)
    assert message(path) == f"{path}: holds comments only. Expected lines of data."


def test_named_by_file(put, whole):
    one = "\n".join(lines(1, 2 * QUERIES)).encode()
    table = put_together(read(put("a.run", one), name_by="file"))
    assert table["run_id"].unique().to_list() == ["a"]
    assert "a.run: holds 2 runs, such as 'run0' and 'run1', which" in message(
        put("a.run", TEXT), name_by="file"
    )
    put("runs/a.run", one)
    path = put("runs/b.run", one)
    assert f"{path}: claims the run name 'run0', as " in message(path.parent)
