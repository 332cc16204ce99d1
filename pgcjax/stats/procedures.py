"""Tests of differences between runs, by name: p, corrected, and which pairs differ."""

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
"""Most resamples that are made by default."""

SAVE_EVERY = 5.0
"""Seconds between two states in a journal."""

_BEYOND = 2  # times as many as the least, if nobody says how many
_ENUMERATED = 16  # queries up to which all sign flips are made
_STATE = "finished-blocks"

Total = Float64[np.ndarray, " pairs_or_resamples"]


@dataclass(frozen=True)
class Outcome:
    """P-values of a test.

    Attributes:
        p_value: p of each pair.
        error: Monte-Carlo standard error of each p, 0 where p is exact.
        resamples: how many were made, or all there are; 0 for tests without.
        exact: whether p is the share among all possible ones.
        largest: of tests whose p-values are for all pairs together, the largest
            statistic of each resample, ascending.
        unit: what 1 of that statistic is as a difference of means, of each pair.
    """

    p_value: OfPairs
    error: OfPairs
    resamples: int = 0
    exact: bool = True
    largest: Float64[np.ndarray, " resamples"] | None = None
    unit: OfPairs | None = None


@dataclass(frozen=True)
class Decision:
    """P-values of pairs, what they are once corrected, and which are significant.

    Attributes:
        test: One of `choices.TESTS`.
        correction: `none` where there is nothing to correct.
        outcome: Outcome of the test.
        adjusted: Corrected p; below alpha, a pair is significant.
        significant: Whether each pair is significant.
        level: of each interval: 0 is outside exactly where p, uncorrected, is below.
            It is alpha; with `holm` alpha / pairs (Bonferroni), so that all intervals
            hold together, while Holm finds what they show and sometimes more; with
            `bh` alpha · significant / pairs, where 0 is outside exactly of significant
            pairs [Benjamini and Yekutieli 2005].
        simultaneous: whether all intervals hold together with chance 1 - alpha.
        least: the smallest p, corrected, that so many queries allow; 0 if there is no
            such limit.
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
    """Test pairs of runs, and decide which differ.

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
    """Choose the number of resamples, if the test makes any; arguments as of `decide`.

    Raises:
        UsageError: an argument is wrong, or no p of so many resamples can be
            significant once it is corrected.
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
    """Refuse arguments of resampling that make no sense, by a UsageError."""
    if resamples < 1 or seed < 0 or (precision is not None and not 0 < precision < 0.5):
        raise UsageError(
            f"resamples={resamples}, seed={seed}, precision={precision}: expected at "
            "least 1 resample, a seed from 0 and a precision between 0 and 0.5"
        )


def _correction(test: str, pairs: int, correction: str | None) -> str:
    """Choose the correction of p: none of one pair, or of tests for all pairs."""
    return "none" if test in FAMILY or pairs == 1 else correction or "holm"


def decision(
    outcome: Outcome | OfPairs,
    test: str,
    correction: str | None,
    alpha: float,
    least: Fraction = Fraction(0),
) -> Decision:
    """Correct p-values, and decide which pairs differ.

    Args:
        outcome: Outcome of the test, or exact p.
        test: One of `choices.TESTS`.
        correction: Correction as in `compare`.
        alpha: Level of the test.
        least: Smallest possible p, uncorrected.
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
    together = test in FAMILY or chosen == "holm" or count == 1
    least *= 1 if chosen == "none" else count
    decided = (adjusted, significant, level, together, least)
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
        pairs: to test, none twice; the family of "max-t", while "tukey" and "anova"
            look at all runs anyway.
        test: One of `TESTS`.
        resamples: `RESAMPLES` by default.
        seed: Seed of the random numbers, from 0.
        precision: resample until no Monte-Carlo standard error of a p is larger.
        memory: Bytes that intermediate results may take.
        progress: Function called with `(stage, done, total)`.
        journal: folder for what is counted, with which the same call goes on.

    Raises:
        UsageError: an argument is wrong. DataError: the journal is of another job.
    """
    check_choice("test", test, TESTS)
    if test not in RESAMPLES:
        plain = {"t": tests.t, "wilcoxon": tests.wilcoxon, "anova": tests.tukey}
        p = plain[test](values, pairs)
        return Outcome(p, np.zeros_like(p))
    count = RESAMPLES[test] if resamples is None else resamples
    check_resampling(count, seed, precision)
    queries = values.shape[1]
    same = tests.identical(values, pairs)  # of these p is 1
    exact = test == "permutation" and 2**queries <= max(count, 2**_ENUMERATED)
    statistic = _statistic(values, pairs, test, seed, memory_limit(memory), exact, same)
    saved = None
    if journal is not None:
        about = {"version": __version__, "test": test, "seed": seed, "exact": exact}
        saved = _opened(journal, about, statistic.scores, pairs)
    if not exact:
        return _sampled(statistic, same, count, precision, progress, saved)
    half = 2 ** (queries - 1)  # the other half mirrors these
    hits = _extended(statistic, np.zeros(len(same)), 0, half, progress, saved)
    p = np.where(same, 1.0, hits / half)
    return Outcome(p, np.zeros_like(p), 2**queries)


def _opened(
    journal: str | os.PathLike,
    about: dict[str, Any],
    scores: resample.WholeScores,
    pairs: RunPairs,
) -> Checkpoint:
    """Open the journal of a job, which depends on these scores and pairs."""
    arrays = (scores.values, *map(np.asarray, pairs))
    data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
    return Checkpoint(journal, about | {"scores": sha256(data).hexdigest()})


@dataclass(frozen=True)
class _Statistic:
    """Results of a test for a block of resamples.

    Attributes:
        scores: Scores of all runs.
        block: counts of pairs, or the largest statistic of each resample, of a block
            with this number and size, on a device.
        reach: of tests whose resamples have one statistic, the largest of all pairs:
            what it must be, of each pair.
        unit: what 1 of that statistic is as a difference of means, of each pair.
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
        count = _whole_blocks(count)  # which can be added to
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
    """Go on, block by block, until there are so many resamples.

    The first time, with what a journal has.

    Args:
        statistic: Statistic of the test.
        total: counts of pairs, or the one statistic of each resample, so far.
        done: resamples so far, in whole blocks.
        resamples: Number of resamples requested.
        progress: Function as in `run`.
        saved: where what is counted is kept.
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
