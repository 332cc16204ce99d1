"""Intervals, ranks and order of runs by replicates, as the books write them."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import floor, inf, sqrt
from statistics import NormalDist, fmean

NORMAL = NormalDist()


def quantile(values: Sequence[float], level: float) -> float:
    """Interpolate between order statistics; the first has level 0, the last 1."""
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    low = min(floor(place), len(ordered) - 2)
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low)


def interval(
    observed: float, drawn: Sequence[float], kind: str, alpha: float
) -> tuple[float, float]:
    """Give the interval of level 1 - alpha.

    Source: Efron and Tibshirani 1993, 13.3 (percentile), 14.3 with a = 0 (bc); Davison
    and Hinkley 1997, 5.6 (basic).
    """
    levels = alpha / 2, 1 - alpha / 2
    if kind == "bc":
        count = len(drawn)
        below = sum(x < observed - 1e-12 for x in drawn)
        equal = sum(abs(x - observed) <= 1e-12 for x in drawn)
        share = (below + equal / 2) / count
        z = NORMAL.inv_cdf(min(max(share, 1 / (2 * count)), 1 - 1 / (2 * count)))
        levels = tuple(NORMAL.cdf(2 * z + NORMAL.inv_cdf(level)) for level in levels)
    low, high = (quantile(drawn, level) for level in levels)
    if kind == "basic":
        return 2 * observed - high, 2 * observed - low
    shift = observed - fmean(drawn) if kind == "centred" else 0.0
    return low + shift, high + shift


def rank(means: Sequence[float], run: int) -> int:
    """Count the runs that are better, and one more."""
    return 1 + sum(mean > means[run] for mean in means)


def tau_b(x: Sequence[float], y: Sequence[float]) -> float:
    """Count concordant less discordant pairs, by those that neither order ties."""

    def signs(values: Sequence[float]) -> list[int]:
        return [(a > b) - (a < b) for a, b in combinations(values, 2)]

    a, b = signs(x), signs(y)
    both = sum(s * t for s, t in zip(a, b, strict=True))
    return both / sqrt(sum(map(abs, a)) * sum(map(abs, b)))


def significant_pairs(
    distance: Callable[[int, int], float],
    order: Sequence[int],
    drawn: Sequence[Callable[[int, int], float]],
    alpha: float,
) -> set[tuple[int, int]]:
    """Give pairs of runs that differ, the better one first: window by window.

    Each window of the order is tested by the largest distance of its own pairs in each
    draw, at its share of alpha, and by that of all pairs. A pair differs if it is
    beyond what its window needs, and some pair is in every window around it.
    """
    runs = len(order)

    def pairs(a: int, b: int) -> list[tuple[int, int]]:
        return list(combinations(order[a : b + 1], 2))

    def least(a: int, b: int, share: Fraction) -> float:
        most = sorted((max(d(*p) for p in pairs(a, b)) for d in drawn), reverse=True)
        count = [k for k in range(len(most)) if (1 + k) < share * (1 + len(most))]
        return most[count[-1]] if count else inf

    level = Fraction(str(alpha))
    of_all, found = least(0, runs - 1, level), set()
    windows = {}
    for a, b in combinations(range(runs), 2):
        size = b - a + 1
        share = level * Fraction(size, runs) if size < runs - 1 else level
        windows[a, b] = min(of_all, least(a, b, share))
    for a, b in windows:
        around = [w for w in windows if w[0] <= a and w[1] >= b]
        some = all(any(distance(*p) > windows[w] for p in pairs(*w)) for w in around)
        if some and distance(order[a], order[b]) > windows[a, b]:
            found.add((order[a], order[b]))
    return found


def places(better: Sequence[Sequence[bool]]) -> list[tuple[int, int, int]]:
    """Give ranges of ranks and tiers, where better[i][j] says that j is above i.

    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, section 3.
    """
    runs = range(len(better))

    def tier(i: int) -> int:
        return 1 + max((tier(j) for j in runs if better[i][j]), default=0)

    above = [sum(better[i]) for i in runs]
    below = [sum(better[j][i] for j in runs) for i in runs]
    return [(1 + above[i], len(better) - below[i], tier(i)) for i in runs]


def share_above(observed: float, drawn: Sequence[float], kind: str) -> float:
    """Give the probability of a number above 0, by the replicates as `interval` has it.

    It is the level at which an end of the interval meets 0.
    """
    shift = observed - fmean(drawn)
    moved = {
        "centred": [x + shift for x in drawn],
        "basic": [2 * observed - x for x in drawn],
    }.get(kind, drawn)

    def below(values: Sequence[float], limit: float) -> float:
        near = [x - limit if abs(x - limit) > 1e-12 else 0.0 for x in values]
        return sum((x < 0) + (x == 0) / 2 for x in near) / len(near)

    share = 1 - below(moved, 0.0)
    if kind != "bc" or share in (0, 1):
        return share
    least = 1 / (2 * len(drawn))
    z = NORMAL.inv_cdf(min(max(below(drawn, observed), least), 1 - least))
    return NORMAL.cdf(NORMAL.inv_cdf(share) + 2 * z)


def same_best(means: Sequence[float], drawn: Sequence[Sequence[float]]) -> float:
    """Give the share of the replicates whose best runs are the best runs."""

    def best(row: Sequence[float]) -> set[int]:
        return {run for run, mean in enumerate(row) if mean == max(row)}

    return fmean(best(row) == best(means) for row in drawn)


def overlap(
    means: Sequence[float], drawn: Sequence[Sequence[float]], count: int
) -> float:
    """Give the share of the best runs that are among the best of a replicate."""

    def best(row: Sequence[float]) -> set[int]:
        return {*sorted(range(len(row)), key=lambda run: (-row[run], run))[:count]}

    return fmean(len(best(row) & best(means)) / count for row in drawn)


def enough(same: Sequence[float], level: float) -> int:
    """Number the first share from which on all keep the best run so often."""
    good = (i for i in range(len(same)) if all(x >= level for x in same[i:]))
    return next(good)
