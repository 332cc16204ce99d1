"""Strengths of the items of one set, from comparisons in pairs that link all of them.

Axis `n` is items. `won[i, j]` is how often i was preferred to j; a tie counts half for
each. It is 0 on the diagonal and in padding.
"""

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.ranked_list import ratio, rounded, total
from pgcjax.later import Array, jax, jnp

MOST_STEPS = 200
"""Newton steps; about ten are usual."""

_NEAR = 1e-9  # size of the last step: the error left is its square
_SWEPT = 256  # items; with more, LAPACK is faster


def bradley_terry(
    won: Float[Array, "n n"], precision: Float[Array, ""], *, where: Bool[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"], Int[Array, ""]]:
    """Fit log-odds of winning: P(i beats j) = 1 / (1 + exp(s_j - s_i)).

    It maximises the log-likelihood less precision/2 · Σ s². The factor log(1 + d)/d
    shortens Newton's steps, where d is the largest change of any log-odds; so each step
    gets nearer to the maximum, from any start.

    Args:
        won: see above.
        precision: 1/σ² of the normal prior of strengths; 0 for none: then each item has
            to win and to lose, itself or through a chain of items [Ford 1957].
        where: True for items.

    Returns:
        Strengths, whose sum is 0; their standard errors, from the curvature; and the
        number of steps.

    Source: Bradley and Terry 1952; steps of Sun and Tran-Dinh 2019, for likelihoods
    whose third derivative is bounded by the second (generalized self-concordant).
    """
    met, both = won + won.T, where[:, None] & where[None, :]

    def slopes(s):
        p = jax.nn.sigmoid(s[:, None] - s[None, :])
        score = total(won - rounded(met * p, met > 0), where=both)
        weight = rounded(met * p * (1 - p), met > 0)
        of_item = total(weight, where=both) + precision
        matrix = pinned(jnp.diag(of_item) - weight, where=where)
        return score - rounded(precision * s, where), inverse(matrix)

    def step(state):
        s, _, count = state
        score, spread = slopes(s)
        move = total(spread * score[None, :], where=both)
        most = jnp.max(move) - jnp.min(move)
        return s + move * shortened(most), most, count + 1

    def far(state):
        return (state[1] > _NEAR) & (state[2] < MOST_STEPS)

    # The log-odds of all comparisons of each item: mostly a better start than 0.
    ahead, behind = (total(x, where=both) + 0.5 for x in (won, won.T))
    start = centred(jnp.log(ratio(ahead, behind)), where=where)
    state = start, jnp.array(jnp.inf), jnp.array(0)
    s, _, count = jax.lax.while_loop(far, step, state)
    return s, jnp.sqrt(variances(slopes(s)[1], precision, where=where)), count


def shortened(change: Float[Array, ""]) -> Float[Array, ""]:
    """Return the part of Newton's step that surely gets nearer to the maximum."""
    return jnp.where(change > 0, ratio(jnp.log1p(change), change), 1.0)


def pinned(
    matrix: Float[Array, "n n"], *, where: Bool[Array, " n"]
) -> Float[Array, "n n"]:
    """Make a matrix of curvature invertible: only differences of strengths count.

    Its eigenvalue for the mean of all strengths grows by 1; for padding it becomes 1.
    """
    both = where[:, None] & where[None, :]
    part = ratio(jnp.ones(()), jnp.sum(where, dtype=matrix.dtype))
    return jnp.where(both, matrix + part, jnp.eye(len(where)))


def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Invert a positive definite matrix, by a sweep over each of its rows."""
    n = len(matrix)
    if n > _SWEPT:
        return jnp.linalg.inv(matrix)
    place = jnp.arange(n)

    def sweep(i, matrix):
        row, column, at = matrix[i], matrix[:, i], place == i
        in_row, in_column = at[:, None], at[None, :]
        product = column[:, None] * row[None, :]
        rest = matrix - rounded(ratio(product, row[i]), ~in_column & ~in_row)
        rest = jnp.where(in_row, ratio(row, row[i])[None, :], rest)
        rest = jnp.where(in_column, ratio(-column, row[i])[:, None], rest)
        return jnp.where(in_column & in_row, ratio(jnp.ones(()), row[i]), rest)

    return jax.lax.fori_loop(0, n, sweep, matrix)


def centred(x: Float[Array, " n"], *, where: Bool[Array, " n"]) -> Float[Array, " n"]:
    """Subtract the mean of all items."""
    mean = ratio(total(x, where=where), jnp.sum(where, dtype=x.dtype))
    return jnp.where(where, x - mean, 0.0)


def variances(
    spread: Float[Array, "n n"],
    precision: Float[Array, ""],
    *,
    where: Bool[Array, " n"],
) -> Float[Array, " n"]:
    """Return the variance of each strength less the mean of all.

    Args:
        spread: inverse of the curvature, from `pinned`.
        precision: precision of the prior, which is part of the curvature.
        where: True for items.
    """
    of_mean = ratio(1 / (1 + precision), jnp.sum(where, dtype=spread.dtype))
    variance = jnp.diag(spread) - of_mean
    return jnp.where(where, jnp.maximum(variance, 0.0), 0.0)


def rank_centrality(
    won: Float[Array, "n n"], added: Float[Array, ""], *, where: Bool[Array, " n"]
) -> Float[Array, " n"]:
    """Return the log of the stationary distribution of a walk towards winning items.

    The walk goes from i to j with the share of their comparisons that j won. The
    stationary probabilities are found by elimination of one item after the other
    without subtractions, so small ones are as exact as large ones.

    Args:
        won: see above.
        added: prior votes for either side of each compared pair; with 0, items have to
            win and lose as for `bradley_terry` without a prior.
        where: True for items.

    Returns:
        Logarithms, whose sum is 0.

    Source: Negahban, Oh and Shah 2017, sections 2.2 and 2.3 (with prior votes);
    Grassmann, Taksar and Heyman 1985 for the elimination.
    """
    n, met = len(won), won + won.T
    place = jnp.arange(n)
    goes = jnp.where(met > 0, ratio(won.T + added, met + 2 * added), 0.0)

    def leave_out(i, goes):
        last = n - 1 - i
        before = place < last
        out, into = goes[last], goes[:, last]
        into = ratio(into, total(out, where=before))
        both = before[:, None] & before[None, :]
        goes = goes + rounded(into[:, None] * out[None, :], both)
        return jnp.where(
            (place == last)[None, :] & before[:, None], into[:, None], goes
        )

    goes = jax.lax.fori_loop(0, n - 1, leave_out, goes)
    flow = jnp.log(jnp.where(goes > 0, goes, 1.0))

    def arrive(last, logs):
        terms = logs + flow[:, last]
        there = (place < last) & (goes[:, last] > 0)
        most = jnp.max(jnp.where(there, terms, -jnp.inf))
        most = jnp.where(jnp.isfinite(most), most, 0.0)
        value = most + jnp.log(total(jnp.exp(terms - most), where=there))
        return jnp.where(place == last, value, logs)

    return centred(jax.lax.fori_loop(1, n, arrive, jnp.zeros(n)), where=where)
