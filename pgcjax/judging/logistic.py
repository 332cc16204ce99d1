"""Logistic models of votes, by Newton's method: features of votes, or strengths."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Real
from scipy import special

from pgcjax.later import stats

_STEPS, _NEAR = 100, 1e-10  # most Newton steps, and length of the last
_PROPOSED, _TAILS = 400, 5  # number of proposed draws, and their degrees of freedom
SPREADS = tuple(float(s) for s in 2.0 ** np.arange(-2, 3.5, 0.5))
"""Standard deviations of strengths to choose from, on the scale of log-odds."""


class LogisticFit(NamedTuple):
    """Coefficients of a logistic model.

    Attributes:
        beta: Coefficient of each column.
        error: Standard errors of `beta`, robust to dependence in clusters of votes.
        z: Quantile of Student's t for 95 % intervals, by the number of clusters.
        converged: Whether there is an optimum. There is none if a column separates all
            votes.
    """

    beta: Float64[np.ndarray, " columns"]
    error: Float64[np.ndarray, " columns"]
    z: float
    converged: bool


def fit_votes(
    features: Real[np.ndarray, "votes columns"],
    won: Real[np.ndarray, " votes"],
    cluster: Int[np.ndarray, "votes ..."],
) -> LogisticFit:
    """Fit the log-odds of votes as a sum of their features.

    Args:
        features: Features of each vote.
        won: 1 for a vote that was won, or 0.
        cluster: Cluster of each vote, such as its query; or the two documents of each
            vote, because votes that share a document may be dependent.

    Source: errors by cluster, Liang and Zeger 1986; errors by document, Aronow, Samii
    and Assenova 2015. With m clusters, the variance is multiplied by m / (m - 1).
    """
    x, y = np.asarray(features, np.float64), np.asarray(won, np.float64)
    beta, converged = np.zeros(x.shape[1]), False
    for _ in range(_STEPS):
        p, information = _information(x, beta)
        if np.linalg.eigvalsh(information)[0] < 1e-12 * max(1, len(y)):
            break
        step = np.linalg.solve(information, x.T @ (y - p))
        beta = beta + np.clip(step, -2, 2)
        if converged := bool(np.abs(step).max(initial=0) < _NEAR):
            break
    if not converged or np.abs(beta).max(initial=0) > 20:
        return LogisticFit(beta, np.full(len(beta), np.inf), np.nan, False)
    p, information = _information(x, beta)
    scores, bread = x * (y - p)[:, None], np.linalg.inv(information)
    of_vote = cluster.reshape(len(y), -1)
    if of_vote.shape[1] == 1:
        sums = _sums(scores, of_vote[:, 0])
        meats = [sums.T @ sums]
    else:
        pair = np.unique(np.sort(of_vote, axis=1), axis=0, return_inverse=True)[1]
        of_pair = _sums(scores, pair.reshape(-1))
        count = int(of_vote.max()) + 1
        sums = _sums(scores, of_vote[:, 0], count) + _sums(scores, of_vote[:, 1], count)
        # Votes on one pair share both documents, so they are counted twice. With few
        # documents, this difference may be too small: errors by pair are a minimum.
        meats = [sums.T @ sums - of_pair.T @ of_pair, of_pair.T @ of_pair]
    clusters = len(np.unique(of_vote))
    variance = np.max([np.diag(bread @ meat @ bread) for meat in meats], axis=0)
    variance = variance * clusters / max(1, clusters - 1)
    z = float(stats.t.isf(0.025, max(1, clusters - 1)))
    return LogisticFit(beta, np.sqrt(variance), z, True)


def _sums(scores: np.ndarray, cluster: np.ndarray, clusters: int = 0) -> np.ndarray:
    """Add up the scores of each cluster; there are at least `clusters`."""
    sums = np.zeros((max(clusters, int(cluster.max(initial=-1)) + 1), scores.shape[1]))
    np.add.at(sums, cluster, scores)
    return sums


def _information(x: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of winning, and the information matrix of `beta`."""
    p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
    return p, (x * (p * (1 - p))[:, None]).T @ x


class PairedItems(NamedTuple):
    """Items of one set, compared in pairs, each pair once.

    Attributes:
        first: First item of each pair, from 0.
        second: Second item of each pair.
        won: Whether the first is preferred.
    """

    first: Int[np.ndarray, " pairs"]
    second: Int[np.ndarray, " pairs"]
    won: Bool[np.ndarray, " pairs"]


