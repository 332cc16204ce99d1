"""Tests of differences between runs, chosen by name, and decisions on their p."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax._version import __version__
from pgcjax.errors import Progress, UsageError, check_choice
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.io.reading import memory_limit
from pgcjax.stats import max_t, resample, tests
from pgcjax.stats.choices import CORRECTIONS, RESAMPLES, TESTS
from pgcjax.stats.rounding import exact as exact_share
from pgcjax.stats.tests import OfPairs, RunPairs, Values

FAMILY = ("max-t", "tukey", "anova")
"""Tests whose p-values are for all pairs together already."""

MOST_RESAMPLES = 500_000
"""Largest number of resamples that is chosen by default."""

SAVE_EVERY = 5.0
"""Seconds between two states saved in a journal."""

_BEYOND = 2  # default number of resamples, as a multiple of the least possible
_ENUMERATED = 16  # most queries for which all sign flips are enumerated
_STATE = "finished-blocks"

Total = Float64[np.ndarray, " pairs_or_resamples"]


@dataclass(frozen=True)
class Outcome:
    """P-values of a test.

    Attributes:
        p_value: p of each pair.
        error: Monte-Carlo standard error of each p, 0 where p is exact.
        resamples: Number of resamples, drawn or enumerated; 0 for tests without.
        exact: Whether p needs no random resamples.
        largest: Largest statistic of all pairs in each resample, ascending, if the test
            resamples and its p-values are for all pairs together; otherwise None.
        unit: Difference of means at which this statistic of a pair is 1, or None.
    """

    p_value: OfPairs
    error: OfPairs
    resamples: int = 0
    exact: bool = True
    largest: Float64[np.ndarray, " resamples"] | None = None
    unit: OfPairs | None = None


@dataclass(frozen=True)
class Decision:
    """P-values of pairs, corrected p-values, and significant pairs.

    Attributes:
        test: One of `choices.TESTS`.
        correction: `none` where there is nothing to correct.
        outcome: Outcome of the test.
        adjusted: Corrected p; a pair is significant if it is below alpha.
        significant: Whether each pair is significant.
        level: 1 - confidence level of the interval of each pair, which excludes 0
            exactly if the uncorrected p is below `level`. It is alpha without
            correction; alpha / pairs with `holm` (Bonferroni), so that all intervals
            hold together, but may include 0 for a significant pair; and
            alpha · significant pairs / pairs with `bh`, so that exactly the intervals
            of significant pairs exclude 0 [Benjamini and Yekutieli 2005].
        simultaneous: Whether all intervals hold together with probability 1 - alpha.
        least: Smallest corrected p that is possible with so many queries; 0 if there is
            no such limit.
    """

    test: str
    correction: str
    outcome: Outcome
    adjusted: OfPairs
    significant: Bool[np.ndarray, " pairs"]
    level: Fraction
    simultaneous: bool
    least: Fraction = Fraction(0)


def decide(
    values: Values,
    pairs: RunPairs,
    test: str,
    *,
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> Decision:
    """Test pairs of runs, and decide which of them differ significantly.

    Args:
        values: Scores.
        pairs: Pairs to test.
        test: One of `choices.TESTS`.
        correction: Correction as in `compare`.
        alpha: Level of the test.
        resamples: Number of resamples, as in `compare`.
        seed: Seed of the random numbers.
        settings: Other arguments of `run`.

    Raises:
        UsageError: as of `check_decision`, or another argument is wrong.
    """
    queries, sampling = values.shape[1], {"resamples": resamples, "seed": seed}
    levels: dict[str, Any] = {"correction": correction, "alpha": alpha}
    count = check_decision(queries, len(pairs[0]), test, **levels, **sampling)
    outcome = run(values, pairs, test, resamples=count, seed=seed, **settings)
    limited = test == "wilcoxon" or (test == "permutation" and outcome.exact)
    least = Fraction(2, 2**queries) if limited else Fraction(0)
    return decision(outcome, test, correction, alpha, least)


def check_decision(
    queries: int,
    pairs: int,
    test: str,
    *,
    correction: str | None,
    alpha: float,
    resamples: int | None,
    seed: int,
) -> int | None:
    """Check arguments of `decide`, and choose the number of resamples.

    Returns:
        The number of resamples; None if the test makes none.

    Raises:
        UsageError: an argument is wrong, or no corrected p can be significant with so
            few resamples.
    """
    check_choice("test", test, TESTS)
    check_choice("correction", correction or "none", CORRECTIONS)
    tests.check_alpha(alpha)
    if test in FAMILY and correction not in (None, "none"):
        raise UsageError(f"test {test!r} covers all pairs at once: use correction none")
    if test not in RESAMPLES:
        return None
    count = RESAMPLES[test] if resamples is None else resamples
    check_resampling(count, seed)
    chosen = _correction(test, pairs, correction)
    family = 1 if chosen == "none" else pairs
    least = math.floor(family / exact_share(alpha))  # family / (1 + least) < alpha
    if resamples is None and family > 1:
        count = max(count, _BEYOND * least)
    enumerated = test == "permutation" and queries <= _ENUMERATED
    too_many = resamples is None and count > MOST_RESAMPLES
    if enumerated or not (too_many or count < least):
        return count
    subject = f"test {test!r}" if too_many else f"resamples={count}"
    if family == 1:
        raise UsageError(
            f"{subject}: no p can be below {alpha}; at least {least} are needed"
        )
    raise UsageError(
        f"{subject}: with {pairs} pairs and correction {chosen}, no p can be below "
        f"{alpha} by fewer than resamples={least}; test 'max-t' needs few, and 't' none"
    )


def check_resampling(resamples: int, seed: int, precision: float | None = None) -> None:
    """Raise a UsageError if an argument of resampling is not valid."""
    if resamples < 1 or seed < 0 or (precision is not None and not 0 < precision < 0.5):
        raise UsageError(
            f"resamples={resamples}, seed={seed}, precision={precision}: expected at "
            "least 1 resample, a seed from 0 and a precision between 0 and 0.5"
        )


def _correction(test: str, pairs: int, correction: str | None) -> str:
    """Choose the correction of p: none for one pair, or for tests of all pairs."""
    return "none" if test in FAMILY or pairs == 1 else correction or "holm"


def decision(
    outcome: Outcome | OfPairs,
    test: str,
    correction: str | None,
    alpha: float,
    least: Fraction = Fraction(0),
) -> Decision:
    """Correct p-values, and decide which pairs differ significantly.

    Args:
        outcome: Outcome of the test, or exact p.
        test: One of `choices.TESTS`.
        correction: Correction as in `compare`.
        alpha: Level of the test.
        least: Smallest possible uncorrected p.
    """
    if not isinstance(outcome, Outcome):
        outcome = Outcome(outcome, np.zeros(len(outcome)))
    count = len(outcome.p_value)
    chosen = _correction(test, count, correction)
    adjusted = tests.adjust(outcome.p_value, chosen)
    significant, level = adjusted < alpha, exact_share(alpha)
    if chosen == "holm":
        level /= count
    elif chosen == "bh":
        level *= Fraction(max(1, int(significant.sum())), count)
    simultaneous = test in FAMILY or chosen == "holm" or count == 1
    least *= 1 if chosen == "none" else count
    decided = (adjusted, significant, level, simultaneous, least)
    return Decision(test, chosen, outcome, *decided)


def p_values(
    values: Values, test: str, *, resamples: int = 1000, seed: int = 0
) -> OfPairs:
    """Test every pair of runs; arguments and errors are those of `run`.

    Returns:
        p of each pair, in the order of `np.triu_indices(runs, 1)`.
    """
    pairs = tests.all_pairs(len(values))
    return run(values, pairs, test, resamples=resamples, seed=seed).p_value


def run(
    values: Values,
    pairs: RunPairs,
    test: str,
    *,
    resamples: int | None = None,
    seed: int = 0,
    precision: float | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    journal: str | os.PathLike | None = None,
) -> Outcome:
    """Test pairs of runs, two-sided.

    Args:
        values: Finite scores of at least 2 runs and 2 queries.
        pairs: Distinct pairs. They are the family of "max-t"; "tukey" and "anova" use
            all runs of `values`.
        test: One of `TESTS`.
        resamples: Number of resamples; None takes that of `RESAMPLES`.
        seed: Seed of the random numbers, 0 or larger.
        precision: Largest Monte-Carlo standard error of a p; resamples are added until
            none is larger.
        memory: Bytes that intermediate results may take.
        progress: Function called with `(stage, done, total)`.
        journal: Folder where counts are saved; the same call, repeated, continues.

    Raises:
        UsageError: an argument is wrong. DataError: the journal is of another job.
    """
    check_choice("test", test, TESTS)
    if test not in RESAMPLES:
        analytic = {"t": tests.t, "wilcoxon": tests.wilcoxon, "anova": tests.tukey}
        p = analytic[test](values, pairs)
        return Outcome(p, np.zeros_like(p))
    count = RESAMPLES[test] if resamples is None else resamples
    check_resampling(count, seed, precision)
    queries = values.shape[1]
    same = tests.identical(values, pairs)  # pairs whose p is 1
    exact = test == "permutation" and 2**queries <= max(count, 2**_ENUMERATED)
    statistic = _statistic(values, pairs, test, seed, memory_limit(memory), exact, same)
    saved = None
    if journal is not None:
        about = {"version": __version__, "test": test, "seed": seed, "exact": exact}
        saved = _opened(journal, about, statistic.scores, pairs)
    if not exact:
        return _sampled(statistic, same, count, precision, progress, saved)
    half = 2 ** (queries - 1)  # the other half of the signs gives the same |Σz|
    hits = _extended(statistic, np.zeros(len(same)), 0, half, progress, saved)
    p = np.where(same, 1.0, hits / half)
    return Outcome(p, np.zeros_like(p), 2**queries)


def _opened(
    journal: str | os.PathLike,
    about: dict[str, Any],
    scores: resample.WholeScores,
    pairs: RunPairs,
) -> Checkpoint:
    """Open the journal of a job, identified by settings, scores and pairs."""
    arrays = (scores.values, *map(np.asarray, pairs))
    data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
    return Checkpoint(journal, about | {"scores": sha256(data).hexdigest()})


@dataclass(frozen=True)
class _Statistic:
    """Observed statistic of a test, and its comparison with blocks of resamples.

    Attributes:
        scores: Scores of all runs.
        block: Function of number, size and device of a block of resamples. It counts
            the resamples that reach the statistic of each pair, or, for tests with
            `reach`, returns the largest statistic of all pairs in each resample.
        reach: Observed statistic of each pair, less rounding: a resample counts if its
            largest statistic is not below. None if `block` counts.
        unit: Difference of means at which the statistic of a pair is 1.
    """

    scores: resample.WholeScores
    block: Callable[[int, int, Any], np.ndarray]
    reach: OfPairs | None = None
    unit: OfPairs | None = None


def _statistic(
    values: Values,
    pairs: RunPairs,
    test: str,
    seed: int,
    memory: int,
    exact: bool,
    same: Bool[np.ndarray, " pairs"],
) -> _Statistic:
    """Prepare the statistic of a test that resamples; `exact` enumerates all signs."""
    scores, queries = resample.WholeScores.of(values), values.shape[1]
    budget = memory // (2 * resample.workers())

    def bootstrapped(block: int, size: int) -> resample.Weights:
        return resample.multiplicities(resample.indices(seed, block, size, queries))

    if test == "max-t":
        family = max_t.Family.of(scores, pairs, same)

        def largest(block: int, size: int, device: Any) -> np.ndarray:
            weights = bootstrapped(block, size)
            return max_t.largest(family, weights, device=device, budget=budget)

        return _Statistic(scores, largest, *max_t.observed(family, scores, pairs))
    if test == "tukey":

        def ranges(block: int, size: int, device: Any) -> np.ndarray:
            return resample.largest_ranges(scores.values, seed, block, size)

        sums, unit = scores.values.sum(1), np.full(len(same), scores.unit / queries)
        reach = np.abs(sums[pairs[0]] - sums[pairs[1]]) - scores.slack
        return _Statistic(scores, ranges, reach, unit)

    def counts(block: int, size: int, device: Any) -> np.ndarray:
        if exact:
            weights = resample.all_signs(block, size, queries)
        elif test == "permutation":
            weights = resample.signs(seed, block, size, queries)
        else:
            weights = bootstrapped(block, size)
        placing = {"device": device, "budget": budget}
        return resample.count(test, scores, pairs, weights, **placing)

    return _Statistic(scores, counts)


def _sampled(
    statistic: _Statistic,
    same: Bool[np.ndarray, " pairs"],
    count: int,
    precision: float | None,
    progress: Progress | None,
    saved: Checkpoint | None,
) -> Outcome:
    """Resample until p is precise enough."""
    if precision is not None:
        count = _whole_blocks(count)  # only after whole blocks can more be added
    done, total = 0, np.zeros(len(same) if statistic.reach is None else 0)
    while True:
        total = _extended(statistic, total, done, count, progress, saved)
        hits = total
        if statistic.reach is not None:
            hits = count - np.searchsorted(np.sort(total), statistic.reach)
        p = np.where(same, 1.0, (1 + hits) / (1 + count))
        variance = p * (1 - p)
        if precision is None or variance.max(initial=0.0) / count <= precision**2:
            break
        done, needed = count, math.ceil(float(variance.max()) / precision**2)
        count = _whole_blocks(max(needed, count + resample.BLOCK))
    largest = None if statistic.reach is None else np.sort(total)
    error = np.sqrt(variance / count)
    return Outcome(p, error, count, False, largest, statistic.unit)


def _whole_blocks(resamples: int) -> int:
    return -(-resamples // resample.BLOCK) * resample.BLOCK


def _extended(
    statistic: _Statistic,
    total: Total,
    done: int,
    resamples: int,
    progress: Progress | None,
    saved: Checkpoint | None,
) -> Total:
    """Add blocks of resamples to results until there are as many as requested.

    The first call, with `done` 0, continues from the state that a journal has.

    Args:
        statistic: Statistic of the test.
        total: Results so far: counts of pairs, or the largest statistic of each
            resample.
        done: Number of resamples so far, in whole blocks.
        resamples: Number of resamples requested.
        progress: Function as in `run`.
        saved: Journal in which results are saved.
    """
    state = saved.load(_STATE) if saved and not done else None
    if state and int(state["done"]) <= resamples:
        done, total = int(state["done"]), state["total"]
    last_save = time.monotonic()
    first = done // resample.BLOCK
    for size, part in resample.block_results(statistic.block, first, resamples):
        if statistic.reach is None:
            total = total + part
        else:
            total = np.concatenate([total, part])
        done += size
        due = time.monotonic() - last_save >= SAVE_EVERY
        whole = size == resample.BLOCK
        if saved and whole and (due or done == resamples):
            saved.save(_STATE, done=np.array(done), total=total)
            last_save = time.monotonic()
        if progress:
            progress("resampling", done, resamples)
    return total
