"""Several small run files as one table: to read each alone takes twice as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io import fast_columns, files
from pgcjax.io.containers import container_of
from pgcjax.io.content import read_bytes
from pgcjax.io.reading import chosen
from pgcjax.io.run_tables import RunTable, check_name, distinct
from pgcjax.io.schema import RUNS, all_exact, are_ids, find_columns
from pgcjax.later import pa, pq


@dataclass(frozen=True, kw_only=True)
class Bundle(RunTable):
    """The runs of several files.

    Attributes, beside those of `RunTable`:
        by_file: the runs of each file; no run is in two.
    """

    by_file: tuple[tuple[str, ...], ...] = ()


def read_bundle(paths: Sequence[Path], format: str, name_by: str) -> Bundle | None:
    """Read files as `read_file` does without ranks, all at once.

    Returns:
        None where a file is not regular, cannot be read, or has a run of another file:
        whoever reads each file alone reads the same exactly, or learns what is wrong.
    """
    try:
        data = [read_bytes(path, chosen().share // len(paths)) for path in paths]
        stems = [files.stem(path, whole=name_by == "filename") for path in paths]
        for path, name in zip(paths, stems, strict=True):
            check_name(path, name)
    except (DataError, OSError):
        return None
    pairs = zip(paths, data, strict=True)
    kinds = {container_of(*pair) for pair in pairs} if format == "auto" else {format}
    parsed = None
    if kinds == {"columns"}:
        parsed = _of_text(data)
    elif kinds == {"parquet"}:
        parsed = _of_parquet(data, chosen().share // len(paths))
    if parsed is None or not all_exact(parsed[0]["score"]):
        return None
    frame, ends = parsed
    named = _named(frame, ends, stems, name_by)
    rankings = named and fast_columns.regular(named[0])
    if not named or not rankings:
        return None
    frame, by_file = named
    rank = pl.Series("rank", np.full(len(frame), np.nan))
    frame = pl.DataFrame([*frame, rank])[[*RUNS]]
    run_ids = tuple(chain.from_iterable(by_file))
    return Bundle(frame, run_ids, 0, outline=rankings, by_file=by_file)


def _of_text(data: Sequence[bytes]) -> tuple[pl.DataFrame, np.ndarray] | None:
    """Read files of columns: the rows of all, and the row behind the last of each."""
    # A mark inside of the text would become part of an id.
    if any(text.startswith(fast_columns.MARK) for text in data):
        return None
    data = [x if x.endswith(b"\n") else x + b"\n" for x in data]
    frame = fast_columns.run_fields(b"".join(data), ranks=False)
    return None if frame is None else (frame, np.cumsum([_lines(x) for x in data]))


def _of_parquet(
    data: Sequence[bytes], most: int
) -> tuple[pl.DataFrame, np.ndarray] | None:
    """Read Parquet files as `_of_text` does, of at most so many bytes in memory."""
    try:
        tables = [_columns(pq.ParquetFile(pa.BufferReader(x)), most) for x in data]
        frame = pl.concat([table for table in tables if table is not None])
    except MemoryError:  # Arrow's is an ArrowException, too
        raise
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError):
        return None  # polars: files without tags among others
    ids_ = [frame[name] for name in RUNS[:3] if name in frame.columns]
    whole = all(table is not None and len(table) for table in tables)
    if not whole or not all(are_ids(column.unique().to_list()) for column in ids_):
        return None
    return frame, np.cumsum([len(table) for table in tables if table is not None])


def _columns(file: pq.ParquetFile, most: int) -> pl.DataFrame | None:
    """Read the columns that runs have; None if one is missing, or of an odd type."""
    about, names = file.metadata, file.schema_arrow.names
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    columns = find_columns(names, ("run_id", "query_id", "doc_id", "score"))
    missing = {"query_id", "doc_id", "score"} - {*columns}
    twice = any(names.count(name) > 1 for name in columns.values())
    if missing or twice or max(size, 8 * about.num_rows * len(names)) > most:
        return None
    frame = pl.DataFrame(file.read([*columns.values()], use_threads=False))
    cast = []
    for name, column in columns.items():
        cells, kind = frame[column].alias(name), frame[column].dtype
        right = (
            kind.is_float() if name == "score" else kind in (pl.String, pl.Categorical)
        )
        if cells.null_count() or not (right or kind.is_integer()):
            return None
        cast.append(cells.cast(pl.Float64 if name == "score" else pl.String))
    return pl.DataFrame(cast)


def _lines(text: bytes) -> int:
    """Count the lines, sooner than `bytes.count`, and without Python's lock."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _named(
    frame: pl.DataFrame, ends: np.ndarray, stems: Sequence[str], name_by: str
) -> tuple[pl.DataFrame, tuple[tuple[str, ...], ...]] | None:
    """Name runs by tag or file, and list those of each file; None if two are alike.

    Args:
        frame: the rows of all files, in order.
        ends: the row behind the last of each file.
        stems: the names of the files.
        name_by: as of `runs.Runs`.
    """
    lengths = np.diff(ends, prepend=0)
    by_file = tuple((stem,) for stem in stems)
    if "run_id" in frame.columns:
        tags = frame["run_id"]
        parts = zip(ends - lengths, lengths, strict=True)
        tagged = tuple(distinct(tags.slice(*part)) for part in parts)
        if name_by == "tag":
            by_file = tagged
        elif max(map(len, tagged)) > 1:
            return None
    if "run_id" not in frame.columns or name_by != "tag":
        place = np.repeat(np.arange(len(stems), dtype=np.uint32), lengths)
        run_id = pl.Series("run_id", stems).gather(place)
        frame = pl.DataFrame([run_id, *(c for c in frame if c.name != "run_id")])
    differ = len({*chain.from_iterable(by_file)}) == sum(map(len, by_file))
    return (frame, by_file) if differ else None
