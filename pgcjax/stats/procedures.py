"""Tests of differences between runs, by name."""

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.errors import Progress, UsageError, check_choice
from pgcjax.io.memory import memory_limit
from pgcjax.stats import tests
from pgcjax.stats.choices import RESAMPLES, TESTS
from pgcjax.stats.tests import OfPairs, RunPairs, Values

if TYPE_CHECKING:
    from pgcjax.stats.sweep import Sweep

FAMILY = ("max-t", "tukey", "anova")
"""Tests whose p-values are for all pairs together already."""

_QUERIES, _RUNS = 15, 200  # from which, to which max-t was simulated
_EXACT = 16  # queries up to which all sign flips are enumerated


@dataclass(frozen=True)
class Outcome:
    """P-values of a test.

    Attributes:
        p_value: of each pair.
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


def check_resampling(resamples: int, seed: int, precision: float | None = None) -> None:
    """Refuse arguments of resampling that make no sense, by a UsageError."""
    if resamples < 1 or seed < 0 or (precision is not None and not 0 < precision < 0.5):
        raise UsageError(
            f"resamples={resamples}, seed={seed}, precision={precision}: expected at "
            "least 1 resample, a seed from 0 and a precision between 0 and 0.5"
        )


def p_values(
    values: Values, test: str, *, resamples: int = 1000, seed: int = 0
) -> OfPairs:
    """Test every pair of runs; arguments and errors are those of `run`.

    Returns:
        p of each pair, in the order of `np.triu_indices(runs, 1)`.
    """
    pairs = tests.all_pairs(len(values))
    return run(values, pairs, test, resamples=resamples, seed=seed).p_value


def told(test: str, correction: str, pairs: int, values: Values) -> list[str]:
    """Write in notes what p-values of a comparison depend on, and what is not known."""
    runs, queries = values.shape
    notes = []
    if pairs > 1 and (test in FAMILY or correction != "none"):
        notes.append(
            "p is for all pairs together: it depends on the runs that are compared"
        )
    if test == "max-t" and queries < _QUERIES:
        notes.append(
            f"fewer than {_QUERIES} queries: max-t finds little, and was simulated for "
            "10 runs alone"
        )
    if test == "max-t" and runs > _RUNS:
        notes.append(f"more than {_RUNS} runs: levels of max-t were not simulated")
    return notes


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
    save_every: float = 5.0,
) -> Outcome:
    """Test pairs of runs, two-sided.

    Args:
        values: finite scores of at least 2 runs and 2 queries.
        pairs: to test, none twice; the family of "max-t", while "tukey" and "anova"
            look at all runs anyway.
        test: one of `TESTS`.
        resamples: `RESAMPLES` by default.
        seed: of the random numbers, from 0.
        precision: resample until no Monte-Carlo standard error of a p is larger.
        memory: bytes that intermediate results may take.
        progress: called with `(stage, done, total)`.
        journal: folder for what is counted, with which the same call goes on.
        save_every: seconds between two states in the journal.

    Raises:
        UsageError: an argument is wrong. DataError: the journal is of another job.
    """
    check_choice("test", test, TESTS)
    if test not in RESAMPLES:
        plain = {"t": tests.t, "wilcoxon": tests.wilcoxon, "anova": tests.tukey}
        p = plain[test](values, pairs)
        return Outcome(p, np.zeros_like(p))
    wanted = RESAMPLES[test] if resamples is None else resamples
    check_resampling(wanted, seed, precision)
    options = {"seed": seed, "memory": memory_limit(memory), "progress": progress}
    options |= {"journal": journal, "save_every": save_every}
    return _resampled(values, pairs, test, wanted, precision, **options)


def _resampled(
    values: Values,
    pairs: RunPairs,
    test: str,
    wanted: int,
    precision: float | None,
    **options: Any,
) -> Outcome:
    """Test pairs of runs by resampling, as `run` says; `options` are those of Sweep."""
    from pgcjax.stats import max_t
    from pgcjax.stats.resample import WholeScores
    from pgcjax.stats.sweep import Sweep

    scores, queries = WholeScores.of(values), values.shape[1]
    same = tests.identical(values, pairs)  # of these p is 1
    exact = test == "permutation" and 2**queries <= max(wanted, 2**_EXACT)
    family = reach = unit = None
    if test == "max-t":
        family = max_t.Family.of(scores, pairs, same)
        reach, unit = max_t.observed(family, scores, pairs)
    elif test == "tukey":
        sums, unit = scores.values.sum(1), np.full(len(same), scores.unit / queries)
        reach = np.abs(sums[pairs[0]] - sums[pairs[1]]) - scores.slack
    sweep = Sweep(scores, pairs, test, exact, family, reach, **options)
    if exact:
        sweep.extend(2 ** (queries - 1))
        p = np.where(same, 1.0, sweep.counts() / sweep.done)
        return Outcome(p, np.zeros_like(p), 2**queries)
    p, error = _extended(sweep, same, wanted, precision)
    largest = None if reach is None else np.sort(sweep.total)
    return Outcome(p, error, sweep.done, False, largest, unit)


def _extended(
    sweep: "Sweep",
    same: Bool[np.ndarray, " pairs"],
    wanted: int,
    precision: float | None,
) -> tuple[OfPairs, OfPairs]:
    """Resample until p is precise enough: p of each pair, and its standard error."""
    from pgcjax.stats.resample import BLOCK

    if precision is not None:
        wanted = -(-wanted // BLOCK) * BLOCK  # whole blocks can be added to
    while True:
        sweep.extend(wanted)
        p = np.where(same, 1.0, (1 + sweep.counts()) / (1 + wanted))
        variance = p * (1 - p)
        if precision is None or variance.max(initial=0.0) / wanted <= precision**2:
            return p, np.sqrt(variance / wanted)
        needed = math.ceil(float(variance.max()) / precision**2)
        wanted = -(-max(needed, wanted + BLOCK) // BLOCK) * BLOCK
