"""Files of scores in Parquet, of any size: written and read some runs at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgcjax.errors import DataError, Progress
from pgcjax.io import seal
from pgcjax.io.remote import RemoteFile, arrow_file, find, path_of
from pgcjax.io.schema import SCORES, Origin, numbers
from pgcjax.io.score_source import ScoreBlock, ScoreSource, schema
from pgcjax.io.write import HEADER_MARK, header, unsealed, written_beside
from pgcjax.later import pa, pd

_AXES = "pgcjax-scores"  # in the metadata of a file: queries and measures, in order
_IDS: list[str] = list(SCORES[:3])
_OPEN = 32  # blocks of several files that are kept for the next one
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
        source: the scores.
        target: the file.
        about: metadata.
        progress: called with `("writing", done, total)` runs.

    Raises:
        DataError: the file cannot be written.
    """
    import pyarrow.parquet as pq

    axes = {"queries": source.query_ids, "measures": source.measures}
    how: dict[str, Any] = {"use_dictionary": _IDS, "store_schema": False}
    # Digits of scores are as good as random; statistics of ids take half of the time.
    how["compression"] = {**dict.fromkeys(_IDS, "snappy"), "value": "none"}
    how["write_statistics"] = ["run_id"]
    done = 0
    with written_beside(target, sealed=True) as beside:
        with pq.ParquetWriter(beside, schema(), **how) as writer:
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
        numbers(pd.Series(column), "value", Origin(where))  # it says which


