"""Tests, intervals, effect sizes and groups of the differences between runs."""

import math
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from pgcjax._version import __version__
from pgcjax.errors import Progress, UsageError, check_choice, counted
from pgcjax.io.memory import memory_limit
from pgcjax.io.reading import reading
from pgcjax.stats import groups, intervals, procedures, tests
from pgcjax.stats.choices import CORRECTIONS, INTERVALS, RESAMPLES, TESTS
from pgcjax.stats.findings import Comparison
from pgcjax.stats.matrix import Matrix, read
from pgcjax.stats.procedures import Outcome
from pgcjax.stats.rectified import BothScores, of_both, read_human
from pgcjax.stats.rounding import exact
from pgcjax.stats.tests import OfPairs, RunPairs, Values

_DRAWN = ("percentile", "bca")
_INTERVAL = {"max-t": "max-t", "tukey": "hsd", "anova": "hsd"}
_INTERVAL |= {"bootstrap": "bca", "permutation": "bca"}
_SIMULTANEOUS = {
    "max-t": ("max-t",),
    "hsd": ("tukey", "anova"),
}  # the tests they are of


def compare(
    scores: Any,
    *,
    measure: str | None = None,
    test: str | None = None,
    baselines: str | Sequence[str] | None = None,
    correction: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    interval: str | None = None,
    missing: str = "error",
    rectify: Any = None,
    precision: float | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    journal: str | os.PathLike | None = None,
) -> Comparison:
    """Test which runs differ: all pairs, or all runs against baselines.

    Args:
        scores: what `stats.matrix.read` takes.
        measure: which one; needed if the scores are of several.
        test: one of `choices.TESTS`; by default "tukey", or "t" to `rectify`.
        baselines: runs that take the place of b; by default all pairs.
        correction: of p for many tests: `holm`, the default to `rectify`, `bh` or
            `none`; "max-t", "tukey" and "anova" need none.
        resamples: by default `choices.RESAMPLES`.
        seed: of the random numbers.
        alpha: level of the decisions, and 1 less that of the intervals.
        interval: `t`, `percentile` or `bca` (of the bootstrap; `resamples`, else 1000
            to 10,000, as many as of the test), or simultaneous ones, the default of
            their tests: `max-t`, `hsd` of "tukey" and "anova". Corrections widen none.
        missing: what a query that some runs lack does: `error`, `drop` or `zero`.
        rectify: scores by people of some of the queries, if `scores` are by a model:
            all findings are of human scores then; see `stats.rectified`.
        precision: resample until no Monte-Carlo standard error of a p is larger.
        memory: bytes that intermediate results may take, or a size such as `2GB`.
        progress: called with `(stage, done, total)`.
        journal: folder for what is counted, with which the same call goes on.

    Raises:
        DataError: the scores cannot be compared. UsageError: an argument is wrong.
    """
    with reading(memory=memory):
        matrix = read(scores, measure=measure, missing=missing)
    test = test or ("tukey" if rectify is None else "t")
    correction = correction or ("none" if rectify is None else "holm")
    interval = interval or _INTERVAL.get(test, "t")
    if rectify is not None:
        _check_rectified(test, interval)
    _check(test, correction, interval, alpha, resamples, seed)
    names = [baselines] if isinstance(baselines, str) else list(baselines or [])
    pairs = _pairs(matrix, names)
    values = matrix.values
    both, notes, used = None, matrix.notes, {}
    if rectify is not None:
        human = read_human(rectify, matrix, missing)
        human, said = of_both(human, matrix, missing)
        both, notes = BothScores.of(human, matrix), (*notes, *said)
        used = {"human_queries": both.queries, "human_scores": _mark(human.values)}
        estimate = both.differences(pairs)
        outcome = Outcome(estimate.p_values(), np.zeros(len(pairs[0])))
        mean, effect = estimate.mean, estimate.effect_size()
        same, drawn = both.identical(pairs), 0
        bounds, beside = estimate.interval(alpha), estimate.columns(alpha)
    else:
        outcome = procedures.run(
            values,
            pairs,
            test,
            resamples=resamples,
            seed=seed,
            precision=precision,
            memory=memory,
            progress=progress,
            journal=journal,
        )
        mean, deviation = tests.moments(values, pairs)
        same, drawn = (
            tests.identical(values, pairs),
            _drawn(outcome, interval, resamples),
        )
        bounds = _bounds(values, pairs, outcome, interval, drawn, alpha, seed, memory)
        beside = {}
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(same | (mean == 0), 0.0, mean / deviation)
    adjusted = tests.adjust(outcome.p_value, correction)
    ids = np.array(matrix.run_ids, object)
    table = pd.DataFrame(
        {
            "run_a": pd.Series(ids[pairs[0]], dtype="str"),
            "run_b": pd.Series(ids[pairs[1]], dtype="str"),
            "difference": mean,
            "low": bounds[0],
            "high": bounds[1],
            "effect_size": effect,
            "p_value": outcome.p_value,
            "p_adjusted": adjusted,
            "significant": adjusted < alpha,
            "identical": same,
            "p_error": outcome.error,
            **beside,
        }
    )
    different = np.zeros((len(values), len(values)), bool)
    different[pairs] = different[pairs[::-1]] = adjusted < alpha
    metadata = {
        "version": __version__,
        "measure": matrix.measure,
        "test": test,
        "correction": correction,
        "alpha": alpha,
        "interval": interval,
        "interval_resamples": drawn,
        "resamples": outcome.resamples,
        "exact": outcome.exact,
        "seed": seed,
        "missing": missing,
        "baselines": names,
        "runs": len(values),
        "queries": values.shape[1],
        "scores": _mark(values),
        **used,
    }
    notes = (*notes, *_notes(values, table, outcome, test, correction, alpha))
    if both:
        notes = (*notes, _told(both, table))
    # Ranks and tiers hold together only if no pair is wrong, but with chance alpha.
    together = not names and (
        test in procedures.FAMILY or correction == "holm" or len(table) == 1
    )
    runs = _runs(matrix, both, None if names else different, together, alpha)
    return Comparison(table, runs, metadata, notes)


