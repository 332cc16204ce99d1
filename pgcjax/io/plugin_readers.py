"""Readers as plug-ins, which recognise files of other tools and read their rows.

A plug-in reads a file that the built-in formats do not fit, or that the user assigns to
it by name. A package provides one as an entry point of the group `pgcjax.readers`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn, TypeAlias
from zipfile import BadZipFile, ZipFile

import numpy as np

from pgcjax.errors import (
    DataError,
    DataWarning,
    PgcjaxError,
    UsageError,
    check_choice,
    outside,
)
from pgcjax.io.bytes import PARQUET, ZIP, check_size, decode, read_bytes
from pgcjax.io.containers import Named, json_records, read_parquet
from pgcjax.io.in_memory import in_hand, is_frame
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.schema import Origin
from pgcjax.later import pd

GROUP = "pgcjax.readers"
"""Group of entry points by which a package provides readers."""
KINDS = ("preferences", "qrels", "runs")
Rows: TypeAlias = Iterator[dict[str, Any]]
"""Rows that a reader makes of a file: values by column name."""
_BUILT_IN = "pgcjax.plugins.readers"  # above this room: imported when it is needed
_HEAD, _HEAD_ROWS = 2**16, 20  # bytes, or rows of Parquet, that identify a file
_LONGEST = 60  # characters of a text that is an id
_MEND = "Is it of another version of the tool, or a file of something else?"


class Content:
    """The content of a file, decompressed, in the forms that readers need.

    Attributes:
        name: Name of the file, as the user wrote it.
    """

    def __init__(self, path: Path):
        """Take a file, which is read when a method first needs it."""
        self.name, self._path = str(path), path
        self._origin = Origin(self.name)
        self._record = -1  # last row of `rows` that a reader took; -1 if none

    @cached_property
    def _data(self) -> bytes:
        return read_bytes(self._path)

    @cached_property
    def head(self) -> str:
        """The first 64 KiB as text; for Parquet, the first rows as JSON."""
        if self._data.startswith(PARQUET):
            rows = itertools.islice(self.rows(), _HEAD_ROWS)
            return json.dumps([*rows], default=str, ensure_ascii=False)
        return self._data[:_HEAD].decode("utf-8", "replace")

    def json(self) -> Any:
        """Parse the file as one JSON value.

        Raises:
            DataError: the file is not one JSON value.
        """
        try:
            return read_json(decode(self._path, self._data), self.name)
        except NoJson as error:
            raise DataError(
                f"expected JSON: {error.reason}",
                where=f"{self.name}:{error.line}",
                mend="It may be cut off: export it again.",
            ) from None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Read objects one by one, from JSON lines, a JSON array or Parquet.

        Raises:
            DataError: the file holds something else.
        """
        if self._data.startswith(PARQUET):
            records = read_parquet(self._path, self._data).to_pylist()
        else:
            text = decode(self._path, self._data)
            records, self._origin = json_records(self._path, text)
        for self._record, record in enumerate(records):
            yield record
        self._record = -1

    def members(self) -> list[str]:
        """List the files in a ZIP archive; none if the file is something else.

        Raises:
            DataError: the archive is damaged.
        """
        return self._archive.namelist() if self._archive else []

    def member(self, name: str) -> bytes:
        """Read a file of a ZIP archive.

        Raises:
            DataError: it is too large for memory. KeyError: there is no such file.
        """
        if self._archive is None:
            raise KeyError(name)
        check_size(self._path, self._archive.getinfo(name).file_size)
        return self._archive.read(name)

    @cached_property
    def _archive(self) -> ZipFile | None:
        if not self._data.startswith(ZIP):
            return None
        try:
            return ZipFile(BytesIO(self._data))
        except BadZipFile as error:
            self.refuse(f"cannot read the ZIP archive: {error}", "Fetch it again.")

    def refuse(self, message: str, mend: str, row: int | None = None) -> NoReturn:
        """Refuse the file.

        Args:
            message: The expected content, and the actual one.
            mend: Advice to the user.
            row: Number, from 1, of the wrong object in `rows`, if there is one.

        Raises:
            DataError: always.
        """
        where = self.name if row is None else self._origin.at(row - 1)
        raise DataError(message, where=where, mend=mend)

    def table(self, reader: Reader) -> Named:
        """Make a table of a reader's rows, with their places in the file.

        Raises:
            DataError: the reader refuses the file or fails, or there are no rows.
        """
        rows, records, self._record = [], [], -1
        try:
            made = reader.read(self)
            if is_frame(made):
                return Named(made, Origin(self.name))
            for row in made:
                rows.append(row)
                records.append(self._record)
        except PgcjaxError:
            raise
        except Exception as error:  # the file has another form, or the reader a defect
            record = self._record + 1 or None
            cause = f"{type(error).__name__}: {error}"
            self.refuse(
                f"does not have the layout that {reader.name} reads ({cause})",
                _MEND,
                record,
            )
        if not rows:
            self.refuse(f"holds no {reader.kind} of {reader.name}", _MEND)
        origin = Origin(self.name)
        if -1 not in records:  # each row comes from one object of `rows`
            origin = self._origin.of_rows(np.array(records))
        return Named(in_hand(rows, self.name), origin)


