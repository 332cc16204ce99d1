"""What documents gain right after others: looked up by pairs."""

from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from pgcjax.kernels.ranked_list import RankedList


def previous(seen: RankedList) -> tuple[Int[Array, " w"], Bool[Array, " w"]]:
    """Find the document right before each: its vertex, and whether it is a known one.

    The one before is known only if the run has no other document between the two.
    """
    before = jnp.pad(seen.vertex[:-1], (1, 0))
    follows = seen.rank == jnp.pad(seen.rank[:-1], (1, 0)) + 1
    return before, seen.where & follows & (seen.rank > 1)


def found(
    doc: Int[Array, " w"],
    other: Int[Array, " w"],
    known: Mapping[str, Array],
    default: Float[Array, " w"],
    *,
    where: Bool[Array, " w"],
) -> Float[Array, " w"]:
    """Look up what documents gain after others; `default` where nobody judged that.

    Args:
        doc: vertices.
        other: vertices of the documents read before.
        known: `size` [], number n of documents; `pairs` [m], d·n + d' - n² for each
            judged pair, ascending and negative, so that zeros may follow; `paired` [m],
            its gain.
        default: gains where there is no such pair.
        where: False: do not look.
    """
    n = known["size"]
    key = doc * n + other - n * n
    place = jnp.searchsorted(known["pairs"], key)
    place = jnp.minimum(place, known["pairs"].shape[0] - 1)
    there = where & (known["pairs"][place] == key)
    return jnp.where(there, known["paired"][place], default)
