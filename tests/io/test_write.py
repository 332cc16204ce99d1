"""Output is there whole, or what was there before is still there."""

import os

import pytest

from pgcjax.errors import DataError
from pgcjax.io.write import written_beside


def listing(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_file_takes_its_place_at_the_end(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with written_beside(target) as path:
        path.write_text("new")
        assert target.read_text() == "old"
    assert listing(tmp_path) == {"out.csv": b"new"}
    assert os.stat(target).st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    old = os.umask(0)
    os.umask(old)
    return old


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path, error):
    (tmp_path / "out.csv").write_text("old")
    for name in ("out.csv", "new.csv"):
        with pytest.raises(error), written_beside(tmp_path / name) as path:
            path.write_text("half")
            raise error
    assert listing(tmp_path) == {"out.csv": b"old"}
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_a_full_disk_is_said_in_one_line(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(
        DataError,
        match=r"out\.csv: cannot write there: No space left on device\. An existing",
    ):
        with written_beside(tmp_path / "out.csv"):
            raise OSError(28, "No space left on device")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_is_only_made_anew(tmp_path):
    for _ in range(2):
        try:
            with written_beside(tmp_path / "new") as path:
                path.mkdir()
                (path / "a").write_text("a")
        except DataError as error:
            assert str(error).endswith("new: exists already. Name a new folder.")
    assert listing(tmp_path) == {"a": b"a"}


@pytest.mark.parametrize("target", ["none/out.csv", "file/out.csv"])
def test_no_folder_to_write_to(tmp_path, target):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        DataError, match=r"out\.csv: cannot write there: N.+\. Name a file"
    ):
        with written_beside(tmp_path / target):
            raise AssertionError
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_way_of_a_file(tmp_path):
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(
        DataError, match=r"out\.csv: cannot write there: Is a directory\."
    ):
        with written_beside(tmp_path / "out.csv") as path:
            path.write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]
