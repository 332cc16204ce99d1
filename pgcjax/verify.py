"""Scores recomputed from the tables by the plain twins in `reference/`."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError, VerificationError
from pgcjax.measures.spec import Measure
from pgcjax.reference.compatibility import compat
from pgcjax.reference.order import ordered
from pgcjax.reference.pgc import derived_edges, greedy_pgc

TOLERANCE = 1e-12
"""Largest difference between a score and its twin: float64 sums of 1000 terms."""


def verify(
    table: pd.DataFrame,
    measures: Sequence[Measure],
    tables: Mapping[str, pd.DataFrame],
    runs: pd.DataFrame,
    order: str,
    share: float,
    seed: int = 0,
) -> int:
    """Recompute a random share of scores with the twins.

    Args:
        table: scores: run_id, query_id, measure, value.
        measures: the measures in `table`.
        tables: canonical judgments: `preferences`, `qrels`, or both.
        runs: canonical runs.
        order: order convention of the runs.
        share: of the scores to recompute, 0 < share <= 1; at least one is.
        seed: of the choice.

    Returns:
        How many scores were recomputed.

    Raises:
        VerificationError: a score differs from its twin.
    """
    if not 0 < share <= 1:
        raise UsageError(f"verify={share}: expected a share above 0, at most 1")
    count = math.ceil(share * len(table))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[:count])
    by_name = {str(m): m for m in measures}
    rows_of = {
        name: t.groupby("query_id").indices
        for name, t in (*tables.items(), ("runs", runs))
    }
    for query_id, cells in table.iloc[chosen].groupby("query_id", sort=True):

        def of_query(name: str, source: pd.DataFrame, query=query_id) -> pd.DataFrame:
            return source.iloc[rows_of[name].get(query, [])]

        judged = {name: of_query(name, t) for name, t in tables.items()}
        answers = of_query("runs", runs)
        columns = (cells[c].tolist() for c in ("run_id", "measure", "value"))
        for run_id, name, value in zip(*columns, strict=True):
            mine = answers[answers["run_id"] == run_id]
            rows = list(zip(mine.doc_id, mine.score, mine["rank"], strict=True))
            twin = twin_score(by_name[name], judged, ordered(rows, order))
            if not abs(twin - value) <= TOLERANCE:
                raise VerificationError(
                    f"run {run_id!r}, query {query_id!r}: {name} is {value!r}, its "
                    f"reference {twin!r}. This is a defect of pgcjax: please report "
                    "it with the data"
                )
    return count


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
