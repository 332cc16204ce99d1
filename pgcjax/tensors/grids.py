"""Image grids as arrays: the places where each system shows judged images."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgcjax.io.fast_columns import of_pandas
from pgcjax.kernels import ABSENT
from pgcjax.tensors.examination import Codes, cells, distances

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Placed:
    """The judged documents of one query in the grids of all systems, by an order.

    Attributes:
        first: Number of images of the grid that are strictly nearer than each document:
            its rank, without ties; `ABSENT` if the grid lacks it. int32 `[runs, n]`.
        place: Place of each document by distance, then in the order of reading;
            documents that the grid lacks follow by ascending id. int32 `[runs, n]`.
        row: Row of each document; 0 if the grid lacks it. int32 `[runs, n]`.
        column: Column of each document, likewise.
    """

    first: np.ndarray
    place: np.ndarray
    row: np.ndarray
    column: np.ndarray


class Shown:
    """The judged documents of queries in the grids of all systems.

    Attributes:
        run_ids: the systems, ascending.
    """

    def __init__(self, grids: "pd.DataFrame", docs: Mapping[str, np.ndarray]):
        """Find the documents.

        Args:
            grids: canonical.
            docs: the documents of each query, ascending.
        """
        self._docs, self._codes = docs, Codes.of(grids)
        self.run_ids = self._codes.run_ids
        self._cells = cells(grids, self._codes)
        self._vertex = _vertices(grids, docs)
        # Rows by query, and where each query begins.
        self._rows = np.argsort(self._codes.query, kind="stable")
        numbers = np.arange(len(self._codes.query_ids) + 1)
        self._ends = np.searchsorted(self._codes.query[self._rows], numbers)

    def placed(
        self, order: str = "default", *, shared: bool = False
    ) -> dict[str, Placed]:
        """Place the documents of each query in all grids.

        Args:
            order: Order of examination.
            shared: Give all systems the same places, by the least distance in any grid;
                ties by ascending run_id. The published numbers of Luo 2021 have one
                ideal ranking for both systems; the algorithms use the grid of one.

        Raises:
            UsageError: the order is unknown.
        """
        distance = distances(self._cells, order)
        run, index = self._codes.run, self._cells.index
        nearer = _strictly_nearer(self._codes.grid, distance)
        # From near to far; ties by system, then in the order of reading.
        visit = np.empty(len(run), np.int64)
        visit[np.lexsort((index, run, distance))] = np.arange(len(run))
        number = {query: i for i, query in enumerate(self._codes.query_ids)}
        return {
            query: self._place(number.get(query), doc_ids, nearer, visit, shared)
            for query, doc_ids in self._docs.items()
        }

    def _place(
        self,
        query: int | None,
        doc_ids: np.ndarray,
        nearer: np.ndarray,
        visit: np.ndarray,
        shared: bool,
    ) -> Placed:
        part = slice(0) if query is None else slice(*self._ends[query : query + 2])
        rows, shape = self._rows[part], (len(self.run_ids), len(doc_ids))
        rows = rows[self._vertex[rows] >= 0]
        at = self._codes.run[rows], self._vertex[rows]
        key = np.full(shape, ABSENT, np.int64)
        key[at] = visit[rows]
        if shared:
            key[:] = key.min(axis=0)
        key = np.where(key == ABSENT, ABSENT + np.arange(len(doc_ids)), key)
        first, row, column = np.zeros((3, *shape), np.int32)
        first[:] = ABSENT
        first[at] = nearer[rows]
        row[at], column[at] = self._cells.row[rows], self._cells.column[rows]
        place = np.argsort(np.argsort(key, axis=1), axis=1).astype(np.int32)
        return Placed(first, place, row, column)


def _vertices(grids: "pd.DataFrame", docs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find the vertex of each image among its query's documents, or -1."""
    import polars as pl

    sizes = [len(doc_ids) for doc_ids in docs.values()]
    judged = pl.DataFrame(
        {
            "query_id": np.repeat(np.array([*docs], object), sizes),
            "doc_id": np.concatenate([*docs.values(), np.array([], object)]),
            "vertex": np.concatenate([np.arange(n) for n in [*sizes, 0]]),
        },
        schema={"query_id": pl.String, "doc_id": pl.String, "vertex": pl.Int64},
    )
    shown = of_pandas(grids, ["query_id", "doc_id"]).cast(pl.String)
    joined = shown.join(
        judged, on=["query_id", "doc_id"], how="left", maintain_order="left"
    )
    return joined["vertex"].fill_null(-1).to_numpy()


def _strictly_nearer(grid: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Count, for each image, those of its grid that have a smaller distance."""
    import pandas as pd

    rank = pd.Series(distance).groupby(grid).rank(method="min")
    return rank.to_numpy().astype(np.int64) - 1


@dataclass(frozen=True)
class Pairs:
    """Majority votes on the pairs of a query's documents.

    Attributes:
        doc_ids: the documents that are in a judged pair, ascending.
        wins: `wins[u, v]`: u is preferred to v. bool `[n, n]`.
        judged: `judged[u, v]`: u and v were compared, ties too. bool `[n, n]`.
    """

    doc_ids: np.ndarray
    wins: np.ndarray
    judged: np.ndarray


def pairs(judgments: "pd.DataFrame") -> dict[str, Pairs]:
    """Lay out the judgments of each query, queries ascending.

    Args:
        judgments: Result of `tables.majority`: one judgment per pair.
    """
    out = {}
    for query, part in judgments.groupby("query_id", sort=True):
        left, right = (part[c].to_numpy(object) for c in ("doc_id", "other_doc_id"))
        doc_ids, vertex = np.unique(np.append(left, right), return_inverse=True)
        u, v = vertex.reshape(2, -1)
        sign = part["preference"].to_numpy()
        wins, judged = np.zeros((2, len(doc_ids), len(doc_ids)), bool)
        judged[u, v] = judged[v, u] = True
        wins[u, v], wins[v, u] = sign > 0, sign < 0
        out[str(query)] = Pairs(doc_ids, wins, judged)
    return out
