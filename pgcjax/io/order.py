"""The order of a run: the position of each document, by each convention."""

from collections.abc import Generator, Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Bool, UInt64

from pgcjax.errors import DataError

_KEYS = ["run_id", "query_id"]
_MEND_RANKS = (
    "Mend the rank column, or order runs by score: order=trec or clarke (--order on "
    "the command line)."
)


_ODD = np.array([0x9E3779B97F4A7C15], np.uint64)


class Outline(NamedTuple):
    """Starts of rankings in a table of runs, and hashes of its documents.

    Attributes:
        start: Mask of rows whose run or query differs from that of the row before.
        hash_: Hash of each document, the same in the whole process.
    """

    start: Bool[np.ndarray, " rows"]
    hash_: UInt64[np.ndarray, " rows"]


def outline(table: pl.DataFrame) -> Outline:
    """Outline a table of runs; without run_id, it has one run."""
    return Outline(_starts(table), table["doc_id"].hash().to_numpy())


def no_repeat(table: pl.DataFrame, outline: Outline) -> bool:
    """Check that no ranking has a document twice; False also if it is in doubt."""
    start, hash_ = outline
    first = np.flatnonzero(start)
    names = [table[name][first].to_list() for name in _KEYS if name in table.columns]
    if len({*zip(*names, strict=True)}) < len(first):
        return False  # the rows of a ranking are not adjacent
    # Equal documents of two rankings get different numbers; the product may wrap.
    lengths = lengths_of(start)
    number = np.repeat(np.arange(len(lengths), dtype=np.uint64) * _ODD, lengths)
    number += hash_
    number.sort()
    return not (number[1:] == number[:-1]).any()


def lengths_of(start: np.ndarray) -> np.ndarray:
    """Count the rows of each ranking; `start` is True at their first rows."""
    return np.diff(np.append(np.flatnonzero(start), len(start)))


def ranked(
    table: pl.DataFrame, order: str, start: np.ndarray | None = None
) -> tuple[pl.DataFrame, np.ndarray, list[tuple[str, str]], np.ndarray]:
    """Find the 0-based position of every row in its run and query.

    Args:
        table: Canonical, whole runs; other columns stay.
        order: `trec` (score descending, then document id descending), `clarke` (score
            descending, then document id ascending) or `rank` (rank ascending).
        start: Starts of rankings, if they are known: see `Outline`.

    Returns:
        The table, in which the rows of a run and query are adjacent, and the position
        of each row; the run and query of each ranking, and its number of documents.

    Raises:
        DataError: `order` is `rank`, and a rank is missing or occurs twice.
    """
    by = {
        "trec": (["score", "doc_id"], [True, True]),
        "clarke": (["score", "doc_id"], [True, False]),
        "rank": (["rank"], [False]),
    }
    columns, falling = by[order]
    start, groups = ranking_starts(table, start)
    score = table["score"].to_numpy()
    follows = ~start[1:]
    # Most files are sorted by query, best document first, except for ties.
    ordered = len(set(groups)) == len(groups)
    ordered = ordered and not ((score[1:] > score[:-1]) & follows).any()
    if order == "rank" or not ordered:
        table = table.sort(
            [*_KEYS, *columns], descending=[False, False, *falling], nulls_last=True
        )
        start, groups = ranking_starts(table)
    if order == "rank":
        _check_ranks(table)
    lengths = lengths_of(start)
    position = np.arange(len(table), dtype=np.int32)
    position -= np.repeat(np.flatnonzero(start).astype(np.int32), lengths)
    if order != "rank" and ordered:
        tied = np.append(False, (score[1:] == score[:-1]) & follows)
        _order_ties(position, tied, table["doc_id"], falling[1])
    return table, position, groups, lengths


def _order_ties(
    position: np.ndarray, tied: np.ndarray, doc: pl.Series, ids_fall: bool
) -> None:
    """Order tied rows, which `tied` marks after the first, by document id, in place."""
    rows = np.flatnonzero(tied | np.append(tied[1:], False))
    if not len(rows):
        return
    block = np.cumsum(~tied[rows])
    frame = pl.DataFrame({"block": block, "doc": doc[rows], "row": rows})
    frame = frame.sort(
        "block", "doc", descending=[False, ids_fall], multithreaded=False
    )
    position[frame["row"].to_numpy()] = position[rows]


