"""How far few changed judgments of a query move the difference of two runs."""

from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np

from pgcjax.engine.changed_graphs import ChangedQuery, Sets

LOW, HIGH = -1, 1
_BEAM = 3  # sets from which a search goes on, and fewer of large queries
_BEAM_WORK = 1e7
_AT_ONCE = 2**20  # sets in memory


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
    """What changes of a query can make of its difference: found, and at most.

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
        self._beams = {LOW: [start[1][None]], HIGH: [start[1][None]]}
        self.most = max(0, int(query.times.sum()) - remain)
        one = max(1, self.query.size**2 * len(query.times))
        self._width = int(min(max(_BEAM_WORK // one, 1), _BEAM))
        self._reach: dict[int, tuple[float, float]] = {}

    def score(self, sets: Sets) -> np.ndarray:
        """Score sets of equally many changes, and keep the extremes."""
        d = self.query.differences(sets)
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

    def chain(self, side: int, level: int) -> Sets:
        """Return sets of so many changes, each best after the ones before.

        The first set is the greedy one: to the greedy set of one change less, the best
        change was added. The others are the best that were found beside it.
        """
        beams = self._beams[side]
        while len(beams) <= min(level, self.most) and len(beams[-1]):
            sets = _grown(beams[-1], self.query.times)
            if not len(sets):
                beams.append(sets)
                break
            value = side * (self.single if len(beams) == 1 else self.score(sets))
            # Rows of the greedy set are in front.
            own = len(_grown(beams[-1][:1], self.query.times))
            order = np.argsort(-value, kind="stable")
            first = int(value[:own].argmax()) if own else int(order[0])
            _, once = np.unique(np.sort(sets[order], 1), axis=0, return_index=True)
            order = order[np.sort(once)][: self._width]
            beams.append(sets[[first, *order[order != first]]])
        return beams[level] if level < len(beams) else beams[-1][:0]

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
