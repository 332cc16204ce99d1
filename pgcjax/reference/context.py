"""Conditional grades, in plain Python [Golbus et al. 2014]."""

from collections.abc import Mapping
from math import log2

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.gains import Gain, Score, highest_grade

Pair = tuple[str, str]


def interpolated(
    run: list[str],
    isolation: Mapping[str, float],
    conditional: Mapping[Pair, float],
    alpha: float,
    missing: str = "isolation",
    predicted: Mapping[tuple[float, float], float] | None = None,
) -> list[float]:
    """Return the grade u of each document of a run, by Eq. 1.

    Args:
        run: Documents, best first.
        isolation: g(d) of each judged document.
        conditional: g(d|d') of each judged (d, d').
        alpha: Weight of conditional grades.
        missing: Substitute for an unjudged g(d|d'): g(d) (`isolation`); `predicted`; or
            g(d|d_1) for the run's first document d_1, if judged (`first`).
        predicted: Predicted g(d|d') by (g(d'), g(d)).
    """
    grades = []
    for i, doc in enumerate(run):
        alone = max(isolation.get(doc, 0.0), 0.0)
        after = alone  # g(d_1|d_0) = g(d_1)
        if i > 0:
            before = run[i - 1]
            if (doc, before) in conditional:
                after = max(conditional[doc, before], 0.0)
            elif missing == "first" and (doc, run[0]) in conditional:
                after = max(conditional[doc, run[0]], 0.0)
            elif missing == "predicted" and doc in isolation and before in isolation:
                assert predicted is not None
                after = predicted[max(isolation[before], 0.0), alone]
        grades.append((1 - alpha) * alone + alpha * after)
    return grades


def ccg(grades: list[float], k: int) -> float:
    """Contextual cumulative gain by Eq. 6, with g(d_j|d_{j-1}) as the inner grade."""
    return sum(sum(grades[:i]) / log2(i + 1) for i in range(1, k + 1))


def ccg_single(grades: list[float], k: int) -> float:
    """Contextual cumulative gain by Eq. 7, which the paper equates with Eq. 6."""
    return sum((k - i + 1) * u / log2(i + 1) for i, u in enumerate(grades[:k], start=1))


def in_context(
    gain: Gain,
    score: Score,
    case: Case,
    predicted: Mapping[tuple[float, float], float] | None = None,
) -> float:
    """Score a run by grades that depend on the document before.

    `predicted` is g(d|d') by (g(d'), g(d)), from the model that the kernel uses, too.
    """
    q, isolation = case.parameters, rows.grades(case)
    after: dict[Pair, float] = {}
    for row in case.judged["context"]:
        after[row["doc_id"], row["previous_doc_id"]] = row["relevance"]
    alpha, missing, predicted = q["context"], q["missing"], predicted or {}
    grades = interpolated(case.run, isolation, after, alpha, missing, predicted)
    alone = [max(grade, 0.0) for grade in isolation.values()]
    guessed = [predicted[a, b] for a in {*alone} for b in {*alone} if predicted]
    most = max([rows.highest(case, "qrels", "context"), *predicted.values()])
    most = highest_grade(q, [*alone, *after.values(), *guessed], most)
    run, pool = (
        [gain(u, most) if u > 0 else 0.0 for u in us] for us in (grades, alone)
    )
    return score(run, pool)
