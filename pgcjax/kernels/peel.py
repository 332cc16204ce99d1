"""Greedy PGC's ideal ranking: a masked peel of the preference multigraph.

docs/design.md lists every place that has the rule between equal candidates.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64

from pgcjax.kernels import ABSENT
from pgcjax.kernels.rbo import overlap
from pgcjax.later import Array, jax, jnp

_LAST = np.iinfo(np.int32).max
SINK, SOURCE, MOST = 1, 2, 3
"""Rules that place a vertex: it beats nobody, nobody beats it, most wins - losses."""


class PeelStep(NamedTuple):
    """Vertex that a step of the peel placed, and the rule that placed it.

    Attributes:
        vertex: the vertex.
        rule: `SINK`, `SOURCE` or `MOST`; 0 if no vertex was left.
        candidates: the vertices among which the order of the run decided.
    """

    vertex: Int32[Array, "*steps"]
    rule: Int32[Array, "*steps"]
    candidates: Bool[Array, "*steps n"]


def ideal_ranks(
    edges: Int[Array, "n n"],
    ranks: Int[Array, " n"],
    *,
    where: Bool[Array, " n"],
) -> Int[Array, " n"]:
    """Rank every vertex in the ideal ranking nearest to a run, by greedy peeling.

    Each step places one vertex. If there are sinks, the last of them in the run's order
    takes the last open rank. Otherwise, if there are sources, the first of them in the
    run's order takes the first open rank; without sources, the first vertex of maximum
    outdegree - indegree takes it. (The published nested loops are equivalent, because
    the removal of a source creates no sink.)

    Args:
        edges: `edges[u, v]` judgments prefer u to v; 0 on the diagonal and in padding.
        ranks: 0-based rank of each vertex in the run, `ABSENT` if not retrieved.
        where: True for vertices, False for padding.

    Returns:
        0-based rank of each vertex in the ideal ranking; n for padding.

    Source: Luo 2021, Algorithms 2-4, with ties as in `total_order`.
    """
    order, state = total_order(ranks), _start(edges, where)

    def step(_, state: tuple) -> tuple:
        return _step(edges, order, state)[0]

    return jax.lax.fori_loop(0, edges.shape[-1], step, state)[0]


def ideal_steps(
    edges: Int[Array, "n n"],
    ranks: Int[Array, " n"],
    *,
    where: Bool[Array, " n"],
) -> tuple[Int[Array, " n"], PeelStep]:
    """Rank vertices as `ideal_ranks` does, and return its `n` steps, too."""
    order = total_order(ranks)

    def step(state: tuple, _) -> tuple[tuple, PeelStep]:
        return _step(edges, order, state)

    steps = edges.shape[-1]
    state, made = jax.lax.scan(step, _start(edges, where), None, length=steps)
    return state[0], made


def _start(edges: Int[Array, "n n"], where: Bool[Array, " n"]) -> tuple:
    """Ideal ranks, degrees, unplaced vertices, and the first and last open rank."""
    n = edges.shape[-1]
    return (
        jnp.full(n, n, dtype=jnp.int32),
        jnp.sum(edges, axis=1, dtype=jnp.int32),
        jnp.sum(edges, axis=0, dtype=jnp.int32),
        where,
        jnp.int32(0),
        jnp.sum(where, dtype=jnp.int32) - 1,
    )


def _step(
    edges: Int[Array, "n n"], order: Int[Array, " n"], state: tuple
) -> tuple[tuple, PeelStep]:
    ideal, out, into, alive, front, back = state
    sinks = alive & (out == 0)
    sources = alive & (into == 0)
    delta = jnp.where(alive, out - into, -_LAST)
    is_sink, is_source = jnp.any(sinks), jnp.any(sources)
    first_of = jnp.where(is_source, sources, alive & (delta == delta.max()))
    last = jnp.argmax(jnp.where(sinks, order, -1))
    first = jnp.argmin(jnp.where(first_of, order, _LAST))
    u = jnp.where(is_sink, last, first)
    # Padding is never alive: once the last vertex is placed, nothing changes.
    left = jnp.any(alive)
    ideal = ideal.at[u].set(jnp.where(left, jnp.where(is_sink, back, front), ideal[u]))
    state = (
        ideal,
        out - edges[:, u],
        into - edges[u, :],
        alive.at[u].set(False),
        front + (left & ~is_sink).astype(front.dtype),
        back - (left & is_sink).astype(back.dtype),
    )
    rule = jnp.where(is_sink, SINK, jnp.where(is_source, SOURCE, MOST))
    candidates = alive & jnp.where(is_sink, sinks, first_of)
    return state, PeelStep(u, jnp.where(left, rule, 0).astype(jnp.int32), candidates)


def total_order(ranks: Int[Array, " n"]) -> Int[Array, " n"]:
    """Keys whose ascending order is the run, then the rest by ascending document id.

    Greedy PGC [Luo 2021, Algorithms 3 and 4] breaks ties of documents that were not
    retrieved arbitrarily, which changes scores; this extension breaks them by the data.

    Args:
        ranks: 0-based rank of each document in the run, or `ABSENT`.

    Returns:
        Distinct integers, below `ABSENT` for retrieved documents only.
    """
    index = jnp.arange(ranks.shape[-1], dtype=ranks.dtype)
    return jnp.where(ranks < ABSENT, ranks, ABSENT + index)


def peeled_overlap(
    edges: Int[Array, "n n"],
    ranks: Int[Array, " n"],
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and the ideal ranking nearest to it.

    It takes graphs of any size and degree; `peel_packed` is faster, for limited ones.
    """
    ideal = ideal_ranks(edges, ranks, where=where)
    return overlap(ranks, ideal, weights, where=where)
