"""Between which values a difference of scores lies, whatever the answers still to come.

Arrays are of one query: a pair (i, j) stands for the answer that i is preferred to j.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from pgcjax.io.closure import transitive_closure

NOISE = 1e-12
"""Bounds that are nearer to 0 than sums of floats are exact decide nothing."""

Pairs = Float64[np.ndarray, "n n"]
Counts = Float64[np.ndarray, "n n"]
Open = Bool[np.ndarray, "n n"]
Ranks = Float64[np.ndarray, " n"]


class Share(NamedTuple):
    """A measure that divides what preferences give by what they could give, of a run.

    Attributes:
        credit: what the answer (i, j) gives: all that it could give, or nothing.
        room: what it could give: the same of (j, i); 0 where the divisor is fixed.
        fixed: the divisor, if it does not depend on the answers; else 0.
    """

    credit: Pairs
    room: Pairs
    fixed: float = 0.0

    def so_far(self, counts: Counts) -> tuple[float, float]:
        """Return score and divisor by the preferences that there are."""
        divisor = self.fixed or float((counts * self.room).sum())
        return _ratio(float((counts * self.credit).sum()), divisor), divisor

    def divisor(self, counts: Counts, unsettled: Open) -> float:
        """Return the divisor once every open pair has an answer that is no tie."""
        return self.so_far(counts)[1] + float((self.room * unsettled).sum() / 2)


def _ratio(over: float, under: float) -> float:
    return over / under if under else 0.0


class ComparedRuns(NamedTuple):
    """Runs on a query, and which of them are compared.

    Attributes:
        shares: of each run.
        pairs: the two runs of each comparison.
    """

    shares: Sequence[Share]
    pairs: Int[np.ndarray, "comparisons 2"]

    def only(self, chosen: Bool[np.ndarray, " comparisons"]) -> "ComparedRuns":
        """Keep these comparisons."""
        return ComparedRuns(self.shares, self.pairs[chosen])


def effects(
    compared: ComparedRuns, counts: Counts, unsettled: Open
) -> Float64[np.ndarray, "runs n n"]:
    """Return what each answer adds to each score once every pair is answered."""
    divisors = [run.divisor(counts, unsettled) or 1.0 for run in compared.shares]
    both = zip(compared.shares, divisors, strict=True)
    return np.stack([run.credit / divisor for run, divisor in both])


def leads(
    compared: ComparedRuns, gains: Float64[np.ndarray, "runs pairs"]
) -> Float64[np.ndarray, "comparisons pairs"]:
    """Subtract the gains of the second run of each comparison from the first one's."""
    one, other = compared.pairs.T
    return gains[one] - gains[other]


def stakes(compared: ComparedRuns, counts: Counts, unsettled: Open) -> Pairs:
    """Add up, over comparisons, by how much the answers to each open pair differ."""
    open_pairs = np.nonzero(np.triu(unsettled))
    adds, out = effects(compared, counts, unsettled), np.zeros(counts.shape)
    first, second = adds[:, *open_pairs], adds[:, *open_pairs[::-1]]
    out[open_pairs] = np.abs(leads(compared, first - second)).sum(0)
    return out + out.T


def share_bounds(
    compared: ComparedRuns, counts: Counts, unsettled: Open, *, may_tie: bool = False
) -> Float64[np.ndarray, "comparisons 2"]:
    """Bound the score of the first run of each comparison less that of the second.

    Each open pair gets the answer that helps the one run, or the other, regardless of
    whether these answers agree with each other.

    Args:
        compared: the runs.
        counts: how many preferences there are.
        unsettled: pairs that get an answer each, both ways.
        may_tie: an answer may be a tie, or never come.

    Source: Carterette et al. 2008, 5.3, early stopping rule.
    """
    if may_tie:
        ends = [_ends(run, counts, unsettled) for run in compared.shares]
        two = [(ends[i], ends[j]) for i, j in compared.pairs.tolist()]
        rows = [(-_most(b, a), _most(a, b)) for a, b in two]
        return np.array(rows).reshape(-1, 2)
    adds, open_pairs = effects(compared, counts, unsettled), np.triu(unsettled)
    first = adds[:, open_pairs]
    second = adds.swapaxes(1, 2)[:, open_pairs]
    fixed = (counts * adds).sum((1, 2)) + (first + second).sum(1) / 2
    middle = leads(compared, fixed[:, None])[:, 0]
    reach = np.abs(leads(compared, first - second)).sum(1) / 2
    return np.stack([middle - reach, middle + reach], axis=1)