@dataclass(frozen=True)
class Reader:
    """A reader of files that a tool writes.

    Attributes:
        name: Name of the tool, as for `--reader`.
        kind: Kind of data in the files: `preferences`, `qrels` or `runs`.
        claims: Returns whether the tool wrote a file, from its content alone.
        read: Returns the rows of a file, with the columns of `kind`, such as query_id,
            doc_id, other_doc_id, preference (None: no answer). Preferences may have
            the columns of any table of votes instead.
    """

    name: str
    kind: str
    claims: Callable[[Content], bool]
    read: Callable[[Content], Iterable[Mapping[str, Any]] | pd.DataFrame]

    def __post_init__(self) -> None:
        """Check the kind.

        Raises:
            UsageError: the kind is unknown.
        """
        check_choice("kind", self.kind, KINDS)

    def takes(self, content: Content) -> bool:
        """Return whether the reader claims a file; a failure warns and means no."""
        try:
            return self.claims(content)
        except DataError:  # unreadable, which is reported already
            return False
        except Exception as error:
            _tell_defect(f"reader {self.name}", error)
            return False


def keys(*alternatives: str) -> Callable[[Content], bool]:
    """Return a function that claims files with some JSON keys at their beginning.

    Args:
        alternatives: Sets of keys with blanks between them; a file needs all keys of
            one set. With no set, no file is claimed: users have to name the reader.
    """

    def claims(content: Content) -> bool:
        return any(
            all(f'"{key}"' in content.head for key in needed.split())
            for needed in alternatives
        )

    return claims


def text_id(text: str) -> str:
    """Return an id for a text: a short line itself, else its beginning and a hash."""
    if text.isprintable() and text == text.strip() and 0 < len(text) <= _LONGEST:
        return text
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:200]).split())
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{line[: _LONGEST - 14].strip()} #{digest}".strip()


def wins(
    query: Any, best: Any, documents: Iterable[Any], *, answered: bool = True
) -> Rows:
    """Make a row for each document that the best one won against.

    Args:
        query: Query of all rows.
        best: The winner; any document if there was no answer.
        documents: Documents that were compared.
        answered: Whether there was an answer.
    """
    for other in documents:
        if other != best:
            row = {"query_id": query, "doc_id": best, "other_doc_id": other}
            yield row | {"preference": 1 if answered else None}


@cache
def readers() -> dict[str, Reader]:
    """Return the readers in plugins/readers/ and in installed packages, by name."""
    package = import_module(_BUILT_IN)
    known: dict[str, Reader] = {}
    for module in pkgutil.iter_modules(package.__path__):
        _add(known, import_module(f"{_BUILT_IN}.{module.name}").READER)
    for entry in sorted(entry_points(group=GROUP)):
        try:
            _add(known, entry.load())
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.module
            _tell_defect(f"package {package}: reader {entry.value}", error)
    return known


def _add(known: dict[str, Reader], given: Reader | tuple[Reader, ...]) -> None:
    for reader in given if isinstance(given, tuple) else (given,):
        if not isinstance(reader, Reader):
            raise UsageError(f"expected a Reader, found {reader!r}")
        if known.setdefault(reader.name, reader) is not reader:
            raise UsageError(f"another reader is called {reader.name}")


def _tell_defect(which: str, error: Exception) -> None:
    cause = f"{type(error).__name__}: {error}"
    text = f"{which} is left out, because of {cause}. Mend or uninstall it"
    warnings.warn(text, DataWarning, stacklevel=outside())


def by_name(name: str, path: Path, kind: str, format: str) -> Named | None:
    """Read a file with the named reader; return None if that reads another kind.

    Raises:
        DataError: the reader refuses the file.
        UsageError: the reader is unknown, or a format is given as well.
    """
    check_choice("reader", name, readers())
    if readers()[name].kind != kind:
        return None
    if format != "auto":
        raise UsageError(f"reader {name} and format {format}: choose one of the two")
    return Content(path).table(readers()[name])


def kinds_by_content(path: Path) -> set[str]:
    """Return the kinds of the plug-ins that claim a file; an empty set if none does."""
    return {reader.kind for reader in _claiming(Content(path))}


def _claiming(content: Content) -> list[Reader]:
    return [reader for reader in readers().values() if reader.takes(content)]


def by_content(path: Path, kind: str) -> Named | None:
    """Read a file with the reader that claims it; return None if none does.

    Raises:
        DataError: the reader refuses the file, several readers claim it, or a reader of
            another kind does.
    """
    content = Content(path)
    claiming = _claiming(content)
    of_kind = [reader for reader in claiming if reader.kind == kind]
    if claiming and not of_kind:
        tool, claimed = claiming[0].name, claiming[0].kind
        content.refuse(f"is a file of {tool}, expected {kind}", f"It holds {claimed}.")
    if len(of_kind) > 1:
        names = [reader.name for reader in of_kind]
        content.refuse(
            f"may be a file of {' and of '.join(names)}",
            f"Name one: --reader {' or '.join(names)} (reader= in Python).",
        )
    return content.table(of_kind[0]) if of_kind else None
