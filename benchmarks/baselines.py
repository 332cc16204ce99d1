"""Other ways to compute Greedy PGC: published Python, scalar numba, textbook JAX."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

ABSENT = 2**30  # rank of a document that was not retrieved
INFINITY = float("inf")


class Graph:
    """A preference multigraph as one writes it in Python: dicts with counts."""

    def __init__(self, edges: Iterable[tuple[str, str]]):
        """Count edges `(u, v)`: u was preferred to v."""
        self.beats: dict[str, dict[str, int]] = {}
        self.loses: dict[str, dict[str, int]] = {}
        for u, v in edges:
            for doc in (u, v):
                self.beats.setdefault(doc, {})
                self.loses.setdefault(doc, {})
            self.beats[u][v] = self.beats[u].get(v, 0) + 1
            self.loses[v][u] = self.loses[v].get(u, 0) + 1
        self.outdegree = {v: sum(to.values()) for v, to in self.beats.items()}
        self.indegree = {v: sum(by.values()) for v, by in self.loses.items()}


def greedy_ideal(graph: Graph, run: list[str]) -> list[str]:
    """Peel a graph [Luo 2021, Algorithms 2-4]; ties that are open there by doc id."""
    rank = {doc: r for r, doc in enumerate(run)}
    out, into = dict(graph.outdegree), dict(graph.indegree)
    s1: list[str] = []
    s2: list[str] = []

    def place(v: str) -> tuple[float, str]:
        return rank.get(v, INFINITY), v

    def remove(u: str) -> None:
        del out[u], into[u]
        for v, count in graph.beats[u].items():
            if v in into:
                into[v] -= count
        for v, count in graph.loses[u].items():
            if v in out:
                out[v] -= count

    while out:
        while sinks := [v for v, degree in out.items() if degree == 0]:
            u = max(sinks, key=place)
            s2.insert(0, u)
            remove(u)
        while sources := [v for v, degree in into.items() if degree == 0]:
            u = min(sources, key=place)
            s1.append(u)
            remove(u)
        if out:
            delta = {v: out[v] - into[v] for v in out}
            most = max(delta.values())
            u = min((v for v in out if delta[v] == most), key=place)
            s1.append(u)
            remove(u)
    return s1 + s2


def rbo(run: list[str], ideal: list[str], p: float, depth: int) -> float:
    """Compare two rankings, depth by depth, as the published code does."""
    run_set: set[str] = set()
    ideal_set: set[str] = set()
    score = normalizer = 0.0
    weight = 1.0
    for i in range(depth):
        if i < len(run):
            run_set.add(run[i])
        if i < len(ideal):
            ideal_set.add(ideal[i])
        score += weight * len(ideal_set.intersection(run_set)) / (i + 1)
        normalizer += weight
        weight *= p
    return score / normalizer


def counted_rbo(run: list[str], ideal: list[str], p: float, depth: int) -> float:
    """Compute the same with a running count in place of 1000 intersections."""
    place = {doc: i for i, doc in enumerate(ideal)}
    deepest = [0] * depth
    for i, doc in enumerate(run[:depth]):
        if (j := place.get(doc, depth)) < depth:
            deepest[max(i, j)] += 1
    score = normalizer = 0.0
    weight, shared = 1.0, 0
    for i in range(depth):
        shared += deepest[i]
        score += weight * shared / (i + 1)
        normalizer += weight
        weight *= p
    return score / normalizer


def suffix_weights(p: float, depth: int) -> np.ndarray:
    """Give what a shared document adds, by the lower of its two ranks; 0 at depth."""
    d = np.arange(1, depth + 1)
    biased = p ** (d - 1.0)
    each = (biased / d / biased.sum())[::-1].cumsum()[::-1]
    return np.append(each, 0.0)


@cache
def compiled() -> Callable[..., np.ndarray]:
    """Compile the same algorithm on arrays by numba: one core, one pair at a time.

    The function takes `beats` int32 `[n, n]`, `ranks` int32 `[runs, n]` and suffix
    weights, and gives a score per run. It is the fastest that was found of its kind: it
    computes degrees once per query, scans the vertices that are left once per step for
    the largest key, subtracts whole rows (which vectorises), and adds RBO up by suffix
    weights.
    """
    import numba

    @numba.njit(nogil=True)
    def greedy_pgc(beats, ranks, weights):
        runs, n = ranks.shape
        depth = len(weights) - 1
        loses = beats.T.copy()
        degree_out, degree_in = beats.sum(1), loses.sum(1)
        order = np.empty(n, np.int64)
        left = np.empty(n, np.int64)
        out = np.empty(n, np.int32)
        into = np.empty(n, np.int32)
        scores = np.zeros(runs)
        for run in range(runs):
            for v in range(n):
                r = ranks[run, v]
                order[v] = r if r < ABSENT else ABSENT + v
                left[v] = v
                out[v] = degree_out[v]
                into[v] = degree_in[v]
            front, back = 0, n - 1
            for count in range(n, 0, -1):
                at, best = 0, -(np.int64(1) << 62)
                for i in range(count):
                    v = left[i]
                    key = (np.int64(out[v] - into[v]) << 32) - order[v]
                    if into[v] == 0:
                        key = (np.int64(1) << 60) - order[v]
                    if out[v] == 0:
                        key = (np.int64(1) << 61) + order[v]
                    if key > best:
                        best, at = key, i
                u = left[at]
                if out[u] == 0:
                    place = back
                    back -= 1
                else:
                    place = front
                    front += 1
                scores[run] += weights[min(max(order[u], place), depth)]
                left[at] = left[count - 1]
                for v in range(n):
                    out[v] -= loses[u, v]
                    into[v] -= beats[u, v]
        return scores

    return greedy_pgc


@cache
def textbook() -> Callable[..., Any]:
    """Write the peel as JAX's tutorials would: a while loop of one pair, vmapped.

    The function takes `beats` `[queries, n, n]`, `ranks` `[queries, runs, n]`, `where`
    `[queries, n]` and weights, all padded to one size, and gives `[queries, runs]`.
    """
    import jax
    import jax.numpy as jnp

    def greedy_pgc(beats, ranks, where, weights):
        n = ranks.shape[-1]
        order = jnp.where(ranks < ABSENT, ranks, ABSENT + jnp.arange(n))

        def some_left(state):
            return jnp.any(state["left"])

        def step(state):
            out, into, left = state["out"], state["into"], state["left"]
            sinks, sources = left & (out == 0), left & (into == 0)
            delta = jnp.where(left, out - into, -ABSENT)
            firsts = jnp.where(jnp.any(sources), sources, left & (delta == delta.max()))
            sink = jnp.argmax(jnp.where(sinks, order, -1))
            first = jnp.argmin(jnp.where(firsts, order, jnp.iinfo(order.dtype).max))
            is_sink = jnp.any(sinks)
            u = jnp.where(is_sink, sink, first)
            place = jnp.where(is_sink, state["back"], state["front"])
            return {
                "ideal": state["ideal"].at[u].set(place),
                "out": out - beats[:, u],
                "into": into - beats[u, :],
                "left": left.at[u].set(False),
                "front": state["front"] + jnp.where(is_sink, 0, 1),
                "back": state["back"] - jnp.where(is_sink, 1, 0),
            }

        state = {
            "ideal": jnp.full(n, n, jnp.int32),
            "out": beats.sum(1, dtype=jnp.int32),
            "into": beats.sum(0, dtype=jnp.int32),
            "left": where,
            "front": jnp.int32(0),
            "back": where.sum(dtype=jnp.int32) - 1,
        }
        ideal = jax.lax.while_loop(some_left, step, state)["ideal"]
        deepest = jnp.minimum(jnp.maximum(order, ideal), len(weights) - 1)
        return jnp.sum(jnp.where(where, weights[deepest], 0))

    runs = jax.vmap(greedy_pgc, in_axes=(None, 0, None, None))
    return jax.jit(jax.vmap(runs, in_axes=(0, 0, 0, None)))
