"""Packed runs: Parquet files that are read again in a fraction of the time of text.

A row is a document of a run and query: run_id, query_id, doc_id, and 0-based places:
`position` in the order `trec`; `clarke` and `rank` in the orders of these names, empty
where they equal `position`, -1 in `rank` if the input's ranks order nothing. `judged`
is the place of the document among those that the file was packed for; these are the
first row group, whose rows have no run_id.

A row without doc_id is a whole ranking: `length` counts its documents, `judged_length`
the judged ones, and `rank` is -1 if it is -1 for the documents.

Rows form blocks of whole runs. Each block has a row group of rankings, one of their
judged documents, and some of all other documents, which only other judgments need; all
sorted by query, then by run, then by position. The metadata has the row groups of each
block, and the checksums of all bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from pgcjax.errors import DataError, counted
from pgcjax.io.bytes import decoding
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.remote import arrow_file, size_on_disk
from pgcjax.io.runs.contract import (
    Need,
    Options,
    PackedBlock,
    RunTable,
    Unit,
    file_identity,
)
from pgcjax.io.seal import ColumnChecksums
from pgcjax.later import pa, pc, pq

MARK = "pgcjax runs"  # the key of the metadata
VERSION = 4
_NAMES = ["run_id", "query_id", "doc_id"]
_ORDERS = "position", "clarke", "rank"
_KIND = "packed runs", "It may be cut off: pack the runs again."


class PackedRuns:
    """A file of packed runs, each block a unit.

    Attributes:
        path: Path of the file.
        docs: The documents that the file was packed for: query_id, doc_id.
        whole: Whether the file has all documents, not only those.
        runs: Number of runs in each block.
        sizes: Approximate bytes of the judged documents of each block in memory.
        notes: Notes on the file for the user.
    """

    def __init__(self, path: Path, options: Options):
        """Read the metadata of the file.

        Raises:
            DataError: the file cannot be read, is damaged, or another version wrote it.
        """
        self.path, self._options = path, options
        self.notes: list[str] = []
        with decoding(path, *_KIND):
            source = arrow_file(path)
            self._checksums = ColumnChecksums(source, path)
            rows = pq.read_metadata(source)
        about = _described(path, rows)
        self._checksums.expect(about, rows)  # only metadata of `pack` pass
        self.whole: bool = about["whole"]
        self._groups: list[list[int]] = about["groups"]
        self.runs: list[int] = about["runs"]
        self._file = pq.ParquetFile(source, metadata=rows, read_dictionary=_NAMES)
        sizes = [[rows.row_group(i).num_rows for i in block] for block in self._groups]
        self.sizes = [16 * rankings + 8 * judged for rankings, judged, *_ in sizes]
        self._lock = Lock()  # a reader of Parquet serves one thread
        names = pa.schema(dict.fromkeys(("query_id", "doc_id"), pa.large_string()))
        docs = pl.from_arrow(self._table([0], names.names).cast(names))
        assert isinstance(docs, pl.DataFrame)
        self.docs = docs

    def units(self) -> list[Unit]:
        """List the blocks."""
        return [
            Unit(self, self.path, size, i, runs=runs)
            for i, (size, runs) in enumerate(zip(self.sizes, self.runs, strict=True))
        ]

    def identity(self, unit: Unit) -> str:
        """Return a text that changes when the content of a unit does."""
        return file_identity(unit, self._options)

    def read(
        self, units: Sequence[Unit], need: Need
    ) -> Iterator[RunTable | PackedBlock]:
        """Read blocks: see `RunSource`."""
        for unit in units:
            if need.judged is None:
                yield self.whole_runs(unit.block)
            else:
                ids = self._ids(need.judged)
                yield self.judged_runs(unit.block, need.order, ids)

    def _ids(self, judged: JudgedDocuments) -> pl.Series | None:
        """List the ids to look up, if the file was not packed for all judgments."""
        lacking = self.lacks(judged)
        if not lacking:
            return None
        note = (
            f"{self.path}: packed for other judgments, which lack "
            f"{counted(lacking, 'judged document')}: all of it is read"
        )
        with self._lock:
            if note not in self.notes:
                self.notes.append(note)
        return judged.ids

    def lacks(self, judged: JudgedDocuments) -> int:
        """Count documents that the file was not packed for.

        Raises:
            DataError: there are such documents, and the file has no others.
        """
        packed = np.zeros(judged.end, bool)
        codes = judged.codes(self.docs)
        packed[codes[codes >= 0]] = True
        lacking = np.flatnonzero(~packed[judged.table["code"].to_numpy()])
        count = len(lacking)
        if count and not self.whole:
            number, doc, _ = judged.table.row(int(lacking[0]))
            query = list(judged.docs)[number]
            raise DataError(
                f"was packed for other judgments: {counted(count, 'judged document')}, "
                f"such as {doc!r} of query {query!r}, may be missing",
                where=str(self.path),
                mend="Pack the runs with these judgments, or without only_judged "
                "(--only-judged on the command line).",
            )
        return count

    def judged_runs(
        self, block: int, order: str, ids: pl.Series | None = None
    ) -> PackedBlock:
        """Read the documents of a block that the file was packed for, or those of ids.

        Raises:
            DataError: the file cannot be read; or `order` is `rank`, and the input's
                ranks order nothing.
        """
        first, *groups = self._groups[block]
        names = [*_NAMES[:2], "length", "judged_length", "rank"]
        rankings = self._table([first], names)
        run, run_ids = _sorted_codes(rankings["run_id"])
        query, query_ids = _sorted_codes(rankings["query_id"])
        length = rankings["length"].to_numpy()
        ready = rankings["judged_length"].to_numpy()
        useless = rankings["rank"].is_valid().to_numpy()
        if order == "rank" and useless.any():
            i = useless.argmax()
            raise DataError(
                f"run {run_ids[run[i]]!r} had no usable ranks for query "
                f"{query_ids[query[i]]!r} when it was packed",
                where=str(self.path),
                mend="Order runs by score: order=trec or clarke (--order on the "
                "command line).",
            )
        columns = ["position", *([] if order == "trec" else [order])]
        judged = doc = None
        if ids is not None:
            parts = (groups[:1], ready), (groups[1:], length - ready)
            ranking, position, doc = self._look_up(parts, columns, ids)
            by = np.lexsort((position, ranking))
            doc, position = doc[by], position[by]
            count = np.bincount(ranking, minlength=len(length)).astype(np.int32)
        else:
            table = self._table(groups[:1], [*columns, "judged"])
            judged, position, count = table["judged"].to_numpy(), _places(table), ready
            if order != "trec":
                by = np.lexsort((position, np.repeat(np.arange(len(ready)), ready)))
                judged, position = judged[by], position[by]
        of_rankings = run, query, length, count
        of_docs = position, judged, doc, ids
        return PackedBlock(run_ids, query_ids, *of_rankings, *of_docs, self.docs)

    def _look_up(
        self,
        parts: Sequence[tuple[list[int], np.ndarray]],
        columns: list[str],
        ids: pl.Series,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read the documents of some ids, one row group after the other.

        Args:
            parts: Row groups of documents, and the number of each ranking's documents
                in them.
            columns: The needed columns of places.
            ids: Distinct ids.

        Returns:
            The place of each document's ranking, its position, and its place in `ids`.
        """
        empty = np.zeros(0, np.int32)
        rankings, positions, docs = [empty], [empty], [empty]
        for groups, count in parts:
            ends, first = np.cumsum(count), 0
            for group in groups:  # one at a time, as all may be too large
                table = self._table([group], [*columns, "doc_id"])
                codes, names = _codes(table["doc_id"])
                place = _place_in(ids, names)[codes]
                rows = np.flatnonzero(place >= 0)
                of_row = np.searchsorted(ends, first + rows, "right")
                rankings.append(of_row.astype(np.int32))
                positions.append(_places(table)[rows])
                docs.append(place[rows])
                first += len(codes)
        return np.concatenate(rankings), np.concatenate(positions), np.concatenate(docs)

    def whole_runs(self, block: int) -> RunTable:
        """Read a block as a canonical table.

        A document's score is minus the mean of the places of all documents that it ties
        with, so every order stays the same.
        """
        columns = [*_NAMES, "position", "clarke", "rank"]
        table = pl.from_arrow(self._table(self._groups[block][1:], columns))
        assert isinstance(table, pl.DataFrame)
        position, rank = pl.col("position"), pl.col("rank")
        table = table.select(
            *(pl.col(name).cast(pl.String) for name in _NAMES),
            score=-(position + pl.col("clarke").fill_null(position)) / 2,
            rank=pl.when(rank < 0)
            .then(math.nan)
            .otherwise(rank.fill_null(position) + 1.0),
        )
        return RunTable(table, (tuple(table["run_id"].unique().sort()),))

    def _table(self, groups: list[int], columns: list[str]) -> pa.Table:
        with decoding(self.path, *_KIND):
            with self._lock:
                self._checksums.check(groups, columns)
                table = self._file.read_row_groups(groups, columns=columns)
            return table.unify_dictionaries().combine_chunks()


