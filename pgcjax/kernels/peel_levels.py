"""Greedy PGC of a weak order: a count per level in place of the peel."""

from jaxtyping import Int, Int32, Int64

from pgcjax.later import Array, jax, jnp

BLOCK = 32
"""Steps of a turn, if their number is known: a GPU launches its kernels at each turn.

With 16 there are twice as many launches, and with 64 twice as many comparisons.
"""


def levelled_overlap(
    starts: Int32[Array, " levels"],
    level: Int32[Array, " k"],
    ranks: Int32[Array, " k"],
    first: Int32[Array, " runs"],
    count: Int32[Array, " runs"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
) -> Int64[Array, " runs"]:
    """Add up RBO weights of each run and the ideal ranking nearest to it.

    The ideal ranking orders the documents by level and, within a level, as the run
    does; documents that it did not retrieve are last. So a retrieved document follows
    all documents of better levels, and those of its level that the run ranks above it.
    Step i takes the i-th document of every run of the query, because a processor
    computes runs side by side, but not levels. If the number of steps is static, as on
    a GPU, blocks of steps are taken together: see `BLOCK`.

    Args:
        starts: number of documents of better levels, for each level.
        level: level of each judged document that a run retrieved, run after run, and
            best first in a run.
        ranks: rank of each of these documents in its run.
        first: start of each run in these lists.
        count: number of documents of each run.
        steps: the largest count; more are harmless.
        weights: from `rbo.rank_weights`.

    Source: the ideal ranking of compatibility (Clarke, Smucker and Vtyurina 2020),
    which is Greedy PGC's on the graph with an edge for each pair of unequal levels.
    """
    depth = weights.shape[-1] - 1

    if isinstance(steps, int):
        return _in_blocks(starts, level, ranks, first, count, steps, weights)
    levels = jnp.arange(starts.shape[-1], dtype=jnp.int32)[:, None]

    def step(i, state: tuple) -> tuple:
        open_places, total = state
        there = i < count
        here, rank = _documents(level, ranks, first + i)
        own_level = levels == jnp.where(there, here, -1)[None, :]
        ideal = jnp.sum(jnp.where(own_level, open_places, 0), axis=0, dtype=jnp.int32)
        lower = jnp.where(there, jnp.maximum(rank, ideal), depth)
        left = open_places + own_level.astype(open_places.dtype)
        return left, total + weights[jnp.minimum(lower, depth)]

    open_places = jnp.broadcast_to(starts[:, None], (starts.shape[-1], *first.shape))
    state = (open_places, jnp.zeros(first.shape, jnp.int64))
    return jax.lax.fori_loop(0, steps, step, state)[1]


def _documents(
    level: Int32[Array, " k"], ranks: Int32[Array, " k"], at: Int32[Array, "*shape"]
) -> tuple[Int32[Array, "*shape"], Int32[Array, "*shape"]]:
    """Return level and rank at places of the lists; beyond the end, the last ones."""
    at = jnp.minimum(at, level.shape[-1] - 1)
    return level[at], ranks[at]


def _in_blocks(
    starts: Int32[Array, " levels"],
    level: Int32[Array, " k"],
    ranks: Int32[Array, " k"],
    first: Int32[Array, " runs"],
    count: Int32[Array, " runs"],
    steps: int,
    weights: Int64[Array, " depth_plus_1"],
) -> Int64[Array, " runs"]:
    """Compute `levelled_overlap`, several steps a turn."""
    depth, width = weights.shape[-1] - 1, min(BLOCK, steps)
    place = jnp.arange(width, dtype=jnp.int32)

    def turn(number, state: tuple) -> tuple:
        open_places, total = state
        i = number * width + place
        here, rank = _documents(level, ranks, first[:, None] + i)
        there = i < count[:, None]
        ideal = open_places.at[row, here].get(mode="clip")
        # Terms are added one by one: XLA would reduce an axis as short as a block in a
        # kernel whose registers spill.
        for earlier in range(width):
            same = here[:, earlier : earlier + 1] == here
            ideal += (same & (earlier < place)).astype(jnp.int32)
        left = open_places.at[row, here].add(there.astype(jnp.int32), mode="drop")
        lower = jnp.minimum(jnp.maximum(rank, ideal), depth)
        gain = weights[jnp.where(there, lower, depth)]
        return left, total + jnp.sum(gain, axis=1)

    runs = len(first)
    row = jnp.arange(runs)[:, None]
    open_places = jnp.broadcast_to(starts, (runs, len(starts)))
    state = open_places, jnp.zeros(runs, jnp.int64)
    turns = -(-steps // width)
    return jax.lax.fori_loop(0, turns, turn, state)[1]
