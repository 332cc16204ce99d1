"""Bounds of differences of scores that hold whatever the open answers will be.

Arrays belong to one query; the pair (i, j) is the answer that i is preferred to j.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from pgcjax.asking.pools import Pool
from pgcjax.errors import UsageError
from pgcjax.io.choices import MEANS
from pgcjax.io.closure import transitive_closure
from pgcjax.measures.catalogue import parse
from pgcjax.measures.measure import Measure
from pgcjax.measures.preference import WPref

NOISE = 1e-12
"""Tolerance: bounds closer to 0 than this rounding error decide nothing."""

SHARES = ("ppref", "rpref", "fpref", "wpref")
"""Measures that are shares of preferences, whose bounds are sums over pairs."""

Counts = Float64[np.ndarray, "n n"]
Open = Bool[np.ndarray, "n n"]
Bounds = Float64[np.ndarray, "comparisons 2"]


def asked_measure(text: Any, *, only: Sequence[str] = (*SHARES, "PGC")) -> Measure:
    """Read the measure by which runs are compared.

    Raises:
        UsageError: the measure, or one of its settings, has no provable bounds.
    """
    measure = parse(text)
    if measure.name not in only:
        raise UsageError(f"{measure}: expected {', '.join(only[:-1])} or {only[-1]}")
    usual = {"graph": "real", "closure": False, "ties": "doc_id"}
    for name, value in usual.items():
        if measure.parameters.get(name, value) != value:
            written = str(value).lower()
            raise UsageError(f"{measure}: expected {name}={written}, the default")
    if measure.mean != MEANS[0]:
        raise UsageError(f"{measure}: expected the arithmetic mean over queries")
    return measure


class ComparedRuns(NamedTuple):
    """Runs of a query, scored by a share of its preferences, and their comparisons.

    A run's score is its credit, summed over preferences, divided by its room, likewise.

    Attributes:
        credit: Value of the answer (i, j) for a run: its whole room, or 0.
        room: Largest value of the answer, equal for (i, j) and (j, i); 0 where the
            divisor is fixed.
        fixed: Divisor, if it does not depend on the answers; else 0.
        pairs: The two runs of each comparison.
    """

    credit: Float64[np.ndarray, "runs n n"]
    room: Float64[np.ndarray, "runs n n"]
    fixed: float
    pairs: Int[np.ndarray, "comparisons 2"]

    @classmethod
    def of(
        cls, measure: Measure, pool: Pool, pairs: Int[np.ndarray, "comparisons 2"]
    ) -> "ComparedRuns":
        """Split a measure of `SHARES` into credit and room of pairs, for each run."""
        q = measure.parameters
        cut = inf if q["k"] is None else q["k"]
        ranks = np.where(pool.ranks < cut, pool.ranks, inf)
        above = (ranks[:, :, None] < ranks[:, None, :]).astype(np.float64)
        either = np.maximum(above, above.swapaxes(1, 2))
        if measure.name == "ppref":
            return cls(above, either, 0.0, pairs)
        if measure.name == "rpref":
            return cls(above, np.ones_like(either), 0.0, pairs)
        if measure.name == "fpref":
            return cls(2 * above, either + 1, 0.0, pairs)
        # Documents that are not retrieved have place 0, which weighs nothing.
        place = np.where(np.isfinite(ranks), ranks + 1, 0).astype(np.int64)
        weight = cast(WPref, measure).weights(int(place.max(initial=0)))[place]
        choose = np.minimum if q["weight"] == "lower" else np.maximum
        weights = choose(weight[:, :, None], weight[:, None, :])
        if not q["normalize"]:
            return cls(above * weights, np.zeros_like(weights), 1.0, pairs)
        return cls(above * weights, either * weights, 0.0, pairs)

    def only(self, chosen: Bool[np.ndarray, " comparisons"]) -> "ComparedRuns":
        """Keep these comparisons."""
        return self._replace(pairs=self.pairs[chosen])

    def scores(
        self, counts: Counts
    ) -> tuple[Float64[np.ndarray, " runs"], Float64[np.ndarray, " runs"]]:
        """Return scores and divisors by the answers so far."""
        given, divisor = (
            (counts * part).reshape(len(part), -1).sum(1)
            for part in (self.credit, self.room)
        )
        divisor = np.full_like(given, self.fixed) if self.fixed else divisor
        return _ratio(given, divisor), divisor

    def effects(
        self, counts: Counts, unsettled: Open
    ) -> Float64[np.ndarray, "runs n n"]:
        """Return what each answer adds to each score once every pair is answered."""
        to_come = (self.room * unsettled).reshape(len(self.room), -1).sum(1) / 2
        divisor = self.scores(counts)[1] + to_come
        return self.credit / np.where(divisor, divisor, 1.0)[:, None, None]

    def leads(self, gains: np.ndarray) -> np.ndarray:
        """Subtract the second run of each comparison from the first one."""
        one, other = self.pairs.T
        return gains[one] - gains[other]


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.divide(over, under, out=np.zeros_like(over), where=under != 0)


def stakes(compared: ComparedRuns, counts: Counts, unsettled: Open) -> Counts:
    """Sum, over comparisons, the difference that the answer to each open pair makes."""
    open_pairs = np.nonzero(np.triu(unsettled))
    adds, out = compared.effects(counts, unsettled), np.zeros(counts.shape)
    first, second = adds[:, *open_pairs], adds[:, *open_pairs[::-1]]
    out[open_pairs] = np.abs(compared.leads(first - second)).sum(0)
    return out + out.T


def implied_gain(stakes: Counts, above: Counts) -> Counts:
    """Add up the stakes of all pairs that an answer settles.

    `A > B` settles each open pair i > j where i is A or above it, and j is B or below:
    (A, B) itself, pairs of A, pairs of B, and cross pairs. A pair of documents with
    chains in both directions settles only itself: a contradiction implies nothing.

    Args:
        stakes: Stake of each open pair, at (i, j) and at (j, i); 0 for other pairs.
        above: 1 where a chain of preferences leads from the row's document to the
            column's, and on the diagonal; without inference, the unit matrix.

    Returns:
        Gain of the answer that the row's document is preferred to the column's.

    Source: the gain of Carterette et al. 2008, 5.3, completed: the printed one omits
    the cross pairs, and counts settled pairs again.
    """
    both = above * above.T
    return both * stakes + (1 - both) * (above.T @ stakes @ above.T)


def share_bounds(
    compared: ComparedRuns, counts: Counts, unsettled: Open, *, may_tie: bool = False
) -> Bounds:
    """Bound the score of the first run of each comparison less that of the second.

    For each bound, every open pair gets the answer that is best for one of the two
    runs, even if these answers contradict each other.

    Args:
        compared: Runs and their comparisons.
        counts: Number of preferences for the row's document over the column's.
        unsettled: Pairs that will get an answer each, both ways.
        may_tie: Whether an answer may be a tie, or never come.

    Source: Carterette et al. 2008, 5.3, early stopping rule.
    """
    if may_tie:
        return _bounds_with_ties(compared, counts, unsettled)
    adds, open_pairs = compared.effects(counts, unsettled), np.triu(unsettled)
    first = adds[:, open_pairs]
    second = adds.swapaxes(1, 2)[:, open_pairs]
    fixed = (counts * adds).sum((1, 2)) + (first + second).sum(1) / 2
    middle = compared.leads(fixed)
    reach = np.abs(compared.leads(first - second)).sum(1) / 2
    return np.stack([middle - reach, middle + reach], axis=1)


def _bounds_with_ties(
    compared: ComparedRuns, counts: Counts, unsettled: Open
) -> Bounds:
    """Bound differences where answers may be ties, so that divisors vary.

    If a score is C / M, and e is the score from the answers so far, then C / M = e +
    (sum of credit - e room over answers to come) / M. For fixed divisors M and N of the
    two runs, the best answer to each pair maximizes the difference. This maximum is
    convex in (1 / M, 1 / N), so it is greatest at one of the four extremes: each
    divisor as it is now, or once every pair has an answer that is no tie.
    """
    first, second = np.nonzero(np.triu(unsettled))
    credit = np.stack([[c[first, second], c[second, first]] for c in compared.credit])
    room = np.stack([r[first, second] for r in compared.room])
    score, now = compared.scores(counts)
    best, over = credit.max(1), score * now
    helps = np.array([r[b > 0].sum() for r, b in zip(room, best, strict=True)])
    whole = now + room.sum(1)
    least, most = _ratio(over, whole), _ratio(over + best.sum(1), now + helps)
    slopes = credit - score[:, None, None] * room[:, None]

    def highest(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        apart, sums = most[one] - least[other], []
        for m in (now, whole):
            for n in (now, whole):
                rises = [
                    slopes[i] / np.where(d, d, 1.0)[i][:, None, None]
                    for i, d in ((one, m), (other, n))
                ]
                gain = (rises[0] - rises[1]).max(1)
                sums.append(np.maximum(gain, 0.0).sum(1))
        bound = score[one] - score[other] + np.max(sums, axis=0)
        begun = (now[one] > 0) & (now[other] > 0)
        return np.where(begun, np.minimum(apart, bound), apart)

    one, other = compared.pairs.T
    return np.stack([-highest(other, one), highest(one, other)], axis=1)


def blocks(counts: Counts, unsettled: Open) -> Int64[np.ndarray, " n"]:
    """Number blocks of documents whose order in greedy PGC's ideal ranking is certain.

    An edge between blocks is where all answers to pairs across it prefer the upper
    document, and each such pair has at least as many answers as the largest lead among
    documents below (now, or 1 once an open pair is answered). Then the peel finds no
    sink above the edge while documents below are left, no source below while documents
    above are left, and the greatest outdegree - indegree above. So every answer to the
    open pairs leaves the blocks in this order.

    Args:
        counts: Number of preferences between all vertices.
        unsettled: Pairs that will get an answer each that is no tie, both ways.

    Returns:
        The block of each document; block 0 is at the top.
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
    block: Int64[np.ndarray, " n"],
    ranks: Float64[np.ndarray, " n"],
    weights: Int64[np.ndarray, " depth_plus_1"],
) -> tuple[int, int]:
    """Bound the sum of RBO weights of a run and any ranking that keeps blocks in order.

    Each document adds the weight of the lower of its two ranks. An exchange argument
    shows that within a block the run's order adds most, and its reverse adds least.

    Args:
        block: Block of each document, from `blocks`.
        ranks: 0-based ranks in the run; infinite if not retrieved.
        weights: Weights from `rank_weights`.
    """
    depth, place = len(weights) - 1, np.arange(len(block))
    ends = []
    for sign in (-1, 1):
        order = np.lexsort((sign * -ranks, block))
        lower = np.minimum(np.maximum(ranks[order], place), depth).astype(np.int64)
        ends.append(int(weights[lower].sum()))
    return min(ends), max(ends)
