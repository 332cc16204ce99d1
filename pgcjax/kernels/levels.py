"""The ideal ranking of a weak order: what the peel gives for graphs from grades."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pgcjax.kernels.order import total_order


def ideal_ranks(
    levels: Int[Array, " n"], ranks: Int[Array, " n"], *, where: Bool[Array, " n"]
) -> Int[Array, " n"]:
    """Rank every document by level, and within a level by the run.

    Args:
        levels: the documents' levels, higher is better; only their order matters.
        ranks: 0-based rank of each document in the run, `ABSENT` if not retrieved.
        where: True for documents of the ideal ranking.

    Returns:
        0-based rank of each document in the ideal ranking; n where not `where`.

    Source: the ideal ranking of compatibility (Clarke, Smucker and Vtyurina 2020),
    which is Greedy PGC's on the graph with an edge for each pair of unequal levels.
    """
    n = levels.shape[-1]
    best_first = jnp.lexsort((total_order(ranks), -levels, ~where))
    place = jnp.zeros(n, jnp.int32).at[best_first].set(jnp.arange(n, dtype=jnp.int32))
    return jnp.where(where, place, n)
