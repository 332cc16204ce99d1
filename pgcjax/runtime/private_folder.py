"""Folders that only this user can write to, because results depend on their content."""

import os
import stat
from pathlib import Path


def private_folder(place: str) -> Path | None:
    """Make a folder that only this user can write to, and check it at each call.

    Returns:
        The folder; None if it cannot be made, or if `others_place` finds a problem.
    """
    folder = Path(place)
    try:
        make_private(folder)
        return None if others_place(folder) else folder
    except OSError:
        return None


def make_private(folder: Path) -> None:
    """Make a folder, and missing folders above it, for this user alone.

    Raises:
        OSError: the folder cannot be made.
    """
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def others_place(folder: Path) -> str:
    """Describe how other users could replace files in a folder.

    The user has to own the folder. Whoever can write to a folder above can rename its
    content, unless that folder is sticky, as /tmp is: so the user or root has to own
    the folders above, and nobody else may write there, except a group with the user's
    own number, which many systems create for each user.

    Returns:
        The unsafe folder and the problem; "" if there is none.

    Raises:
        OSError: a folder cannot be inspected.
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
