"""Folders that only this user can write to, because results depend on their content."""

import os
import stat
from pathlib import Path


def private_folder(place: str) -> Path | None:
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
