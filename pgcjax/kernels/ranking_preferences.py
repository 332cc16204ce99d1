"""Preferences between two rankings, by the ranks of relevant documents in both.

`x` and `y` `[m]` are these ranks, from 1 and ascending: `x[i]` is where the one ranking
has its relevant document number i + 1, `ABSENT` if it has fewer. Padding is `ABSENT` in
both, and so a tie. Values are of the first ranking over the second: turned round, they
change their sign alone.
"""

from typing import NamedTuple

from jaxtyping import Float, Int

from pgcjax.kernels import ABSENT
from pgcjax.later import Array, jax, jnp

Ranks = Int[Array, " m"]


class Differences(NamedTuple):
    """Places at which two rankings differ.

    Attributes:
        sums: `[]` each: of the weights of the places where the first ranking is ahead,
            less those where the second is.
        first: `[]` the first place where they differ; -1 if there is none.
        last: `[]` the last one.
    """

    sums: tuple[Float[Array, ""], ...]
    first: Int[Array, ""]
    last: Int[Array, ""]


def differences(
    x: Ranks, y: Ranks, weights: tuple[Float[Array, " m"], ...]
) -> Differences:
    """Go through both rankings, place by place.

    Weights are whole numbers whose sum is below 2^53, so that sums are exact: they do
    not depend on padding, tile or device.

    Source: Diaz and Ferraro 2022: RPP is a sum divided by that of the weights.
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
    """Take the difference of the reciprocal ranks at the first difference.

    Source: Diaz 2023, Best-case retrieval evaluation.
    """
    first, second = (
        jnp.where(rank < ABSENT, 1.0 / rank.astype(float), 0.0)
        for rank in (x[where.first], y[where.first])
    )
    return jnp.where(where.first < 0, 0.0, first - second)


def lexirecall(x: Ranks, y: Ranks, where: Differences) -> Float[Array, ""]:
    """Prefer the ranking that is ahead at the last difference: 1, -1 or 0.

    That is the ranking with more relevant documents, if one has more: where the other
    has none, it is ahead.

    Source: Diaz, Ekstrand and Mitra 2025, Recall, robustness, and lexicographic
    evaluation.
    """
    return _sign(x, y, where.last)


def _sign(x: Ranks, y: Ranks, place: Int[Array, ""]) -> Float[Array, ""]:
    sign = jnp.sign(y[place] - x[place])
    return jnp.where(place < 0, 0, sign).astype(float)
