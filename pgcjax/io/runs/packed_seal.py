"""Checksums of packed runs: one of each column of a row group, one of all the rest.

Only what is asked for is checked, before it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError
from pgcjax.io import seal
from pgcjax.later import pa, pq

UNSEALED = 3
"""The version of packed runs that had no checksums."""

_MEND = "Pack the runs again."


def unfilled(columns: int) -> str:
    """Return what stands in the metadata until `fill` computes the checksums."""
    return "-" * 8 * columns


def fill(path: Path) -> None:
    """Write the checksums of a file, which is complete otherwise, into its metadata."""
    rows = pq.read_metadata(path)
    spans = [
        _span(rows, group, column)
        for group in range(rows.num_row_groups)
        for column in range(rows.num_columns)
    ]
    with path.open("r+b") as file:
        start, _ = seal.metadata(file)
        place = seal.read(file, start).rindex(unfilled(len(spans)).encode())
        crcs = [b"%08x" % seal.checksum(file, *span) for span in spans]
        file.seek(start + place)
        file.write(b"".join(crcs))
    seal.seal(path, start)


class Checksums:
    """Those of a file, with which what changed since it was packed is refused."""

    def __init__(self, source: pa.NativeFile, path: Path):
        """Check the metadata.

        Raises:
            DataError: they changed.
        """
        self._source, self._path = source, path
        self._crcs: str | None = None
        start, end = seal.metadata(source)
        # Where they cannot be, whoever decodes them says what is wrong.
        text = seal.read(source, start) if 0 <= start < end else b""
        self._sealed = seal.check(text, str(path), _MEND)

    def expect(self, about: dict[str, Any], rows: pq.FileMetaData) -> None:
        """Take the checksums of columns from the metadata.

        Raises:
            DataError: there are none, though it is of a version that has them.
        """
        if about["version"] > UNSEALED:
            if not self._sealed:
                raise self._damaged()
            self._crcs, self._rows = str(about.get("crcs")), rows

    def check(self, groups: Iterable[int], columns: list[str]) -> None:
        """Check columns of row groups.

        Raises:
            DataError: one changed.
        """
        if self._crcs is None:
            return
        names = self._rows.schema.names
        numbers = [names.index(column) for column in columns]
        for group in groups:
            for number in numbers:
                place = 8 * (group * len(names) + number)
                crc = seal.checksum(self._source, *_span(self._rows, group, number))
                if self._crcs[place : place + 8] != f"{crc:08x}":
                    raise self._damaged()

    def _damaged(self) -> DataError:
        return DataError(seal.DAMAGED, where=str(self._path), mend=_MEND)


def _span(rows: pq.FileMetaData, group: int, column: int) -> tuple[int, int]:
    """Tell where the bytes of a column begin and end."""
    about: Any = rows.row_group(group).column(column)
    start = about.data_page_offset
    if about.has_dictionary_page:
        start = min(start, about.dictionary_page_offset)
    return start, start + about.total_compressed_size
