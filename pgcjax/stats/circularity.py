"""Tests whether a judge favours runs that were made with it, beside people's scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax._version import __version__
from pgcjax.errors import DataError, Progress, UsageError, counted, listed
from pgcjax.io.result import Result
from pgcjax.later import stats
from pgcjax.stats import tests
from pgcjax.stats.compare import compare
from pgcjax.stats.matrix import Matrix, check_same_runs, read

ALL = "all named runs"
_LOTS = 2000  # sets of runs: a standard error of .005 at a share of .05
_FEWEST = 5  # other runs; fewer do not show how far honest runs differ
_COLUMNS = ["run_id", "judge", "people", "difference", "lift", "low", "high"]
_COLUMNS += ["p_queries", "p_runs", "lifted"]


@dataclass(frozen=True, kw_only=True)
class Circularity(Result):
    """Lift of some runs by a judge above people's scores, compared with other runs.

    Attributes:
        table: A row for each named run, and one for all if several are named: run_id,
            judge and people (means of scores), difference (judge less people, less the
            same for the other runs), lift (difference with people's scores on the
            judge's scale), low and high (interval over queries, of level 1 - 2 alpha:
            all low ends hold together with chance 1 - alpha), p_queries (one-sided p
            over queries, for all rows together), p_runs (one-sided p over runs, see
            `above_line`) and lifted (p_runs below alpha).
        runs: A row for each run: run_id, named, judge, corrected (judge less the lift
            of named runs), people, rank_judge, rank_corrected and rank_people; sorted
            by rank_people.
    """

    runs: pd.DataFrame


def circular(
    judge: Any,
    people: Any,
    judge_runs: Sequence[str],
    *,
    measure: str | None = None,
    alpha: float = 0.05,
    missing: str = "error",
    seed: int = 0,
    progress: Progress | None = None,
) -> Circularity:
    """Test whether a judge lifts runs that were made with it, or with its family.

    A line is fitted to the judge's mean scores of the other runs over people's. The
    lift of a named run is its distance above the line. A run is lifted if this distance
    is large against the distances of the other runs, which have two causes: the sample
    of queries, and a judge's differences from people on honest runs. A max-t test over
    queries alone is reported, too.

    Args:
        judge: Scores by the judge, in a form that `compare` takes.
        people: Scores of the same runs by people.
        judge_runs: Names of the runs that were made with the judge.
        measure: Measure to test; required if there are scores by several.
        alpha: Level of the one-sided tests.
        missing: As in `compare`; queries that judge or people lack are left out.
        seed: Seed of the resamples.
        progress: Function called with `(stage, done, total)`.

    Raises:
        UsageError: an argument is wrong, or an unknown run. DataError: the scores are
            not of the same runs and queries, or of too few.
    """
    sides = (read(s, measure=measure, missing=missing) for s in (judge, people))
    matrix, values, notes = _aligned(*sides)
    run_ids, y, x = matrix.run_ids, *values.mean(axis=2)
    named = _named(judge_runs, run_ids)
    places = [np.array([i]) for i in np.flatnonzero(named)]
    places += [np.flatnonzero(named)] if len(places) > 1 else []
    names = [run_ids[of[0]] if len(of) == 1 else ALL for of in places]
    if np.ptp(x[~named]) < 1e-12:
        mend = "Name fewer runs, or give scores by people that tell the others apart."
        raise DataError("the other runs have equal means by people", mend=mend)
    settings = {"alpha": alpha, "seed": seed}
    slope, p = above_line(x, y, np.flatnonzero(named), seed)
    left = values[0] - slope * values[1]
    rows = [left[of].mean(axis=0) for of in (*places, ~named)]
    by_queries = _by_queries(rows, settings, progress)
    of_named = [[v[of].mean() for of in places] for v in (y, x)]
    columns = dict(zip(_COLUMNS, (names, *of_named), strict=False))
    table = pd.DataFrame(columns).join(by_queries).assign(p_runs=p)
    table["difference"] = table["judge"] - table["people"] - (y - x)[~named].mean()
    # Distances of other runs vary with the queries, too, so p_queries adds nothing.
    table["lifted"] = table["p_runs"] < alpha
    about = {"version": __version__, "measure": matrix.measure, **settings}
    about |= {"judge_runs": names[: int(named.sum())], "slope": slope}
    about |= {"runs": len(run_ids), "queries": len(matrix.query_ids)}
    notes = (*notes, _in_words(table, about))
    runs = _ranks(run_ids, named, x, y, table["lift"].to_numpy())
    return Circularity(table[_COLUMNS], about, notes, runs=runs)


def _by_queries(
    rows: list[np.ndarray], settings: dict[str, Any], progress: Progress | None
) -> pd.DataFrame:
    """Compare rows of scores with the last one by max-t: lift, low, high, p_queries."""
    # A run may have any name, so numbers are the names here.
    ids, queries = [f"{i}" for i in range(len(rows))], len(rows[0])
    matrix = Matrix(ids, [f"{i}" for i in range(queries)], np.stack(rows))
    settings = settings | {"alpha": 2 * settings["alpha"], "progress": progress}
    lifts = compare(matrix, baselines=ids[-1], **settings).table
    lifts = lifts.rename(columns={"difference": "lift"})
    # One-sided: a judge that lowers its runs is no evidence of a lift.
    half = lifts["p_adjusted"] / 2
    lifts["p_queries"] = half.where(lifts["lift"] > 0, 1 - half)
    return lifts[["lift", "low", "high", "p_queries"]]


def _aligned(
    judge: Matrix, people: Matrix
) -> tuple[Matrix, Float64[np.ndarray, "2 runs queries"], list[str]]:
    """Take the queries that both judge and people scored, of the same runs."""
    check_same_runs(people, judge, "the judge")
    if judge.measure and people.measure and judge.measure != people.measure:
        raise UsageError(
            f"the judge's scores are by {judge.measure}, people's by {people.measure}"
        )
    shared = sorted({*judge.query_ids} & {*people.query_ids})
    if len(shared) < 2:
        raise DataError(
            f"the judge and people have scores of {counted(len(shared), 'same query')}",
            mend="Score both on the same queries: at least 2, better 50.",
        )
    values = np.stack(
        [m.values[:, [m.query_ids.index(q) for q in shared]] for m in (judge, people)]
    )
    every = len({*judge.query_ids} | {*people.query_ids})
    notes = [*dict.fromkeys((*judge.notes, *people.notes))]
    if every > len(shared):
        lack = counted(every - len(shared), "query")
        notes.append(f"left out: {lack} with scores by the judge or people alone")
    matrix = Matrix(judge.run_ids, shared, values[0], judge.measure or people.measure)
    return matrix, values, notes


def _named(judge_runs: Sequence[str], run_ids: list[str]) -> np.ndarray:
    """Mark the runs that were made with the judge."""
    names = [judge_runs] if isinstance(judge_runs, str) else [*judge_runs]
    if not names:
        raise UsageError("judge_runs: name the runs that were made with the judge")
    for name in names:
        if name not in run_ids:
            raise UsageError(f"no run {name!r}; there are {listed(run_ids, 8)}")
    named = np.isin(run_ids, names)
    if (others := int((~named).sum())) < _FEWEST:
        raise DataError(
            f"{counted(others, 'run')} beside those made with the judge",
            where="scores",
            mend=f"At least {_FEWEST} others are needed, to compare with.",
        )
    return named


def above_line(
    x: np.ndarray, y: np.ndarray, named: np.ndarray, seed: int
) -> tuple[float, np.ndarray]:
    """Test, one-sided, whether means of runs are above the line of the others.

    The test is the t test of a prediction (new points of a regression, and their mean)
    with Holm's correction. For several named runs, random sets of as many runs bound p
    from below: p is at least the share of sets with a t as large as the largest of the
    named runs. Without this bound, one honest run far from the line is found too often,
    as it belongs to many sets.

    Args:
        x: Means of runs by people.
        y: Means of runs by the judge.
        named: Places of the runs that were made with the judge.
        seed: Seed of the random sets.

    Returns:
        The slope of the line; p of each named run, then of all if they are several.
    """
    slope, t = _distances(x, y, named[None])
    p = tests.adjust(stats.t.sf(t[0], len(x) - len(named) - 2), "holm")
    if len(named) > 1:
        _, lots = _distances(x, y, _lots(len(x), named, seed))
        p = np.maximum(p, np.mean(lots.max(axis=1) >= t.max() - 1e-9))
    return float(slope[0]), p


def _lots(runs: int, named: np.ndarray, seed: int) -> np.ndarray:
    """Return places of all sets of as many runs; of many, the named and random sets."""
    if comb(runs, size := len(named)) <= _LOTS:
        return np.array([*combinations(range(runs), size)])
    drawn = np.random.default_rng(seed).random((_LOTS - 1, runs))
    return np.vstack([named, np.argpartition(drawn, size, axis=1)[:, :size]])


def _distances(
    x: np.ndarray, y: np.ndarray, sets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute slopes without each set of runs, and t of its runs and of their mean."""
    rows, size = np.arange(len(sets))[:, None], sets.shape[1]
    rest = np.ones((len(sets), len(x)), bool)
    rest[rows, sets] = False
    m = len(x) - size
    x, y = (z - (rest @ z)[:, None] / m for z in (x, y))
    x = x.round(12)  # rounding makes no difference between runs
    square = (x**2).sum(axis=1, where=rest)
    flat = np.where(square > 0, square, np.inf)  # equal means have no slope
    slope = (x * y).sum(axis=1, where=rest) / flat
    residual = (y - slope[:, None] * x).round(12)  # rounding is no residual
    variance = (residual**2).sum(axis=1, where=rest) / (m - 2)
    above, aside, count = residual[rows, sets], x[rows, sets], np.ones(size)
    if size > 1:
        above, aside = (np.c_[z, z.mean(axis=1)] for z in (above, aside))
        count = np.r_[count, size]
    scale = 1 / count + 1 / m + aside**2 / flat[:, None]
    error = np.sqrt(variance[:, None] * scale)
    sure = np.where(above == 0, 0.0, np.copysign(np.inf, above))
    return slope, np.divide(above, error, out=sure, where=error > 0)


def _ranks(
    run_ids: list[str],
    named: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    lift: np.ndarray,
) -> pd.DataFrame:
    """Rank all runs by the judge, by the judge without lifts, and by people."""
    corrected = y.copy()
    corrected[named] -= lift[: int(named.sum())]
    table = pd.DataFrame({"run_id": run_ids, "named": named, "judge": y})
    table = table.assign(corrected=corrected, people=x)
    for name in ("judge", "corrected", "people"):
        rank = table[name].round(9).rank(method="min", ascending=False)
        table[f"rank_{name}"] = rank.astype(np.int64)
    return table.sort_values(["rank_people", "run_id"], ignore_index=True)


def _in_words(table: pd.DataFrame, about: dict[str, Any]) -> str:
    """Write which runs are lifted."""
    lifted = table.loc[table["lifted"], "run_id"].tolist()
    by = (
        f"{counted(about['queries'], 'query')}, α = {about['alpha']:g} for all together"
    )
    of = counted(len(about["judge_runs"]), "run")
    found = f"lifted: {listed(lifted, 8)}" if lifted else "none is lifted"
    return f"of {of} made with the judge, {found} ({by})"
