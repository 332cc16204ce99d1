"""Runs: files, tables, DataFrames and dicts in, one canonical table out."""

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from pgcjax.errors import DataError, UsageError
from pgcjax.tables import fast, files
from pgcjax.tables.ahead import read_ahead
from pgcjax.tables.content import read_bytes
from pgcjax.tables.schema import (
    RUNS,
    Origin,
    canonical,
    first_repeat,
    ids,
    lenient_number,
    lenient_numbers,
    numbers,
    shorten,
)

_JUDGMENTS = (
    "A run has 6 or 3 columns, or a header; judgments go with --prefs or --qrels, once "
    "for each file or as one quoted pattern."
)
FORMATS = ("auto", *files.CONTAINERS)
NAME_BY = ("tag", "file")


def read_runs(
    source: files.Source | Iterable[files.Source] | pd.DataFrame | Mapping,
    *,
    format: str = "auto",
    name_by: str = "tag",
    progress: Callable[[str, int, int], None] | None = None,
) -> pd.DataFrame:
    """Read one run or many.

    Args:
        source: files, folders and globs of TREC runs (6 columns), of 3 columns `query
            doc score`, or of named columns (CSV, TSV, JSONL, Parquet), plain or
            compressed; or a DataFrame; or a dict `{query: {doc: score}}` of one run or
            `{run: {query: {doc: score}}}` of several.
        format: `auto`, or one of `columns`, `csv`, `tsv`, `jsonl`, `parquet`.
        name_by: name a run by its `tag` (the file's name where there is none) or by
            its `file`.
        progress: called with `("reading", done, total)` after each file.

    Returns:
        Table of run_id, query_id, doc_id, score (float64) and rank (float64; NaN where
        the input has none). A table with ranks only gets score = -rank.

    Raises:
        DataError: a row is malformed, a document is twice in a query of a run, or two
            files claim one name.
    """
    _check_options(format, name_by)
    if isinstance(source, (pd.DataFrame, Mapping)):
        return _from_memory(source)
    tables = list(_iter_files(files.expand(source), format, name_by, progress))
    runs = pl.concat([table.frame for table in tables]).to_pandas()
    runs.attrs = {"comments": sum(table.comments for table in tables)}
    return runs


def iter_runs(
    source: files.Source | Iterable[files.Source] | pd.DataFrame | Mapping,
    *,
    format: str = "auto",
    name_by: str = "tag",
    progress: Callable[[str, int, int], None] | None = None,
) -> Generator[pl.DataFrame]:
    """Read runs a file at a time, while what came before is worked on.

    Takes what `read_runs` takes, and checks the same with the same messages: the
    arguments at once, each file in its turn. Whoever stops early closes the generator.

    Yields:
        A table for each file, in order, or one for a DataFrame or a dict: run_id,
        query_id, doc_id (String), score (Float64) and rank (Float64; NaN where the
        input has none), whole runs in the order of the file.
    """
    _check_options(format, name_by)
    if isinstance(source, (pd.DataFrame, Mapping)):
        frame = _to_polars(_from_memory(source))
        return (frame for _ in range(1))
    return _frames(_iter_files(files.expand(source), format, name_by, progress))


def _check_options(format: str, name_by: str) -> None:
    _one_of("format", format, FORMATS)
    _one_of("name_by", name_by, NAME_BY)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


@dataclass(frozen=True)
class _Table:
    """The runs of one file: canonical columns, run names, comment lines skipped."""

    path: Path
    frame: pl.DataFrame
    names: tuple[str, ...]
    comments: int


def _frames(tables: Generator[_Table]) -> Generator[pl.DataFrame]:
    with closing(tables):
        for table in tables:
            yield table.frame


def _iter_files(
    paths: list[Path],
    format: str,
    name_by: str,
    progress: Callable[[str, int, int], None] | None,
) -> Generator[_Table]:
    owner: dict[str, Path] = {}
    tables = read_ahead(lambda path: _read_file(path, format, name_by), paths)
    with closing(tables):
        for done, table in enumerate(tables, 1):
            _claim(table, owner, name_by)
            if progress:
                progress("reading", done, len(paths))
            yield table


def _claim(table: _Table, owner: dict[str, Path], name_by: str) -> None:
    """Note whose file each run is from; refuse a run that another file has."""
    for run in table.names:
        if run in owner:
            other = "tag" if name_by == "file" else "file"
            raise DataError(
                f"claims the run name {run!r}, as {owner[run]} does",
                where=str(table.path),
                mend=f"Name runs by {other} (--name-by {other}), or rename one.",
            )
        owner[run] = table.path