def drawn_strengths(
    sets: Sequence[PairedItems], draws: int
) -> list[Float64[np.ndarray, "draws items"]]:
    """Draw strengths of a Bradley-Terry model from their posterior, given votes.

    The prior of strengths is normal. Its standard deviation is one of `SPREADS`, with a
    frequency proportional to the likelihood of all sets.

    Args:
        sets: Pairs of each set.
        draws: Number of draws.
    """
    random = np.random.Generator(np.random.Philox(key=1))
    by_spread = [[drawn(pairs, s, random) for pairs in sets] for s in SPREADS]
    logs = [sum(log for _, log in of_spread) for of_spread in by_spread]
    weight = np.exp(np.array(logs) - max(logs)).cumsum()
    counts = np.diff(np.rint(draws * weight / weight[-1]).astype(int), prepend=0)
    chosen = [(x, n) for x, n in zip(by_spread, counts.tolist(), strict=True) if n]
    return [
        np.concatenate([x[i][0][random.integers(0, _PROPOSED, n)] for x, n in chosen])
        for i in range(len(sets))
    ]


def drawn(
    pairs: PairedItems, spread: float, random: np.random.Generator
) -> tuple[Float64[np.ndarray, "draws items"], float]:
    """Draw strengths from their posterior, by importance resampling.

    Proposed strengths are drawn around the most likely ones, from Student's t with 5
    degrees of freedom and the curvature of the likelihood. They are resampled with
    weights: posterior density divided by density of the proposal.

    Args:
        pairs: Pairs of one set.
        spread: Standard deviation of the normal prior.
        random: Generator of random numbers.

    Returns:
        Draws of equal weight; and the log-likelihood, with strengths integrated out.
    """
    a, b, won = pairs
    n, rows = int(max(a.max(), b.max())) + 1, np.arange(len(a))
    sides = np.zeros((len(a), n))
    sides[rows, a], sides[rows, b] = 1, -1
    top, information = likeliest(sides, won, spread)
    root = np.linalg.cholesky(information)
    noise = random.standard_normal((n, _PROPOSED))
    noise /= np.sqrt(random.chisquare(_TAILS, _PROPOSED) / _TAILS)
    strength = top + np.linalg.solve(root.T, noise).T
    lead = np.where(won, 1, -1) * (strength[:, a] - strength[:, b])
    logs = -np.logaddexp(0, -lead).sum(1) - (strength**2).sum(1) / 2 / spread**2
    logs -= n * (np.log(spread) + np.log(2 * np.pi) / 2)
    proposal = special.gammaln((_TAILS + n) / 2) - special.gammaln(_TAILS / 2)
    proposal += np.log(np.diag(root)).sum() - n / 2 * np.log(_TAILS * np.pi)
    far = (noise**2).sum(0) / _TAILS
    logs -= proposal - (_TAILS + n) / 2 * np.log1p(far)
    weight = np.exp(logs - logs.max()).cumsum()
    value = float(logs.max() + np.log(weight[-1] / _PROPOSED))
    levels = (np.arange(_PROPOSED) + 0.5) / _PROPOSED * weight[-1]
    return strength[np.searchsorted(weight, levels)], value


def likeliest(
    features: Float64[np.ndarray, "votes columns"],
    won: Bool[np.ndarray, " votes"],
    spread: float,
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, "columns columns"]]:
    """Find the most likely coefficients; return them and their information matrix.

    The matrix includes the information of the prior.

    Args:
        features: Features of each vote; their weighted sum is the log-odds of winning.
        won: Whether each vote was won.
        spread: Standard deviation of the normal prior of each coefficient.
    """
    prior = np.eye(features.shape[1]) / spread**2
    beta, information = np.zeros(features.shape[1]), prior
    for _ in range(_STEPS):
        p, curvature = _information(features, beta)
        information = curvature + prior
        score = features.T @ (won - p) - prior @ beta
        step = np.linalg.solve(information, score)
        most = float(np.ptp(np.append(step, 0.0)))
        beta = beta + step * (np.log1p(most) / most if most else 1.0)
        if most < _NEAR:
            break
    return beta, information
