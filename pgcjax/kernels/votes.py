"""Votes on items of one set, as a model of items, of what sways judges, and of judges.

A vote is for the first of two items, for the second, or for neither. Of a judge who
looks, it follows P(first) ∝ exp(η/2), P(second) ∝ exp(-η/2) and, where ties are
answers, P(neither) ∝ exp(τ) [Davidson 1970, whose ν is exp(τ)]; without ties, that is
Bradley and Terry's model. η is how much stronger the first is, plus what place and
length add. With chance 1 - r a judge does not look, and gives all answers alike: r is
the judge's reliability [Chen et al. 2013, whose η is (1 + r)/2; Raykar et al. 2010].

Axes: `n` items, `m` rows, `c` what sways judges, `g` what sets share: coefficients of
that, τ if ties are answers, and log-odds of r of judges if these are fitted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from pgcjax.kernels.strengths import inverse, pinned, shortened, variances
from pgcjax.later import Array, jax, jnp

MOST_STEPS = 100
"""Of Newton, for strengths; a few are usual."""

_FAR, _NEAR = 0.5, 1e-9  # steps: up to the first, by the curvature itself; the last
_NEVER = -1e9  # the log of a chance; times 0, it is 0


class Rows(NamedTuple):
    """Votes of one judge on one pair, shown in one way; in chunks.

    Attributes:
        first: number of the one item.
        second: of the other.
        judge: number among those of the set.
        won: how many votes are for the first.
        lost: for the second.
        tied: for neither.
        swayed: what sways judges towards the first, times its coefficient in η.
    """

    first: Int[Any, "*chunks m"]
    second: Int[Any, "*chunks m"]
    judge: Int[Any, "*chunks m"]
    won: Float[Any, "*chunks m"]
    lost: Float[Any, "*chunks m"]
    tied: Float[Any, "*chunks m"]
    swayed: Float[Any, "*chunks m c"]


class Point(NamedTuple):
    """Strengths, and what sets share.

    Attributes:
        strength: of items.
        sway: coefficients of what sways judges.
        tie: τ.
        looks: log-odds of r, of the judges of the set.
    """

    strength: Float[Any, " n"]
    sway: Float[Any, " c"]
    tie: Float[Any, ""]
    looks: Float[Any, " judges"]


class Parts(NamedTuple):
    """What a set says of what sets share, its own strengths following.

    Attributes:
        strength: the most likely ones.
        value: log-likelihood, with that of strengths by their prior.
        score: its slope.
        curvature: likewise.
        turn: how strengths follow: by how much less than before, for each step.
        variance: of strengths less their mean, if what sets share is known.
    """

    strength: Float[Any, " n"]
    value: Float[Any, ""]
    score: Float[Any, " g"]
    curvature: Float[Any, "g g"]
    turn: Float[Any, "n g"]
    variance: Float[Any, " n"]


def parts(
    rows: Rows,
    point: Point,
    precision: Float[Array, ""],
    *,
    ties: bool,
    judged: bool,
    where: Bool[Array, " n"],
) -> Parts:
    """Find the most likely strengths of a set, and the likelihood of what sets share.

    With a prior, strengths are integrated out, by Laplace's method [Tierney and Kadane
    1986]: the likeliest strengths alone, many of few votes each, would mislead.

    Args:
        rows: votes; those of padding count none.
        point: what sets share; and strengths to begin with.
        precision: 1/σ² of the normal prior of strengths; 0: there is none.
        ties: whether ties are answers; else each is half a vote for either item.
        judged: whether reliabilities are fitted; else r = 1.
        where: items.
    """
    n, model = len(where), partial(_log_chances, ties=ties, judged=judged)

    def curved(strength, exact):
        own = partial(_of_rows, point=point._replace(strength=strength), ties=ties)
        found = _over_chunks(
            rows, lambda chunk: _curved(own(chunk, judged=judged), model, exact)
        )
        value, score, of_judge, curve, between, alone = found
        value -= precision / 2 * jnp.sum(strength**2)
        score = score.at[:n].add(-precision * strength)
        curve = curve.at[jnp.arange(n), jnp.arange(n)].add(precision)
        return value, score, of_judge, curve, between, alone

    def step(state):
        strength, last, count = state
        # Far away, only the curvature of an expectation step surely has a maximum
        # [EM, Dempster et al. 1977].
        exact = jnp.where(last > _FAR, 0.0, 1.0)
        _, score, _, curve, *_ = curved(strength, exact)
        move = inverse(pinned(curve[:n, :n], where=where)) @ score[:n]
        most = jnp.max(move) - jnp.min(move)
        return strength + move * shortened(most), most, count + 1

    def far(state):
        return (state[1] > _NEAR) & (state[2] < MOST_STEPS)

    state = point.strength, jnp.array(jnp.inf), jnp.array(0)
    strength, *_ = jax.lax.while_loop(far, step, state)
    value, score, of_judge, curve, between, alone = curved(strength, jnp.array(1.0))
    across = jnp.concatenate([curve[:n, n:], between[:n]], axis=1)
    corner = jnp.block([[curve[n:, n:], between[n:]], [between[n:].T, jnp.diag(alone)]])
    spread = inverse(pinned(curve[:n, :n], where=where))
    turn = spread @ across
    at = point._replace(strength=strength)
    own = partial(_of_rows, point=at, ties=ties, judged=judged)
    bent = _over_chunks(rows, lambda chunk: _bent(own(chunk), model, spread))
    integrated = precision > 0
    value += jnp.where(integrated, jnp.linalg.slogdet(spread)[1] / 2, 0.0)
    score, of_judge = (
        x + jnp.where(integrated, more, 0.0)
        for x, more in zip((score, of_judge), bent, strict=True)
    )
    rest = jnp.concatenate([score[n:], of_judge]) - turn.T @ score[:n]
    variance = variances(spread, precision, where=where)
    return Parts(strength, value, rest, corner - across.T @ turn, turn, variance)


def _over_chunks(rows: Rows, work: Callable[[Rows], Any]) -> Any:
    """Add up what is found of chunks, of which only one is in memory."""
    first = jax.tree.map(lambda x: x[0], rows)
    shapes = jax.eval_shape(work, first)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def add(sums, chunk):
        return jax.tree.map(jnp.add, sums, work(chunk)), None

    return jax.lax.scan(add, zeros, rows)[0]


class _Own(NamedTuple):
    """A chunk of rows: what their chances depend on, and how that depends on all.

    Attributes:
        at: η, τ and log-odds of r, of each row.
        counts: of the answers.
        by_odds: of η by strengths, sway and τ.
        by_tie: of τ, likewise.
        judge: whose each row is.
    """

    at: tuple[Float[Array, " m"], Float[Array, " m"], Float[Array, " m"]]
    counts: Float[Array, "answers m"]
    by_odds: Float[Array, "m dense"]
    by_tie: Float[Array, "m dense"]
    judge: Float[Array, "m judges"]


def _of_rows(rows: Rows, *, point: Point, ties: bool, judged: bool) -> _Own:
    n, judges = len(point.strength), len(point.looks)
    sides = jax.nn.one_hot(rows.first, n) - jax.nn.one_hot(rows.second, n)
    last = jnp.zeros((len(sides), int(ties)))
    by_odds = jnp.concatenate([sides, rows.swayed, last], axis=1)
    by_tie = jnp.concatenate([0 * sides, 0 * rows.swayed, last + 1], axis=1)
    judge = jax.nn.one_hot(rows.judge, judges)[:, : judges * judged]
    log_odds = sides @ point.strength + rows.swayed @ point.sway
    at = (
        log_odds,
        jnp.full_like(log_odds, point.tie),
        judge @ point.looks[: judges * judged],
    )
    counts = jnp.stack([rows.won, rows.tied, rows.lost])
    if not ties:
        counts = jnp.stack([rows.won + rows.tied / 2, rows.lost + rows.tied / 2])
    return _Own(at, counts, by_odds, by_tie, judge)


def _log_chances(log_odds, tie, looks, *, ties, judged):
    """Give the log of the chance of each answer of a judge who looks, and otherwise."""
    answers = [log_odds / 2, *([tie] if ties else []), -log_odds / 2]
    logs = jax.nn.log_softmax(jnp.stack(answers), axis=0)
    if not judged:
        return logs, jnp.full_like(logs, _NEVER)
    any_of, looks = jnp.log(jnp.full_like(logs, len(answers))), looks[None, :]
    return jax.nn.log_sigmoid(looks) + logs, jax.nn.log_sigmoid(-looks) - any_of


def _curved(own: _Own, model: Callable, exact: Array) -> tuple[Array, ...]:
    """Find value, slopes and curvature of one chunk."""
    at, ones = own.at, jnp.ones_like(own.at[0])
    looked = jax.nn.sigmoid(jnp.subtract(*model(*at)))

    def likelihood(*at):
        return jnp.sum(own.counts * jnp.logaddexp(*model(*at)))

    def expected(*at):
        seen, unseen = model(*at)
        return jnp.sum(own.counts * (looked * seen + (1 - looked) * unseen))

    def mixed(*at):  # both have one slope here
        return exact * likelihood(*at) + (1 - exact) * expected(*at)

    slopes = jax.grad(mixed, (0, 1, 2))
    axes = ((x * ones for x in axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    bends = [jax.jvp(slopes, at, tuple(axis)) for axis in axes]
    (odds, tie, looks), by = bends[0][0], (own.by_odds, own.by_tie)
    turned = [-(b[0][:, None] * by[0] + b[1][:, None] * by[1]) for _, b in bends]
    return (
        likelihood(*at),
        by[0].T @ odds + by[1].T @ tie,
        own.judge.T @ looks,
        by[0].T @ turned[0] + by[1].T @ turned[1],
        turned[2].T @ own.judge,
        -(own.judge.T @ bends[2][1][2]),
    )


def _bent(own: _Own, model: Callable, spread: Array) -> tuple[Array, Array]:
    """Find the slopes of -½ log det of the curvature of strengths."""
    n, ones = len(spread), jnp.ones_like(own.at[0])
    sides = own.by_odds[:, :n]
    variance = jnp.sum((sides @ spread) * sides, axis=1)

    def of_odds(odds, *rest):
        return jnp.sum(own.counts * jnp.logaddexp(*model(odds, *rest)))

    def volume(odds, *rest):
        slope = jax.grad(lambda x: of_odds(x, *rest))
        return jnp.sum(variance * jax.jvp(slope, (odds,), (ones,))[1]) / 2

    odds, tie, looks = jax.grad(volume, (0, 1, 2))(*own.at)
    return own.by_odds.T @ odds + own.by_tie.T @ tie, own.judge.T @ looks