def _read_file(path: Path, format: str, name_by: str) -> _Table:
    data = read_bytes(path)
    container = files.container_of(path, data) if format == "auto" else format
    name = files.stem(path)
    read = fast.read(data) if container == "columns" else None
    if read:
        frame, comments = read
        if "run_id" not in frame.columns:
            tag, unranked = pl.lit(name).alias("run_id"), pl.lit(math.nan).alias("rank")
            frame = frame.with_columns(tag, unranked)
    else:
        content = files.split(path, data, container)
        if isinstance(content, files.Columns):
            content = _named(content)
        runs = _canonical_runs(content.frame, content.origin, default_run=name)
        frame, comments = _to_polars(runs), content.comments
    tags = _distinct(frame["run_id"])
    if name_by == "file":
        if len(tags) > 1:
            raise DataError(
                f"holds {len(tags)} runs, such as {tags[0]!r} and {tags[1]!r}, which "
                "its name cannot tell apart",
                where=str(path),
                mend="Name runs by tag: --name-by tag.",
            )
        frame, tags = frame.with_columns(pl.lit(name).alias("run_id")), (name,)
    return _Table(path, frame.select(RUNS), tags, comments)


def _to_polars(runs: pd.DataFrame) -> pl.DataFrame:
    return pl.from_pandas(runs, nan_to_null=False)


def _distinct(column: pl.Series) -> tuple[str, ...]:
    """List the values of a column in order of appearance: often it is only one."""
    if (column == column[0]).all():
        return (column[0],)
    return tuple(column.unique(maintain_order=True))


def _from_memory(source: pd.DataFrame | Mapping) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return _canonical_runs(source, Origin("runs"), "run")
    return _canonical_runs(_from_dict(source), Origin("runs", "entry"), "run")


def _named(content: files.Columns) -> files.Named:
    """Name the columns of a file in a TREC format by how many there are."""
    widths = [len(row) for row in content.rows]
    width = 3 if widths[0] == 3 else 6
    layout = "query doc score" if width == 3 else "query Q0 doc rank score tag"
    if set(widths) != {width}:
        i = next(i for i, w in enumerate(widths) if w != width)
        raise DataError(
            f"expected '{layout}', found {widths[i]} fields: {content.text(i)}",
            where=content.origin.at(i),
            mend=_JUDGMENTS
            if i == 0 and width == 6
            else "All lines of a run have 6 columns, or all have 3.",
        )
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
    return files.Named(pd.DataFrame(named), content.origin, comments=content.comments)


def _from_dict(source: Mapping) -> pd.DataFrame:
    """Lay a dict of dicts out as a table."""

    def expected(what: str, found: object) -> DataError:
        return DataError(
            f"expected a dict of {what}, found {shorten(found)}",
            where="runs",
            mend="Pass {query: {doc: score}} or {run: {query: {doc: score}}}.",
        )

    for key, inner in source.items():
        if not isinstance(inner, Mapping):
            raise expected(f"dicts, as that of {key!r}", inner)
    cells = [cell for inner in source.values() for cell in inner.values()]
    several = any(isinstance(cell, Mapping) for cell in cells)
    rows = []
    for run, queries in source.items() if several else [("run", source)]:
        count = len(rows)
        for query, docs in queries.items():
            if not isinstance(docs, Mapping):
                raise expected(f"scores for query {query!r} of run {run!r}", docs)
            rows += [(run, query, doc, score) for doc, score in docs.items()]
        if len(rows) == count:
            raise expected(f"documents for run {run!r}", queries)
    # Columns of objects, so that no id is changed on the way.
    return pd.DataFrame(
        np.array(rows, dtype=object).reshape(-1, 4),
        columns=["run_id", "query_id", "doc_id", "score"],
    )


def _canonical_runs(
    frame: pd.DataFrame, origin: Origin, default_run: str
) -> pd.DataFrame:
    if frame.empty:
        raise DataError("holds no rows", where=origin.name, mend="Add rows.")
    table = canonical(frame, origin, RUNS[1:3], ("run_id", "score", "rank"))
    if "score" not in table and "rank" not in table:
        raise DataError(
            f"missing column score (or rank) (found {[str(c) for c in frame.columns]})",
            where=origin.name,
            mend=f"Needed: query_id, doc_id, score. {_JUDGMENTS}",
        )
    if "run_id" not in table:
        table["run_id"] = default_run
    for name in RUNS[:3]:
        table[name] = ids(table[name], origin)
    if "score" not in table:
        table["rank"] = numbers(table["rank"], "rank", origin)
        table["score"] = -table["rank"]
    else:
        table["score"] = numbers(table["score"], "score", origin)
        # Ranks are often junk, and matter under order="rank" only: checked there.
        table["rank"] = lenient_numbers(table["rank"]) if "rank" in table else np.nan
    repeat = first_repeat(table, list(RUNS[:3]))
    if repeat:
        first, second = repeat
        row = table.loc[second]
        raise DataError(
            f"document {row.doc_id!r} is twice in query {row.query_id!r} of run "
            f"{row.run_id!r}: {origin.place(first)} and {origin.place(second)}",
            where=origin.at(second),
            mend="Keep one of the two.",
        )
    return table[list(RUNS)]
