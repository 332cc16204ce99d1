"""Leaderboard of all compared documents: strengths and simultaneous ranks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import stdtrit

from pgcjax.errors import UsageError, counted
from pgcjax.io.result import Result
from pgcjax.judging.bradley_terry import CLUSTERS, compared_votes, fit_strengths
from pgcjax.judging.models import PRIOR, check_prior
from pgcjax.judging.rank_ranges import rank_columns, significant_pairs
from pgcjax.judging.votes import read_judgments


@dataclass(frozen=True, kw_only=True)
class Standings(Result):
    """Documents that were compared, the best first, over all queries.

    Attributes:
        table: Columns doc_id; strength (log-odds), error, low and high (95 % by
            default); rank; rank_low and rank_high (range of ranks; all ranges hold
            simultaneously at the level) and tier, as in `compare`; votes; won (votes
            won, a tie half). Errors, ranges of ranks and tiers are empty with votes on
            2 to 19 queries.
        wins: Share of its votes that each pair's row won, with a tie as half a win; NaN
            for pairs without votes.
        met: Number of votes of each pair.
    """

    wins: pd.DataFrame
    met: pd.DataFrame


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
    vote. Votes on one query may depend on each other; with a single query, votes count
    as independent. Two documents differ if |t| of their difference is above the
    quantile of the largest |t| of all pairs; the best rank of a document is 1 plus the
    number of documents that are significantly better.

    Args:
        preferences: Preferences as in `read_preferences`.
        prior: Standard deviation of the normal prior of strengths, in log-odds.
        level: Level of the intervals, and simultaneous level of all ranks.
        draws: Number of draws of the largest |t|.
        seed: Seed of these draws.

    Source: Bradley and Terry 1952; rank sets of Mogstad, Romano, Shaikh and Wilhelm
    2024, in one step; errors clustered by query (Liang and Zeger 1986).

    Raises:
        UsageError: an argument is wrong. DataError: no documents are compared.
    """
    check_prior(prior)
    if not 0 < level < 1:
        raise UsageError(f"level={level}: expected a number between 0 and 1")
    table = read_judgments(preferences)
    votes = compared_votes(table[table["other_doc_id"].notna()])
    queries, freedom = int(votes.query.max()) + 1, int(votes.clusters.max())
    fit = fit_strengths(votes, prior)
    strength, covariance, wins = fit.strength, fit.covariance, votes.wins()
    _, linked = sparse.csgraph.connected_components(wins + wins.T > 0)
    table = _table(votes.names, strength, wins)
    note = f"{counted(len(votes.names), 'document')}, {votes.weight.sum():g} votes on "
    note += f"{counted(queries, 'query')}; "
    different = None
    if freedom + 1 >= CLUSTERS:
        given = strength, covariance, linked, freedom
        different = significant_pairs(*given, level=level, draws=draws, seed=seed)
        table = table.assign(**_interval(strength, covariance, freedom, level))
        note += f"ranks of all hold together at {100 * level:g} %"
    else:
        table[["error", "low", "high"]] = np.nan
        note += f"errors and ranks need {CLUSTERS} queries, or a single one"
    table = table.assign(**rank_columns(different, strength), won=wins.sum(1))
    table = table.sort_values(["rank", "doc_id"], ignore_index=True)
    met, order = wins + wins.T, table["doc_id"].tolist()
    share = np.divide(wins, met, out=np.full_like(met, np.nan), where=met > 0)
    wins, met = (
        pd.DataFrame(square, votes.names, votes.names).loc[order, order]
        for square in (share, met)
    )
    about = {"prior": prior, "level": level, "draws": draws, "seed": seed}
    return Standings(table, about, (note,), wins=wins, met=met)


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
    """Return errors of strengths, and the ends of their individual intervals."""
    error = np.sqrt(np.maximum(covariance.diagonal(), 0))
    half = stdtrit(freedom, (1 + level) / 2) * error
    return {"error": error, "low": strength - half, "high": strength + half}
