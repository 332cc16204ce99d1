"""Greedy PGC in one pass: a vertex is one word, and RBO is added while peeling.

The same peel as `peel.ideal_ranks`, several times faster, for graphs of up to 1024
vertices with degrees below 1024. A word holds, from the top,

    sign: 1 bit | outdegree: 10 bits | indegree: 11 bits | place in the run: 10 bits

so the removal of a vertex is one subtraction of a row of words, and the choice of the
next vertex is a single maximum. No field can borrow from its neighbour, because the
subtracted edges are part of the degrees. The removal of a vertex sets its sign bit.
"""

from jaxtyping import Bool, Int, Int32, Int64, Integer

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jax, jnp

OUT, IN = 21, 10
MOST_VERTICES = MOST_DEGREE = 1024
MOST_LISTED = MOST_VERTICES // 2
"""Vertices of a graph for which `runs_by_place` may lay runs out."""

UNROLLED = 4
"""Steps of a turn of a loop of as many steps as a graph has room for, as on a GPU.

XLA makes one launch of each, in which it takes the rows of the steps before again from
words that it writes once a turn; and three more of a turn. The more steps, the fewer
launches, and the more rows.
"""

PLACES = (1 << IN) - 1
DEGREES = (1 << (OUT - IN)) - 1
_GONE = -(1 << 31)
_NOT_A_SOURCE = _GONE | DEGREES << IN  # bits that are 0 in the word of a source
# Keys for the maximum: bands of sources and of sinks above every delta.
SOURCE, SINK = 1 << 22, 1 << 23


