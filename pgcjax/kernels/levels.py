"""Greedy PGC of a weak order: a count per level in place of the peel."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Int32, Int64


def levelled_overlap(
    starts: Int32[Array, " levels"],
    level: Int32[Array, " k"],
    ranks: Int32[Array, " k"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and the ideal ranking nearest to it.

    The ideal ranking has the documents by level and, within a level, as the run has
    them, those that it did not retrieve last. So a retrieved document stands after
    all documents of better levels and those of its own that the run ranks before it.

    Args:
        starts: number of documents of better levels, for each level.
        level: level of the i-th judged document that the run retrieved.
        ranks: its rank in the run, ascending; `ABSENT` for padding.
        steps: the most documents that a run of the batch retrieved; more are harmless.
        weights: from `overlap.rank_weights`.

    Source: the ideal ranking of compatibility (Clarke, Smucker and Vtyurina 2020),
    which is Greedy PGC's on the graph with an edge for each pair of unequal levels.
    """
    depth = weights.shape[-1] - 1
    index = jnp.arange(starts.shape[-1], dtype=jnp.int32)

    def step(i, state: tuple) -> tuple:
        open_places, total = state
        mine = index == level[i]
        ideal = jnp.sum(jnp.where(mine, open_places, 0), dtype=jnp.int32)
        gain = weights[jnp.minimum(jnp.maximum(ranks[i], ideal), depth)]
        return open_places + mine, total + gain

    return jax.lax.fori_loop(0, steps, step, (starts, jnp.int64(0)))[1]
