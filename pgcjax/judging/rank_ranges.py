"""Ranges of ranks, and tiers, from the significant pairs of documents or runs."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int, Int64

_BLOCK = 500  # draws in a block

Different = Bool[np.ndarray, "runs runs"]
Means = Float[np.ndarray, " runs"]


def significant_pairs(
    strength: Float64[np.ndarray, " n"],
    covariance: Float64[np.ndarray, "n n"],
    linked: Int[np.ndarray, " n"],
    freedom: int,
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Bool[np.ndarray, "n n"]:
    """Find pairs of documents that differ significantly, by the largest |t| of all.

    Args:
        strength: Strengths of documents.
        covariance: Covariance of the strengths.
        linked: Number of each document's set; votes link the documents of a set, and
            documents of two sets do not differ.
        freedom: Degrees of freedom of the covariance.
        level: Probability that none of the pairs is wrong.
        draws: Number of draws of the largest |t|.
        seed: Seed of the draws.
    """
    unlinked = linked[:, None] != linked
    n, variance = len(strength), covariance.diagonal()
    square = np.maximum(variance[:, None] + variance - 2 * covariance, 1e-300)
    error = np.sqrt(np.where(unlinked | np.eye(n, dtype=bool), np.inf, square))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    random = np.random.default_rng(seed)
    sets = [np.flatnonzero(linked == one) for one in np.unique(linked)]
    largest = []
    for done in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - done)
        drawn = random.standard_normal((size, n)) @ root.T
        drawn /= np.sqrt(random.chisquare(freedom, (size, 1)) / freedom)
        of_sets = [
            _largest(np.ascontiguousarray(drawn[:, one].T), error[np.ix_(one, one)])
            for one in sets
        ]
        largest.append(np.max(of_sets, axis=0))
    most = np.quantile(np.concatenate(largest), level)
    return np.abs(strength[:, None] - strength) / error > most


def _largest(
    drawn: Float64[np.ndarray, "n draws"], error: Float64[np.ndarray, "n n"]
) -> Float64[np.ndarray, " draws"]:
    """Return the largest |t| of all pairs of each draw.

    One document against all later ones at a time: all pairs at once leave the cache.
    """
    largest = np.zeros(drawn.shape[1])
    for i in range(len(drawn) - 1):
        t = np.abs(drawn[i + 1 :] - drawn[i]) / error[i, i + 1 :, None]
        np.maximum(largest, t.max(0), out=largest)
    return largest


class RankRanges(NamedTuple):
    """Ranges of ranks, 1 the best, and tiers that follow from significant pairs.

    If no significant pair is wrong, all of them hold together.

    Attributes:
        low: 1 plus the number of runs that are significantly better.
        high: Number of runs minus the number that are significantly worse.
        tier: Length of the longest row of runs that ends with the run, in which each is
            significantly better than the next: tier - 1 runs are truly better.
    """

    low: Int64[np.ndarray, " runs"]
    high: Int64[np.ndarray, " runs"]
    tier: Int64[np.ndarray, " runs"]


def places(different: Different, means: Means) -> RankRanges:
    """Bound the true rank of each run by its significant pairs, and give it a tier.

    Runs of one tier are not significantly different, and a run of a lower tier is
    significantly below a run of the tier above.

    Args:
        different: Whether each two runs differ significantly; symmetric.
        means: Means of the runs.

    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, section 3.
    """
    means = np.asarray(means)
    better = np.asarray(different, bool) & (means[None, :] > means[:, None])
    low = 1 + better.sum(1)
    high = len(means) - better.sum(0)
    tier = np.ones(len(means), np.int64)
    for run in np.argsort(-means, kind="stable"):
        if better[run].any():
            tier[run] = 1 + tier[better[run]].max()
    return RankRanges(low, high, tier)


def rank_columns(different: Different | None, means: Means) -> dict[str, pd.Series]:
    """Lay `places` out as rank_low, rank_high and tier; empty where pairs are None."""
    none = np.full((3, len(means)), None)
    ranges = none if different is None else places(different, means)
    names = ("rank_low", "rank_high", "tier")
    return {n: pd.Series(x, dtype="Int64") for n, x in zip(names, ranges, strict=True)}
