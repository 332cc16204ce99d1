"""Preferences between two rankings by relevant documents, in plain Python.

A preference is above 0 if the first ranking is preferred, below 0 if the second is, and
0 for a tie.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, log2

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.intents import probability

Groups = list[set[str]]
"""Targets to find: a set for each document; or for each intent the set of its
documents, of which the first retrieved one counts."""
Preference = Callable[[list[float], list[float]], float]


def found(run: Sequence[str], groups: Groups) -> list[float]:
    """List the ranks, from 1, at which one, two, … of the groups have been found."""
    rank = {doc: i for i, doc in enumerate(run, 1)}
    return sorted(min(rank.get(doc, inf) for doc in group) for group in groups)


def rpp(x: list[float], y: list[float], weight: str = "uniform") -> float:
    """Compare by recall-paired preference: which finds the i-th sooner, weighted.

    Source: Diaz and Ferraro 2022.
    """
    weigh = {
        "uniform": lambda i: 1.0,
        "inverse": lambda i: 1 / i,
        "dcg": lambda i: 1 / log2(i + 1),
    }[weight]
    weights = [weigh(i) for i in range(1, len(x) + 1)]
    ahead = [(a < b) - (b < a) for a, b in zip(x, y, strict=True)]
    return sum(w * s for w, s in zip(weights, ahead, strict=True)) / sum(weights)


def lexiprecision(x: list[float], y: list[float]) -> float:
    """Prefer the ranking that is ahead where the two first differ [Diaz 2023]."""
    for a, b in zip(x, y, strict=True):
        if a != b:
            return 1.0 if a < b else -1.0
    return 0.0


def rrlexiprecision(x: list[float], y: list[float]) -> float:
    """Subtract reciprocal ranks where the two first differ [Diaz 2023]."""
    for a, b in zip(x, y, strict=True):
        if a != b:
            return 1 / a - 1 / b
    return 0.0


def lexirecall(x: list[float], y: list[float]) -> float:
    """Prefer the ranking that finds more, or else is ahead where they last differ.

    Source: Diaz, Ekstrand and Mitra 2025.
    """
    more = sum(a < inf for a in x) - sum(b < inf for b in y)
    if more:
        return 1.0 if more > 0 else -1.0
    return lexiprecision(x[::-1], y[::-1])


def documents(grades: Mapping[str, float], rel: float) -> Iterator[Groups]:
    """Yield the documents of grade `rel` or more; with `rel` 0, for each grade."""
    for level in [rel] if rel else sorted({g for g in grades.values() if g > 0}):
        yield [{doc} for doc, grade in grades.items() if grade >= level]


def covered(grades: Mapping[str, Mapping[str, float]], rel: float) -> Iterator[Groups]:
    """Yield the documents, likewise, of each intent that has any."""
    every = sorted({g for of in grades.values() for g in of.values() if g > 0})
    for level in [rel] if rel else every:
        groups = ({d for d, g in of.items() if g >= level} for of in grades.values())
        yield [docs for docs in groups if docs]


def over_levels(
    prefer: Preference, runs: tuple[list[str], list[str]], levels: Iterator[Groups]
) -> float | None:
    """Average over grades, each weighted by its number of targets."""
    total = count = 0.0
    for groups in levels:
        if groups:
            x, y = (found(run, groups) for run in runs)
            total += len(groups) * prefer(x, y)
            count += len(groups)
    return total / count if count else None


def preference(prefer: Preference, a: Case, b: Case) -> float | None:
    """Compare two runs of one query as the parameters say; None without targets.

    The mean excludes intents without a document of a grade that counts.
    """
    rel, subtopics, runs = (
        a.parameters["rel"],
        a.parameters["subtopics"],
        (a.run, b.run),
    )
    if subtopics == "none":
        return over_levels(prefer, runs, documents(rows.grades(a), rel))
    grades = rows.grades_by_intent(a)
    if subtopics == "covered":
        return over_levels(prefer, runs, covered(grades, rel))
    likely = probability(a)
    each = {i: over_levels(prefer, runs, documents(g, rel)) for i, g in grades.items()}
    there = {i: value for i, value in each.items() if value is not None}
    weight = sum(float(likely[i]) for i in there)
    total = sum(float(likely[i]) * value for i, value in there.items())
    return total / weight if there else None
