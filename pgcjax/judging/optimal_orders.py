"""All orders of documents that contradict the fewest judgments, and how few that is.

Cycles give a lower bound; a search over sets of first documents finds the orders; those
that another process has found are on disk.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool, Float64, Int, Int64
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components, dijkstra

from pgcjax.errors import DataError
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.judging.choices import STATES
from pgcjax.runtime.private_folder import private_folder

NEAR = 1e-3
"""Judgments are whole numbers: smaller differences are rounding."""

_ROUNDS = 40  # of finding cycles: no graph of public judgments needs 10
_CYCLES = 5_000  # about as many as a programme of seconds has
_EDGES = 20_000  # on cycles: of more, paths take longer than they are worth
_CORNERS = 4  # more change little
_SLACK = 1e-6  # by how much less than 1 a cycle has to be covered to be violated


@dataclass(frozen=True)
class Cycles:
    """Cycles of a graph and how much of each every order contradicts.

    The weights of the cycles that share an edge add up to that of the edge at most.
    So, of any set of vertices, an order contradicts at least as much as all cycles
    inside of the set weigh.

    Attributes:
        members: which vertices are on each cycle.
        weights: of each cycle, above 0.
    """

    members: Bool[np.ndarray, "cycles n"]
    weights: Float64[np.ndarray, " cycles"]

    @property
    def least(self) -> int:
        """Lower bound of the judgments that every order of all vertices contradicts."""
        return int(np.ceil(self.weights.sum() - NEAR))


def net_wins(counts: Int[np.ndarray, "n n"]) -> Int[np.ndarray, "n n"]:
    """Return how many more judgments prefer u to v than v to u, where it is above 0.

    Of two judgments that conflict, every order contradicts one: only the rest matters.
    """
    return np.maximum(counts - counts.T, 0)


def heaviest_cycles(net: Int[np.ndarray, "n n"]) -> Cycles:
    """Weigh cycles so that together they weigh as much as they can.

    This is the dual of the linear relaxation of the minimum feedback arc set: choose
    shares of edges that weigh least, so that each cycle has a share of 1. Cycles
    that have less are looked for, by shortest paths, until there is none.

    Args:
        net: `net[u, v]` more judgments prefer u to v than v to u; else 0.

    Returns:
        The cycles. In large graphs of many conflicts they are not all, and weigh less
        than they could: a bound that is not as sharp, but one.

    Source: Grötschel, Jünger and Reinelt, On the acyclic subgraph polytope, 1985.
    """
    n = len(net)
    _, part = connected_components(net > 0, connection="strong")
    tail, head = np.nonzero((net > 0) & (part[:, None] == part))  # edges on cycles
    number = np.zeros(net.shape, np.int64)
    number[tail, head] = np.arange(len(tail))
    weights = net[tail, head].astype(np.float64)
    cycles = dict.fromkeys(_triangles(net))
    dual, matrix = np.zeros(0), sparse.csr_array((0, len(tail)))
    for _ in range(_ROUNDS if 0 < len(tail) <= _EDGES else 0):
        matrix = _incidence(list(cycles), number, len(tail))
        if cycles:
            ones = np.ones(len(cycles))
            covers: Any = -matrix  # whose types SciPy's stubs lack
            solved: Any = linprog(weights, A_ub=covers, b_ub=-ones, method="highs")
            share, dual = solved.x, -solved.ineqlin.marginals
        else:
            share = np.zeros(len(tail))
        before = len(cycles)
        cycles |= dict.fromkeys(_uncovered(tail, head, share, n))
        if len(cycles) == before or len(cycles) > _CYCLES:
            break
    order = list(cycles)[: len(dual)]
    if order:
        dual = _inside(matrix, weights, dual)
    members = np.zeros((len(order), n), bool)
    for row, cycle in zip(members, order, strict=True):
        row[list(cycle)] = True
    positive = dual > 1e-9
    return Cycles(members[positive], dual[positive])


def _inside(
    matrix: sparse.csr_array, edges: np.ndarray, dual: np.ndarray
) -> np.ndarray:
    """Move from a corner of the best weights of cycles into their midst.

    All of them weigh the same together. But the more cycles weigh anything, the more
    sets of vertices have a bound that is sharp.
    """
    cycles = len(dual)
    total = sparse.csr_array(-np.ones((1, cycles)))
    every: Any = sparse.vstack([matrix.T.tocsr(), total], format="csr")
    most = np.append(edges, -dual.sum() + 1e-9)
    corners = [dual]
    for i in range(_CORNERS):
        # Directions that look random, and are the same on any machine.
        towards = np.modf(np.arange(1, cycles + 1) * (i + 1) * 0.6180339887498949)[0]
        solved = linprog(-towards, A_ub=every, b_ub=most, method="highs")
        corners += [solved.x] if solved.x is not None else []
    dual = np.maximum(np.mean(corners, axis=0), 0)
    # Rounding must not let an edge bear more than its weight.
    load = matrix.T @ dual
    over = np.maximum(1, load / edges)
    return dual / (matrix.multiply(over[None, :])).max(axis=1).toarray().reshape(-1)


def _triangles(net: np.ndarray) -> list[tuple[int, ...]]:
    """List the cycles of three vertices, each from its least on; none of very many."""
    wins = net > 0
    tail, head = np.nonzero(wins)
    up = tail < head
    cycles = []
    for u, v in zip(tail[up].tolist(), head[up].tolist(), strict=True):
        third = np.flatnonzero(wins[v] & wins[:, u])
        cycles += [(u, v, w) for w in third[third > u].tolist()]
        if len(cycles) > _CYCLES:
            return []
    return cycles


def _incidence(
    cycles: list[tuple[int, ...]], number: np.ndarray, edges: int
) -> sparse.csr_array:
    """Find which cycle has which edge."""
    pairs = [
        (row, *step)
        for row, cycle in enumerate(cycles)
        for step in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    ]
    row, tail, head = np.array(pairs, np.int64).reshape(-1, 3).T
    shape = len(cycles), edges
    return sparse.csr_array((np.ones(len(row)), (row, number[tail, head])), shape=shape)


def _uncovered(
    tail: np.ndarray, head: np.ndarray, share: np.ndarray, n: int
) -> list[tuple[int, ...]]:
    """Find for each edge the cycle of least share, if it is less than 1."""
    # No length is 0, which a sparse matrix would take for no edge.
    graph = sparse.csr_array((share + 1e-9, (tail, head)), shape=(n, n))
    length, previous = dijkstra(graph, return_predecessors=True)
    around = share + length[head, tail]
    cycles = []
    for edge in np.flatnonzero(around < 1 - _SLACK).tolist():
        vertex, last = int(tail[edge]), int(head[edge])
        path = [vertex]
        while vertex != last:
            vertex = int(previous[last, vertex])
            path.append(vertex)
        least = path.index(min(path))
        path = [*path[least:], *path[:least]]
        cycles.append(tuple([path[0], *path[:0:-1]]))  # it was walked backwards
    return cycles


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
        states: Largest number of sets to search.
        seconds: Time limit; 0 means none, so that the result depends on the data alone.

    Returns:
        The optimal orders; None beyond either limit.

    Source: the dynamic programme over subsets of Lawler, A comment on minimum feedback
    arc sets, 1964.
    """
    net = net_wins(counts)
    search = _OrderSearch(net, heaviest_cycles(net), states, seconds)
    if (levels := search.levels()) is None:
        return None
    in_conflict = int(np.minimum(counts, counts.T).sum()) // 2
    sets, steps = _on_optimal_ways(levels)
    return OptimalOrders(
        in_conflict + round(levels[-1].cost[0]), sets, steps, search.kinds
    )


