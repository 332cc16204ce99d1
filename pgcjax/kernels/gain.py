"""Measures of a list of gains: how good are the documents, and how early they come.

Each takes `gain` `[w]`, that of the documents in a `Seen`, 0 where there is none, and
what is known of the query's ideal list by name.
"""

from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Float

from pgcjax.kernels.seen import Seen, ratio, running, total

Ideal = Mapping[str, Array]


def discounted(gain: Float[Array, " w"], seen: Seen) -> Float[Array, ""]:
    """Add up gains times the weights of their ranks: CG, DCG, RBP, P."""
    return total(gain * seen.weight, where=seen.where)


def normalized(gain: Float[Array, " w"], seen: Seen, ideal: Ideal) -> Float[Array, ""]:
    """Divide `discounted` by its best, `ideal["best"]`: nDCG."""
    return ratio(discounted(gain, seen), ideal["best"])


def blended(
    gain: Float[Array, " w"], seen: Seen, ideal: Ideal, beta: float
) -> tuple[Float[Array, " w"], Float[Array, " w"]]:
    """Give the blended ratio BR(r) = (C(r) + beta cg(r)) / (r + beta cg*(r)).

    Args:
        gain: of each document.
        seen: where they are.
        ideal: `cumulative`: cg* at ranks 1..m; `relevant`: m, documents with a gain.
        beta: of gains against counts.

    Returns:
        BR of each document, and C, the number of relevant ones up to it.

    Source: Sakai and Song 2011, equation 2.
    """
    hit = seen.where & (gain > 0)
    count = jnp.cumsum(hit)
    cumulated = running(jnp.add, jnp.where(seen.where, gain, 0.0), neutral=0)
    last = jnp.clip(seen.rank, 1, ideal["relevant"]) - 1
    best = ideal["cumulative"][jnp.maximum(last, 0)]
    over = count + jnp.where(hit, beta * cumulated, 0.0)
    under = seen.rank + jnp.where(hit, beta * best, 0.0)
    return jnp.where(hit, over / jnp.maximum(under, 1), 0.0), count
