"""Runs that can be read a unit at a time, and never all at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
import polars as pl

from pgcjax.errors import DataError, Progress, UsageError, counted
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import chosen
from pgcjax.io.runs.ahead import bundled, read_ahead
from pgcjax.io.runs.contract import Need, Options, PackedBlock, RunTable, Unit
from pgcjax.io.runs.rows import SCORES
from pgcjax.io.schema import tell_indistinct
from pgcjax.later import pd

T = TypeVar("T")
_NO_FRAME = (
    "runs are read when they are needed, and are no DataFrame: use .table, a "
    "DataFrame of all of them"
)
_FLOAT32 = float(np.finfo(np.float32).max)


class Read(NamedTuple, Generic[T]):
    """Result for the tables of one unit, or for one table of several units.

    Attributes:
        units: Number of units.
        parts: Result for each table; a large file has several.
    """

    units: int
    parts: Sequence[T]


@dataclass(eq=False, repr=False)
class Runs:
    """Runs that can be read a unit at a time, and never all at once.

    Files are read in the encoding that was chosen when they were listed.

    Attributes:
        units: Units to read, in order.
        options: Settings of reading; `float32` says whether scores are rounded.
        grids: Canonical grids of all systems, if the runs are image grids.
    """

    units: list[Unit]
    options: Options = field(default_factory=Options)
    grids: pd.DataFrame | None = None

    @property
    def notes(self) -> list[str]:
        """Notes on the files for the user, a line each."""
        sources = dict.fromkeys(unit.source for unit in self.units)
        return [*chain.from_iterable(source.notes for source in sources)]

    @property
    def paths(self) -> list[Path]:
        """List the files."""
        return [*dict.fromkeys(unit.path for unit in self.units if unit.path)]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table of all runs, which is made when it is first used.

        Its columns are run_id, query_id, doc_id, score (float64) and rank (float64; NaN
        if the input has none). If the input has only ranks, score = -rank.

        Raises:
            DataError: runs are malformed.
        """
        tables = [*self._whole()]
        table = pl.concat([part.frame for part in tables]).to_pandas()
        table.attrs = {"comments": sum(part.comments for part in tables)}
        return table

    def __getitem__(self, key: Any) -> NoReturn:
        """Refuse access that is meant for a DataFrame, such as to its columns."""
        raise UsageError(_NO_FRAME)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse the attributes of a DataFrame, with a message that names `.table`."""
        raise AttributeError(f"no {name}: {_NO_FRAME}" if name[:1] != "_" else name)

    def __repr__(self) -> str:
        """Return the sizes of the runs, without reading them."""
        return f"<Runs: {counted(len(self.units), 'unit')}; .table has all of them>"

    def identities(self) -> list[str]:
        """Return a text for each unit that changes when its content does."""
        return [unit.source.identity(unit) for unit in self.units]

    def rounded(self) -> Runs:
        """Return the same runs, whose scores are rounded to float32.

        Raises:
            UsageError: packed runs have no scores.
        """
        if packed := next((unit for unit in self.units if unit.runs), None):
            raise UsageError(
                f"float32 rounds scores, and {packed.name} holds packed runs, which "
                "have none: give the files that it was packed from"
            )
        return replace(self, options=replace(self.options, float32=True))

    def part(self, i: int, n: int) -> Runs:
        """Return the i-th of n parts (from 1): every n-th unit, for parts of like size.

        Raises:
            UsageError: there are fewer units than parts.
        """
        if n > len(self.units):
            most = counted(len(self.units), "part")
            raise UsageError(f"part {i}/{n}: these runs make at most {most}")
        return self.share(i - 1, n)

    def share(self, i: int, n: int) -> Runs:
        """Return the i-th of n shares (from 0), which may be empty."""
        return replace(self, units=self.units[i::n])

    def first(self, count: int) -> Runs:
        """Return the first units."""
        return replace(self, units=self.units[:count])

    def tables(self, *, progress: Progress | None = None) -> Generator[pl.DataFrame]:
        """Read unit by unit as canonical tables; see `read_runs`.

        Raises:
            DataError: a unit is malformed; raised when its turn comes.
        """
        with closing(self._whole(progress)) as tables:
            yield from (table.frame for table in tables)

    def _whole(self, progress: Progress | None = None) -> Generator[RunTable]:
        whole = cast(Callable[[RunTable | PackedBlock], RunTable], lambda table: table)
        with closing(self.read(None, "trec", whole, progress=progress)) as units:
            yield from chain.from_iterable(unit.parts for unit in units)

    def read(
        self,
        judged: JudgedDocuments | None,
        order: str,
        then: Callable[[RunTable | PackedBlock], T],
        *,
        skip: int = 0,
        together: bool = True,
        progress: Progress | None = None,
    ) -> Generator[Read[T]]:
        """Read unit by unit, in threads, and keep only the results of `then`.

        Args:
            judged: The documents that matter; rows of others may be left out. None for
                whole runs.
            order: Order by which runs are ranked.
            then: Computes the result for a table, a piece of a file or a block, in the
                thread that read it, so rows are freed before the next unit is read.
            skip: Number of units at the beginning that are not read.
            together: Whether small files may be one table, which takes less time.
            progress: Called with `("reading", done, total)` after each unit.

        Yields:
            Results for each unit, or for several small files: one, but one per piece if
            a file is too large to be read at once. Callers that stop early have to
            close the generator.

        Raises:
            DataError: a unit is malformed; raised when its turn comes.
        """
        units = self.units[skip:]
        need = Need(chosen().memory, judged, order)
        alone = need.ranks or not together
        tasks = bundled(units, [0 if alone else unit.text for unit in units])
        owner: dict[str, Unit] = {}
        done = equal = 0
        read = partial(self._parts, need, then)
        with closing(read_ahead(read, [*tasks], _size)) as answers:
            for parts, error in answers:
                values: list[T] = []
                for by_unit, indistinct, last, value in parts:
                    self._claim(units[done : done + len(by_unit)], by_unit, owner)
                    equal += indistinct
                    values.append(value)
                    if not last:
                        continue
                    for unit in range(done + 1, done + len(by_unit) + 1):
                        if progress:
                            progress("reading", skip + unit, len(self.units))
                    done += len(by_unit)
                    yield Read(len(by_unit), values)
                    values = []
                if error:
                    raise error
        tell_indistinct(equal, SCORES)

    def _parts(
        self,
        need: Need,
        then: Callable[[RunTable | PackedBlock], T],
        units: Sequence[Unit],
    ) -> tuple[list[tuple[Sequence[Sequence[str]], int, bool, T]], Exception | None]:
        """Read some units; return the results before an error, and the error.

        The result for a table has by_unit, indistinct, last, and the value of `then`.
        """
        parts = []
        try:
            for table in units[0].source.read(units, need):
                about = table.by_unit, table.indistinct, table.last
                parts.append((*about, then(self._rounded(table))))
        except Exception as error:
            return parts, error
        return parts, None

    def _rounded(self, table: RunTable | PackedBlock) -> RunTable | PackedBlock:
        if not self.options.float32 or isinstance(table, PackedBlock):
            return table
        score = pl.col("score").clip(-_FLOAT32, _FLOAT32)
        score = score.cast(pl.Float32).cast(pl.Float64)
        return replace(table, frame=table.frame.with_columns(score))

    def _claim(
        self,
        units: Sequence[Unit],
        by_unit: Sequence[Sequence[str]],
        owner: dict[str, Unit],
    ) -> None:
        """Note the unit of each run; refuse a run that another unit has."""
        for unit, run_ids in zip(units, by_unit, strict=True):
            for run in run_ids:
                if owner.setdefault(run, unit) is not unit:
                    other = "file" if self.options.name_by == "tag" else "tag"
                    raise DataError(
                        f"claims the run name {run!r}, as {owner[run].name} does",
                        where=unit.name,
                        mend=f"Rename one, or name runs by {other}: name_by={other} "
                        "(--name-by on the command line).",
                    )


def _size(units: Sequence[Unit]) -> int:
    return sum(unit.size for unit in units)
