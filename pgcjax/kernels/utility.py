"""What the next answer is worth: how many pairs of documents it settles with its own.

Arrays are of one query. `above[i, j]` is 1.0 where documents i and j are the same, or
a chain of preferences leads from i to j; without inference it is the unit matrix.
Sums are of whole numbers below 2^53 in float64: exact in every order.
"""

from typing import Any, NamedTuple, TypeVar

from jaxtyping import Bool, Int, Int32, Int64

from pgcjax.kernels import peel, peel_packed
from pgcjax.later import Array, jnp

Matrix = TypeVar("Matrix")
"""Of numpy or of JAX, float64 `[n, n]`: the gain is computed in either."""


def implied_gain(stakes: Matrix, above: Matrix) -> Matrix:
    """Add up the stakes of all pairs that an answer settles.

    `A > B` settles each open pair i > j where i is A or above it, and j is B or below:
    (A, B) itself, the pairs of A, those of B, and the cross pairs. Two documents with
    chains both ways are settled alone: from contradictions nothing follows.

    Args:
        stakes: of each pair that is open, in both places, whole numbers; else 0.
        above: see above.

    Returns:
        Gain of the answer that the row's document is preferred to the column's.

    Source: the gain of Carterette et al. 2008, 5.3, completed: as printed it leaves
    the cross pairs out, and counts pairs again that are settled.
    """
    both = above * above.T  # type: ignore[attr-defined]
    settled = above.T @ stakes @ above.T  # type: ignore[attr-defined]
    return both * stakes + (1 - both) * settled


def answered_edges(
    edges: Int[Array, "n n"],
    unsettled: Bool[Array, "n n"],
    above: Bool[Array, "n n"],
    pair: Int[Array, " 2"],
) -> Int[Array, "n n"]:
    """Add an answer and all that it settles to a preference graph, as `implied_gain`.

    Args:
        edges: counts of preferences.
        unsettled: whether a pair is open.
        above: as of this file, True for 1.
        pair: the preferred document and the other one.
    """
    a, b = pair
    n = edges.shape[-1]
    alone = jnp.zeros((n, n), bool).at[a, b].set(True)
    chains = above[:, a, None] & above[b, None, :]
    settled = jnp.where(above[a, b] & above[b, a], alone, chains)
    return edges + (unsettled & settled).astype(edges.dtype)


class RunOnGraph(NamedTuple):
    """A run on the vertices of a graph, as `peel_packed` takes it.

    Attributes:
        order: place of each vertex in the run, extended to a total order.
        inverse: the vertex at each place.
        ranks: rank in the run of the vertex at each place, `ABSENT` if not retrieved.
    """

    order: Int32[Any, " n"]
    inverse: Int32[Any, " n"]
    ranks: Int32[Any, " n"]


def answered_overlap(
    edges: Int[Array, "n n"],
    unsettled: Bool[Array, "n n"],
    above: Bool[Array, "n n"],
    pair: Int[Array, " 2"],
    ranked: RunOnGraph,
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
    packed: bool,
) -> Int64[Array, ""]:
    """Add up RBO weights of a run and its ideal ranking, once a pair is answered.

    With `packed`, the graph has to fit `peel_packed`.
    """
    after = answered_edges(edges, unsettled, above, pair)
    if not packed:
        ranks = ranked.ranks[ranked.order]
        return peel.peeled_overlap(after, ranks, weights, where=where)
    out, into = after.sum(1, dtype=jnp.int32), after.sum(0, dtype=jnp.int32)
    words = (out << peel_packed.OUT) + (into << peel_packed.IN)
    rows = (after.T << peel_packed.OUT) + (after << peel_packed.IN)
    steps = where.sum(dtype=jnp.int32)
    return peel_packed.peeled_overlap(rows, words, *ranked, steps, weights, where=where)
