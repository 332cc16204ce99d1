"""Agreement of sources that prefer one of two alternatives: tables and coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan, sqrt

import numpy as np
from jaxtyping import Bool, Int, Int64, Real

from pgcjax.later import pd, stats

Preferences = Int[np.ndarray, " pairs"]
"""Preference of a source on each pair: 1 if A is better, -1 if B is, 0 for a tie."""

PLACE = np.array([2, 0, 1])
"""Place, in rows and columns of tables, of the preferences 0, 1 and -1 (by index)."""

_SWAPPED = (1, 0, 2)


def contingency(
    first: Preferences,
    second: Preferences,
    weight: Real[np.ndarray, " pairs"] | None = None,
) -> Int64[np.ndarray, "3 3"]:
    """Count pairs by the preferences of two sources, as in Luo 2021, Figure 5.6.

    The first source has the rows, the second the columns, in the order A, B, tie. A
    pair counts once, or as often as its weight, a whole number.
    """
    cell = 3 * PLACE[first] + PLACE[second]
    return np.bincount(cell, weight, 9).astype(np.int64).reshape(3, 3)


def tables_of_two(
    pair: Int[np.ndarray, " votes"],
    judge: Int[np.ndarray, " votes"],
    option: Int[np.ndarray, " votes"],
    options: int,
) -> Iterator[tuple[int, int, Int64[np.ndarray, "options options"]]]:
    """Count the options of each two judges on the pairs on which both have a vote.

    Yields:
        Two judges, the lower number first, ascending; and the number of pairs with the
        row's option by the first and the column's by the second.
    """
    votes = pd.DataFrame({"pair": pair, "judge": judge, "option": option})
    met = votes.merge(votes, on="pair", suffixes=("_a", "_b"))
    met = met[met["judge_a"] < met["judge_b"]]
    cell = met["option_a"].to_numpy() * options + met["option_b"].to_numpy()
    two, number = np.unique(
        met[["judge_a", "judge_b"]].to_numpy(), axis=0, return_inverse=True
    )
    cells = options * options
    size = len(two) * cells
    tables = np.bincount(number.reshape(-1) * cells + cell, minlength=size)
    tables = tables.reshape(len(two), options, options)
    yield from ((a, b, t) for (a, b), t in zip(two.tolist(), tables, strict=True))


def both_ways(table: Int[np.ndarray, "3 3"]) -> Int[np.ndarray, "3 3"]:
    """Add the table with A and B swapped, so that their order means nothing."""
    return table + table[np.ix_(_SWAPPED, _SWAPPED)]


def most_frequent(
    counts: Real[np.ndarray, "pairs options"],
) -> tuple[Int[np.ndarray, " pairs"], Bool[np.ndarray, " pairs"]]:
    """Return the most frequent option of each pair, and whether only one is that."""
    most = counts.max(axis=1, keepdims=True, initial=0)
    return counts.argmax(axis=1), (counts == most).sum(axis=1) == 1


def cell_counts(
    table: Int[np.ndarray, "3 3"], rows: str, columns: str
) -> dict[str, int]:
    """Count pairs on which two sources, by name, agree, disagree or tie.

    Returns:
        agree and disagree (neither ties), ties_ROWS and ties_COLUMNS (only that source
        ties), ties_both.
    """
    return {
        "agree": int(table[0, 0] + table[1, 1]),
        "disagree": int(table[0, 1] + table[1, 0]),
        f"ties_{rows}": int(table[2, :2].sum()),
        f"ties_{columns}": int(table[:2, 2].sum()),
        "ties_both": int(table[2, 2]),
    }


def chi_square(table: Real[np.ndarray, "rows columns"]) -> tuple[float, float]:
    """Test whether two sources prefer independently of each other, ties left out.

    Pearson's chi-squared of the 2×2 corner without ties, without Yates' correction.

    Args:
        table: Counts, 3×3 or the corner itself.

    Returns:
        Statistic (one degree of freedom) and p-value; NaN if a row or a column of the
        corner is empty.

    Source: Luo 2021, 5.4.2.
    """
    corner = table[:2, :2]
    if not (corner.sum(axis=0).all() and corner.sum(axis=1).all()):
        return nan, nan
    result = stats.chi2_contingency(corner, correction=False)
    return float(result.statistic), float(result.pvalue)


def binomial(successes: int, trials: int) -> tuple[float, float]:
    """Test whether successes are more frequent than one in two, one-sided.

    Returns:
        P(at least as many) at 1/2: exact, and by the normal approximation with
        continuity correction; NaN without trials.

    Source: Luo 2021, 5.4.2, whose printed values are the normal approximation.
    """
    if not trials:
        return nan, nan
    exact = stats.binomtest(successes, trials, 0.5, alternative="greater").pvalue
    z = (successes - trials / 2 - 0.5) / (sqrt(trials) / 2)
    return float(exact), float(stats.norm.sf(z))


def kappa(table: Int[np.ndarray, "options options"]) -> float:
    """Measure agreement beyond chance, (p_o - p_e) / (1 - p_e).

    Returns:
        -1 to 1; NaN if both sources always take one option, or there are no pairs.

    Source: Cohen 1960; Golbus et al. 2014, 5.2.2.
    """
    n = table.sum()
    agreed, chance = np.trace(table) * n, table.sum(axis=0) @ table.sum(axis=1)
    # Multiplied by n², terms are whole numbers, so that p_e = 1 is found exactly.
    return float((agreed - chance) / (n * n - chance)) if n * n > chance else nan


def jaccard(table: Int[np.ndarray, "options options"]) -> float:
    """Compute the share of agreement in all preferences of either source.

    A source is the set of its (pair, preference), ties being preferences, too. For
    n pairs with m equal preferences, the share is m / (2 n - m).

    Returns:
        0 to 1; NaN if there are no pairs.

    Source: Golbus et al. 2014, 5.2.2, who print no formula.
    """
    n, agreed = table.sum(), np.trace(table)
    return float(agreed / (2 * n - agreed)) if n else nan


def fleiss_kappa(counts: np.ndarray) -> float:
    """Measure the agreement of several judges beyond chance.

    κ = (P - P_e) / (1 - P_e), where P is the mean over items of the share of equal
    votes among all pairs of votes, Σ_j n_ij (n_ij - 1) / (n_i (n_i - 1)), and P_e the
    sum of the squared shares of the options in all votes. Items with fewer than two
    votes do not count; items may differ in the number of votes.

    Args:
        counts: Number of votes of each item for each option [items, options].

    Returns:
        At most 1; NaN if no item counts, or all votes are equal.

    Source: Fleiss 1971, equations 3-7; Xie et al. 2020, 3.2.
    """
    counts = np.asarray(counts, np.float64)
    counts = counts[counts.sum(axis=1) > 1]
    totals = counts.sum(axis=0)
    if np.count_nonzero(totals) < 2:
        return nan
    chance = np.sum((totals / totals.sum()) ** 2)
    return float((observed_agreement(counts) - chance) / (1 - chance))


def observed_agreement(counts: np.ndarray) -> float:
    """Compute Fleiss' P from counts as in `fleiss_kappa`; NaN if no item counts."""
    counts = np.asarray(counts, np.float64)
    n = counts.sum(axis=1)
    counts, n = counts[n > 1], n[n > 1]
    if not len(n):
        return nan
    return float(np.mean((counts * (counts - 1)).sum(axis=1) / (n * (n - 1))))
