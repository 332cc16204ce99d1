"""Several small run files as one table: to read each alone takes twice as long."""

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
from pgcjax.io.schema import RUNS, all_exact


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
    if format == "auto" and any(container_of(*pair) != "columns" for pair in pairs):
        return None
    # A mark inside of the text would become part of an id.
    if any(text.startswith(fast_columns.MARK) for text in data):
        return None
    data = [x if x.endswith(b"\n") else x + b"\n" for x in data]
    text = b"".join(data)
    frame = fast_columns.run_fields(text, ranks=False)
    if frame is None or not all_exact(frame["score"]):
        return None
    ends = np.cumsum([_lines(x) for x in data])
    named = _named(frame, ends, stems, name_by)
    rankings = named and fast_columns.regular(named[0])
    if not named or not rankings:
        return None
    frame, by_file = named
    rank = pl.Series("rank", np.full(len(frame), np.nan))
    frame = pl.DataFrame([*frame, rank])[[*RUNS]]
    run_ids = tuple(chain.from_iterable(by_file))
    return Bundle(frame, run_ids, 0, outline=rankings, by_file=by_file)


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
