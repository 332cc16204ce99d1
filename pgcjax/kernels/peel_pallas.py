"""Greedy PGC and RBO in one launch: a GPU peels a few runs per warp, in registers.

A Pallas kernel for Triton, whose sums equal those of `peel_packed`, bit for bit. While
it peels, a warp only loads from memory: a step is one maximum within the warp; from the
chosen place it loads the vertex, then its row, and beside them its rank and weight: a
chain of two loads. docs/gpu.md has the times on an H100.

Needs an NVIDIA GPU of compute capability 8.0 or more. Importing it imports Pallas.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Bool, Int, Int32, Int64

from pgcjax.kernels.peel_packed import key_of, place_of, removing

# 32 words for each of 32 threads. A step holds words, keys and a row in registers, and
# these must suffice for many warps, which hide the latency of loads.
_PER_WARP = 1024
# Each thread of a run repeats some instructions, so fewer threads save time. But a load
# needs 16 bytes per thread and 64 adjacent bytes: at least 4 threads for a run.
_MOST_RUNS = 8
_WIDTH = 128  # words in a load of 16 bytes per thread


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
    num_warps: int = 1,
) -> Int64[Array, " runs"]:
    """Add up RBO weights of each run and the ideal ranking nearest to it.

    Args:
        rows: `rows[u]` is subtracted from every word when u is removed.
        words: degrees of every vertex, as in `peel_packed`.
        order: place of each vertex in each run.
        inverse: the vertex at each place.
        ranks: rank of the vertex at each place, `ABSENT` if not retrieved.
        steps: number of vertices; more are harmless.
        weights: from `rbo.rank_weights`.
        where: True for vertices, False for padding, which follows them.
        interpret: run without a GPU, slowly, to test.
        block: runs per program, a power of two; by default chosen for n and the warps.
        num_warps: warps per program. Each has runs of its own, unless `block` is too
            small; they share rows, and wait for each other at every step.

    Returns:
        `peel_packed.peeled_overlap` of each run.
    """
    runs, n = order.shape
    if block is None:
        fit = max(1, _PER_WARP // n)
        block = num_warps * min(_MOST_RUNS, 1 << (fit.bit_length() - 1))
    call = pl.pallas_call(
        functools.partial(_peel, block=block, warps=num_warps),
        grid=(pl.cdiv(runs, block),),
        out_shape=jax.ShapeDtypeStruct((runs,), jnp.int64),
        # One stage: the loads of a step depend on the step before, so none can be
        # prefetched. These parameters also select Triton in place of Mosaic.
        compiler_params=triton.CompilerParams(num_warps=num_warps, num_stages=1),
        interpret=interpret,
    )
    rows = removing(rows, where=where)
    bound = jnp.asarray(steps, jnp.int32)
    return call(rows, words, order, inverse, ranks, bound, weights, where)


def _peel(
    rows, words, order, inverse, ranks, steps, weights, where, out, *, block, warps
):
    """Peel `block` runs; the arguments are references to arrays in memory."""
    (runs, n), depth = order.shape, weights.shape[0] - 1
    # Sizes of arrays in Triton are powers of two; 192 words are three such parts. Parts
    # of one width have one layout over the threads, so keys are reduced first within a
    # thread, then within the warp.
    width = math.gcd(n, max(1, _WIDTH * warps // block))
    parts = [pl.ds(low, width) for low in range(0, n, width)]
    # Programs that reach beyond the last run repeat it, so no mask is needed.
    run = pl.program_id(0) * block + jnp.arange(block, dtype=jnp.int32)
    run = jnp.minimum(run, runs - 1)
    valid = [where[part] for part in parts]
    count = jnp.sum(sum(x.astype(jnp.int32) for x in valid), dtype=jnp.int32)
    last = count - 1

    def step(i, state: tuple) -> tuple:
        word, back, total = state
        keys = [key_of(x) for x in word]
        best = functools.reduce(jnp.maximum, keys).max(-1)
        place, is_sink = place_of(best)
        vertex, rank = inverse[run, place], ranks[run, place]
        # Rows are loaded first: the next step needs them, but not ranks and weights.
        taken = [rows[vertex, part] for part in parts]
        # i steps placed i vertices: those that are not at the back are in front.
        ideal = jnp.where(is_sink, back, back - last + i)
        gain = weights[jnp.minimum(jnp.maximum(rank, ideal), depth)]
        left = [x - row for x, row in zip(word, taken, strict=True)]
        return left, back - is_sink.astype(back.dtype), total + gain

    start = [
        jnp.where(x, words[part] + order[run, part], -1)
        for x, part in zip(valid, parts, strict=True)
    ]
    back = jnp.full(block, last, jnp.int32)
    state = (start, back, jnp.zeros(block, jnp.int64))
    # There are no more steps than vertices, so each step finds a vertex.
    bound = jnp.minimum(steps[...], count)
    out[run] = jax.lax.fori_loop(0, bound, step, state)[2]
