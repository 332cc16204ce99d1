"""One leaderboard of all that was compared: strengths, and ranks that hold together."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int
from scipy import sparse
from scipy.special import expit, stdtrit

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.io.result import Result
from pgcjax.io.weights import weights_of
from pgcjax.judging.models import PRIOR, check_prior
from pgcjax.judging.votes import read_judgments
from pgcjax.stats import groups

CLUSTERS = 50
"""Queries from which errors and ranks hold in simulation: see docs/models.md."""

_STEPS = 100  # of Newton's method, which needs about ten
_BLOCK = 500  # draws at once: all pairs of 100 documents take 20 MB


@dataclass(frozen=True, kw_only=True)
class Standings(Result):
    """What was compared, the best first; queries are taken together.

    Attributes:
        table: doc_id; strength (log-odds), error, low and high (95 % by default); rank;
            rank_low and rank_high (ranks that it may have: those of all hold together
            at the level) and tier, as of `compare`; votes; won (of these, a tie half).
            Errors, ranges of ranks and tiers are empty with votes on 2 to 49 queries.
        wins: share of the votes that the row won over the column, a tie half; NaN where
            they did not meet.
        met: number of votes of each pair.
    """

    wins: pd.DataFrame
    met: pd.DataFrame


class _Votes(NamedTuple):
    """Votes on documents by number; `won` is the share that the first one has."""

    names: list[str]
    first: Int[np.ndarray, " votes"]
    second: Int[np.ndarray, " votes"]
    won: Float64[np.ndarray, " votes"]
    weight: Float64[np.ndarray, " votes"]
    query: Int[np.ndarray, " votes"]

    def add_up(
        self, amounts: np.ndarray, groups: Any = 0, count: int = 1
    ) -> np.ndarray:
        """Add amounts to the first documents, and take them from the second ones."""
        n = len(self.names)
        sums = np.bincount(groups * n + self.first, amounts, count * n)
        sums -= np.bincount(groups * n + self.second, amounts, count * n)
        return sums.reshape(count, n)


def standings(
    preferences: Any,
    *,
    prior: float = PRIOR,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Standings:
    """Rank documents that were compared on many queries, such as models of an arena.

    Strengths are Bradley and Terry's; a tie is half a vote, a probability p is p of a
    vote. Votes on one query may hang together; of a single query, each vote is by
    itself. Two documents differ where |t| of their difference is above the quantile of
    the largest |t| of all pairs; the best rank that one may have is 1 and one more for
    each document that is better.

    Args:
        preferences: what `read_preferences` takes.
        prior: standard deviation of strengths before the votes, in log-odds.
        level: of intervals, and of all ranks together.
        draws: of the largest |t|.
        seed: of these draws.

    Source: Bradley and Terry 1952; rank sets of Mogstad, Romano, Shaikh and Wilhelm
    2024, in one step; errors clustered by query (Liang and Zeger 1986).

    Raises:
        UsageError: an argument is wrong. DataError: nothing is compared.
    """
    check_prior(prior)
    if not 0 < level < 1:
        raise UsageError(f"level={level}: expected a number between 0 and 1")
    votes = _votes(read_judgments(preferences))
    queries = int(votes.query.max()) + 1
    clusters = np.arange(len(votes.won)) if queries == 1 else votes.query
    strength, covariance = _fitted(votes, clusters, prior)
    wins = _wins(votes)
    _, linked = sparse.csgraph.connected_components(wins + wins.T > 0)
    table, freedom = _table(votes.names, strength, wins), int(clusters.max())
    note = f"{counted(len(votes.names), 'document')}, {votes.weight.sum():g} votes on "
    note += f"{counted(queries, 'query')}; "
    different = None
    if freedom + 1 >= CLUSTERS:
        apart = linked[:, None] != linked
        different = _different(strength, covariance, apart, freedom, level, draws, seed)
        table = table.assign(**_interval(strength, covariance, freedom, level))
        note += f"ranks of all hold together at {100 * level:g} %"
    else:
        table[["error", "low", "high"]] = np.nan
        note += f"errors and ranks need {CLUSTERS} queries, or a single one"
    table = table.assign(**groups.columns(different, strength), won=wins.sum(1))
    table = table.sort_values(["rank", "doc_id"], ignore_index=True)
    met, order = wins + wins.T, table["doc_id"].tolist()
    share = np.divide(wins, met, out=np.full_like(met, np.nan), where=met > 0)
    wins, met = (
        pd.DataFrame(square, votes.names, votes.names).loc[order, order]
        for square in (share, met)
    )
    about = {"prior": prior, "level": level, "draws": draws, "seed": seed}
    return Standings(table, about, (note,), wins=wins, met=met)


def _votes(table: pd.DataFrame) -> _Votes:
    """Number the documents of judgments that compare two."""
    table = table[table["other_doc_id"].notna()]
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
    return _Votes([*names], first, second, won, weights_of(table), query)


def _fitted(
    votes: _Votes, clusters: Int[np.ndarray, " votes"], prior: float
) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, "n n"]]:
    """Find the most likely strengths by Newton's method, and their covariance."""
    n, pair = len(votes.names), votes.first * len(votes.names) + votes.second
    precision, strength = (0.0 if prior == np.inf else prior**-2), np.zeros(n)
    inverse = np.zeros((n, n))
    for _ in range(_STEPS):
        p = expit(strength[votes.first] - strength[votes.second])
        slope = votes.add_up(votes.weight * (votes.won - p))[0] - precision * strength
        each = np.bincount(pair, votes.weight * p * (1 - p), n * n).reshape(n, n)
        each = each + each.T
        # Strengths are relative: without a prior, their sum is of no account.
        curvature = np.diag(each.sum(1) + precision) - each
        inverse = np.linalg.pinv(curvature, hermitian=True)
        change = inverse @ slope
        strength = strength + np.clip(change, -2, 2)
        if np.abs(change).max() < 1e-10:
            break
    p, count = expit(strength[votes.first] - strength[votes.second]), clusters.max() + 1
    left = votes.add_up(votes.weight * (votes.won - p), clusters, count)
    spread = left.T @ left * count / max(1, count - 1) + precision * np.eye(n)
    return strength, inverse @ spread @ inverse


