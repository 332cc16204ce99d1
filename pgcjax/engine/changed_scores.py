"""Effect of few changed judgments of a query on the difference of two runs."""

from functools import cached_property
from math import comb
from operator import itemgetter
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float64, Int

from pgcjax.engine.batch import Member
from pgcjax.engine.score_parts import laid_out
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.judging.variants import BLOCK, Counts, Variants
from pgcjax.kernels import ABSENT
from pgcjax.measures.preference import OfPreferences

LOW, HIGH = -1, 1
_BEAM = 3  # sets from which a search goes on; fewer for large queries
_BEAM_WORK = 1e7
_ROUNDING = 1e-9  # rounding error of a sum of weights that is 0
_AT_ONCE = 2**20  # sets in memory

Sets = Int[np.ndarray, "sets changes"]
"""Changes of each set, by number; those behind the last are -1."""


class ChangedVotes(NamedTuple):
    """Votes of a query that count, before and after changes of judgments.

    Equal judgments share one change, which can be made several times.

    Attributes:
        counts: Count of each vote before changes.
        times: How often each change can be made.
        fewer: Vote that counts once less, by change and time.
        more: Vote that counts once more; None if judgments are removed.
    """

    counts: Int[np.ndarray, " votes"]
    times: Int[np.ndarray, " changes"]
    fewer: Int[np.ndarray, "changes times"]
    more: Int[np.ndarray, "changes times"] | None

    def after(self, sets: Sets) -> Counts:
        """Count votes as each set of changes leaves them."""
        counts = np.tile(self.counts, (len(sets), 1))
        for i in range(sets.shape[1]):
            rows = np.flatnonzero(sets[:, i] >= 0)
            change = sets[rows, i]
            before = (sets[rows, :i] == change[:, None]).sum(1)
            counts[rows, self.fewer[change, before]] -= 1
            if self.more is not None:
                counts[rows, self.more[change, before]] += 1
        return counts


class ChangedQuery:
    """Differences of two runs on a query, by set of changed judgments.

    Attributes:
        votes: Votes of the query.
        times: How often each change can be made.
        size: Number of documents.
        difference: Difference of the two scores before changes.
    """

    def __init__(
        self,
        graphs: VariantGraphs,
        query: str,
        votes: ChangedVotes,
        rankings: list[list[str]],
    ):
        """Lay out two runs.

        Args:
            graphs: Graphs of only this query.
            query: Name of the query.
            votes: Votes of the query.
            rankings: Documents of the two runs, best first.
        """
        self._graphs, self.votes, self.times = graphs, votes, votes.times
        (docs,), tensors = graphs.member.tensors.docs.values(), graphs.member.tensors
        self.size = len(docs)
        self._rankings = laid_out(graphs.member, {query: rankings})
        weights = np.asarray(tensors.weights)
        ranks = [_ranks(docs, ranking) for ranking in rankings]
        sums = [weights[np.minimum(rank, len(weights) - 1)].sum() for rank in ranks]
        # From a graph of one document, which has the largest normalised score.
        self._most = np.minimum(1, tensors.finish(np.array(sums), np.ones(2, int)))
        self.difference = float(self.differences(np.zeros((1, 0), int))[0])

    def differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        """Score both runs by each set of changes: 0 where no judgment is left."""
        if not self.size or not len(sets):
            return np.zeros(len(sets))
        # One program scores any number of sets: those of a block, at least.
        variants = Variants(
            range(max(BLOCK, len(sets))), lambda _, part: self.votes.after(sets[part])
        )
        scores = VariantScores(self._graphs, variants).score(self._rankings)
        scores = np.nan_to_num(scores[: len(sets), 0, :, 0])
        return scores[:, 0] - scores[:, 1]

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences that any judgments make: scores by the run's order."""
        del changes
        return -float(self._most[1]), float(self._most[0])


