"""Canonical columns: their names, their aliases, and their valid cells."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from pgcjax.errors import DataError, DataWarning
from pgcjax.later import pd

RUNS = ("run_id", "query_id", "doc_id", "score", "rank")
QRELS = ("query_id", "doc_id", "relevance")
PREFERENCES = ("query_id", "doc_id", "other_doc_id", "preference")
INTENT_QRELS = ("query_id", "doc_id", "intent_id", "relevance")
INTENTS = ("query_id", "intent_id", "probability", "kind")
CONTEXT = ("query_id", "doc_id", "previous_doc_id", "relevance")
GRIDS = ("query_id", "run_id", "doc_id", "row", "column")
SCORES = ("run_id", "query_id", "measure", "value")

ALIASES = {
    "run_id": ("runid", "run", "run_name", "name", "tag", "runtag", "system"),
    "query_id": ("qid", "q_id", "query", "queryid", "topic", "topic_id"),
    "doc_id": ("docno", "docid", "doc", "did", "pid", "winner"),
    "other_doc_id": ("other_docno", "other_docid", "other_doc", "other", "loser"),
    "previous_doc_id": ("previous_docno", "previous_docid", "previous_doc", "previous"),
    "score": ("sim",),
    "rank": (),
    "relevance": ("label", "rel", "grade", "relevance_grade"),
    "iteration": ("iter",),
    "preference": ("pref",),
    "judge": ("assessor", "annotator", "worker"),
    "weight": (),
    "seconds": (),
    "time": ("timestamp", "tstamp", "created_at", "judged_at"),
    "first": (),
    "aspect": ("criterion", "dimension"),
    "intent_id": ("intent", "subtopic", "subtopic_id", "iteration", "iter"),
    "probability": ("prob",),
    "kind": ("type",),
    "row": (),
    "column": ("col",),
    "length": (),
}
EXACT = 2.0**53
"""From this number on, different whole numbers may be equal as float64."""
LARGEST = 1e150
"""Largest number of which 10^7 squares add up to a float64."""
_KNOWN = {*ALIASES, *(alias for aliases in ALIASES.values() for alias in aliases)}


@dataclass(frozen=True)
class Origin:
    """Origin of rows, so that a message can name file and line.

    Attributes:
        name: Name of a file, or of an argument.
        unit: `line` for text files, `row` for tables without lines.
        places: 1-based line or row of each row.
    """

    name: str
    unit: str = "row"
    places: Sequence[int] | np.ndarray = field(default=(), repr=False)

    def at(self, i: int) -> str:
        """Name the place of row i: `file:17` or `table, row 17`."""
        place = self.places[i] if len(self.places) else i + 1
        return f"{self.name}:{place}" if self.unit == "line" else f"{self} {place}"

    def place(self, i: int) -> str:
        """Name the place of row i inside its file: `line 17`."""
        return f"{self.unit} {self.places[i] if len(self.places) else i + 1}"

    def of_rows(self, rows: np.ndarray) -> Origin:
        """Return the origin of some of the rows (int `[rows]`)."""
        places = np.asarray(self.places)
        return replace(self, places=places[rows] if len(places) else rows + 1)

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}"


class Origins:
    """Origin of the rows of several tables, one below the other."""

    def __init__(self, origins: Sequence[Origin], lengths: Sequence[int]):
        self._origins, self._starts = origins, np.cumsum([0, *lengths])

    def at(self, i: int) -> str:
        """Name the place of row i: `file:17`."""
        k = int(np.searchsorted(self._starts, i, side="right")) - 1
        return self._origins[k].at(i - int(self._starts[k]))


def known_column(name: str) -> bool:
    """Return whether a header names a canonical column."""
    return name.strip().strip('"').lower() in _KNOWN


def find_columns(
    columns: Iterable[Any],
    names: Iterable[str],
    aliases: Mapping[str, Sequence[str]] = ALIASES,
) -> dict[str, Any]:
    """Look columns up by canonical name or alias, in any case.

    If several columns fit, the canonical name wins, then the alias that `aliases` lists
    first: a PyTerrier table has `qid` and the text `query`.

    Returns:
        The column of each name that has one, in the order of `names`.
    """
    lower = {str(column).strip().lower(): column for column in reversed([*columns])}
    spellings = {
        name: next((s for s in (name, *aliases.get(name, ())) if s in lower), None)
        for name in names
    }
    return {name: lower[s] for name, s in spellings.items() if s is not None}


def canonical(
    frame: pd.DataFrame,
    origin: Origin,
    required: Sequence[str],
    optional: Sequence[str] = (),
) -> pd.DataFrame:
    """Select and rename columns to their canonical names; see `find_columns`.

    Raises:
        DataError: there are no rows, or a required column is missing or occurs twice.
    """
    if frame.empty:
        raise DataError("holds no rows", where=origin.name, mend="Add rows.")
    index = frame.index.names
    columns = selected(frame.columns, origin, required, optional, index=index)
    frame = frame[list(columns.values())]
    return frame.set_axis(list(columns), axis=1).reset_index(drop=True)


def keyed(
    frame: pd.DataFrame,
    origin: Origin,
    keys: Sequence[str],
    others: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> pd.DataFrame:
    """Select columns as `canonical` does, and read those of the keys as ids.

    Raises:
        DataError: as in `canonical`, or an id is invalid.
    """
    table = canonical(frame, origin, (*keys, *others), optional)
    for name in keys:
        table[name] = ids(table[name], origin)
    return table


def selected(
    names: Iterable[Any],
    origin: Origin,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    index: Iterable[Any] = (),
) -> dict[str, Any]:
    """Find the column of each canonical name among those of a table.

    Raises:
        DataError: a required column is missing or only in the `index`; or a column
            occurs twice.
    """
    names = list(names)
    columns = find_columns(names, (*required, *optional))
    missing = [name for name in required if name not in columns]
    if missing:
        mend = f"Needed: {', '.join(required)}."
        if find_columns(index, missing):
            mend = "The index has them: frame.reset_index() makes columns of it."
        raise DataError(
            f"missing columns {missing} ({found_columns(names)})",
            where=origin.name,
            mend=mend,
        )
    twice = [str(c) for c in columns.values() if names.count(c) > 1]
    if twice:
        raise DataError(
            f"has more than one column {twice[0]!r}",
            where=origin.name,
            mend="Rename or drop one.",
        )
    return columns


def found_columns(columns: Iterable[Any]) -> str:
    """List the columns of a table in a message, at most 12."""
    names = [str(column) for column in columns]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"found {names[:12]}{more}"


# Separators of ids in files, and halves of surrogate pairs, which JSON can hold but
# which cannot be written. Ids may have all other characters.
_UNWRITABLE = re.compile(r"[\t\n\r\0\ud800-\udfff]").search


def _is_id(value: object) -> bool:
    return (
        isinstance(value, str)
        and value != ""
        and value == value.strip()
        and not _UNWRITABLE(value)
    )


def are_ids(values: list) -> bool:
    """Return whether all values are ids, faster than one by one; a gap is none."""
    try:
        text = "\n".join(values)
    except TypeError:
        return False
    return (
        "" not in values
        and values == [*map(str.strip, values)]
        and text.count("\n") == len(values) - 1
        and not any(c in text for c in "\t\r\0")
    )


GENERAL = "{:g}".format
"""Writes a number in a message."""


def _void(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, str) and not cell)


def _shown(cell: object) -> str:
    return "nothing" if _void(cell) else shorten(cell)


def shorten(value: object, width: int = 80) -> str:
    """Quote a value for a message, without its middle if it is long."""
    text = " ".join(repr(value).split())
    if len(text) > width:
        text = f"{text[: width // 2]} … {text[-width // 2 :]}"
    return text


def refuse(
    bad: np.ndarray, problem: Callable[[int], str], origin: Origin | Origins, mend: str
) -> None:
    """Refuse a table for its first bad row (bool `[rows]`), if there is one.

    Raises:
        DataError: a row is bad; the message is that of `problem`.
    """
    if bad.any():
        row = int(bad.argmax())
        raise DataError(problem(row), where=origin.at(row), mend=mend)


def expect(
    good: np.ndarray,
    expected: str,
    cells: Iterable[Any],
    origin: Origin | Origins,
    mend: str,
    show: Callable[[Any], str] = repr,
) -> None:
    """Refuse a table for the first of its cells that is not `good` (bool `[rows]`).

    Raises:
        DataError: there is one; the message has the expectation and the cell.
    """

    def problem(i: int) -> str:
        return f"expected {expected}, found {show(list(cells)[i])}"

    refuse(~good, problem, origin, mend)


_IDS = "Ids are whole numbers, or text without tabs and without blanks at its ends."
_FLOAT = "Ids are text or whole numbers; a missing value turns them into floats in "
_FLOAT += "pandas."
_NO_TEXT = "Every row needs one; pandas.read_csv(…, dtype=str, keep_default_na=False) "
_NO_TEXT += "reads no id as missing."


def ids(column: pd.Series, origin: Origin, *, empty: bool = False) -> pd.Series:
    """Convert a column of ids to text; whole numbers keep all digits.

    Text is unchanged. With `empty`, cells may be empty, and become missing.

    Raises:
        DataError: an id is empty, has a decimal point, or blanks around it.
    """
    if pd.api.types.is_integer_dtype(column.dtype) and not column.hasnans:
        return column.astype("str")
    if column.dtype == "str" and are_ids(column.unique().tolist()):
        return column
    texts: list[str | None] = []
    for i, value in enumerate(column.tolist()):
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            value = str(value)
        if _is_id(value):
            texts.append(str(value))
            continue
        lost = isinstance(value, float) and math.isnan(value)
        if empty and (lost or _void(value)):
            texts.append(None)
            continue
        mend = _NO_TEXT if lost else _FLOAT if isinstance(value, float) else _IDS
        problem = f"expected {column.name}, found {_shown(value)}"
        raise DataError(problem, where=origin.at(i), mend=mend)
    return pd.Series(texts, dtype="str", name=column.name)


def numbers(
    column: pd.Series, name: str, origin: Origin, mend: str = "Every row needs one."
) -> np.ndarray:
    """Read a column of numbers, or of numbers as text, as finite float64.

    Raises:
        DataError: a cell is not a number, or is NaN or infinite.
    """
    values = lenient_numbers(column)
    expected = f"a finite number as {name}"
    expect(np.isfinite(values), expected, column, origin, mend, _shown)
    return values


def numbers_or_nan(
    column: pd.Series,
    expected: str,
    origin: Origin,
    mend: str,
    *,
    least: float = -math.inf,
    void: Sequence[str] = ("",),
) -> np.ndarray:
    """Read a column as float64 numbers, NaN for missing cells and the texts `void`.

    Raises:
        DataError: a cell is neither void nor a finite number from `least` up.
    """
    values = lenient_numbers(column)
    cells = column.tolist()
    empty = column.isna().to_numpy() | np.array([c in void for c in cells], bool)
    good = empty | ((values >= least) & np.isfinite(values))
    expect(good, expected, cells, origin, mend)
    return np.where(empty, math.nan, values)


def seconds(column: pd.Series, origin: Origin) -> np.ndarray:
    """Read the durations of judgments, in seconds; NaN if unknown.

    Raises:
        DataError: a cell is neither empty nor a number of 0 or more.
    """
    mend = "Leave unknown times empty."
    values = numbers_or_nan(column, "seconds, 0 or more", origin, mend, least=0)
    check_squares(values, "seconds", origin.name)
    return values


def check_squares(values: np.ndarray, noun: str, where: str) -> None:
    """Refuse numbers whose squares may not add up to a float64; NaN is ignored.

    Raises:
        DataError: there is one; the message calls it `noun`.
    """
    largest = np.nanmax(np.abs(values), initial=0.0)
    if largest > LARGEST:
        raise DataError(
            f"expected {noun} from -{LARGEST:g} to {LARGEST:g}, as squares are added "
            f"up, found one that is {largest:g} from 0",
            where=where,
            mend="Divide all by one number.",
        )


def lenient_numbers(column: pd.Series) -> np.ndarray:
    """Read a column as float64 numbers, NaN where a cell is no number."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy(np.float64)
    cells = column.tolist()
    try:
        if _is_plain("".join(cells)):
            return np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError):
        pass  # not all are text, or not all are numbers
    return np.fromiter(map(lenient_number, cells), np.float64, len(cells))


