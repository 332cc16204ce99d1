"""Files are read a few ahead, in order, and nothing is left running."""

import gzip
import os
import threading
import time
from functools import partial

import numpy as np
import pytest

from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataError
from pgcjax.io.graded import read_qrels
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import reading
from pgcjax.io.remote import size_on_disk
from pgcjax.io.runs import ahead, read_runs
from pgcjax.tensors.rankings import JudgedRanks, find


@pytest.fixture
def paths(put):
    return [put(f"{i:02}", "x" * 8) for i in range(30)]


class Reader:
    """Reads names, of which some are slow, and notes what was begun."""

    def __init__(self, bad=()):
        self.begun, self.bad = [], bad

    def __call__(self, path):
        self.begun.append(path.name)
        time.sleep(0.003 * (int(path.name) % 3))
        if path.name in self.bad:
            raise ValueError(path.name)
        return path.name


def readers_alive():
    return [t for t in threading.enumerate() if t.name.startswith("pgcjax-reader")]


def test_in_order_and_a_few_ahead(paths):
    read = Reader()
    for done, name in enumerate(ahead.read_ahead(read, paths, size_on_disk), 1):
        assert name == paths[done - 1].name
        assert len(read.begun) <= done + ahead.FILES
    assert sorted(read.begun) == [p.name for p in paths]
    assert not readers_alive()
    assert list(ahead.read_ahead(read, [], size_on_disk)) == []


def test_of_large_files_one_ahead(paths):
    read = Reader()
    for done, _ in enumerate(ahead.read_ahead(read, paths, lambda _: 2**30), 1):
        time.sleep(0.002)
        assert len(read.begun) <= done + 1
    assert done == 30


def test_an_error_has_its_turn(paths):
    """An earlier file that is slow to fail comes before a later one that is quick."""
    read, seen = Reader(bad=("05", "06")), []
    with pytest.raises(ValueError, match="05"):
        for name in ahead.read_ahead(read, paths, size_on_disk):
            seen.append(name)
    assert seen == [p.name for p in paths[:5]]
    assert not readers_alive()
    assert len(read.begun) <= 6 + ahead.FILES


@pytest.mark.parametrize("how", ["close", "forget", "raise"])
def test_stopping_early(paths, how):
    read = Reader()
    tables = ahead.read_ahead(read, paths, size_on_disk)
    next(tables)
    if how == "close":
        tables.close()
    elif how == "forget":
        del tables
    else:
        with pytest.raises(KeyboardInterrupt):
            tables.throw(KeyboardInterrupt)
    begun = len(read.begun)
    assert not readers_alive()
    assert begun <= 1 + ahead.FILES
    time.sleep(0.02)
    assert len(read.begun) == begun


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_read_in_its_turn_and_can_be_interrupted(paths, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    order = [paths[0], tmp_path / "pipe", paths[1]]
    found = ahead.read_ahead(
        lambda _: threading.current_thread().name[:6], order, size_on_disk
    )
    assert list(found) == ["pgcjax", "MainTh", "pgcjax"]


def of_threads(count: int, folder) -> list[JudgedRanks | str]:
    """What so many threads read of a folder's runs; and the error that ends it."""
    qrels = read_qrels(demo_folder() / "qrels.txt").groupby("query_id")["doc_id"]
    judged = JudgedDocuments({str(query): sorted(docs) for query, docs in qrels})
    found: list[JudgedRanks | str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "_THREADS", count)
        patch.setattr(ahead, "FILES", 2 * count)
        runs = read_runs(folder, name_by="file")
        try:
            look_up = partial(find, judged=judged, order="trec")
            for read in runs.read(judged, "trec", look_up, together=False):
                found += read.parts
        except DataError as error:
            found.append(str(error))
    return found


BROKEN = {  # what is put before the last line of a file, and what is said of it
    "04": (
        b"31_1 Q0 d 1\n",
        "expected 'query Q0 doc rank score tag', found 4 fields: '31_1 Q0 d 1'. All "
        "lines of a run have 6 columns, or all have 3.",
    ),
    "05": (
        b"",
        "cannot decompress it as gz: Compressed file ended before the end-of-stream "
        "marker was reached. It may be cut off: fetch it again.",
    ),
    "06": (
        b"31_1 Q0 d\xff 1 2.5 t\n",
        "expected UTF-8 text, found byte 0xff. Name its encoding: "
        "pgcjax.files.reading(encoding=…), --encoding on the command line; for "
        "instance latin-1.",
    ),
}


@pytest.mark.parametrize("broken", [(), ("04", "05"), ("05", "06"), ("06",)])
def test_any_number_of_threads_reads_the_same(tmp_path, broken):
    """Equal arrays, and of several broken files the first is named, with its line."""
    texts = [path.read_bytes() for path in sorted((demo_folder() / "runs").iterdir())]
    lines = [text.count(b"\n") for text in texts]
    for i in range(12):
        text, name = texts[i % len(texts)], f"{i:02}"
        if name in broken and (more := BROKEN[name][0]):
            start = text.rindex(b"\n", 0, -1) + 1
            text = text[:start] + more + text[start:]
        packed = gzip.compress(text) if i % 2 else text
        cut = len(packed) // 2 if name in broken and name == "05" else len(packed)
        (tmp_path / name).write_bytes(packed[:cut])
    one, eight = of_threads(1, tmp_path), of_threads(8, tmp_path)
    assert len(one) == len(eight) == (int(broken[0]) + 1 if broken else 12)
    for a, b in zip(one, eight, strict=True):
        if isinstance(a, str):
            assert a == b
            line = f":{lines[int(broken[0]) % len(lines)]}" * (broken[0] != "05")
            assert a == f"{tmp_path / broken[0]}{line}: {BROKEN[broken[0]][1]}"
        else:
            assert isinstance(b, JudgedRanks)
            for name, value in vars(a).items():
                np.testing.assert_array_equal(value, vars(b)[name])


def test_many_threads_take_no_more_than_memory_allows(monkeypatch, paths):
    monkeypatch.setattr(ahead, "_THREADS", 8)
    monkeypatch.setattr(ahead, "FILES", 16)
    for memory, most in (("64MiB", 4), ("4GiB", 8)):
        read = Reader()
        with reading(memory=memory):
            names = ahead.read_ahead(read, paths, lambda _: 2**24)
            next(names)
        deadline = time.monotonic() + 60
        while len(read.begun) < 1 + most and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.01)
        assert len(read.begun) == 1 + most
        names.close()
