"""Shares and odds of judges' answers, with 95 % intervals and verdicts in words."""

from collections.abc import Callable
from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Real

from pgcjax.later import stats

FEWEST = 20
"""Fewest votes, pairs or triples that a probe needs."""

CONSISTENT, INCONSISTENT = 0.9, 0.75
"""Share of agreeing answers from which a judge is consistent, and share below which a
judge is inconsistent."""

ODDS = 1.25
"""Odds up to which an effect is small, such as the preference of the first place."""

MOSTLY = 0.5
"""Share of ties, or of votes without an answer, above which votes are mostly these."""

Z = 1.959963984540054  # normal quantile of 95 % intervals
Words = Callable[[float, float, float], str]
"""Returns a verdict, given a share and both ends of its interval."""


class Finding(NamedTuple):
    """Result of a probe of a judge.

    Attributes:
        probe: Name of the probe.
        of: Object of the probe, such as another judge; or "".
        estimate: Estimate; NaN if the probe has no result.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        size: Number of votes, pairs or triples used.
        verdict: Verdict in words; the reason, if the probe has no result.
    """

    probe: str
    of: str
    estimate: float
    low: float
    high: float
    size: int
    verdict: str


def not_asked(probe: str, size: int, why: str, of: str = "") -> Finding:
    """Explain why a probe has no result."""
    return Finding(probe, of, nan, nan, nan, size, f"not asked: {why}")


def wilson(hits: float, n: float, z: float = Z) -> tuple[float, float]:
    """Return the 95 % interval of a share [Wilson 1927]."""
    if not n:
        return nan, nan
    share, z2 = hits / n, z * z / n
    middle, half = share + z2 / 2, z * sqrt(share * (1 - share) / n + z2 / (4 * n))
    low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
    return (low if hits else 0.0), (high if hits < n else 1.0)


def clustered(
    hits: Float64[np.ndarray, " clusters"],
    n: Float64[np.ndarray, " clusters"],
    scale: Float64[np.ndarray, " clusters"] | float = 1.0,
) -> tuple[float, float, float]:
    """Return a share, and its 95 % interval if answers in a cluster are dependent.

    It is Wilson's interval, with quantiles of Student's t, for an effective number of
    answers: independent ones with the variance between clusters [Dean and Pagano 2015].

    Args:
        hits: Number of hits in each cluster.
        n: Number of answers in each cluster.
        scale: Factor by which leaving out a cluster moves the share more than leaving
            out its answers alone.
    """
    total, clusters = float(n.sum()), len(n)
    share = float(hits.sum()) / total
    if clusters < 2:
        return share, 0.0, 1.0
    if (n == 1).all() and np.ndim(scale) == 0:
        return share, *wilson(float(hits.sum()), total)  # answers are independent
    moved = (scale * (hits - share * n) / total) ** 2
    variance = float(moved.sum()) * clusters / (clusters - 1)
    size = clusters / float(np.mean(scale))  # if all clusters have the same share
    if variance > 0:
        size = share * (1 - share) / variance
    size = min(size, total)
    z = float(stats.t.isf(0.025, clusters - 1))
    low, high = wilson(share * size, size, z)
    return share, (low if share else 0.0), (high if share < 1 else 1.0)


def share_of(
    probe: str,
    hits: Float64[np.ndarray, " clusters"],
    n: Float64[np.ndarray, " clusters"],
    words: Words,
    noun: str,
) -> Finding:
    """Estimate the share of hits, with its interval by clusters.

    Args:
        probe: Name of the probe.
        hits: Number of hits in each cluster.
        n: Number of answers in each cluster; fewer than `FEWEST` give no estimate.
        words: Makes the verdict.
        noun: Name of the answers, such as `votes`.
    """
    size = int(n.sum())
    if size < FEWEST:
        return not_asked(probe, size, f"{size} {noun}, of which {FEWEST} are needed")
    share, low, high = clustered(hits[n > 0], n[n > 0])
    return Finding(probe, "", share, low, high, size, words(share, low, high))


def consistency(share: float, low: float, high: float) -> str:
    """Return a verdict on the share of answers that agree with each other."""
    if low >= CONSISTENT:
        return "consistent"
    if high < INCONSISTENT:
        return "inconsistent"
    return "partly consistent" if share < CONSISTENT else "consistent, perhaps"


def mostly(noun: str) -> Words:
    """Return a function that makes a verdict on the share of some kind of votes."""
    return lambda share, low, high: (
        f"mostly {noun}" if low > MOSTLY else f"some {noun}" if share else f"no {noun}"
    )


def odds_words(low: float, high: float, words: tuple[str, str]) -> str:
    """Return a verdict on odds by their interval: `words` for above 1 and for below."""
    if low > 1 or high < 1:
        verdict = words[0] if low > 1 else words[1]
        return verdict + ("" if low > ODDS or high < 1 / ODDS else " a little, perhaps")
    small = high <= ODDS and low >= 1 / ODDS
    return "no, or hardly" if small else "not seen, and may be large"


def place_odds(
    stratum: Int[np.ndarray, " votes"],
    low_first: Float64[np.ndarray, " votes"],
    sign: Real[np.ndarray, " votes"],
) -> tuple[float, float, float, int]:
    """Estimate the odds of preferring the document that is shown first.

    Only pairs that a judge saw in both orders count, so it does not matter whether
    better documents were shown first more often. A judge's votes on a pair are a table
    of two by two: which document was first, and which is preferred. The common odds
    ratio of these tables is the square of the odds, because each order changes the
    log-odds by the same amount. With one vote in each order it is McNemar's ratio: the
    flips to the first document, divided by the flips to the second.

    Args:
        stratum: Number of the judge and pair of each vote.
        low_first: 1 if the pair's low document was shown first, -1 if the other was.
        sign: 1 if the low document is preferred, -1 if the other is, 0 for a tie; ties
            do not count.

    Returns:
        The odds, NaN if no answer depends on the place; the ends of their 95 %
        interval; and the number of pairs that one judge decided in both orders.

    Source: Mantel and Haenszel 1959; variance by Robins, Breslow and Greenland 1986,
    which gives the effective number of answers for Wilson's interval.
    """
    decided = (sign != 0) & ~np.isnan(low_first)
    _, number = np.unique(stratum[decided], return_inverse=True)
    cell = 2 * (low_first[decided] < 0) + (sign[decided] < 0)
    n = int(number.max(initial=-1)) + 1
    counts = np.bincount(4 * number + cell, minlength=4 * n).reshape(n, 4)
    counts = counts[(counts[:, :2].sum(1) > 0) & (counts[:, 2:].sum(1) > 0)] * 1.0
    a, b, c, d = counts.T
    total = counts.sum(1)
    first, second = a * d / total, b * c / total
    up, down = float(first.sum()), float(second.sum())
    if not up + down:
        return nan, nan, nan, len(counts)
    # A flip of a pair, which has two answers, adds one half to `up` or `down`.
    share, size = up / (up + down), 2 * (up + down)
    if up and down:
        same, other = (a + d) / total, (b + c) / total
        variance = float((same * first).sum()) / (2 * up * up)
        variance += float((same * second + other * first).sum()) / (2 * up * down)
        variance += float((other * second).sum()) / (2 * down * down)
        size = 1 / (variance * share * (1 - share))
    ends = wilson(share * size, size)
    odds, low, high = (sqrt(x / (1 - x)) if x < 1 else inf for x in (share, *ends))
    return odds, low, high, len(counts)
