"""Cells of runs from any source: checked, named and outlined as canonical tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import schema
from pgcjax.io.fast_columns import all_differ
from pgcjax.io.files import stem
from pgcjax.io.order import no_repeat, outline
from pgcjax.io.runs.contract import RunTable
from pgcjax.io.schema import RUNS, Origin
from pgcjax.later import pd

SCORES = "scores of runs"
JUDGMENTS = (
    "A run has 6 or 3 columns, or a header; on the command line, "
    "judgments go with --prefs or --qrels, once for each file or as one quoted pattern."
)
# Characters that Python strips around text, and separators of ids in files.
_BLANK = r"[\s\x1c-\x1f]"
_NO_ID = rf"^{_BLANK}|{_BLANK}$|[\t\n\r\x00]"


@dataclass(frozen=True)
class RunRows:
    """Rows of one file or table, or of several, one below the other.

    Attributes:
        frame: query_id, doc_id, score and, if there are any, run_id and rank; all cells
            are checked.
        lengths: Number of rows of each file.
        origin: Origin of the rows of a single file.
        comments: Number of comment lines.
        indistinct: Number of scores that tie with different ones.
    """

    frame: pl.DataFrame
    lengths: Sequence[int]
    origin: Origin
    comments: int = 0
    indistinct: int = 0


def runs_among(
    names: Iterable[Any], origin: Origin, *, index: Iterable[Any] = ()
) -> dict[str, Any]:
    """Find the column of each canonical name of runs, as `schema.selected` does.

    Raises:
        DataError: a required column is missing, or occurs twice.
    """
    names, optional = [*names], ("run_id", "score", "rank")
    columns = schema.selected(names, origin, RUNS[1:3], optional, index=index)
    if not {"score", "rank"} & {*columns}:
        raise DataError(
            f"missing column score (or rank) ({schema.found_columns(names)})",
            where=origin.name,
            mend=f"Needed: query_id, doc_id, score. {JUDGMENTS}",
        )
    return columns


def cells_of(table: pl.DataFrame, origin: Origin) -> pl.DataFrame:
    """Select the columns of runs in a table, with their canonical names."""
    if not len(table):
        raise DataError("holds no rows", where=origin.name, mend="Add rows.")
    return table.select(**runs_among(table.columns, origin))


def checked(cells: pl.DataFrame, origin: Origin, comments: int = 0) -> RunRows:
    """Convert ids to text and scores to numbers; columns have their canonical names.

    Raises:
        DataError: a cell is no id or no number.
    """
    columns = {n: _ids(cells[n], origin) for n in RUNS[:3] if n in cells.columns}
    scored = "score" in cells.columns
    numbers = cells["score" if scored else "rank"]
    score = _numbers(numbers, origin)
    columns["score"] = pl.Series(score if scored else -score)
    if not scored:
        columns["rank"] = pl.Series(score)
    elif "rank" in cells.columns:
        # Ranks are often wrong, and used only with order="rank", which checks them.
        columns["rank"] = pl.Series(_lenient(cells["rank"]))
    equal = 0
    if not numbers.dtype.is_float() and not schema.all_exact(columns["score"]):
        keys = {n: columns[n].to_list() for n in RUNS[:2] if n in columns}
        exact = pd.Series(numbers.to_list(), dtype=object)
        equal = schema.indistinct(exact, score, pd.DataFrame(keys))
    return RunRows(pl.DataFrame(columns), [len(cells)], origin, comments, equal)


def _ids(column: pl.Series, origin: Origin) -> pl.Series:
    if column.dtype.is_integer() and not column.null_count():
        return column.cast(pl.String)
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String)
        wrong = (text.str.len_bytes() == 0) | text.str.contains(_NO_ID)
        if not wrong.fill_null(True).any():
            return text
    cells = column.to_list()
    if column.dtype == pl.String:
        cells = [math.nan if cell is None else cell for cell in cells]
    texts = schema.ids(pd.Series(cells, name=column.name, dtype=object), origin)
    return pl.Series(texts.tolist(), dtype=pl.String)


def _numbers(column: pl.Series, origin: Origin) -> np.ndarray:
    values = _lenient(column)
    if not np.isfinite(values).all():
        cells = values if column.dtype.is_float() else column.to_list()
        # It raises the error, with the cell.
        schema.numbers(pd.Series(cells, dtype=object), column.name, origin)
    return values


def _lenient(column: pl.Series) -> np.ndarray:
    """Read a column as float64 numbers, NaN where a cell is no number."""
    if column.dtype.is_integer() or column.dtype.is_float():
        return column.cast(pl.Float64).fill_null(math.nan).to_numpy()
    return schema.lenient_numbers(pd.Series(column.to_list(), dtype=object))


def table_of(rows: RunRows, paths: Sequence[Path | str], name_by: str) -> RunTable:
    """Name the runs of files (or of a table, whose name is a text); refuse repeats.

    Raises:
        DataError: a file whose name is to be that of its run has several runs, two
            files have one run, or a document is twice in a query of a run.
    """
    frame, by_unit = _named(rows, paths, name_by)
    outlined = outline(frame)
    ids = frame.select(RUNS[:3])
    if not no_repeat(frame, outlined) and not all_differ(ids):
        _refuse_repeats(rows, ids)
    if "rank" not in frame.columns:
        rank = pl.Series("rank", np.full(len(frame), math.nan))
        frame = frame.with_columns(rank)
    about = rows.comments, rows.indistinct, outlined
    return RunTable(frame.select(RUNS), by_unit, *about)


def _named(
    rows: RunRows, paths: Sequence[Path | str], name_by: str
) -> tuple[pl.DataFrame, tuple[tuple[str, ...], ...]]:
    """Name runs by tag or file, and list those of each file."""
    frame, by_unit = rows.frame, ()
    if "run_id" in frame.columns:
        tags, ends = frame["run_id"], np.cumsum(rows.lengths)
        parts = zip(ends - rows.lengths, rows.lengths, strict=True)
        by_unit = tuple(distinct(tags.slice(*part)) for part in parts)
    if not by_unit or name_by != "tag":
        for path, names in zip(paths, by_unit, strict=False):
            check_one(path, names)
        by_unit = tuple((name_of(path, name_by),) for path in paths)
        file = np.repeat(np.arange(len(paths), dtype=np.uint32), rows.lengths)
        names = pl.Series("run_id", [*chain.from_iterable(by_unit)])
        frame = frame.with_columns(names.gather(file))
    if len(by_unit) > 1 and len({*chain(*by_unit)}) < sum(map(len, by_unit)):
        raise DataError("two files have one run")  # `Runs` names them
    return frame, by_unit


def distinct(column: pl.Series) -> tuple[str, ...]:
    """List the values of a column in order of appearance; often there is only one."""
    if (column == column[0]).all():
        return (column[0],)
    return tuple(column.unique(maintain_order=True))


def check_one(
    path: Path | str,
    tags: Sequence[str],
    mend: str = "Name runs by tag: name_by=tag (--name-by on the command line).",
) -> None:
    """Refuse a file or table of several runs if its name is to be that of its run."""
    if len(tags) > 1:
        raise DataError(
            f"holds {len(tags)} runs, such as {tags[0]!r} and {tags[1]!r}, which "
            "its name cannot tell apart",
            where=str(path),
            mend=mend,
        )


def name_of(path: Path | str, name_by: str) -> str:
    """Name the run of a file after the file; a text is a name already.

    Raises:
        DataError: the name cannot be that of a run.
    """
    if isinstance(path, str):
        return path
    name = stem(path, whole=name_by == "filename")
    if any(c in name for c in "\t\n\r") or name != name.strip():
        raise DataError(
            "its name would name the run, but has a tab, a line end or a blank at an "
            "end",
            where=str(path),
            mend="Rename the file.",
        )
    return name


def _refuse_repeats(rows: RunRows, ids: pl.DataFrame) -> None:
    repeats = ids.select(~pl.struct(pl.all()).is_first_distinct()).to_series()
    if not repeats.any():
        return
    second = int(repeats.arg_max() or 0)
    same = [ids[name] == ids[name][second] for name in ids.columns]
    first = int((same[0] & same[1] & same[2]).arg_max() or 0)
    row = {**ids.row(second, named=True), **rows.frame.row(second, named=True)}
    places = " and ".join(map(rows.origin.place, (first, second)))
    raise DataError(
        f"document {row['doc_id']!r} is twice in query {row['query_id']!r} of run "
        f"{row['run_id']!r}: {places}",
        where=rows.origin.at(second),
        mend="Keep one of the two.",
    )
