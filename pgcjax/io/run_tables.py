"""One file, DataFrame or dict of runs into a canonical table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast_columns, files
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.content import read_bytes
from pgcjax.io.in_memory import in_hand, is_of
from pgcjax.io.order import Outline
from pgcjax.io.schema import (
    RUNS,
    Origin,
    all_exact,
    canonical,
    first_repeat,
    found_columns,
    ids,
    indistinct,
    lenient_number,
    lenient_numbers,
    numbers,
    shorten,
    tell_indistinct,
)
from pgcjax.later import pd

SCORES = "scores of runs"

_JUDGMENTS = (
    "A run has 6 or 3 columns, or a header; on the command line, "
    "judgments go with --prefs or --qrels, once for each file or as one quoted pattern."
)


@dataclass(frozen=True)
class RunTable:
    """The runs of one file.

    Attributes:
        frame: run_id, query_id, doc_id (String), score (Float64) and rank (Float64; NaN
            where the file has none), whole runs in the order of the file.
        run_ids: the runs.
        comments: number of comment lines skipped.
        indistinct: number of scores that tie with different ones.
        outline: of the table, if it was made on the way.
    """

    frame: pl.DataFrame
    run_ids: tuple[str, ...]
    comments: int
    indistinct: int = 0
    outline: Outline | None = None


def read_file(
    path: Path, format: str, name_by: str, ranks: bool = True, most: int | None = None
) -> RunTable:
    """Read a file of runs; the options are those of `runs.Runs`.

    Without `ranks` those of the table may be NaN, whatever the file has. `most` is as
    of `read_bytes`.

    Raises:
        DataError: it is malformed.
    """
    data = read_bytes(path, most)
    container = container_of(path, data) if format == "auto" else format
    table = table_of(path, data, container, ranks)
    frame = named(path, table.frame, table.run_ids, name_by)
    run_ids = table.run_ids if name_by == "tag" else (frame["run_id"][0],)
    return replace(table, frame=frame, run_ids=run_ids)


def table_of(
    path: Path, data: bytes, container: str, ranks: bool, lines: int = 0
) -> RunTable:
    """Read the bytes of a file, or a part after so many `lines`; runs by their tags.

    Raises:
        DataError: it is malformed.
    """
    name = files.stem(path)
    read = fast_columns.read_run(data, ranks=ranks) if container == "columns" else None
    equal, rankings = 0, None
    if read and all_exact(read[0][0]["score"]):
        (frame, rankings), comments = read
        if "run_id" not in frame.columns:
            frame = _all_named(frame, name)
        if "rank" not in frame.columns:
            rank = pl.Series("rank", np.full(len(frame), np.nan))
            frame = pl.DataFrame([*frame, rank])
    else:
        content = _split(path, data, container, lines)
        if isinstance(content, Columns):
            content = _named(content)
        runs = _canonical_runs(content.frame, content.origin, default_run=name)
        frame = pl.from_pandas(runs, nan_to_null=False)
        comments, equal = content.comments, runs.attrs["indistinct"]
    column = frame["run_id"]
    if rankings:
        column = column[np.flatnonzero(rankings.start)]
    run_ids = distinct(column)
    if name in run_ids:
        check_name(path, name)
    return RunTable(frame[[*RUNS]], run_ids, comments, equal, rankings)


def check_name(path: Path, name: str) -> None:
    """Refuse a file whose name cannot be that of its run."""
    if any(c in name for c in "\t\n\r") or name != name.strip():
        raise DataError(
            "its name would name the run, and has a tab, a line end or a blank around",
            where=str(path),
            mend="Rename the file.",
        )


def _split(path: Path, data: bytes, container: str, lines: int) -> Columns | Named:
    """Split bytes as `split` does, which stand after so many lines of the file."""
    try:
        content = split(path, data, container)
    except DataError as error:
        name, _, line = error.where.rpartition(":")
        if name == str(path) and line.isdecimal():
            error = DataError(
                error.problem, where=f"{name}:{int(line) + lines}", mend=error.mend
            )
        raise error from None
    if lines:
        places = np.asarray(content.origin.places) + lines
        content = replace(content, origin=replace(content.origin, places=places))
    return content


def named(
    path: Path, frame: pl.DataFrame, tags: tuple[str, ...], name_by: str
) -> pl.DataFrame:
    """Name the runs of a file, which has these tags, by tag, file or filename.

    Raises:
        DataError: there are several, to be named by file.
    """
    if name_by == "tag":
        return frame
    if len(tags) > 1:
        raise DataError(
            f"holds {len(tags)} runs, such as {tags[0]!r} and {tags[1]!r}, which "
            "its name cannot tell apart",
            where=str(path),
            mend="Name runs by tag: name_by=tag (--name-by on the command line).",
        )
    name = files.stem(path, whole=name_by == "filename")
    check_name(path, name)
    return _all_named(frame, name)


def _all_named(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Give all rows the name of a run."""
    run_id = pl.Series("run_id", [name]).new_from_index(0, len(frame))
    return pl.DataFrame([run_id, *(c for c in frame if c.name != "run_id")])


def distinct(column: pl.Series) -> tuple[str, ...]:
    """List the values of a column in order of appearance: often it is only one."""
    if (column == column[0]).all():
        return (column[0],)
    return tuple(column.unique(maintain_order=True))


