"""Greedy PGC of a weak order: a count per level in place of the peel."""

from jaxtyping import Int, Int32, Int64

from pgcjax.later import Array, jax, jnp


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

    Args:
        starts: number of documents of better levels, for each level.
        level: level of each judged document that a run retrieved, run after run, and
            best first in a run.
        ranks: its rank in the run.
        first: where the documents of each run begin in that list.
        count: how many there are.
        steps: the largest count; more are harmless.
        weights: from `rbo.rank_weights`.
        of_vertex: level of each vertex; then `level` has vertices in place of levels.

    Source: the ideal ranking of compatibility (Clarke, Smucker and Vtyurina 2020),
    which is Greedy PGC's on the graph with an edge for each pair of unequal levels.
    """
    depth = weights.shape[-1] - 1
    levels = jnp.arange(starts.shape[-1], dtype=jnp.int32)[:, None]

    def step(i, state: tuple) -> tuple:
        open_places, total = state
        at, there = jnp.minimum(first + i, level.shape[-1] - 1), i < count
        here = (
            level[at] if of_vertex is None else of_vertex.at[level[at]].get(mode="clip")
        )
        own_level = levels == jnp.where(there, here, -1)[None, :]
        ideal = jnp.sum(jnp.where(own_level, open_places, 0), axis=0, dtype=jnp.int32)
        lower = jnp.where(there, jnp.maximum(ranks[at], ideal), depth)
        left = open_places + own_level.astype(open_places.dtype)
        return left, total + weights[jnp.minimum(lower, depth)]

    open_places = jnp.broadcast_to(starts[:, None], (starts.shape[-1], *first.shape))
    state = (open_places, jnp.zeros(first.shape, jnp.int64))
    return jax.lax.fori_loop(0, steps, step, state)[1]
