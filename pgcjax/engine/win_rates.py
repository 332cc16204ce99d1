"""Win rates of systems by few votes of people and many of a model, and their ranks.

The win rate of a system is the share of its comparisons that it would win by votes of
people, among comparisons like those that the model voted on; a tie counts half. The
estimate is λ a + b: a is the model's share on comparisons without people's votes, and b
the mean, over comparisons with them, of people's vote less λ times the model's. λ
minimises the sum of the systems' variances. Votes on one query may be correlated: each
query moves the estimate by a sum of residuals, and these sums make its covariance.

Source: Chatzi, Straitouri, Thejaswi and Gomez Rodriguez 2024, for the estimate. Ranks
come from simultaneous stepwise tests of all differences, not from their ellipsoid. The
published code divides residuals by the number of all comparisons, so its standard
errors are too small.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy import sparse
from scipy.stats import norm

from pgcjax.engine.rectify import NOT_BY_LOT, SampledPairs, judged_pairs
from pgcjax.errors import DataError, UsageError, check_whole, counted
from pgcjax.judging.bradley_terry import CLUSTERS
from pgcjax.stats.rank_sets import RankSets, cut, leaderboard, stepwise
from pgcjax.stats.rounding import exact

LEAST = 20
"""Comparisons of each system that people have to judge: see docs/how-sure.md."""

_BLOCK = 2**22  # statistics at once

Sides = Int[np.ndarray, " sides"]


def rank_sets(
    model: Any, *, people: Any, level: float = 0.95, draws: int = 4000, seed: int = 0
) -> RankSets:
    """Compute win rates of systems, and simultaneous sets of their possible ranks.

    People voted on a random sample of the comparisons that a model voted on.

    Args:
        model: Votes of the model on pairs of systems that answer a query; see
            `read_preferences`, such as query_id, model_a, model_b, winner.
        people: Votes of people; of several on a pair, the most frequent counts.
        level: Confidence level of all ranks together.
        draws: Number of draws of the largest statistic.
        seed: Seed of the draws.

    Raises:
        DataError: people voted on too few comparisons, no random sample, or comparisons
            without a vote of the model; or a file is malformed. UsageError: an argument
            is wrong.

    Source: see `pgcjax.engine.win_rates`.
    """
    if not 0 < level < 1:
        raise UsageError(f"level={level}: expected a number between 0 and 1")
    check_whole("draws", draws, 100)
    check_whole("seed", seed, 0)
    votes = SystemVotes.of(judged_pairs(people, model))
    chance = check_sample(votes)
    rates = estimate(votes)
    different = significant_pairs(rates, float(1 - exact(level)), draws, seed)
    n, every = int(votes.judged.sum()), counted(len(votes.judged), "comparison")
    note = f"people judged {n} of {every}, as a random share: p = {chance:.3g}; ranks "
    note += f"of all hold together at {100 * level:g} %: weight of the model's votes "
    note += f"{rates.power:.2f}"
    about = {"measure": "win rate", "level": level, "draws": draws, "seed": seed}
    about |= {"systems": len(votes.names), "lambda": rates.power}
    return RankSets(leaderboard(votes.names, rates.mean, different), about, (note,))


class SystemVotes(NamedTuple):
    """Comparisons of two systems each, by a model and in part by people.

    Attributes:
        names: Names of the systems.
        side: First system of each comparison, then the second system of each.
        query: Number of the query of each comparison.
        judged: whether people judged the comparison.
        people: 1 if people prefer the side's system, 0 if the other, 1/2 for a tie.
        model: The same for the model: the mean of its votes.
    """

    names: list[str]
    side: Sides
    query: Int[np.ndarray, " comparisons"]
    judged: Bool[np.ndarray, " comparisons"]
    people: Float64[np.ndarray, " sides"]
    model: Float64[np.ndarray, " sides"]

    @classmethod
    def of(cls, pairs: SampledPairs) -> "SystemVotes":
        """Number the systems of comparisons."""
        sides = pairs.table[["low", "high"]].to_numpy(str).T.ravel()
        names, side = np.unique(sides, return_inverse=True)
        won = ((1 + np.r_[x, -x]) / 2 for x in (pairs.people, pairs.answer))
        return cls(names.tolist(), side, pairs.query, pairs.judged, *won)

    def by_query(
        self, values: Float64[np.ndarray, " among"], among: Bool[np.ndarray, " sides"]
    ) -> sparse.csr_array:
        """Add up values of sides, by query (rows) and system (columns)."""
        place = np.tile(self.query, 2)[among], self.side[among]
        shape = int(self.query.max()) + 1, len(self.names)
        return sparse.csr_array(sparse.coo_array((values, place), shape))


class WinRates(NamedTuple):
    """Estimated win rates.

    Attributes:
        mean: Estimate of each system's win rate.
        covariance: Covariance of the estimates.
        power: λ, the weight of the model's votes.
        freedom: Degrees of freedom: number of queries that people judged, less one.
    """

    mean: Float64[np.ndarray, " systems"]
    covariance: Float64[np.ndarray, "systems systems"]
    power: float
    freedom: int


def estimate(votes: SystemVotes) -> WinRates:
    """Estimate win rates by people on all comparisons."""
    both = np.tile(votes.judged, 2)
    human, people_moves = _shares(votes, votes.people, both)
    same, same_moves = _shares(votes, votes.model, both)
    other, other_moves = _shares(votes, votes.model, ~both)
    gain = other_moves - same_moves
    best = -people_moves.multiply(gain).sum() / max(gain.multiply(gain).sum(), 1e-300)
    power = min(max(float(best), 0.0), 1.0)
    moves = people_moves + power * gain
    queries, judged = (
        len(np.unique(q)) for q in (votes.query, votes.query[votes.judged])
    )
    covariance = (moves.T @ moves).toarray() * (queries / (queries - 1))
    return WinRates(human + power * (other - same), covariance, power, judged - 1)


def _shares(
    votes: SystemVotes, won: Float64[np.ndarray, " sides"], among: Bool[np.ndarray, "*"]
) -> tuple[Float64[np.ndarray, " systems"], sparse.csr_array]:
    """Compute each system's share of won comparisons, and the effects of queries.

    Args:
        votes: Systems and queries of the comparisons.
        won: Value of each side: 1 if it wins.
        among: the sides that count.

    Returns:
        Shares, and by how much each query (row) moves each system's share (column).
    """
    side, won, k = votes.side[among], won[among], len(votes.names)
    games = np.bincount(side, minlength=k)
    share = np.bincount(side, won, k) / games
    residual = (won - share[side]) / games[side]
    return share, votes.by_query(residual, among)


def significant_pairs(
    rates: WinRates, alpha: float, draws: int, seed: int
) -> Bool[np.ndarray, "systems systems"]:
    """Find pairs of systems that differ significantly, by windows (see `rank_sets`).

    Differences are drawn jointly, from the multivariate t distribution.
    """
    k, covariance = len(rates.mean), rates.covariance
    variance = covariance.diagonal()
    square = variance[:, None] + variance - 2 * covariance
    error = np.sqrt(np.maximum(square, 1e-300))
    values, vectors = np.linalg.eigh(covariance)
    random = np.random.Generator(np.random.Philox(seed))
    drawn = random.standard_normal((draws, k))
    drawn = drawn @ (vectors * np.sqrt(np.maximum(values, 0))).T
    drawn /= np.sqrt(random.chisquare(rates.freedom, (draws, 1)) / rates.freedom)
    parts = cut(np.argsort(-rates.mean, kind="stable"), draws)
    order, starts = np.concatenate(parts), np.cumsum([0, *map(len, parts[:-1])])
    drawn, scale = drawn[:, order], error[np.ix_(order, order)]
    maxima = []
    for block in np.array_split(drawn, max(1, draws * k * k // _BLOCK)):
        t = np.abs(block[:, :, None] - block[:, None]) / scale
        t = np.maximum.reduceat(t, starts, 1)
        maxima.append(np.maximum.reduceat(t, starts, 2))
    statistic = np.abs(rates.mean[:, None] - rates.mean) / error
    return stepwise(statistic, parts, np.concatenate(maxima), alpha)


def check_sample(votes: SystemVotes) -> float:
    """Test whether the comparisons that people judged are a random share of all.

    Returns:
        p value: the least of tests of how often each system is compared, how often it
        wins by the model, and how certain the model is, corrected by Bonferroni. The
        normal approximation takes the larger of the variances of samples of
        comparisons and of queries.

    Raises:
        DataError: the comparisons are no random share, or too few.
    """
    names, judged, n = votes.names, votes.judged, len(votes.judged)
    if (queries := len(np.unique(votes.query[judged]))) < CLUSTERS:
        raise DataError(
            f"people judged comparisons of {counted(queries, 'query')}",
            mend=f"At least {CLUSTERS} are needed, as votes on one may hang together.",
        )
    for who, chosen in (("people", judged), ("the model alone", ~judged)):
        games = np.bincount(votes.side[np.tile(chosen, 2)], minlength=len(names))
        if games.min() < LEAST:
            raise DataError(
                f"{who} judged {counted(int(games.min()), 'comparison')} of "
                f"{names[games.argmin()]!r}",
                mend=f"At least {LEAST} of each system are needed.",
            )
    share, every, z = judged.mean(), np.ones(2 * n, bool), []
    size = np.bincount(votes.query)
    for look in (np.ones(2 * n), votes.model, np.abs(votes.model - 0.5)):
        totals = votes.by_query(look, every)
        mean, single = totals.sum(0) / n, votes.by_query(look**2, every).sum(0)
        # Comparisons may be drawn one by one, or queries whole.
        whole = totals.multiply(totals).sum(0) - 2 * mean * (size @ totals)
        whole += mean**2 * (size**2).sum()
        spread = share * (1 - share) * np.maximum(whole, single - n * mean**2)
        excess = votes.by_query((np.tile(judged, 2) - share) * look, every).sum(0)
        varies = spread > 1e-9
        z.append(np.where(varies, excess, 0) / np.sqrt(np.where(varies, spread, 1)))
    far = np.abs(z)
    p = min(1.0, 2 * far.size * float(norm.sf(far.max())))
    if p < NOT_BY_LOT:
        name = names[far.max(0).argmax()]
        raise DataError(
            "the comparisons that people judged are no random share of the model's: "
            f"those of {name!r} differ (p = {p:.2g})",
            mend="Draw them by lot from all that the model judged.",
        )
    return p
