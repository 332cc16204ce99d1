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
    """Refuse a call that would overwrite what it reads, or write one file twice.

    A file is the same by whatever links, hard or symbolic, and spellings of its path.

    Args:
        targets: files and folders, each with patterns of what is written with it.
        sources: arguments that may name files, folders and patterns.

    Raises:
        UsageError: two targets are the same, or one is a source.
    """
    names: dict[str, str] = {}
    written: dict[tuple[int, int] | str, str] = {}
    for target, patterns in targets:
        if is_remote(target):
            name = remote.place(target)
            written[name] = target
        else:  # where case makes no difference, names that differ in it are one file
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
    """List files; those elsewhere only if one may be written there: stores are slow."""
    if isinstance(source, (list, tuple)) and not elsewhere:
        source = [one for one in source if not is_remote(one)]
    elif is_remote(source) and not elsewhere:
        return []
    try:
        return files.expand(source, aloud=False)
    except (DataError, UsageError):
        return []  # whoever reads it says what is wrong, if it is no table


def _identity(path: str | os.PathLike) -> tuple[int, int] | str | None:
    if is_remote(path):
        return remote.place(path)
    try:
        status = os.stat(path)
    except OSError:
        return None  # a link to nothing, or gone since
    return status.st_dev, status.st_ino
