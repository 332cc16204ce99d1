"""Outputs of a call, which differ from its inputs."""

import glob
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError, UsageError
from pgcjax.io import files, remote
from pgcjax.io.remote import is_remote


def keep_apart(
    targets: Iterable[tuple[str, Sequence[str]]],
    sources: Iterable[Any],
) -> None:
    """Refuse a call that would overwrite its inputs, or write one file twice.

    Files are compared after links, hard or symbolic, and spellings of their paths.

    Args:
        targets: Files and folders, each with patterns of files written with it.
        sources: Arguments that may name files, folders and patterns.

    Raises:
        UsageError: two targets are the same, or one is a source.
    """
    names: dict[str, str] = {}
    written: dict[tuple[int, int] | str, str] = {}
    for target, patterns in targets:
        if is_remote(target):
            name = remote.place(target)
            written[name] = target
        else:  # file systems may ignore case
            name = unicodedata.normalize("NFC", os.path.realpath(target)).casefold()
        if name in names:
            raise UsageError(f"{names[name]} and {target} are one file: name two")
        names[name] = target
        for pattern in (glob.escape(target), *patterns):
            identities = filter(None, map(_identity, glob.glob(pattern)))
            written |= dict.fromkeys(identities, target)
    elsewhere = any(map(is_remote, names.values()))
    for source in sources if written else ():
        for path in _expanded(source, elsewhere):
            if target := written.get(_identity(path) or (0, 0)):
                raise UsageError(
                    f"{target}: would overwrite {path}, which this call reads; name "
                    "another file"
                )


def _expanded(source: Any, elsewhere: bool) -> list[Path]:
    """List files; remote ones only if a target is remote, because stores are slow."""
    if isinstance(source, (list, tuple)) and not elsewhere:
        source = [one for one in source if not is_remote(one)]
    elif is_remote(source) and not elsewhere:
        return []
    try:
        return files.expand(source, aloud=False)
    except (DataError, UsageError):
        return []  # its reader reports the error, if it is no table


def _identity(path: str | os.PathLike) -> tuple[int, int] | str | None:
    if is_remote(path):
        return remote.place(path)
    try:
        status = os.stat(path)
    except OSError:
        return None  # a broken link, or a removed file
    return status.st_dev, status.st_ino