def from_memory(source: pd.DataFrame | Mapping) -> pd.DataFrame:
    """Make a canonical table of a DataFrame, or of a dict of runs or of their tables.

    Raises:
        DataError: it is malformed.
    """
    if isinstance(source, pd.DataFrame):
        runs = _canonical_runs(source, Origin("runs"), "run")
    else:
        held = {key: _in_hand(key, value) for key, value in source.items()}
        if any(isinstance(table, pd.DataFrame) for table in held.values()):
            runs = _from_tables(held)
        else:
            runs = _canonical_runs(_from_dict(held), Origin("runs", "entry"), "run")
    tell_indistinct(runs.attrs["indistinct"], SCORES)
    return runs


def _in_hand(key: object, value: Any) -> Any:
    """Give what a dict has for a run or query; the key is the name of a run of ranx."""
    return value.to_dict() if is_of(value, "ranx") else in_hand(value, _part(key))


def _part(key: object) -> str:
    """Name a part of a dict in messages."""
    return f"runs[{shorten(key)}]"


def _from_tables(tables: Mapping) -> pd.DataFrame:
    """Put the tables of runs, by their names, one below the other."""
    names = ids(pd.Series([*tables], name="run_id"), Origin("runs", "entry"))
    parts = []
    for name, (key, table) in zip(names, tables.items(), strict=True):
        where = Origin(_part(key), "entry" if isinstance(table, Mapping) else "row")
        if isinstance(table, Mapping):
            table = _from_dict({key: table}, runs=True)
        elif not isinstance(table, pd.DataFrame):
            raise _expected("tables", table, where.name)
        part = _canonical_runs(table, where, name)
        own = part["run_id"].unique()
        if len(own) > 1:
            raise DataError(
                f"holds {len(own)} runs, such as {own[0]!r} and {own[1]!r}, which its "
                "name cannot tell apart",
                where=where.name,
                mend="Pass the table itself, without a dict.",
            )
        part["run_id"] = name
        parts.append(part)
    again = names[names.duplicated()]
    if len(again):
        raise DataError(
            f"holds run {again.iloc[0]!r} twice",
            where="runs",
            mend="Name one otherwise.",
        )
    runs = pd.concat(parts, ignore_index=True)
    runs.attrs = {"indistinct": sum(part.attrs["indistinct"] for part in parts)}
    return runs


def _named(content: Columns) -> Named:
    """Name the columns of a file in a TREC format by their number."""
    width = 3 if len(content.rows[0]) == 3 else 6
    layout = "query doc score" if width == 3 else "query Q0 doc rank score tag"
    uniform = "All lines of a run have 6 columns, or all have 3."
    judgments = len(content.rows[0]) not in (3, 6)
    content.check_width(width, layout, _JUDGMENTS if judgments else uniform)
    # zip(*rows) makes an iterator for each row, which takes longer.
    columns = [[row[i] for row in content.rows] for i in range(width)]
    if width == 3:
        if math.isnan(lenient_number(columns[2][0])) and columns[2][0].lower() != "nan":
            raise DataError(
                f"expected '{layout}', found {content.text(0)}",
                where=content.origin.at(0),
                mend=_JUDGMENTS,
            )
        named = dict(zip(("query_id", "doc_id", "score"), columns, strict=True))
    else:
        query, _, doc, rank, score, tag = columns
        named = {"query_id": query, "doc_id": doc, "rank": rank, "score": score}
        named["run_id"] = tag
    return Named(pd.DataFrame(named), content.origin, comments=content.comments)


def _expected(what: str, found: object, where: str = "runs") -> DataError:
    return DataError(
        f"expected a dict of {what}, found {shorten(found)}",
        where=where,
        mend="Pass {query: {doc: score}}; of several runs {run: that, or a table}.",
    )


def _from_dict(source: Mapping, runs: bool = False) -> pd.DataFrame:
    """Lay a dict of dicts out as a table; of `runs` beyond doubt, if that is said."""
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
    # Columns of objects, so that no id is changed on the way.
    return pd.DataFrame(
        np.array(rows, dtype=object).reshape(-1, 4),
        columns=["run_id", "query_id", "doc_id", "score"],
    )


def _canonical_runs(
    frame: pd.DataFrame, origin: Origin, default_run: str
) -> pd.DataFrame:
    table = canonical(frame, origin, RUNS[1:3], ("run_id", "score", "rank"))
    if "score" not in table and "rank" not in table:
        raise DataError(
            f"missing column score (or rank) ({found_columns(frame)})",
            where=origin.name,
            mend=f"Needed: query_id, doc_id, score. {_JUDGMENTS}",
        )
    if "run_id" not in table:
        table["run_id"] = default_run
    for name in RUNS[:3]:
        table[name] = ids(table[name], origin)
    cells = table["score"] if "score" in table else table["rank"]
    if "score" not in table:
        table["rank"] = numbers(cells, "rank", origin)
        table["score"] = -table["rank"]
    else:
        table["score"] = numbers(cells, "score", origin)
        # Ranks are often junk, and matter under order="rank" only: checked there.
        table["rank"] = lenient_numbers(table["rank"]) if "rank" in table else np.nan
    if repeat := first_repeat(table, list(RUNS[:3])):
        first, second = repeat
        row = table.loc[second]
        raise DataError(
            f"document {row.doc_id!r} is twice in query {row.query_id!r} of run "
            f"{row.run_id!r}: {origin.place(first)} and {origin.place(second)}",
            where=origin.at(second),
            mend="Keep one of the two.",
        )
    equal = indistinct(cells, table["score"].to_numpy(), table[list(RUNS[:2])])
    table = table[list(RUNS)]
    table.attrs = {"indistinct": equal}
    return table
