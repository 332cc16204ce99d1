"""Temporary folders are gone in the end, whoever was killed; those in use stay."""

import errno
import os

import pytest

from pgcjax.io import nest as nests
from pgcjax.io.nest import nest, sweep

pytestmark = pytest.mark.skipif(nests.fcntl is None, reason="files have no locks here")


@pytest.fixture
def left(tmp_path):
    """Make a temporary folder as a killed job leaves it: locked by nobody."""

    def make(target: str, *files: str, lock: str = nests._LOCK):
        folder = tmp_path / f".{target}.abc_d3fg"
        folder.mkdir()
        for name in [*files, lock] if lock else files:
            (folder / name).write_text("half")
        return folder

    return make


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, left):
    left("out.csv", "out.csv")
    left("other.csv", "other.csv")
    (left("out[1].csv") / "sub").mkdir()
    with nest(tmp_path / "out.csv") as folder:
        assert names(tmp_path) == sorted(
            [folder.name, ".other.csv.abc_d3fg", ".out[1].csv.abc_d3fg"]
        )
    with nest(tmp_path / "out[1].csv"):
        pass
    assert names(tmp_path) == [".other.csv.abc_d3fg"]
    left("killed at once", lock="")
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_two_writers_at_once(tmp_path):
    target = tmp_path / "out.csv"
    with nest(target) as first, nest(target) as second:
        sweep(tmp_path)
        assert first != second and first.is_dir() and second.is_dir()
        (second / "out.csv").write_text("second")
    assert names(tmp_path) == []


def test_what_is_not_of_pgcjax_stays(tmp_path, left):
    victim = left("victim", "file")
    (tmp_path / ".out.csv.abcdefgh").symlink_to(victim)
    mine = left("out.csv", "notes.txt", lock="")
    (tmp_path / ".out.csv.toolongname").mkdir()
    (tmp_path / ".out.csv.fileonly").write_text("mine")
    with nest(tmp_path / "out.csv"):
        pass
    assert names(victim) == [".pgcjax-lock", "file"] and names(mine) == ["notes.txt"]
    assert len(names(tmp_path)) == 5


def test_another_writer_takes_the_folder_for_left(tmp_path, monkeypatch):
    """Between its making and its lock: then there is another one."""
    folders = []

    def sweeping(*args, **options):
        folders.append(make(*args, **options))
        if len(folders) == 1:
            sweep(tmp_path)  # the other writer
        return folders[-1]

    make = nests.tempfile.mkdtemp
    monkeypatch.setattr(nests.tempfile, "mkdtemp", sweeping)
    with nest(tmp_path / "out.csv") as folder:
        assert str(folder) == folders[1] and not os.path.exists(folders[0])


def test_a_file_system_without_locks(tmp_path, left, monkeypatch):
    def refuse(*args):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    left("out.csv")
    monkeypatch.setattr(nests.fcntl, "flock", refuse)
    with nest(tmp_path / "out.csv") as folder:
        assert folder.is_dir()
    assert names(tmp_path) == [".out.csv.abc_d3fg"]
    monkeypatch.setattr(nests, "fcntl", None)
    with nest(tmp_path / "out.csv") as folder:
        assert folder.is_dir()
    assert names(tmp_path) == [".out.csv.abc_d3fg"]
