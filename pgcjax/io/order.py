"""The order of a run: which document stands where, by each convention."""

import numpy as np
import polars as pl

from pgcjax.errors import DataError

_KEYS = ["run_id", "query_id"]
_MEND_RANKS = (
    "Mend the rank column, or order runs by score: order=trec or clarke (--order on "
    "the command line)."
)


def ranked(
    table: pl.DataFrame, order: str
) -> tuple[pl.Series, np.ndarray, list[tuple[str, str]], np.ndarray]:
    """Find the 0-based position of every row in its run and query.

    Args:
        table: canonical runs, whole runs.
        order: `trec` (score descending, then document id descending), `clarke` (score
            descending, then document id ascending) or `rank` (rank ascending).

    Returns:
        Documents and positions, those of a run and query together; the runs and
        queries, and how many documents each has.

    Raises:
        DataError: `order` is `rank`, and a rank is missing or is claimed twice.
    """
    by = {
        "trec": (["score", "doc_id"], [True, True]),
        "clarke": (["score", "doc_id"], [True, False]),
        "rank": (["rank"], [False]),
    }
    columns, falling = by[order]
    start, groups = ranking_starts(table)
    step = steps(table["score"].to_numpy(), np.inf)
    # Most files stand query by query, best first, but for the order of ties.
    ordered = len(set(groups)) == len(groups) and not ((step > 0) & ~start).any()
    if order == "rank" or not ordered:
        table = table.sort(
            [*_KEYS, *columns], descending=[False, False, *falling], nulls_last=True
        )
        start, groups = ranking_starts(table)
    if order == "rank":
        _check_ranks(table)
    first = np.flatnonzero(start)
    lengths = np.diff(np.append(first, len(table)))
    position = np.arange(len(table), dtype=np.int32)
    position -= np.repeat(first, lengths).astype(np.int32)
    if order != "rank" and ordered:
        _order_ties(position, (step == 0) & ~start, table["doc_id"], falling[1])
    return table["doc_id"], position, groups, lengths


def _order_ties(
    position: np.ndarray, tied: np.ndarray, doc: pl.Series, ids_fall: bool
) -> None:
    """Order rows that tie with the row before by document id, in place."""
    rows = np.flatnonzero(tied | np.append(tied[1:], False))
    if not len(rows):
        return
    block = np.cumsum(~tied[rows])
    frame = pl.DataFrame({"block": block, "doc": doc.gather(rows), "row": rows})
    frame = frame.sort("block", "doc", descending=[False, ids_fall])
    position[frame["row"].to_numpy()] = position[rows]


def steps(values: np.ndarray, before: float | np.ndarray) -> np.ndarray:
    """Subtract from each value the one before it; what is too large is infinite."""
    with np.errstate(over="ignore"):  # signs and zeros are right all the same
        return np.diff(values, prepend=before)


def ranking_starts(table: pl.DataFrame) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Say which rows begin another run or query than the row before, and which."""
    differs = [pl.col(key) != pl.col(key).shift() for key in _KEYS]
    start = table.select(pl.any_horizontal(differs).fill_null(True))
    start = start.to_series().to_numpy()
    first = np.flatnonzero(start)
    runs, queries = (table[key].gather(first).to_list() for key in _KEYS)
    return start, list(zip(runs, queries, strict=True))


def check_ranks_given(table: pl.DataFrame) -> None:
    """Refuse runs of which a rank is missing.

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
    """Sort canonical runs, whole ones, and give the position of rows by each order.

    Returns:
        run_id, query_id, doc_id, position (by `trec`: the rows of a run and query stand
        in that order), clarke and rank (null where they equal position; rank is -1 in a
        run and query whose ranks are missing or claimed twice).
    """
    start, groups = ranking_starts(table)
    if len(set(groups)) < len(groups) or not _descends(table, start):
        falling = [False, False, True, True]
        table = table.sort([*_KEYS, "score", "doc_id"], descending=falling)
        start, groups = ranking_starts(table)
    first = np.flatnonzero(start)
    lengths = np.diff(np.append(first, len(table)))
    first = np.repeat(first, lengths)
    position = (np.arange(len(table)) - first).astype(np.int32)
    others = {
        "clarke": _ties_reversed(table["score"].to_numpy(), start) - first,
        "rank": _by_rank(table["rank"].to_numpy(), first),
    }
    columns = [pl.Series("position", position)]
    for name, other in others.items():
        other = pl.Series(name, other.astype(np.int32))
        columns.append(other.set(pl.Series(other.to_numpy() == position), None))
    return table.select("run_id", "query_id", "doc_id").with_columns(columns)


def _descends(table: pl.DataFrame, start: np.ndarray) -> bool:
    """Say whether each ranking stands by score and, in ties, by id, both descending."""
    step = steps(table["score"].to_numpy(), np.inf)
    tied = np.flatnonzero((step == 0) & ~start)
    doc = table["doc_id"]
    below = doc.gather(tied) < doc.gather(tied - 1)
    return not ((step > 0) & ~start).any() and bool(below.all())


def _ties_reversed(score: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Give the row of each row when the rows of every tie are reversed."""
    leads = start | (steps(score, np.inf) != 0)
    first = np.flatnonzero(leads)
    lengths = np.diff(np.append(first, len(score)))
    return np.repeat(2 * first + lengths - 1, lengths) - np.arange(len(score))


def _by_rank(rank: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Give the position of each row by rank in its ranking, which begins at `first`.

    Positions are -1 where a rank of the ranking is NaN or there twice.
    """
    rises = steps(rank, -np.inf) > 0
    rows = np.arange(len(rank))
    if (rises | (rows == first)).all() and not np.isnan(rank).any():
        return rows - first
    by = np.lexsort((rank, first))
    same = (first[by][1:] == first[by][:-1]) & ~(rank[by][1:] > rank[by][:-1])
    useless = np.isnan(rank)
    useless[by[1:][same]] = True
    position = np.empty(len(rank), np.int64)
    position[by] = rows - first  # rankings stay where they are
    position[np.isin(first, first[useless])] = -1
    return position
