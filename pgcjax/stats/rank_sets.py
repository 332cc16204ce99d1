"""Simultaneous sets of the ranks that runs may have, by stepwise tests of windows.

Runs that are truly equal are neighbours in the order of means, up to chance. A window
holds all runs between two places of that order. It is tested by the largest statistic
of its pairs, at level alpha · k / n if it holds k of the n runs, or alpha if k is n or
n - 1. So the levels of windows without a common run add up to at most alpha. Two runs
differ significantly if their statistic is significant in the smallest window that holds
both, and each larger window around it has a significant pair. Pairs that differ by
max-t over all pairs differ here, too.

Source: Ryan 1960; Einot and Gabriel 1975; Welsch 1977 (shares of stepwise ranges), with
the resamples of max-t; ranks as of Mogstad, Romano, Shaikh and Wilhelm 2024.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from pgcjax.errors import Progress, UsageError, counted
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.judging.rank_ranges import places
from pgcjax.stats import max_t, resample, tests
from pgcjax.stats.choices import RESAMPLES
from pgcjax.stats.intervals import critical_value
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.procedures import check_resampling, decision
from pgcjax.stats.rectified import BothScores, of_both, read_human
from pgcjax.stats.rounding import NOISE, exact
from pgcjax.stats.structure import STRUCTURES, Repeats, arranged
from pgcjax.stats.tests import Values

_MOST = 64  # most parts of the order of runs; windows consist of whole parts
_BYTES = 2**27  # most bytes of the largest statistics between parts
_NEAR = 2**20  # statistics computed at once
MANY = 500
"""Most runs that get the resamples of max-t; more runs get `_FEW` resamples."""

_FEW = 500
_SIMULATED = 20  # fewest queries judged by people for which sets were simulated
_ROWS = 8  # parts compared at once with all later parts

Part = Int[np.ndarray, " runs"]
Maxima = Float64[np.ndarray, "resamples parts parts"]


@dataclass(frozen=True, kw_only=True)
class RankSets(Result):
    """Ranks that runs may have; all hold simultaneously at the level.

    Attributes:
        table: run_id, mean, rank (1 best, equal means share one), low and high (the
            best and the worst rank that the run may have) and tier (tier - 1 runs are
            truly better), the best run first.
    """


def rank_sets(
    scores: Any,
    measure: str | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
    missing: str = "error",
    cluster: Any = None,
    system: Any = None,
    collections: Any = None,
    rectify: Any = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> RankSets:
    """Compute the ranks that each run may have, simultaneously for all runs.

    Args:
        scores: Scores as in `compare`, for ranks over new queries; or the result of
            `uncertainty`, for ranks over the units that it resampled.
        measure: Name of the measure; needed if scores have several.
        level: Simultaneous level of all ranks.
        seed: Seed of the random numbers, which are those of `compare`.
        resamples: Number of resamples; None takes 2000, or 500 for more than 500 runs.
        missing: Treatment of queries that runs lack: `error`, `drop` or `zero`.
        cluster: Cluster of each query, as in `compare`.
        system: System of each run, as in `compare`; systems are ranked.
        collections: Collection of each query, as in `compare`.
        rectify: Human scores of some queries, as in `compare`, to rank runs by these.
        memory: Bytes that intermediate results may take, or a size such as `2GB`.
        progress: Function called with `(stage, done, total)`.

    Raises:
        DataError: the scores cannot be compared. UsageError: an argument is wrong.

    Source: see `pgcjax.stats.rank_sets`.
    """
    structure = dict(zip(STRUCTURES, (cluster, system, collections), strict=True))
    given = [name for name, value in structure.items() if value is not None]
    given += [] if rectify is None else ["rectify"]
    if not 0 < level < 1:
        raise UsageError(f"level={level}: expected a number between 0 and 1")
    alpha = float(1 - exact(level))
    if hasattr(scores, "replicates"):
        return _of_replicates(scores, measure, level, given)
    with reading(memory=memory):
        matrix, repeats, _ = arranged(scores, measure, missing, structure)
    matrix, strata = _rectified(matrix, rectify, missing, given)
    resamples = most_resamples(len(matrix.run_ids)) if resamples is None else resamples
    check_resampling(resamples, seed)
    if repeats:
        differ = _of_systems(matrix.values, repeats, alpha)
    else:
        differ = significant_pairs(
            matrix.values, alpha, resamples, seed, progress, strata
        )
    about = {"measure": matrix.measure, "level": level, "resamples": resamples}
    about |= {"seed": seed, "missing": missing} | _units(matrix, given, strata)
    table = leaderboard(matrix.run_ids, matrix.values.mean(1), differ)
    return RankSets(table, about, (*matrix.notes, _note(about)))


def _of_replicates(
    scores: Any, measure: str | None, level: float, given: list[str]
) -> RankSets:
    """Compute ranks from the replicates that `uncertainty` returned.

    Raises:
        UsageError: an argument that works with scores alone is given.
    """
    if given:
        raise UsageError(f"{given[0]} works with scores: give it to uncertainty")
    note = f"ranks of all hold together at {100 * level:g} %: {scores.resampling}"
    ranks = scores.ranks(measure, alpha=float(1 - exact(level)))
    return RankSets(ranks, {**scores.metadata, "level": level}, (note,))


def _units(
    matrix: Matrix, given: list[str], strata: Sequence[int]
) -> dict[str, str | int]:
    """Return metadata on the runs, the queries and the resampled unit."""
    runs, queries = matrix.values.shape
    if strata:
        people = {"drawn": "query", "human_queries": strata[0]}
        return {"runs": runs, "queries": queries, **people}
    drawn = given[0] if given else "query"
    return {"runs": runs, "queries": queries, "drawn": drawn}


def _rectified(
    matrix: Matrix, rectify: Any, missing: str, given: list[str]
) -> tuple[Matrix, tuple[int, ...]]:
    """Compute scores whose means estimate those of human scores, if `rectify` has any.

    Returns:
        The scores, unchanged if `rectify` is None, and the sizes of strata.

    Raises:
        UsageError: a structure is given, too. UsageError, DataError: as of `compare`.
    """
    if rectify is None:
        return matrix, ()
    if given[1:]:
        raise UsageError(f"{given[0]} does not go with rectify")
    human, notes = of_both(read_human(rectify, matrix, missing), matrix, missing)
    values, strata = BothScores.of(human, matrix).with_one_power()
    notes = [*matrix.notes, *notes]
    if strata[0] < _SIMULATED:
        text = f"fewer than {_SIMULATED} queries judged by people"
        notes.append(f"rank sets by {text} were not simulated")
    return replace(matrix, values=values, notes=tuple(notes)), strata


def _note(about: Mapping[str, Any]) -> str:
    """Describe the ranks and the units that were resampled."""
    noun = "cluster" if about["drawn"] == "cluster" else "query"
    units, level = counted(about["queries"], noun), f"{100 * about['level']:g} %"
    if about["drawn"] == "system":
        unit, method = "system", "t of all pairs over queries and repeats, with Holm"
    else:
        plural = "clusters" if noun == "cluster" else "queries"
        unit, method = "run", f"{plural} drawn again {about['resamples']} times"
        method += ", of each collection" if about["drawn"] == "collections" else ""
    if "human_queries" in about:
        units += f", {about['human_queries']} of them judged by people"
    text = f"{counted(about['runs'], unit)}, {units}; ranks of all hold together at "
    return f"{text}{level}: {method}"


def _of_systems(
    systems: Values, repeats: Repeats, alpha: float
) -> Bool[np.ndarray, "runs runs"]:
    """Find which systems differ, by t over queries and repeats, corrected by Holm."""
    differ = np.zeros((len(systems), len(systems)), bool)
    pairs = tests.all_pairs(len(systems))
    p = repeats.test(systems, pairs)[0]
    significant = decision(p, "t", "holm", alpha).significant
    differ[pairs] = differ[pairs[::-1]] = significant
    return differ


def most_resamples(runs: int) -> int:
    """Return the default number of resamples."""
    return RESAMPLES["max-t"] if runs <= MANY else _FEW


def leaderboard(
    run_ids: list[str],
    means: Float64[np.ndarray, " runs"],
    differ: Bool[np.ndarray, "runs runs"],
) -> pd.DataFrame:
    """List runs, the best first, with the ranks that they may have.

    Args:
        run_ids: Names of the runs.
        means: Mean of each run.
        differ: Whether two runs differ significantly.
    """
    table = pd.DataFrame(
        {
            "run_id": pd.Series(run_ids, dtype="str"),
            "mean": means,
            "rank": np.searchsorted(np.sort(-means), -means) + 1,
            **places(differ, means)._asdict(),
        }
    )
    order = np.lexsort([np.arange(len(means)), -means])
    return table.iloc[order].reset_index(drop=True)


def significant_pairs(
    values: Values,
    alpha: float,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
    strata: Sequence[int] = (),
) -> Bool[np.ndarray, "runs runs"]:
    """Find pairs of runs that differ significantly, by resamples of `max-t`."""
    return stepwise(*resampled(values, resamples, seed, progress, strata), alpha)


def resampled(
    values: Values,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
    strata: Sequence[int] = (),
) -> tuple[Float64[np.ndarray, "runs runs"], list[Part], Maxima]:
    """Compute the arguments of `stepwise` from the statistic and resamples of `max-t`.

    Args:
        values: Scores.
        resamples: Number of resamples.
        seed: Seed of the random numbers.
        progress: Function as in `rank_sets`.
        strata: Numbers of queries in strata that are drawn separately, in the order of
            columns; a run has the same mean in each. By default, all queries are one
            stratum.
    """
    runs, queries = values.shape
    sizes = strata or (queries,)
    pairs = tests.all_pairs(runs)
    scores = resample.WholeScores.of(values)
    family = max_t.Family.of(scores, pairs, tests.identical(values, pairs))
    statistic = np.zeros((runs, runs))
    statistic[pairs] = statistic[pairs[::-1]] = max_t.observed(family, scores, pairs)[0]
    # Scores break ties of means, so the order of runs in a file has no effect.
    parts = cut(np.lexsort([*values.T, -scores.values.sum(1)]), resamples)
    centred, unit = resample.centred(scores.values[np.concatenate(parts)])
    starts = np.cumsum([0, *map(len, parts[:-1])])
    columns = [*map(slice, np.cumsum([0, *sizes]), np.cumsum(sizes))]

    def block(number: int, size: int, device: Any) -> np.ndarray:
        drawn = resample.indices(seed, number, size, *sizes)
        weights = resample.multiplicities(drawn)
        spread = np.sum([family.spread(weights[part], part) for part in columns], 0)
        return largest_between(centred, weights.T, spread / unit**2, starts, columns)

    maxima, done = [], 0
    for size, largest in resample.block_results(block, 0, resamples):
        maxima.append(largest)
        done += size
        if progress:
            progress("ranks", done, resamples)
    return statistic, parts, np.concatenate(maxima)


def largest_between(
    x: Values,
    weights: Float64[np.ndarray, "resamples queries"],
    spread: Float64[np.ndarray, " resamples"],
    starts: Int[np.ndarray, " parts"],
    strata: Sequence[slice] = (slice(None),),
) -> Maxima:
    """Find the largest |T*| between each two parts of the runs; `max_t` defines T*.

    Args:
        x: Scores less the mean of their run, the best run first.
        weights: Number of times that each resample holds each query; their sum is the
            number of queries drawn.
        spread: Mean of Σ(z - mean)² over the pairs of the family, where mean is that of
            z in the stratum.
        starts: First run of each part.
        strata: Columns of queries that are drawn separately.
    """
    step = max(1, _NEAR // len(x) ** 2)
    blocks = (slice(low, low + step) for low in range(0, len(weights), step))
    maxima = [_largest(x, weights[b], spread[b], starts, strata) for b in blocks]
    return np.concatenate(maxima)


def _largest(
    x: Values,
    weights: Float64[np.ndarray, "resamples queries"],
    spread: Float64[np.ndarray, " resamples"],
    starts: Int[np.ndarray, " parts"],
    strata: Sequence[slice],
) -> Maxima:
    """Compute `largest_between` for resamples that fit memory together."""
    queries, count = int(weights[0].sum()), len(starts)
    means = [weights[:, part] @ x[:, part].T / queries for part in strata]
    counts = [weights[0, part].sum() for part in strata]
    squares = weights @ (x * x).T
    largest = np.zeros((len(weights), count, count))
    for low in range(0, count, _ROWS):
        block = slice(low, low + _ROWS)
        first, end = starts[low], starts[low + _ROWS] if low + _ROWS < count else None
        variation = squares[:, first:end, None] + squares[:, None, first:]
        noise = NOISE * variation
        variation -= 2 * ((x[first:end] * weights[:, None]) @ x[first:].T)  # Σz²
        total = 0.0
        for mean, count_of_stratum in zip(means, counts, strict=True):
            moved = mean[:, first:end, None] - mean[:, None, first:]
            moved[np.abs(moved) <= NOISE] = 0.0
            total = total + moved
            variation -= queries**2 / count_of_stratum * np.square(moved)
        variation[variation <= noise] = 0.0  # Σ(z - mean)² of each pair
        variation += spread[:, None, None]
        top = queries * np.square(total)
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(top > 0, (queries - 1) * top / variation, 0.0)
        square = np.maximum.reduceat(square, starts[block] - first, 1)
        largest[:, block, low:] = np.maximum.reduceat(square, starts[low:] - first, 2)
    return np.sqrt(largest)


def of_replicates(
    means: Float64[np.ndarray, " runs"],
    drawn: Float64[np.ndarray, "replicates runs"],
    alpha: float,
) -> Bool[np.ndarray, "runs runs"]:
    """Find the pairs of runs that differ, by differences of their means in replicates.

    Args:
        means: Mean of each run.
        drawn: Mean of each run in each replicate; NaN where it has none.
        alpha: Level of all pairs together.
    """
    parts = cut(np.argsort(-means, kind="stable"), len(drawn))
    centred = drawn - np.nanmean(drawn, axis=0)
    highest = np.stack([np.nanmax(centred[:, p], 1, initial=-np.inf) for p in parts], 1)
    lowest = np.stack([np.nanmin(centred[:, p], 1, initial=np.inf) for p in parts], 1)
    # Largest differences between runs of two parts, of either sign.
    sides = highest[:, :, None] - lowest[:, None], highest[:, None] - lowest[:, :, None]
    noise = NOISE * np.nanmax(np.abs(means), initial=0.0)
    differences = np.abs(means[:, None] - means) - noise
    return stepwise(differences, parts, np.maximum(*sides), alpha)


def cut(order: Part, resamples: int) -> list[Part]:
    """Cut the runs, the best first, into parts: of one run each if memory suffices."""
    most = min(_MOST, max(1, int((_BYTES / (8 * max(1, resamples))) ** 0.5)))
    return np.array_split(order, min(most, len(order)))


def stepwise(
    statistic: Float64[np.ndarray, "runs runs"],
    parts: list[Part],
    maxima: Maxima,
    alpha: float,
) -> Bool[np.ndarray, "runs runs"]:
    """Find the pairs of runs that differ, from the widest window to the narrowest.

    Args:
        statistic: Statistic of each two runs; symmetric.
        parts: Places of the runs of each part, the best part first. A window consists
            of neighbouring parts.
        maxima: Largest statistic in each resample of the pairs with a run of one part
            and a run of the other; the second part is the first or a worse one.
        alpha: Level of all pairs together.
    """
    count, runs, level = len(parts), len(statistic), exact(alpha)
    ends = np.cumsum([0, *map(len, parts)])
    # The largest statistics within the window from part a to part b, observed and in
    # each resample: between a and b, or within one of the next smaller windows.
    observed, largest = np.zeros((count, count)), maxima.transpose(1, 2, 0).copy()
    for width in range(count):
        for a in range(count - width):
            b = a + width
            observed[a, b] = statistic[np.ix_(parts[a], parts[b])].max(initial=0.0)
            for c, d in ((a, b - 1), (a + 1, b)) if width else ():
                observed[a, b] = max(observed[a, b], observed[c, d])
                np.maximum(largest[a, b], largest[c, d], out=largest[a, b])
    differ = np.zeros((runs, runs), bool)
    critical_of_all = critical_value(largest[0, -1], level)
    passed = np.zeros((count, count), bool)  # windows with a significant pair
    for width in range(count - 1, -1, -1):
        for a in range(count - width):
            b, size = a + width, int(ends[a + width + 1] - ends[a])
            around = [(a - 1, b)] * (a > 0) + [(a, b + 1)] * (b + 1 < count)
            if not all(passed[window] for window in around):
                continue
            share = level if size >= runs - 1 else level * Fraction(size, runs)
            critical = min(critical_of_all, critical_value(largest[a, b], share))
            passed[a, b] = observed[a, b] > critical
            both = np.ix_(parts[a], parts[b])
            differ[both] = statistic[both] > critical
    return differ | differ.T
