"""How few judgments an order can contradict: a lower bound, from cycles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components, dijkstra

NEAR = 1e-3
"""Judgments are whole numbers: what is less than that is rounding."""

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
        """How many judgments every order of all vertices contradicts, at least."""
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
    tail, head, number = _in_cycles(net)
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


def _in_cycles(net: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the edges that are on a cycle; number them by their two vertices."""
    _, part = connected_components(net > 0, connection="strong")
    tail, head = np.nonzero((net > 0) & (part[:, None] == part))
    number = np.zeros(net.shape, np.int64)
    number[tail, head] = np.arange(len(tail))
    return tail, head, number


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


def _steps(cycle: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))


def _incidence(
    cycles: list[tuple[int, ...]], number: np.ndarray, edges: int
) -> sparse.csr_array:
    """Find which cycle has which edge."""
    pairs = [(i, *step) for i, cycle in enumerate(cycles) for step in _steps(cycle)]
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
