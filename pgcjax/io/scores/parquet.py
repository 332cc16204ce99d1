"""Files of scores in Parquet, of any size: written and read some runs at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgcjax.errors import DataError, Progress
from pgcjax.io import seal
from pgcjax.io.remote import RemoteFile, arrow_file, find, path_of
from pgcjax.io.schema import SCORES, Origin, numbers
from pgcjax.io.scores.source import (
    ReadGroup,
    ScoreAxes,
    ScoreGroup,
    ScoreSource,
    cells_of,
    laid_out,
    schema,
)
from pgcjax.io.write import HEADER_MARK, header, unsealed, written_beside
from pgcjax.later import pa, pd, pq

_AXES = "pgcjax-scores"  # in the metadata of a file: queries and measures, in order
_IDS: list[str] = list(SCORES[:3])
_MEND = (
    "Make or copy it again; if it was changed on purpose, leave 'pgcjax' out of its "
    "metadata."
)


def write(
    source: ScoreSource,
    target: str | os.PathLike,
    about: dict[str, Any],
    progress: Progress | None = None,
) -> Path:
    """Write scores, whole or not at all: a row group for each block.

    Args:
        source: The scores.
        target: The file.
        about: Metadata.
        progress: Called with `("writing", done, total)` runs.

    Raises:
        DataError: the file cannot be written.
    """
    axes = {"queries": source.query_ids, "measures": source.measures}
    settings: dict[str, Any] = {"use_dictionary": _IDS, "store_schema": False}
    # Digits of scores hardly compress; statistics of ids take half of the time.
    settings["compression"] = {**dict.fromkeys(_IDS, "snappy"), "value": "none"}
    settings["write_statistics"] = ["run_id"]
    done = 0
    with written_beside(target, sealed=True) as beside:
        with pq.ParquetWriter(beside, schema(), **settings) as writer:
            for table in source.tables():
                _check_finite(table, str(target))
                writer.write_table(table, row_group_size=max(1, len(table)))
                done = min(done + source.step, len(source.run_ids))
                if progress:
                    progress("writing", done, len(source.run_ids))
            writer.add_key_value_metadata(
                {_AXES: json.dumps(axes), "pgcjax": header(unsealed(about))}
            )
    return path_of(target)


def _check_finite(table: pa.Table, where: str) -> None:
    column = table["value"].combine_chunks().to_numpy()
    if not np.isfinite(column).all():
        numbers(pd.Series(column), "value", Origin(where))  # its error names the row


class ScoreFile(NamedTuple):
    """A file that `write` made, and whose checksum fits.

    Attributes:
        path: Path of the file.
        about: Metadata of the file.
        axes: Queries and measures.
        runs: Runs of each row group, ascending.
        rows: Number of scores.
        version: Value that changes if the file is replaced.
        footer: Metadata of Parquet.
    """

    path: Path
    about: dict[str, Any]
    axes: ScoreAxes
    runs: list[list[str]]
    rows: int
    version: tuple[int | str, ...]
    footer: Any

    @classmethod
    def open(cls, path: Path) -> ScoreFile | None:
        """Open a file; return None if `write` did not make it.

        Raises:
            DataError: the file is damaged.
        """
        try:
            with path.open("rb") as file:
                if file.read(4) != b"PAR1":
                    return None
            version = _version(path)
            if not seal.check_file(path, _MEND):
                return None
            return cls._indexed(path, version)
        except DataError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            return None  # the reader of tables reports the error

    @classmethod
    def _indexed(cls, path: Path, version: tuple[int | str, ...]) -> ScoreFile | None:
        with _parquet(path) as file:
            pairs = (file.metadata.metadata or {}).items()
            texts = {key.decode(): value.decode() for key, value in pairs}
            about = json.loads(texts["pgcjax"].removeprefix(HEADER_MARK))
            about.pop(seal.KEY, None)
            stored = json.loads(texts[_AXES])
            queries, measures = (stored[name] for name in ("queries", "measures"))
            axes = ScoreAxes([*map(str, queries)], [*map(str, measures)])
            runs = []
            for group in range(file.num_row_groups):
                column = file.read_row_group(group, columns=["run_id"])["run_id"]
                codes, names = _codes(column)
                starts = np.flatnonzero(np.diff(codes, prepend=-1))
                runs.append([names[code] for code in codes[starts].tolist()])
            columns, footer = file.schema_arrow.names, file.metadata
        every = [run for group in runs for run in group]
        if every != sorted({*every}) or columns != list(SCORES):
            return None
        return cls(path, about, axes, runs, footer.num_rows, version, footer)

    def columns(self, group: int) -> list[Any]:
        """Read a row group: codes and names of ids, and values.

        Raises:
            DataError: the file cannot be read, or was replaced.
        """
        try:
            if _version(self.path) != self.version:
                raise DataError("changed while it was read", where=str(self.path))
            with _parquet(self.path, self.footer) as file:
                table = file.read_row_group(group, columns=list(SCORES))
            ids = [_codes(table[name]) for name in _IDS]
            return [*ids, table["value"].combine_chunks().to_numpy()]
        except DataError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(self.path) from error


def parquet_scores(files: Sequence[ScoreFile]) -> ScoreSource:
    """Take one file, or several files whose runs are known to differ."""
    groups = [
        ScoreGroup(runs, file.axes, partial(_opened, file, number))
        for file in files
        for number, runs in enumerate(file.runs)
    ]
    return ScoreSource(groups, sum(file.rows for file in files))


def _opened(file: ScoreFile, group: int) -> ReadGroup:
    """Lay a row group out."""
    axes = (file.runs[group], *file.axes)
    shape = len(axes[0]), len(axes[1]), len(axes[2])
    *ids, scores = file.columns(group)
    try:
        cells = cells_of(ids, axes)
        if not np.isfinite(scores).all():
            raise ValueError("not all are finite")
        return laid_out(cells, scores, shape)
    except (KeyError, IndexError, ValueError):
        raise _damaged(file.path) from None


@contextmanager
def _parquet(path: Path, footer: Any = None) -> Iterator[Any]:
    settings: dict[str, Any] = {"metadata": footer, "read_dictionary": _IDS}
    with arrow_file(path) as source, pq.ParquetFile(source, **settings) as file:
        yield file


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return the numbers of a column's ids in its dictionary, and the dictionary."""
    whole: Any = column.unify_dictionaries().combine_chunks()
    return whole.indices.to_numpy(), whole.dictionary.to_pylist()


def _version(path: Path) -> tuple[int | str, ...]:
    if isinstance(path, RemoteFile):
        (now, *_), _ = find(path.url)
        return now.size, now.told
    now = os.stat(path)
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


def _damaged(path: Path) -> DataError:
    return DataError(
        "does not hold the scores that its metadata describe",
        where=str(path),
        mend=_MEND,
    )
