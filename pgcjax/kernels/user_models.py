"""Gain per document of users whose way down a list depends on gains: C/W/L measures.

Users look at rank 1, and at each further rank i with probability V(i). A measure is the
sum of gains times V, divided by the sum of V, down to a last rank. `gain` `[w]` has the
gains of the documents in a `RankedList`, from 0 to 1.

Source: Moffat, Bailey, Scholer and Thomas, Incorporating user expectations and behavior
into the measurement of search effectiveness, ACM TOIS 2017.
"""

from jaxtyping import Float

from pgcjax.kernels.graded import hits
from pgcjax.kernels.ranked_list import (
    RankedList,
    counted,
    ratio,
    rounded,
    running,
    total,
)
from pgcjax.later import Array, jnp


def until_gained(
    gain: Float[Array, " w"],
    ranked: RankedList,
    last: Float[Array, ""],
    wanted: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """Compute the gain of users who look until they gained `wanted`, to 1e-9: BPM.

    Source: Zhang et al. 2017, for a static user.
    """
    gained = running(jnp.add, rounded(gain, ranked.where), neutral=0.0)
    enough = hits(gain, ranked) & (gained > wanted - 1e-9)
    rank = ranked.rank.astype(last.dtype)
    stop = jnp.min(jnp.where(enough, rank, last))
    where = ranked.where & (rank <= stop)
    return ratio(total(gain, where=where), stop)


def until_satisfied(
    gain: Float[Array, " w"],
    ranked: RankedList,
    sums: Float[Array, " d"],
    whole: Float[Array, ""],
) -> Float[Array, ""]:
    """Compute the gain of users who stop at a document with its gain as chance: NERR.

    Users whom no document satisfied yet look at a rank with probability
    `ranked.weight`.

    Args:
        gain: Gains of the documents.
        ranked: the run.
        sums: Sums of these probabilities, down to each rank.
        whole: Sum of these probabilities over all ranks.

    Source: Azzopardi, Mackenzie and Moffat 2021, equations 8 to 11.
    """
    hit = hits(gain, ranked)
    passed = running(jnp.multiply, jnp.where(hit, 1 - gain, 1.0), neutral=1.0)
    reached = jnp.pad(passed[:-1], (1, 0), constant_values=1.0)
    count = counted(hit)
    final = total(passed, where=hit & (count == count[-1]))
    final = jnp.where(count[-1] > 0, final, 1.0)  # share of users never satisfied
    stopped = rounded(reached * gain, hit)
    looked = total(stopped * sums[jnp.maximum(ranked.rank - 1, 0)], where=hit)
    looked += rounded(final * whole, ranked.length >= 0)  # always True
    return ratio(total(stopped * ranked.weight, where=hit), looked)


def while_wanting(
    gain: Float[Array, " w"],
    ranked: RankedList,
    ranks: Float[Array, " d"],
    wanted: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """Compute the gain of users who go on the likelier, the more they still want: INST.

    They go on from rank i with probability (n / (n + 1))^2, n = i + 2 T - 1 - gained.

    Args:
        gain: Gains of the documents.
        ranked: the run.
        ranks: Ranks from 1 to the last rank; 0 for padding.
        wanted: T.

    Source: Bailey, Moffat, Scholer and Thomas, SIGIR 2015.
    """
    where, size = ranks > 0, ranks.shape[0]
    place = jnp.where(ranked.where, ranked.rank - 1, size)
    each = jnp.zeros(size, gain.dtype).at[place].set(gain, mode="drop")
    gained = running(jnp.add, each, neutral=0.0)
    distance = ranks + (2 * wanted - 1) - gained
    share = jnp.where(where, ratio(distance, distance + 1), 1.0)
    passed = running(jnp.multiply, share * share, neutral=1.0)
    looked = jnp.pad(passed[:-1], (1, 0), constant_values=1.0)
    return ratio(total(looked * each, where=where), total(looked, where=where))