@dataclass(frozen=True)
class _SetsOfSize:
    """Sets of one size.

    Attributes:
        left: which documents are not in each set.
        cost: the least that an order of the set contradicts, of itself and the rest.
        steps: from sets of the level before: number there, number here, cost here.
    """

    left: Bool[np.ndarray, "sets n"]
    cost: Float64[np.ndarray, " sets"]
    steps: tuple[np.ndarray, np.ndarray, np.ndarray]


class _OrderSearch:
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

    def levels(self) -> list[_SetsOfSize] | None:
        """Search with the least cost that may suffice, then with the next.

        Returns:
            None at the limit of sets, or of time.
        """
        most, none = self.least, np.zeros(0, np.int64)
        every = np.ones((1, len(self.net)), bool)
        while True:
            least_over = np.inf
            levels = [_SetsOfSize(every, np.zeros(1), (none, none, np.zeros(0)))]
            for _ in self.net:
                level, over = self._next(levels[-1], most)
                least_over = min(least_over, over)
                if level is None:
                    break
                levels.append(level)
                self.room -= len(level.left)
                if self.room < 0 or time.monotonic() > self.end:
                    return None
            else:
                return levels
            most = max(most + 1, np.ceil(least_over - NEAR))

    def _next(
        self, level: _SetsOfSize, most: float
    ) -> tuple[_SetsOfSize | None, float]:
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
        target, cost = target.reshape(-1), cost[source, added]
        least = np.full(len(first), np.inf)
        np.minimum.at(least, target, cost)
        return _SetsOfSize(after[first], least, (source, target, cost)), over


