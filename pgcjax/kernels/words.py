"""Greedy PGC in one pass: a vertex is one word, and RBO is added while peeling.

The same peel as `peel.ideal_ranks`, several times faster, for graphs of up to 1024
vertices with degrees below 1024. A word holds, from the top,

    outdegree: 10 bits | indegree: 11 bits | first-come priority: 10 bits

so that removing a vertex is one subtraction of a row of words, and choosing the next
one is a single maximum. No field can borrow from its neighbour: what is subtracted is
part of what is there. Vertices that are gone are -1.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Int32, Int64

OUT, IN = 21, 10
MOST_VERTICES = MOST_DEGREE = 1024
_PRIORITY = (1 << IN) - 1
_DEGREE = (1 << (OUT - IN)) - 1
# Keys for the maximum: delta - the lowest is -2047 - above 0, then bands above delta.
_SHIFT = 1 << (OUT - IN)
_SOURCE, _SINK = 1 << 22, 1 << 23


def peeled_overlap(
    rows: Int32[Array, "n n"],
    words: Int32[Array, " n"],
    order: Int32[Array, " n"],
    inverse: Int32[Array, " n"],
    ranks: Int32[Array, " n"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and the ideal ranking nearest to it.

    Args:
        rows: `rows[u]` is what removing u takes from every word.
        words: degrees of every vertex; priority 0.
        order: place of each vertex in the run, extended to a total order; from 0.
        inverse: the vertex at each place of that order.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
        steps: number of vertices; more are harmless.
        weights: from `overlap.rank_weights`.
        where: True for vertices, False for padding.

    Returns:
        What `overlap.overlap` gives for `peel.ideal_ranks`.

    Source: Luo 2021, Algorithms 2-4.
    """
    depth = weights.shape[-1] - 1

    def step(_, state: tuple) -> tuple:
        word, front, back, total = state
        out, into = word >> OUT, (word >> IN) & _DEGREE
        priority = word & _PRIORITY
        key = ((out - into + _SHIFT) << IN) | priority
        key = jnp.where(into == 0, _SOURCE | priority, key)
        key = jnp.where(out == 0, _SINK | (_PRIORITY - priority), key)
        best = _maximum(jnp.where(word < 0, -1, key))
        is_sink, low = best >= _SINK, best & _PRIORITY
        place = jnp.where(is_sink, low, _PRIORITY - low)
        ideal = jnp.where(is_sink, back, front)
        gain = weights[jnp.minimum(jnp.maximum(ranks[place], ideal), depth)]
        some = best >= 0
        gone = (word < 0) | (priority == _PRIORITY - place)
        return (
            jnp.where(gone, -1, word - rows[inverse[place]]),
            front + (some & ~is_sink),
            back - (some & is_sink),
            total + jnp.where(some, gain, 0),
        )

    last = jnp.sum(where, dtype=jnp.int32) - 1
    start = jnp.where(where, words + (_PRIORITY - order), -1)
    state = (start, jnp.int32(0), last, jnp.int64(0))
    return jax.lax.fori_loop(0, steps, step, state)[3]


def _maximum(x: Int32[Array, " n"]) -> Int32[Array, ""]:
    # By halves: XLA does not vectorise a maximum over the last axis on CPU.
    while x.shape[-1] > 4 and x.shape[-1] % 2 == 0:
        half = x.shape[-1] // 2
        x = jnp.maximum(x[..., :half], x[..., half:])
    return x.max(-1)
