"""A folder of files that only this user can have written, found by their names.

What is in it is trusted: machine code, which is run. So the folder has to be the user's
own, and a file is given only if it is what was kept under its name.
"""

import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER, CACHE = "PGCJAX_PROGRAMS", "PGCJAX_CACHE_DIR"
"""Variables that name the folder; `programs` in the second. None is kept if empty."""

MOST = 2**29
"""Bytes on disk, about; what was not used for longest is removed beyond."""

_MARK = b"pgcjax kept 1\n"
_HEAD = len(_MARK) + sha256().digest_size
_SUFFIX = ".kept"


def place() -> str:
    """Name the folder; nothing if no files are kept."""
    cache = os.environ.get(CACHE)
    return os.environ.get(FOLDER, os.path.join(cache, "programs") if cache else "")


@cache
def own_folder(place: str) -> Path | None:
    """Make a folder that only this user can read and write.

    Returns:
        None if it cannot be made, if it is another user's, or if others may write
        there.
    """
    folder = Path(place)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
    except OSError:
        return None
    others = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if hasattr(os, "geteuid") and (others or about.st_uid != os.geteuid()):
        return None
    return folder


def load(folder: Path, name: str) -> bytes | None:
    """Give what is kept under a name; None if nothing is, or if it is damaged."""
    path = folder / f"{name}{_SUFFIX}"
    try:
        data = path.read_bytes()
        if data[:_HEAD] != _head(name, data[_HEAD:]):
            return None
        os.utime(path)  # it was used
    except OSError:
        return None
    return data[_HEAD:]


def has(folder: Path, name: str) -> bool:
    """Say whether there is a file of a name; it may be damaged."""
    return (folder / f"{name}{_SUFFIX}").exists()


def save(folder: Path, name: str, data: bytes) -> None:
    """Keep bytes under a name, whole or not at all; nothing where that cannot be."""
    with suppress(OSError):
        _bounded(folder)  # once in a process
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as room:
            beside = Path(room, name)
            beside.write_bytes(_head(name, data) + data)
            beside.replace(folder / f"{name}{_SUFFIX}")


def _head(name: str, data: bytes) -> bytes:
    """Begin a file, by a checksum that fits no other name."""
    return _MARK + sha256(name.encode() + b"\n" + data).digest()


@cache
def _bounded(folder: Path) -> None:
    make_room(folder, MOST)


def make_room(folder: Path, most: int) -> None:
    """Remove what was not used for longest, to half of `most` bytes, if it is more."""
    with os.scandir(folder) as entries:
        files = [(e.stat(), e.path) for e in entries if e.name.endswith(_SUFFIX)]
    block = 4096  # which the smallest file takes, too
    sizes = {path: max(block, about.st_size) for about, path in files}
    left = sum(sizes.values())
    if left <= most:
        return
    for _, path in sorted(files, key=lambda each: each[0].st_mtime_ns):
        if left <= most // 2:
            return
        with suppress(OSError):
            os.unlink(path)
        left -= sizes[path]
