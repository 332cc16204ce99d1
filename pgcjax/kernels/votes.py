"""A model of votes on items of one set: strengths, covariates of votes, reliabilities.

A vote is for the first of two items, for the second, or for neither. A judge who looks
votes with P(first) ∝ exp(η/2), P(second) ∝ exp(-η/2) and, if ties are answers,
P(neither) ∝ exp(τ) [Davidson 1970, whose ν is exp(τ)]; without ties, this is Bradley
and Terry's model. η is the strength of the first item less that of the second, plus the
effects of covariates: place and length. With probability 1 - r a judge does not look,
and gives all answers with equal chance: r is the judge's reliability [Chen et al. 2013,
whose η is (1 + r)/2; Raykar et al. 2010].

Axes: `n` items, `m` rows, `c` covariates, `g` parameters that sets share: coefficients
of covariates, τ if ties are answers, log-odds of r of judges if these are fitted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.strengths import inverse, pinned, shortened, variances
from pgcjax.later import Array, jax, jnp

MOST_STEPS = 100
"""Newton steps for strengths; a few are usual."""

_FAR, _NEAR = 0.5, 1e-9  # step below which the curvature is exact; last step
_NEVER = -1e9  # log of probability 0, but finite: 0 times it is 0


class VoteRows(NamedTuple):
    """Votes of one judge on one pair, shown in one way; in chunks.

    Attributes:
        first: Number of the first item.
        second: Number of the second item.
        judge: Number of the judge among those of the set.
        won: Number of votes for the first item.
        lost: Number of votes for the second item.
        tied: Number of votes for neither.
        swayed: Covariates that favour the first item; η has them times coefficients.
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
        spread: log σ of the normal prior of strengths; infinite without a prior.
        looks: Log-odds of r for the judges of the set.
    """

    strength: Float[Any, " n"]
    sway: Float[Any, " c"]
    tie: Float[Any, ""]
    spread: Float[Any, ""]
    looks: Float[Any, " judges"]


class Parts(NamedTuple):
    """Likelihood of the shared parameters, from a set whose strengths follow them.

    Attributes:
        strength: The most likely strengths.
        value: Log-likelihood; strengths with a prior are integrated out.
        score: Gradient of `value` by the shared parameters, as strengths follow them.
        variance: Variances of strengths less their mean, given the shared parameters.
    """

    strength: Float[Any, " n"]
    value: Float[Any, ""]
    score: Float[Any, " g"]
    variance: Float[Any, " n"]


class Parameters(NamedTuple):
    """Parameters of the model.

    Attributes:
        ties: whether ties are answers (τ); else each is half a vote for either item.
        spread: whether σ is fitted; else it is given.
        judged: whether reliabilities are fitted; else r = 1.
    """

    ties: bool
    spread: bool
    judged: bool


def parts(
    rows: VoteRows, point: Point, *, fits: Parameters, where: Bool[Array, " n"]
) -> Parts:
    """Find the most likely strengths of a set, and the likelihood of shared parameters.

    With a prior, strengths are integrated out by Laplace's method [Tierney and Kadane
    1986]: many strengths with few votes each would bias a likelihood that takes only
    the likeliest ones.

    Args:
        rows: Votes; padding has none.
        point: Shared parameters, and strengths from which the search starts.
        fits: Parameters of the model.
        where: True for items.
    """
    precision = jnp.exp(-2 * point.spread)

    def step(state):
        strength, last, count = state
        # Far from the maximum, only the curvature of an expectation step is surely
        # that of a maximum [EM, Dempster et al. 1977].
        exact = jnp.where(last > _FAR, 0.0, 1.0)
        at = point._replace(strength=strength)
        move, most = _step(rows, at, exact, fits, where)
        return strength + move * shortened(most), most, count + 1

    def far(state):
        return (state[1] > _NEAR) & (state[2] < MOST_STEPS)

    state = point.strength, jnp.array(jnp.inf), jnp.array(0)
    strength, *_ = jax.lax.while_loop(far, step, state)
    value, score, spread = _integrated(
        rows, point._replace(strength=strength), fits, where
    )
    return Parts(strength, value, score, variances(spread, precision, where=where))


def _step(
    rows: VoteRows, point: Point, exact: Array, fits: Parameters, where: Array
) -> tuple[Array, Array]:
    """Find Newton's step of strengths, and the largest change of any log-odds."""
    n = len(where)
    _, score, _, curve, _ = _summed(rows, point, exact, fits)
    move = inverse(pinned(curve[:n, :n], where=where)) @ score[:n]
    return move, jnp.max(move) - jnp.min(move)


