"""The judged documents of a query that a run shows, and sums that padding cannot move.

A sum of floats depends on its order, and a compiler may fuse a product into it. So sums
here add in the order of a tree, which zeros at the end do not change, and a mask rounds
their terms before. `ratio` divides for a similar reason.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int, Int32, Num, Shaped

from pgcjax.later import Array, jax, jnp, lax

_FEW = 32
"""Terms that a thread of a GPU adds up by itself. With all of them in one launch, it
has no registers for 256, and no two threads read what lies side by side."""


class RankedList(NamedTuple):
    """The judged documents that a run retrieved for a query, best first.

    Attributes:
        vertex: `[w]` which document it is among the judged ones; 0 for padding.
        rank: `[w]` its rank in the run, from 1; 0 for padding.
        where: `[w]` True for documents within the depth that counts.
        weight: `[w]` the measure's weight by rank; 0 where it has none.
        length: `[]` number of documents that the run retrieved, judged or not.
    """

    vertex: Int[Array, " w"]
    rank: Int[Array, " w"]
    where: Bool[Array, " w"]
    weight: Num[Array, " w"]
    length: Int[Array, ""]


def rounded(
    product: Float[Array, "*n"], where: Bool[Array, "*n"]
) -> Float[Array, "*n"]:
    """Round a product to float64 before it is added: 0 where `where` is False."""
    return jnp.where(where, product, 0.0)


def total(
    terms: Float[Array, "*n"], *, where: Bool[Array, "*n"], axis: int = -1
) -> Float[Array, "*m"]:
    """Add up an axis, in an order that padding at its end does not change."""
    return _traced_once(_tree_sum)(jnp.moveaxis(rounded(terms, where), axis, -1))


@cache
def _traced_once(kernel: Callable[..., Array], **settings: Any) -> Callable[..., Array]:
    """Let JAX trace a kernel once for all calls with equal shapes in a program."""
    return jax.jit(partial(kernel, **settings))


def _tree_sum(x: Array) -> Array:
    return lax.platform_dependent(x, cpu=_halved, default=partial(_halved, stop=_FEW))


def _halved(x: Array, stop: int = 0) -> Array:
    size = 1 << max(0, x.shape[-1] - 1).bit_length()
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])
    while size > 1:
        size //= 2
        x = x[..., :size] + x[..., size:]
        if size == stop:
            x = lax.optimization_barrier(x)
    return x[..., 0]


def picked(
    values: Shaped[Array, " n"], places: Int[Array, " w"]
) -> Shaped[Array, " w"]:
    """Return the values at places, which must be valid: they are not checked.

    JAX takes ten times as long to trace `values[places]`, where places may be negative.
    """
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    places = lax.expand_dims(places, (1,))
    return lax.gather(values, places, numbers, (1,), mode=mode)


def running(
    join: Callable[[Array, Array], Array], x: Array, *, neutral: float
) -> Array:
    """Join every item of the last axis with all before it: running sums or products.

    The order depends on the place of an item alone, not on how many items follow it.
    Items that are products must be `rounded`; `neutral` is 0 for sums, 1 for products.
    """
    return _traced_once(_running, join=join, neutral=neutral)(x)


def _running(x: Array, *, join: Callable[..., Array], neutral: float) -> Array:
    size = x.shape[-1]
    above = [(0, 0)] * (x.ndim - 1) + [(size, 0)]

    def step(i: Array, x: Array) -> Array:
        further = jnp.pad(x, above, constant_values=neutral)
        before = lax.dynamic_slice_in_dim(further, size - (1 << i), size, axis=-1)
        return join(x, before)

    # XLA would fuse unrolled steps, and each would compute all steps before it again.
    return lax.fori_loop(0, (size - 1).bit_length(), step, x)


def counted(where: Bool[Array, "*n"]) -> Int32[Array, "*n"]:
    """Count the True items of the last axis, up to and including each item."""
    return running(jnp.add, where.astype(jnp.int32), neutral=0.0)


def ratio(over: Array, under: Array | float) -> Array:
    """Divide; 0 where the divisor is not above 0.

    Every quotient is rounded once. A compiler multiplies by the reciprocal of a divisor
    that many quotients share, unless the divisor seems to depend on them.
    """
    under = jnp.asarray(under)
    divides = (under > 0) & ~jnp.isnan(over)
    return jnp.where(
        divides, over / jnp.where(divides, under, 1).astype(over.dtype), 0.0
    )


def by_vertex(ranked: RankedList, vertices: int, absent: int) -> Int[Array, " n"]:
    """Return the rank of judged documents from 1; `absent` where the run has none."""
    place = jnp.where(ranked.where, ranked.vertex, vertices)
    ranks = jnp.full(vertices, absent, ranked.rank.dtype)
    return ranks.at[place].set(ranked.rank, mode="drop")
