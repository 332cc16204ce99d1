"""Scores recomputed from the tables by the plain twins in `reference/`."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from zlib import crc32

import pandas as pd
import polars as pl

from pgcjax.errors import UsageError, VerificationError
from pgcjax.measures.spec import Measure
from pgcjax.reference.compatibility import compat
from pgcjax.reference.order import ordered
from pgcjax.reference.pgc import derived_edges, greedy_pgc

TOLERANCE = 1e-12
"""Largest difference between a score and its twin: float64 sums of 1000 terms."""


class Sample:
    """Rankings that are kept, as runs pass by, to be scored by the twins.

    A share of the pairs of run and judged query is chosen by a hash of their names, so
    that the choice does not depend on files or their order. If it chooses none, the
    pair of the least hash is kept: something is always recomputed.
    """

    def __init__(self, share: float):
        """Choose a share of rankings; 0 chooses none.

        Raises:
            UsageError: the share is not in 0..1.
        """
        if not 0 <= share <= 1:
            raise UsageError(f"verify={share}: expected a share from 0 to 1")
        self._share = share
        self._rows: dict[tuple[str, str], list[tuple[str, float, float]]] = {}

    def watch(
        self, tables: Iterable[pl.DataFrame], judged: Container[str]
    ) -> Iterator[pl.DataFrame]:
        """Pass run tables on, and keep the chosen rankings of judged queries."""
        bound, least = self._share * 2**32, 2**32
        for table in tables:
            groups = table.group_by(["run_id", "query_id"]) if self._share else ()
            for key, rows in groups:
                run, query = map(str, key)
                hashed = crc32(f"{run}\t{query}".encode())
                if query not in judged or hashed >= max(bound, least):
                    continue
                if least >= bound:  # what was kept, if anything, was a makeshift
                    self._rows.clear()
                least = min(least, hashed)
                answers = rows.select("doc_id", "score", "rank").rows()
                self._rows[run, query] = answers
            yield table

    def verify(
        self,
        table: pd.DataFrame,
        measures: Sequence[Measure],
        tables: Mapping[str, pd.DataFrame],
        order: str,
    ) -> int:
        """Recompute the scores of the chosen rankings.

        Args:
            table: scores: run_id, query_id, measure, value.
            measures: the measures in `table`.
            tables: canonical judgments: `preferences`, `qrels`, or both.
            order: order convention of the runs.

        Returns:
            How many scores were recomputed.

        Raises:
            VerificationError: a score differs from its twin.
        """
        by_name = {str(m): m for m in measures}
        rows_of = {n: t.groupby("query_id").indices for n, t in tables.items()}
        index = pd.MultiIndex.from_frame(table[["run_id", "query_id"]])
        cells = table[index.isin(list(self._rows))]
        columns = (
            cells[c].tolist() for c in ("run_id", "query_id", "measure", "value")
        )
        for run_id, query_id, name, value in zip(*columns, strict=True):
            judged = {
                n: t.iloc[rows_of[n].get(query_id, [])] for n, t in tables.items()
            }
            run = ordered(self._rows[run_id, query_id], order)
            twin = twin_score(by_name[name], judged, run)
            if not abs(twin - value) <= TOLERANCE:
                raise VerificationError(
                    f"run {run_id!r}, query {query_id!r}: {name} is {value!r}, its "
                    f"reference {twin!r}. This is a defect of pgcjax: please report "
                    "it with the data"
                )
        return len(cells)


def twin_score(
    measure: Measure, judged: Mapping[str, pd.DataFrame], run: list[str]
) -> float:
    """Score one run and query with the plain twin of a measure.

    Args:
        measure: the measure.
        judged: canonical judgments of this query.
        run: retrieved documents, best first.
    """
    q = measure.parameters
    grades, edges = {}, []
    if "qrels" in judged:
        rows = judged["qrels"]
        grades = dict(zip(rows.doc_id, rows.relevance, strict=True))
    if measure.name == "Compat":
        return compat(grades, run, q["p"], q["depth"], q["normalize"])
    if q["graph"] != "derived":
        for row in judged["preferences"].to_dict("records"):
            pair = (row["doc_id"], row["other_doc_id"])
            if row["preference"] and not pd.isna(pair[1]):
                pair = pair if row["preference"] > 0 else pair[::-1]
                edges += [pair] * int(row.get("weight", 1))
    if q["graph"] == "real":
        grades = {}
    edges += derived_edges(grades)
    return greedy_pgc(edges, run, q["p"], q["depth"], q["normalization"], tuple(grades))
