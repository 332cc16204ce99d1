"""A model of votes on items of one set: strengths, covariates of votes, reliabilities.

A vote is for the first of two items, for the second, or for neither. A judge who looks
votes with P(first) ∝ exp(η/2), P(second) ∝ exp(-η/2) and, if ties are answers,
P(neither) ∝ exp(τ) [Davidson 1970, whose ν is exp(τ)]; without ties, this is Bradley
and Terry's model. η is the strength of the first item less that of the second, plus the
effects of covariates, such as place and length. With probability 1 - r a judge does not
look, and gives all answers with equal chance: r is the judge's reliability [Chen et al.
2013, who write η for (1 + r)/2; Raykar et al. 2010].

Axes: `n` items, `m` rows, `c` covariates, `g` parameters that sets share: coefficients
of covariates; τ if ties are answers; the logarithm of the standard deviation σ of
strengths, and judges' log-odds of r, if they are fitted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.strengths import inverse, pinned, shortened, variances
from pgcjax.later import Array, jax, jnp

MOST_STEPS = 100
"""Most Newton steps for strengths; a few are usual."""

_FAR = 0.5  # largest change of a log-odds after which a step has the exact curvature
_NEAR = 1e-9  # largest change of a log-odds at which the search ends
_NEVER = -1e9  # stands for log 0; finite, so that 0 times it is 0


class VoteRows(NamedTuple):
    """Rows, in chunks: a row counts a judge's votes on one pair, shown in one way.

    Attributes:
        first: Number of the first item.
        second: Number of the second item.
        judge: Number of the judge among those of the set.
        won: Number of votes for the first item.
        lost: Number of votes for the second item.
        tied: Number of votes for neither.
        swayed: Covariates, positive if they favour the first item. Their products with
            the coefficients are part of η.
    """

    first: Int[Any, "*chunks m"]
    second: Int[Any, "*chunks m"]
    judge: Int[Any, "*chunks m"]
    won: Float[Any, "*chunks m"]
    lost: Float[Any, "*chunks m"]
    tied: Float[Any, "*chunks m"]
    swayed: Float[Any, "*chunks m c"]


class Point(NamedTuple):
    """Strengths, and the parameters that sets share.

    Attributes:
        strength: Strengths of items.
        sway: Coefficients of covariates.
        tie: τ.
        spread: log σ, σ being the standard deviation of the normal prior of strengths;
            infinite without a prior.
        looks: Log-odds of r for the judges of the set.
    """

    strength: Float[Any, " n"]
    sway: Float[Any, " c"]
    tie: Float[Any, ""]
    spread: Float[Any, ""]
    looks: Float[Any, " judges"]


class Parts(NamedTuple):
    """Likelihood of the shared parameters, by the votes on one set.

    Attributes:
        strength: The most likely strengths, given the shared parameters.
        value: Log-likelihood; strengths with a prior are integrated out.
        score: Gradient of `value` by the shared parameters; `strength` depends on them.
        variance: Variances of strengths less their mean, given the shared parameters.
    """

    strength: Float[Any, " n"]
    value: Float[Any, ""]
    score: Float[Any, " g"]
    variance: Float[Any, " n"]


class Parameters(NamedTuple):
    """Parameters of the model.

    Attributes:
        ties: Whether ties are answers (τ); else each is half a vote for either item.
        spread: Whether σ is fitted; else it is given.
        judged: Whether reliabilities are fitted; else r = 1.
    """

    ties: bool
    spread: bool
    judged: bool


def parts(
    rows: VoteRows, point: Point, *, fits: Parameters, where: Bool[Array, " n"]
) -> Parts:
    """Find the most likely strengths of a set, and the likelihood of shared parameters.

    With a prior, strengths are integrated out by Laplace's method [Tierney and Kadane
    1986]: a likelihood at the most likely strengths would be biased if there are many
    strengths with few votes each.

    Args:
        rows: Votes; rows of padding have none.
        point: Shared parameters, and strengths from which the search starts.
        fits: Parameters of the model.
        where: True for items, False for padding.
    """
    precision = jnp.exp(-2 * point.spread)

    def step(state):
        strength, change, count = state
        # Far from its maximum, the log-likelihood may be convex. The expected one of
        # EM [Dempster et al. 1977] has the same gradient, and is concave everywhere.
        exact = jnp.where(change > _FAR, 0.0, 1.0)
        current = point._replace(strength=strength)
        move, change = _step(rows, current, exact, fits, where)
        return strength + move * shortened(change), change, count + 1

    def unfinished(state):
        return (state[1] > _NEAR) & (state[2] < MOST_STEPS)

    state = point.strength, jnp.array(jnp.inf), jnp.array(0)
    strength, *_ = jax.lax.while_loop(unfinished, step, state)
    value, score, covariance = _integrated(
        rows, point._replace(strength=strength), fits, where
    )
    return Parts(strength, value, score, variances(covariance, precision, where=where))


def _step(
    rows: VoteRows, point: Point, exact: Array, fits: Parameters, where: Array
) -> tuple[Array, Array]:
    """Compute Newton's step of strengths, and its largest change of a log-odds."""
    n = len(where)
    _, score, _, curvature, _ = _summed(rows, point, exact, fits)
    move = inverse(pinned(curvature[:n, :n], where=where)) @ score[:n]
    return move, jnp.max(move) - jnp.min(move)


