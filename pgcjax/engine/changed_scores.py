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
_BEAM = 3  # most sets of each size from which a search continues
_BEAM_WORK = 1e7  # largest work of adding a change to these sets
_ROUNDING = 1e-9  # rounding error of a sum of weights that is 0
_AT_ONCE = 2**20  # most sets in memory

Sets = Int[np.ndarray, "sets changes"]
"""Numbers of the changes in each set; -1 is no change."""


class ChangedVotes(NamedTuple):
    """Counts of the votes of a query, before and after changes of judgments.

    Equal judgments share one change, which can be made several times.

    Attributes:
        counts: Count of each vote before changes.
        times: How often each change can be made.
        fewer: `fewer[c, i]` counts once less if change c is made for the i-th time.
        more: `more[c, i]` counts once more; None if judgments are removed.
    """

    counts: Int[np.ndarray, " votes"]
    times: Int[np.ndarray, " changes"]
    fewer: Int[np.ndarray, "changes times"]
    more: Int[np.ndarray, "changes times"] | None

    def after(self, sets: Sets) -> Counts:
        """Count votes after each set of changes."""
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
    """Differences of two runs on a query, after sets of changes of judgments.

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
        """Lay out two runs, and score them before changes.

        Args:
            graphs: Graphs of this query alone.
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
        # A normalised score is largest for a graph of one document.
        self._most = np.minimum(1, tensors.finish(np.array(sums), np.ones(2, int)))
        self.difference = float(self.differences(np.zeros((1, 0), int))[0])

    def differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        """Score both runs after each set of changes; 0 if no judgment is left."""
        if not self.size or not len(sets):
            return np.zeros(len(sets))
        # At least a block of sets is scored, so that few sets need no other program.
        variants = Variants(
            range(max(BLOCK, len(sets))), lambda _, part: self.votes.after(sets[part])
        )
        scores = VariantScores(self._graphs, variants).score(self._rankings)
        scores = np.nan_to_num(scores[: len(sets), 0, :, 0])
        return scores[:, 0] - scores[:, 1]

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences by any judgments, for any number of changes.

        A score is at most that with the run's own order as the ideal ranking.
        """
        del changes
        return -float(self._most[1]), float(self._most[0])


class ChangedShares:
    """Differences of two runs on a query for measures that are ratios of sums.

    Attributes are those of `ChangedQuery`.
    """

    def __init__(
        self,
        member: Member,
        query: str,
        votes: ChangedVotes,
        pairs: Any,
        rankings: list[list[str]],
    ):
        """Compute the sums of two runs, and how much each change subtracts from them.

        Args:
            member: Measure and its tensors.
            query: Name of the query.
            votes: Votes of the query.
            pairs: Better and worse document of the judgment of each change.
            rankings: Documents of the two runs, best first.
        """
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
        denominator = self._sums[:, 1]
        denominator[denominator == 0] = 1  # no ratio, or no judgment that counts
        self.difference = float(self.differences(np.zeros((1, 0), int))[0])

    def differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        """Score both runs after each set of changes."""
        sums = np.repeat(self._sums[..., None], len(sets), axis=-1)
        taken = np.pad(self._taken, [(0, 0), (0, 0), (0, 1)])  # 0 for the number -1
        for change in sets.T:
            sums -= taken[..., change]
        numerator, denominator = sums.transpose(1, 0, 2)
        valid = denominator > _ROUNDING
        score = np.where(valid, numerator / np.where(valid, denominator, 1), 0.0)
        return score[0] - score[1]

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences that a number of changes can make.

        Changes that subtract a from the numerator and c from the denominator d of a
        score s lower the score by (a - s c) / (d - c). Its numerator is a sum over
        changes; the smallest and largest values of d - c are known.
        """
        fall, rise = (self._most(*runs, changes) for runs in ((0, 1), (1, 0)))
        return self.difference - fall, self.difference + rise

    def _most(self, falls: int, rises: int, changes: int) -> float:
        """Bound the fall of one run's score plus the rise of the other run's."""
        numerator, denominator = self._sums.T
        score, gain = numerator / denominator, np.zeros(len(self.times))
        whole = float(score[falls] + 1 - score[rises])  # shares are from 0 to 1
        for run, sign in ((falls, 1), (rises, -1)):
            slope = sign * (self._taken[run, 0] - score[run] * self._taken[run, 1])
            least = denominator[run] - self._top(self._taken[run, 1], changes)
            if least <= _ROUNDING:
                return whole
            gain += np.maximum(slope / denominator[run], slope / least)
        most = self._top(gain, changes)
        return min(most, whole) if self._taken[:, 1].any() else most

    def _top(self, values: np.ndarray, changes: int) -> float:
        """Add up the largest positive values of so many changes, given one of each."""
        descending = -np.sort(-np.repeat(np.maximum(values, 0), self.times))
        return float(descending[:changes].sum())


