"""Units of runs, each read by itself, or several small files as one table."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from pgcjax.io.packed import Block
from pgcjax.io.prefetch import in_turn
from pgcjax.io.reading import reading
from pgcjax.io.run_bundles import Bundle
from pgcjax.io.run_pieces import Piece
from pgcjax.io.run_tables import RunTable

T = TypeVar("T")


@dataclass(frozen=True)
class Unit:
    """What is read at once: a file, a block of packed runs, or a table in memory.

    Attributes:
        name: of the file or table.
        size: bytes on disk (of a block, in memory); 0 if unknown.
        block: number of the block in its file, or of the table; -1 of a whole file.
    """

    name: str
    size: int = 0
    block: int = -1


class Read(NamedTuple, Generic[T]):
    """What was read by one task.

    Attributes:
        units: of how many units.
        parts: what was made of them.
    """

    units: int
    parts: Iterator[T]


class Part(NamedTuple, Generic[T]):
    """What was made of a table.

    Attributes:
        by_unit: the runs of each unit that it is from.
        indistinct: number of scores that tie with different ones.
        kept: what was made of it.
    """

    by_unit: Sequence[Sequence[str]]
    indistinct: int
    kept: T


class UnitReader(Generic[T]):
    """Reads units in threads, and makes of each table what is kept of it."""

    def __init__(
        self,
        read: Callable[[Unit], RunTable | Block | Iterator[Piece]],
        bundle: Callable[[Sequence[Unit]], Bundle | None],
        then: Callable[[RunTable | Block], T],
        encoding: str,
    ):
        """Read a unit by `read`, several by `bundle`, if that gives a table."""
        self._read, self._bundle, self._then = read, bundle, then
        self._encoding = encoding
        self._regular = True

    def __call__(self, units: Sequence[Unit]) -> Iterator[Read[Part[T]]]:
        """Read units: a table for all of them, or what there is of each.

        Raises:
            DataError: a unit is malformed; in its turn, when the answer comes to it.
        """
        if len(units) > 1 and self._regular:
            with reading(encoding=self._encoding):
                bundle = self._bundle(units)
            if bundle:
                return iter([Read(len(units), iter([self._part(bundle)]))])
            self._regular = False  # nor are the others, most likely
        return in_turn(self._alone, units)

    def _alone(self, unit: Unit) -> Read[Part[T]]:
        with reading(encoding=self._encoding):
            tables = self._read(unit)
        if isinstance(tables, Iterator):
            return Read(1, map(self._part, self._pieces(tables)))
        return Read(1, iter([self._part(tables)]))

    def _pieces(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Read each piece in the encoding, and leave all else as it was between."""
        while True:
            with reading(encoding=self._encoding):
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def _part(self, table: RunTable | Block) -> Part[T]:
        by_unit = table.by_file if isinstance(table, Bundle) else (table.run_ids,)
        indistinct = table.indistinct if isinstance(table, RunTable) else 0
        return Part(by_unit, indistinct, self._then(table))


def gathered(
    tables: Iterable[pl.DataFrame], rows: int
) -> Generator[list[pl.DataFrame]]:
    """Put small tables together, up to so many rows, to be worked on at once."""
    waiting: list[pl.DataFrame] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) > rows:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