def _mark(values: Values) -> str:
    return sha256(values.tobytes()).hexdigest()[:16]


def _check(
    test: str,
    correction: str,
    interval: str,
    alpha: float,
    resamples: int | None,
    seed: int,
) -> None:
    check_choice("test", test, TESTS)
    check_choice("correction", correction, CORRECTIONS)
    check_choice("interval", interval, INTERVALS)
    tests.check_alpha(alpha)
    family = test in procedures.FAMILY
    if family and correction != "none":
        raise UsageError(f"test {test!r} is for all pairs at once: correct it by none")
    if test not in _SIMULTANEOUS.get(interval, (test,)):
        of = " and ".join(_SIMULTANEOUS[interval])
        raise UsageError(f"interval {interval!r} is of {of}")
    asked = max(0, resamples or 0)  # what is below 1, the test refuses
    if test in RESAMPLES and asked and 1 / (1 + asked) >= alpha:
        raise UsageError(
            f"resamples={resamples}: no p can be below {alpha}; at least "
            f"{math.floor(1 / exact(alpha))} are needed"
        )
    if interval in _DRAWN and test not in RESAMPLES:
        procedures.check_resampling(1 if resamples is None else resamples, seed)


def _check_rectified(test: str, interval: str) -> None:
    for name, value in (("test", test), ("interval", interval)):
        if value != "t":
            raise UsageError(f"rectify goes with {name} 't' alone, not {value!r}")


def _pairs(matrix: Matrix, baselines: list[str]) -> RunPairs:
    if not baselines:
        return tests.all_pairs(len(matrix.run_ids))
    place = {name: i for i, name in enumerate(matrix.run_ids)}
    unknown = [name for name in baselines if name not in place]
    if unknown:
        first = ", ".join(matrix.run_ids[:5])
        raise UsageError(f"baseline {unknown[0]!r} is no run; there are {first}, …")
    base = [place[name] for name in dict.fromkeys(baselines)]
    pairs = [
        (run, b)
        for k, b in enumerate(base)
        for run in range(len(place))
        if run not in base[: k + 1]  # two baselines meet once
    ]
    a, b = np.array(pairs).T
    return a, b


