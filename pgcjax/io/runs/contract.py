"""Interface of every source of runs: its units, the tables of each, its identity.

A unit is what is read at once: a file, a block of packed runs, a table in memory. A
source is one of a few classes, which `door.open_runs` chooses once; whoever has a unit
reads it by `unit.source`, and never asks what it is.

    units()                     what there is to read, in order
    read(units, need)           tables of whole runs: one of a unit, or pieces of whole
                                rankings, or one of several units that are small
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
    """Settings of runs: the arguments of `read_runs`, and the choices of `reading`."""

    format: str = "auto"
    name_by: str = "tag"
    float32: bool = False
    encoding: str = field(default_factory=lambda: chosen().encoding)
    reader: str = field(default_factory=lambda: chosen().reader)

    def __post_init__(self):
        check_choice("format", self.format, ("auto", *CONTAINERS))
        check_choice("name_by", self.name_by, NAME_BY)


class Need(NamedTuple):
    """Columns and documents that a reader wants of runs.

    Attributes:
        memory: bytes that a file may have, decompressed, to be read at once.
        judged: the documents that matter: of others there may be no rows; None for
            whole runs.
        order: by which runs are to be ranked.
    """

    memory: int
    judged: JudgedDocuments | None = None
    order: str = "trec"

    @property
    def ranks(self) -> bool:
        """Whether the ranks of the input matter."""
        return self.judged is None or self.order == "rank"

    @property
    def share(self) -> int:
        """Bytes of a run file from which it is read in pieces, where that can be."""
        return self.memory // 8


@dataclass(frozen=True)
class RunTable:
    """Whole runs, or whole rankings of a large file.

    Attributes:
        frame: run_id, query_id, doc_id (String), score (Float64) and rank (Float64; NaN
            where the input has none, or nobody needs it), in the order of the input.
        by_unit: the names of the runs of each unit that it is from; none of a unit that
            shares no name with another.
        comments: number of comment lines that were skipped.
        indistinct: number of scores that tie with different ones.
        outline: of the frame, if it was made on the way.
        last: whether no other piece of its unit follows.
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
        run: place of each ranking's run in `run_ids`.
        query: place of its query in `query_ids`; rankings are by query, then by run.
        length: documents of each ranking.
        count: how many of them are here: documents follow, ranking after ranking.
        position: of each document.
        judged: its place in `docs`; None if doc tells.
        doc: its place in `doc_ids`; None if `judged` tells.
        docs: the documents that the file was packed for: query_id, doc_id.
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
        """The names of its runs: a block is a unit."""
        return (self.run_ids,)


@dataclass(frozen=True)
class Unit:
    """Runs that are read together.

    Attributes:
        source: reads it.
        path: of its file; None of a table in memory.
        size: bytes on disk (of a block and a table, in memory); 0 of a pipe, which is
            read when its turn comes.
        block: its number in the file or among the tables; -1 of a whole file.
        text: about how many bytes it has, unpacked, if it may be read with others.
        runs: how many runs it has; 0 if that is not known before it is read.
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
    """Return a text that changes when a file does, or how it is read."""
    assert unit.path is not None
    try:
        changed = unit.path.stat().st_mtime_ns
    except OSError:
        changed = 0  # whoever reads it says what is wrong
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
        """List what can be read, in order."""
        ...

    def read(
        self, units: Sequence[Unit], need: Need
    ) -> Iterator[RunTable | PackedBlock]:
        """Read units of this source: several only where all have a `text`.

        Raises:
            DataError: a unit is malformed; what comes before it is yielded before.
        """
        ...

    def identity(self, unit: Unit) -> str:
        """Return a text that changes when the content of a unit does."""
        ...
