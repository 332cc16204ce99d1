"""Runs as lists of numbered documents with their ties, for comparisons of runs."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Int32

from pgcjax.errors import DataError, Progress
from pgcjax.io.order import check_ranks_given, gathered, ranked, ranking_starts, steps
from pgcjax.io.runs import open_runs
from pgcjax.kernels.rbo_ties import LONGEST


class TiedList(NamedTuple):
    """Documents of a ranking, best first.

    Attributes:
        docs: Number of each document.
        top: First rank, from 1, of each document's tie group.
        bottom: Last rank of each document's tie group.
    """

    docs: Int32[np.ndarray, " n"]
    top: Int32[np.ndarray, " n"]
    bottom: Int32[np.ndarray, " n"]

    @property
    def tied(self) -> bool:
        """Whether any two documents tie."""
        return bool((self.top < self.bottom).any())


class Numbers:
    """Documents, numbered as they come."""

    def __init__(self) -> None:
        schema = {"doc_id": pl.String, "number": pl.Int32}
        self._known = pl.DataFrame(schema=schema)

    def of(self, doc_ids: pl.Series) -> np.ndarray:
        """Return the number of each document."""
        frame = doc_ids.rename("doc_id").to_frame()
        new = frame.unique().join(self._known, on="doc_id", how="anti")
        count = len(self._known)
        number = pl.Series("number", range(count, count + len(new)), pl.Int32)
        self._known = pl.concat([self._known, new.with_columns(number)])
        numbered = frame.join(
            self._known, on="doc_id", how="left", maintain_order="left"
        )
        return numbered["number"].to_numpy()


Lists = dict[str, dict[str, TiedList]]
"""Rankings, by query and run."""


def read(
    source: Any,
    numbers: Numbers,
    *,
    order: str,
    broken: bool,
    depth: int | None,
    rows: int,
    progress: Progress | None = None,
) -> tuple[list[str], Lists]:
    """Read runs.

    Args:
        source: Input or result of `read_runs`, or `Runs`.
        numbers: Numbers of documents; new documents are added.
        order: `trec`, `clarke` or `rank`.
        broken: whether the order breaks ties; else documents with the same score (for
            `rank`, the same rank) tie.
        depth: Last rank that counts; a tie group that begins there counts as a whole.
        rows: Number of rows to number at once, from several files if they are small.
        progress: called with `("reading", done, total)`.

    Returns:
        The runs, ascending, and their rankings, queries ascending.

    Raises:
        DataError: runs cannot be read or ordered, or a ranking is too long.
    """
    lists: Lists = {}
    runs: set[str] = set()
    with closing(open_runs(source).tables(progress=progress)) as tables:
        for batch in gathered(tables, rows):
            assert isinstance(batch, list)  # `tables` gives no blocks
            laid = [_laid(table, order, broken, depth) for table in batch]
            docs = numbers.of(pl.concat([part[1] for part in laid]))
            top, bottom = (np.concatenate([part[i] for part in laid]) for i in (2, 3))
            end = np.cumsum(np.concatenate([part[4] for part in laid]))
            groups = [group for part in laid for group in part[0]]
            for i, (run, query) in enumerate(groups):
                place = slice(end[i - 1] if i else 0, end[i])
                ranking = TiedList(docs[place], top[place], bottom[place])
                _check_length(len(ranking.docs), f"query {query!r} of run {run!r}")
                lists.setdefault(query, {})[run] = ranking
                runs.add(run)
    return sorted(runs), {query: lists[query] for query in sorted(lists)}


_Laid = tuple[list[tuple[str, str]], pl.Series, np.ndarray, np.ndarray, np.ndarray]


def _laid(table: pl.DataFrame, order: str, broken: bool, depth: int | None) -> _Laid:
    """Return runs and queries, documents, first and last rank of ties, and lengths."""
    if broken:
        table, position, groups, lengths = ranked(table, order)
        docs, top = table["doc_id"], position + 1
        by = np.empty(len(top), np.int64)
        by[np.repeat(np.cumsum(lengths) - lengths, lengths) + position] = np.arange(
            len(top)
        )
        docs, top = docs.gather(by), top[by]
        bottom = top
    else:
        table, value, start, groups = _best_first(table, order)
        docs = table["doc_id"]
        first = np.flatnonzero(start)
        leads = np.flatnonzero(start | (steps(value, np.nan) != 0))
        sizes = np.diff(np.append(leads, len(value)))
        lengths = np.diff(np.append(first, len(value)))
        rank = np.arange(1, len(value) + 1) - np.repeat(first, lengths)
        top = np.repeat(rank[leads], sizes)
        bottom = top + np.repeat(sizes, sizes) - 1
    if depth is not None:
        keep = np.flatnonzero(top <= depth)
        ranking = np.repeat(np.arange(len(lengths)), lengths)
        lengths = np.bincount(ranking[keep], minlength=len(lengths))
        docs, top, bottom = docs.gather(keep), top[keep], bottom[keep]
    return groups, docs, top.astype(np.int32), bottom.astype(np.int32), lengths


def _best_first(
    table: pl.DataFrame, order: str
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, list[tuple[str, str]]]:
    """Order each ranking by score, or by rank.

    Returns:
        The table, the values that order it, the starts of rankings, runs and queries.
    """
    column = "rank" if order == "rank" else "score"
    value = table[column].to_numpy()
    if order == "rank":
        check_ranks_given(table)
    start, groups = ranking_starts(table)
    step = steps(value, value[:1])
    wrong = (step < 0 if order == "rank" else step > 0) & ~start
    if len(set(groups)) < len(groups) or wrong.any():
        falling = [False, False, order != "rank"]
        table = table.sort(["run_id", "query_id", column], descending=falling)
        start, groups = ranking_starts(table)
        value = table[column].to_numpy()
    return table, value, start, groups


def _check_length(length: int, name: str) -> None:
    if length > LONGEST:
        raise DataError(
            f"{name} has {length} documents; at most {LONGEST} can be compared",
            mend="Compare to a depth: depth=1000 (--depth on the command line).",
        )


def of_groups(
    ranking: Sequence[Any], numbers: dict[Any, int], name: str, depth: int | None
) -> TiedList:
    """Number the documents of a list; a list, tuple or set in it is a tie group.

    Raises:
        DataError: the list or a group is empty, or a document occurs twice.
    """
    docs, top, bottom = [], [], []
    for item in ranking:
        group = [*item] if isinstance(item, (list, tuple, set, frozenset)) else [item]
        if not group:
            raise DataError(f"{name} has an empty tie group", mend="Leave it out.")
        first = len(docs) + 1
        docs += group
        top += [first] * len(group)
        bottom += [len(docs)] * len(group)
    if not docs:
        raise DataError(f"{name} is empty", mend="Give at least one document.")
    try:
        numbered = [numbers.setdefault(doc, len(numbers)) for doc in docs]
    except TypeError:
        raise DataError(
            f"{name}: expected document ids, or lists of those that tie"
        ) from None
    if len(set(numbered)) < len(numbered):
        twice = next(doc for doc in docs if docs.count(doc) > 1)
        raise DataError(f"{name} has document {twice!r} twice", mend="Keep one.")
    keep = sum(first <= depth for first in top) if depth else len(top)
    ranks = (np.array(column[:keep], np.int32) for column in (numbered, top, bottom))
    _check_length(keep, name)
    return TiedList(*ranks)
