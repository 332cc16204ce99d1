"""How far two measures agree about runs, in plain Python."""

from collections.abc import Sequence
from itertools import combinations, permutations


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
