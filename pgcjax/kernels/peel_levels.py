"""Greedy PGC of a weak order: a count per level in place of the peel."""

from jaxtyping import Int, Int32, Int64

from pgcjax.later import Array, jax, jnp

MOST_AT_ONCE = 64
"""Steps that a GPU takes at once, if their number is known; more go by a loop."""


def levelled_overlap(
    starts: Int32[Array, " levels"],
    level: Int32[Array, " k"],
    ranks: Int32[Array, " k"],
    first: Int32[Array, " runs"],
    count: Int32[Array, " runs"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
    of_vertex: Int32[Array, " n"] | None = None,
) -> Int64[Array, " runs"]:
    """Add up RBO weights of each run and the ideal ranking nearest to it.

    The ideal ranking has the documents by level and, within a level, as the run has
    them, those that it did not retrieve last. So a retrieved document stands after
    all documents of better levels and those of its own that the run ranks before it.
    All runs of a query at once: in step i, each takes its i-th document, which is in
    the list of all of them. A processor computes runs side by side, but not levels.
    A known small number of steps is taken at once, as a GPU starts a loop at each step.

    Args:
        starts: number of documents of better levels, for each level.
        level: level of each judged document that a run retrieved, run after run, and
            best first in a run.
        ranks: its rank in the run.
        first: where the documents of each run begin in that list.
        count: how many there are.
        steps: the largest count; more are harmless. See `MOST_AT_ONCE`.
        weights: from `rbo.rank_weights`.
        of_vertex: level of each vertex; then `level` has vertices in place of levels.

    Source: the ideal ranking of compatibility (Clarke, Smucker and Vtyurina 2020),
    which is Greedy PGC's on the graph with an edge for each pair of unequal levels.
    """
    depth = weights.shape[-1] - 1

    def ith(i: Array, first: Array) -> tuple[Array, Array]:
        at = jnp.minimum(first + i, level.shape[-1] - 1)
        here = level[at]
        if of_vertex is None:
            return here, ranks[at]
        return of_vertex.at[here].get(mode="clip"), ranks[at]

    if isinstance(steps, int) and steps <= MOST_AT_ONCE:
        i = jnp.arange(steps, dtype=jnp.int32)
        return _at_once(starts, *ith(i, first[:, None]), count, weights)
    levels = jnp.arange(starts.shape[-1], dtype=jnp.int32)[:, None]

    def step(i, state: tuple) -> tuple:
        open_places, total = state
        there = i < count
        here, rank = ith(i, first)
        own_level = levels == jnp.where(there, here, -1)[None, :]
        ideal = jnp.sum(jnp.where(own_level, open_places, 0), axis=0, dtype=jnp.int32)
        lower = jnp.where(there, jnp.maximum(rank, ideal), depth)
        left = open_places + own_level.astype(open_places.dtype)
        return left, total + weights[jnp.minimum(lower, depth)]

    open_places = jnp.broadcast_to(starts[:, None], (starts.shape[-1], *first.shape))
    state = (open_places, jnp.zeros(first.shape, jnp.int64))
    return jax.lax.fori_loop(0, steps, step, state)[1]


def _at_once(
    starts: Int32[Array, " levels"],
    level: Int32[Array, "runs steps"],
    rank: Int32[Array, "runs steps"],
    count: Int32[Array, " runs"],
    weights: Int64[Array, " depth_plus_1"],
) -> Int64[Array, " runs"]:
    """Add up the weights of all steps, whose documents are in the order of runs."""
    depth, i = weights.shape[-1] - 1, jnp.arange(level.shape[1], dtype=jnp.int32)
    same = (level[:, :, None] == level[:, None, :]) & (i[:, None] > i)
    ideal = jnp.sum(same, axis=2, dtype=jnp.int32)
    ideal += starts.at[level].get(mode="clip")
    lower = jnp.minimum(jnp.maximum(rank, ideal), depth)
    return jnp.sum(weights[jnp.where(i < count[:, None], lower, depth)], axis=1)
