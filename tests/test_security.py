"""What SECURITY.md promises: what pgcjax never does, whatever is in the files."""

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder

MARK = "__import__('os').system('true')"
_recorded: list[tuple[str, tuple[Any, ...]]] = []
_recording = False


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if _recording:
        _recorded.append((event, given))


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as done:
        main(list(map(str, arguments)))
    assert done.value.code == 0


@pytest.fixture
def events():
    """All that Python is told of while the test runs; the hook stays, and is silent."""
    global _recording
    import matplotlib.font_manager  # noqa: F401 - it asks for fonts, and keeps them

    sys.addaudithook(_hook)
    _recorded.clear()
    _recording = True
    yield _recorded
    _recording = False


def written(event: str, given: tuple[Any, ...]) -> list[str]:
    """Paths that an event creates, changes or removes."""
    if event == "open":
        path, mode, flags = given
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return [os.fsdecode(path)] if writes and not isinstance(path, int) else []
    if event in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod"):
        return [os.fsdecode(given[0])]
    if event in ("os.rename", "os.link", "os.symlink"):
        return [os.fsdecode(path) for path in given[:2]]
    return []


def test_what_files_hold_is_never_run_nor_written_elsewhere(
    tmp_path, monkeypatch, events
):
    monkeypatch.chdir(tmp_path)
    demo = demo_folder()
    (tmp_path / "runs").mkdir()
    for name in ("oak", "reed", "sage"):
        text = (demo / "runs" / f"{name}.txt").read_text()
        run_file = tmp_path / "runs" / f"{name}.txt"
        run_file.write_text(text.replace(" oak\n", f" {MARK}\n"))
    judged = ("--prefs", demo / "preferences.csv", "--qrels", demo / "qrels.txt")
    events.clear()
    run("evaluate", *judged, "runs", "-o", "scores.csv", "--verify", "0.05")
    assert MARK in (tmp_path / "scores.csv").read_text()
    run("compare", "scores.csv", "-m", "PGC", "--test", "bootstrap", "-o", "pairs.csv")
    run("report", "scores.csv", "--test", "t", "-o", "page.md")
    names = {event for event, _ in events}
    assert {"open", "compile"} <= names  # it does record
    for refused in (
        "socket.",
        "subprocess.",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "pickle.",
        "urllib.",
        "shelve.",
    ):
        found = [event for event in names if event.startswith(refused)]
        assert not found, found
    for event, given in events:
        if event == "compile":
            assert MARK not in str(given[0])
        if event == "exec":
            assert not given[0].co_filename.startswith(str(tmp_path))
    cache = os.environ["JAX_COMPILATION_CACHE_DIR"]
    allowed = tmp_path, Path(cache).absolute()
    for event, given in events:
        for path in written(event, given):
            inside = any(Path(path).absolute().is_relative_to(one) for one in allowed)
            assert inside or "__pycache__" in path, (event, path)


def test_the_cache_is_nobody_elses(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    before = os.umask(0)
    try:
        run("--version")
    finally:
        os.umask(before)
    folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    assert folder.is_relative_to(tmp_path) and folder.is_dir()
    for path in (folder, folder.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