class _Ends(NamedTuple):
    """What answers, ties among them, can make of the score of a run.

    Attributes:
        score: by the preferences that there are.
        divisors: now, and once every open pair has an answer that is no tie.
        least: score that answers can lead to.
        most: likewise.
        slopes: what either answer to each open pair gives, less `score` of its room.
    """

    score: float
    divisors: tuple[float, float]
    least: float
    most: float
    slopes: Float64[np.ndarray, "2 pairs"]


def _ends(run: Share, counts: Counts, unsettled: Open) -> _Ends:
    first, second = np.nonzero(np.triu(unsettled))
    credit = np.stack([run.credit[first, second], run.credit[second, first]])
    room = run.room[first, second]
    score, divisor = run.so_far(counts)
    best = credit.max(0)
    over, helps = score * divisor, float(room[best > 0].sum())
    whole = divisor + float(room.sum())
    most = _ratio(over + float(best.sum()), divisor + helps)
    slopes = credit - score * room
    return _Ends(score, (divisor, whole), _ratio(over, whole), most, slopes)


def _most(one: _Ends, other: _Ends) -> float:
    """Bound the difference from above where answers may be ties.

    Divisors vary with the ties. Where a score is C / M, and e is that by the answers
    so far, C / M = e + (sum over answers to come of credit - e room) / M. For given
    divisors the sum is greatest with the best answer to each pair; that greatest sum
    is convex in (1 / M, 1 / N), so no divisors exceed all four extreme ones.
    """
    apart = one.most - other.least
    if not one.divisors[0] or not other.divisors[0]:
        return apart
    sums = []
    for m in one.divisors:
        for n in other.divisors:
            gain = (one.slopes / m - other.slopes / n).max(0)
            sums.append(float(np.maximum(gain, 0.0).sum()))
    return min(apart, one.score - other.score + max(sums))


def blocks(counts: Counts, unsettled: Open) -> Int64[np.ndarray, " n"]:
    """Number blocks of documents that greedy PGC's ideal ranking keeps apart.

    A block is above the next if every pair across was answered, all for its document,
    each at least as often as any two documents below outdo each other (by now, or once
    they are answered: 1). Then the peel has no sink above while a document below is
    left, no source below while one above is left, and one above has the greatest
    outdegree - indegree. So every answer to the open pairs leaves blocks in this order.

    Args:
        counts: how many preferences there are, of all vertices.
        unsettled: pairs that get an answer each that is no tie, both ways.

    Returns:
        The block of each document, the first at the top.
    """
    n = len(counts)
    forced = (counts > 0) & (counts.T == 0) & ~unsettled
    reach = transitive_closure(~forced.T | np.eye(n, dtype=bool))
    level = n - reach.sum(1)  # a document at the top reaches all
    margin = np.maximum(np.abs(counts - counts.T), unsettled)
    block = np.zeros(n, np.int64)
    for edge in np.unique(level)[1:]:
        below = level >= edge
        across = counts[np.ix_(~below, below)].min()
        if across >= margin[np.ix_(below, below)].max():
            block[below] += 1
    return block


def overlap_bounds(
    block: Int64[np.ndarray, " n"], ranks: Ranks, weights: Int64[np.ndarray, " depth_1"]
) -> tuple[int, int]:
    """Bound the sum of RBO weights of a run and any ranking that keeps blocks in order.

    A document adds the weight of the lower of its two ranks. By exchange of two
    documents, no order of a block adds more than that of the run, and none adds less
    than its reverse.

    Args:
        block: of each document, as of `blocks`.
        ranks: 0-based in the run; infinite if not retrieved.
        weights: of `rank_weights`.
    """
    depth, n = len(weights) - 1, len(block)
    place = np.arange(n)
    ends = []
    for sign in (-1, 1):
        order = np.lexsort((sign * -ranks, block))
        lower = np.minimum(np.maximum(ranks[order], place), depth).astype(np.int64)
        ends.append(int(weights[lower].sum()))
    return min(ends), max(ends)
