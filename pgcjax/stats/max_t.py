"""Moderated bootstrap-t max-T: which pairs of a family differ, all pairs together.

The statistic of a pair is T = mean / √(se² + s²), where mean and se² are of its
differences query by query, and s² is the mean of se² over the pairs of the family that
are not identical. Whole queries are resampled, for all runs together. In a resample T*
is centred at the observed means, and its se*² and s*² are those of the resample. The
largest |T*| of the family is what a |T| is compared with: p is for the family as a
whole, and depends on the runs that are in it.

The family is all pairs, or those with baselines alone. Of one pair s² is its own se²: T
is Student's t by √2, and the test is the studentised bootstrap.

0/0 is 0, and c/0 is infinite, as in the limits of Student's t. Statistics that differ
by rounding alone are equal, and a T* that equals T counts.

A device finds by float32 which pairs may have the largest |T*| of a resample; numpy
computes T* of these few in float64, runs in the order of their scores. So neither the
order of runs, nor the cut of the work, nor the kind of device changes a result.

Source: the max-T of Westfall and Young 1993, and of Romano and Wolf 2005, with the
bootstrap-t of Hall 1992 and a variance moderated by the family's (Tusher et al. 2001;
Smyth 2004). docs/significance-evidence.md has what was simulated.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.runtime.devices import at
from pgcjax.stats import paired_counts, resample
from pgcjax.stats.resample import Weights, WholeScores
from pgcjax.stats.tests import OfPairs, RunPairs, differences

TIE = 1e-9
"""Statistics that differ by no more, relatively, are equal."""

_TOGETHER = 2**16  # pairs of which bounds are held together
_EXACT = 2**19  # numbers of each array in float64: they stay near the processor
_UNIT = 2.0**-24  # unit of rounding in float32
_LEAST = 1e-13  # a variance that is less than this share of the squares is 0
_ROUNDED = 2.0  # differences of whole scores, less their mean, that are rounding

Largest = Float64[np.ndarray, " resamples"]


def observed(
    family: "Family", scores: WholeScores, pairs: RunPairs
) -> tuple[OfPairs, OfPairs]:
    """Compute the moderated statistic of each pair of a family.

    Returns:
        |T| of each pair, less what may be rounding; infinite where all differences are
        equal, and so are those of all other pairs. And √(se² + s²) of each pair, more
        what may be rounding: so much less than it times T* is no larger than T*.
    """
    x, queries = scores.values, scores.values.shape[1]
    total, squares = np.zeros(len(pairs[0])), np.zeros(len(pairs[0]))
    for block, z in differences(x, pairs):
        total[block] = z.sum(1)
        w = z - total[block, None] / queries
        w[np.abs(w) <= _ROUNDED] = 0.0
        squares[block] = (w * w).sum(1)
    total[np.abs(total) <= scores.slack] = 0.0
    spread = squares + family.spread(np.ones((queries, 1)))[0]
    statistic = _statistic(total**2 / queries, spread, queries)
    unit = np.sqrt(spread / (queries * (queries - 1))) * scores.unit
    return statistic * (1 - TIE), unit / (1 - TIE)


def _statistic(
    top: Float64[np.ndarray, "..."], spread: Float64[np.ndarray, "..."], queries: int
) -> Float64[np.ndarray, "..."]:
    """Compute |T| of (Σz)² / queries and Σ(z - mean)², that of the family added."""
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (queries - 1) * top / spread
    return np.sqrt(np.where(top == 0, 0.0, square))


@dataclass(frozen=True)
class Family:
    """Pairs that are compared together, runs in the order of their scores.

    Attributes:
        scores: of the runs, ascending by their first score, then the next.
        pairs: of the family, ascending; those of runs with equal scores are one.
        every: the same with as many as there are.
        complete: whether every two runs are a pair.
        size: how many of `every` are not identical.
    """

    scores: WholeScores
    pairs: RunPairs
    every: RunPairs
    complete: bool
    size: int

    @classmethod
    def of(
        cls, scores: WholeScores, pairs: RunPairs, same: Bool[np.ndarray, " pairs"]
    ) -> "Family":
        """Sort runs by their scores, so that neither order nor names have an effect.

        Args:
            scores: Scores of all runs.
            pairs: Distinct pairs of runs.
            same: Whether the runs of a pair are identical.
        """
        _, place = np.unique(scores.values, axis=0, return_inverse=True)
        order = np.argsort(place, kind="stable")
        rank, runs = np.argsort(order, kind="stable"), len(order)
        sides = rank[np.stack(pairs)]
        every = np.sort(sides.min(0) * runs + sides.max(0))
        first = np.searchsorted(place[order], place[order])  # of each group of equals
        low, high = (first[side] for side in divmod(every, runs))
        codes = np.sort((low * runs + high)[low != high])
        codes = codes[np.diff(codes, prepend=-1) > 0]
        return cls(
            WholeScores(scores.values[order], scores.unit, scores.slack),
            divmod(codes, runs),
            divmod(every, runs),
            2 * len(every) == runs * (runs - 1),
            int(len(same) - same.sum()),
        )

    def spread(
        self, weights: Weights, part: slice = slice(None)
    ) -> Float64[np.ndarray, " resamples"]:
        """Compute the family's mean of Σ(z - mean)² over a part of each resample."""
        x, queries = self.scores.values[:, part], len(weights)
        total, size = x.sum(1, keepdims=True), max(1, self.size)
        squares = self._added(x - total / queries, _ROUNDED) @ weights / size
        # Sums of whole numbers are exact, whatever their order.
        sums = self._added(x @ weights - total, self.scores.slack) / size
        left = squares - sums / queries
        return np.where(left > _LEAST * squares, left, 0.0)

    def _added(
        self, x: Float64[np.ndarray, "runs columns"], least: float
    ) -> Float64[np.ndarray, " columns"]:
        """Add up, in each column, the squared differences of all pairs."""
        if self.complete:  # Σ (x - x')² is as many times Σ x² as there are runs
            x = x - x.mean(0)
            x[np.abs(x) <= least] = 0.0
            return len(x) * (x * x).sum(0)
        total = np.zeros(x.shape[1])
        for _, z in differences(x, self.every, max(1, _EXACT // x.shape[1])):
            z[np.abs(z) <= least] = 0.0
            total += (z * z).sum(0)
        return total


def largest(
    family: Family, weights: Weights, *, device: Any = None, budget: int = 2**28
) -> Largest:
    """Find the largest |T*| of a family in each resample.

    Args:
        family: Family of pairs.
        weights: Number of times that each resample holds each query.
        device: Device that computes; None takes the only one, or JAX's first.
        budget: Bytes that intermediate results may take.
    """
    queries, resamples = weights.shape
    spread, best = family.spread(weights), np.zeros(resamples)
    if not family.size:
        return best
    about, unit = resample.centred(family.scores.values)
    sums = about @ weights
    c, moved, counts = (a.astype(np.float32) for a in (about, sums, weights))
    scaled = spread / unit**2
    floor = np.maximum(scaled, 1e-30).astype(np.float32)
    placed = at((c, moved, counts, floor), device)
    ratios = partial(resample.program("largest_ratios"), *placed)
    step = resample.pairs_at_once(len(family.pairs[0]), resamples, budget)
    together = max(step, min(_TOGETHER, budget // (8 * resamples)) // step * step)
    # A norm of float32 is off by a share, and as each difference in it; so is a mean.
    with np.errstate(divide="ignore"):
        norm = 1 / np.sqrt(scaled)
    off = 4 * _UNIT * np.abs(sums).max(0) + 1e-12
    share = (queries + 64) * _UNIT + 4 * _UNIT * queries**0.5 * norm
    for low in range(0, len(family.pairs[0]), together):
        block, (first, second) = slice(low, low + together), family.pairs
        pairs = first[block], second[block]
        roots = np.sqrt(np.concatenate(resample.in_steps(ratios, step, *pairs)))
        # The largest so far, as what the device computes: T² is (Q - 1) r / (1 - r).
        with np.errstate(invalid="ignore"):
            reached = np.sqrt(queries * best / (queries - 1 + best))
        reached[np.isinf(best)] = np.sqrt(queries)
        highest = np.maximum(roots.max(0), reached)
        with np.errstate(invalid="ignore"):
            slack = 2 * (off * norm + share * highest)
        close = ~(roots < highest - slack)  # what is not a number is left open
        best = _exact(family, pairs, weights, spread, close, best)
    return np.sqrt(best)


def _exact(
    family: Family,
    pairs: RunPairs,
    weights: Weights,
    spread: Float64[np.ndarray, " resamples"],
    close: Bool[np.ndarray, "groups resamples"],
    best: Float64[np.ndarray, " resamples"],
) -> Float64[np.ndarray, " resamples"]:
    """Raise the largest T*² of each resample to those of groups of pairs."""
    x, slack = family.scores.values, family.scores.slack
    queries, count = len(weights), len(pairs[0])
    w = np.ascontiguousarray(weights.T)
    best = best.copy()
    open_groups, open_resamples = np.nonzero(close)
    step = max(1, _EXACT // (queries * paired_counts.GROUP))
    for low in range(0, len(open_groups), step):
        group, drawn = (
            each[low : low + step] for each in (open_groups, open_resamples)
        )
        places = group[:, None] * paired_counts.GROUP + np.arange(paired_counts.GROUP)
        a, b = (side[np.minimum(places, count - 1)] for side in pairs)
        z = x[a] - x[b]
        total = z.sum(2)
        weighed = w[drawn][:, None, :]
        mean = (z * weighed).sum(2) - total
        mean[np.abs(mean) <= slack] = 0.0
        z -= total[..., None] / queries
        z[np.abs(z) <= _ROUNDED] = 0.0
        z *= z
        z *= weighed
        squares = z.sum(2)
        top = mean * mean / queries
        left = squares - top
        left[left <= _LEAST * squares] = 0.0
        statistic = _statistic(top, left + spread[drawn][:, None], queries)
        np.maximum.at(best, drawn, statistic.max(1) ** 2)
    return best
