"""Rules of top-k tournaments: pairs to compare, documents that stay, new grades.

These are pure functions of the grades, wins and seed of one query.
Sources: Clarke, Vtyurina and Smucker, Assessing top-k preferences, 2021; Luo 2021, 2.5.
"""

import heapq
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import Any

from pgcjax.errors import UsageError

Pair = tuple[str, str]
"""Two documents, the ids ascending."""

Top = dict[str, float]
"""The best documents, and the wins of each in the deciding round."""

_ABOVE = 100.0  # separates new grades clearly from old ones


@dataclass(frozen=True)
class Rules:
    """Rules of a tournament.

    Attributes:
        k: Number of documents to find (K).
        pairings: Comparisons of each document in an elimination round (P).
        final: Most documents of the last round, which compares all pairs (F).
    """

    k: int = 5
    pairings: int = 7
    final: int = 9

    def __post_init__(self) -> None:
        if not 1 <= self.k < self.pairings < self.final:
            raise UsageError(
                "expected 1 <= k < pairings < final, found "
                f"k={self.k}, pairings={self.pairings}, final={self.final}"
            )

    @classmethod
    def of(cls, k: int, pairings: int | None = None, final: int | None = None):
        """Complete the rules: pairings is odd, above k, at least 7; final is 2 more.

        For k = 5 these are the published 7 and 9.

        Raises:
            UsageError: not 1 <= k < pairings < final.
        """
        pairings = max(7, k + 1 + k % 2) if pairings is None else pairings
        return cls(k, pairings, pairings + 2 if final is None else final)


@dataclass(frozen=True)
class Round:
    """Comparisons of one round.

    Attributes:
        number: Number of the round, from 1.
        documents: Documents that take part, ascending.
        pairs: Pairs that are compared.
        last: Whether the round decides; else it eliminates.
    """

    number: int
    documents: tuple[str, ...]
    pairs: tuple[Pair, ...]
    last: bool


@dataclass(frozen=True)
class Draw:
    """Random numbers, as a function of a seed, a query and their purpose.

    Neither the order of files or calls nor the version of Python changes them.
    """

    seed: int
    query: str

    def __call__(self, *parts: Any) -> int:
        """Return a whole number below 2^64."""
        text = json.dumps([self.seed, self.query, *parts]).encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest())


def pair_of(one: str, other: str) -> Pair:
    """Put two documents in the order of a pair."""
    return (one, other) if one < other else (other, one)


def candidates(grades: Mapping[str, float], k: int) -> tuple[str, ...]:
    """List the documents that take part: the k best by grade above 0, with ties."""
    graded = sorted((g for g in grades.values() if g > 0), reverse=True)
    least = graded[min(k, len(graded)) - 1] if graded else 0.0
    return tuple(sorted(d for d, g in grades.items() if 0 < g >= least))


def near_regular(
    documents: Collection[str], pairings: int, draw: Draw, number: int
) -> list[Pair]:
    """Draw pairs until each document is in `pairings`, or in all there are.

    The documents with the fewest pairs come first; `draw` breaks ties. So a document
    gets one pair more than needed only where there is no other partner.

    Args:
        documents: Documents to compare.
        pairings: Fewest pairs of each document.
        draw: Random numbers of the query.
        number: Number of the round.
    """
    needed = min(pairings, len(documents) - 1)
    partners: dict[str, set[str]] = {document: set() for document in documents}

    def entry(document: str) -> tuple[int, int, str]:
        paired = len(partners[document])
        return paired, draw("pair", number, document, paired), document

    waiting = [entry(document) for document in documents]
    heapq.heapify(waiting)
    pairs = []
    while waiting and waiting[0][0] < needed:
        *_, one = heapq.heappop(waiting)
        passed = []
        while waiting[0][2] in partners[one]:
            passed.append(heapq.heappop(waiting))
        *_, other = heapq.heappop(waiting)
        partners[one].add(other)
        partners[other].add(one)
        pairs.append(pair_of(one, other))
        for returned in (*passed, entry(one), entry(other)):
            heapq.heappush(waiting, returned)
    return pairs


def begin(grades: Mapping[str, float], rules: Rules, draw: Draw) -> Round | Top:
    """Open the first round of a query; the top where nothing is to be compared.

    Args:
        grades: Grades of all judged documents of the query.
        rules: Rules of the tournament.
        draw: Random numbers of the query.
    """
    return _open(1, candidates(grades, rules.k), rules, draw)


def advance(
    played: Round, wins: Mapping[str, float], rules: Rules, draw: Draw
) -> Round | Top:
    """Open the next round after a completed one, or return the top.

    Documents stay if they won more than ⌊P/2⌋ of their comparisons. Where all of them
    stay, or none, their wins are equal but for rounding, and another round would
    change nothing: then these wins decide.

    Args:
        played: Completed round.
        wins: Wins of each of its documents, from `count_wins`.
        rules: Rules of the tournament.
        draw: Random numbers of the query.
    """
    staying = [d for d in played.documents if wins[d] > rules.pairings // 2]
    if played.last or len(staying) in (0, len(played.documents)):
        return top(wins, rules.k)
    return _open(played.number + 1, tuple(staying), rules, draw)


def _open(
    number: int, documents: tuple[str, ...], rules: Rules, draw: Draw
) -> Round | Top:
    if len(documents) < 2:
        return dict.fromkeys(documents, 1.0)  # as in the published program
    last = len(documents) <= rules.final
    pairs = (
        list(combinations(documents, 2))
        if last
        else near_regular(documents, rules.pairings, draw, number)
    )
    return Round(number, documents, tuple(pairs), last)


def count_wins(
    documents: Iterable[str], outcomes: Mapping[Pair, float]
) -> dict[str, float]:
    """Count the wins of each document; a tie counts half for each.

    Args:
        documents: Documents to count; all documents in pairs are among them.
        outcomes: Outcome of each pair: above 0 if the first document is better, below 0
            if the second is, 0 for a tie.
    """
    wins = dict.fromkeys(documents, 0.0)
    for (one, other), sign in outcomes.items():
        wins[one] += 1.0 if sign > 0 else 0.5 * (sign == 0)
        wins[other] += 1.0 if sign < 0 else 0.5 * (sign == 0)
    return wins


def top(wins: Mapping[str, float], k: int) -> Top:
    """Return the k documents with most wins, and those that tie with the k-th.

    A document without even half a win is left out.
    """
    return {d: wins[d] for d in candidates(wins, k)}


def new_grades(grades: Mapping[str, float], best: Top) -> dict[str, float]:
    """Raise the grades of the top above all others: wins + the highest grade + 100."""
    highest = max([0.0, *grades.values()])
    return {
        d: best[d] + highest + _ABOVE if d in best else float(g)
        for d, g in grades.items()
    }
