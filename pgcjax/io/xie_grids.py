"""Image grids as Xie et al. published them: an object of queries, engines, images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.containers import Named
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.schema import GRIDS, Origin, shorten
from pgcjax.later import pd

ENGINES = ("sogou", "baidu")
"""What Xie et al. call 0 and 1, as the names of images in their votes say."""
_LAYOUT = "Expected {query: {'0' or '1': {image: [row, column, images in the row]}}}."


def is_xie_grids(path: Path, text: str) -> bool:
    """Tell an object of objects from a table with an object a line."""
    text = text.lstrip()
    if not text.startswith("{"):
        return False
    try:
        record = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):  # it may go on in the next line
        return not {".jsonl", ".ndjson"} & set(path.suffixes)
    return isinstance(record, dict) and all(
        isinstance(value, dict) for value in record.values()
    )


def read_xie_grids(path: Path, text: str) -> Named:
    """Read the JSON of Xie et al.; its rows have no lines, so they are named."""
    try:
        queries = read_json(text, str(path))
    except NoJson as error:
        where = f"{path}:{error.line}"
        raise _not_xie(where, f"expected JSON: {error.reason}") from None
    rows, places = [], []
    for query, engine, images in _engines(path, queries):
        where, positions = f"{path}, query {query}, engine {engine}", []
        for image, position in images.items():
            if not _is_position(position):
                problem = f"expected [row, column, images in the row] of image {image}"
                raise _not_xie(where, f"{problem}, found {shorten(position)}")
            positions.append(position)
            name = ENGINES[int(engine)]
            rows.append((query, name, f"{name}/{query}_{image}.jpg", *position[:2]))
            places.append(f"{query}/{engine}/{image}")
        _check_widths(positions, where)
    if not rows:
        raise _not_xie(str(path), "holds no images")
    frame = pd.DataFrame(np.array(rows, object), columns=list(GRIDS))
    return Named(frame, Origin(str(path), "image", np.array(places, object)))


def _engines(path: Path, queries: Any) -> Iterator[tuple[str, str, Mapping]]:
    for query, engines in _items(queries, str(path), "queries"):
        where = f"{path}, query {query}"
        for engine, images in _items(engines, where, "engines"):
            if engine not in ("0", "1"):
                problem = f"expected engine '0' ({ENGINES[0]}) or '1' ({ENGINES[1]})"
                raise _not_xie(where, f"{problem}, found {shorten(engine)}")
            yield query, engine, dict(_items(images, where, "images"))


def _items(value: Any, where: str, noun: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise _not_xie(where, f"expected an object of {noun}, found {shorten(value)}")
    return value.items()


def _is_position(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(x, int) and not isinstance(x, bool) for x in value)
    )


def _check_widths(positions: list[list[int]], where: str) -> None:
    """Refuse a row that is longer or shorter than its images say."""
    widths: dict[int, set[int]] = {}
    columns: dict[int, int] = {}
    for row, column, width in positions:
        widths.setdefault(row, set()).add(width)
        columns[row] = max(column, columns.get(row, 0))
    for row, declared in widths.items():
        if declared != {columns[row] + 1}:
            shown = " and ".join(map(str, sorted(declared)))
            problem = f"row {row} has {columns[row] + 1} columns, and says {shown}"
            raise _not_xie(where, problem)


def _not_xie(where: str, problem: str) -> DataError:
    return DataError(problem, where=where, mend=_LAYOUT)
