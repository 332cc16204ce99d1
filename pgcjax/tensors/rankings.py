"""Runs as ranks of judged documents."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.kernels import ABSENT

ORDERS = ("trec", "clarke", "rank")


class Rankings:
    """The rankings of many runs, in one order convention.

    Attributes:
        run_ids: the runs, ascending.
    """

    def __init__(self, runs: pd.DataFrame, order: str):
        """Rank the rows of every run and query.

        Args:
            runs: canonical runs.
            order: `trec` (score descending, then document id descending), `clarke`
                (score descending, then document id ascending) or `rank` (rank
                ascending).

        Raises:
            DataError: `order` is `rank`, and a rank is missing or is claimed twice.
        """
        run, run_ids = pd.factorize(runs["run_id"], sort=True)
        query, query_ids = pd.factorize(runs["query_id"], sort=True)
        self.run_ids = [str(r) for r in run_ids]
        if order == "rank":
            best_first = np.lexsort((runs["rank"].to_numpy(), query, run))
            _check_ranks(runs.iloc[best_first])
        else:
            tie = pd.factorize(runs["doc_id"], sort=True)[0]
            tie = -tie if order == "trec" else tie
            score = runs["score"].to_numpy()
            best_first = np.lexsort((tie, -score, query, run))
        run, query = run[best_first], query[best_first]
        start = np.flatnonzero(
            np.diff(run, prepend=-1).astype(bool) | np.diff(query, prepend=-1)
        )
        length = np.diff(np.append(start, len(run)))
        rank = np.arange(len(run)) - np.repeat(start, length)
        doc = runs["doc_id"].to_numpy(object)[best_first]
        self._of: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        by_query = np.argsort(query, kind="stable")
        ends = np.cumsum(np.bincount(query, minlength=len(query_ids)))[:-1]
        for name, rows in zip(query_ids, np.split(by_query, ends), strict=True):
            self._of[str(name)] = run[rows], doc[rows], rank[rows].astype(np.int32)

    @property
    def query_ids(self) -> set[str]:
        """Queries that any run answers."""
        return set(self._of)

    def retrieved(self, query_ids: Sequence[str]) -> np.ndarray:
        """Say which run has which query: bool `[runs, queries]`."""
        out = np.zeros((len(self.run_ids), len(query_ids)), bool)
        for q, query in enumerate(query_ids):
            if query in self._of:
                out[self._of[query][0], q] = True
        return out

    def ranks(self, query_id: str, doc_ids: np.ndarray) -> np.ndarray:
        """Give the 0-based ranks of documents, `ABSENT` if not retrieved.

        Args:
            query_id: the query.
            doc_ids: `[n]` distinct documents.

        Returns:
            int32 `[runs, n]`.
        """
        out = np.full((len(self.run_ids), len(doc_ids)), ABSENT, np.int32)
        if query_id in self._of and len(doc_ids):
            run, doc, rank = self._of[query_id]
            vertex = pd.Index(doc_ids).get_indexer(pd.Index(doc))
            known = vertex >= 0
            out[run[known], vertex[known]] = rank[known]
        return out

    def ranking(self, run_id: str, query_id: str) -> list[str]:
        """List the documents of one run and query, best first."""
        if query_id not in self._of:
            return []
        run, doc, rank = self._of[query_id]
        mine = run == self.run_ids.index(run_id)
        return [str(d) for d in doc[mine][np.argsort(rank[mine])]]


def _check_ranks(runs: pd.DataFrame) -> None:
    """Refuse ranks that do not order a run; rows are sorted by run, query, rank."""
    mend = "Use --order trec or clarke (by score), or mend the rank column."
    missing = runs["rank"].isna().to_numpy()
    if missing.any():
        row = runs.iloc[int(missing.argmax())]
        raise DataError(
            f"run {row.run_id!r} has no usable rank for document {row.doc_id!r} of "
            f"query {row.query_id!r}",
            mend=mend,
        )
    keys = runs[["run_id", "query_id", "rank"]]
    twice = keys.duplicated().to_numpy()
    if twice.any():
        i = int(twice.argmax())
        a, b = runs.iloc[i - 1], runs.iloc[i]
        raise DataError(
            f"run {b.run_id!r} gives {a.doc_id!r} and {b.doc_id!r} of query "
            f"{b.query_id!r} the same rank {b['rank']:g}",
            mend=mend,
        )
