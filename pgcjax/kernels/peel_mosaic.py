"""Greedy PGC and RBO in one launch, by Mosaic GPU: a warpgroup peels a few runs.

The sums equal those of `peel_packed`, bit for bit. It needs an NVIDIA GPU of compute
capability 9.0 or more. 128 threads hold the words of a run in registers; a step is one
maximum over them, then scalars, then one row, cached for all runs of its query. Runs of
a block take their steps together, which hides the latency of loads.

Mosaic GPU has no loads by an array of indices, so a warp cannot have a run of its own.
It has no maximum over the threads of several warpgroups, so a block is one warpgroup.
It takes three times as long as `peel_pallas` on an H100 (docs/gpu.md).
Importing it imports Pallas.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu
from jaxtyping import Array, Bool, Int, Int32, Int64

from pgcjax.kernels.peel_packed import key_of, place_of, removing

_THREADS = 128  # of a warpgroup; arrays in registers are whole multiples of it
_PER_BLOCK = 1024  # words of all runs of a block: 8 in each thread
_MOST_RUNS = 4


def peeled_overlap(
    rows: Int32[Array, "n n"],
    words: Int32[Array, " n"],
    order: Int32[Array, "runs n"],
    inverse: Int32[Array, "runs n"],
    ranks: Int32[Array, "runs n"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
    interpret: bool = False,
    block: int | None = None,
) -> Int64[Array, " runs"]:
    """Add up RBO weights of each run and the ideal ranking nearest to it.

    Args:
        rows: see `peel_pallas.peeled_overlap`, also for the others.
        words: degrees of every vertex.
        order: place of each vertex in each run.
        inverse: the vertex at each place.
        ranks: rank of the vertex at each place, `ABSENT` if not retrieved.
        steps: number of vertices; more are harmless.
        weights: from `rbo.rank_weights`.
        where: True for vertices, False for padding, which follows them.
        interpret: run without a GPU, slowly, to test.
        block: runs per warpgroup; by default chosen for n.

    Returns:
        `peel_packed.peeled_overlap` of each run.
    """
    n = order.shape[-1]
    short = -n % _THREADS
    if block is None:
        block = max(1, min(_MOST_RUNS, _PER_BLOCK // (n + short)))
    count = jnp.sum(where, dtype=jnp.int32)
    # There are no more steps than vertices, so each step finds a vertex.
    bounds = jnp.stack([count, jnp.minimum(jnp.asarray(steps, jnp.int32), count)])
    # The word of padding is -1, and no row changes it: it is never chosen.
    start = jnp.where(where, words + order, -1)
    start = jnp.pad(start, ((0, 0), (0, short)), constant_values=-1)
    rows = jnp.pad(removing(rows, where=where), ((0, 0), (0, short)))
    call = _batched(block, interpret)
    return call(rows, start, inverse, ranks, bounds, weights)


@functools.cache
def _batched(block: int, interpret: bool):
    """Return the launch for one query, which vmap turns into one launch for several."""

    @jax.custom_batching.custom_vmap
    def launch(*arrays):
        return _launch(*(x[None] for x in arrays), block=block, interpret=interpret)[0]

    @launch.def_vmap
    def launch_all(size, batched, *arrays):
        arrays = (
            x if has_queries else jnp.broadcast_to(x, (size, *x.shape))
            for x, has_queries in zip(arrays, batched, strict=True)
        )
        return _launch(*arrays, block=block, interpret=interpret), True

    return launch


def _launch(rows, start, inverse, ranks, bounds, weights, *, block, interpret):
    queries, runs, _ = start.shape
    params: Any = mosaic_gpu  # JAX 0.10 has no public interpreter of GPUs
    call = mosaic_gpu.kernel(
        functools.partial(_peel, block=block),
        out_type=jax.ShapeDtypeStruct((queries, runs), jnp.int64),
        grid=(queries, pl.cdiv(runs, block)),
        grid_names=("query", "block"),
        interpret=params.InterpretGPUParams() if interpret else False,
    )
    return call(rows, start, inverse, ranks, bounds, weights)


def _peel(rows, start, inverse, ranks, bounds, weights, out, *, block):
    """Peel `block` runs; the arguments are references to arrays in memory."""
    (_, runs, _), depth = start.shape, weights.shape[-1] - 1
    query, first = jax.lax.axis_index("query"), jax.lax.axis_index("block") * block
    # Blocks that reach beyond the last run repeat it, so no mask is needed.
    of_block = [jnp.minimum(first + i, runs - 1) for i in range(block)]
    last = bounds[query, 0] - 1

    def step(i, state: tuple) -> tuple:
        return tuple(
            next_of(i, run, *of_run)
            for run, of_run in zip(of_block, state, strict=True)
        )

    def next_of(i, run, word, back, total) -> tuple:
        place, is_sink = place_of(jnp.max(key_of(word)))
        # Rows are loaded first: the next step needs them, but not ranks and weights.
        word = word - rows[query, inverse[query, run, place]]
        # i steps placed i vertices: those that are not at the back are in front.
        ideal = jnp.where(is_sink, back, back - last + i)
        rank = jnp.maximum(ranks[query, run, place], ideal)
        gain = weights[query, jnp.minimum(rank, depth)]
        return word, back - is_sink.astype(jnp.int32), total + gain

    state = tuple((start[query, run], last, jnp.int64(0)) for run in of_block)
    state = jax.lax.fori_loop(jnp.int32(0), bounds[query, 1], step, state)
    for run, (_, _, total) in zip(of_block, state, strict=True):
        out[query, run] = total