class Relaxation(NamedTuple):
    """A sum over queries of slope d + bend d² that must rise to overturn a conclusion.

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
    """Extreme differences after changes of a query: the best found, and bounds.

    Attributes:
        query: Query with its changes.
        extremes: Lowest and highest difference that was found with at most 0, 1, …
            changes, each with its set of changes.
        most: Number of changes that can be made.
        exact: Number of changes up to which all sets were scored.
        work: Work of scoring so far: number of sets times documents squared.
    """

    def __init__(self, query: ChangedQuery | ChangedShares, remain: int = 0):
        """Score no changes; at least `remain` judgments have to remain unchanged."""
        self.query, self.exact, self.work = query, 0, 0
        start = query.difference, np.zeros(0, int)
        self.extremes = [(start, start)]
        # By number of changes: greedy difference, and sets, the greedy one first.
        self._beams = {side: [(start[0], start[1][None])] for side in (LOW, HIGH)}
        per_set = max(1, self.query.size**2 * len(query.times))
        self._width = int(min(max(_BEAM_WORK // per_set, 1), _BEAM))
        self.most = max(0, int(query.times.sum()) - remain)
        self._reach: list[tuple[float, float]] = []

    def score(self, sets: Sets) -> np.ndarray:
        """Score sets with the same number of changes, and keep the extremes."""
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
        """Differences after each change alone."""
        return self.score(np.arange(len(self.query.times))[:, None])

    def next_cost(self) -> float:
        """Return the work of `enumerate`; 0 if no more changes can be made."""
        if self.exact >= self.most:
            return 0
        level = self.exact + 1
        return comb(len(self.query.times) + level - 1, level) * self.query.size**2

    def enumerate(self) -> None:
        """Score all sets with one change more than `exact`."""
        level = self.exact + 1
        if level == 1:
            assert len(self.single)  # this property scores all sets of one change
            self.exact = 1
            return
        sets = np.zeros((1, 0), int)
        for _ in range(level - 1):
            sets = _grown(sets, self.query.times, ascending=True)
        step = max(1, _AT_ONCE // max(1, len(self.query.times)))
        for low in range(0, len(sets), step):
            larger = _grown(sets[low : low + step], self.query.times, ascending=True)
            if len(larger):
                self.score(larger)
        self.exact = level

    def chain(self, side: int, level: int) -> tuple[float, np.ndarray]:
        """Return the greedy set of `level` changes, and its difference.

        The greedy set is the greedy set of one change less, and the change that is best
        with it. All sets of a beam are extended, so that `extremes` gets other sets,
        too. The difference is infinite if `level` changes cannot be made.
        """
        beams, times = self._beams[side], self.query.times
        while len(beams) <= min(level, self.most):
            before = beams[-1][1]
            sets = _grown(before, times)
            value = side * (self.single if len(beams) == 1 else self.score(sets))
            first = int(value[: len(_grown(before[:1], times))].argmax())
            order = np.argsort(-value, kind="stable")
            _, once = np.unique(np.sort(sets[order], 1), axis=0, return_index=True)
            beam = order[np.sort(once)][: self._width]
            best = sets[[first, *beam[beam != first]]]
            beams.append((float(side * value[first]), best))
        if level >= len(beams):
            return -side * np.inf, np.zeros(0, int)
        return beams[level][0], beams[level][1][0]

    def gains(self, by: Relaxation, most: int, proven: bool) -> np.ndarray:
        """Return by how much 0, 1, … changes raise the sum of a relaxation.

        Args:
            by: Relaxation.
            most: Largest number of changes.
            proven: Whether to return upper bounds; else values of sets that were found.
                Bounds for more than `exact` changes come from `reach`.
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
        """Return the best difference with so many changes at most, and their set."""
        extremes = self.extremes[min(changes, len(self.extremes) - 1)]
        return max(extremes, key=lambda x: by.value(x[0]))


def _grown(sets: Sets, times: np.ndarray, ascending: bool = False) -> Sets:
    """Add each change to each set, unless it cannot be made once more.

    Args:
        sets: Sets of changes.
        times: How often each change can be made.
        ascending: Whether to keep changes ascending, so that no set is listed twice.
    """
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