def _summed(
    rows: VoteRows, point: Point, exact: Array, fits: Parameters
) -> tuple[Array, ...]:
    """Add `_derivatives` of all chunks, and those of the prior of strengths."""
    n, precision = len(point.strength), jnp.exp(-2 * point.spread)
    model = partial(_log_chances, ties=fits.ties, judged=fits.judged)

    def of_chunk(chunk):
        return _derivatives(_arguments(chunk, point, fits), model, exact)

    value, score, looks_score, curvature, cross = _over_chunks(rows, of_chunk)
    value -= precision / 2 * jnp.sum(point.strength**2)
    score = score.at[:n].add(-precision * point.strength)
    curvature = curvature.at[jnp.arange(n), jnp.arange(n)].add(precision)
    return value, score, looks_score, curvature, cross


def _integrated(
    rows: VoteRows, point: Point, fits: Parameters, where: Array
) -> tuple[Array, Array, Array]:
    """Integrate strengths out, by Laplace's method at the most likely ones.

    Let ℓ be the log-likelihood plus the log-density of the prior, and C the curvature
    of -ℓ by strengths s. Then the logarithm of the integral is ℓ - ½ log det C, but for
    constants. The most likely s depend on a shared parameter x: ds/dx = C⁻¹ ∂²ℓ/∂s∂x.

    Returns:
        The logarithm of the integral, its gradient by the shared parameters, and C⁻¹,
        the covariances of strengths.
    """
    n, items = len(where), jnp.sum(where, dtype=point.strength.dtype)
    precision = jnp.exp(-2 * point.spread)
    model = partial(_log_chances, ties=fits.ties, judged=fits.judged)
    summed = _summed(rows, point, jnp.array(1.0), fits)
    value, score, looks_score, curvature, cross = summed
    covariance = inverse(pinned(curvature[:n, :n], where=where))
    slope, looks_slope = _over_chunks(
        rows,
        lambda chunk: _determinant_slopes(
            _arguments(chunk, point, fits), model, covariance
        ),
    )
    prior = precision > 0
    slope, looks_slope = (jnp.where(prior, x, 0.0) for x in (slope, looks_slope))
    # Strengths have `items` - 1 free directions. The direction of their mean is pinned
    # and has the curvature 1 + precision.
    logs = (items - 1) * jnp.log(precision) + jnp.log1p(precision)
    logs += jnp.linalg.slogdet(covariance)[1]
    value += jnp.where(prior, logs / 2, 0.0)
    by_strength = covariance @ slope[:n]
    dense = score[n:] + slope[n:] - curvature[n:, :n] @ by_strength
    looks = looks_score + looks_slope - cross[:n].T @ by_strength
    squares = jnp.sum(point.strength**2) + jnp.sum(jnp.diag(covariance), where=where)
    squares += 2 * point.strength @ by_strength - 1 / (1 + precision)
    spread = (precision * squares - (items - 1))[None]
    gradient = jnp.concatenate([dense, *[spread] * fits.spread, looks])
    return value, gradient, covariance


def _over_chunks(rows: VoteRows, of_chunk: Callable[[VoteRows], Any]) -> Any:
    """Add up `of_chunk` over chunks, with the arrays of one chunk in memory."""
    first = jax.tree.map(lambda x: x[0], rows)
    shapes = jax.eval_shape(of_chunk, first)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def add(sums, chunk):
        return jax.tree.map(jnp.add, sums, of_chunk(chunk)), None

    return jax.lax.scan(add, zeros, rows)[0]


class _Arguments(NamedTuple):
    """Arguments of the likelihood of rows: η, τ and log-odds of r.

    They are linear in the parameters, so that their derivatives are constant.

    Axis `dense`: strengths, coefficients and, if ties are answers, τ.

    Attributes:
        values: η, τ and log-odds of r of each row.
        counts: Number of votes of each row for each answer.
        odds: Derivatives of η by the dense parameters.
        tie: Derivatives of τ by the dense parameters.
        looks: Derivatives of the row's log-odds of r by those of each judge.
    """

    values: tuple[Float[Array, " m"], Float[Array, " m"], Float[Array, " m"]]
    counts: Float[Array, "answers m"]
    odds: Float[Array, "m dense"]
    tie: Float[Array, "m dense"]
    looks: Float[Array, "m judges"]


