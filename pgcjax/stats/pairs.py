"""Which run of a pair each measure prefers, and from where on that is a tie."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.io.schema import Origin, canonical, find_columns, ids, numbers
from pgcjax.stats import matrix
from pgcjax.stats.scores import Scores, read_scores

JUDGED = ("query_id", "run_a", "run_b", "preference")
# Scores that are equal on paper differ in the last bits: that is no preference.
NOISE = 1e-12


@dataclass(frozen=True)
class Side:
    """Scores of the same runs and queries by several measures, side by side.

    Attributes:
        measures: as they were asked for.
        runs: ascending.
        queries: ascending.
        values: float64 [measures, runs, queries], without NaN.
    """

    measures: list[str]
    runs: list[str]
    queries: list[str]
    values: np.ndarray


def side_by_side(
    scores: Any, measures: Sequence[str] | None = None, missing: str = "error"
) -> Side:
    """Lay out several measures, each with all runs and all queries.

    Args:
        scores: our `Scores`, a DataFrame or a file with such columns, or a table of
            any kind that `matrix.read` takes for each measure, by name.
        measures: all that there are if None.
        missing: what a query does that a run or a measure lacks: `error`, `drop` it
            for all, or `zero` for those that lack it.

    Raises:
        UsageError: a measure is unknown or named twice, or there is no such policy.
        DataError: a score is missing or there twice, or nothing is left.
    """
    if isinstance(scores, (str, os.PathLike)):
        scores = read_scores(scores)
    wanted = names(scores) if measures is None else list(measures)
    if not wanted:
        raise UsageError("there are no measures to compare")
    if not isinstance(scores, Mapping):
        found = [matrix.read(scores, measure=m, missing=missing) for m in wanted]
        return _aligned(found, missing)
    unknown = [m for m in wanted if m not in scores]
    if unknown:
        raise UsageError(f"no scores of {unknown[0]!r}; there are {', '.join(scores)}")
    read = {m: matrix.read(scores[m], missing=missing) for m in wanted}
    return _aligned([replace(read[m], measure=m) for m in wanted], missing)


def names(scores: Any) -> list[str]:
    """List the measures of a score table, or of several tables by name."""
    if isinstance(scores, Mapping):
        return list(scores)
    if isinstance(scores, (str, os.PathLike)):
        scores = read_scores(scores)
    table = scores.table if isinstance(scores, Scores) else scores
    if not isinstance(table, pd.DataFrame):
        kind = type(table).__name__
        raise UsageError(f"expected scores, a DataFrame or a file, found {kind}")
    for column in find_columns(table.columns, ["measure"], matrix.NAMES).values():
        return list(dict.fromkeys(table[column].astype(str)))
    raise DataError(
        f"missing column 'measure' (found {[str(c) for c in table.columns]})",
        mend="Without it, give a table for each measure, by name.",
    )


def at_least_two(side: Side) -> Side:
    """Refuse to compare a measure with nothing."""
    if len(side.measures) < 2:
        raise UsageError(f"compare two measures or more, not {len(side.measures)}")
    return side


def _aligned(found: list[matrix.Matrix], missing: str) -> Side:
    """Bring measures to the same runs and queries."""
    measures = [m.measure for m in found]
    if len(set(measures)) < len(measures):
        raise UsageError("a measure is named twice")
    runs, queries = found[0].run_ids, set(found[0].query_ids)
    for other in found[1:]:
        odd = [("run", sorted(set(runs) ^ set(other.run_ids)))]
        if missing == "error":
            odd.append(
                ("query", sorted(set(found[0].query_ids) ^ set(other.query_ids)))
            )
        for noun, ids_ in odd:
            if ids_:
                both = f"{found[0].measure} and {other.measure}"
                raise DataError(
                    f"of {both}, only one has scores of {noun} {ids_[0]!r}",
                    mend="Complete the other, or drop it.",
                )
        theirs = set(other.query_ids)
        queries = queries | theirs if missing == "zero" else queries & theirs
    if len(queries) < 2:  # as matrix.read asks of each measure
        have = counted(len(queries), "query")
        raise DataError(f"all measures have {have} in common; two are needed")
    order = sorted(queries)
    values = np.zeros((len(found), len(runs), len(order)))
    for out, mine in zip(values, found, strict=True):
        columns = pd.Index(mine.query_ids).get_indexer(pd.Index(order))
        out[:, columns >= 0] = mine.values[:, columns[columns >= 0]]
    return Side(measures, runs, order, values)


def judged(preferences: pd.DataFrame) -> pd.DataFrame:
    """Check which of two runs people prefer: query_id, run_a, run_b, preference.

    Returns:
        These columns, the ids as text, the preference as 1, -1 or 0.

    Raises:
        DataError: a column is missing, a cell is of no use, or a pair is there twice.
    """
    origin = Origin("preferences")
    table = canonical(preferences, origin, JUDGED)
    for name in JUDGED[:3]:
        table[name] = ids(table[name], origin)
    sides = numbers(table["preference"], "preference", origin)
    table["preference"] = np.sign(sides).astype(np.int8)
    same = np.flatnonzero(table["run_a"] == table["run_b"])
    if len(same):
        raise DataError("compares a run with itself", where=origin.at(int(same[0])))
    two = np.sort(table[["run_a", "run_b"]].to_numpy(object), axis=1)
    keys = pd.DataFrame({"query": table["query_id"], "a": two[:, 0], "b": two[:, 1]})
    again = np.flatnonzero(keys.duplicated())
    if len(again):
        raise DataError(
            "judges a pair of runs that was judged before",
            where=origin.at(int(again[0])),
            mend="Give one preference for each query and pair, such as the majority's.",
        )
    return table


def scores_of(
    people: pd.DataFrame, side: Side, missing: str = "error"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Look up the scores of pairs of runs that people judged.

    Returns:
        Scores of run_a [measures, pairs], of run_b, and what people prefer [pairs].

    Raises:
        DataError: a run or query has no scores, and missing is not `drop`; or no pair
            is left.
    """
    ids = {"run_a": side.runs, "run_b": side.runs, "query_id": side.queries}
    at = {
        n: pd.Index(known).get_indexer(pd.Index(people[n])) for n, known in ids.items()
    }
    for name, places in at.items():
        absent = np.flatnonzero(places < 0)
        if len(absent) and missing != "drop":
            i = int(absent[0])
            raise DataError(
                f"there are no scores of {name} {people[name].iloc[i]!r}",
                where=Origin("preferences").at(i),
                mend="missing='drop' leaves such pairs out.",
            )
    keep = np.all([places >= 0 for places in at.values()], axis=0)
    if not keep.any():
        raise DataError("no judged pair of runs has scores", where="preferences")
    a, b, q = (places[keep] for places in at.values())
    theirs = people["preference"].to_numpy()[keep]
    return side.values[:, a, q], side.values[:, b, q], theirs


