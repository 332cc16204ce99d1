"""Do measures prefer the runs that people prefer, or that other measures prefer?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pgcjax.errors import UsageError
from pgcjax.stats import pairs

_WHY = {
    "chi2": "a side is never preferred",
    "agree_p_exact": "all pairs have ties",
    "kappa": "both always say the same",
}
SIDES = (1, -1, 0)  # run_a is better, run_b is better, a tie


def contingency(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Count pairs by what two sources prefer, as Luo 2021, Figure 5.6.

    Args:
        first: 1, -1 or 0 for each pair [pairs]: rows.
        second: the same of the other source [pairs]: columns.

    Returns:
        Counts [3, 3], rows and columns in the order a, b, tie.
    """
    rows, columns = ([one == side for side in SIDES] for one in (first, second))
    return np.array([[np.sum(row & column) for column in columns] for row in rows])


def chi_square(table: np.ndarray) -> tuple[float, float]:
    """Test whether two sources prefer independently of each other, ties left out.

    Pearson's chi-squared of the 2×2 corner without ties, without Yates' correction.

    Args:
        table: counts [3, 3].

    Returns:
        Statistic and p-value; NaN if a row or a column of the corner is empty.

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


def kappa(table: np.ndarray) -> float:
    """Measure agreement beyond chance, (p_o - p_e) / (1 - p_e).

    Args:
        table: counts [k, k].

    Returns:
        -1 to 1; NaN if both always say one and the same, or there are no pairs.

    Source: Cohen 1960; Golbus et al. 2014, 5.2.2.
    """
    n = table.sum()
    agreed, chance = np.trace(table) * n, table.sum(axis=0) @ table.sum(axis=1)
    # In whole numbers, n² times each: certain agreement by chance is then exact.
    return float((agreed - chance) / (n * n - chance)) if n * n > chance else nan


def jaccard(table: np.ndarray) -> float:
    """Share what two sources agree on in all that either says.

    A source is the set of its (pair, preference), ties being preferences too; so of
    n pairs with m equal preferences it is m / (2 n - m).

    Args:
        table: counts [k, k].

    Returns:
        0 to 1; NaN if there are no pairs.

    Source: Golbus et al. 2014, 5.2.2, who print no formula.
    """
    n, agreed = table.sum(), np.trace(table)
    return float(agreed / (2 * n - agreed)) if n else nan


def findings(table: np.ndarray) -> dict[str, Any]:
    """Sum up a contingency table of a measure (rows) and of people (columns).

    Returns:
        pairs; agree, disagree (neither of the two a tie), ties_measure, ties_preference
        (only that one ties), ties_both; chi2, chi2_p; side_p_exact, side_p_normal: does
        the measure prefer one side, a or b, more often than by chance; agree_p_exact,
        agree_p_normal: does it agree more often than by chance; kappa, jaccard;
        undefined: what of these is NaN, and why.
    """
    counts = _counts(table, "measure", "preference")
    decided = counts["agree"] + counts["disagree"]
    chi2, chi2_p = chi_square(table)
    side = binomial(int(table[:2, :2].sum(axis=1).max()), decided)
    right = binomial(counts["agree"], decided)
    values = {"chi2": chi2, "chi2_p": chi2_p}
    values |= {"side_p_exact": side[0], "side_p_normal": side[1]}
    values |= {"agree_p_exact": right[0], "agree_p_normal": right[1]}
    values |= {"kappa": kappa(table), "jaccard": jaccard(table)}
    why = [f"{k}: {text}" for k, text in _WHY.items() if isnan(values[k])]
    return {**counts, **values, "undefined": "; ".join(why)}


def _counts(table: np.ndarray, rows: str, columns: str) -> dict[str, int]:
    return {
        "pairs": int(table.sum()),
        "agree": int(table[0, 0] + table[1, 1]),
        "disagree": int(table[0, 1] + table[1, 0]),
        f"ties_{rows}": int(table[2, :2].sum()),
        f"ties_{columns}": int(table[:2, 2].sum()),
        "ties_both": int(table[2, 2]),
    }


@dataclass(frozen=True)
class Agreement:
    """What measures prefer beside what people prefer.

    Attributes:
        table: a row per measure: measure, threshold, and the columns of `findings`.
        contingency: counts [3, 3] of each measure: rows a, b, tie by the measure,
            columns a, b, tie by people.
    """

    table: pd.DataFrame
    contingency: dict[str, np.ndarray]


def agree(
    scores: Any,
    preferences: pd.DataFrame,
    measures: Sequence[str] | None = None,
    *,
    threshold: float = 0.0,
    tie_share: float | str | None = None,
    missing: str = "error",
) -> Agreement:
    """Compare what measures prefer with what people prefer, result page by result page.

    Args:
        scores: a score table, or a table for each measure, by name.
        preferences: a row for each pair of runs that was judged on a query: query_id,
            run_a, run_b, preference (> 0: a is better, < 0: b, 0: a tie).
        measures: all of the table if None.
        threshold: score differences up to here are ties.
        tie_share: instead, choose thresholds for this share of ties, as of
            `pairs.tie_threshold`; `preferences`: as many as people have.
        missing: a query that a run or measure lacks: `error`, `drop` it or `zero`.

    Source: Luo 2021, 4.1 and 5.4; Golbus et al. 2014, 5.2.2.

    Raises:
        UsageError: an unknown measure or policy, or a threshold out of its range.
        DataError: preferences or scores are malformed or missing.
    """
    people = pairs.judged(preferences)
    side = pairs.side_by_side(scores, measures, missing)
    a, b, theirs = pairs.scores_of(people, side, missing)
    if tie_share == "preferences":
        tie_share = float(np.mean(theirs == 0))
    rows, tables = [], {}
    for name, one, other in zip(side.measures, a, b, strict=True):
        limit = _limit(one, other, threshold, tie_share)
        table = contingency(pairs.preferred(one, other, limit), theirs)
        rows.append({"measure": name, "threshold": limit, **findings(table)})
        tables[name] = table
    return Agreement(pd.DataFrame(rows), tables)


def agree_measures(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    threshold: float = 0.0,
    tie_share: float | None = None,
    missing: str = "error",
) -> pd.DataFrame:
    """Compare what measures prefer with each other, for all pairs of runs and queries.

    Which run of a pair comes first means nothing here: each pair counts both ways
    round, so that kappa does not depend on the order of the runs.

    Args and errors: as of `agree`.

    Returns:
        A row for each two measures: measure_a, measure_b, threshold_a, threshold_b,
        pairs, agree, disagree, ties_a, ties_b (only that one ties), ties_both, kappa,
        jaccard, undefined.
    """
    side = pairs.at_least_two(pairs.side_by_side(scores, measures, missing))
    names = side.measures
    first, second = np.triu_indices(len(side.runs), 1)
    limits, chosen = [], []
    for values in side.values:  # one by one: there are many pairs
        a, b = values[first].ravel(), values[second].ravel()
        limits.append(_limit(a, b, threshold, tie_share))
        chosen.append(pairs.preferred(a, b, limits[-1]))
    rows = []
    for i, j in combinations(range(len(names)), 2):
        table = contingency(chosen[i], chosen[j])
        beyond = kappa(table + table[np.ix_((1, 0, 2), (1, 0, 2))])
        row = {"measure_a": names[i], "measure_b": names[j]}
        row |= {"threshold_a": limits[i], "threshold_b": limits[j]}
        row |= {**_counts(table, "a", "b"), "kappa": beyond, "jaccard": jaccard(table)}
        why = f"kappa: {_WHY['kappa']}" if isnan(beyond) else ""
        rows.append({**row, "undefined": why})
    return pd.DataFrame(rows)


def _limit(
    a: np.ndarray, b: np.ndarray, threshold: float, tie_share: float | str | None
) -> float:
    """Choose the tie threshold of a measure from its scores [pairs]."""
    if not 0 <= threshold < inf:
        raise UsageError(f"a tie threshold is a difference from 0 up, not {threshold}")
    if tie_share is None:
        return float(threshold)
    if threshold:
        raise UsageError("give a tie threshold or a share of ties, not both")
    if isinstance(tie_share, str):
        raise UsageError(f"a share of ties is from 0 to 1, not {tie_share!r}")
    return pairs.tie_threshold(a, b, tie_share)
