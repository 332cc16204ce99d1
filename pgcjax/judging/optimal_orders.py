"""All orders of documents that contradict the fewest judgments."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from pgcjax.judging.choices import STATES
from pgcjax.judging.feedback_arcs import NEAR, Cycles, heaviest_cycles, net_wins


class _TooManyError(Exception):
    """A search came to its limit."""


@dataclass(frozen=True)
class OptimalOrders:
    """The orders of n documents that contradict the fewest judgments.

    An order is a way from the empty set to all documents, of which each step adds the
    next document. Documents that all judgments treat alike are of one kind; orders are
    given with those of a kind as they stand, for every other exchanges some.

    Attributes:
        minimum: judgments that each of these orders contradicts.
        sets: the sets of the first documents of an order, by size.
        steps: from a set to one that has a document more: rows of both numbers.
        kinds: the kind of each document: the first one that is treated alike.
    """

    minimum: int
    sets: Bool[np.ndarray, "sets n"]
    steps: Int64[np.ndarray, "steps 2"]
    kinds: Int64[np.ndarray, " n"]

    def before(self) -> Bool[np.ndarray, "n n"]:
        """Find which document is before which other in one of these orders at least."""
        n = len(self.kinds)
        last = [int(np.flatnonzero(self.kinds == kind)[-1]) for kind in self.kinds]
        has_first = self.sets[:, self.kinds].astype(np.float32)
        lacks_last = ~self.sets[:, last].reshape(-1, n)
        return (has_first.T @ lacks_last.astype(np.float32) > 0) & ~np.eye(
            n, dtype=bool
        )


def optimal_orders(
    counts: Int[np.ndarray, "n n"], *, states: int = STATES, seconds: float = 0.0
) -> OptimalOrders | None:
    """Find all orders that contradict the fewest judgments.

    Sets of first documents grow by a document at a time. One is given up if what it
    contradicts already, and what cycles among the rest show that any order of these
    will, are more than the least that can be; that is at first what all cycles show,
    and grows until an order is found. So none is given up that an optimal order has.

    Args:
        counts: `counts[u, v]` judgments prefer u to v.
        states: most sets that are looked at.
        seconds: most time; 0 for any, so that the result depends on the data alone.

    Returns:
        None if there are more sets, or it takes longer.

    Source: the dynamic programme over subsets of Lawler, A comment on minimum feedback
    arc sets, 1964.
    """
    net = net_wins(counts)
    search = _Search(net, heaviest_cycles(net), states, seconds)
    try:
        levels = search.levels()
    except _TooManyError:
        return None
    in_conflict = int(np.minimum(counts, counts.T).sum()) // 2
    sets, steps = _on_optimal_ways(levels)
    return OptimalOrders(
        in_conflict + round(levels[-1].cost[0]), sets, steps, search.kinds
    )


@dataclass(frozen=True)
class _Level:
    """Sets of one size.

    Attributes:
        left: which documents are not in each set.
        cost: the least that an order of the set contradicts, of itself and the rest.
        steps: from sets of the level before: number there, number here, cost here.
    """

    left: Bool[np.ndarray, "sets n"]
    cost: Float64[np.ndarray, " sets"]
    steps: tuple[np.ndarray, np.ndarray, np.ndarray]


class _Search:
    def __init__(self, net: np.ndarray, cycles: Cycles, states: int, seconds: float):
        self.net = net.astype(np.float64)
        self.kinds = _kinds(net)
        # Of a kind, each but the first waits for the one before it.
        self.waits = np.zeros(net.shape, bool)
        for kind in np.unique(self.kinds):
            same = np.flatnonzero(self.kinds == kind)
            self.waits[same[1:], same[:-1]] = True
        self.on = cycles.members.T.astype(np.float64)
        self.length, self.weights = self.on.sum(0), cycles.weights
        self.least = cycles.least
        self.room = states
        self.end = time.monotonic() + seconds if seconds else np.inf

    def levels(self) -> list[_Level]:
        """Search with the least cost that may suffice, then with the next."""
        most = self.least
        while True:
            least_over = np.inf
            levels = [self._start()]
            for _ in self.net:
                level, over = self._next(levels[-1], most)
                least_over = min(least_over, over)
                if level is None:
                    break
                levels.append(level)
            else:
                return levels
            most = max(most + 1, np.ceil(least_over - NEAR))

    def _start(self) -> _Level:
        none = np.zeros(0, np.int64)
        left = np.ones((1, len(self.net)), bool)
        return _Level(left, np.zeros(1), (none, none, np.zeros(0)))

    def _next(self, level: _Level, most: float) -> tuple[_Level | None, float]:
        """Add a document to each set; also give the least cost that was too much."""
        left = level.left.astype(np.float64)
        cost = level.cost[:, None] + left @ self.net  # what is left and preferred
        whole = (left @ self.on == self.length) * self.weights
        bound = cost + whole.sum(1, keepdims=True) - whole @ self.on.T
        open_ = level.left & (left @ self.waits.T == 0)
        fits = open_ & (bound <= most + NEAR)
        over = bound[open_ & ~fits].min(initial=np.inf)
        source, added = np.nonzero(fits)
        if not len(source):
            return None, over
        after = level.left[source]
        after[np.arange(len(source)), added] = False
        _, first, target = np.unique(
            np.packbits(after, axis=1), axis=0, return_index=True, return_inverse=True
        )
        self.room -= len(first)
        if self.room < 0 or time.monotonic() > self.end:
            raise _TooManyError
        target, cost = target.reshape(-1), cost[source, added]
        least = np.full(len(first), np.inf)
        np.minimum.at(least, target, cost)
        return _Level(after[first], least, (source, target, cost)), over


def _kinds(net: np.ndarray) -> np.ndarray:
    """Return the first document with the same judgments against the same others."""
    both = np.hstack([net, net.T])
    _, first, kind = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first[kind.reshape(-1)]


def _on_optimal_ways(levels: list[_Level]) -> tuple[np.ndarray, np.ndarray]:
    """Keep the sets and steps of orders that contradict the fewest judgments."""
    kept_steps = list(_backwards(levels))[::-1]
    sets, steps, first = [~levels[0].left], [np.zeros((0, 2), np.int64)], 0
    number = np.zeros(1, np.int64)  # of the kept sets of the level before
    for level, (source, target) in zip(levels[1:], kept_steps, strict=True):
        reached = np.unique(target)
        start = first + len(sets[-1])
        steps.append(
            np.column_stack(
                [first + number[source], start + np.searchsorted(reached, target)]
            )
        )
        number = np.zeros(len(level.left), np.int64)
        number[reached] = np.arange(len(reached))
        sets.append(~level.left[reached])
        first = start
    return np.concatenate(sets), np.concatenate(steps)


def _backwards(levels: list[_Level]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the steps into each level that optimal orders take, from the last one."""
    wanted = np.ones(1, bool)
    for before, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        source, target, cost = level.steps
        optimal = wanted[target] & (cost == level.cost[target])
        yield source[optimal], target[optimal]
        wanted = np.zeros(len(before.left), bool)
        wanted[source[optimal]] = True
