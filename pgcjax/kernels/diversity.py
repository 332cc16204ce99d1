"""Measures of diversity: how many intents a run serves, how early, how often.

Each takes the documents in a `RankedList` and, of each of a query's `m` intents, what
they are worth to it: `gain` `[m, w]`, 0 where there is nothing.
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
        relevance: as of `Served`.
        fade: `(1 - alpha)^c` for c = 0, 1, …
        scale: what the measure multiplies with or divides by, if anything.
    """

    relevance: Float[Any, "m n"]
    fade: Float[Any, " c"]
    scale: Any


class Effective(NamedTuple):
    """Data of a query for effective precision.

    Attributes:
        relevance: as of `Served`.
        navigational: whether an intent is.
        k: the cutoff.
    """

    relevance: Float[Any, "m n"]
    navigational: Bool[Any, " m"]
    k: Float[Any, ""]


class IntentGains(NamedTuple):
    """Data of a query for measures that score each intent by itself.

    Attributes:
        gain: of each document, by intent.
        weight: of each intent.
        ideal: what the measure takes of the ideal list of each intent: see
            `kernels.graded.QueryGains`; with a first axis of intents.
        navigational: whether an intent is; or nothing.
    """

    gain: Float[Any, "m n"]
    weight: Float[Any, " m"]
    ideal: Any
    navigational: Any = ()


class GlobalGains(NamedTuple):
    """Data of a query for measures that add gains up over intents by run.

    Attributes:
        gain: of each document, by intent, times the weight of the intent.
        total: of all weights.
        navigational: whether an intent is.
        ideal: see `kernels.graded.QueryGains`.
    """

    gain: Float[Any, "m n"]
    total: Float[Any, ""]
    navigational: Bool[Any, " m"]
    ideal: Any


def gains_of(table: Float[Array, "m n"], ranked: RankedList) -> Gain:
    """Look up what the documents in `ranked` are worth to each intent."""
    return jnp.where(ranked.where, table[:, ranked.vertex], 0.0)


def earlier(gain: Gain) -> Int[Array, "m w"]:
    """Count the relevant documents above each document, of each intent."""
    hit = gain > 0
    count = counted(hit)
    return count - hit.astype(count.dtype)


def novel(gain: Gain, fade: Float[Array, " c"]) -> Float[Array, " w"]:
    """Add up what documents are worth when an intent fades each time it is served.

    Source: Clarke et al. 2008; Sakai 2012, section 2.2: NG(r); `fade` as of `Novelty`.
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
    """Add weighted gains up over intents, divided by all weights: GG(r)."""
    return ratio(total(gain, where=gain > 0, axis=0), total_weight)


def by_intent(
    score: Callable[..., Float[Array, ""]], *of_intents: object
) -> Float[Array, " m"]:
    """Score each intent, of arrays (or tuples of them) with a row for each intent."""
    return jax.lax.map(lambda rows: score(*rows), of_intents)


def expected(
    scores: Float[Array, " m"], weights: Float[Array, " m"]
) -> Float[Array, ""]:
    """Return the mean of the scores of intents, weighted: M-IA."""
    # A mask that is the same for all runs would be moved out of the loop over them, and
    # products be fused into sums again: this one is not.
    over = total(weights * scores, where=scores > 0)
    return ratio(over, total(weights, where=weights > 0))


def mixed(
    gamma: Float[Array, ""] | float, first: Float[Array, ""], second: Float[Array, ""]
) -> Float[Array, ""]:
    """Return gamma first + (1 - gamma) second: D#-M.

    Source: Sakai 2012, equation 7.
    """
    # Behind a mask each, so that no compiler fuses a product into the sum.
    a = jnp.where(first > 0, gamma * first, 0.0)
    return a + jnp.where(second > 0, (1 - gamma) * second, 0.0)
