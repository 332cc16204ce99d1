"""Agreement of measures with people, or with other measures, on preferred runs."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int, Int8

from pgcjax.errors import DataError, DataWarning, UsageError, counted
from pgcjax.io.result import Result
from pgcjax.io.schema import Origin, keyed, numbers, refuse
from pgcjax.judging import contingency
from pgcjax.stats.aligned import AlignedScores, align
from pgcjax.stats.rounding import exact, slack
from pgcjax.stats.tests import all_pairs

Numbers = Float[np.ndarray, "*shape"]

_WHY = {
    "chi2": "a side is never preferred",
    "agree_p_exact": "all pairs have ties",
    "kappa": "both always say the same",
}
_GONE = "there are no scores of a run, or of the query"


def findings(table: Int[np.ndarray, "3 3"]) -> dict[str, Any]:
    """Compute statistics of a contingency table: measure (rows), people (columns).

    Returns:
        pairs; agree, disagree (neither ties), ties_measure, ties_preference (only the
        measure or only people tie), ties_both; chi2, chi2_p; side_p_exact,
        side_p_normal (whether the measure prefers one side, a or b, more often than by
        chance); agree_p_exact, agree_p_normal (whether it agrees more often than by
        chance); kappa, jaccard; undefined (which statistics are NaN, and why).
    """
    counts = contingency.cell_counts(table, "measure", "preference")
    decided = counts["agree"] + counts["disagree"]
    chi2, chi2_p = contingency.chi_square(table)
    side = contingency.binomial(int(table[:2, :2].sum(axis=1).max()), decided)
    right = contingency.binomial(counts["agree"], decided)
    values = {"chi2": chi2, "chi2_p": chi2_p}
    values |= {"side_p_exact": side[0], "side_p_normal": side[1]}
    values |= {"agree_p_exact": right[0], "agree_p_normal": right[1]}
    values |= {"kappa": contingency.kappa(table), "jaccard": contingency.jaccard(table)}
    why = [f"{k}: {text}" for k, text in _WHY.items() if isnan(values[k])]
    return {"pairs": int(table.sum()), **counts, **values, "undefined": "; ".join(why)}


@dataclass(frozen=True, kw_only=True)
class Agreement(Result):
    """Agreement of measures' preferences with people's.

    Attributes:
        table: A row per measure: measure, threshold, and the columns of `findings`.
        contingency: Counts of pairs for each measure; rows are a, b, tie by the
            measure, columns a, b, tie by people.
    """

    contingency: dict[str, Int[np.ndarray, "3 3"]]
    _sorted_by: ClassVar = {"agree": False}


def agree(
    scores: Any,
    preferences: pd.DataFrame,
    measures: Sequence[str] | None = None,
    *,
    threshold: float = 0.0,
    tie_share: float | str | None = None,
    missing: str = "shared",
) -> Agreement:
    """Compare measures' preferences between result pages with people's.

    Args:
        scores: A score table, or a dict with a table for each measure.
        preferences: A row for each pair of runs that was judged on a query: query_id,
            run_a, run_b, preference (> 0: a is better, < 0: b, 0: a tie).
        measures: Names of measures; None takes all.
        threshold: Largest difference of scores that is a tie.
        tie_share: Share of ties, from which `tie_threshold` chooses thresholds instead;
            `preferences` takes the share of people's ties.
        missing: As in `correlate`. `drop` leaves out judged pairs without scores;
            `shared` leaves them out if a measure lacks the query.

    Source: Luo 2021, 4.1 and 5.4; Golbus et al. 2014, 5.2.2.

    Raises:
        UsageError: an unknown measure or policy, or a threshold out of its range.
        DataError: preferences or scores are malformed or missing.
    """
    people = _read(preferences)
    aligned = align(scores, measures, missing, queries=1)
    a, b, theirs = _scores_of(people, aligned, missing)
    notes = aligned.notes
    if left := len(people) - len(theirs):
        notes += (f"{left} of {counted(len(people), 'judged pair')} left out: {_GONE}",)
        warnings.warn(notes[-1], DataWarning, stacklevel=2)
    if tie_share == "preferences":
        tie_share = float(np.mean(theirs == 0))
    rows, tables = [], {}
    for name, one, other in zip(aligned.measures, a, b, strict=True):
        limit = _limit(one, other, threshold, tie_share)
        table = contingency.contingency(preferred(one, other, limit), theirs)
        rows.append({"measure": name, "threshold": limit, **findings(table)})
        tables[name] = table
    settings = {"threshold": threshold, "tie_share": tie_share, "missing": missing}
    return Agreement(pd.DataFrame(rows), settings, notes, contingency=tables)


def agree_measures(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    threshold: float = 0.0,
    tie_share: float | None = None,
    missing: str = "shared",
) -> pd.DataFrame:
    """Compare measures' preferences with each other, for all pairs of runs and queries.

    Kappa counts each pair of runs in both orders, so it does not depend on which run
    comes first. Arguments and errors are those of `agree`.

    Returns:
        A row for each two measures: measure_a, measure_b, threshold_a, threshold_b,
        pairs, agree, disagree, ties_a, ties_b (only that measure ties), ties_both,
        kappa, jaccard, undefined. `attrs["notes"]` lists scores left out or set to 0.
    """
    aligned = align(scores, measures, missing, least=2, queries=1)
    names = aligned.measures
    first, second = all_pairs(len(aligned.runs))
    limits, chosen = [], []
    for values in map(aligned.of, names):  # one by one, as pairs take memory
        a, b = values[first].ravel(), values[second].ravel()
        limits.append(_limit(a, b, threshold, tie_share))
        chosen.append(preferred(a, b, limits[-1]))
    rows = []
    for i, j in combinations(range(len(names)), 2):
        table = contingency.contingency(chosen[i], chosen[j])
        beyond = contingency.kappa(contingency.both_ways(table))
        row = {"measure_a": names[i], "measure_b": names[j]}
        row |= {"threshold_a": limits[i], "threshold_b": limits[j]}
        row |= {"pairs": int(table.sum()), **contingency.cell_counts(table, "a", "b")}
        row |= {"kappa": beyond, "jaccard": contingency.jaccard(table)}
        row["undefined"] = f"kappa: {_WHY['kappa']}" if isnan(beyond) else ""
        rows.append(row)
    return aligned.noted(pd.DataFrame(rows))


def _read(preferences: pd.DataFrame) -> pd.DataFrame:
    """Check people's preferences; return ids as text, and preferences 1, -1, 0."""
    origin = Origin("preferences")
    key = ["query_id", "run_a", "run_b"]
    table = keyed(preferences, origin, key, ["preference"])
    sides = numbers(table["preference"], "preference", origin)
    table["preference"] = np.sign(sides).astype(np.int8)
    same = (table["run_a"] == table["run_b"]).to_numpy()
    refuse(same, lambda _: "compares a run with itself", origin, "")
    keys = table[key].to_numpy(object)
    keys[:, 1:] = np.sort(keys[:, 1:], axis=1)
    refuse(
        pd.DataFrame(keys).duplicated().to_numpy(),
        lambda _: "judges a pair of runs that was judged before",
        origin,
        "Give one preference for each query and pair, such as the majority's.",
    )
    return table