def _kinds(net: np.ndarray) -> np.ndarray:
    """Return the first document with the same judgments against the same others."""
    both = np.hstack([net, net.T])
    _, first, kind = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first[kind.reshape(-1)]


def _on_optimal_ways(levels: list[_SetsOfSize]) -> tuple[np.ndarray, np.ndarray]:
    """Keep the sets and steps of orders that contradict the fewest judgments."""
    wanted, kept = np.ones(1, bool), []
    for before, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        source, target, cost = level.steps
        optimal = wanted[target] & (cost == level.cost[target])
        kept.append((source[optimal], target[optimal]))
        wanted = np.zeros(len(before.left), bool)
        wanted[source[optimal]] = True
    sets, steps, first = [~levels[0].left], [np.zeros((0, 2), np.int64)], 0
    number = np.zeros(1, np.int64)  # of the kept sets of the level before
    for level, (source, target) in zip(levels[1:], kept[::-1], strict=True):
        reached = np.unique(target)
        start = first + len(sets[-1])
        ends = first + number[source], start + np.searchsorted(reached, target)
        steps.append(np.column_stack(ends))
        number = np.zeros(len(level.left), np.int64)
        number[reached] = np.arange(len(reached))
        sets.append(~level.left[reached])
        first = start
    return np.concatenate(sets), np.concatenate(steps)


FOLDER = "PGCJAX_CACHE_DIR"
"""The variable that names the folder; nothing is kept without it, or if it is empty."""

_JOB = {"holds": "optimal orders", "format": 1}  # another search counts on


def kept_orders(
    counts: Int64[np.ndarray, "n n"], *, states: int, seconds: float
) -> OptimalOrders | None:
    """Find optimal orders as `optimal_orders` does, once for all processes.

    A damaged file is found by its checksum and made anew. Where nothing can be kept,
    the orders are searched for each time; so they are within a limit of seconds, for
    what is found then depends on the machine.
    """
    place = os.environ.get(FOLDER)
    # Only this user may write there: it decides what scores are.
    private = private_folder(os.path.join(place, "optimal-orders")) if place else None
    folder = _opened(private) if private and not seconds else None
    if folder is None:
        return optimal_orders(counts, states=states, seconds=seconds)
    # How far the limit goes depends on SciPy's solver of linear programmes.
    job = f"{scipy.__version__} {counts.shape} {counts.dtype} {states} "
    digest = sha256(job.encode() + counts.tobytes()).hexdigest()
    # Pieces of finished work are named by two numbers.
    name = f"{int(digest[:16], 16)}-{int(digest[16:32], 16)}"
    arrays = folder.load(name)
    if arrays is None:
        orders = optimal_orders(counts, states=states)
        with suppress(DataError, OSError):
            folder.save(name, **_arrays(orders))
        return orders
    if "minimum" not in arrays:
        return None
    n = len(counts)
    sets = np.unpackbits(arrays["sets"], axis=1, count=n).astype(bool)
    return OptimalOrders(int(arrays["minimum"]), sets, arrays["steps"], arrays["kinds"])


def _arrays(orders: OptimalOrders | None) -> dict[str, np.ndarray]:
    """Lay orders out; nothing where there are too many."""
    if orders is None:
        return {}
    arrays = {name: np.asarray(value) for name, value in vars(orders).items()}
    return arrays | {"sets": np.packbits(orders.sets, axis=1)}


@cache
def _opened(folder: Path) -> Checkpoint | None:
    try:
        return Checkpoint(folder, _JOB)
    except (DataError, OSError):
        return None