def _different(
    strength: Float64[np.ndarray, " n"],
    covariance: Float64[np.ndarray, "n n"],
    apart: Bool[np.ndarray, "n n"],
    freedom: int,
    level: float,
    draws: int,
    seed: int,
) -> Bool[np.ndarray, "n n"]:
    """Tell documents apart, all pairs together; not those that no votes link."""
    n, variance = len(strength), covariance.diagonal()
    square = np.maximum(variance[:, None] + variance - 2 * covariance, 1e-300)
    error = np.sqrt(np.where(apart | np.eye(n, dtype=bool), np.inf, square))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    random, (i, j) = np.random.default_rng(seed), np.triu_indices(n, 1)
    largest = []
    for done in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - done)
        drawn = random.standard_normal((size, n)) @ root.T
        drawn /= np.sqrt(random.chisquare(freedom, (size, 1)) / freedom)
        t = np.abs(drawn[:, i] - drawn[:, j]) / error[i, j]
        largest.append(t.max(1, initial=0.0))
    most = np.quantile(np.concatenate(largest), level)
    return np.abs(strength[:, None] - strength) / error > most


def _wins(votes: _Votes) -> Float64[np.ndarray, "n n"]:
    """Add up how often each document won over each other one, a tie half."""
    n = len(votes.names)
    first, second = votes.first * n + votes.second, votes.second * n + votes.first
    wins = np.bincount(first, votes.weight * votes.won, n * n)
    wins += np.bincount(second, votes.weight * (1 - votes.won), n * n)
    return wins.reshape(n, n)


def _table(names: list[str], strength: np.ndarray, wins: np.ndarray) -> pd.DataFrame:
    """List documents with their ranks and votes."""
    table = pd.DataFrame({"doc_id": names, "strength": strength})
    table["rank"] = table["strength"].rank(method="min", ascending=False)
    table["votes"] = wins.sum(0) + wins.sum(1)
    whole = ["rank", "votes"] if (table["votes"] % 1 == 0).all() else ["rank"]
    return table.astype(dict.fromkeys(whole, np.int64))


def _interval(
    strength: np.ndarray, covariance: np.ndarray, freedom: int, level: float
) -> dict[str, np.ndarray]:
    """Return errors of strengths, and the ends of their intervals, each by itself."""
    error = np.sqrt(np.maximum(covariance.diagonal(), 0))
    wide = stdtrit(freedom, (1 + level) / 2) * error
    return {"error": error, "low": strength - wide, "high": strength + wide}