def _arguments(rows: VoteRows, point: Point, fits: Parameters) -> _Arguments:
    """Compute arguments of the likelihood of a chunk of rows."""
    n, judges, ties = len(point.strength), len(point.looks), fits.ties
    sides = jax.nn.one_hot(rows.first, n) - jax.nn.one_hot(rows.second, n)
    last = jnp.zeros((len(sides), int(ties)))
    odds = jnp.concatenate([sides, rows.swayed, last], axis=1)
    tie = jnp.concatenate([0 * sides, 0 * rows.swayed, last + 1], axis=1)
    looks = jax.nn.one_hot(rows.judge, judges)
    log_odds = sides @ point.strength + rows.swayed @ point.sway
    values = (
        log_odds,
        jnp.full_like(log_odds, point.tie),
        looks @ point.looks,
    )
    counts = jnp.stack([rows.won, rows.tied, rows.lost])
    if not ties:
        counts = jnp.stack([rows.won + rows.tied / 2, rows.lost + rows.tied / 2])
    return _Arguments(values, counts, odds, tie, looks)


def _log_chances(log_odds, tie, looks, *, ties, judged):
    """Compute log P(answer, looked) and log P(answer, not looked) of each answer."""
    answers = [log_odds / 2, *([tie] if ties else []), -log_odds / 2]
    logs = jax.nn.log_softmax(jnp.stack(answers), axis=0)
    if not judged:
        return logs, jnp.full_like(logs, _NEVER)
    log_answers, looks = jnp.log(jnp.full_like(logs, len(answers))), looks[None, :]
    return jax.nn.log_sigmoid(looks) + logs, jax.nn.log_sigmoid(-looks) - log_answers


def _derivatives(rows: _Arguments, model: Callable, exact: Array) -> tuple[Array, ...]:
    """Compute the log-likelihood ℓ of one chunk, and its derivatives.

    Args:
        rows: Arguments of the likelihood.
        model: `_log_chances`.
        exact: 1 for the curvature of ℓ; 0 for that of EM's expected log-likelihood.

    Returns:
        ℓ; its gradients by the dense parameters, and by log-odds of r; and the
        curvatures of -ℓ: of the dense parameters, and of these with log-odds of r.
    """
    values, ones = rows.values, jnp.ones_like(rows.values[0])
    looked = jax.nn.sigmoid(jnp.subtract(*model(*values)))  # P(looked | answer)

    def likelihood(*values):
        return jnp.sum(rows.counts * jnp.logaddexp(*model(*values)))

    def expected(*values):
        seen, unseen = model(*values)
        return jnp.sum(rows.counts * (looked * seen + (1 - looked) * unseen))

    def mixed(*values):  # at rows.values, both terms have the same gradient
        return exact * likelihood(*values) + (1 - exact) * expected(*values)

    gradient = jax.grad(mixed, (0, 1, 2))
    units = ((x * ones for x in unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    products = [jax.jvp(gradient, values, tuple(unit)) for unit in units]
    odds, tie, looks = products[0][0]
    # Curvatures of -ℓ: of η, of τ and of log-odds of r with the dense parameters.
    curvatures = [
        -(h[0][:, None] * rows.odds + h[1][:, None] * rows.tie) for _, h in products
    ]
    return (
        likelihood(*values),
        rows.odds.T @ odds + rows.tie.T @ tie,
        rows.looks.T @ looks,
        rows.odds.T @ curvatures[0] + rows.tie.T @ curvatures[1],
        curvatures[2].T @ rows.looks,
    )


def _determinant_slopes(
    rows: _Arguments, model: Callable, covariance: Array
) -> tuple[Array, Array]:
    """Compute the gradient of -½ log det C, C being the curvature of strengths.

    C = -Σ ℓ''(η) x xᵀ over rows, where x is the derivative of η by strengths, plus the
    prior's. So d(-½ log det C) = ½ Σ v dℓ''(η), where v = xᵀ C⁻¹ x.

    Returns:
        Gradients by the dense parameters, and by log-odds of r.
    """
    n, ones = len(covariance), jnp.ones_like(rows.values[0])
    sides = rows.odds[:, :n]
    variance = jnp.sum((sides @ covariance) * sides, axis=1)

    def likelihood(odds, *others):
        return jnp.sum(rows.counts * jnp.logaddexp(*model(odds, *others)))

    def weighted_curvature(odds, *others):
        slope = jax.grad(lambda x: likelihood(x, *others))
        return jnp.sum(variance * jax.jvp(slope, (odds,), (ones,))[1]) / 2

    odds, tie, looks = jax.grad(weighted_curvature, (0, 1, 2))(*rows.values)
    return rows.odds.T @ odds + rows.tie.T @ tie, rows.looks.T @ looks
