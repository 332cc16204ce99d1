"""Runs as ranks of judged documents: all that scoring needs of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.kernels import ABSENT

ORDERS = ("trec", "clarke", "rank")
_KEYS = ["run_id", "query_id"]


@dataclass(frozen=True)
class Retrieved:
    """The judged documents of one query that runs retrieved, best first.

    Attributes:
        run: index of the run of each, ascending.
        vertex: index of the document among the judged ones.
        rank: 0-based rank among all documents of the run, ascending within a run.
        vertices: number of judged documents.
    """

    run: np.ndarray
    vertex: np.ndarray
    rank: np.ndarray
    vertices: int

    def most(self) -> int:
        """Count the judged documents in the run that has most."""
        return int(np.bincount(self.run).max()) if len(self.run) else 0

    def of(self, runs: slice) -> tuple[np.ndarray, np.ndarray]:
        """Lay some runs out as lists: vertices and ranks, int32 `[runs, most]`.

        Lists are padded with vertex `vertices` and rank `ABSENT`.
        """
        low, high = np.searchsorted(self.run, (runs.start, runs.stop))
        run = self.run[low:high] - runs.start
        count = np.bincount(run, minlength=runs.stop - runs.start)
        place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
        shape = (runs.stop - runs.start, int(count.max(initial=0)))
        vertex = np.full(shape, self.vertices, np.int32)
        rank = np.full(shape, ABSENT, np.int32)
        vertex[run, place] = self.vertex[low:high]
        rank[run, place] = self.rank[low:high]
        return vertex, rank


class Rankings:
    """The ranks of judged documents in many runs; tables pass through, and go.

    Attributes:
        run_ids: the runs, ascending.
        query_ids: queries that any run answers, judged or not.
    """

    def __init__(
        self,
        tables: Iterable[pl.DataFrame],
        judged: Mapping[str, np.ndarray],
        order: str,
    ):
        """Rank the documents of every run and query, and keep the judged ones.

        Args:
            tables: canonical runs, whole runs in each.
            judged: document ids of each judged query.
            order: `trec` (score descending, then document id descending), `clarke`
                (score descending, then document id ascending) or `rank` (rank
                ascending).

        Raises:
            DataError: `order` is `rank`, and a rank is missing or is claimed twice.
        """
        names = list(judged)
        self._query = {name: i for i, name in enumerate(names)}
        counts = [len(judged[name]) for name in names]
        known = pl.DataFrame(
            {
                "query_id": np.repeat(np.array(names, object), counts).tolist(),
                "doc_id": [d for name in names for d in judged[name].tolist()],
                "query": np.repeat(np.arange(len(names), dtype=np.int32), counts),
                "code": np.concatenate([np.arange(c, dtype=np.int32) for c in counts])
                if names
                else np.zeros(0, np.int32),
            },
            schema_overrides={"query_id": pl.String, "doc_id": pl.String},
        )
        self._judged = {name: judged[name] for name in names}
        parts, answers = [], []
        for table in tables:
            ranked = _ranked(table, order)
            answers.append(ranked.select(_KEYS).unique())
            found = ranked.join(known, on=["query_id", "doc_id"], how="inner")
            parts.append(found.select("run_id", "query", "code", "position"))
        answered = pl.concat(answers)
        self.run_ids = sorted(answered["run_id"].unique().to_list())
        self.query_ids = set(answered["query_id"].unique().to_list())
        self._answered = set(answered.iter_rows())
        place = pl.DataFrame(
            {"run_id": self.run_ids, "run": np.arange(len(self.run_ids), dtype="int32")}
        )
        found = pl.concat(parts).join(place, on="run_id")
        found = found.sort("query", "run", "position")
        columns = [found[c].to_numpy() for c in ("run", "code", "position")]
        ends = np.searchsorted(found["query"].to_numpy(), np.arange(len(names) + 1))
        self._of = {
            name: tuple(c[ends[i] : ends[i + 1]] for c in columns)
            for i, name in enumerate(names)
        }

    def answered(self, query_ids: list[str]) -> np.ndarray:
        """Say which run has which query: bool `[runs, queries]`."""
        return np.array(
            [[(r, q) in self._answered for q in query_ids] for r in self.run_ids], bool
        ).reshape(len(self.run_ids), len(query_ids))

    def retrieved(self, query_id: str, doc_ids: np.ndarray) -> Retrieved:
        """Give the ranks of some judged documents of a query.

        Args:
            query_id: a judged query.
            doc_ids: the documents, ascending.
        """
        run, code, rank = self._of[query_id]
        judged = self._judged[query_id]
        vertex_of = np.full(len(judged), -1, np.int32)
        vertex_of[np.searchsorted(judged, doc_ids)] = np.arange(len(doc_ids))
        vertex = vertex_of[code]
        keep = vertex >= 0
        return Retrieved(run[keep], vertex[keep], rank[keep], len(doc_ids))


def _ranked(table: pl.DataFrame, order: str) -> pl.DataFrame:
    """Add the 0-based position of every row in its run and query."""
    by = {
        "trec": (["score", "doc_id"], [True, True]),
        "clarke": (["score", "doc_id"], [True, False]),
        "rank": (["rank"], [False]),
    }
    columns, falling = by[order]
    if order == "rank" or not _in_order(table, falling[1]):
        table = table.sort(
            [*_KEYS, *columns], descending=[False, False, *falling], nulls_last=True
        )
    if order == "rank":
        _check_ranks(table)
    start = table.select(
        (pl.struct(_KEYS) != pl.struct(_KEYS).shift()).fill_null(True)
    ).to_series()
    index = np.arange(len(table))
    first = np.where(start.to_numpy(), index, 0)
    position = (index - np.maximum.accumulate(first)).astype(np.int32)
    return table.with_columns(pl.Series("position", position))


def _in_order(table: pl.DataFrame, ids_fall: bool) -> bool:
    """Say whether rows stand run by run, query by query, best first."""
    same = (
        table.select((pl.struct(_KEYS) == pl.struct(_KEYS).shift()).fill_null(False))
        .to_series()
        .to_numpy()
    )
    if (~same).sum() != table.select(_KEYS).unique().height:
        return False
    score = table["score"].to_numpy()
    step = np.diff(score, prepend=np.inf)
    if (same & (step > 0)).any():
        return False
    tied = np.flatnonzero(same & (step == 0))
    doc = table["doc_id"]
    before, here = doc.gather(tied - 1), doc.gather(tied)
    return bool((before > here if ids_fall else before < here).all())


def _check_ranks(table: pl.DataFrame) -> None:
    """Refuse ranks that do not order a run; rows are sorted by run, query, rank."""
    mend = "Use --order trec or clarke (by score), or mend the rank column."
    rank = table["rank"].to_numpy()
    missing = np.isnan(rank)
    if missing.any():
        row = table.row(int(missing.argmax()), named=True)
        raise DataError(
            f"run {row['run_id']!r} has no usable rank for document "
            f"{row['doc_id']!r} of query {row['query_id']!r}",
            mend=mend,
        )
    twice = table.select(
        (pl.struct(*_KEYS, "rank") == pl.struct(*_KEYS, "rank").shift())
    ).to_series()
    twice = twice.fill_null(False).to_numpy()
    if twice.any():
        i = int(twice.argmax())
        a, b = table.row(i - 1, named=True), table.row(i, named=True)
        raise DataError(
            f"run {b['run_id']!r} gives {a['doc_id']!r} and {b['doc_id']!r} of query "
            f"{b['query_id']!r} the same rank {b['rank']:g}",
            mend=mend,
        )
