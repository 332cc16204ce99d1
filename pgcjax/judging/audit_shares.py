"""Shares of what judges say, with intervals and verdicts in words."""

from collections.abc import Callable
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.later import stats

FEWEST = 20
"""Votes, pairs or triples that a probe needs: of fewer it says nothing."""

CONSISTENT, INCONSISTENT = 0.9, 0.75
"""Shares of double votes that agree, or of repeats answered alike."""

ODDS = 1.25
"""Odds of preferring the first, or one twice as long, up to which they are small."""

MOSTLY = 0.5
"""Share of votes from which ties, or votes without an answer, are most of them."""

Z = 1.959963984540054  # of 95 % intervals
Words = Callable[[float, float, float], str]
"""Makes a verdict of a share and its interval."""


class Finding(NamedTuple):
    """What a probe says of a judge.

    Attributes:
        probe: its name.
        of: what it is about, such as another judge; or "".
        estimate: the number; NaN where the probe stands down.
        low: of its 95 % interval.
        high: likewise.
        size: votes, pairs or triples that it is made of.
        verdict: in words; why not, where it stands down.
    """

    probe: str
    of: str
    estimate: float
    low: float
    high: float
    size: int
    verdict: str


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
    """Return a share, and its 95 % interval where what is in a cluster goes together.

    Wilson's interval with as many answers as would have the variance of the share
    between clusters [Dean and Pagano 2015], and with quantiles of Student's t.

    Args:
        hits: of each cluster.
        n: of how many.
        scale: by how much the share moves more than by that, if a cluster is left out.
    """
    total, clusters = float(n.sum()), len(n)
    share = float(hits.sum()) / total
    if clusters < 2:
        return share, 0.0, 1.0
    if (n == 1).all() and np.ndim(scale) == 0:
        return share, *wilson(float(hits.sum()), total)  # each is alone
    moved = (scale * (hits - share * n) / total) ** 2
    variance = float(moved.sum()) * clusters / (clusters - 1)
    alike = clusters / float(np.mean(scale))  # where no two differ
    size = share * (1 - share) / variance if variance > 0 else alike
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
    """Return a share and its verdict, unless it is one of too few.

    Args:
        probe: its name.
        hits: of each cluster of answers that go together.
        n: of how many.
        words: makes the verdict.
        noun: what is counted.
    """
    size = int(n.sum())
    if size < FEWEST:
        return none(probe, "", size, f"{size} {noun}, of which {FEWEST} are needed")
    share, low, high = clustered(hits[n > 0], n[n > 0])
    return Finding(probe, "", share, low, high, size, words(share, low, high))


def none(probe: str, of: str, n: int, why: str) -> Finding:
    """Explain why a probe stands down."""
    return Finding(probe, of, nan, nan, nan, n, f"not asked: {why}")


def consistency(share: float, low: float, high: float) -> str:
    """Word the share of answers that agree with each other."""
    if low >= CONSISTENT:
        return "consistent"
    if high < INCONSISTENT:
        return "inconsistent"
    return "partly consistent" if share < CONSISTENT else "consistent, perhaps"


def mostly(noun: str) -> Words:
    """Word the share of votes that are of some kind."""
    return lambda share, low, high: (
        f"mostly {noun}" if low > MOSTLY else f"some {noun}" if share else f"no {noun}"
    )