def _drawn(outcome: Outcome, interval: str, resamples: int | None) -> int:
    """Tell how many resamples the intervals are made of; 0 if of none."""
    if interval in _DRAWN:
        if resamples is not None:
            return resamples
        return max(1000, min(outcome.resamples, 10_000))
    return outcome.resamples if interval in _SIMULTANEOUS else 0


def _bounds(
    values: Values,
    pairs: RunPairs,
    outcome: Outcome,
    interval: str,
    resamples: int,
    alpha: float,
    seed: int,
    memory: str | int | None,
) -> tuple[OfPairs, OfPairs]:
    """Give the low and the high end of the interval of each difference."""
    mean, deviation = tests.moments(values, pairs)
    if interval == "t":
        return intervals.student(mean, deviation, values.shape[1], alpha)
    if interval in _SIMULTANEOUS:
        if outcome.largest is None or outcome.unit is None:
            half = tests.critical_difference(values, alpha)
        else:
            half = intervals.critical_value(outcome.largest, alpha) * outcome.unit
        # Of identical runs, the mean may be what rounding makes of 0.
        half = np.where(
            tests.identical(values, pairs), np.maximum(half, abs(mean)), half
        )
        return mean - half, mean + half
    return intervals.bootstrap(
        values,
        pairs,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        corrected=interval == "bca",
        budget=min(2**24, memory_limit(memory) // 8),
    )


def _runs(
    matrix: Matrix,
    both: BothScores | None,
    different: Bool[np.ndarray, "runs runs"] | None,
    together: bool,
    alpha: float,
) -> pd.DataFrame:
    values, beside = matrix.values, {}
    if both is None:
        mean, queries = values.mean(1), values.shape[1]
        low, high = intervals.student(mean, values.std(1, ddof=1), queries, alpha)
    else:
        found = both.means()
        mean, (low, high) = found.mean, found.interval(alpha)
        beside = found.columns(alpha)
    letters = "" if different is None else groups.letters(different, mean)
    return pd.DataFrame(
        {
            "run_id": pd.Series(matrix.run_ids, dtype="str"),
            "mean": mean,
            "low": low,
            "high": high,
            "rank": np.searchsorted(np.sort(-mean), -mean) + 1,
            **groups.columns(different if together else None, mean),
            "groups": pd.Series(letters, range(len(mean)), dtype="str"),
            **beside,
        }
    )


def _told(both: BothScores, table: pd.DataFrame) -> str:
    power, width = (table[name].median() for name in ("lambda", "width_ratio"))
    return (
        f"human scores of {both.queries} of {both.model.shape[1]} queries; medians "
        f"over pairs: λ {power:.2f}, intervals {width:.2f} as wide as by them alone"
    )


def _notes(
    values: Values,
    table: pd.DataFrame,
    outcome: Outcome,
    test: str,
    correction: str,
    alpha: float,
) -> list[str]:
    runs, queries = values.shape
    notes = [
        f"{counted(runs, 'run')}, {queries} queries: {counted(len(table), 'pair')}, "
        f"{int(table.significant.sum())} significant at {alpha:g}"
    ]
    notes += procedures.told(test, correction, len(table), values)
    if table.identical.any():
        notes.append(f"{counted(int(table.identical.sum()), 'pair')} identical: p = 1")
    if test == "anova":
        _, freedom, f, p = tests.anova(values)
        notes.append(f"two-way ANOVA: F({runs - 1}, {freedom}) = {f:.4g}, p = {p:.4g}")
    if outcome.resamples and outcome.exact:
        notes.append(f"exact: all {outcome.resamples} sign flips")
    near = (table.p_value - alpha).abs() < 2 * table.p_error
    if near.any() and (table.p_value == table.p_adjusted).all():
        notes.append(
            f"{counted(int(near.sum()), 'pair')} within 2 Monte-Carlo standard errors "
            f"of {alpha:g}: more resamples may decide otherwise"
        )
    return notes
