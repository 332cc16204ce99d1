"""Greedy PGC's peel from any state, up to where only the order of ties decides."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, Int64

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jax, jnp

EXPLORE, CLOSE, ORDERED = 0, 1, 2
"""Stop at a tie; remove sources alone, adding nothing; let `order` decide all ties."""

_LAST = np.iinfo(np.int32).max


class PeelState(NamedTuple):
    """Documents that are still to be placed; several peels add a first axis.

    Attributes:
        degrees: outdegree << 32, plus indegree, of each vertex.
        alive: True for the vertices that are left.
        front: the first open rank.
        back: the last open rank.
    """

    degrees: Int64[Any, "*peels n"]
    alive: Bool[Any, "*peels n"]
    front: Int32[Any, "*peels"]
    back: Int32[Any, "*peels"]


class Stop(NamedTuple):
    """State at which a peel stopped.

    Attributes:
        state: the documents that are left.
        gain: sum of the RBO weights of the documents placed on the way.
        tied: the documents among which the order of ties decides; none at the end.
        sources: whether the tied documents are sources.
    """

    state: PeelState
    gain: Int64[Any, "*peels"]
    tied: Bool[Any, "*peels n"]
    sources: Bool[Any, "*peels"]


class _NextVertex(NamedTuple):
    vertex: Array
    is_sink: Array
    tied: Array
    sources: Array
    go_on: Array


def removals(edges: Int32[np.ndarray, "*q n n"]) -> Int64[np.ndarray, "*q n n"]:
    """Return the degrees that the removal of each vertex takes from every vertex."""
    wide = edges.astype(np.int64)
    return (np.swapaxes(wide, -1, -2) << 32) + wide


def advance(
    rows: Int64[Array, "queries n n"],
    query: Int32[Array, ""],
    ranks: Int32[Array, " n"],
    order: Int32[Array, " n"],
    mode: Int32[Array, ""],
    state: PeelState,
    weights: Int64[Array, " depth_plus_1"],
) -> Stop:
    """Peel on, as `peel.ideal_ranks` does, until ties decide or no score is left.

    Ties decide if no document is a sink, several documents are the equally best ones to
    place first, and the run retrieved none of these. Ties of sinks never decide: sinks
    that the run lacks are removed before those that it has, all of them in any order.

    Args:
        rows: `removals` of each query.
        query: Number of the query.
        ranks: 0-based rank of each vertex in the run, `ABSENT` if not retrieved.
        order: distinct numbers of the vertices, whose ascending order breaks ties.
        mode: `EXPLORE`, `CLOSE` or `ORDERED`.
        state: State from which to peel.
        weights: from `rbo.rank_weights`.
    """
    depth = weights.shape[-1] - 1
    retrieved = ranks < ABSENT
    keys = jnp.where(retrieved, ranks, ABSENT + order)
    choose = partial(_choose, keys, retrieved, mode)

    def step(carry: tuple[PeelState, Array, _NextVertex]):
        (degrees, alive, front, back), gain, choice = carry
        u, is_sink = choice.vertex, choice.is_sink
        place = jnp.maximum(ranks[u], jnp.where(is_sink, back, front))
        adds = (mode != CLOSE) & retrieved[u]
        gain += jnp.where(adds, weights[jnp.minimum(place, depth)], 0)
        left = PeelState(
            degrees - rows[query, u],
            alive.at[u].set(False),
            front + (~is_sink).astype(front.dtype),
            back - is_sink.astype(back.dtype),
        )
        return left, gain, choose(left)

    start = state, jnp.int64(0), choose(state)
    left, gain, end = jax.lax.while_loop(lambda carry: carry[2].go_on, step, start)
    return Stop(left, gain, end.tied, end.sources)


def _choose(
    keys: Array, retrieved: Array, mode: Array, state: PeelState
) -> _NextVertex:
    """Choose the vertex that is removed next, and find whether ties decide it."""
    alive = state.alive
    out, into = state.degrees >> 32, state.degrees & _LAST
    sinks, sources = alive & (out == 0), alive & (into == 0)
    is_sink, is_source = sinks.any(), sources.any()
    delta = jnp.where(alive, (out - into).astype(jnp.int32), -_LAST)
    first_of = jnp.where(is_source, sources, alive & (delta == delta.max()))
    last = jnp.argmax(jnp.where(sinks, keys, -1))
    first = jnp.argmin(jnp.where(first_of, keys, _LAST))
    several = jnp.sum(first_of, dtype=jnp.int32) > 1
    ties = ~is_sink & several & ~(first_of & retrieved).any() & (mode == EXPLORE)
    left = jnp.where(mode == CLOSE, is_source, (alive & retrieved).any())
    return _NextVertex(
        jnp.where(is_sink, last, first).astype(jnp.int32),
        is_sink,
        first_of & ties & left,
        is_source,
        left & ~ties,
    )
