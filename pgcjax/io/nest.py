"""Temporary folders beside targets: locked while in use, and removed afterwards.

A killed job leaves its folder behind without a lock, and the next job with the same
target removes it. Without `fcntl`, as on Windows, it stays.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None

_LOCK = ".pgcjax-lock"  # in a temporary folder: one without it is not of pgcjax


@contextmanager
def nest(target: Path) -> Iterator[Path]:
    """Make a temporary folder beside a target, and remove it at the end.

    Raises:
        OSError: the folder cannot be made.
    """
    sweep(target.parent, target.name)
    folder, lock = _locked(target)
    try:
        yield folder
    finally:
        with suppress(OSError):
            _remove(folder)
        if lock is not None:
            os.close(lock)


def sweep(parent: Path, target: str | None = None) -> None:
    """Remove temporary folders of killed jobs, for this target or for any."""
    if fcntl is None:
        return
    names = ".+" if target is None else re.escape(target)
    temporary = re.compile(rf"\.{names}\.[a-z0-9_]{{8}}", re.DOTALL)
    with suppress(OSError):  # a folder that cannot be listed
        for name in filter(temporary.fullmatch, os.listdir(parent)):
            with suppress(OSError):  # one that is in use, or not of pgcjax
                _sweep(parent / name)


def _sweep(folder: Path) -> None:
    if folder.is_symlink():
        return  # a link may lead to other files
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        folder.rmdir()  # if it is empty: its job was killed before it made the lock
        return
    try:
        if _lock(lock):
            _remove(folder)
    finally:
        os.close(lock)


def _locked(target: Path) -> tuple[Path, int | None]:
    """Make a folder and lock it; make another one if it was swept in between."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        if fcntl is None:
            return folder, None
        with suppress(FileNotFoundError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                held = _lock(lock)
            except OSError:  # the file system has no locks, and is never swept
                held = True
            if held and (folder / _LOCK).exists():
                return folder, lock
            os.close(lock)


def _lock(file: int) -> bool:
    """Lock a file; return False if another process holds the lock.

    Raises:
        OSError: the file system has no locks.
    """
    assert fcntl is not None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last, because folders without one are never swept."""
    for path in folder.iterdir():
        if path.name != _LOCK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / _LOCK).unlink(missing_ok=True)
    folder.rmdir()
