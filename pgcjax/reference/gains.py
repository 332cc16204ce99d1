"""Gains of documents by their grades, and graded measures of one run and query.

A gain is a function of a grade above 0 and of the highest grade; a score is one of
`reference.graded`, of the gains of the run's documents and of all judged documents.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pgcjax.reference import case as rows
from pgcjax.reference import graded
from pgcjax.reference.case import Case

Parameters = Mapping[str, Any]
Gain = Callable[[float, float], float]
Score = Callable[[list[float], list[float]], float]


def utility(
    grade: float, highest: float, *, gain: str = "binary", rel: float = 1.0
) -> float:
    """Map a grade to a gain from 0 to 1 [Moffat and Zobel 2008]."""
    if gain == "binary":
        return float(grade >= rel)
    return graded.gain(grade, gain) / graded.gain(highest, gain)


def highest_grade(q: Parameters, of_query: Collection[float], of_all: float) -> float:
    """Return the grade gmax: the highest of all queries, or of one, or a given one."""
    gmax = q.get("gmax", "collection")
    if gmax == "topic":
        return max([0.0, *of_query])
    return of_all if gmax == "collection" else float(gmax)


def gains_of(
    gain: Gain, grades: Mapping[str, float], q: Parameters, of_all: float
) -> dict[str, float]:
    """Return the gain of each document; 0 for grades up to 0.

    `gain` maps grades above 0; `of_all` is the highest grade of all queries.
    """
    most = highest_grade(q, grades.values(), of_all)
    return {d: gain(g, most) if g > 0 else 0.0 for d, g in grades.items()}


def of_qrels(gain: Gain, score: Score, case: Case) -> float:
    """Score a run by the grades of documents."""
    q, most = case.parameters, rows.highest(case, "qrels")
    gains = gains_of(gain, rows.grades(case), q, most)
    return score([gains.get(doc, 0.0) for doc in case.run], [*gains.values()])


def judged(case: Case) -> list[bool]:
    """Return whether each document of a run has a grade of any value."""
    grades = rows.grades(case)
    return [doc in grades for doc in case.run]