def _summed(
    rows: VoteRows, point: Point, exact: Array, fits: Parameters
) -> tuple[Array, ...]:
    """Add up value, gradient and curvature of all rows, and of the strengths' prior."""
    n, precision = len(point.strength), jnp.exp(-2 * point.spread)
    model = partial(_log_chances, ties=fits.ties, judged=fits.judged)

    def work(chunk):
        return _curved(_of_rows(chunk, point, fits), model, exact)

    value, score, of_judge, curve, between = _over_chunks(rows, work)
    value -= precision / 2 * jnp.sum(point.strength**2)
    score = score.at[:n].add(-precision * point.strength)
    curve = curve.at[jnp.arange(n), jnp.arange(n)].add(precision)
    return value, score, of_judge, curve, between


def _integrated(
    rows: VoteRows, point: Point, fits: Parameters, where: Array
) -> tuple[Array, Array, Array]:
    """Integrate strengths out, at a point with the likeliest ones.

    Returns:
        The log of the integral, its gradient by the shared parameters, and the
        variances of strengths.
    """
    n, items = len(where), jnp.sum(where, dtype=point.strength.dtype)
    precision = jnp.exp(-2 * point.spread)
    model = partial(_log_chances, ties=fits.ties, judged=fits.judged)
    fitted = _summed(rows, point, jnp.array(1.0), fits)
    value, score, of_judge, curve, between = fitted
    spread = inverse(pinned(curve[:n, :n], where=where))
    bent, bent_looks = _over_chunks(
        rows, lambda chunk: _bent(_of_rows(chunk, point, fits), model, spread)
    )
    prior = precision > 0
    bent, bent_looks = (jnp.where(prior, x, 0.0) for x in (bent, bent_looks))
    # Strengths have `items` - 1 free directions. The direction of their mean is pinned
    # and has the curvature 1 + precision.
    logs = (items - 1) * jnp.log(precision) + jnp.log1p(precision)
    logs += jnp.linalg.slogdet(spread)[1]
    value += jnp.where(prior, logs / 2, 0.0)
    followed = spread @ bent[:n]
    slope = score[n:] + bent[n:] - curve[n:, :n] @ followed
    looks = of_judge + bent_looks - between[:n].T @ followed
    squares = jnp.sum(point.strength**2) + jnp.sum(jnp.diag(spread), where=where)
    squares += 2 * point.strength @ followed - 1 / (1 + precision)
    scale = (precision * squares - (items - 1))[None]
    return value, jnp.concatenate([slope, *[scale] * fits.spread, looks]), spread


def _over_chunks(rows: VoteRows, work: Callable[[VoteRows], Any]) -> Any:
    """Add up the results of `work` over chunks, with one chunk in memory at a time."""
    first = jax.tree.map(lambda x: x[0], rows)
    shapes = jax.eval_shape(work, first)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def add(sums, chunk):
        return jax.tree.map(jnp.add, sums, work(chunk)), None

    return jax.lax.scan(add, zeros, rows)[0]


class _Own(NamedTuple):
    """A chunk of rows: arguments of their likelihood, and derivatives of these.

    Attributes:
        at: η, τ and log-odds of r of each row.
        counts: Counts of the answers.
        by_odds: Derivative of η by strengths, sway and τ.
        by_tie: Derivative of τ by the same.
        judge: Judge of each row.
    """

    at: tuple[Float[Array, " m"], Float[Array, " m"], Float[Array, " m"]]
    counts: Float[Array, "answers m"]
    by_odds: Float[Array, "m dense"]
    by_tie: Float[Array, "m dense"]
    judge: Float[Array, "m judges"]


