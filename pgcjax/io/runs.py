"""Runs: files, packed runs, DataFrames and dicts in, canonical tables out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import polars as pl

from pgcjax.errors import (
    DataError,
    Progress,
    UsageError,
    check_choice,
    counted,
    refuse_forked,
)
from pgcjax.io import files
from pgcjax.io.choices import NAME_BY
from pgcjax.io.containers import COMPRESSED, CONTAINERS
from pgcjax.io.fast_columns import of_pandas
from pgcjax.io.folders import is_no_run
from pgcjax.io.in_memory import in_hand, is_frame
from pgcjax.io.judged import Judged
from pgcjax.io.packed import Block, Packed, is_packed
from pgcjax.io.prefetch import bundled, read_ahead, size_on_disk
from pgcjax.io.reading import chosen
from pgcjax.io.remote import RemoteFile, each, is_remote
from pgcjax.io.run_bundles import Bundle, read_bundle
from pgcjax.io.run_pieces import Piece, read_in_pieces
from pgcjax.io.run_tables import SCORES, RunTable, from_memory, read_file
from pgcjax.io.run_units import Part, Read, Unit, UnitReader
from pgcjax.io.schema import tell_indistinct
from pgcjax.later import pd

T = TypeVar("T")
_PARQUET = ".parquet", ".pq"
FORMATS = ("auto", *CONTAINERS)
_NO_FRAME = (
    "runs are read when they are needed, and are no DataFrame: take .table, which is "
    "one of all of them"
)
_FLOAT32 = float(np.finfo(np.float32).max)


def read_runs(
    source: files.Source | Iterable[files.Source] | Mapping | Runs | Any,
    *,
    format: str = "auto",
    name_by: str = "tag",
    float32: bool = False,
) -> Runs:
    """List one run or many, to be read when they are needed.

    Whatever takes runs takes the result, and reads of it what it needs: files are not
    read here, but for pipes, and are not all in memory at once.

    Args:
        source: files, folders and globs of TREC runs (6 columns), of 3 columns `query
            doc score`, of named columns (CSV, TSV, JSONL, Parquet), plain or
            compressed, or of packed runs; or a table in memory, of pandas, polars,
            Arrow, HuggingFace datasets, dicts or named tuples; or Runs of ranx; or
            `{query: {doc: score}}` of one run, `{run: …}` of any of these of several.
        format: `auto`, or one of `columns`, `csv`, `tsv`, `jsonl`, `parquet`.
        name_by: name a run by its `tag` (the file's name where there is none), by the
            name of its `file`, or by its `filename`, which is that with its suffix.
        float32: round scores to float32, which makes ties, as trec_eval up to 9 does.

    Returns:
        The runs; `.table` is a DataFrame of all of them.

    Raises:
        DataError: there is no such file; and, when they are read: a row is malformed, a
            document is twice in a query of a run, or two files claim one name.
        UsageError: packed runs have no scores to round.
    """
    runs = Runs(source, format=format, name_by=name_by, float32=float32)
    if any(unit.block < 0 and not unit.size for unit in runs.units):
        return Runs(runs.table)  # a pipe can be read but once
    return runs


class Runs:
    """Runs that can be read a unit at a time, and never all at once.

    Files are read in the encoding that was chosen when they were listed.

    Attributes:
        units: what is read, in order.
        grids: canonical grids of all systems, where the runs are image grids.
        float32: whether scores are rounded to float32.
        notes: what the user should know of the files, a line each.
    """

    def __init__(
        self,
        source: files.Source | Iterable[files.Source] | Mapping | Runs | Any,
        *,
        format: str = "auto",
        name_by: str = "tag",
        float32: bool = False,
        grids: pd.DataFrame | None = None,
    ):
        """List what is to be read, without reading it; arguments as of `read_runs`.

        Of canonical `grids`, `source` is the table of runs: each system is a unit, and
        knows the grids of all others.

        Raises:
            UsageError, DataError: an argument is wrong, or there is nothing to read.
        """
        refuse_forked()
        check_choice("format", format, FORMATS)
        check_choice("name_by", name_by, NAME_BY)
        self._options = format, name_by
        self.units: list[Unit] = []
        self.notes: list[str] = []
        self.packed: dict[str, Packed] = {}
        self._paths: dict[str, Path] = {}
        self.grids, self.float32 = grids, float32
        self._tables: list[pl.DataFrame] = []
        self._encoding = chosen().encoding
        source = in_hand(source, "runs")
        if isinstance(source, Runs):
            vars(self).update({k: v for k, v in vars(source).items() if k != "table"})
            self.float32 = float32 or source.float32
        elif isinstance(source, Mapping) or is_frame(source):
            if isinstance(source, Mapping):
                listed = {k: v for k, v in source.items() if isinstance(v, Runs)}
                source = {**source, **{k: v.table for k, v in listed.items()}}
            frame = from_memory(source)
            table = of_pandas(frame, frame, nan_to_null=False)
            several = grids is not None
            self._tables = table.partition_by("run_id") if several else [table]
            sizes = (int(t.estimated_size()) for t in self._tables)
            self.units = [Unit("runs", size, i) for i, size in enumerate(sizes)]
        else:
            foreign = partial(is_no_run, format=format)
            paths = files.expand(source, foreign, "run")
            self._paths = {str(path): path for path in paths}
            elsewhere = any(map(is_remote, paths))
            packed = (each if elsewhere else map)(is_packed, paths)
            for (name, path), sealed in zip(self._paths.items(), packed, strict=True):
                if sealed:
                    self.packed[name] = Packed(path)
                    sizes = enumerate(self.packed[name].sizes)
                    self.units += [Unit(name, size, i) for i, size in sizes]
                else:
                    self.units.append(Unit(name, size_on_disk(path)))
        if self.float32 and self.packed:
            raise UsageError(
                f"float32 rounds scores, and {next(iter(self.packed))} holds packed "
                "runs, which have none: give the files that it was packed of"
            )

    @property
    def paths(self) -> list[Path]:
        """List the files."""
        return [*self._paths.values()]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table of all runs, which is made when it is first asked for.

        Its columns are run_id, query_id, doc_id, score (float64) and rank (float64; NaN
        where the input has none). Where there are ranks only, score = -rank.

        Raises:
            DataError: runs are malformed.
        """
        comments: list[int] = []
        table = pl.concat(list(self.tables(comments=comments))).to_pandas()
        table.attrs = {"comments": sum(comments)}
        return table

    def __getitem__(self, key: Any) -> NoReturn:
        """Refuse what is meant for a DataFrame, such as to go through its columns."""
        raise UsageError(_NO_FRAME)

    def __getattr__(self, name: str) -> NoReturn:
        """Say where the DataFrame is that has such attributes."""
        raise AttributeError(f"no {name}: {_NO_FRAME}" if name[:1] != "_" else name)

    def __repr__(self) -> str:
        """Tell how much there is, without reading it."""
        return f"<Runs: {counted(len(self.units), 'unit')}; .table has all of them>"

    def identities(self) -> list[str]:
        """Say of each unit what would change if its content did."""
        if self._tables:
            tables = [self._tables[unit.block] for unit in self.units]
            return [f"table {table.hash_rows().sum()}" for table in tables]
        changed = {name: _changed(path) for name, path in self._paths.items()}
        how = [*self._options, self._encoding]
        return [
            "\t".join(map(str, [*astuple(u), changed[u.name], *how]))
            for u in self.units
        ]

    def part(self, i: int, n: int) -> Runs:
        """Give the i-th of n parts (from 1): every n-th unit, so that they are alike.

        Raises:
            UsageError: there are fewer units than parts.
        """
        if n > len(self.units):
            what = "blocks of packed runs" if self.packed else "run files"
            what = what if self.grids is None else "systems"
            raise UsageError(
                f"part {i}/{n}: {len(self.units)} {what} make at most "
                f"{len(self.units)} parts"
            )
        return self.share(i - 1, n)

    def share(self, i: int, n: int) -> Runs:
        """Give the i-th of n shares (from 0), which may be empty."""
        return self._only(slice(i, None, n))

    def first(self, count: int) -> Runs:
        """Give the first units."""
        return self._only(slice(count))

    def _only(self, units: slice) -> Runs:
        runs = Runs(self)
        runs.units = self.units[units]
        return runs

    def tables(
        self, *, progress: Progress | None = None, comments: list[int] | None = None
    ) -> Generator[pl.DataFrame]:
        """Read unit by unit as canonical tables; see `read_runs`.

        `comments` takes the number of comment lines of each file.

        Raises:
            DataError: a unit is malformed, each in its turn.
        """
        whole = cast(Callable[[RunTable | Block], RunTable], lambda table: table)
        with closing(self.read(None, "trec", whole, progress=progress)) as units:
            for table in chain.from_iterable(unit.parts for unit in units):
                if comments is not None:
                    comments.append(table.comments)
                yield table.frame

    def _rounded(self, table: RunTable | Block) -> RunTable | Block:
        if not self.float32 or isinstance(table, Block):
            return table
        score = pl.col("score").clip(-_FLOAT32, _FLOAT32)
        score = score.cast(pl.Float32).cast(pl.Float64)
        return replace(table, frame=table.frame.with_columns(score))

    def read(
        self,
        judged: Judged | None,
        order: str,
        then: Callable[[RunTable | Block], T],
        *,
        skip: int = 0,
        together: bool = True,
        progress: Progress | None = None,
    ) -> Generator[Read[T]]:
        """Read unit by unit, in threads, and keep what is made of each.

        Args:
            judged: the documents that matter: of others there may be no rows; None
                for whole runs.
            order: by which runs are to be ranked.
            then: makes of a table, piece of a file or block what is kept of it: in the
                thread that read it, so that rows are gone when the next unit is read.
            skip: so many units at the beginning are not read.
            together: whether small files may be one table, which takes less time.
            progress: called with `("reading", done, total)` after each unit.

        Yields:
            What `then` makes of each unit: one, but of each piece of a file that is too
            large to be read at once; and one of several small files. It is gone through
            before the next is asked for. Whoever stops early closes the generator.

        Raises:
            DataError: a unit is malformed, each in its turn.
        """
        ranks = judged is None or order == "rank"
        wanted = {n: self._wanted(f, judged) for n, f in self.packed.items()}

        def read(unit: Unit) -> RunTable | Block | Iterator[Piece]:
            if self._tables:
                return RunTable(self._tables[unit.block], (), 0)
            if unit.block < 0:
                # Whoever does not look for judged documents needs whole runs.
                read = read_file if judged is None else read_in_pieces
                return read(self._paths[unit.name], *self._options, ranks)
            packed = self.packed[unit.name]
            if judged is None:
                return RunTable(*packed.frame(unit.block), 0)
            return packed.read(unit.block, order, wanted[unit.name])

        def bundle(units: Sequence[Unit]) -> Bundle | None:
            return read_bundle(
                [self._paths[unit.name] for unit in units], *self._options
            )

        rounded = lambda table: then(self._rounded(table))  # noqa: E731
        reader = UnitReader(read, bundle, rounded, self._encoding)
        owner: dict[str, str] = {}
        equal = 0

        def claimed(place: int, answer: Read[Part[T]]) -> Iterator[T]:
            nonlocal equal
            own: set[str] = set()
            for by_unit, indistinct, kept in answer.parts:
                for unit, run_ids in enumerate(by_unit, place):
                    new = [run for run in run_ids if run not in own]
                    self._claim(self.units[unit], new, owner)
                    own.update(new)
                equal += indistinct
                yield kept
            if progress:
                for done in range(place, place + answer.units):
                    progress("reading", done + 1, len(self.units))

        def size(units: Sequence[Unit]) -> int:
            return sum(unit.size for unit in units)

        alone = ranks or not together
        texts = [0 if alone else self._text(unit) for unit in self.units[skip:]]
        tasks = bundled(self.units[skip:], texts)
        place = skip
        with closing(read_ahead(reader, [*tasks], size)) as answers:
            for answer in chain.from_iterable(answers):
                yield Read(answer.units, claimed(place, answer))
                place += answer.units
        tell_indistinct(equal, SCORES)

    def _text(self, unit: Unit) -> int:
        """Tell about how many bytes a unit has, unpacked; 0 if it is read alone."""
        path = self._paths.get(unit.name)
        if path is None or unit.block >= 0 or is_remote(path):
            return 0
        if self._options[0] not in ("auto", "columns", "parquet"):
            return 0
        return unit.size * (4 if path.suffix in (*COMPRESSED, *_PARQUET) else 1)

    def _wanted(self, packed: Packed, judged: Judged | None) -> pl.Series | None:
        """List the ids to look for, if judgments ask for more than a file has ready."""
        lacking = packed.lacks(judged) if judged is not None else 0
        if lacking:
            self.notes.append(
                f"{packed.path}: packed for other judgments, which lack "
                f"{counted(lacking, 'judged document')}: all of it is read"
            )
        return judged.ids if judged is not None and lacking else None

    def _claim(self, unit: Unit, names: Sequence[str], owner: dict[str, str]) -> None:
        """Note whose file each run is from; refuse a run that another file has."""
        for run in names:
            if run in owner:
                other = "file" if self._options[1] == "tag" else "tag"
                raise DataError(
                    f"claims the run name {run!r}, as {owner[run]} does",
                    where=unit.name,
                    mend=f"Rename one, or name runs by {other}: name_by={other} "
                    "(--name-by on the command line).",
                )
            owner[run] = unit.name


def _changed(path: Path) -> int | str:
    """Say what changes when a file does."""
    if isinstance(path, RemoteFile):
        return path.version
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
