"""Bradley-Terry over all queries at once, with covariates, by Newton's method."""

from copy import copy
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy import sparse
from scipy.special import expit

from pgcjax.errors import DataError
from pgcjax.io.weights import weights_of
from pgcjax.judging.covariates import Covariates, check_collinear

CLUSTERS = 20
"""Fewest queries with which errors and ranks hold: see docs/judging-evidence.md."""

_FEW = 50  # clusters; with fewer, only errors by the jackknife are large enough
_STEPS = 100  # most steps of Newton's method, which needs about ten
_NEAR = 1e-10  # length of the last step
_ENDLESS = 20.0  # log-odds from which a covariate predicts all votes
_BLOCK = 2**12  # votes in a block; for larger ones, BLAS waits for more cores
_SHARPNESS = 1.0  # precision of the normal prior of the logarithms of discriminations


class ComparedVotes(NamedTuple):
    """Votes on pairs of documents.

    Attributes:
        names: Names of the documents.
        first: Number of the first document.
        second: Number of the second document.
        won: Share of the vote for the first document; 1/2 for a tie.
        weight: Weight of the vote.
        query: Number of the query.
    """

    names: list[str]
    first: Int[np.ndarray, " votes"]
    second: Int[np.ndarray, " votes"]
    won: Float64[np.ndarray, " votes"]
    weight: Float64[np.ndarray, " votes"]
    query: Int[np.ndarray, " votes"]

    @property
    def clusters(self) -> Int[np.ndarray, " votes"]:
        """Number of each vote's cluster: its query; each vote if there is one query."""
        return self.query if self.query.max() else np.arange(len(self.won))

    def wins(self) -> Float64[np.ndarray, "n n"]:
        """Count the wins of each document over each other one; a tie counts half."""
        n = len(self.names)
        pair = self.first * n + self.second, self.second * n + self.first
        wins = np.bincount(pair[0], self.weight * self.won, n * n)
        wins += np.bincount(pair[1], self.weight * (1 - self.won), n * n)
        return wins.reshape(n, n)


def compared_votes(table: pd.DataFrame) -> ComparedVotes:
    """Number the documents of judgments, each of which compares two.

    Raises:
        DataError: no judgment compares two documents.
    """
    if table.empty:
        raise DataError("no judgment compares two documents", where="preferences")
    both = pd.concat([table["doc_id"], table["other_doc_id"]])
    codes, names = pd.factorize(both, sort=True)
    won = (1 + np.sign(table["preference"].to_numpy(np.float64))) / 2
    if "probability" in table:
        p = table["probability"].to_numpy(np.float64)
        won = np.where(np.isnan(p), won, p)
    query = pd.factorize(table["query_id"])[0]
    first, second = codes.reshape(2, -1)
    return ComparedVotes([*names], first, second, won, weights_of(table), query)


class StrengthFit(NamedTuple):
    """The most likely parameters: of documents, covariates and groups, in this order.

    Attributes:
        strength: Log-odds of documents.
        beta: Log-odds that a unit of each covariate adds.
        sharpness: Logarithm of the discrimination of each group but the first, whose
            discrimination is 1.
        covariance: Covariance of all parameters, robust to dependence in clusters.
        converged: Whether there is a maximum. There is none if a covariate predicts all
            votes.
    """

    strength: Float64[np.ndarray, " n"]
    beta: Float64[np.ndarray, " k"]
    sharpness: Float64[np.ndarray, " groups"]
    covariance: Float64[np.ndarray, "parameters parameters"]
    converged: bool

    @property
    def beta_error(self) -> Float64[np.ndarray, " k"]:
        """Standard errors of covariates."""
        rows = slice(len(self.strength), len(self.strength) + len(self.beta))
        return np.sqrt(np.maximum(self.covariance.diagonal()[rows], 0))


def fit_strengths(
    votes: ComparedVotes,
    prior: float,
    covariates: Covariates | None = None,
    group: Int[np.ndarray, " votes"] | None = None,
    *,
    errors: bool = True,
) -> StrengthFit:
    """Fit Bradley-Terry strengths and covariates: logit P = d (s_a - s_b) + x β.

    Args:
        votes: Votes; a tie is half a vote for each document.
        prior: Standard deviation of the normal prior of strengths; infinity means no
            prior. Covariates have none.
        covariates: x of each vote, towards its first document; 0 if unknown.
        group: Group of each vote, such as its judge. Each group but the first has a
            discrimination d, whose logarithm has a standard normal prior.
        errors: Whether to compute the covariance; else it is NaN.

    Source: Bradley and Terry 1952; covariance by clusters (Liang and Zeger 1986), times
    m / (m - 1) for m clusters; with fewer than 50, by the jackknife in one Newton step
    (Bell and McCaffrey 2002).

    Raises:
        UsageError: strengths and other covariates determine a covariate.
    """
    model = _Likelihood(votes, covariates and covariates.known, group)
    n, k = len(votes.names), model.x.shape[1]
    precision = np.zeros(n + k + model.groups)
    precision[:n], precision[n + k :] = prior**-2.0, _SHARPNESS
    at, inverse, converged = np.zeros(len(precision)), np.diag(precision), False
    for _ in range(_STEPS):
        slope, curvature = model.derivatives(at)
        if covariates and not at.any():
            check_collinear(covariates.names, curvature[: n + k, : n + k])
        # Only differences of strengths count: without a prior, this matrix is singular.
        inverse = np.linalg.pinv(curvature + np.diag(precision), hermitian=True)
        change = inverse @ (slope - precision * at)
        if converged := bool(np.abs(change).max(initial=0) < _NEAR):
            break
        at = at + np.clip(change, -2, 2)
    strength, beta, sharpness = np.split(at, [n, n + k])
    # The mean of strengths is 0 by the prior alone, and not estimated.
    inverse[:n] -= inverse[:n].mean(axis=0)
    covariance = inverse @ np.diag(precision) @ inverse.T
    if not errors:
        covariance[:] = np.nan
    elif int(model.cluster.max()) + 1 < _FEW:
        moves = model.left_out(at, precision)
        moves[:, :n] -= moves[:, :n].mean(axis=1, keepdims=True)
        covariance += moves.T @ moves * (1 - 1 / len(moves))
    else:
        covariance += inverse @ model.spread(at) @ inverse.T
    converged &= np.abs(beta).max(initial=0) < _ENDLESS
    return StrengthFit(strength, beta, sharpness, covariance, converged)


