"""Folders that only this user can have written to."""

import os
import stat

import pytest

from pgcjax.runtime.private_folder import others_place, private_folder


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files here")
def test_a_folder_where_others_can_write_is_not_used(tmp_path, monkeypatch):
    before = os.umask(0)
    try:
        made = private_folder(str(tmp_path / "made"))
    finally:
        os.umask(before)
    assert made and stat.S_IMODE(made.stat().st_mode) == 0o700
    for mode in (0o770, 0o702):
        shared = tmp_path / f"{mode}"
        shared.mkdir()
        shared.chmod(mode)
        assert private_folder(str(shared)) is None
    (tmp_path / "file").touch()
    assert private_folder(str(tmp_path / "file")) is None
    assert private_folder(str(tmp_path / "file" / "inside")) is None
    (tmp_path / "theirs").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert private_folder(str(tmp_path / "theirs")) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files here")
def test_folders_above_are_looked_at_each_time(tmp_path, monkeypatch):
    above, place = tmp_path / "above", tmp_path / "above" / "own"
    folder = private_folder(str(place))
    assert folder and stat.S_IMODE(above.stat().st_mode) == 0o700
    above.chmod(0o777)
    assert private_folder(str(place)) is None
    assert others_place(place) == f"others can write to {above}"
    above.chmod(0o1777)  # as /tmp: nobody can rename what is another's
    assert private_folder(str(place)) == folder
    above.chmod(0o755)
    link = tmp_path / "link"
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "to").symlink_to(above)
    link.symlink_to(tmp_path / "open" / "to" / "own")
    assert private_folder(str(tmp_path / "open" / "to" / "own"))
    (tmp_path / "open").chmod(0o777)
    assert private_folder(str(tmp_path / "open" / "to" / "own")) is None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert others_place(place) == f"{place} belongs to user {os.getuid()}"
