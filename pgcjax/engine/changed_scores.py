"""Effect of few changed judgments of a query on the difference of two runs."""

from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from pgcjax.engine.score_parts import laid_out
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.judging.variants import BLOCK, Counts, Variants
from pgcjax.kernels import ABSENT

LOW, HIGH = -1, 1
_BEAM = 3  # sets from which a search goes on, and fewer of large queries
_BEAM_WORK = 1e7
_AT_ONCE = 2**20  # sets in memory

Sets = Int[np.ndarray, "sets changes"]
"""Changes of each set, by number; those behind the last are -1."""


class ChangedVotes(NamedTuple):
    """Votes of a query that count, before and after changes of judgments.

    Judgments that say the same are one change, which can be made several times.

    Attributes:
        counts: how often each vote counts as it is.
        times: how often each change can be made.
        fewer: the vote that counts once less, by change and time.
        more: the one that counts once more; None if judgments are removed.
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
    """Differences of two runs on a query, by which judgments are changed.

    Attributes:
        votes: of the query.
        times: how often each change can be made.
        size: number of documents.
        difference: of the two scores as they are.
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
            graphs: of the query alone.
            query: its name.
            votes: its votes.
            rankings: the documents of the two runs, best first.
        """
        self._graphs, self.votes, self.times = graphs, votes, votes.times
        (docs,), (edges,) = graphs.member.tensors.docs.values(), graphs.edges
        self.size = len(docs)
        self._rankings = laid_out(graphs.member, {query: rankings})
        self._weights = np.asarray(graphs.member.tensors.weights)
        self._ranks = [_ranks(docs, ranking) for ranking in rankings]
        self._judgments = np.zeros(self.size)
        if edges is not None:
            likely = edges.vote[: edges.likely]
            for side in edges.pairs[: edges.likely].T:
                np.add.at(self._judgments, side, votes.counts[likely])
            # Graded documents are there without a judgment.
            self._judgments[edges.graded] = np.inf
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

    def vanishing(self, removed: int) -> int:
        """Bound how many documents lose all judgments, of which each has two."""
        return int((self._vanish <= 2 * removed).sum())

    @cached_property
    def _vanish(self) -> Float64[np.ndarray, " n"]:
        return np.cumsum(np.sort(self._judgments))

    def reach(self, vanish: int) -> tuple[float, float]:
        """Bound the differences that any judgments of these documents can make.

        A document adds the smaller of the weights of its two ranks, which is
        supermodular: the least sum has both orders opposed, the largest one is that of
        the run's own order.

        Args:
            vanish: how many documents may lose all their judgments, at most.
        """
        least, most = zip(
            *(self._range(rank, vanish) for rank in self._ranks), strict=True
        )
        return least[0] - most[1], most[0] - least[1]

    def _range(self, rank: np.ndarray, vanish: int) -> tuple[float, float]:
        rank = np.sort(np.minimum(rank, len(self._weights) - 1))
        last = np.arange(self.size)[::-1]
        sums = np.array([np.minimum(self._weights[rank], self._weights[last]).sum()])
        sums = np.append(sums, self._weights[rank].sum())
        # With those that are gone behind the others, the least sum is a bound; each of
        # them adds to it the weight of its rank in the run at most.
        sums[0] = max(0, sums[0] - np.sort(self._weights[rank])[::-1][:vanish].sum())
        sizes = np.arange(max(0, self.size - vanish), self.size + 1)
        scores = self._graphs.member.tensors.finish(
            *np.broadcast_arrays(sums[:, None], sizes)
        )
        scores = np.where(sizes > 0, scores, 0.0)
        return float(scores[0].min(initial=0.0)), float(scores[1].max(initial=0.0))


class Relaxation(NamedTuple):
    """A sum over queries of slope d + bend d², whose rise overturns what is asked.

    Attributes:
        slope: of the difference d of a query.
        bend: of its square.
        need: how far the sum has to rise.
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
        query: the query.
        extremes: by number of changes, the lowest and the highest difference that was
            found, each with its set of changes.
        most: how many changes can be made.
        exact: up to how many changes all sets were scored.
        work: what scoring has cost so far: sets times the square of documents.
    """

    def __init__(self, query: ChangedQuery, vanish: bool, remain: int = 0):
        """Take a query.

        Args:
            query: the query.
            vanish: whether documents may lose all their judgments.
            remain: how many judgments are left as they are, at least.
        """
        self.query, self._vanish, self.exact, self.work = query, vanish, 0, 0
        start = query.difference, np.zeros(0, int)
        self.extremes = [(start, start)]
        self._beams = {side: [(start[0], start[1][None])] for side in (LOW, HIGH)}
        self.most = max(0, int(query.times.sum()) - remain)
        one = max(1, self.query.size**2 * len(query.times))
        self._width = int(min(max(_BEAM_WORK // one, 1), _BEAM))
        self._reach: dict[int, tuple[float, float]] = {}

    def score(self, sets: Sets) -> np.ndarray:
        """Score sets of equally many changes, and keep the extremes."""
        return self._keep(sets, self.query.differences(sets))

    def score_first(self, changes: Int[np.ndarray, " changes"]) -> np.ndarray:
        """Score the sets of the first, the first two, … changes."""
        first = np.tri(len(changes), dtype=bool)
        d = self.query.differences(np.where(first, changes, -1))
        for size in range(1, len(changes) + 1):
            self._keep(changes[None, :size], d[size - 1 : size])
        return d

    def _keep(self, sets: Sets, d: np.ndarray) -> np.ndarray:
        self.work += len(sets) * self.query.size**2
        while len(self.extremes) <= sets.shape[1]:
            self.extremes.append(self.extremes[-1])
        for i in range(sets.shape[1], len(self.extremes)):
            (low, _), (high, _) = extremes = self.extremes[i]
            least, most = int(d.argmin()), int(d.argmax())
            self.extremes[i] = (
                (float(d[least]), sets[least]) if d[least] < low else extremes[0],
                (float(d[most]), sets[most]) if d[most] > high else extremes[1],
            )
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

    def chain(self, side: int, level: int) -> tuple[float, np.ndarray] | None:
        """Return the greedy set of so many changes, and its difference; None if none.

        To the greedy set of one change less, the best change was added. The search goes
        on from it, and from the best sets that were found beside it.
        """
        beams = self._beams[side]
        while len(beams) <= min(level, self.most) and len(beams[-1][1]):
            before = beams[-1][1]
            sets = _grown(before, self.query.times)
            if not len(sets):
                beams.append((0.0, sets))
                break
            value = side * (self.single if len(beams) == 1 else self.score(sets))
            # Rows of the greedy set are in front.
            own = len(_grown(before[:1], self.query.times))
            order = np.argsort(-value, kind="stable")
            first = int(value[:own].argmax()) if own else int(order[0])
            _, once = np.unique(np.sort(sets[order], 1), axis=0, return_index=True)
            order = order[np.sort(once)][: self._width]
            best = sets[[first, *order[order != first]]]
            beams.append((float(side * value[first]), best))
        if level >= len(beams) or not len(beams[level][1]):
            return None
        difference, sets = beams[level]
        return difference, sets[0]

    def gains(self, by: Relaxation, most: int, proven: bool) -> np.ndarray:
        """Return by how much 0, 1, … changes raise a sum: what was found, or a bound.

        A bound is of all sets up to `exact` changes, then of any judgments at all.
        """
        start, out = by.value(self.query.difference), []
        levels = most if proven else min(most, len(self.extremes) - 1)
        for changes in range(min(levels, self.most) + 1):
            if proven and changes > self.exact:
                out.append(by.largest(*self.reach(changes)) - start)
            else:
                (low, _), (high, _) = self.extremes[changes]
                if proven:
                    out.append(max(by.value(low), by.value(high), start) - start)
                else:
                    out.append(max(by.value(low), by.value(high)) - start)
        return np.maximum.accumulate(np.maximum(out, 0))

    def reach(self, changes: int) -> tuple[float, float]:
        """Bound the differences that so many changes can make."""
        vanish = self.query.vanishing(changes) if self._vanish else 0
        if vanish not in self._reach:
            self._reach[vanish] = self.query.reach(vanish)
        return self._reach[vanish]

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
