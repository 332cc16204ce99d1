"""Files that only this user can have written: whole, theirs, and not too many."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from pgcjax.runtime import own_cache
from pgcjax.runtime.own_cache import (
    load,
    make_room,
    others_place,
    own_folder,
    save,
)


def test_what_is_kept_is_found_by_its_name_alone(tmp_path):
    folder = own_folder(str(tmp_path / "a" / "b"))
    assert folder and load(folder, "one") is None
    save(folder, "one", b"code")
    save(folder, "empty", b"")
    assert (load(folder, "one"), load(folder, "empty")) == (b"code", b"")
    save(folder, "one", b"other code")
    assert load(folder, "one") == b"other code"
    one, two = folder / "one.kept", folder / "two.kept"
    two.write_bytes(one.read_bytes())  # the right bytes under a wrong name
    assert load(folder, "two") is None
    assert sorted(os.listdir(folder)) == ["empty.kept", "one.kept", "two.kept"]


def test_no_byte_changes_unseen(tmp_path):
    folder = own_folder(str(tmp_path / "own"))
    save(folder, "one", b"code")
    path = folder / "one.kept"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at])
        assert load(folder, "one") is None
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert load(folder, "one") is None
    path.write_bytes(whole + b"\0")
    assert load(folder, "one") is None
    path.write_bytes(whole)
    assert load(folder, "one") == b"code"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files here")
def test_a_folder_where_others_can_write_is_not_used(tmp_path, monkeypatch):
    before = os.umask(0)
    try:
        made = own_folder(str(tmp_path / "made"))
    finally:
        os.umask(before)
    assert made and stat.S_IMODE(made.stat().st_mode) == 0o700
    for mode in (0o770, 0o702):
        shared = tmp_path / f"{mode}"
        shared.mkdir()
        shared.chmod(mode)
        assert own_folder(str(shared)) is None
    (tmp_path / "file").touch()
    assert own_folder(str(tmp_path / "file")) is None
    assert own_folder(str(tmp_path / "file" / "inside")) is None
    (tmp_path / "theirs").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert own_folder(str(tmp_path / "theirs")) is None


def test_what_was_used_last_stays(tmp_path):
    for i in range(8):
        save(tmp_path, str(i), bytes(10_000))
        os.utime(tmp_path / f"{i}.kept", (i, i))
    (tmp_path / "of others").write_bytes(bytes(10**6))
    assert load(tmp_path, "0")  # it is used, and so the newest
    make_room(tmp_path, 90_000)
    assert len(os.listdir(tmp_path)) == 9
    make_room(tmp_path, 70_000)
    assert sorted(os.listdir(tmp_path)) == ["0.kept", "6.kept", "7.kept", "of others"]


def test_writers_at_the_same_time(tmp_path):
    def both(i: int) -> bytes | None:
        save(tmp_path, "one", b"%d" % (i % 2) * 10_000)
        return load(tmp_path, "one")

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(both, range(40)))
    assert found == {b"0" * 10_000, b"1" * 10_000}
    assert os.listdir(tmp_path) == ["one.kept"]


def test_what_cannot_be_kept_is_no_error(tmp_path):
    save(tmp_path / "none", "one", b"code")
    assert not (tmp_path / "none").exists()
    (tmp_path / "one.kept").mkdir()
    save(tmp_path, "one", b"code")
    assert load(tmp_path, "one") is None
    assert own_cache.MOST == 2**29


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files here")
def test_folders_above_are_looked_at_each_time(tmp_path, monkeypatch):
    above, place = tmp_path / "above", tmp_path / "above" / "own"
    folder = own_folder(str(place))
    assert folder and stat.S_IMODE(above.stat().st_mode) == 0o700
    above.chmod(0o777)
    assert own_folder(str(place)) is None
    assert others_place(place) == f"others can write to {above}"
    above.chmod(0o1777)  # as /tmp: nobody can rename what is another's
    assert own_folder(str(place)) == folder
    above.chmod(0o755)
    link = tmp_path / "link"
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "to").symlink_to(above)
    link.symlink_to(tmp_path / "open" / "to" / "own")
    assert own_folder(str(tmp_path / "open" / "to" / "own"))
    (tmp_path / "open").chmod(0o777)
    assert own_folder(str(tmp_path / "open" / "to" / "own")) is None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert others_place(place) == f"{place} belongs to user {os.getuid()}"
