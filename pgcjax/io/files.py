"""Files by paths, folders and patterns, and tables of several files."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, TypeVar

from pgcjax.errors import DataError, DataWarning, listed, refuse_forked
from pgcjax.io import remote
from pgcjax.io.bytes import TooLargeError, check_size, read_bytes
from pgcjax.io.containers import (
    COMPRESSED,
    CONTAINER_SUFFIXES,
    Columns,
    Named,
    container_of,
    split,
)
from pgcjax.io.fast_columns import Regular
from pgcjax.io.folders import is_document
from pgcjax.io.in_memory import in_hand, is_frame, no_file, no_table
from pgcjax.io.reading import chosen
from pgcjax.io.remote import each, is_remote, path_of, unreadable
from pgcjax.io.schema import Origin, Origins
from pgcjax.later import pd

R = TypeVar("R")
Source = str | os.PathLike
"""A file, a folder or a glob pattern, local or remote."""
Sources = Source | Iterable[Source] | Any
"""Files by one name or several, or a table in memory."""

_PLAIN = (".txt", ".run", ".trec", ".res", ".out", *CONTAINER_SUFFIXES)


def stem(path: Source, whole: bool = False) -> str:
    """Name a run after its file: without folder, compression and known suffix.

    The `whole` name keeps its suffix, but not that of a compression.
    """
    name = path_of(path).name
    for suffixes in (COMPRESSED,) if whole else (COMPRESSED, _PLAIN):
        for suffix in suffixes:
            if name.lower().endswith(suffix) and len(name) > len(suffix):
                name = name[: -len(suffix)]
                break
    # Names that are not UTF-8 must also become text, and stay different.
    return os.fsencode(name).decode(errors="backslashreplace")


def expand(
    sources: Sources,
    foreign: Callable[[Path], bool] = is_document,
    noun: str = "data",
    aloud: bool = True,
) -> list[Path]:
    """List the files that paths, folders (not their subfolders) and globs name.

    Hidden files of a folder are left out, and `foreign` ones, with a warning.

    Args:
        sources: Names of files.
        foreign: Returns whether a file of a folder is of another kind.
        noun: Noun for the wanted files, for messages.
        aloud: Whether to warn.

    Raises:
        DataError: a path does not exist, a folder or a pattern holds no file, or a file
            is named twice.
    """
    refuse_forked()
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    if not isinstance(sources, Iterable) or isinstance(sources, (bytes, Mapping)):
        raise no_table(sources)
    files: list[Path] = []
    others: list[Path] = []
    for source in sources:
        if not isinstance(source, (str, os.PathLike)):
            raise no_file(source)
        try:
            there, is_folder = (remote.find if is_remote(source) else _find)(source)
        except OSError as error:
            raise unreadable(source, error) from None
        if is_folder:
            there, left_out = _in_folder(str(source), there, foreign, noun)
            others += left_out
        files += there
    if not files:
        raise DataError("no file was named", mend="Name files, folders or patterns.")
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise DataError("is named twice", where=str(file), mend="Name it once.")
        seen.add(file.resolve())
    if others and aloud:
        count = "1 file is" if len(others) == 1 else f"{len(others)} files are"
        names = listed([str(path) for path in others])
        warnings.warn(f"{count} left out (no {noun}): {names}", DataWarning, 3)
    return files


def _in_folder(
    folder: str, files: Sequence[Path], foreign: Callable[[Path], bool], noun: str
) -> tuple[list[Path], list[Path]]:
    """Separate the wanted files of a folder from those that are left out."""
    is_foreign = (each if is_remote(folder) else map)(foreign, files)
    others = sorted(f for f, out in zip(files, is_foreign, strict=True) if out)
    wanted = sorted(set(files) - set(others))
    if not wanted:
        names = listed([path.name for path in others])
        raise DataError(
            f"is a folder that holds no {noun if others else 'file'}",
            where=folder,
            mend=f"No {noun}: {names}." if others else "Check the path.",
        )
    return wanted, others


class Pipe(type(Path())):
    """A pipe, which can be read only once, so its content is kept."""

    @cached_property
    def _content(self) -> bytes:
        with super().open("rb") as file:
            data = file.read(chosen().memory + 1)
        check_size(self, len(data))
        return data

    def open(self, *mode: Any, **options: Any) -> Any:
        """Open the content for reading, any number of times.

        Raises:
            TooLargeError: it has more bytes than may be read at once.
        """
        return BufferedReader(BytesIO(self._content))


def _find(source: Source) -> tuple[Sequence[Path], bool]:
    """List the files of a name, without hidden ones; return whether it is a folder."""
    source = os.path.expanduser(os.fspath(source))
    path = Path(source)
    if path.is_dir():
        return [f for f in path.iterdir() if f.is_file() and f.name[0] != "."], True
    if path.exists():
        return [Pipe(path) if path.is_fifo() else path], False
    paths = map(Path, glob.glob(source, recursive=True))
    files = [path for path in paths if path.is_file()]
    if not files:
        is_pattern = glob.has_magic(source)
        problem = "no file matches" if is_pattern else "no such file or folder"
        raise DataError(problem, where=source, mend="Check the path.")
    return sorted(files), False


def load(path: Path, container: str = "auto") -> Columns | Named:
    """Read one file, of any compression, as rows of text.

    The container is one of `CONTAINERS`; `tabs` for columns that may hold blanks; or
    `auto` to decide by suffix and content.

    Raises:
        DataError: the file cannot be read, is empty, or has another format.
    """
    data = read_bytes(path)
    if container == "auto":
        container = container_of(path, data)
    return split(path, data, container)


def read_by_any(
    path: Path,
    kind: str,
    format: str,
    reader: str,
    read: Callable[[], R],
    of_table: Callable[[Named], R],
) -> R:
    """Read a file, with the reader of a plug-in if the built-in one fails.

    Args:
        path: Path of the file.
        kind: Kind of its content: one of `plugin_readers.KINDS`.
        format: The requested format; with `auto`, plug-ins are tried.
        reader: Name of the chosen plug-in; "" for none.
        read: Reads the file without plug-ins.
        of_table: Reads the table of a plug-in.

    Raises:
        DataError: from `read` if no plug-in claims the file; or from the plug-in.
        UsageError: as in `plugin_readers.by_name`.
    """
    if reader:
        from pgcjax.io.plugin_readers import by_name  # few files need plug-ins

        table = by_name(reader, path, kind, format)
        return read() if table is None else of_table(table)
    try:
        return read()
    except DataError as refusal:
        there = isinstance(path, Pipe) or path.is_file()
        if format != "auto" or isinstance(refusal, TooLargeError) or not there:
            raise
        from pgcjax.io.plugin_readers import by_content

        table = by_content(path, kind)
        if table is None:
            raise
    return of_table(table)


def read_tables(
    source: Sources,
    name: str,
    load: Callable[[Path], Named],
    canonical: Callable[[Named], pd.DataFrame],
) -> tuple[pd.DataFrame, Origins]:
    """Read tables, and put them one below the other.

    `name` is that of a table in memory in messages; `canonical` selects and checks
    columns.

    Returns:
        The table, whose `attrs["comments"]` counts comment lines, and the origin of its
        rows.
    """

    def of_table(content: Named) -> tuple[Named, pd.DataFrame]:
        return content, canonical(content)

    read = contents(source, name, lambda path: of_table(load(path)), of_table)
    return together([*read])


def contents(
    source: Sources,
    name: str,
    read: Callable[[Path], R],
    of_table: Callable[[Named], R],
) -> Iterable[R]:
    """Read files one by one, or a table in memory, called `name` in messages."""
    refuse_forked()
    source = in_hand(source, name)
    if is_frame(source):
        source = Named(source, Origin(name))
    if isinstance(source, Named):
        return [of_table(source)]
    return map(read, expand(source))


def together(
    tables: Sequence[tuple[Named | Regular, pd.DataFrame]],
) -> tuple[pd.DataFrame, Origins]:
    """Put tables, each given with its content, one below the other."""
    table = pd.concat([table for _, table in tables], ignore_index=True)
    table.attrs = {"comments": sum(content.comments for content, _ in tables)}
    origins = [content.origin for content, _ in tables]
    return table, Origins(origins, [len(table) for _, table in tables])


def with_header(path: Path, data: bytes, header: str) -> Named:
    """Read the bytes of a file as a table that needs a header.

    Raises:
        DataError: there is no header, or `split` refuses the file.
    """
    content = split(path, data, container_of(path, data))
    if isinstance(content, Named):
        return content
    raise DataError(
        f"expected a header with the columns {header}, found {content.text(0)}",
        where=content.origin.at(0),
        mend="Separate the columns by tabs or commas.",
    )
