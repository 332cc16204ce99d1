"""Interface of every source of runs: its units, the tables of each, its identity.

A unit is read as a whole: a file, a block of packed runs, or a table in memory. A
source is one of a few classes, which `door.open_runs` chooses once; readers of a unit
call `unit.source`, whatever its class is.

    units()                     the units, in order
    read(units, need)           tables of whole runs: one for a unit, or one for several
                                small units; or pieces of a unit, with whole rankings
    identity(unit)              a text that changes when the content of the unit does
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import polars as pl

from pgcjax.errors import check_choice
from pgcjax.io.choices import NAME_BY
from pgcjax.io.containers import CONTAINERS
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.order import Outline
from pgcjax.io.reading import chosen


@dataclass(frozen=True)
class Options:
    """Settings of runs: the arguments of `read_runs`, and the settings of `reading`."""

    format: str = "auto"
    name_by: str = "tag"
    float32: bool = False
    encoding: str = field(default_factory=lambda: chosen().encoding)
    reader: str = field(default_factory=lambda: chosen().reader)

    def __post_init__(self):
        check_choice("format", self.format, ("auto", *CONTAINERS))
        check_choice("name_by", self.name_by, NAME_BY)


class Need(NamedTuple):
    """Columns and documents that a reader needs from runs.

    Attributes:
        memory: Most bytes that a file may have, decompressed, to be read at once.
        judged: The documents that matter; rows of others may be left out. None for
            whole runs.
        order: Order by which runs are ranked.
    """

    memory: int
    judged: JudgedDocuments | None = None
    order: str = "trec"

    @property
    def ranks(self) -> bool:
        """Whether the ranks in the input matter."""
        return self.judged is None or self.order == "rank"

    @property
    def share(self) -> int:
        """Bytes of a run file above which it is read in pieces, if possible."""
        return self.memory // 8


@dataclass(frozen=True)
class RunTable:
    """Whole runs, or whole rankings of a large file.

    Attributes:
        frame: run_id, query_id, doc_id (String), score (Float64) and rank (Float64; NaN
            if the input has none, or it is not needed), in the order of the input.
        by_unit: Names of the runs of each unit in the table; empty for a unit that
            shares no name with another.
        comments: Number of skipped comment lines.
        indistinct: Number of scores that tie with different ones.
        outline: Outline of the frame, if it is known.
        last: Whether this is the last piece of its unit.
    """

    frame: pl.DataFrame
    by_unit: Sequence[Sequence[str]] = ((),)
    comments: int = 0
    indistinct: int = 0
    outline: Outline | None = None
    last: bool = True


@dataclass(frozen=True)
class PackedBlock:
    """Whole packed runs, or their judged documents alone.

    Attributes:
        run: Place of each ranking's run in `run_ids`.
        query: Place of each ranking's query in `query_ids`; rankings are sorted by
            query, then by run.
        length: Number of documents of each ranking.
        count: Number of each ranking's documents here; they follow ranking by ranking.
        position: Position of each document.
        judged: Place of each document in `docs`; None if `doc` is used.
        doc: Place of each document in `doc_ids`; None if `judged` is used.
        docs: The documents that the file was packed for: query_id, doc_id.
    """

    run_ids: list[str]
    query_ids: list[str]
    run: np.ndarray
    query: np.ndarray
    length: np.ndarray
    count: np.ndarray
    position: np.ndarray
    judged: np.ndarray | None
    doc: np.ndarray | None
    doc_ids: pl.Series | None
    docs: pl.DataFrame

    indistinct: ClassVar[int] = 0
    last: ClassVar[bool] = True

    @property
    def by_unit(self) -> Sequence[Sequence[str]]:
        """The names of the block's runs: a block is a unit."""
        return (self.run_ids,)


@dataclass(frozen=True)
class Unit:
    """Runs that are read together.

    Attributes:
        source: Source that reads the unit.
        path: Path of the file; None for a table in memory.
        size: Bytes on disk (for a block or a table, in memory); 0 for a pipe, which is
            not read ahead.
        block: Number of the block in the file, or of the table; -1 for a whole file.
        text: Approximate bytes, unpacked, if it may be read with other units.
        runs: Number of runs; 0 if it is unknown before reading.
    """

    source: RunSource = field(repr=False)
    path: Path | None = None
    size: int = 0
    block: int = -1
    text: int = 0
    runs: int = 0

    @property
    def name(self) -> str:
        """Name the unit in messages."""
        return "runs" if self.path is None else str(self.path)


def file_identity(unit: Unit, options: Options) -> str:
    """Return a text that changes when a file or the options of its reading change."""
    assert unit.path is not None
    try:
        changed = unit.path.stat().st_mtime_ns
    except OSError:
        changed = 0  # its reader reports the error
    file = unit.name, unit.size, unit.block, changed
    how = options.format, options.name_by, options.encoding
    reader = (options.reader,) if options.reader else ()
    return "\t".join(map(str, (*file, *how, *reader)))


class RunSource(Protocol):
    """Runs of one kind, in units that can be read alone."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the files for the user, a line each."""
        ...

    def units(self) -> Sequence[Unit]:
        """List the units, in order."""
        ...

    def read(
        self, units: Sequence[Unit], need: Need
    ) -> Iterator[RunTable | PackedBlock]:
        """Read units of this source; several at once only if all have a `text`.

        Raises:
            DataError: a unit is malformed; earlier units are yielded before.
        """
        ...

    def identity(self, unit: Unit) -> str:
        """Return a text that changes when the content of a unit does."""
        ...