def _scores_of(
    people: pd.DataFrame, scores: AlignedScores, missing: str
) -> tuple[
    Float64[np.ndarray, "measures pairs"],
    Float64[np.ndarray, "measures pairs"],
    Int8[np.ndarray, " pairs"],
]:
    """Look up the scores of run_a and run_b of judged pairs, and the preferences."""
    there = {"run_a": scores.runs, "run_b": scores.runs, "query_id": scores.queries}
    at = []
    for name, names in there.items():
        at.append(pd.Index(names).get_indexer(pd.Index(people[name])))
        absent = np.flatnonzero(at[-1] < 0)
        left_out = ("drop", "shared") if name == "query_id" else ("drop",)
        if len(absent) and missing not in left_out:
            i = int(absent[0])
            raise DataError(
                f"there are no scores of {name} {people[name].iloc[i]!r}",
                where=Origin("preferences").at(i),
                mend="missing='drop' leaves such pairs out.",
            )
    keep = np.all([places >= 0 for places in at], axis=0)
    if not keep.any():
        raise DataError("no judged pair of runs has scores", where="preferences")
    a, b, q = (places[keep] for places in at)
    theirs = people["preference"].to_numpy()[keep]
    return scores.values[:, a, q], scores.values[:, b, q], theirs


def _limit(
    a: Float64[np.ndarray, " pairs"],
    b: Float64[np.ndarray, " pairs"],
    threshold: float,
    tie_share: float | str | None,
) -> float:
    """Choose the tie threshold of a measure from its scores of pairs of runs."""
    if not 0 <= threshold < inf:
        raise UsageError(f"a tie threshold is a difference from 0 up, not {threshold}")
    if tie_share is None:
        return float(threshold)
    if threshold:
        raise UsageError("give a tie threshold or a share of ties, not both")
    if isinstance(tie_share, str):
        raise UsageError(f"a share of ties is from 0 to 1, not {tie_share!r}")
    return tie_threshold(a, b, tie_share)


def preferred(
    a: Numbers, b: Numbers, threshold: float = 0.0
) -> Int8[np.ndarray, "*shape"]:
    """Find which of two scores is the higher one: 1 a, -1 b, 0 a tie.

    Differences up to and including the threshold are ties.
    """
    difference = np.subtract(a, b)
    beyond = np.abs(difference) > threshold + slack(a, b)
    return (np.sign(difference) * beyond).astype(np.int8)


def tie_threshold(
    a: Float[np.ndarray, " pairs"], b: Float[np.ndarray, " pairs"], share: float
) -> float:
    """Find the threshold at which about this share of the pairs are ties.

    Pairs that differ by the threshold or less are ties. Candidates are zero and all
    differences that occur. The one with the nearest share is returned, and the smaller
    one if two shares are equally near. A coarse measure can have a larger share even at
    zero.

    Source: Golbus et al. 2014, 5.2.2.

    Raises:
        UsageError: the share is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share of ties is from 0 to 1, not {share}")
    sizes = np.abs(np.subtract(a, b))
    candidates = np.concatenate([[0.0], np.sort(sizes)])
    ties = np.searchsorted(np.sort(sizes - slack(a, b)), candidates, side="right")
    wanted = exact(share) * len(sizes)
    near = int(np.searchsorted(ties, int(wanted), side="right"))
    around = ties[[max(0, near - 1), min(near, len(ties) - 1)]].tolist()
    nearest = min(around, key=lambda count: abs(count - wanted))
    return float(candidates[np.searchsorted(ties, nearest)])