def _of_rows(rows: VoteRows, point: Point, fits: Parameters) -> _Own:
    n, judges, ties = len(point.strength), len(point.looks), fits.ties
    sides = jax.nn.one_hot(rows.first, n) - jax.nn.one_hot(rows.second, n)
    last = jnp.zeros((len(sides), int(ties)))
    by_odds = jnp.concatenate([sides, rows.swayed, last], axis=1)
    by_tie = jnp.concatenate([0 * sides, 0 * rows.swayed, last + 1], axis=1)
    judge = jax.nn.one_hot(rows.judge, judges)
    log_odds = sides @ point.strength + rows.swayed @ point.sway
    at = (
        log_odds,
        jnp.full_like(log_odds, point.tie),
        judge @ point.looks,
    )
    counts = jnp.stack([rows.won, rows.tied, rows.lost])
    if not ties:
        counts = jnp.stack([rows.won + rows.tied / 2, rows.lost + rows.tied / 2])
    return _Own(at, counts, by_odds, by_tie, judge)


def _log_chances(log_odds, tie, looks, *, ties, judged):
    """Return the log probability of each answer with looking, and without looking."""
    answers = [log_odds / 2, *([tie] if ties else []), -log_odds / 2]
    logs = jax.nn.log_softmax(jnp.stack(answers), axis=0)
    if not judged:
        return logs, jnp.full_like(logs, _NEVER)
    any_of, looks = jnp.log(jnp.full_like(logs, len(answers))), looks[None, :]
    return jax.nn.log_sigmoid(looks) + logs, jax.nn.log_sigmoid(-looks) - any_of


def _curved(rows: _Own, model: Callable, exact: Array) -> tuple[Array, ...]:
    """Find value, gradient and curvature of one chunk."""
    at, ones = rows.at, jnp.ones_like(rows.at[0])
    looked = jax.nn.sigmoid(jnp.subtract(*model(*at)))

    def likelihood(*at):
        return jnp.sum(rows.counts * jnp.logaddexp(*model(*at)))

    def expected(*at):
        seen, unseen = model(*at)
        return jnp.sum(rows.counts * (looked * seen + (1 - looked) * unseen))

    def mixed(*at):  # both have the same gradient here
        return exact * likelihood(*at) + (1 - exact) * expected(*at)

    slopes = jax.grad(mixed, (0, 1, 2))
    axes = ((x * ones for x in axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    bends = [jax.jvp(slopes, at, tuple(axis)) for axis in axes]
    (odds, tie, looks), by = bends[0][0], (rows.by_odds, rows.by_tie)
    turned = [-(b[0][:, None] * by[0] + b[1][:, None] * by[1]) for _, b in bends]
    return (
        likelihood(*at),
        by[0].T @ odds + by[1].T @ tie,
        rows.judge.T @ looks,
        by[0].T @ turned[0] + by[1].T @ turned[1],
        turned[2].T @ rows.judge,
    )


def _bent(rows: _Own, model: Callable, spread: Array) -> tuple[Array, Array]:
    """Find the gradients of -½ log det of the curvature of strengths."""
    n, ones = len(spread), jnp.ones_like(rows.at[0])
    sides = rows.by_odds[:, :n]
    variance = jnp.sum((sides @ spread) * sides, axis=1)

    def of_odds(odds, *rest):
        return jnp.sum(rows.counts * jnp.logaddexp(*model(odds, *rest)))

    def volume(odds, *rest):
        slope = jax.grad(lambda x: of_odds(x, *rest))
        return jnp.sum(variance * jax.jvp(slope, (odds,), (ones,))[1]) / 2

    odds, tie, looks = jax.grad(volume, (0, 1, 2))(*rows.at)
    return rows.by_odds.T @ odds + rows.by_tie.T @ tie, rows.judge.T @ looks