def _described(path: Path, rows: pq.FileMetaData) -> dict[str, Any]:
    """Read the metadata of a file of packed runs; {} if they are no object of JSON.

    Raises:
        DataError: another version wrote them.
    """
    try:
        text = (rows.metadata or {}).get(MARK.encode(), b"").decode()
        about = read_json(text, str(path))
    except (UnicodeDecodeError, NoJson):
        about = None
    about = about if isinstance(about, dict) else {}
    if about.get("version", VERSION) != VERSION:
        raise DataError(
            f"has version {about['version']!r} of packed runs; this pgcjax reads "
            f"version {VERSION}",
            where=str(path),
            mend="Pack the runs again.",
        )
    return about


def _places(table: pa.Table) -> np.ndarray:
    """Return the position of each document in the requested order."""
    orders = [table[name] for name in table.column_names if name in _ORDERS]
    return pc.coalesce(*reversed(orders)).to_numpy()


def _place_in(ids: pl.Series, names: pa.Array) -> np.ndarray:
    """Find the place of each name among ids; -1 if it is none of them."""
    places = pl.DataFrame({"id": ids, "place": np.arange(len(ids), dtype=np.int32)})
    frame = pl.DataFrame({"id": pl.from_arrow(names)})
    frame = frame.join(places, on="id", how="left", maintain_order="left")
    return frame["place"].fill_null(-1).to_numpy()


def is_packed(path: Path) -> bool:
    """Return whether a file has packed runs."""
    if not size_on_disk(path):
        return False  # a pipe can be read only once
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
        with arrow_file(path) as source:
            return MARK.encode() in (pq.read_metadata(source).metadata or {})
    except DataError:  # a remote file: do not fetch all of it
        raise
    except (pa.ArrowException, OSError, ValueError):
        return False  # its reader reports the error


def _codes(column: Any) -> tuple[np.ndarray, Any]:
    """Return the place of each value of a column among its distinct ones."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array.indices.to_numpy(), array.dictionary


def _sorted_codes(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return the place of each value of a column among its ascending distinct ones."""
    codes, dictionary = _codes(column)
    names = np.array(dictionary.to_pylist(), object)
    names, place = np.unique(names, return_inverse=True)
    return place.astype(np.int32)[codes], names.tolist()
