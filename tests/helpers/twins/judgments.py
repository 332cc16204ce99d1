"""Agreement and transitivity of judgments of pairs, in plain Python."""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

Sign = Mapping[tuple[str, str], int]
"""What is judged of each pair (a, b): 1 a is better, -1 b is, 0 a tie."""


def fleiss_kappa(votes: Sequence[Sequence[str]]) -> float:
    """Agree beyond chance: (P - P_e) / (1 - P_e), over items with two votes or more.

    P is the mean over items of the share of equal votes among all pairs of votes; P_e
    is the chance that two votes, drawn from all, are equal.

    Args:
        votes: the votes on each item.

    Source: Fleiss 1971.
    """
    items = [item for item in votes if len(item) > 1]
    shares = [share_of_equal(item) for item in items]
    every = [vote for item in items for vote in item]
    observed = sum(shares) / len(shares)
    chance = sum((every.count(option) / len(every)) ** 2 for option in set(every))
    return (observed - chance) / (1 - chance)


def share_of_equal(item: Sequence[str]) -> float:
    """Share the equal votes among all two of an item."""
    two = list(combinations(item, 2))
    return sum(a == b for a, b in two) / len(two)


def agreement_table(votes: Sequence[Sequence[str]]) -> dict[tuple[str, str], int]:
    """Count how often one judge says this and another that, of the same item.

    Source: Carterette et al. 2008, 3.2, Tables 2 and 3, before rows become shares.
    """
    counts: dict[tuple[str, str], int] = {}
    for item in votes:
        for one, other in permutations(item, 2):
            counts[one, other] = counts.get((one, other), 0) + 1
    return counts


def majority(votes: Sequence[int], split: str = "drop") -> int | None:
    """Give the sign that most votes have; None, or 0 for `tie`, if no one has most."""
    counts = {sign: votes.count(sign) for sign in (-1, 0, 1)}
    most = [sign for sign, n in counts.items() if n == max(counts.values())]
    if len(most) == 1:
        return most[0]
    return 0 if split == "tie" else None


def triples(judged: Sign) -> dict[str, tuple[int, int]]:
    """Count triples, and those that are transitive: asym, s2a, s2s, all.

    A triple has all its pairs judged. It is transitive if its documents can be put on
    levels that all three judgments follow. asym: no tie, s2a: one, s2s: two or three.

    Source: Xie et al. 2020, 3.3.
    """
    sign = {**judged, **{(b, a): -s for (a, b), s in judged.items()}}
    docs = sorted({doc for pair in sign for doc in pair})
    found = {kind: [0, 0] for kind in ("asym", "s2a", "s2s", "all")}
    for three in combinations(docs, 3):
        pairs = list(combinations(three, 2))
        if not all(pair in sign for pair in pairs):
            continue
        ties = sum(sign[pair] == 0 for pair in pairs)
        kind = ("asym", "s2a", "s2s", "s2s")[ties]
        held = any(
            all(_compare(level[a], level[b]) == sign[a, b] for a, b in pairs)
            for levels in _LEVELS
            for level in [dict(zip(three, levels, strict=True))]
        )
        for name in (kind, "all"):
            found[name][0] += 1
            found[name][1] += held
    return {kind: (n, m) for kind, (n, m) in found.items()}


_LEVELS = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]


def _compare(a: int, b: int) -> int:
    return (a > b) - (a < b)


def chains(judged: Sign) -> tuple[int, int]:
    """Count i > j > k with i and k judged, and how often i > k.

    Source: Carterette et al. 2008, 5.1.
    """
    sign = {**judged, **{(b, a): -s for (a, b), s in judged.items()}}
    docs = sorted({doc for pair in sign for doc in pair})
    counted = held = 0
    for i, j, k in permutations(docs, 3):
        if sign.get((i, j)) == 1 and sign.get((j, k)) == 1 and (i, k) in sign:
            counted += 1
            held += sign[i, k] == 1
    return counted, held


def strength(votes: Sequence[int]) -> float:
    """Average votes for the more relevant document: 2 for it, 1 a tie, 0 against it.

    Args:
        votes: 1 for the more relevant document, 0 a tie, -1 for the other.

    Source: Xie et al. 2020, 3.4.
    """
    return sum(vote + 1 for vote in votes) / len(votes)


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Correlate ranks by Pearson, ties sharing the mean of their ranks."""
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2
        for v in values
    ]


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Give the covariance over the product of the standard deviations."""
    n = len(x)
    dx, dy = [v - sum(x) / n for v in x], [v - sum(y) / n for v in y]
    top = sum(a * b for a, b in zip(dx, dy, strict=True))
    return top / (sum(a * a for a in dx) * sum(b * b for b in dy)) ** 0.5
