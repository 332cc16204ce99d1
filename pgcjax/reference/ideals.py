"""Ideal rankings of PGC by strengths of documents, in plain Python."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from math import log

import numpy as np

from pgcjax.reference.case import Case
from pgcjax.reference.exact_pgc import exact_pgc_of
from pgcjax.reference.pgc import judged, pgc_of
from pgcjax.reference.rbo import rbo

Votes = Mapping[tuple[str, str], float]
"""Number of times that one document was preferred to another."""

Strengths = dict[str, float]

EQUAL = 2e-9
"""Largest difference of adjacent strengths within one level."""


def copeland(votes: Votes) -> Strengths:
    """Count the documents that each one beats by most votes, less those that beat it.

    Source: Copeland 1951.
    """
    scores = defaultdict[str, float](float)
    for a, b in votes:
        beats = votes[a, b] > votes.get((b, a), 0)
        scores[a] += beats
        scores[b] -= beats
    return scores


def borda(votes: Votes) -> Strengths:
    """Return the share of its votes that each document wins."""
    won, met = defaultdict[str, float](float), defaultdict[str, float](float)
    for (a, b), count in votes.items():
        won[a] += count
        met[a] += count
        met[b] += count
    return {doc: won[doc] / met[doc] for doc in met}


def bradley_terry(votes: Votes, deviation: float = 2.5) -> Strengths:
    """Find the most likely log-odds of winning, by Newton's method.

    Args:
        votes: Votes of one query.
        deviation: Standard deviation of the normal prior of strengths, with mean 0.

    Source: Bradley and Terry 1952.
    """
    docs = sorted({doc for pair in votes for doc in pair})
    won, s = np.zeros((len(docs), len(docs))), np.zeros(len(docs))
    for (a, b), count in votes.items():
        won[docs.index(a), docs.index(b)] = count
    met = won + won.T
    for _ in range(1000):
        p = 1 / (1 + np.exp(s[None, :] - s[:, None]))
        slope = (won - met * p).sum(1) - s / deviation**2
        weight = met * p * (1 - p)
        bend = np.diag(weight.sum(1) + 1 / deviation**2) - weight
        step = np.linalg.solve(bend, slope)
        s = s + step / max(1, np.abs(step).max())  # short steps do not overshoot
        if np.abs(step).max() < 1e-11:
            return dict(zip(docs, s.tolist(), strict=True))
    raise AssertionError("no end of Newton's steps")


def rank_centrality(votes: Votes, added: float = 0.5) -> Strengths:
    """Return the logarithm of the stationary probability of a walk towards winners.

    From each document the walk goes to another with the share of their votes that the
    other won, half a vote being added to both. Documents are eliminated one by one, and
    the walk skips them. The mean is 0 within each set of linked documents.

    Source: Negahban, Oh and Shah 2017; Grassmann, Taksar and Heyman 1985.
    """
    goes: dict[str, Strengths] = defaultdict(dict)
    for a, b in {(a, b) for pair in votes for a, b in (pair, pair[::-1])}:
        all_votes = votes.get((a, b), 0) + votes.get((b, a), 0)
        goes[a][b] = (votes.get((b, a), 0) + added) / (all_votes + 2 * added)
    scores: Strengths = {}
    while goes:
        linked, into = [min(goes)], {}
        for doc in linked:
            linked += sorted(set(goes[doc]) - set(linked))
        for doc in linked[:0:-1]:
            out = goes.pop(doc)
            into[doc] = {a: goes[a].pop(doc) / sum(out.values()) for a in out}
            for a, rate in into[doc].items():
                for b in out:
                    if b != a:
                        goes[a][b] = goes[a].get(b, 0) + rate * out[b]
        del goes[linked[0]]
        often = {linked[0]: 1.0}
        for doc in linked[1:]:
            often[doc] = sum(often[a] * rate for a, rate in into[doc].items())
        mean = sum(map(log, often.values())) / len(often)
        scores |= {doc: log(chance) - mean for doc, chance in often.items()}
    return scores


_METHODS = {
    "bt": bradley_terry,
    "copeland": copeland,
    "borda": borda,
    "rank-centrality": rank_centrality,
}


@lru_cache(maxsize=512)  # shared by all runs of a query
def _strengths(method: str, votes: frozenset[tuple[tuple[str, str], float]]):
    return _METHODS[method](dict(sorted(votes)))


def levelled(strengths: Strengths, run: list[str]) -> list[str]:
    """Order documents by strength, and within a level as in the run."""
    rank, level, levels = {doc: r for r, doc in enumerate(run)}, 0, {}
    by_strength = sorted(strengths, key=lambda doc: -strengths[doc])
    for above, doc in zip(by_strength[:1] + by_strength, by_strength, strict=False):
        level += strengths[above] - strengths[doc] > EQUAL
        levels[doc] = level
    return sorted(strengths, key=lambda d: (levels[d], rank.get(d, float("inf")), d))


def ideal_pgc_of(case: Case) -> float:
    """Score a case by PGC with the ideal ranking that `ideal` names."""
    q = case.parameters
    if q["ideal"] == "greedy":
        return pgc_of(case)
    if q["ideal"] == "exact":
        return exact_pgc_of(case)
    edges, unit, graded = judged(case)
    votes = frozenset((pair, count / unit) for pair, count in edges.items())
    # Documents without an edge have a neutral strength.
    unknown = dict.fromkeys(graded, 0.5 if q["ideal"] == "borda" else 0.0)
    ideal = levelled(unknown | _strengths(q["ideal"], votes), case.run)
    return rbo(case.run, ideal, q["p"], q["depth"], q["normalization"])
