"""Graded measures, in plain Python: lists of gains in, a score out."""

from math import log2


def dcg(gains: list[float], k: int | None) -> float:
    """Discount gains by rank and add them up [Järvelin and Kekäläinen 2002]."""
    return sum(g / log2(1 + r) for r, g in enumerate(gains[:k], start=1))


def ndcg(run: list[float], pool: list[float], k: int | None) -> float:
    """Divide the run's DCG by that of the best list of all judged documents."""
    best = dcg(sorted(pool, reverse=True), k)
    return dcg(run, k) / best if best else 0.0
