"""Runs as ranks of judged documents: all that scoring needs of them."""

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.tensors.retrieved import Retrieved

ORDERS = ("trec", "clarke", "rank")
_KEYS = ["run_id", "query_id"]
_ROWS = 200_000  # that are looked up at once: of small files, several


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
        self._judged = dict(judged)
        self._query = {name: i for i, name in enumerate(judged)}
        self.query_ids: set[str] = set()
        known = _known(list(judged.values()))
        number: dict[str, int] = {}  # runs by first appearance
        has: list[np.ndarray] = []  # which judged queries each has
        ranked, found = [], []
        for table in tables:
            doc_id, position, groups, lengths = _ranked(table, order)
            code = np.full((2, len(groups)), -1, np.int32)
            for i, (run, query) in enumerate(groups):
                if run not in number:
                    number[run] = len(has)
                    has.append(np.zeros(len(judged), bool))
                if query in self._query:
                    code[:, i] = number[run], self._query[query]
                    has[number[run]][self._query[query]] = True
                self.query_ids.add(query)
            run, query = np.repeat(code, lengths, axis=1)
            ranked.append(
                pl.DataFrame(
                    {"doc_id": doc_id, "position": position, "run": run, "query": query}
                )
            )
            if sum(map(len, ranked)) > _ROWS:
                found.append(_judged_rows(ranked, known))
                ranked = []
        if ranked:
            found.append(_judged_rows(ranked, known))
        self.run_ids = sorted(number)
        self._has = np.array([has[number[run]] for run in self.run_ids])
        kept = pl.concat(found)
        place = np.argsort(np.argsort(np.array(list(number), object)))
        kept = kept.with_columns(pl.Series("run", place[kept["run"].to_numpy()]))
        kept = kept.sort("query", "run", "position")
        columns = [kept[c].to_numpy() for c in ("run", "vertex", "position")]
        ends = np.searchsorted(kept["query"].to_numpy(), np.arange(len(judged) + 1))
        self._of = {
            name: tuple(c[ends[i] : ends[i + 1]] for c in columns)
            for name, i in self._query.items()
        }

    def answered(self, query_ids: list[str]) -> np.ndarray:
        """Say which run has which judged query: bool `[runs, queries]`."""
        return self._has[:, [self._query[query] for query in query_ids]]

    def retrieved(self, query_id: str, doc_ids: np.ndarray) -> Retrieved:
        """Give the ranks of some judged documents of a query.

        Args:
            query_id: a judged query.
            doc_ids: the documents, ascending.
        """
        run, code, rank = self._of[query_id]
        judged = self._judged[query_id]
        if len(doc_ids) == len(judged):
            return Retrieved(run, code, rank, len(doc_ids), len(self.run_ids))
        vertex_of = np.full(len(judged), -1, np.int32)
        vertex_of[np.searchsorted(judged, doc_ids)] = np.arange(len(doc_ids))
        vertex = vertex_of[code]
        keep = vertex >= 0
        found = run[keep], vertex[keep], rank[keep]
        return Retrieved(*found, len(doc_ids), len(self.run_ids))


def _known(docs: list[np.ndarray]) -> pl.DataFrame:
    """Number the judged documents of each query: query, doc_id, vertex."""
    counts = [len(d) for d in docs]
    start = np.cumsum([0, *counts])[:-1]
    return pl.DataFrame(
        {
            "query": np.repeat(np.arange(len(docs), dtype=np.int32), counts),
            "doc_id": [doc for each in docs for doc in each.tolist()],
            "vertex": np.arange(sum(counts)) - np.repeat(start, counts),
        },
        schema_overrides={"doc_id": pl.String, "vertex": pl.Int32},
    )


def _judged_rows(ranked: list[pl.DataFrame], known: pl.DataFrame) -> pl.DataFrame:
    """Keep the judged documents: run, query, vertex, position."""
    rows = pl.concat(ranked).lazy().filter(pl.col("query") >= 0)
    rows = rows.join(known.lazy(), on=["query", "doc_id"])
    return rows.select("run", "query", "vertex", "position").collect()


def _ranked(
    table: pl.DataFrame, order: str
) -> tuple[pl.Series, np.ndarray, list[tuple[str, str]], np.ndarray]:
    """Find the 0-based position of every row in its run and query.

    Returns:
        Documents and positions, those of a run and query together; the runs and
        queries, and how many documents each has.
    """
    by = {
        "trec": (["score", "doc_id"], [True, True]),
        "clarke": (["score", "doc_id"], [True, False]),
        "rank": (["rank"], [False]),
    }
    columns, falling = by[order]
    start, groups = _groups(table)
    step = np.diff(table["score"].to_numpy(), prepend=np.inf)
    # Most files stand query by query, best first, but for the order of ties.
    ordered = len(set(groups)) == len(groups) and not ((step > 0) & ~start).any()
    if order == "rank" or not ordered:
        table = table.sort(
            [*_KEYS, *columns], descending=[False, False, *falling], nulls_last=True
        )
        start, groups = _groups(table)
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


def _groups(table: pl.DataFrame) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Say which rows begin another run or query than the row before, and which."""
    differs = [pl.col(key) != pl.col(key).shift() for key in _KEYS]
    start = table.select(pl.any_horizontal(differs).fill_null(True))
    start = start.to_series().to_numpy()
    first = np.flatnonzero(start)
    runs, queries = (table[key].gather(first).to_list() for key in _KEYS)
    return start, list(zip(runs, queries, strict=True))


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
        pl.struct(*_KEYS, "rank") == pl.struct(*_KEYS, "rank").shift()
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
