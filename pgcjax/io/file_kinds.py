"""The kind of a file, runs, judgments or a grid, from its content."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.bytes import read_bytes
from pgcjax.io.choices import FILE_KINDS
from pgcjax.io.containers import Named, container_of, split
from pgcjax.io.fast_columns import table
from pgcjax.io.runs.text import LAYOUTS
from pgcjax.io.schema import find_columns, lenient_number
from pgcjax.io.votes.header import of_votes

_RUN = {6: LAYOUTS[6]}


def sort_by_kind(
    sources: Sequence[files.Source], kind: str = "auto"
) -> dict[str, list[Path]]:
    """Sort files into runs, preferences, qrels and grids.

    All are of one `kind`, or `auto` finds it for each.

    Raises:
        DataError: the content of a file leaves its kind open.
    """
    sorted_paths: dict[str, list[Path]] = {k: [] for k in FILE_KINDS}
    for path in files.expand(sources) if sources else []:
        sorted_paths[kind if kind != "auto" else _kind(path)].append(path)
    return sorted_paths


def _kind(path: Path) -> str:
    try:
        return _kind_by_content(path)
    except DataError:
        from pgcjax.io.plugin_readers import kinds_by_content

        kinds = kinds_by_content(path) if path.is_file() else set()
        if len(kinds) != 1:
            raise
    return kinds.pop().replace("preferences", "prefs")


def _kind_by_content(path: Path) -> str:
    data = read_bytes(path)
    container = container_of(path, data)
    if container == "columns" and table(data, _RUN) is not None:
        return "runs"  # and no need to split it into fields
    content = split(path, data, container)
    if isinstance(content, Named):
        fits = _by_header(content.frame.columns)
    else:
        fits = _by_fields(content.rows)
    if len(fits) == 1:
        return fits[0]
    raise DataError(
        "may be any of " + " and ".join(fits)
        if fits
        else "is not a known kind of file",
        where=str(path),
        mend="Say which: --as runs, --as prefs or --as qrels.",
    )


def _by_header(columns: Iterable[Any]) -> list[str]:
    marks = {"other_doc_id": "prefs", "relevance": "qrels", "score": "runs"}
    marks["column"] = "grids"
    columns = list(columns)
    if not find_columns(columns, ["doc_id"]):
        marks.pop("score")  # the score belongs to a tool's answer, not to a run
    fits = [marks[name] for name in find_columns(columns, marks)]
    if "score" not in find_columns(columns, marks) and of_votes(columns):
        return ["prefs"]
    return fits or (["runs"] if find_columns(columns, ["rank"]) else [])


def _by_fields(rows: list[list[str]]) -> list[str]:
    width = len(rows[0])
    numbers = all(math.isfinite(lenient_number(row[-1])) for row in rows)
    if width == 3 and numbers:
        return ["runs", "prefs"]
    if width == 4 and numbers and any(row[-1] not in row[1:-1] for row in rows):
        seconds = {tuple(row[1:2]) for row in rows}  # a row may be too short
        return ["qrels"] if len(seconds) == 1 else ["prefs", "qrels"]
    return {3: ["prefs"], 4: ["prefs"], 5: ["prefs"], 6: ["runs"]}.get(width, [])
