"""Which run of a pair each measure prefers, and from where on that is a tie."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int8

from pgcjax.errors import DataError, UsageError
from pgcjax.io.schema import Origin, canonical, ids, numbers, refuse
from pgcjax.stats.aligned import AlignedScores
from pgcjax.stats.rounding import exact, slack

RUN_PREFERENCES = ("query_id", "run_a", "run_b", "preference")
Values = Float[np.ndarray, "*shape"]


def read_run_preferences(preferences: pd.DataFrame) -> pd.DataFrame:
    """Check which of two runs people prefer: query_id, run_a, run_b, preference.

    Returns:
        These columns, the ids as text, the preference as 1, -1 or 0.

    Raises:
        DataError: a column is missing, a cell is of no use, or a pair is there twice.
    """
    origin = Origin("preferences")
    table = canonical(preferences, origin, RUN_PREFERENCES)
    for name in RUN_PREFERENCES[:3]:
        table[name] = ids(table[name], origin)
    sides = numbers(table["preference"], "preference", origin)
    table["preference"] = np.sign(sides).astype(np.int8)
    same = (table["run_a"] == table["run_b"]).to_numpy()
    refuse(same, lambda _: "compares a run with itself", origin, "")
    keys = table[["query_id", "run_a", "run_b"]].to_numpy(object)
    keys[:, 1:] = np.sort(keys[:, 1:], axis=1)
    refuse(
        pd.DataFrame(keys).duplicated().to_numpy(),
        lambda _: "judges a pair of runs that was judged before",
        origin,
        "Give one preference for each query and pair, such as the majority's.",
    )
    return table


def scores_of(
    people: pd.DataFrame, scores: AlignedScores, missing: str
) -> tuple[
    Float64[np.ndarray, "measures pairs"],
    Float64[np.ndarray, "measures pairs"],
    Int8[np.ndarray, " pairs"],
]:
    """Look up the scores of pairs of runs that people judged.

    Returns:
        Scores of run_a, of run_b, and what people prefer.

    Raises:
        DataError: a run or query has no scores, and missing is not `drop`, nor, for a
            query, `shared`; or no pair is left.
    """
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


def preferred(
    a: Values, b: Values, threshold: float = 0.0
) -> Int8[np.ndarray, "*shape"]:
    """Find which of two scores is the higher one: 1 a, -1 b, 0 a tie.

    Differences up to the threshold, itself included, are ties.
    """
    difference = np.subtract(a, b)
    beyond = np.abs(difference) > threshold + slack(a, b)
    return (np.sign(difference) * beyond).astype(np.int8)


def tie_threshold(
    a: Float[np.ndarray, " pairs"], b: Float[np.ndarray, " pairs"], share: float
) -> float:
    """Find the threshold that makes about this share of the pairs ties.

    A threshold of t makes ties of all pairs that differ by t or less. Of zero and the
    differences that occur, this is the one whose share is nearest, the smaller one if
    two are as near: a coarse measure can have more ties than asked for even at zero.

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