def _is_plain(text: str) -> bool:
    """Return whether a text is a plain number; 1_0 and １０ are none."""
    return text.isascii() and "_" not in text


def lenient_number(cell: object) -> float:
    """Read a cell as a number; NaN if it is no number."""
    if isinstance(cell, bool) or (isinstance(cell, str) and not _is_plain(cell)):
        return math.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def all_exact(values: pl.Series) -> bool:
    """Check that all values are finite, and below `EXACT` in size."""
    numbers = values.to_numpy()  # numpy releases Python's lock
    return bool(((numbers > -EXACT) & (numbers < EXACT)).all())


def indistinct(cells: pd.Series, values: np.ndarray, keys: pd.DataFrame) -> int:
    """Count numbers that differ from another with equal keys, but are equal as float64.

    Args:
        cells: Numbers, or numbers as text.
        values: The same numbers as float64.
        keys: Columns of keys of the same rows.
    """
    large = np.flatnonzero(np.abs(values) >= EXACT)
    if not len(large) or pd.api.types.is_float_dtype(cells.dtype):
        return 0
    exact = [Decimal(str(cell)) for cell in cells.iloc[large]]
    rows = keys.iloc[large].reset_index(drop=True)
    rows = rows.assign(value=values[large], exact=pd.Series(exact, dtype=object))
    groups = rows.groupby([*keys, "value"])["exact"]
    return int((groups.transform("nunique") > 1).sum())


