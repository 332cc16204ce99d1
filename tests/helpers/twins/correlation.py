"""How far two measures agree about runs, in plain Python."""

from collections.abc import Sequence
from itertools import combinations, permutations
from math import asin, nan, pi, sin, sqrt
from statistics import NormalDist, fmean, linear_regression, pstdev


def tau_ap(truth: Sequence[float], estimate: Sequence[float]) -> float:
    """Compare an estimated order with the true one, the top first; no ties.

    tau_ap = 2 / (n - 1) sum over i = 2..n of C(i) / (i - 1), less 1, where C(i) counts
    the items above rank i in the estimate that are truly above the item at rank i.

    Source: Yilmaz, Aslam and Robertson 2008, equation for tau_ap.
    """
    n = len(truth)
    ranking = sorted(range(n), key=lambda item: -estimate[item])
    return _tau_ap(truth, ranking)


def _tau_ap(truth: Sequence[float], ranking: Sequence[int]) -> float:
    n, total = len(ranking), 0.0
    for i in range(2, n + 1):
        item = ranking[i - 1]
        correct = sum(truth[other] > truth[item] for other in ranking[: i - 1])
        total += correct / (i - 1)
    return 2 / (n - 1) * total - 1


def symmetric_tau_ap(x: Sequence[float], y: Sequence[float]) -> float:
    """Average tau_ap over which of the two is the truth [Yilmaz et al. 2008]."""
    return (tau_ap(x, y) + tau_ap(y, x)) / 2


def tau_ap_a(truth: Sequence[float], estimate: Sequence[float]) -> float:
    """Average tau_ap over all orders in which the ties of the estimate can be broken.

    Source: Urbano and Marrero 2017, accuracy of an observer; the truth has no ties.
    """
    n = len(truth)
    values = []
    for ranking in permutations(range(n)):
        scores = [estimate[item] for item in ranking]
        if scores == sorted(scores, reverse=True):
            values.append(_tau_ap(truth, ranking))
    return sum(values) / len(values)


def tau_ap_b(x: Sequence[float], y: Sequence[float]) -> float:
    """Compare two orders with ties, neither of them the truth.

    Items tied with an item are not above it; the items of the first group of ties have
    nothing above them and do not count; a pair that only the other order ties is not
    concordant.

    Source: Urbano and Marrero 2017, agreement of two observers; their `ircor`.
    """
    return (_half_of_b(x, y) + _half_of_b(y, x)) / 2


def _half_of_b(truth: Sequence[float], estimate: Sequence[float]) -> float:
    n, total, counted = len(truth), 0.0, 0
    for i in range(n):
        above = [j for j in range(n) if estimate[j] > estimate[i]]
        if above:
            total += sum(truth[j] > truth[i] for j in above) / len(above)
            counted += 1
    return 2 / counted * total - 1


def tau_interval(
    x: Sequence[Sequence[float]],
    y: Sequence[Sequence[float]],
    drawn: Sequence[Sequence[int]],
    alpha: float,
) -> tuple[float, float]:
    """Bound tau-b between orders of runs by their expected scores under two measures.

    1 / sin(pi tau / 2) is extrapolated over noise of 1 (the sample), 2, 3 and 5 (mean
    tau of resamples of all, a half, a quarter of the queries) to 0, by least squares;
    the interval is the hull of the percentiles and of 1.3 normal intervals around that.

    Args:
        x: scores of runs, a row each.
        y: by the other measure.
        drawn: places of queries, a row per resample; a half of them are its first half.
        alpha: 1 less the level.
    """

    def tau(places: Sequence[int]) -> float:
        a, b = ([sum(row[q] for q in places) for row in side] for side in (x, y))
        pairs = [*combinations(range(len(a)), 2)]
        one, other = ([_sign(side[i] - side[j]) for i, j in pairs] for side in (a, b))
        both = sum(s * t for s, t in zip(one, other, strict=True))
        untied = sum(map(abs, one)) * sum(map(abs, other))
        return both / sqrt(untied) if untied else nan

    n = len(x[0])
    sizes = [n, n // 2, n // 4]
    taus = [[tau(places[:k]) for places in drawn] for k in sizes]
    taus = [[t for t in of_size if t == t] for of_size in taus]
    observed = tau(range(n))
    side = -1 if observed < 0 else 1
    means = [observed, *(fmean(of_size) for of_size in taus)]
    curve = [1 / sin(pi / 2 * min(1, max(0.05, side * mean))) for mean in means]
    noise = [1.0, *(1 + n / k for k in sizes)]
    slope = linear_regression(noise, curve).slope
    without = side * 2 / pi * asin(1 / max(1.0, round(curve[0] - slope, 12)))
    half = 1.3 * NormalDist().inv_cdf(1 - alpha / 2) * pstdev(taus[0])
    ends = (quantile(taus[0], level) for level in (alpha / 2, 1 - alpha / 2))
    low, high = ends
    return max(-1.0, min(low, without - half)), min(1.0, max(high, without + half))


def _sign(difference: float) -> int:
    return (difference > 1e-9) - (difference < -1e-9)


def quantile(values: Sequence[float], level: float) -> float:
    """Interpolate between order statistics; the first has level 0, the last 1."""
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 2)
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low)


def intuitiveness(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    gold: Sequence[Sequence[Sequence[float]]],
) -> tuple[int, int, int]:
    """Count disagreements of two measures, and how often each agrees with the gold.

    Args:
        first: scores by the first measure, of each run on each query.
        second: scores by the second measure.
        gold: scores by each of the gold measures; all have to be agreed with.

    Returns:
        Disagreements, those where the first is right, those where the second is.

    Source: Sakai 2012, Figure 6 and the end of section 4.2.
    """
    disagreements = correct_1 = correct_2 = 0
    for r1, r2 in combinations(range(len(first)), 2):
        for t in range(len(first[0])):
            delta_1 = first[r1][t] - first[r2][t]
            delta_2 = second[r1][t] - second[r2][t]
            deltas = [measure[r1][t] - measure[r2][t] for measure in gold]
            if delta_1 * delta_2 < 0:
                disagreements += 1
                correct_1 += all(delta_1 * delta >= 0 for delta in deltas)
                correct_2 += all(delta_2 * delta >= 0 for delta in deltas)
    return disagreements, correct_1, correct_2


def kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Agree beyond chance: (p_o - p_e) / (1 - p_e) [Cohen 1960]."""
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum(
        first.count(label) / n * second.count(label) / n for label in set(first)
    )
    return (observed - chance) / (1 - chance)


def jaccard(first: Sequence[int], second: Sequence[int]) -> float:
    """Share the (item, label) pairs that are in both among those that are in either."""
    one, two = set(enumerate(first)), set(enumerate(second))
    return len(one & two) / len(one | two)
