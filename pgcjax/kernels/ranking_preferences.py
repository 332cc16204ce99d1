"""Preferences between two rankings, by the ranks of relevant documents in both.

`x` and `y` `[m]` are these ranks, from 1 and ascending: `x[i]` is the rank of relevant
document number i + 1 in the first ranking, `ABSENT` if it has fewer. Padding is
`ABSENT` in both, which is a tie. Values above 0 prefer the first ranking; exchanging
the rankings changes only the sign.
"""

from typing import NamedTuple

from jaxtyping import Float, Int

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jax, jnp

Ranks = Int[Array, " m"]


class Differences(NamedTuple):
    """Places at which two rankings differ.

    Attributes:
        sums: `[]` each: sum of the weights of places where the first ranking is ahead,
            less that of places where the second is ahead.
        first: `[]` the first place where they differ; -1 if there is none.
        last: `[]` the last place where they differ; -1 if there is none.
    """

    sums: tuple[Float[Array, ""], ...]
    first: Int[Array, ""]
    last: Int[Array, ""]


def differences(
    x: Ranks, y: Ranks, weights: tuple[Float[Array, " m"], ...]
) -> Differences:
    """Compare both rankings, place by place.

    Weights are whole numbers whose sum is below 2^53, so sums are exact and do not
    depend on padding, tile or device.

    Source: Diaz and Ferraro 2022: RPP is a sum divided by the sum of the weights.
    """

    def step(i: Array, so_far: Differences) -> Differences:
        sign = jnp.sign(y[i] - x[i])
        sums = (
            s + w[i] * sign.astype(w.dtype)
            for s, w in zip(so_far.sums, weights, strict=True)
        )
        new = (sign != 0) & (so_far.first < 0)
        return Differences(
            tuple(sums),
            jnp.where(new, i, so_far.first),
            jnp.where(sign != 0, i, so_far.last),
        )

    none = jnp.int32(-1)
    start = Differences(tuple(jnp.zeros((), w.dtype) for w in weights), none, none)
    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(len(x)), step, start)


def lexiprecision(x: Ranks, y: Ranks, where: Differences) -> Float[Array, ""]:
    """Prefer the ranking that is ahead at the first difference: 1, -1 or 0.

    Source: Diaz 2023, Best-case retrieval evaluation.
    """
    return _sign(x, y, where.first)


def rrlexiprecision(x: Ranks, y: Ranks, where: Differences) -> Float[Array, ""]:
    """Compute the difference of the reciprocal ranks at the first difference.

    Source: Diaz 2023, Best-case retrieval evaluation.
    """
    first, second = (
        jnp.where(rank < ABSENT, 1.0 / rank.astype(float), 0.0)
        for rank in (x[where.first], y[where.first])
    )
    return jnp.where(where.first < 0, 0.0, first - second)


def lexirecall(x: Ranks, y: Ranks, where: Differences) -> Float[Array, ""]:
    """Prefer the ranking that is ahead at the last difference: 1, -1 or 0.

    If one ranking has more relevant documents, it is preferred: it is ahead at the
    places where the other has none.

    Source: Diaz, Ekstrand and Mitra 2025, Recall, robustness, and lexicographic
    evaluation.
    """
    return _sign(x, y, where.last)


def _sign(x: Ranks, y: Ranks, place: Int[Array, ""]) -> Float[Array, ""]:
    sign = jnp.sign(y[place] - x[place])
    return jnp.where(place < 0, 0, sign).astype(float)