def preferred(
    a: np.ndarray, b: np.ndarray, threshold: np.ndarray | float = 0.0
) -> np.ndarray:
    """Say which of two scores is the higher one: 1 a, -1 b, 0 a tie.

    Args:
        a: scores, of any shape.
        b: scores; broadcast against a.
        threshold: differences up to here, itself included, are ties; broadcasts too.

    Returns:
        int8 of the broadcast shape.
    """
    difference = np.subtract(a, b)
    beyond = np.abs(difference) > threshold + slack(a, b)
    return (np.sign(difference) * beyond).astype(np.int8)


def tie_threshold(a: np.ndarray, b: np.ndarray, share: float) -> float:
    """Find the threshold that makes about this share of the pairs ties.

    A threshold of t makes ties of all pairs that differ by t or less. Of zero and the
    differences that occur, this is the one whose share is nearest, the smaller one if
    two are as near: a coarse measure can have more ties than asked for even at zero.

    Args:
        a: scores [pairs].
        b: scores [pairs].
        share: of ties that is wished for, 0 to 1.

    Source: Golbus et al. 2014, 5.2.2.

    Raises:
        UsageError: share is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share of ties is from 0 to 1, not {share}")
    sizes = np.abs(np.subtract(a, b))
    candidates = np.concatenate([[0.0], np.sort(sizes)])
    ties = np.searchsorted(np.sort(sizes - slack(a, b)), candidates, side="right")
    return float(candidates[np.argmin(np.abs(ties - share * len(sizes)))])


def slack(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Bound what rounding alone can put between two scores, element by element."""
    return NOISE * np.maximum(np.abs(a), np.abs(b))
