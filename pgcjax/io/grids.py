"""Image grids: files and DataFrames in, a canonical table of positions out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.bytes import decode, read_bytes
from pgcjax.io.containers import Named, container_of
from pgcjax.io.in_memory import in_hand
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.schema import (
    GENERAL,
    GRIDS,
    Origin,
    expect,
    find_columns,
    keyed,
    numbers,
    refuse_repeats,
)
from pgcjax.later import pd

ENGINES = ("sogou", "baidu")
"""Systems that Xie et al. number 0 and 1, by their names in the votes."""

_XIE = "Expected {query: {'0' or '1': {image: [row, column, images in the row]}}}."
_MOST = 2**20  # rows and columns of a grid, far beyond any page


def is_grids(source: Any) -> bool:
    """Return whether a source of runs is a table of grids, with row and column."""
    return {"row", "column"} <= {str(name) for name in getattr(source, "columns", ())}


def read_grids(source: files.Sources) -> pd.DataFrame:
    """Read the positions at which each system shows each image.

    Args:
        source: Files, folders and globs, plain or compressed, or a table, as in
            `read_runs`, with query_id, doc_id, row, column and, for several systems,
            run_id (by default the name of the file); or Image_position.json of Xie et
            al. 2020, whose image 0 of engine 1 is `baidu/query_0.jpg`, as in the votes.

    Returns:
        Table with query_id, run_id, doc_id, row and column (int64). The smallest row
        and the smallest column of the whole input become 0; `attrs["origin"]` has
        their original values. Rows may have any length, and gaps.

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
    where = "in query {query_id!r} of run {run_id!r}"
    for place, problem in (
        (["doc_id"], "document {doc_id!r} is twice"),
        (
            ["row", "column"],
            "row {row}, column {column} is taken twice, the second time by {doc_id!r},",
        ),
    ):
        keys = ["query_id", "run_id", *place]
        refuse_repeats(grids, keys, f"{problem} {where}", origins)
    corner = grids["row"].min(), grids["column"].min()
    grids["row"] -= corner[0]
    grids["column"] -= corner[1]
    grids.attrs["origin"] = tuple(map(int, corner))
    return grids


def _load(path: Path) -> Named:
    data = read_bytes(path)
    container = container_of(path, data)
    if container in ("jsonl", "columns"):
        queries = _objects(path, decode(path, data))
        if queries is not None:
            return _read_xie(path, queries)
    return files.with_header(path, data, ", ".join(GRIDS))


def _canonical_grids(content: Named) -> pd.DataFrame:
    frame, origin = content.frame, content.origin
    if not find_columns(frame.columns, ["run_id"]):
        frame = frame.assign(run_id=files.stem(origin.name))
    table = keyed(frame, origin, GRIDS[:3], GRIDS[3:])
    for column in GRIDS[3:]:
        values = numbers(table[column], column, origin)
        good = (values >= 0) & (values <= _MOST) & (values % 1 == 0)
        expected = f"a whole number from 0 to {_MOST} as {column}"
        mend = "Rows count downwards, columns to the right."
        expect(good, expected, values, origin, mend, GENERAL)
        table[column] = values.astype(np.int64)
    return table


def _objects(path: Path, text: str) -> dict[str, dict] | None:
    """Read one object of objects; return None for other files."""
    with suppress(NoJson):
        value = read_json(text, str(path))
        if isinstance(value, dict) and all(isinstance(x, dict) for x in value.values()):
            return value
    return None


def _read_xie(path: Path, queries: dict[str, dict]) -> Named:
    """Read positions as in Xie et al.; messages name rows, which have no lines."""
    rows, places, where = [], [], str(path)
    try:
        for query, engines in queries.items():
            for engine, images in engines.items():
                where = f"{path}, query {query}, engine {engine}"
                name = ENGINES[("0", "1").index(engine)]
                for image, (row, column, _) in images.items():
                    rows.append(
                        (query, name, f"{name}/{query}_{image}.jpg", row, column)
                    )
                    places.append(f"{query}/{engine}/{image}")
    except (AttributeError, TypeError, ValueError):
        raise _not_xie(where, "holds no positions of images as Xie et al. do") from None
    if not rows:
        raise _not_xie(str(path), "holds no images")
    frame = pd.DataFrame(np.array(rows, object), columns=list(GRIDS))
    return Named(frame, Origin(str(path), "image", np.array(places, object)))


def _not_xie(where: str, problem: str) -> DataError:
    return DataError(problem, where=where, mend=_XIE)