class ChangedShares:
    """Differences of two runs on a query by ratios of sums; see `ChangedQuery`."""

    def __init__(
        self,
        member: Member,
        query: str,
        votes: ChangedVotes,
        pairs: Any,
        rankings: list[list[str]],
    ):
        """Compute sums of two runs, and what each change (better, worse) subtracts."""
        measure, tensors = cast(OfPreferences, member.measure), member.tensors
        docs, judged = tensors.docs[query], tensors.arrays[query]
        self.votes, self.times, self.size = votes, votes.times, len(docs)
        changed, counted = np.searchsorted(docs, pairs), np.stack(judged[:2])
        sums, taken = [], []
        for ranking in rankings:
            rank = _ranks(docs, ranking) + 1.0
            rank[rank > (tensors.depth or ABSENT)] = np.inf

            def terms(pairs: np.ndarray, rank: np.ndarray = rank) -> np.ndarray:
                return np.array(measure.terms(*rank[pairs]), np.float64)

            sums.append(terms(counted) @ judged.wins)
            sums[-1] += terms(counted[::-1]) @ judged.losses
            taken.append(terms(changed))
            taken[-1] -= 0 if votes.more is None else terms(changed[::-1])
        self._sums, self._taken = np.array(sums), np.array(taken)  # [runs, terms, …]
        under = self._sums[:, 1]
        under[under == 0] = 1  # of sums alone, or where nothing counts
        self.difference = float(self.differences(np.zeros((1, 0), int))[0])

    def differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        """Score both runs by each set of changes."""
        sums = np.repeat(self._sums[..., None], len(sets), axis=-1)
        taken = np.pad(self._taken, [(0, 0), (0, 0), (0, 1)])  # nothing by change -1
        for change in sets.T:
            sums -= taken[..., change]
        over, under = sums.transpose(1, 0, 2)
        there = under > _ROUNDING
        score = np.where(there, over / np.where(there, under, 1), 0.0)
        return score[0] - score[1]

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences that a number of changes can make.

        Changes that take a from the numerator and c from the denominator d of a score s
        lower it by (a - s c) / (d - c). This is a sum over changes, except for d - c,
        whose smallest and largest values are known.
        """
        fall, rise = (self._most(*runs, changes) for runs in ((0, 1), (1, 0)))
        return self.difference - fall, self.difference + rise

    def _most(self, falls: int, rises: int, changes: int) -> float:
        """Bound by how much one score can fall and the other one rise, together."""
        over, under = self._sums.T
        score, gain = over / under, np.zeros(len(self.times))
        whole = float(score[falls] + 1 - score[rises])
        for run, sign in ((falls, 1), (rises, -1)):
            slope = sign * (self._taken[run, 0] - score[run] * self._taken[run, 1])
            least = under[run] - self._top(self._taken[run, 1], changes)
            if least <= _ROUNDING:
                return whole
            gain += np.maximum(slope / under[run], slope / least)
        most = self._top(gain, changes)
        return min(most, whole) if self._taken[:, 1].any() else most

    def _top(self, values: np.ndarray, changes: int) -> float:
        every = -np.sort(-np.repeat(np.maximum(values, 0), self.times))
        return float(every[:changes].sum())


class Relaxation(NamedTuple):
    """A sum over queries of slope d + bend d², whose rise overturns a conclusion.

    Attributes:
        slope: Coefficient of the difference d of a query.
        bend: Coefficient of d².
        need: How far the sum has to rise.
    """

    slope: float
    bend: float
    need: float

    def value(self, d: float) -> float:
        """Compute what a query with this difference adds to the sum."""
        return self.slope * d + self.bend * d * d

    def largest(self, low: float, high: float) -> float:
        """Compute the largest value of differences in an interval."""
        ends = [self.value(low), self.value(high)]
        if self.bend < 0:
            top = -self.slope / (2 * self.bend)
            ends.append(self.value(min(max(top, low), high)))
        return max(ends)


class ChangedScores:
    """Largest difference by changes of a query: found, and an upper bound.

    Attributes:
        query: Query with its changes.
        extremes: Lowest and highest difference that was found, by number of changes,
            each with its set of changes.
        most: Number of changes that can be made.
        exact: Number of changes up to which all sets were scored.
        work: Work of scoring so far: sets times the square of documents.
    """

    def __init__(self, query: ChangedQuery | ChangedShares, remain: int = 0):
        """Take a query, and the least number of judgments that remain unchanged."""
        self.query, self.exact, self.work = query, 0, 0
        start = query.difference, np.zeros(0, int)
        self.extremes = [(start, start)]
        self._beams = {side: [(start[0], start[1][None])] for side in (LOW, HIGH)}
        one = max(1, self.query.size**2 * len(query.times))
        self._width = int(min(max(_BEAM_WORK // one, 1), _BEAM))
        self.most = max(0, int(query.times.sum()) - remain)
        self._reach: list[tuple[float, float]] = []

    def score(self, sets: Sets) -> np.ndarray:
        """Score sets of equally many changes, and keep the extremes."""
        d = self.query.differences(sets)
        self.work += len(sets) * self.query.size**2
        while len(self.extremes) <= sets.shape[1]:
            self.extremes.append(self.extremes[-1])
        ends = [(float(d[i]), sets[i]) for i in (d.argmin(), d.argmax())]
        for i in range(sets.shape[1], len(self.extremes)):
            low, high = self.extremes[i]
            low = min(low, ends[0], key=itemgetter(0))
            self.extremes[i] = low, max(high, ends[1], key=itemgetter(0))
        return d

    @cached_property
    def single(self) -> np.ndarray:
        """Differences by each change alone."""
        return self.score(np.arange(len(self.query.times))[:, None])

    def next_cost(self) -> float:
        """Return the work of scoring all sets of one change more; 0 if none."""
        if self.exact >= self.most:
            return 0
        level = self.exact + 1
        return comb(len(self.query.times) + level - 1, level) * self.query.size**2

    def enumerate(self) -> None:
        """Score all sets of one change more."""
        level = self.exact + 1
        if level == 1:
            assert len(self.single)  # and so scored
            self.exact = 1
            return
        sets = np.zeros((1, 0), int)
        for _ in range(level - 1):
            sets = _grown(sets, self.query.times, ascending=True)
        step = max(1, _AT_ONCE // max(1, len(self.query.times)))
        for low in range(0, len(sets), step):
            some = _grown(sets[low : low + step], self.query.times, ascending=True)
            if len(some):
                self.score(some)
        self.exact = level

    def chain(self, side: int, level: int) -> tuple[float, np.ndarray]:
        """Return the greedy set of `level` changes, and its difference.

        It adds the best change to the greedy set of one change less. The search goes on
        from it, and from the best other sets that were found. The difference is
        infinite if fewer changes can be made.
        """
        beams, times = self._beams[side], self.query.times
        while len(beams) <= min(level, self.most):
            before = beams[-1][1]
            sets = _grown(before, times)
            value = side * (self.single if len(beams) == 1 else self.score(sets))
            first = int(value[: len(_grown(before[:1], times))].argmax())
            order = np.argsort(-value, kind="stable")
            _, once = np.unique(np.sort(sets[order], 1), axis=0, return_index=True)
            beside = order[np.sort(once)][: self._width]
            best = sets[[first, *beside[beside != first]]]
            beams.append((float(side * value[first]), best))
        if level >= len(beams):
            return -side * np.inf, np.zeros(0, int)
        return beams[level][0], beams[level][1][0]

    def gains(self, by: Relaxation, most: int, proven: bool) -> np.ndarray:
        """Return by how much 0, 1, … changes raise a sum: found values, or bounds.

        Up to `exact` changes a bound covers all sets, beyond them any judgments.
        """
        start, out = by.value(self.query.difference), []
        levels = most if proven else min(most, len(self.extremes) - 1)
        for changes in range(min(levels, self.most) + 1):
            ends = self.reach(changes) if proven and changes > self.exact else None
            low, high = ends or (d for d, _ in self.extremes[changes])
            best = by.largest(low, high) if proven else max(map(by.value, (low, high)))
            out.append(best - start)
        return np.maximum.accumulate(np.maximum(out, 0))

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences that a number of changes can make."""
        while len(self._reach) <= changes:
            self._reach.append(self.query.reach(len(self._reach)))
        return self._reach[changes]

    def best_set(self, by: Relaxation, changes: int) -> tuple[float, np.ndarray]:
        """Return the difference, and the set of changes, that gain most."""
        extremes = self.extremes[min(changes, len(self.extremes) - 1)]
        return max(extremes, key=lambda x: by.value(x[0]))


def _grown(sets: Sets, times: np.ndarray, ascending: bool = False) -> Sets:
    """Add each change to each set, as often as it can be made."""
    changes = np.tile(np.arange(len(times)), len(sets))
    sets = np.column_stack([np.repeat(sets, len(times), axis=0), changes])
    fits = (sets[:, :-1] == changes[:, None]).sum(1) < times[changes]
    if ascending and sets.shape[1] > 1:
        fits &= sets[:, -2] <= changes
    return sets[fits]


def _ranks(docs: np.ndarray, ranking: list[str]) -> Int[np.ndarray, " n"]:
    """Find the 0-based rank of each vertex in a run, `ABSENT` if not retrieved."""
    rank = {doc: i for i, doc in reversed([*enumerate(ranking)])}
    return np.array([rank.get(doc, ABSENT) for doc in docs.tolist()], np.int64)