class ScoreFile(NamedTuple):
    """A file that `write` made, and whose checksum fits.

    Attributes:
        path: of the file.
        about: its metadata.
        axes: queries and measures.
        runs: of each row group, ascending.
        rows: how many scores it holds.
        version: what is another one if the file is replaced.
        footer: what Parquet knows of it.
    """

    path: Path
    about: dict[str, Any]
    axes: dict[str, list[str]]
    runs: list[list[str]]
    rows: int
    version: tuple[int | str, ...]
    footer: Any

    @classmethod
    def open(cls, path: Path) -> ScoreFile | None:
        """Open a file; None of one that `write` did not make.

        Raises:
            DataError: it is damaged.
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
            return None  # whoever reads it as a table says what is wrong

    @classmethod
    def _indexed(cls, path: Path, version: tuple[int | str, ...]) -> ScoreFile | None:
        with _parquet(path) as file:
            found = file.metadata.metadata or {}
            more = {key.decode(): value.decode() for key, value in found.items()}
            head = more.get("pgcjax", "")
            if _AXES not in more or not head.startswith(HEADER_MARK):
                return None
            about = json.loads(head.removeprefix(HEADER_MARK))
            about.pop(seal.KEY, None)
            axes = {
                name: list(map(str, n)) for name, n in json.loads(more[_AXES]).items()
            }
            if not {"queries", "measures"} <= {*axes}:
                return None
            if file.schema_arrow.names != list(SCORES):
                return None
            runs = []
            for group in range(file.num_row_groups):
                column = file.read_row_group(group, columns=["run_id"])["run_id"]
                codes, names = _codes(column)
                starts = np.flatnonzero(np.diff(codes, prepend=-1))
                runs.append([names[code] for code in codes[starts].tolist()])
            footer = file.metadata
        every = [run for group in runs for run in group]
        ascending = all(a < b for a, b in zip(every, every[1:], strict=False))
        if not ascending:
            return None
        return cls(path, about, axes, runs, footer.num_rows, version, footer)

    def columns(self, group: int) -> list[tuple[np.ndarray, Any]]:
        """Read a row group: codes and names of ids, values and None.

        Raises:
            DataError: the file cannot be read, or was replaced.
        """
        try:
            if _version(self.path) != self.version:
                raise DataError("changed while it was read", where=str(self.path))
            with _parquet(self.path, self.footer) as file:
                table = file.read_row_group(group, columns=list(SCORES))
            ids = [_codes(table[name]) for name in _IDS]
            return [*ids, (table["value"].combine_chunks().to_numpy(), None)]
        except DataError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(self.path) from error


class ParquetScores(ScoreSource):
    """Scores in one file, or in several with different runs."""

    def __init__(self, files: Sequence[ScoreFile]):
        """Take files; their runs have been found to differ."""
        self.files = files
        self.count = sum(file.rows for file in files)
        self.measures = _in_order([file.axes["measures"] for file in files])
        self.query_ids = sorted({q for file in files for q in file.axes["queries"]})
        places = sorted(
            (run, file, group, i)
            for file, one in enumerate(files)
            for group, runs in enumerate(one.runs)
            for i, run in enumerate(runs)
        )
        self.run_ids = [run for run, *_ in places]
        self._places = np.array([place for _, *place in places]).reshape(-1, 3)
        numbers = [
            {n: i for i, n in enumerate(a)} for a in (self.query_ids, self.measures)
        ]
        self._queries, self._measures = numbers

    def blocks(self) -> Iterator[ScoreBlock]:
        """Return the scores; blocks of one file are its row groups."""
        shape = len(self.query_ids), len(self.measures)
        group = lru_cache(_OPEN)(self._group)
        for first in range(0, len(self.run_ids), self.step):
            runs = self.run_ids[first : first + self.step]
            places = self._places[first : first + self.step]
            values = np.zeros((len(runs), *shape))
            keep = np.zeros(values.shape, bool)
            for file, number in np.unique(places[:, :2], axis=0).tolist():
                there = (places[:, :2] == (file, number)).all(1)
                own = group(file, number)
                values[there], keep[there] = (part[places[there, 2]] for part in own)
            yield ScoreBlock(runs, values, None if keep.all() else keep)

    def of(self, measure: int) -> np.ndarray:
        """Return the scores by one measure."""
        out = np.full((len(self.run_ids), len(self.query_ids)), np.nan)
        place = {run: i for i, run in enumerate(self.run_ids)}
        for file, one in enumerate(self.files):
            for group, runs in enumerate(one.runs):
                values, keep = (part[..., measure] for part in self._group(file, group))
                out[[place[run] for run in runs]] = np.where(keep, values, np.nan)
        return out

    def _group(self, file: int, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Lay a row group out: values, and which of them there are."""
        one = self.files[file]
        runs = one.runs[group]
        shape = len(runs), len(self.query_ids), len(self.measures)
        *ids, (column, _) = one.columns(group)
        numbers = [
            {run: i for i, run in enumerate(runs)},
            self._queries,
            self._measures,
        ]
        steps = shape[1] * shape[2], shape[2], 1
        flat: Any = 0
        try:
            for (codes, names), number, step in zip(ids, numbers, steps, strict=True):
                places = [number[name] * step for name in names]
                flat = flat + np.array(places, np.int64)[codes]
        except (KeyError, IndexError):
            raise _damaged(one.path) from None
        if not np.isfinite(column).all():
            raise _damaged(one.path)
        if np.array_equal(flat, np.arange(np.prod(shape))):
            return column.reshape(shape), np.ones(shape, bool)
        values, keep = np.zeros(shape), np.zeros(shape, bool)
        values.reshape(-1)[flat], keep.reshape(-1)[flat] = column, True
        if keep.sum() < len(column):  # a score is there twice
            raise _damaged(one.path)
        return values, keep


def _in_order(lists: Sequence[Sequence[str]]) -> list[str]:
    """Put names together; each stays behind the one before it."""
    every: list[str] = []
    for names in lists:
        place = 0
        for name in names:
            if name not in every:
                every.insert(place, name)
            place = every.index(name) + 1
    return every


@contextmanager
def _parquet(path: Path, footer: Any = None) -> Iterator[Any]:
    import pyarrow.parquet as pq

    how: dict[str, Any] = {"metadata": footer, "read_dictionary": _IDS}
    with arrow_file(path) as source, pq.ParquetFile(source, **how) as file:
        yield file


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return the numbers of a column's ids in its dictionary, and that."""
    whole: Any = column.unify_dictionaries().combine_chunks()
    return whole.indices.to_numpy(), whole.dictionary.to_pylist()


def _version(path: Path) -> tuple[int | str, ...]:
    if isinstance(path, RemoteFile):
        (now, *_), _ = find(path.url)
        return now.size, now.told
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _damaged(path: Path) -> DataError:
    return DataError(
        "does not hold the scores of which its metadata tell",
        where=str(path),
        mend=_MEND,
    )
