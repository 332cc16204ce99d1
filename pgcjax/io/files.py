"""Files by paths, folders and patterns, and tables of several files."""

import glob
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.io.containers import (
    COMPRESSED,
    CONTAINER_SUFFIXES,
    Columns,
    Named,
    container_of,
    split,
)
from pgcjax.io.content import read_bytes, unreadable
from pgcjax.io.forks import refuse_forked
from pgcjax.io.schema import Origin, Origins, shorten

Source = str | os.PathLike
"""A file, a folder or a glob pattern."""

_PLAIN = (".txt", ".run", ".trec", ".res", ".out", *CONTAINER_SUFFIXES)


def stem(path: Source) -> str:
    """Name a run after its file: without folder, compression and known suffix."""
    name = Path(path).name
    for suffixes in (COMPRESSED, _PLAIN):
        for suffix in suffixes:
            if name.lower().endswith(suffix) and len(name) > len(suffix):
                name = name[: -len(suffix)]
                break
    # A name that is not UTF-8 must be text all the same, and stay different.
    return os.fsencode(name).decode(errors="backslashreplace")


def expand(sources: Source | Iterable[Source]) -> list[Path]:
    """List the files that paths, folders (not their subfolders) and globs name.

    Files of a folder whose names begin with `.` or `_` are left out.

    Raises:
        DataError: nothing is there, a folder or a pattern holds no file, or a file is
            named twice.
    """
    refuse_forked()
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    if not isinstance(sources, Iterable) or isinstance(sources, Mapping):
        raise UsageError(f"expected files or a table, found {shorten(sources)}")
    files: list[Path] = []
    for source in sources:
        if not isinstance(source, (str, os.PathLike)):
            raise UsageError(f"expected a file, found {shorten(source)}")
        try:
            files += _find(os.path.expanduser(os.fspath(source)))
        except OSError as error:
            raise unreadable(source, error) from None
    if not files:
        raise DataError("no file was named", mend="Name files, folders or patterns.")
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise DataError("is named twice", where=str(file), mend="Name it once.")
        seen.add(file.resolve())
    return files


def _find(source: str) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        what = "is a folder that holds no file"
        files = [f for f in path.iterdir() if f.is_file() and f.name[0] not in "._"]
    elif path.exists():
        return [path]
    else:
        is_pattern = glob.has_magic(source)
        what = "no file matches" if is_pattern else "no such file or folder"
        paths = map(Path, glob.glob(source, recursive=True))
        files = [path for path in paths if path.is_file()]
    if not files:
        raise DataError(what, where=source, mend="Check the path.")
    return sorted(files)


def load(path: Path, container: str = "auto") -> Columns | Named:
    """Read one file, of any compression, as rows of text.

    The container is one of `CONTAINERS`; `tabs` for columns that may hold blanks; or
    `auto` to decide by suffix and content.

    Raises:
        DataError: the file cannot be read, is empty, or is not what it should be.
    """
    data = read_bytes(path)
    if container == "auto":
        container = container_of(path, data)
    return split(path, data, container)


def read_tables(
    source: Source | Iterable[Source] | pd.DataFrame | Named,
    name: str,
    load: Callable[[Path], Named],
    canonical: Callable[[Named], pd.DataFrame],
) -> tuple[pd.DataFrame, Origins]:
    """Read tables, and put them one below the other.

    Messages call a DataFrame by `name`; `canonical` selects and checks columns.

    Returns:
        The table, whose `attrs["comments"]` counts comment lines, and where its rows
        came from.
    """
    refuse_forked()
    if isinstance(source, pd.DataFrame):
        source = Named(source, Origin(name))
    contents = [source] if isinstance(source, Named) else map(load, expand(source))
    contents = [(content, canonical(content)) for content in contents]
    table = pd.concat([table for _, table in contents], ignore_index=True)
    table.attrs = {"comments": sum(content.comments for content, _ in contents)}
    origins = Origins([c.origin for c, _ in contents], [len(t) for _, t in contents])
    return table, origins


def with_header(path: Path, data: bytes, header: str) -> Named:
    """Read a file, whose bytes these are, as a table that needs a header.

    Raises:
        DataError: there is no header, or `split` finds the file wrong.
    """
    content = split(path, data, container_of(path, data))
    if isinstance(content, Named):
        return content
    raise DataError(
        f"expected a header with the columns {header}, found {content.text(0)}",
        where=content.origin.at(0),
        mend="Separate the columns by tabs or commas.",
    )
