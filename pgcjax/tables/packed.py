"""Packed runs: Parquet files that are read again in a fraction of the time of text.

A row is a document of a run and query: run_id, query_id, doc_id, and 0-based places:
`position` by `--order trec`; `clarke` and `rank` by those orders, empty where they are
the same, -1 in `rank` where the input's ranks order nothing. `judged` is its place
among the documents that the file was packed for, which the metadata has; else -1.
`length` is the number of documents of its ranking in the first row of that, else 0.

Rows stand in blocks of whole runs. Of each block, one row group has the documents that
are judged and the first of every ranking; the row group after it has all others, which
only other judgments ask for.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pgcjax.errors import DataError, counted

MARK = "pgcjax runs"  # the key of the metadata
VERSION = 2
_NAMES = ["run_id", "query_id", "doc_id"]


@dataclass(frozen=True)
class Block:
    """Some whole packed runs, or their judged documents alone.

    Rows are by query, then by run, then by position; `query` and `run` are places in
    `query_ids` and `run_ids`.

    Attributes:
        length: documents of a ranking, once for each; else 0.
        judged: place of each document among `docs` of its query, or -1; None if doc
            tells.
        doc: place of each document in `doc_ids`; None if `judged` tells.
        docs: the documents that the file was packed for.
    """

    run_ids: list[str]
    query_ids: list[str]
    run: np.ndarray
    query: np.ndarray
    position: np.ndarray
    length: np.ndarray
    judged: np.ndarray | None
    doc: np.ndarray | None
    doc_ids: pl.Series | None
    docs: Mapping[str, Sequence[str]]


class Packed:
    """A file of packed runs.

    Attributes:
        path: of the file.
        docs: the documents that it was packed for, of each query, ascending.
        whole: whether it has all documents, not only those.
        runs: number of runs in each block.
        sizes: bytes that the judged documents of each block take in memory, about.
    """

    def __init__(self, path: Path):
        """Read what the file says of itself.

        Raises:
            DataError: it cannot be read, or a later version wrote it.
        """
        self.path = path
        try:
            rows = pq.read_metadata(path)
            about = json.loads((rows.metadata or {})[MARK.encode()])
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        if about["version"] != VERSION:
            raise DataError(
                f"is of version {about['version']} of packed runs; this pgcjax reads "
                f"version {VERSION}",
                where=str(path),
                mend="Pack the runs again.",
            )
        self.docs: dict[str, list[str]] = about["judged"]
        self.whole: bool = about["whole"]
        self._groups: list[list[int]] = about["groups"]
        self.runs: list[int] = about["runs"]
        self._file = pq.ParquetFile(path, metadata=rows, read_dictionary=_NAMES)
        self.sizes = [16 * rows.row_group(g[0]).num_rows for g in self._groups]
        self._lock = Lock()  # a reader of Parquet is for one thread

    def lacks(self, docs: Mapping[str, Sequence[str] | np.ndarray]) -> int:
        """Count documents that the file was not packed for.

        Raises:
            DataError: there are some, and the file has no others.
        """
        lacking = {
            query: missing
            for query, some in docs.items()
            if (missing := set(some) - set(self.docs.get(query, ())))
        }
        count = sum(map(len, lacking.values()))
        if count and not self.whole:
            query = min(lacking)
            raise DataError(
                f"was packed for other judgments: {counted(count, 'judged document')}, "
                f"such as {min(lacking[query])!r} of query {query!r}, may be missing",
                where=str(self.path),
                mend="Pack the runs with these judgments, or without --only-judged.",
            )
        return count

    def read(self, block: int, order: str, *, every: bool) -> Block:
        """Read a block of runs.

        Args:
            block: which one.
            order: `trec`, `clarke` or `rank`.
            every: all documents, with their ids; else the judged ones.

        Raises:
            DataError: it cannot be read; `order` is `rank`, and the input's ranks order
                nothing.
        """
        columns = [*_NAMES[:2], "position", "length", "doc_id" if every else "judged"]
        if order != "trec":
            columns.append(order)
        groups = self._groups[block] if every else self._groups[block][:1]
        table = self._table(groups, columns)
        position, length = table["position"].to_numpy(), table["length"].to_numpy()
        run, run_ids = _sorted_codes(table["run_id"])
        query, query_ids = _sorted_codes(table["query_id"])
        if order != "trec":
            own: Any = pc.coalesce(table[order], table["position"])
            position = own.to_numpy()
            if (position < 0).any():
                i = int((position < 0).argmax())
                raise DataError(
                    f"run {run_ids[run[i]]!r} had no usable ranks for query "
                    f"{query_ids[query[i]]!r} when it was packed",
                    where=str(self.path),
                    mend="Use --order trec or clarke (by score).",
                )
        judged, doc, doc_ids = None, None, None
        if every:
            doc, names = _codes(table["doc_id"])
            doc_ids = pl.Series("doc_id", pl.from_arrow(names))
            by = _by_position(query * len(run_ids) + run, position)
        else:
            judged = table["judged"].to_numpy()
            by = np.lexsort((position, run, query)) if order != "trec" else slice(None)
        run, query, position, length = run[by], query[by], position[by], length[by]
        doc = doc[by] if doc is not None else None
        judged = judged[by] if judged is not None else None
        rows = run, query, position, length, judged, doc
        return Block(run_ids, query_ids, *rows, doc_ids, self.docs)

    def frame(self, block: int) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Read a block as a canonical table, and the names of its runs.

        Scores are minus the middle of the places that a document may have among those
        that it ties with, so that every order is as it was.
        """
        columns = [*_NAMES, "position", "clarke", "rank"]
        table = pl.from_arrow(self._table(self._groups[block], columns))
        assert isinstance(table, pl.DataFrame)
        position, rank = pl.col("position"), pl.col("rank")
        table = table.select(
            *(pl.col(name).cast(pl.String) for name in _NAMES),
            score=-(position + pl.col("clarke").fill_null(position)) / 2,
            rank=pl.when(rank < 0)
            .then(math.nan)
            .otherwise(rank.fill_null(position) + 1.0),
        )
        return table, tuple(table["run_id"].unique().sort())

    def _table(self, groups: list[int], columns: list[str]) -> pa.Table:
        try:
            with self._lock:
                table = self._file.read_row_groups(groups, columns=columns)
            return table.unify_dictionaries().combine_chunks()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None


def _by_position(ranking: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Sort whole rankings by position: each document's place is known, as it were."""
    count = np.bincount(ranking)
    by = np.empty(len(ranking), np.int64)
    by[(np.cumsum(count) - count)[ranking] + position] = np.arange(len(ranking))
    return by


def is_packed(path: Path) -> bool:
    """Say whether a file has packed runs."""
    if not path.is_file():
        return False  # a pipe can be read but once
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
        return MARK.encode() in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError, ValueError):
        return False  # whoever reads it says why it cannot be read


def _codes(column: Any) -> tuple[np.ndarray, Any]:
    """Give the values of a column by their place among its distinct ones."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array.indices.to_numpy(), array.dictionary


def _sorted_codes(column: Any) -> tuple[np.ndarray, list[str]]:
    """Give the values of a column by their place among its distinct, ascending ones."""
    codes, dictionary = _codes(column)
    names = dictionary.to_pylist()
    ascending = sorted(range(len(names)), key=names.__getitem__)
    if ascending == list(range(len(names))):
        return codes, names
    place = np.empty(len(names), np.int32)
    place[ascending] = np.arange(len(names))
    return place[codes], [names[i] for i in ascending]


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(
        f"cannot read it as packed runs: {error}",
        where=str(path),
        mend="It may be cut off: pack the runs again.",
    )
