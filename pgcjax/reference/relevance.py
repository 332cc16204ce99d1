"""Measures of the ranks of relevant documents, in plain Python.

`run` holds the gains of a run's documents, best first, above 0 if relevant; `pool` has
those of all judged documents. Functions that distinguish judged documents take the
run's documents, `docs`, and `grades`, below 0 for documents that were only pooled.
"""

from collections.abc import Mapping
from math import log, log2


def relevant_ranks(run: list[float], k: int | None = None) -> list[int]:
    """List the ranks of relevant documents, from 1."""
    return [rank for rank, gain in enumerate(run[:k], start=1) if gain > 0]


def interpolated_precision(
    run: list[float], pool: list[float], level: float, rounding: str = "up"
) -> float:
    """Return the best precision at or beyond a level of recall.

    trec_eval up to version 9 adds 0.9 to the number of documents, and rounds down.
    """
    wanted = level * sum(gain > 0 for gain in pool)
    least = max(1, int(wanted + {"up": 0.9, "nearest": 0.5}[rounding]))
    beyond = list(enumerate(relevant_ranks(run), start=1))[least - 1 :]
    return max((number / rank for number, rank in beyond), default=0.0)


def eleven_points(run: list[float], pool: list[float], rounding: str = "up") -> float:
    """Average interpolated precision over eleven levels of recall."""
    levels = [tenth / 10 for tenth in range(11)]
    return sum(interpolated_precision(run, pool, x, rounding) for x in levels) / 11


def r_precision(run: list[float], pool: list[float], multiple: float) -> float:
    """Return precision at a multiple of the number of relevant documents."""
    last = int(multiple * len(relevant_ranks(pool)) + 0.9)
    return len(relevant_ranks(run, last)) / last if last else 0.0


def bin_g(run: list[float], pool: list[float]) -> float:
    """Discount relevant documents by the number of others above them [trec_eval]."""
    score, others = 0.0, 0
    for gain in run:
        if gain > 0:
            score += 1 / log2(2 + others)
        else:
            others += 1
    return score / len(relevant_ranks(pool)) if score else 0.0


def yaap(run: list[float], pool: list[float]) -> float:
    """Take the logarithm of the odds of average precision [Robertson 2012]."""
    ranks = enumerate(relevant_ranks(run), start=1)
    total = sum(number / rank for number, rank in ranks)
    return log((1 + total) / (1 + len(relevant_ranks(pool)) - total))


def set_f(run: list[float], pool: list[float], beta: float) -> float:
    """Compute the harmonic mean of a set's precision and recall; beta weighs recall."""
    hits, count = len(relevant_ranks(run)), len(relevant_ranks(pool))
    if not hits:
        return 0.0
    precision, recall = hits / len(run), hits / count
    return (1 + beta) * precision * recall / (beta * precision + recall)


def set_ap(run: list[float], pool: list[float]) -> float:
    """Multiply precision and recall of a set."""
    hits = len(relevant_ranks(run))
    return hits / len(run) * hits / len(relevant_ranks(pool)) if hits else 0.0


def relative(run: list[float], pool: list[float], k: int | None) -> float:
    """Divide precision by the highest possible precision."""
    most = min(k or len(run), len(relevant_ranks(pool)))
    return len(relevant_ranks(run, k)) / most if most else 0.0


def utility(run: list[float], pool: list[float], q: Mapping[str, float]) -> float:
    """Add up the worths of documents: each depends on relevance and retrieval."""
    hits, count = len(relevant_ranks(run)), len(relevant_ranks(pool))
    table = {
        "a": hits,
        "b": len(run) - hits,
        "c": count - hits,
        "d": q["docs"] - len(run) - count + hits,
    }
    return sum(q[name] * number for name, number in table.items())


def accuracy(run: list[float], k: int | None) -> float:
    """Return the share of pairs with one relevant document that are in order."""
    top = [gain > 0 for gain in run[:k]]
    pairs = [
        first > second
        for i, first in enumerate(top)
        for second in top[i + 1 :]
        if first != second
    ]
    return sum(pairs) / len(pairs) if pairs else float(any(top))


def bpref(docs: list[str], grades: Mapping[str, float], rel: float) -> float:
    """Average the share of nonrelevant ones below relevant [Buckley, Voorhees 2004]."""
    count = sum(grade >= rel for grade in grades.values())
    others = sum(0 <= grade < rel for grade in grades.values())
    score, before = 0.0, 0
    for grade in [grades[doc] for doc in docs if doc in grades]:
        if grade >= rel:
            score += 1 - min(before, count) / min(others, count) if before else 1
        else:
            before += grade >= 0
    return score / count if count else 0.0


def inferred_ap(docs: list[str], grades: Mapping[str, float], rel: float) -> float:
    """Expect precision at relevant documents [Yilmaz and Aslam 2006, trec_eval]."""
    count, epsilon = sum(grade >= rel for grade in grades.values()), 1e-5
    score = 0.0
    for rank, doc in enumerate(docs, start=1):
        if grades.get(doc, -1) < rel:
            continue
        above = [grades[other] for other in docs[: rank - 1] if other in grades]
        relevant = sum(grade >= rel for grade in above)
        judged = sum(grade >= 0 for grade in above)
        share = (relevant + epsilon) / (judged + 2 * epsilon)
        score += 1 / rank + len(above) / rank * share
    return score / count if count else 0.0


def judged_others(docs: list[str], grades: Mapping[str, float], rel: float) -> float:
    """Count the documents of a run that were judged and are not relevant."""
    return float(sum(0 <= grades.get(doc, -1) < rel for doc in docs))
