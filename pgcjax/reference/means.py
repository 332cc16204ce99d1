"""Means over queries, in plain Python: scores of a run in, a number out."""

from collections.abc import Iterable, Mapping
from math import exp, fsum, log, sqrt
from typing import Any

from scipy.special import stdtrit

_NO_QUERIES = {
    "intents",
    "context",
    "grids",
    "levels",
}  # kinds that make no query judged


def judged_queries(tables: Mapping[str, Any], kinds: Iterable[str]) -> set[str]:
    """List the queries that have a row in any table of these kinds of judgments."""
    columns = (tables[kind]["query_id"] for kind in set(kinds) - _NO_QUERIES)
    return {str(query) for column in columns for query in column.unique()}


def mean(scores: list[float], kind: str) -> float:
    """Aggregate the scores of queries to one number: a mean, or a sum.

    The geometric mean raises scores to at least 0.00001, as trec_eval's gm_map does.
    """
    if kind == "sum":
        return fsum(scores)
    if kind == "geometric":
        return exp(fsum(log(max(score, 0.00001)) for score in scores) / len(scores))
    return fsum(scores) / len(scores)


def interval(scores: list[float], kind: str) -> tuple[float, float]:
    """Compute Student's 95 % interval over queries for the result of `mean`.

    For a geometric mean it is computed from logarithms; for a sum, it is n times the
    mean's. With one score, both ends are the mean.
    """
    n = len(scores)
    if kind == "geometric":
        scores = [log(max(score, 0.00001)) for score in scores]
    centre = fsum(scores) / n
    spread = fsum((score - centre) ** 2 for score in scores) / max(n - 1, 1)
    half = float(stdtrit(max(n - 1, 1), 0.975)) * sqrt(spread / n)
    ends = centre - half, centre + half
    if kind == "geometric":
        return exp(ends[0]), exp(ends[1])
    return (ends[0] * n, ends[1] * n) if kind == "sum" else ends