def peeled_overlap(
    rows: Int32[Array, "n n"],
    words: Int32[Array, " n"],
    order: Int32[Array, " n"],
    inverse: Int32[Array, " places"],
    ranks: Int32[Array, " places"],
    steps: Int[Array, ""] | int,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and the ideal ranking nearest to it.

    Args:
        rows: `rows[u]` is subtracted from the other words when u is removed.
        words: degrees of every vertex; place 0.
        order: place of each vertex in the run, extended to a total order; from 0.
            Places go up to the largest that a word can hold; some may be empty.
        inverse: the vertex at each place of that order.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
        steps: number of vertices; more, up to n, are harmless. See `UNROLLED`.
        weights: from `rbo.rank_weights`.
        where: True for vertices; False for padding, and for documents that no judgment
            of a replicate names: they keep their places, and add nothing.

    Returns:
        `rbo.overlap` with the ranks of `peel.ideal_ranks`.

    Source: Luo 2021, Algorithms 2-4.
    """
    depth = weights.shape[-1] - 1
    last = jnp.sum(where, dtype=jnp.int32) - 1
    rows = removing(rows, where=where)
    word = jnp.where(where, words + order, -1)

    def gain(i: Array, place: Array, ideal: Array) -> Array:
        lower = jnp.minimum(jnp.maximum(_at(ranks, place), ideal), depth)
        # Steps after the last vertex are void: they add weights[depth], which is 0.
        return _at(weights, jnp.where(i <= last, lower, depth))

    if isinstance(steps, int):
        place, is_sink = next_place(placed_keys(word, rows, inverse, steps), len(word))
        behind = jnp.cumsum(is_sink, dtype=jnp.int32)
        i = jnp.arange(steps, dtype=jnp.int32)
        ideal = jnp.where(is_sink, last - behind + 1, i - behind)
        return jnp.sum(gain(i, place, ideal))

    def step(i, state: tuple) -> tuple:
        word, back, total = state
        place, is_sink = next_place(best_key(word), len(word))
        # i steps placed i vertices: those that are not at the back are in front.
        ideal = jnp.where(is_sink, back, back - last + i)
        word = word - _at(rows, _at(inverse, place))
        back = back - is_sink.astype(back.dtype)
        return word, back, total + gain(i, place, ideal)

    return jax.lax.fori_loop(0, steps, step, (word, last, jnp.int64(0)))[2]


def placed_keys(
    word: Int32[Array, " n"],
    rows: Int32[Array, "n n"],
    inverse: Int32[Array, " places"],
    steps: int,
) -> Int32[Array, " steps"]:
    """Compute the key of the vertex that each of a known number of steps places.

    A GPU computes the words of a step and their maximum in one launch. The caller
    computes the rest from all keys at once.

    Args:
        word: Word of each vertex, with its place; -1 in padding.
        rows: see `removing`.
        inverse: the vertex at each place.
        steps: number of vertices; keys after the last vertex are arbitrary.
    """

    def step(state: tuple, _) -> tuple[tuple, Array]:
        word, best = state
        place, _ = next_place(best, len(word))
        word = word - _at(rows, _at(inverse, place))
        return (word, best_key(word)), best

    state = word, best_key(word)
    return jax.lax.scan(step, state, None, length=steps, unroll=UNROLLED)[1]


def runs_by_place(
    vertices: Int32[Array, " documents"],
    ranks: Int32[Array, " documents"],
    first: Int32[Array, " runs"],
    counts: Int32[Array, " runs"],
    n: int,
) -> tuple[Int32[Array, "runs n"], Int32[Array, "runs 2*n"], Int32[Array, "runs 2*n"]]:
    """Lay runs out by place, from a list of the documents that they retrieved.

    Retrieved documents have the first places of a run; the others have the places from
    n on, by vertex.

    Args:
        vertices: Documents of the runs, run after run and best first; n more follow.
        ranks: Ranks of these documents in their runs.
        first: start of each run in these lists.
        counts: number of documents of each run.
        n: padded number of vertices, at most `MOST_LISTED`.

    Returns:
        `order`, `inverse` and `ranks` of each run, for `peeled_overlap`.
    """
    runs = first.shape[0]
    number = jnp.arange(n, dtype=jnp.int32)

    def put(run, tables):
        # Tables of all runs are updated in place. XLA cannot fuse a scatter with the
        # rest of the program.
        order, inverse, rank = tables
        begin, count = _at(first, run), _at(counts, run)

        def put_one(place, order):
            cell = run * n + _at(vertices, begin + place)
            value = jnp.asarray(place, jnp.int32)[None]
            return jax.lax.dynamic_update_slice(order, value, (cell,))

        vertex = jax.lax.dynamic_slice(vertices, (begin,), (n,))
        vertex = jnp.where(
            number < count, vertex, 0
        )  # places from `count` on have documents of the next runs
        rank_of = jax.lax.dynamic_slice(ranks, (begin,), (n,))
        return (
            jax.lax.fori_loop(jnp.int32(0), count, put_one, order),
            jax.lax.dynamic_update_slice(inverse, vertex, (2 * n * run,)),
            jax.lax.dynamic_update_slice(rank, rank_of, (2 * n * run,)),
        )

    tables = (
        jnp.tile(n + number, runs),
        jnp.tile(number, 2 * runs),
        jnp.full(2 * n * runs, ABSENT, jnp.int32),
    )
    tables = jax.lax.fori_loop(jnp.int32(0), jnp.int32(runs), put, tables)
    order, inverse, rank = (table.reshape(runs, -1) for table in tables)
    return order, inverse, rank


def rows_and_words(
    edges: Integer[Array, "n n"],
) -> tuple[Int32[Array, "n n"], Int32[Array, " n"]]:
    """Compute the rows and words of a graph, for `peeled_overlap`.

    Args:
        edges: `edges[u, v]` judgments prefer u to v, in any integer type: the host
            sends edges to the device, as bytes if they fit, not rows and words.
    """
    edges = edges.astype(jnp.int32)
    rows = (edges.T << OUT) + (edges << IN)
    return rows, jnp.sum(rows, axis=0, dtype=jnp.int32)


def removing(
    rows: Int32[Array, "n n"], *, where: Bool[Array, " n"]
) -> Int32[Array, "n n"]:
    """Complete the rows: removing a vertex also flips the sign of its own word."""
    itself = jnp.eye(rows.shape[-1], dtype=bool) & where[None, :]
    return jnp.where(itself, _GONE, rows)


def best_key(word: Int32[Array, " n"]) -> Int32[Array, ""]:
    """Return the greatest key, which is that of the next vertex."""
    return jax.lax.platform_dependent(key_of(word), cpu=_by_halves, default=_at_once)


def next_place(
    best: Int32[Array, "*runs"], n: int
) -> tuple[Int32[Array, "*runs"], Bool[Array, "*runs"]]:
    """Choose the next of n vertices: its place in the run, and whether it is a sink."""
    place, is_sink = place_of(best)
    # The deltas of the vertices that are left add up to 0. So a best key below all keys
    # of delta 0 means that none is left; then the last place is padding with row 0.
    return jnp.where(best > -MOST_VERTICES, place, n - 1), is_sink


def place_of(
    best: Int32[Array, "*runs"],
) -> tuple[Int32[Array, "*runs"], Bool[Array, "*runs"]]:
    """Return the place in the run of the best key, and whether it is a sink."""
    is_sink = best >= SINK
    return jnp.where(is_sink, best, -best) & PLACES, is_sink


def key_of(word: Int32[Array, "*n"]) -> Int32[Array, "*n"]:
    """Compute keys, greatest for the next vertex: delta, then the lower place.

    A word is outdegree << OUT, plus indegree << IN, plus place, so the key is one
    product less the word. The sign bit of a removed vertex lowers its outdegree by 1024
    and its key to at most -1024, since no delta is above 1023.
    """
    out, place = word >> OUT, word & PLACES
    key = out * ((1 << OUT) + (1 << IN)) - word
    key = jnp.where(word & _NOT_A_SOURCE == 0, SOURCE - place, key)
    return jnp.where(out == 0, SINK + place, key)


def _at(array: Array, place: Int32[Array, "*places"]) -> Array:
    """Return the item at a place, unchecked: a check takes as long as the look-up."""
    element = jnp.asarray(array).at[place]
    return element.get(mode="promise_in_bounds", wrap_negative_indices=False)


def _at_once(x: Int32[Array, " n"]) -> Int32[Array, ""]:
    # On a GPU, a warp reads a row, so loads of its threads are adjacent.
    return x.max(-1)


def _by_halves(x: Int32[Array, " n"]) -> Int32[Array, ""]:
    # On a CPU, XLA vectorises neither a maximum over the last axis, nor halves that are
    # not whole registers: 192 words are halved to 24, not to 6.
    while x.shape[-1] > 24 and x.shape[-1] % 2 == 0:
        half = x.shape[-1] // 2
        x = jnp.maximum(x[..., :half], x[..., half:])
    return x.max(-1)
