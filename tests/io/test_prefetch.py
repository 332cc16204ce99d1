"""Files are read a few ahead, in order, and nothing is left running."""

import os
import threading
import time

import pytest

from pgcjax.io import prefetch


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
    for done, name in enumerate(
        prefetch.read_ahead(read, paths, prefetch.size_on_disk), 1
    ):
        assert name == paths[done - 1].name
        assert len(read.begun) <= done + prefetch.FILES
    assert sorted(read.begun) == [p.name for p in paths]
    assert not readers_alive()
    assert list(prefetch.read_ahead(read, [], prefetch.size_on_disk)) == []


def test_while_one_is_worked_on_the_next_is_read(paths):
    read = Reader()
    tables = prefetch.read_ahead(read, paths, prefetch.size_on_disk)
    next(tables)
    deadline = time.monotonic() + 60
    while len(read.begun) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(read.begun) >= 2
    tables.close()


def test_of_large_files_one_ahead(paths):
    read, size = Reader(), prefetch.size_on_disk
    for done, _ in enumerate(prefetch.read_ahead(read, paths, size, most_bytes=15), 1):
        time.sleep(0.002)
        assert len(read.begun) <= done + 1
    assert len(list(prefetch.read_ahead(read, paths, size, most_bytes=0))) == 30


def test_an_error_has_its_turn(paths):
    """An earlier file that is slow to fail comes before a later one that is quick."""
    read, seen = Reader(bad=("05", "06")), []
    with pytest.raises(ValueError, match="05"):
        for name in prefetch.read_ahead(read, paths, prefetch.size_on_disk):
            seen.append(name)
    assert seen == [p.name for p in paths[:5]]
    assert not readers_alive()
    assert len(read.begun) <= 6 + prefetch.FILES


@pytest.mark.parametrize("how", ["close", "forget", "raise"])
def test_stopping_early(paths, how):
    read = Reader()
    tables = prefetch.read_ahead(read, paths, prefetch.size_on_disk)
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
    assert begun <= 1 + prefetch.FILES
    time.sleep(0.02)
    assert len(read.begun) == begun


def test_a_pipe_is_read_in_its_turn_and_can_be_interrupted(paths, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    order = [paths[0], tmp_path / "pipe", paths[1]]
    found = prefetch.read_ahead(
        lambda _: threading.current_thread().name[:6], order, prefetch.size_on_disk
    )
    assert list(found) == ["pgcjax", "MainTh", "pgcjax"]


def test_a_file_that_is_not_there_is_said_by_its_reader(tmp_path):
    paths = [tmp_path / "none"]
    names = prefetch.read_ahead(lambda path: path.name, paths, prefetch.size_on_disk)
    assert list(names) == ["none"]