def steps(values: np.ndarray, before: float | np.ndarray) -> np.ndarray:
    """Subtract from each value the one before it; overflows become infinite."""
    with np.errstate(over="ignore"):  # signs and zeros are still right
        return np.diff(values, prepend=before)


def ranking_starts(
    table: pl.DataFrame, start: np.ndarray | None = None
) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Find the rows at which rankings start, and their runs and queries.

    `start` is the first part of the result, if it is known.
    """
    start = _starts(table) if start is None else start
    first = np.flatnonzero(start)
    runs, queries = (table[key][first].to_list() for key in _KEYS)
    return start, list(zip(runs, queries, strict=True))


def _starts(table: pl.DataFrame) -> np.ndarray:
    start = np.zeros(len(table), bool)
    start[:1] = True
    for name in _KEYS:
        # Most files have one run, which is faster to find than that no row differs.
        column = table.get_column(name, default=None)
        if column is None or not len(column):
            continue
        if column[0] != column[-1] or not (column == column[0]).all():
            column = column.rechunk()  # else both slices would be copied
            start[1:] |= (column.slice(1) != column.slice(0, len(table) - 1)).to_numpy()
    return start


def check_ranks_given(table: pl.DataFrame) -> None:
    """Refuse runs with a missing rank.

    Raises:
        DataError: a rank is NaN.
    """
    missing = np.isnan(table["rank"].to_numpy())
    if missing.any():
        row = table.row(int(missing.argmax()), named=True)
        raise DataError(
            f"run {row['run_id']!r} has no usable rank for document "
            f"{row['doc_id']!r} of query {row['query_id']!r}",
            mend=_MEND_RANKS,
        )


def _check_ranks(table: pl.DataFrame) -> None:
    """Refuse ranks that do not order a run; rows are sorted by run, query, rank."""
    check_ranks_given(table)
    row = pl.struct(*_KEYS, "rank")
    twice = table.select((row == row.shift()).fill_null(False)).to_series().to_numpy()
    if twice.any():
        i = int(twice.argmax())
        a, b = table.row(i - 1, named=True), table.row(i, named=True)
        raise DataError(
            f"run {b['run_id']!r} gives {a['doc_id']!r} and {b['doc_id']!r} of query "
            f"{b['query_id']!r} the same rank {b['rank']:g}",
            mend=_MEND_RANKS,
        )


def in_order(table: pl.DataFrame) -> pl.DataFrame:
    """Sort canonical, whole runs, and compute the position of rows by each order.

    Returns:
        run_id, query_id, doc_id, position (by `trec`, in which the rows of a run and
        query are sorted), clarke and rank (null where they equal position; rank is -1
        in a run and query whose ranks are missing or occur twice).
    """
    table = table.sort(
        [*_KEYS, "score", "doc_id"], descending=[False, False, True, True]
    )
    _, position, *_ = ranked(table, "trec")
    _, clarke, *_ = ranked(table, "clarke")  # sorted rows keep their places
    first = np.arange(len(table)) - position
    rank = table["rank"].to_numpy()
    by = np.lexsort((rank, first))  # rankings keep their places
    useless = np.isnan(rank)
    same = (first[by][1:] == first[by][:-1]) & ~(rank[by][1:] > rank[by][:-1])
    useless[by[1:][same]] = True
    by_rank = np.empty(len(rank), np.int64)
    by_rank[by] = position
    by_rank[np.isin(first, first[useless])] = -1
    columns = [pl.Series("position", position)]
    for name, other in (("clarke", clarke), ("rank", by_rank)):
        series = pl.Series(name, other.astype(np.int32))
        columns.append(series.set(pl.Series(other == position), None))
    return table.select("run_id", "query_id", "doc_id").with_columns(columns)


def gathered(
    tables: Iterable[pl.DataFrame], rows: int
) -> Generator[list[pl.DataFrame]]:
    """Group small tables, up to `rows` rows together."""
    waiting: list[pl.DataFrame] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) > rows:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
