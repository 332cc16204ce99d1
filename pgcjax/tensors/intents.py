"""Grades per intent and probabilities of intents, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from pgcjax.io.intents import NAV
from pgcjax.later import pd

_WHOLE = 2**30  # weights up to it times gains of 20 bits add up exactly in float64


@dataclass(frozen=True)
class IntentGrades:
    """The grades of documents that are relevant to any intent, for all queries.

    Attributes:
        docs: Documents of each query, ascending; queries ascending.
        intents: the intents of each query that have a relevant document, in the order
            of `sorted_intents`.
        relevance: float64 `[intents, documents]` of each query; 0 if not relevant.
        highest: the highest grade of all, at least 0.
    """

    docs: dict[str, np.ndarray]
    intents: dict[str, list[str]]
    relevance: dict[str, np.ndarray]
    highest: float


def intent_grades(qrels: pd.DataFrame) -> IntentGrades:
    """Cut judgments per intent into queries; grades of 0 and less are not relevant.

    Intents without a relevant document are left out: no run can serve them.
    """
    names = sorted(set(qrels["query_id"].tolist()))
    highest = float(qrels["relevance"].max()) if len(qrels) else 0.0
    relevant = qrels[qrels["relevance"] > 0]
    rows = relevant.groupby("query_id", sort=False).indices
    columns = [relevant[c].to_numpy(object) for c in ("doc_id", "intent_id")]
    grade = relevant["relevance"].to_numpy(np.float64)
    out = IntentGrades({}, {}, {}, max(0.0, highest))
    for name in names:
        of_query = np.asarray(rows.get(name, []), np.int64)
        doc, intent = (column[of_query] for column in columns)
        docs, intents = sorted(set(doc)), sorted_intents(set(intent))
        place = {value: i for i, value in enumerate(docs)}
        row = {value: i for i, value in enumerate(intents)}
        relevance = np.zeros((len(intents), len(docs)))
        relevance[[row[i] for i in intent], [place[d] for d in doc]] = grade[of_query]
        out.docs[name], out.intents[name] = np.array(docs, object), intents
        out.relevance[name] = relevance
    return out


def sorted_intents(intents: Any) -> list[str]:
    """Sort ids: whole numbers by value, then all others as text."""

    def key(intent: str) -> tuple[bool, int, str, str]:
        if not (intent.isascii() and intent.isdecimal()):
            return True, 0, intent, intent
        digits = intent.lstrip("0")
        return False, len(digits), digits, intent

    return sorted(intents, key=key)


def intent_weights(
    grades: IntentGrades, weighting: str, intents: pd.DataFrame | None = None
) -> dict[str, np.ndarray]:
    """Compute how likely the intents of each query are.

    Args:
        grades: Grades, whose intents count.
        weighting: `given` (by the table; uniform without one), `uniform`, or
            `decreasing`: intent j of n has 2^(n-j+1), divided by the sum; both count
            only intents with a relevant document, as in Sakai 2012, table 1.
        intents: canonical table of all intents.

    Returns:
        Weights, float64 `[intents]` for each query. Probabilities are the weights
        divided by their sum, so intents without a relevant document leave theirs to the
        others. If probabilities are ratios of small whole numbers, weights are these
        numbers, and sums of weighted grades are exact.
    """
    if weighting == "given" and intents is not None:
        keys = intents[["query_id", "intent_id"]].itertuples(index=False, name=None)
        probability = dict(zip(keys, intents["probability"].tolist(), strict=True))
        return {
            query: _whole([probability[query, i] for i in ids])
            for query, ids in grades.intents.items()
        }
    weights = {query: np.ones(len(ids)) for query, ids in grades.intents.items()}
    if weighting == "decreasing":
        for query, ones in weights.items():
            weights[query] = np.exp2(np.arange(len(ones))[::-1].astype(np.float64))
    return weights


def navigational(grades: IntentGrades, intents: pd.DataFrame) -> dict[str, np.ndarray]:
    """Find which intents are navigational: bool `[intents]` for each query."""
    rows = intents.loc[intents["kind"] == NAV, ["query_id", "intent_id"]]
    navigational = set(rows.itertuples(index=False, name=None))
    return {
        query: np.array([(query, i) in navigational for i in ids], bool)
        for query, ids in grades.intents.items()
    }


def greedy_gains(
    hit: np.ndarray, fade: np.ndarray, depth: int | None = None
) -> list[float]:
    """Return the novelty-biased gains of the ideal list, by rank.

    The ideal list is greedy: the next document is the one with the largest gain after
    those above it; among equals, the last by id, as in ndeval.

    Args:
        hit: bool `[intents, documents]`, documents ascending by id.
        fade: `(1 - alpha)^c` for c = 0, 1, … documents.
        depth: number of ranks; None for all.
    """
    if not hit.size:
        return []
    kinds, which = np.unique(hit.T, axis=0, return_inverse=True)
    left = [np.flatnonzero(which.ravel() == i).tolist() for i in range(len(kinds))]
    served = np.zeros(len(hit), np.int64)
    gains = []
    for _ in range(min(hit.shape[1], depth or hit.shape[1])):
        # Terms are added from the least up, so sums of equal terms are equal.
        worth = np.sort(np.where(kinds, fade[served], 0.0), axis=1)
        worth = np.add.accumulate(worth, axis=1)[:, -1].tolist()
        last = [docs[-1] if docs else -1 for docs in left]
        best = max(range(len(kinds)), key=lambda i: (last[i] >= 0, worth[i], last[i]))
        gains.append(worth[best])
        left[best].pop()
        served += kinds[best]
    return gains


def _whole(probabilities: Sequence[float]) -> np.ndarray:
    """Return small whole numbers with the ratios of probabilities, if there are."""
    ratios = [Fraction(p).limit_denominator(10**6) for p in probabilities]
    if [float(r) for r in ratios] == [*probabilities]:
        scale = lcm(*(r.denominator for r in ratios))
        whole = [int(r * scale) for r in ratios]
        common = gcd(*whole) or 1
        if max(whole, default=0) // common <= _WHOLE:
            return np.array([w // common for w in whole], np.float64)
    return np.array(probabilities, np.float64)
