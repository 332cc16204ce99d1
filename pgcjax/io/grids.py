"""Image grids: files and DataFrames in, a canonical table of positions out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.bytes import decode, read_bytes
from pgcjax.io.containers import Named, container_of
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import (
    GENERAL,
    GRIDS,
    Origins,
    canonical,
    expect,
    find_columns,
    first_repeat,
    ids,
    numbers,
)
from pgcjax.io.xie_grids import is_xie_grids, read_xie_grids
from pgcjax.later import pd

_MOST = 2**20  # rows and columns of a grid, far beyond any page


def is_grids(source: Any) -> bool:
    """Return whether a source of runs is a table of grids: with row and column."""
    return {"row", "column"} <= {str(name) for name in getattr(source, "columns", ())}


def read_grids(
    source: files.Source | Iterable[files.Source] | Any,
) -> pd.DataFrame:
    """Read where each system shows each image.

    Args:
        source: files, folders and globs, plain or compressed, or a table, as of
            `read_runs`, with query_id, doc_id, row, column and, for several systems,
            run_id (else a file is named by itself); or Image_position.json of Xie et
            al. 2020, whose image 0 of engine 1 is `baidu/query_0.jpg`, as in the votes.

    Returns:
        Table of query_id, run_id, doc_id, row and column (int64). The origin, the
        smallest row and the smallest column of all that was read, is (0, 0) there;
        `attrs["origin"]` says what it was. Rows may be of any length, with gaps.

    Raises:
        DataError: a row is malformed, a position is not a whole number from 0 up, or a
            grid has two images in one place or one image in two.
    """
    source = in_hand(source, "grids")
    if isinstance(source, pd.DataFrame) and not find_columns(
        source.columns, ["run_id"]
    ):
        source = source.assign(run_id="run")
    grids, origins = files.read_tables(source, "grids", _load, _canonical_grids)
    _refuse_repeats(grids, origins)
    corner = grids["row"].min(), grids["column"].min()
    grids["row"] -= corner[0]
    grids["column"] -= corner[1]
    grids.attrs["origin"] = tuple(map(int, corner))
    return grids


def _load(path: Path) -> Named:
    data = read_bytes(path)
    container = container_of(path, data)
    if container in ("jsonl", "columns") and is_xie_grids(path, decode(path, data)):
        return read_xie_grids(path, decode(path, data))
    return files.with_header(path, data, ", ".join(GRIDS))


def _canonical_grids(content: Named) -> pd.DataFrame:
    frame, origin = content.frame, content.origin
    needed = tuple(column for column in GRIDS if column != "run_id")
    table = canonical(frame, origin, needed, ("run_id",))
    if "run_id" not in table:
        table["run_id"] = files.stem(origin.name)
    for column in GRIDS[:3]:
        table[column] = ids(table[column], origin)
    for column in GRIDS[3:]:
        values = numbers(table[column], column, origin)
        good = (values >= 0) & (values <= _MOST) & (values % 1 == 0)
        expected = f"a whole number from 0 to {_MOST} as {column}"
        mend = "Rows count downwards, columns to the right."
        expect(good, expected, values, origin, mend, GENERAL)
        table[column] = values.astype(np.int64)
    return table[list(GRIDS)]


def _refuse_repeats(grids: pd.DataFrame, origins: Origins) -> None:
    for columns, problem in (
        (["query_id", "run_id", "doc_id"], "document {doc_id!r} is twice"),
        (
            ["query_id", "run_id", "row", "column"],
            "row {row}, column {column} is taken twice, the second time by {doc_id!r},",
        ),
    ):
        if repeat := first_repeat(grids, columns):
            first, second = repeat
            row = {str(k): v for k, v in grids.loc[second].items()}
            raise DataError(
                f"{problem.format(**row)} in query {row['query_id']!r} of run "
                f"{row['run_id']!r}: first at {origins.at(first)}",
                where=origins.at(second),
                mend="Keep one of the two.",
            )
