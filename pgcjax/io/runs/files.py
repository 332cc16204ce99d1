"""Runs in local or remote files: text, and tables with named columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from pgcjax.errors import DataError
from pgcjax.io.bytes import TooLargeError, read_bytes, text_pieces
from pgcjax.io.containers import COMPRESSED, Named, container_of, read_parquet, split
from pgcjax.io.files import read_by_any
from pgcjax.io.remote import size_on_disk
from pgcjax.io.runs.contract import Need, Options, RunTable, Unit, file_identity
from pgcjax.io.runs.memory import of_pandas
from pgcjax.io.runs.rows import RunRows, cells_of, checked, runs_among, table_of
from pgcjax.io.runs.text import read_pieces, read_regular, read_text
from pgcjax.io.schema import Origin

_PACKED = *COMPRESSED, ".parquet", ".pq"


class FileRuns:
    """Files of runs, each a unit; the bytes of a file show its format."""

    notes: Sequence[str] = ()

    def __init__(
        self, paths: Sequence[Path], options: Options, *, together: bool = True
    ):
        """Take files; several small ones may be read `together`."""
        self._paths, self._options = paths, options
        # It becomes False when files read together prove not to be regular.
        formats = ("auto", "columns", "parquet")
        self._together = together and options.format in formats and not options.reader

    def units(self) -> list[Unit]:
        """List the files."""
        units = []
        for path in self._paths:
            size = size_on_disk(path)
            text = size * (4 if path.suffix in _PACKED else 1) * self._together
            units.append(Unit(self, path, size, text=text))
        return units

    def read(self, units: Sequence[Unit], need: Need) -> Iterator[RunTable]:
        """Read files: see `RunSource`."""
        paths = [unit.path for unit in units if unit.path is not None]
        if len(units) > 1 and self._together:
            if table := self._one_table(paths, need):
                yield table
                return
            self._together = False  # other files are probably not regular either
        for path in paths:
            yield from self._alone(path, need)

    def identity(self, unit: Unit) -> str:
        """Return a text that changes when the content of a unit does."""
        return file_identity(unit, self._options)

    def _alone(self, path: Path, need: Need) -> Iterator[RunTable]:
        """Read a file: in pieces if it has more than its share of memory.

        Tables with a header are read whole.
        """
        format, encoding = self._options.format, self._options.encoding
        most = need.memory if need.judged is None else need.share
        try:
            data = read_bytes(path, most, encoding)
        except TooLargeError:
            if most == need.memory:
                raise
            if format == "auto":
                format = container_of(path, next(text_pieces(path, 2**16, encoding))[0])
            if format == "columns":
                yield from read_pieces(path, self._options, need)
                return
            data = read_bytes(path, need.memory, encoding)
        name_by = self._options.name_by

        def ours() -> RunTable:
            container = container_of(path, data) if format == "auto" else format
            if container == "columns":
                return read_text(path, data, name_by, need.ranks)
            rows = _table(path, data, container, need.memory)
            return table_of(rows, [path], name_by)

        def of_plugin(content: Named) -> RunTable:
            return table_of(_rows(content), [path], name_by)

        how = self._options.format, self._options.reader
        yield read_by_any(path, "runs", *how, ours, of_plugin)

    def _one_table(self, paths: Sequence[Path], need: Need) -> RunTable | None:
        """Read small files as one table, in half the time of reading each alone.

        Returns:
            The table; None if a file is not regular, cannot be read, or has a run of
            another file. Files read alone give the same rows, or an error.
        """
        format, name_by = self._options.format, self._options.name_by
        most = need.share // len(paths)
        try:
            data = [read_bytes(path, most, self._options.encoding) for path in paths]
            kinds = {format}
            if format == "auto":
                kinds = {*map(container_of, paths, data)}
            if kinds == {"columns"}:
                return read_regular(paths, data, name_by, need.ranks)
            if kinds == {"parquet"}:
                tables = [
                    _table(path, x, "parquet", most)
                    for path, x in zip(paths, data, strict=True)
                ]
                return table_of(_below(tables), paths, name_by)
        except (DataError, OSError, pl.exceptions.PolarsError):
            pass
        return None


def _table(path: Path, data: bytes, container: str, most: int) -> RunRows:
    """Read a file with named columns."""
    if container == "parquet":
        origin = Origin(str(path))
        table = read_parquet(
            *(path, data, most),
            select=lambda names: [*runs_among(names, origin).values()],
        )
        return checked(cells_of(pl.DataFrame(table), origin), origin)
    content = split(path, data, container)
    assert isinstance(content, Named)
    return _rows(content)


def _rows(content: Named) -> RunRows:
    frame = of_pandas(content.frame, content.origin)
    return checked(frame, content.origin, content.comments)


def _below(tables: Sequence[RunRows]) -> RunRows:
    """Put tables one below the other, without their ranks."""
    if sum(table.indistinct for table in tables):
        raise DataError("has scores that tie with those of another part")
    frames = [table.frame.drop("rank", strict=False) for table in tables]
    lengths = [len(table.frame) for table in tables]
    return RunRows(pl.concat(frames), lengths, tables[0].origin)
