"""A run, extended to a total order of the documents of a query."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from pgcjax.kernels import ABSENT


def total_order(ranks: Int[Array, " n"]) -> Int[Array, " n"]:
    """Keys whose ascending order is the run, then the rest by ascending document id.

    Greedy PGC [Luo 2021, Algorithms 3 and 4] leaves ties among documents that were not
    retrieved arbitrary, which moves scores; this extension decides them by the data.

    Args:
        ranks: 0-based rank of each document in the run, or `ABSENT`.

    Returns:
        Distinct integers, below `ABSENT` for retrieved documents only.
    """
    index = jnp.arange(ranks.shape[-1], dtype=ranks.dtype)
    return jnp.where(ranks < ABSENT, ranks, ABSENT + index)