class _Likelihood:
    """The likelihood of votes, in blocks of rows that stay in a core's cache."""

    def __init__(
        self,
        votes: ComparedVotes,
        x: np.ndarray | None,
        group: np.ndarray | None,
    ):
        pair = votes.first * len(votes.names) + votes.second
        self.documents = len(votes.names)
        self.first, self.second, self.won, self.weight = votes[1:5]
        self.cluster = votes.clusters
        self.x = np.zeros((len(pair), 0)) if x is None else x
        self.group = np.zeros(len(pair), int) if group is None else group
        self.groups = int(self.group.max(initial=0))
        self.keep(np.argsort(pair, kind="stable"))

    def keep(self, rows: np.ndarray) -> None:
        """Keep only these rows, which are sorted by pair."""
        for name in ("first", "second", "won", "weight", "cluster", "x", "group"):
            setattr(self, name, getattr(self, name)[rows])
        pair = self.first * self.documents + self.second
        self.count, new = len(pair), np.r_[True, np.diff(pair) > 0]
        self.starts, self.number = np.flatnonzero(new), np.cumsum(new) - 1

    def rows(self, at: np.ndarray, part: slice) -> tuple[np.ndarray, ...]:
        """Compute the terms of the derivatives for a part of the votes.

        Returns:
            Weighted residual of each vote: share won minus its expectation; weight of
            the vote in the curvature; discrimination, which multiplies strengths; and
            derivatives of the log-odds by all other parameters.
        """
        strength, beta, sharpness = np.split(
            at, [self.documents, len(at) - self.groups]
        )
        group, dense = self.group[part], self.x[part]
        scale = np.exp(np.r_[0.0, sharpness])[group]
        gap = scale * (strength[self.first[part]] - strength[self.second[part]])
        p = expit(gap + dense @ beta)
        if self.groups:
            in_group = group[:, None] == np.arange(1, self.groups + 1)
            dense = np.column_stack([dense, in_group * gap[:, None]])
        weight = self.weight[part]
        return weight * (self.won[part] - p), weight * p * (1 - p), scale, dense

    def derivatives(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood, and its expected curvature."""
        rest = len(at) - self.documents
        of_pairs = np.zeros((len(self.starts), 2 + rest))
        slope, gram = np.zeros(rest), np.zeros((rest, rest))
        for low in range(0, self.count, _BLOCK):
            part = slice(low, low + _BLOCK)
            residual, weight, scale, dense = self.rows(at, part)
            weighted = dense * weight[:, None]
            slope, gram = slope + residual @ dense, gram + dense.T @ weighted
            number = self.number[part] - self.number[low]
            columns = np.column_stack(
                [residual * scale, weight * scale**2, weighted * scale[:, None]]
            )
            ends = np.r_[0, np.cumsum(np.bincount(number))]
            places = np.arange(len(number)), ends
            add_up = sparse.csr_array((np.ones(len(number)), *places))
            pairs = slice(self.number[low], self.number[low] + len(ends) - 1)
            of_pairs[pairs] += add_up @ columns
        links = np.zeros((self.documents, self.documents))
        first, second = self.first[self.starts], self.second[self.starts]
        links[first, second] = of_pairs[:, 1]
        links = links + links.T
        by_document = np.array(
            [
                np.bincount(first, column, self.documents)
                - np.bincount(second, column, self.documents)
                for column in of_pairs.T
            ]
        )
        mixed, strengths = by_document[2:], np.diag(links.sum(1)) - links
        curvature = np.block([[strengths, mixed.T], [mixed, gram]])
        return np.r_[by_document[0], slope], curvature

    def left_out(
        self, at: np.ndarray, precision: np.ndarray
    ) -> Float64[np.ndarray, "clusters parameters"]:
        """Return the change of parameters, in one Newton step, without each cluster."""
        _, total = self.derivatives(at)
        moves = []
        for cluster in range(int(self.cluster.max()) + 1):
            part = copy(self)
            part.keep(self.cluster == cluster)
            slope, curvature = part.derivatives(at)
            without = total - curvature + np.diag(precision)
            moves.append(np.linalg.pinv(without, hermitian=True) @ slope)
        return np.array(moves) - np.mean(moves, axis=0)

    def spread(self, at: np.ndarray) -> Float64[np.ndarray, "parameters parameters"]:
        """Estimate the covariance of the gradient from the gradients of clusters."""
        residual, _, scale, dense = self.rows(at, slice(None))
        cluster, scaled = self.cluster, residual * scale
        clusters, rows = int(cluster.max()) + 1, np.arange(self.count)
        places = np.r_[cluster, cluster], np.r_[self.first, self.second]
        shape = clusters, self.documents
        sides = sparse.coo_array((np.r_[scaled, -scaled], places), shape).tocsr()
        members = sparse.csr_array((residual, (cluster, rows)), (clusters, self.count))
        slopes = sparse.hstack([sides, sparse.csr_array(members @ dense)])
        products = (slopes.T @ slopes).toarray()
        return products * clusters / max(1, clusters - 1)
