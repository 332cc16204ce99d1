"""Tables in memory, from any library, as DataFrames.

No library outside pgcjax's dependencies is imported: methods of a table identify it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import polars as pl

from pgcjax.errors import DataError, UsageError
from pgcjax.io.schema import find_columns, shorten
from pgcjax.later import pa, pd

_TAKEN = (
    "Give files, or a table: a DataFrame of pandas or polars, an Arrow table, dicts or "
    "named tuples"
)


def in_hand(source: Any, name: str) -> Any:
    """Make a DataFrame of a table in memory.

    A table is a frame of pandas or polars, an object with Arrow data
    (`__arrow_c_stream__`, as in pyarrow and DuckDB) or `to_pandas` (as in HuggingFace
    datasets), or an iterable of dicts or of named tuples (as in ir_measures). Runs and
    Qrels of ranx become dicts.

    Args:
        source: A table, or anything else.
        name: Name of the table, in messages.

    Returns:
        A DataFrame; another source unchanged, but an iterable of paths as a list.

    Raises:
        DataError: records are of several kinds. UsageError: runs of ranx lack names.
    """
    if isinstance(source, (str, bytes, os.PathLike, Mapping)) or is_frame(source):
        return source
    if (frame := _frame_of(source)) is not None:
        return frame
    if is_of(source, "ranx"):
        return _of_ranx([source])
    if not isinstance(source, Iterable):
        return source
    items = list(source)
    if items and all(is_of(item, "ranx") for item in items):
        return _of_ranx(items)
    if items and (isinstance(items[0], Mapping) or _fields(items[0])):
        return _of_records(items, name)
    return items


def scores_in_hand(source: Any) -> Any:
    """Make a DataFrame of scores in memory, as `in_hand` does.

    The keys of a dict name the runs of tables without run names. Measures of
    ir_measures are named as they print.
    """
    table = in_hand(source, "scores")
    if isinstance(table, Mapping):
        parts = {run: scores_in_hand(part) for run, part in table.items()}
        for part in parts.values():
            if not isinstance(part, pd.DataFrame) or find_columns(part, ["run_id"]):
                return source
        named = [part.assign(run_id=str(run)) for run, part in parts.items()]
        table = pd.concat(named, ignore_index=True) if named else source
    if isinstance(table, pd.DataFrame) and "measure" in table:
        cells = table["measure"].tolist()
        if any(is_of(cell, "ir_measures") for cell in cells[:1]):
            table = table.assign(measure=list(map(str, cells)))
    return table


def is_of(value: Any, package: str) -> bool:
    """Return whether a value's class, or a base of it, is from a package."""
    classes = type(value).__mro__
    return any(c.__module__.partition(".")[0] == package for c in classes)


def is_frame(value: Any) -> TypeGuard[pd.DataFrame]:
    """Return whether a value is a DataFrame of pandas, which need not be imported."""
    return is_of(value, "pandas") and isinstance(value, pd.DataFrame)


def no_table(source: Any) -> UsageError:
    """Return the error for a value that neither names files nor is a table."""
    return UsageError(f"expected files or a table, found {shorten(source)}. {_TAKEN}")


def no_file(source: Any) -> UsageError:
    """Return the error for a value that is no file, with advice if it is a table."""
    mend = _TAKEN
    if any(hasattr(source, mark) for mark in ("columns", "column_names", "keys")):
        mend = "Name tables of several runs, {'bm25': table}; put others into one"
    elif isinstance(source, tuple):
        mend = "Name the fields, as ir_measures.ScoredDoc does, or make a DataFrame"
    return UsageError(f"expected a file, found {shorten(source)}. {mend}")


def _frame_of(source: Any) -> pd.DataFrame | None:
    """Convert the frame of a library; return None for other values, such as columns."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):  # to types that all versions of pyarrow know
        return to_frame(source.to_arrow(compat_level=pl.CompatLevel.oldest()))
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return to_frame(pa.table(source))
        except (pa.ArrowException, TypeError, ValueError):
            return None
    frame = source.to_pandas() if hasattr(source, "to_pandas") else None
    return frame if is_frame(frame) else None


def to_frame(table: Any) -> pd.DataFrame:
    """Make a DataFrame of an Arrow table; an index becomes a column, ids are kept."""
    # Whole numbers in a column with gaps stay whole.
    return table.to_pandas(ignore_metadata=True, integer_object_nulls=True)


def _of_ranx(tables: Sequence[Any]) -> dict[str, Any]:
    """Make dicts of Runs, with names as keys if they have names, or of Qrels."""
    if len(tables) == 1 and not (hasattr(tables[0], "run") and tables[0].name):
        return tables[0].to_dict()
    names = [table.name for table in tables]
    if None in names or len(set(names)) < len(names):
        raise UsageError(
            f"expected runs of ranx with names that differ, found {shorten(names)}. "
            "Set run.name"
        )
    return {table.name: table.to_dict() for table in tables}


def _fields(record: Any) -> tuple[str, ...]:
    """List the fields of a named tuple; () for other values."""
    return getattr(record, "_fields", ()) if isinstance(record, tuple) else ()


def _of_records(records: list[Any], name: str) -> pd.DataFrame:
    """Make a table of dicts, which may have gaps, or of named tuples.

    Columns hold objects, because pandas would turn whole-number ids with a gap into
    floats.
    """
    fields = _fields(records[0])
    for i, record in enumerate(records, 1):
        if fields != _fields(record) or not (fields or isinstance(record, Mapping)):
            kind = f"a named tuple of {', '.join(fields)}" if fields else "a dict"
            raise DataError(
                f"expected {kind} as in row 1, found {shorten(record)}",
                where=f"{name}, row {i}",
                mend="Give rows of one kind.",
            )
    if fields:
        columns = dict(zip(fields, zip(*records, strict=True), strict=True))
    else:
        names = dict.fromkeys(key for record in records for key in record)
        columns = {key: [record.get(key) for record in records] for key in names}
    return pd.DataFrame(
        {key: pd.Series(cells, dtype=object) for key, cells in columns.items()}
    )
