"""Measures of diversity: how many intents a run serves, how early, how often.

Each takes the documents in a `RankedList` and `gain` `[m, w]`, the gain of each
document for each of the query's `m` intents; 0 where it has none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.ranked_list import RankedList, counted, ratio, total
from pgcjax.later import Array, jax, jnp

Gain = Float[Array, "m w"]


class Served(NamedTuple):
    """Intents that the documents of a query serve.

    Attributes:
        relevance: grade of each document for each intent; 0 if it is not relevant.
        intents: m, the number of intents.
    """

    relevance: Float[Any, "m n"]
    intents: Float[Any, ""]


class Novelty(NamedTuple):
    """Data of a query for measures of novelty.

    Attributes:
        relevance: see `Served`.
        fade: `(1 - alpha)^c` for c = 0, 1, …
        scale: Factor or divisor of the measure, if it has one.
    """

    relevance: Float[Any, "m n"]
    fade: Float[Any, " c"]
    scale: Any


class Effective(NamedTuple):
    """Data of a query for effective precision.

    Attributes:
        relevance: see `Served`.
        navigational: whether each intent is navigational.
        k: the cutoff.
    """

    relevance: Float[Any, "m n"]
    navigational: Bool[Any, " m"]
    k: Float[Any, ""]


class IntentGains(NamedTuple):
    """Data of a query for measures that score each intent by itself.

    Attributes:
        gain: Gain of each document for each intent.
        weight: Weight of each intent.
        ideal: Data of the ideal list of each intent: see `kernels.graded.QueryGains`;
            the first axis is intents.
        navigational: whether each intent is navigational; or nothing.
    """

    gain: Float[Any, "m n"]
    weight: Float[Any, " m"]
    ideal: Any
    navigational: Any = ()


class GlobalGains(NamedTuple):
    """Data of a query for measures that add gains up over intents by run.

    Attributes:
        gain: Gain of each document for each intent, times the weight of the intent.
        total: Sum of all weights.
        navigational: whether each intent is navigational.
        ideal: see `kernels.graded.QueryGains`.
    """

    gain: Float[Any, "m n"]
    total: Float[Any, ""]
    navigational: Bool[Any, " m"]
    ideal: Any


def gains_of(table: Float[Array, "m n"], ranked: RankedList) -> Gain:
    """Look up the gains of the documents in `ranked` for each intent."""
    return jnp.where(ranked.where, table[:, ranked.vertex], 0.0)


def earlier(gain: Gain) -> Int[Array, "m w"]:
    """Count the relevant documents above each document, for each intent."""
    hit = gain > 0
    count = counted(hit)
    return count - hit.astype(count.dtype)


def novel(gain: Gain, fade: Float[Array, " c"]) -> Float[Array, " w"]:
    """Add up gains over intents; an intent fades each time it is served.

    `fade` is that of `Novelty`.

    Source: Clarke et al. 2008; Sakai 2012, section 2.2: NG(r).
    """
    repeats = jnp.minimum(earlier(gain), fade.shape[0] - 1)
    return total(fade[repeats], where=gain > 0, axis=0)


def effective(gain: Gain, navigational: Bool[Array, " m"]) -> Gain:
    """Leave the first relevant document only to navigational intents.

    Source: Sakai 2012, equation 8: isnew_j(r).
    """
    return jnp.where(navigational[:, None] & (earlier(gain) > 0), 0.0, gain)


def recall(gain: Gain, intents: Float[Array, ""]) -> Float[Array, ""]:
    """Return the share of a query's intents that any document serves: I-rec."""
    served = (gain > 0).any(axis=-1).sum()
    return ratio(served.astype(jnp.float64), intents)


def precision(gain: Gain, k: Float[Array, ""]) -> Float[Array, ""]:
    """Return the share of k documents that serve an intent."""
    return ratio((gain > 0).any(axis=0).sum().astype(jnp.float64), k)


def globally(gain: Gain, total_weight: Float[Array, ""]) -> Float[Array, " w"]:
    """Add up weighted gains over intents, divided by the sum of weights: GG(r)."""
    return ratio(total(gain, where=gain > 0, axis=0), total_weight)


def by_intent(
    score: Callable[..., Float[Array, ""]], *of_intents: object
) -> Float[Array, " m"]:
    """Score each intent, from arrays (or tuples of them) with a row for each intent."""
    return jax.lax.map(lambda rows: score(*rows), of_intents)


def expected(
    scores: Float[Array, " m"], weights: Float[Array, " m"]
) -> Float[Array, ""]:
    """Return the mean of the scores of intents, weighted: M-IA."""
    # XLA moves a mask that is the same for all runs out of the loop over runs, and
    # fuses the products into the sum again. The mask by scores stays in the loop.
    over = total(weights * scores, where=scores > 0)
    return ratio(over, total(weights, where=weights > 0))


def mixed(
    gamma: Float[Array, ""] | float, first: Float[Array, ""], second: Float[Array, ""]
) -> Float[Array, ""]:
    """Return gamma first + (1 - gamma) second: D#-M.

    Source: Sakai 2012, equation 7.
    """
    # The masks keep the compiler from fusing a product into the sum.
    a = jnp.where(first > 0, gamma * first, 0.0)
    return a + jnp.where(second > 0, (1 - gamma) * second, 0.0)
