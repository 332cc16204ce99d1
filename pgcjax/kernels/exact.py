"""Exact PGC: the overlap with the nearest, or farthest, optimal order of a query."""

from jaxtyping import Int, Int32, Int64, UInt32

from pgcjax.later import Array, jax, jnp

FEW = 8  # sets of a block on a CPU: XLA does not vectorise a step over more sets
MANY = 256  # sets of a block on other devices
_NONE = -(1 << 62)  # below every sum of overlaps, as no overlap is below 0


def extreme_overlap(
    members: UInt32[Array, "words sets"],
    size: Int32[Array, " sets"],
    target: Int32[Array, " blocks"],
    first: Int32[Array, " blocks"],
    turns: Int32[Array, " blocks"],
    source: Int32[Array, "turns together"],
    last: Int[Array, ""],
    blocks: Int[Array, ""],
    top: UInt32[Array, "words depths runs"],
    ranks: Int32[Array, "n runs"],
    weights: Int64[Array, " depth_plus_1"],
    *,
    farthest: bool = False,
) -> Int64[Array, " runs"]:
    """Add up RBO weights of each run and the optimal order that is nearest to it.

    An order is a path through sets of documents, from the empty set to the set of all;
    each step adds one document. At depth d, the order overlaps with the run as its set
    of d documents does. So the best path to a set has the weight of the set's overlap
    plus that of the best path to any set before it. The farthest order minimises the
    overlap. All runs are computed at once, side by side in a processor.

    Args:
        members: bit v % 32 of word v // 32 of each set: whether v is in it. Smaller
            sets come first; the last of all is padding.
        size: Number of documents of each set.
        target: the first of the `together` sets, of one size, of each block.
        first: first row of `source` that leads to the sets of the block.
        turns: number of these rows.
        source: sets before those of the block; the last set is padding.
        last: number of the set of all documents.
        blocks: number of blocks.
        top: which documents each run has down to each depth, as bits.
        ranks: rank of each document in each run, `ABSENT` if not retrieved.
        weights: from `rbo.rank_weights`.
        farthest: whether to take the order that is farthest from each run.

    Source: Luo 2021, 3.1, by dynamic programming over subsets.
    """
    depth, together = weights.shape[0] - 1, source.shape[1]
    depths = jnp.arange(top.shape[1])
    gained = (
        weights[jnp.clip(depths - 1, 0, depth)] - weights[jnp.minimum(depths, depth)]
    )

    def rows(array, first):
        return jax.lax.dynamic_slice_in_dim(array, first, together)

    def step(i, best):
        def turn(k, most):
            return jnp.maximum(most, _taken(best, source[first[i] + k]))

        at = size[target[i]]
        none = jnp.full((together, ranks.shape[1]), _NONE, jnp.int64)
        before = jax.lax.fori_loop(0, turns[i], turn, none)
        # A word at a time: XLA does not vectorise a sum over words on CPU.
        both = [
            rows(word, target[i])[:, None] & of_runs[at][None, :]
            for word, of_runs in zip(members, top, strict=True)
        ]
        shared = sum(jax.lax.population_count(x).astype(jnp.int32) for x in both)
        counts: Array = at - shared if farthest else jnp.asarray(shared)
        most = before + counts.astype(gained.dtype) * gained[at]
        return jax.lax.dynamic_update_slice_in_dim(best, most, target[i], 0)

    best = jnp.zeros((len(size), ranks.shape[1]), jnp.int64).at[-1].set(_NONE)
    best = jax.lax.fori_loop(0, blocks, step, best)[last]
    if farthest:
        inside = depths <= size[last].astype(depths.dtype)
        every = jnp.where(inside, depths.astype(gained.dtype) * gained, 0)
        best = jnp.sum(every) - best
    # From this depth on, the order has all documents; only the run adds shared ones.
    lower = jnp.minimum(jnp.maximum(ranks, size[last]), depth)
    return best + jnp.sum(weights[lower], axis=0)


def _taken(
    best: Int64[Array, "sets runs"], places: Int32[Array, " together"]
) -> Int64[Array, "together runs"]:
    """Take rows; few rows one by one, which halves the time on a CPU."""
    if len(places) > FEW:
        return best[places]
    rows = [jax.lax.dynamic_slice_in_dim(best, place, 1) for place in places]
    return jnp.concatenate(rows)