def tell_indistinct(count: int, noun: str) -> None:
    """Warn of numbers that `indistinct` counted."""
    if count:
        warnings.warn(
            f"{count} {noun} are different whole numbers of 2^53 or more that float64 "
            "cannot tell apart: they count as equal",
            DataWarning,
            stacklevel=3,
        )


def first_repeat(frame: pd.DataFrame, columns: list[str]) -> tuple[int, int] | None:
    """Find the first row that repeats an earlier one in `columns`, and that one."""
    repeated = frame.duplicated(columns).to_numpy()
    if not repeated.any():
        return None
    second = int(repeated.argmax())
    same = (frame[columns] == frame.loc[second, columns]).all(axis=1).to_numpy()
    return int(same.argmax()), second


def refuse_repeats(
    frame: pd.DataFrame, columns: list[str], problem: str, origins: Origins
) -> None:
    """Refuse a table for its first row that repeats an earlier one in `columns`.

    Raises:
        DataError: there is one; its cells replace `{}` in the problem.
    """
    if repeat := first_repeat(frame, columns):
        first, second = repeat
        row = {str(name): cell for name, cell in frame.loc[second].items()}
        raise DataError(
            f"{problem.format(**row)}: first at {origins.at(first)}",
            where=origins.at(second),
            mend="Keep one of the two.",
        )
