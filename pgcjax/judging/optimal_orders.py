"""All orders of documents that contradict the fewest judgments, and this minimum.

Cycles give a lower bound of the minimum. A search over sets of first documents finds
the orders. They are kept on disk for other processes.
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
"""Tolerance of sums of judgments: they are whole numbers, the rest is rounding."""

_ROUNDS = 40  # rounds of finding cycles: no graph of public judgments needs 10
_CYCLES = 5_000  # most cycles: linear programmes with more take longer than seconds
_EDGES = 20_000  # most edges on cycles: with more, shortest paths take too long
_CORNERS = 4  # further optimal weights to average: more change little
_SLACK = 1e-6  # tolerance of shares that have to add up to 1


@dataclass(frozen=True)
class Cycles:
    """Weighted cycles of a graph, which bound the judgments that orders contradict.

    The weights of the cycles through an edge add up to at most the weight of the edge.
    So every order of a set of vertices contradicts at least as many judgments as all
    cycles inside the set weigh.

    Attributes:
        members: True for the vertices of each cycle.
        weights: Weights of the cycles, above 0.
    """

    members: Bool[np.ndarray, "cycles n"]
    weights: Float64[np.ndarray, " cycles"]

    @property
    def least(self) -> int:
        """Lower bound of the judgments that every order of all vertices contradicts."""
        return int(np.ceil(self.weights.sum() - NEAR))


def net_wins(counts: Int[np.ndarray, "n n"]) -> Int[np.ndarray, "n n"]:
    """Return how many more judgments prefer u to v than v to u; 0 if they are fewer.

    Every order contradicts one of two conflicting judgments, so only the rest matters.
    """
    return np.maximum(counts - counts.T, 0)


def heaviest_cycles(net: Int[np.ndarray, "n n"]) -> Cycles:
    """Weigh cycles such that the sum of their weights is largest.

    This is the dual of the linear relaxation of the minimum feedback arc set: choose a
    share of each edge, such that shares add up to at least 1 on every cycle, and the
    weight of all shares is smallest. Shortest paths find cycles on which they add up to
    less; these are added until there are none.

    Args:
        net: Net wins, as from `net_wins`.

    Returns:
        The cycles. For large graphs with many conflicts, some are missing. The sum of
        weights is then not the largest, but still a lower bound.

    Source: Grötschel, Jünger and Reinelt, On the acyclic subgraph polytope, 1985.
    """
    n = len(net)
    _, part = connected_components(net > 0, connection="strong")
    # Edges on cycles are those inside a strong component.
    tail, head = np.nonzero((net > 0) & (part[:, None] == part))
    number = np.zeros(net.shape, np.int64)
    number[tail, head] = np.arange(len(tail))
    weights = net[tail, head].astype(np.float64)
    cycles = dict.fromkeys(_triangles(net))
    dual, matrix = np.zeros(0), sparse.csr_array((0, len(tail)))
    for _ in range(_ROUNDS if 0 < len(tail) <= _EDGES else 0):
        matrix = _incidence(list(cycles), number, len(tail))
        if cycles:
            ones = np.ones(len(cycles))
            covers: Any = -matrix  # SciPy's stubs lack its type
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
        dual = _averaged(matrix, weights, dual)
    members = np.zeros((len(order), n), bool)
    for row, cycle in zip(members, order, strict=True):
        row[list(cycle)] = True
    positive = dual > 1e-9
    return Cycles(members[positive], dual[positive])


def _averaged(
    matrix: sparse.csr_array, edges: np.ndarray, dual: np.ndarray
) -> np.ndarray:
    """Average optimal weights of cycles.

    All optimal weights have the same sum. But the more cycles have a weight above 0,
    the more sets of vertices have a sharp bound.

    Args:
        matrix: Cycles and their edges, as from `_incidence`.
        edges: Weights of the edges.
        dual: Optimal weights of the cycles.
    """
    cycles = len(dual)
    total = sparse.csr_array(-np.ones((1, cycles)))
    bounded: Any = sparse.vstack([matrix.T.tocsr(), total], format="csr")
    bounds = np.append(edges, -dual.sum() + 1e-9)
    corners = [dual]
    for i in range(_CORNERS):
        # Directions that look random, and are the same on any machine.
        towards = np.modf(np.arange(1, cycles + 1) * (i + 1) * 0.6180339887498949)[0]
        solved = linprog(-towards, A_ub=bounded, b_ub=bounds, method="highs")
        corners += [solved.x] if solved.x is not None else []
    dual = np.maximum(np.mean(corners, axis=0), 0)
    # Rounding must not let the cycles through an edge exceed its weight.
    load = matrix.T @ dual
    excess = np.maximum(1, load / edges)
    return dual / (matrix.multiply(excess[None, :])).max(axis=1).toarray().reshape(-1)


def _triangles(net: np.ndarray) -> list[tuple[int, ...]]:
    """List cycles of three vertices, the lowest first; an empty list if too many."""
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
    """Return a row for each cycle, with 1 for its edges; `number` numbers the edges."""
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
    """Find the cycle of the smallest total share, if below 1, through each edge."""
    # A sparse matrix would take the length 0 for no edge.
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
        lowest = path.index(min(path))
        path = [*path[lowest:], *path[:lowest]]
        cycles.append(tuple([path[0], *path[:0:-1]]))  # the path runs backwards
    return cycles


@dataclass(frozen=True)
class OptimalOrders:
    """The orders of n documents that contradict the fewest judgments.

    An order is a path from the empty set to the set of all documents, and each step
    adds the next document. Documents with the same judgments against all others are of
    one kind. Here they stand in ascending order; exchanging them yields all orders.

    Attributes:
        minimum: Number of judgments that each of these orders contradicts.
        sets: The sets of the first documents of these orders, by size.
        steps: Numbers of a set, and of one that has a document more, as rows.
        kinds: The first document of the kind of each document.
    """

    minimum: int
    sets: Bool[np.ndarray, "sets n"]
    steps: Int64[np.ndarray, "steps 2"]
    kinds: Int64[np.ndarray, " n"]

    def before(self) -> Bool[np.ndarray, "n n"]:
        """Return whether u is before v in at least one of these orders, by u and v."""
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

    Sets of first documents grow by one document at a time. The bound of a set is the
    fewest judgments that its documents contradict at the top, plus the weights of all
    cycles among the rest. Sets with a bound above a limit are dropped. The limit is at
    first the weight of all cycles, and grows until an order is found. So no set of an
    optimal order is dropped.

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
        left: True for the documents that are not in each set.
        cost: Fewest judgments that are contradicted if the set is at the top, without
            those among the other documents.
        steps: Steps from sets that are smaller by one: number of the smaller set,
            number of the larger set, and cost.
    """

    left: Bool[np.ndarray, "sets n"]
    cost: Float64[np.ndarray, " sets"]
    steps: tuple[np.ndarray, np.ndarray, np.ndarray]


