"""Runs in tables and dicts in memory; tables of pandas are converted to polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pgcjax.errors import DataError
from pgcjax.io.in_memory import in_hand, is_frame, is_of
from pgcjax.io.runs.contract import Need, RunTable, Unit
from pgcjax.io.runs.rows import (
    SCORES,
    cells_of,
    check_one,
    checked,
    distinct,
    runs_among,
    table_of,
)
from pgcjax.io.schema import RUNS, Origin, ids, shorten, tell_indistinct
from pgcjax.later import pd


class TableRuns:
    """Tables in memory, each a unit."""

    notes: Sequence[str] = ()

    def __init__(self, tables: Sequence[pl.DataFrame]):
        self._tables = tables

    def units(self) -> list[Unit]:
        """List the tables."""
        sizes = [int(table.estimated_size()) for table in self._tables]
        return [Unit(self, None, size, i) for i, size in enumerate(sizes)]

    def read(self, units: Sequence[Unit], need: Need) -> Iterator[RunTable]:
        """Return tables: see `RunSource`."""
        return (RunTable(self._tables[unit.block]) for unit in units)

    def identity(self, unit: Unit) -> str:
        """Return a hash of the table."""
        return f"table {self._tables[unit.block].hash_rows().sum()}"


def read_table(source: pl.DataFrame | pd.DataFrame | Mapping) -> pl.DataFrame:
    """Make a canonical table of a DataFrame, or of a dict of runs or of their tables.

    Raises:
        DataError: the source is malformed.
    """
    if not isinstance(source, Mapping):
        table = _canonical(source, Origin("runs"), "run")
    else:
        held = {key: _in_hand(key, value) for key, value in source.items()}
        if any(map(_is_table, held.values())):
            table = _of_tables(held)
        else:
            table = _of_dicts(held, Origin("runs", "entry"))
    tell_indistinct(table.indistinct, SCORES)
    return table.frame


def of_pandas(frame: pd.DataFrame, origin: Origin) -> pl.DataFrame:
    """Select the columns of runs in a table of pandas, with their canonical names."""
    if frame.empty:
        raise DataError("holds no rows", where=origin.name, mend="Add rows.")
    columns = runs_among(frame.columns, origin, index=frame.index.names)
    return pl.DataFrame([_series(name, frame[c]) for name, c in columns.items()])


def _series(name: str, column: pd.Series) -> pl.Series:
    """Convert a column; objects and gaps stay as they are."""
    kind = column.dtype
    plain = pd.api.types.is_float_dtype(kind) or not column.hasnans
    plain &= pd.api.types.is_numeric_dtype(kind) or kind in ("str", "category")
    if plain:
        return pl.from_pandas(column, nan_to_null=False).alias(name)
    return _of_cells(name, column.tolist())


def _of_cells(name: str, cells: list[Any]) -> pl.Series:
    """Make a column of cells, which stay objects if they are of several types."""
    kinds = {*map(type, cells)}
    try:
        for type_, to in ((str, pl.String), (int, pl.Int64), (float, pl.Float64)):
            if kinds == {type_}:
                return pl.Series(name, cells, to)
    except (OverflowError, UnicodeEncodeError, TypeError, pl.exceptions.PolarsError):
        pass  # larger numbers, or half of a surrogate pair
    return pl.Series(name, cells, pl.Object)


def _canonical(
    table: pl.DataFrame | pd.DataFrame, origin: Origin, name: str
) -> RunTable:
    if isinstance(table, pl.DataFrame):
        cells = cells_of(table, origin)
    else:
        cells = of_pandas(table, origin)
    return table_of(checked(cells, origin), [name], "tag")


def _is_table(value: Any) -> bool:
    return isinstance(value, (RunTable, pl.DataFrame)) or is_frame(value)


def _in_hand(key: object, value: Any) -> Any:
    """Convert the value of a run or query in a dict; the key names a run of ranx."""
    if is_of(value, "ranx"):
        return value.to_dict()
    if isinstance(value, (RunTable, pl.DataFrame)):
        return value
    return in_hand(value, _part(key))


def _part(key: object) -> str:
    """Name a part of a dict in messages."""
    return f"runs[{shorten(key)}]"


def _of_tables(tables: Mapping) -> RunTable:
    """Put tables, whose keys name the runs, one below the other."""
    keys = pd.Series([*tables], name="run_id")
    named = ids(keys, Origin("runs", "entry")).tolist()
    parts = []
    for name, (key, table) in zip(named, tables.items(), strict=True):
        where = Origin(_part(key), "entry" if isinstance(table, Mapping) else "row")
        if isinstance(table, Mapping):
            part = _of_dicts({key: table}, where, runs=True)
        elif not _is_table(table):
            raise _expected("tables", table, where.name)
        elif isinstance(table, RunTable):
            part = table
        else:
            part = _canonical(table, where, name)
        mend = "Pass the table itself, without a dict."
        check_one(where.name, distinct(part.frame["run_id"]), mend)
        frame = part.frame.with_columns(run_id=pl.lit(name))
        parts.append(replace(part, frame=frame))
    if len({*named}) < len(named):
        twice = next(name for i, name in enumerate(named) if name in named[:i])
        raise DataError(
            f"holds run {twice!r} twice", where="runs", mend="Name one otherwise."
        )
    frame = pl.concat([part.frame for part in parts])
    return RunTable(frame, indistinct=sum(part.indistinct for part in parts))


def _expected(parts: str, value: object, where: str = "runs") -> DataError:
    return DataError(
        f"expected a dict of {parts}, found {shorten(value)}",
        where=where,
        mend=(
            "Pass {query: {doc: score}}; for several runs "
            "{run: such a dict, or a table}."
        ),
    )


def _of_dicts(source: Mapping, origin: Origin, runs: bool = False) -> RunTable:
    """Lay a dict of dicts out as a table; with `runs`, its keys are surely runs."""
    for key, inner in source.items():
        if not isinstance(inner, Mapping):
            raise _expected(f"dicts, as that of {key!r}", inner)
    cells = [cell for inner in source.values() for cell in inner.values()]
    several = runs or any(isinstance(cell, Mapping) for cell in cells)
    rows = []
    for run, queries in source.items() if several else [("run", source)]:
        count = len(rows)
        for query, docs in queries.items():
            if not isinstance(docs, Mapping):
                raise _expected(f"scores for query {query!r} of run {run!r}", docs)
            rows += [(run, query, doc, score) for doc, score in docs.items()]
        if len(rows) == count:
            raise _expected(f"documents for run {run!r}", queries)
    columns = zip(RUNS, zip(*rows, strict=True), strict=False)
    frame = pl.DataFrame([_of_cells(name, [*cells]) for name, cells in columns])
    return _canonical(frame, origin, "run")
