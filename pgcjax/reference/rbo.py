"""Rank-biased overlap, in plain Python."""

from collections.abc import Sequence
from math import fsum, log1p, sqrt

Groups = Sequence[Sequence[str]]


def rbo(
    ranking: list[str],
    ideal: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
) -> float:
    """Compare two rankings by rank-biased overlap, depth by depth.

    Below its end, a list stays unchanged at all depths.

    Args:
        ranking: Document ids, best first.
        ideal: Document ids, best first.
        p: Persistence, 0 < p < 1.
        depth: Last depth that counts.
        normalization: Divisor of the sum over depths: `weights`, the sum of p^(d-1), as
            in the published code; `one-minus-p`, 1 / (1 - p), as printed; `ideal`, the
            overlap of the ideal with itself, so that a perfect run scores 1.

    Returns:
        A number from 0 to 1; 0 if the ideal ranking is empty.

    Source: Luo 2021, equation 2.8; Clarke, Smucker and Vtyurina 2020.
    """
    if not ideal:
        return 0.0
    total = _sum(ranking, ideal, p, depth)
    if normalization == "weights":
        return total / fsum(p ** (d - 1) for d in range(1, depth + 1))
    if normalization == "one-minus-p":
        return (1 - p) * total
    return total / _sum(ideal, ideal, p, depth)


def _sum(ranking: list[str], ideal: list[str], p: float, depth: int) -> float:
    seen, wanted, terms, shared = set(), set(), [], 0
    for d in range(1, depth + 1):
        if d <= len(ranking):
            seen.add(ranking[d - 1])
        if d <= len(ideal):
            wanted.add(ideal[d - 1])
        if d <= max(len(ranking), len(ideal)):
            shared = len(seen & wanted)
        terms.append(p ** (d - 1) * shared / d)
    return fsum(terms)  # `sum` rounds differently before Python 3.12


def rbo_of_ties(
    ranking: Groups, other: Groups, p: float, ties: str = "a"
) -> dict[str, float]:
    """Compare two rankings that have ties, and that may go on unseen.

    The agreement at depth d is X / size (`_size`), where X sums, over documents of
    both rankings, the product of their shares (`_shown`). RBO is the sum of (1 - p)
    p^(d-1) X / size over all depths. The shorter ranking, of s documents, is extended
    by one untied document at each depth. For `min`, these are in no other ranking; for
    `max`, they are the documents of the longer ranking with the largest shares; for
    `ext`, each is a document of it with probability A, the agreement at s, and with
    their mean share. For depths beyond both rankings, see `_beyond`.

    Args:
        ranking: Tie groups of document ids, best first; not empty.
        other: Tie groups of the other ranking, likewise.
        p: Persistence, 0 < p < 1.
        ties: Treatment of ties: `w`, `a` or `b`.

    Returns:
        `min`, `ext`, `max`, and `res` = max - min.

    Source: Webber, Moffat and Zobel 2010; ties by Corsi and Urbano 2024.
    """
    short, long = sorted((ranking, other), key=lambda groups: sum(map(len, groups)))
    s, n = (sum(map(len, groups)) for groups in (short, long))
    shown = {doc for group in short for doc in group}
    low = guess = high = agreement = shared = 0.0
    for d in range(1, n + 1):
        ours, theirs = _shown(short, d, ties), _shown(long, d, ties)
        shared = sum(ours[doc] * theirs[doc] for doc in ours.keys() & theirs.keys())
        unseen = max(0, d - s)
        size = _size([*ours.values(), *[1.0] * unseen], [*theirs.values()], ties)
        weight = (1 - p) * p ** (d - 1) / size
        if d <= s:
            agreement = shared / size
        free = sorted(
            (c for doc, c in theirs.items() if doc not in shown), reverse=True
        )
        likely = agreement * unseen * sum(free) / len(free) if unseen else 0.0
        low += weight * shared
        guess += weight * (shared + likely)
        high += weight * (shared + sum(free[:unseen]))
    least, expected, most = _beyond(s, n, round(shared), agreement, p)
    low, guess, high = low + least, guess + expected, high + most
    return {"min": low, "ext": guess, "max": high, "res": high - low}


def _shown(groups: Groups, depth: int, ties: str) -> dict[str, float]:
    """Compute the share of each document that a ranking shows at a depth, if above 0.

    A group from rank t to rank b has share 0 above depth t. From t on, its documents
    have share 1 by `w`, and (depth - t + 1) / (b - t + 1), at most 1, by `a` and `b`.
    """
    shown, top = {}, 1
    for group in groups:
        if top > depth:
            break
        share = 1.0 if ties == "w" else min(1.0, (depth - top + 1) / len(group))
        shown |= dict.fromkeys(group, share)
        top += len(group)
    return shown


def _size(ours: list[float], theirs: list[float], ties: str) -> float:
    """Return the overlap that rankings with these shares would have if they agreed."""
    if ties == "b":
        return sqrt(sum(c * c for c in ours)) * sqrt(sum(c * c for c in theirs))
    return (sum(ours) + sum(theirs)) / 2  # by `a`, both are the depth


def _beyond(
    s: int, n: int, shared: int, agreement: float, p: float
) -> tuple[float, float, float]:
    """Add up all depths beyond n, where both rankings end, for min, ext and max.

    For `min` the overlap stays constant: the sum is (1 - p) p^(d-1) shared / d from
    n + 1 on, where the sum of p^d / d over all depths is -ln(1 - p). For `ext` the
    agreement stays that of depth n. For `max` each ranking adds a document of the other
    at each depth, until at depth s + n - shared they have all documents in common.
    """
    harmonic = -log1p(-p) - sum(p**d / d for d in range(1, n + 1))
    least = (1 - p) / p * shared * harmonic
    expected = p**n * (shared + agreement * (n - s)) / n
    most, depth = 0.0, n + 1
    while depth < s + n - shared:
        both = shared + (depth - s) + (depth - n)
        most += (1 - p) * p ** (depth - 1) * both / depth
        depth += 1
    return least, expected, most + p ** (depth - 1)