class _OrderSearch:
    """The search for all orders that contradict the fewest judgments.

    Attributes:
        net: Net wins.
        kinds: The first document of the kind of each document.
        waits: `waits[v, u]` is True if u has to be before v, as both are of one kind.
        on: `on[v, c]` is 1 if document v is on cycle c.
        length: Number of documents on each cycle.
        weights: Weight of each cycle.
        least: Lower bound of the judgments that an order contradicts.
        room: Number of sets that may still be searched.
        end: Time at which the search is given up.
    """

    def __init__(self, net: np.ndarray, cycles: Cycles, states: int, seconds: float):
        self.net = net.astype(np.float64)
        self.kinds = _kinds(net)
        # Documents of a kind are taken in ascending order.
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
        """Search with the lowest limit, and raise the limit until an order is found.

        Returns:
            Sets by size; None if there are too many sets, or the time is over.
        """
        limit, none = self.least, np.zeros(0, np.int64)
        all_left = np.ones((1, len(self.net)), bool)
        while True:
            least_over = np.inf
            levels = [_SetsOfSize(all_left, np.zeros(1), (none, none, np.zeros(0)))]
            for _ in self.net:
                level, over = self._next(levels[-1], limit)
                least_over = min(least_over, over)
                if level is None:
                    break
                levels.append(level)
                self.room -= len(level.left)
                if self.room < 0 or time.monotonic() > self.end:
                    return None
            else:
                return levels
            limit = max(limit + 1, np.ceil(least_over - NEAR))

    def _next(
        self, level: _SetsOfSize, limit: float
    ) -> tuple[_SetsOfSize | None, float]:
        """Add a document to each set; also return the lowest bound that is too high."""
        left = level.left.astype(np.float64)
        cost = level.cost[:, None] + left @ self.net  # left, but preferred
        inside = (left @ self.on == self.length) * self.weights
        bound = cost + inside.sum(1, keepdims=True) - inside @ self.on.T
        is_next = level.left & (left @ self.waits.T == 0)
        fits = is_next & (bound <= limit + NEAR)
        over = bound[is_next & ~fits].min(initial=np.inf)
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
    """Return, for each document, the first with the same judgments against others."""
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
    number = np.zeros(1, np.int64)  # numbers of sets among those kept of their size
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
"""Environment variable that names the folder; without it, or empty, none is kept."""

_JOB = {"holds": "optimal orders", "format": 1}  # raise if the search changes


def kept_orders(
    counts: Int64[np.ndarray, "n n"], *, states: int, seconds: float
) -> OptimalOrders | None:
    """Find optimal orders as `optimal_orders` does, and keep them for all processes.

    A checksum finds damaged files, which are replaced. Nothing is kept without a
    folder, or with a time limit, because the result then depends on the machine.
    """
    parent = os.environ.get(FOLDER)
    # Scores depend on the files, so only this user may write in the folder.
    private = private_folder(os.path.join(parent, "optimal-orders")) if parent else None
    folder = _opened(private) if private and not seconds else None
    if folder is None:
        return optimal_orders(counts, states=states, seconds=seconds)
    # SciPy finds the weights of cycles, on which the number of searched sets depends.
    job = f"{scipy.__version__} {counts.shape} {counts.dtype} {states} "
    digest = sha256(job.encode() + counts.tobytes()).hexdigest()
    # A checkpoint names its pieces by two numbers.
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
    """Convert orders to arrays to keep; none if the search was given up."""
    if orders is None:
        return {}
    arrays = {name: np.asarray(value) for name, value in vars(orders).items()}
    return arrays | {"sets": np.packbits(orders.sets, axis=1)}


@cache
def _opened(folder: Path) -> Checkpoint | None:
    """Open the folder of kept orders; None if that fails."""
    try:
        return Checkpoint(folder, _JOB)
    except (DataError, OSError):
        return None
