"""Moderated bootstrap-t max-T: a simultaneous test of all pairs of a family.

The statistic of a pair is T = mean / √(se² + s²), where mean and se² are those of the
differences z of its runs, query by query, and s² is the mean of se² over the pairs of
the family that are not identical. Queries are resampled, for all runs together. In a
resample, T* is centred at the observed mean, and se*² and s*² are computed from the
resample. Each |T| is compared with the largest |T*| of the family: p holds for the
family as a whole, and depends on the runs in it.

The family is all pairs, or only those with baselines. If it is a single pair, s² = se²:
then T is Student's t divided by √2, and the test is the studentised bootstrap.

0/0 is 0, and c/0 is infinite, as in the limits of Student's t. Statistics that differ
by rounding alone are equal, and a T* that equals T counts as reaching it.

A device finds in float32 which pairs may have the largest |T*| of a resample. numpy
computes T* of these few in float64, with runs in the order of their scores. So the
order of runs, the division of the work and the kind of device change no result.

Source: the max-T of Westfall and Young 1993, and of Romano and Wolf 2005, with the
bootstrap-t of Hall 1992 and a variance moderated by the family's (Tusher et al. 2001;
Smyth 2004). docs/significance-evidence.md has simulations.
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
"""Largest relative difference of statistics that count as equal."""

_TOGETHER = 2**16  # most pairs whose ratios are in memory together
_EXACT = 2**19  # numbers in each array of float64, which then fit a processor's cache
_UNIT = 2.0**-24  # largest relative error of rounding to float32
_LEAST = 1e-13  # a variance below this share of the sum of squares counts as 0
_ROUNDED = 2.0  # a difference of whole scores, less its mean, up to this counts as 0

Largest = Float64[np.ndarray, " resamples"]


def observed(
    family: "Family", scores: WholeScores, pairs: RunPairs
) -> tuple[OfPairs, OfPairs]:
    """Compute the moderated statistic of each pair of a family.

    Returns:
        |T| of each pair, decreased by the rounding error; infinite if the differences
        of each pair are constant, and those of this pair not 0. And √(se² + s²) of each
        pair as a difference of scores, increased by the rounding error.
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
    """Compute |T|, where top is (Σz)² / queries.

    spread is Σ(z - mean)² of the pair, plus the mean of that over the family.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (queries - 1) * top / spread
    return np.sqrt(np.where(top == 0, 0.0, square))


@dataclass(frozen=True)
class Family:
    """Pairs of runs that are compared together.

    Attributes:
        scores: Scores of the runs, which are in lexicographic order of their scores.
        pairs: Distinct pairs of the family, ascending; runs with equal scores count as
            one run.
        every: All pairs of the family, ascending.
        complete: Whether every two runs are a pair.
        size: Number of pairs in `every` whose runs differ in a score.
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
        """Sort runs by their scores, so that their order and names have no effect.

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
        # For each run, the first of the runs with the same scores.
        first = np.searchsorted(place[order], place[order])
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
        """Compute the mean of Σ(z - mean)² over the pairs of the family.

        Args:
            weights: Number of times that each resample holds each query.
            part: Columns of the queries to which the weights belong.
        """
        x, queries = self.scores.values[:, part], len(weights)
        total, size = x.sum(1, keepdims=True), max(1, self.size)
        squares = self._squared_differences(x - total / queries, _ROUNDED)
        squares = squares @ weights / size
        # Sums of whole numbers are exact in any order.
        moved = x @ weights - total
        sums = self._squared_differences(moved, self.scores.slack) / size
        spread = squares - sums / queries
        return np.where(spread > _LEAST * squares, spread, 0.0)

    def _squared_differences(
        self, x: Float64[np.ndarray, "runs columns"], least: float
    ) -> Float64[np.ndarray, " columns"]:
        """Sum, in each column, the squared differences of all pairs of the family.

        Differences up to `least`, or deviations from the mean of all runs, count as 0.
        """
        if self.complete:  # If Σ x = 0, Σ (x - x')² over all pairs is runs · Σ x²
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
    centred, unit = resample.centred(family.scores.values)
    sums = centred @ weights
    c, moved, counts = (a.astype(np.float32) for a in (centred, sums, weights))
    scaled = spread / unit**2
    floor = np.maximum(scaled, 1e-30).astype(np.float32)
    placed = at((c, moved, counts, floor), device)
    ratios = partial(resample.program("largest_ratios"), *placed)
    step = resample.pairs_at_once(len(family.pairs[0]), resamples, budget)
    together = max(step, min(_TOGETHER, budget // (8 * resamples)) // step * step)
    # Bounds of float32 errors: of Σw*, and, relatively, of its ratio to a norm.
    with np.errstate(divide="ignore"):
        inverse_norm = 1 / np.sqrt(scaled)
    sum_error = 4 * _UNIT * np.abs(sums).max(0) + 1e-12
    ratio_error = (queries + 64) * _UNIT + 4 * _UNIT * queries**0.5 * inverse_norm
    for low in range(0, len(family.pairs[0]), together):
        block, (first, second) = slice(low, low + together), family.pairs
        pairs = first[block], second[block]
        roots = np.sqrt(np.concatenate(resample.in_steps(ratios, step, *pairs)))
        # The root of the ratio r of the largest T*² so far: T*² = (Q - 1) r / (Q - r).
        with np.errstate(invalid="ignore"):
            reached = np.sqrt(queries * best / (queries - 1 + best))
        reached[np.isinf(best)] = np.sqrt(queries)
        highest = np.maximum(roots.max(0), reached)
        with np.errstate(invalid="ignore"):
            slack = 2 * (sum_error * inverse_norm + ratio_error * highest)
        close = ~(roots < highest - slack)  # also true where a bound is NaN
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
    """Raise the largest T*² of each resample to the T*² of close groups of pairs.

    Args:
        family: Family of pairs.
        pairs: Pairs of which each `paired_counts.GROUP` in turn are a group.
        weights: Number of times that each resample holds each query.
        spread: Mean of Σ(z - mean)² over the pairs of the family.
        close: Whether a group may have the largest |T*| of a resample.
        best: Largest T*² of each resample so far.
    """
    x, slack = family.scores.values, family.scores.slack
    queries, count = len(weights), len(pairs[0])
    w = np.ascontiguousarray(weights.T)
    best = best.copy()
    open_groups, open_resamples = np.nonzero(close)
    step = max(1, _EXACT // (queries * paired_counts.GROUP))
    for low in range(0, len(open_groups), step):
        block = slice(low, low + step)
        group, drawn = open_groups[block], open_resamples[block]
        places = group[:, None] * paired_counts.GROUP + np.arange(paired_counts.GROUP)
        a, b = (side[np.minimum(places, count - 1)] for side in pairs)
        z = x[a] - x[b]
        total = z.sum(2)
        counts = w[drawn][:, None, :]
        sums = (z * counts).sum(2) - total
        sums[np.abs(sums) <= slack] = 0.0
        z -= total[..., None] / queries
        z[np.abs(z) <= _ROUNDED] = 0.0
        z *= z
        z *= counts
        squares = z.sum(2)
        top = sums * sums / queries
        variation = squares - top
        variation[variation <= _LEAST * squares] = 0.0
        statistic = _statistic(top, variation + spread[drawn][:, None], queries)
        np.maximum.at(best, drawn, statistic.max(1) ** 2)
    return best
