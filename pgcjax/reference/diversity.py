"""Measures of diversity, in plain Python.

A run lists, for each rank, the intents to which the document is relevant, or a dict of
its gains by intent. Probabilities are exact fractions.
"""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import log, log2

from pgcjax.reference.graded import err


def probabilities(
    intents: list[str], weighting: str, given: dict[str, float] | None
) -> dict[str, Fraction]:
    """Return the probability of each intent that has a relevant document.

    A given float counts as the ratio of small numbers that rounds to it, such as 1/3.
    Weights are normalized over `intents` [Sakai 2012, section 5.1; decreasing ones are
    2^(n-j+1) / sum of 2^k].
    """

    def order(intent: str) -> tuple[bool, Decimal, str]:
        number = intent.isascii() and intent.isdecimal()
        return not number, Decimal(intent if number else 0), intent

    weight = {}
    for j, intent in enumerate(sorted(intents, key=order), start=1):
        weight[intent] = Fraction(1)
        if weighting == "decreasing":
            weight[intent] = Fraction(2 ** (len(intents) - j + 1))
        elif weighting == "given" and given is not None:
            ratio = Fraction(given[intent]).limit_denominator(10**6)
            exact = float(ratio) == given[intent]
            weight[intent] = ratio if exact else Fraction(given[intent])
    total = sum(weight.values())
    return {i: w / total if total else Fraction(0) for i, w in weight.items()}


def novelty(run: list[set[str]], alpha: float) -> list[float]:
    """Return the novelty-biased gain NG(r) of each rank [Clarke et al. 2008]."""
    seen: Counter[str] = Counter()
    gains = []
    for intents in run:
        gains.append(sum(sorted((1 - alpha) ** seen[i] for i in intents)))
        seen.update(intents)
    return gains


def greedy_ideal(judged: dict[str, set[str]], alpha: float) -> list[set[str]]:
    """List documents greedily by gain after those above; ids break ties."""
    seen: Counter[str] = Counter()
    left, ideal = sorted(judged, reverse=True), []
    while left:
        best = max(
            left, key=lambda d: sum(sorted((1 - alpha) ** seen[i] for i in judged[d]))
        )
        left.remove(best)
        seen.update(judged[best])
        ideal.append(judged[best])
    return ideal


def alpha_dcg(run: list[set[str]], alpha: float, k: int | None) -> float:
    """Discount novelty-biased gains by rank and add them up [Clarke et al. 2008]."""
    gains = novelty(run, alpha)[:k]
    return sum(g / log2(1 + r) for r, g in enumerate(gains, start=1))


def alpha_ndcg(
    run: list[set[str]], judged: dict[str, set[str]], alpha: float, k: int | None
) -> float:
    """Divide alpha-DCG by that of the greedy ideal list."""
    best = alpha_dcg(greedy_ideal(judged, alpha), alpha, k)
    return alpha_dcg(run, alpha, k) / best if best else 0.0


def nrbp(run: list[set[str]], intents: int, alpha: float, beta: float) -> float:
    """Expect novelty from a user who goes on with probability beta [Clarke 2009]."""
    gains = novelty(run, alpha)
    total = sum(g * beta**r for r, g in enumerate(gains))
    return (1 - (1 - alpha) * beta) * total / intents if intents else 0.0


def intent_recall(run: list[set[str]], intents: int, k: int | None) -> float:
    """Return the share of intents that the first k documents serve [Zhai 2003]."""
    served = set().union(*run[:k])
    return len(served) / intents if intents else 0.0


def without_redundancy(
    run: list[dict[str, float]], navigational: set[str]
) -> list[dict[str, float]]:
    """Leave each navigational intent its first relevant document [Sakai 2012]."""
    seen: set[str] = set()
    new = []
    for gains in run:
        new.append({i: g for i, g in gains.items() if i not in seen})
        seen |= gains.keys() & navigational
    return new


def effective_precision(
    run: list[dict[str, float]], navigational: set[str], k: int
) -> float:
    """Return the share of k documents that still have a gain for some intent."""
    return sum(map(bool, without_redundancy(run, navigational)[:k])) / k


def global_gains(
    run: list[dict[str, float]], probability: dict[str, Fraction]
) -> list[float]:
    """Return the global gain of ranks: sum of Pr(i|q) g_i(r) [Sakai 2012, eq. 6]."""
    return [
        float(sum(probability[i] * Fraction(g) for i, g in gains.items()))
        for gains in run
    ]


def intent_aware(scores: dict[str, float], probability: dict[str, Fraction]) -> float:
    """Expect the score of an intent: sum of Pr(i|q) M_i [Sakai 2012, eq. 5]."""
    return float(sum(probability[i] * Fraction(s) for i, s in scores.items()))


def ndeval_err(run: list[float], k: int | None) -> float:
    """Divide ERR by that of a list of relevant documents only.

    Source: the program ndeval, version 4.5. Without a cutoff the list is infinite, and
    its ERR, the sum of 2^-r / r, is ln 2.
    """
    best = log(2) if k is None else err([0.5] * k, k)
    return err(run, k) / best
