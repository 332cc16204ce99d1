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


def own_folder(place: str) -> Path | None:
    """Make a folder that only this user can write to; it is looked at each time.

    Returns:
        None if it cannot be made, or if `others_place` says whose it is.
    """
    folder = Path(place)
    try:
        make_private(folder)
        return None if others_place(folder) else folder
    except OSError:
        return None


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are not there, for this user alone.

    Raises:
        OSError: it cannot be made.
    """
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def others_place(folder: Path) -> str:
    """Describe where others could put files of their own in the place of a folder's.

    The folder has to be the user's. Who can write to a folder above it can rename what
    is there, unless that is sticky, as /tmp is: so these are the user's or root's, and
    nobody else can write there. A group that has the user's own number, as many systems
    give each user one, is nobody else.

    Returns:
        The folder and what is wrong with it; "" if nothing is.

    Raises:
        OSError: it cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return ""
    user = os.geteuid()
    folder = folder.absolute()
    above = dict.fromkeys([*folder.parents, *folder.resolve().parents])
    for path in (folder, *above):
        about = path.stat()
        mode, alone = about.st_mode, user and about.st_gid == os.getegid() == user
        if path == folder or not alone:
            others = mode & (stat.S_IWOTH | stat.S_IWGRP)
        else:
            others = mode & stat.S_IWOTH
        if about.st_uid not in ((user,) if path == folder else (user, 0)):
            return f"{path} belongs to user {about.st_uid}"
        if others and (path == folder or not mode & stat.S_ISVTX):
            return f"others can write to {path}"
    return ""


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
