"""Tests, intervals, effect sizes and groups of the differences between runs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple, Never

import numpy as np
import pandas as pd

from pgcjax._version import __version__
from pgcjax.errors import (
    Progress,
    UsageError,
    check_choice,
    counted,
    listed,
    refuse_arguments,
)
from pgcjax.io.reading import reading
from pgcjax.io.result import names_at
from pgcjax.judging.rank_ranges import rank_columns
from pgcjax.later import stats
from pgcjax.stats import groups, intervals, procedures, rank_sets, tests
from pgcjax.stats.choices import RANKS
from pgcjax.stats.findings import Comparison, tested
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.procedures import FAMILY, Decision
from pgcjax.stats.rectified import BothScores, of_both, read_human
from pgcjax.stats.structure import STRUCTURES, Repeats, arranged, borda
from pgcjax.stats.tests import RunPairs, Values

_QUERIES, _RUNS = 15, 200  # least and most for which max-t was simulated
_INTERVAL = {
    "max-t": "max-t",
    "tukey": "hsd",
    "anova": "hsd",
    "bootstrap": "bootstrap-t",
    "permutation": "sign flips",
    "t": "t",
    "wilcoxon": "signed ranks, of the pseudo-median",
}
_SIMULATED = {"rectify": "t", "system": "t", "cluster": "max-t", "collections": "max-t"}
_INSTEAD = {
    "baseline": "give baselines=…, one name or several",
    "measures": "give measure=…, one name",
    "interval": "intervals are those of the test, so that they agree with p",
}


def compare(  # noqa: D417 - others are refused
    scores: Any,
    *,
    measure: str | None = None,
    test: str | None = None,
    baselines: str | Sequence[str] | None = None,
    correction: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    missing: str = "error",
    rectify: Any = None,
    cluster: Any = None,
    system: Any = None,
    collections: Any = None,
    ranks: str = RANKS[0],
    precision: float | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    journal: str | os.PathLike | None = None,
    **others: Never,
) -> Comparison:
    """Test which runs differ: all pairs, or all runs against baselines.

    Args:
        scores: Scores in any form that `stats.matrix.read` takes.
        measure: Measure to compare; required if there are scores by several.
        test: Test of `choices.TESTS`; by default max-t, or t for rectify and system.
        baselines: Runs to compare all runs with, as run b; by default all pairs.
        correction: Correction of p: `holm`, `bh` or `none`; by default `none` for tests
            of all pairs at once, else `holm`. Intervals: see `procedures.Decision`.
        resamples: By default `choices.RESAMPLES`, or more if the correction needs them.
        seed: Seed of the random numbers.
        alpha: Level of the decisions; the intervals have the level 1 - alpha.
        missing: Treatment of a query that some runs lack: `error`, `drop` or `zero`.
        rectify: Scores by people for some queries; all findings then estimate these.
        cluster: Groups of dependent queries, in a form that `structure.grouped` takes.
        system: Groups of runs that repeat one system, likewise; repeats are a sample.
        collections: Groups of queries, likewise; or True for `{collection: scores}`.
        ranks: `pairs`, or the narrower `windows` of `rank_sets` (max-t or rectify).
        precision: Largest Monte-Carlo standard error of a p; resampling goes on to it.
        memory: Bytes for intermediate results, or a size such as `2GB`.
        progress: Function called with `(stage, done, total)`.
        journal: Folder for counts, from which the same call resumes.

    Raises:
        DataError: the scores cannot be compared. UsageError: an argument is wrong.
    """
    given = dict(rectify=rectify, cluster=cluster, system=system)
    given["collections"] = collections
    test = _checked_test(measure, test, others, given, ranks, base := _names(baselines))
    with reading(memory=memory):
        structured = {name: given[name] for name in STRUCTURES}
        matrix, repeats, structure = arranged(scores, measure, missing, structured)
    pairs = _pairs(matrix, base)
    sampling = dict(correction=correction, resamples=resamples, alpha=alpha, seed=seed)
    work = dict(precision=precision, progress=progress, journal=journal, memory=memory)
    if rectify is None:
        differences = _tested(matrix, pairs, test, sampling, work, repeats)
    else:
        differences = _rectified(matrix, pairs, rectify, missing, sampling)
    structure |= {"missing": missing, "baselines": base, "ranks": ranks}
    result = _comparison(matrix, pairs, differences, sampling | structure)
    return _with_components(result, structure["components"]) if repeats else result


def _checked_test(
    measure: Any,
    test: str | None,
    others: Mapping[str, Any],
    given: Mapping[str, Any],
    ranks: str,
    baselines: Sequence[str],
) -> str:
    """Refuse arguments that exclude each other, and choose the test."""
    if not (measure is None or isinstance(measure, str)):
        raise UsageError(
            f"measure={measure!r}: compare takes one measure. For several, call it "
            "once for each: {m: compare(scores, measure=m) for m in measures}"
        )
    refuse_arguments("compare", others, _INSTEAD)
    named = [name for name, value in given.items() if value is not None]
    if named[1:] and ("rectify" in named or "collections" in named):
        raise UsageError(f"{named[0]} does not go with {named[-1]}")
    test = test or ("t" if {"rectify", "system"} & {*named} else "max-t")
    for name in named:
        if test != (held := _SIMULATED[name]):
            raise UsageError(f"{name} goes with test {held!r} alone, not {test!r}")
    check_choice("ranks", ranks, RANKS)
    windows = test == "max-t" or "rectify" in named
    if ranks != RANKS[0] and (not windows or baselines):
        raise UsageError(f"ranks={ranks!r} compare all pairs, by test 'max-t' alone")
    return test


def _names(baselines: Any) -> list[str]:
    """List the baselines from one name, or from several, such as a Series."""
    if baselines is None or isinstance(baselines, str):
        return [baselines] if baselines else []
    names = list(baselines) if isinstance(baselines, Iterable) else [baselines]
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"baselines: expected names of runs, found {name!r}")
    return names


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
        if run not in base[: k + 1]  # two baselines are one pair
    ]
    a, b = np.array(pairs).T
    return a, b


class _PairDifferences(NamedTuple):
    """Differences of pairs of runs, and the means of runs.

    Attributes:
        made: Decision on which pairs are significant.
        of_pairs: Columns difference, low, high, effect_size and identical.
        of_runs: Columns mean, low and high.
        more: Additional columns of pairs and of runs; and both kinds of scores if human
            scores rectified a model's.
        notes: Notes on the differences.
    """

    made: Decision
    of_pairs: dict[str, np.ndarray]
    of_runs: dict[str, np.ndarray]
    more: tuple[Mapping, Mapping, BothScores | None] = ({}, {}, None)
    notes: Sequence[str] = ()


def _tested(
    matrix: Matrix,
    pairs: RunPairs,
    test: str,
    sampling: dict[str, Any],
    effort: dict[str, Any],
    repeats: Repeats | None,
) -> _PairDifferences:
    """Test the differences of scores of all queries."""
    values = matrix.values
    made = procedures.decide(values, pairs, test, **sampling, **effort)
    mean, deviation = tests.moments(values, pairs)
    same = tests.identical(values, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(same | (mean == 0), 0.0, mean / deviation)
    moments = mean, deviation, same
    low, high = _bounds(values, pairs, made, moments, sampling["seed"])
    of_pairs = {"difference": mean, "low": low, "high": high}
    means, queries = values.mean(1), values.shape[1]
    spread, alpha = values.std(1, ddof=1), sampling["alpha"]
    low, high = intervals.student(means, spread, queries, alpha)
    of_runs = {"mean": means, "low": low, "high": high}
    of_pairs |= {"effect_size": effect, "identical": same}
    differences = _PairDifferences(made, of_pairs, of_runs)
    return (
        _repeated(matrix, pairs, repeats, differences, alpha)
        if repeats
        else differences
    )


def _repeated(
    matrix: Matrix,
    pairs: RunPairs,
    repeats: Repeats,
    differences: _PairDifferences,
    alpha: float,
) -> _PairDifferences:
    """Test differences of systems again, with their repeats as a sample, too."""
    of_pairs, of_runs = differences[1:3]
    (systems, queries), mean = matrix.values.shape, of_pairs["difference"]
    p, error, freedom = repeats.test(matrix.values, pairs)
    made = procedures.decision(p, "t", differences.made.correction, alpha)
    half = stats.t.isf(float(made.level) / 2, freedom) * error
    of_pairs |= {"low": mean - half, "high": mean + half}
    spread = matrix.values.std(1, ddof=1)
    error, freedom = repeats.error(spread, queries, np.arange(systems))
    half, mean = stats.t.isf(alpha / 2, freedom) * error, of_runs["mean"]
    of_runs |= {"low": mean - half, "high": mean + half}
    columns = {"repeats": repeats.count.astype(int), "repeat_sd": repeats.deviation}
    single = [matrix.run_ids[i] for i in np.flatnonzero(repeats.count == 1)]
    notes = ["with one run, and so treated as deterministic: " + listed(single)]
    more = {}, columns | {"query_sd": spread}, None
    return _PairDifferences(made, of_pairs, of_runs, more, notes if single else ())


def _rectified(
    matrix: Matrix,
    pairs: RunPairs,
    rectify: Any,
    missing: str,
    sampling: dict[str, Any],
) -> _PairDifferences:
    """Test the differences of human scores, estimated with a model's scores."""
    procedures.check_decision(matrix.values.shape[1], len(pairs[0]), "t", **sampling)
    human, notes = of_both(read_human(rectify, matrix, missing), matrix, missing)
    both = BothScores.of(human, matrix)
    estimate, means = both.differences(pairs), both.means()
    alpha = sampling["alpha"]
    made = procedures.decision(estimate.p_values(), "t", sampling["correction"], alpha)
    low, high = estimate.interval(float(made.level))
    of_pairs = {"difference": estimate.mean, "low": low, "high": high}
    of_pairs["effect_size"] = estimate.effect_size()
    of_pairs["identical"] = both.identical(pairs)
    low, high = means.interval(alpha)
    of_runs = {"mean": means.mean, "low": low, "high": high}
    more = estimate.columns(alpha), means.columns(alpha), both
    return _PairDifferences(made, of_pairs, of_runs, more, notes)


def _bounds(
    values: Values,
    pairs: RunPairs,
    made: Decision,
    of_pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    seed: int,
) -> intervals.Ends:
    """Compute the interval of each difference: 0 is outside exactly if p < level.

    Args:
        values: Scores.
        pairs: Pairs of runs.
        made: Decision on which pairs are significant.
        of_pairs: Mean and deviation of each pair's differences; whether runs are equal.
        seed: Seed, as in `compare`.
    """
    outcome, level, test = made.outcome, made.level, made.test
    mean, deviation, same = of_pairs
    if test in FAMILY:
        if outcome.largest is None or outcome.unit is None:
            half = tests.critical_difference(values, float(level))
        else:
            critical = intervals.critical_value(outcome.largest, level)
            half = critical * outcome.unit
        # Rounding may give identical runs a mean difference beside 0.
        half = np.where(same, np.maximum(half, abs(mean)), half)
        return mean - half, mean + half
    options: dict[str, Any] = {"resamples": outcome.resamples, "seed": seed}
    options["level"] = level
    if test == "bootstrap":
        ends = intervals.bootstrap_t(values, pairs, **options)
    elif test == "permutation":
        ends = intervals.sign_flips(values, pairs, exact=outcome.exact, **options)
    elif test == "wilcoxon":
        ends = intervals.wilcoxon(values, pairs, outcome.p_value, level)
    else:
        ends = intervals.student(mean, deviation, values.shape[1], float(level))
    return intervals.agreeing(*ends, outcome.p_value, level)


def _comparison(
    matrix: Matrix,
    pairs: RunPairs,
    differences: _PairDifferences,
    settings: Mapping[str, Any],
) -> Comparison:
    """Lay out findings: a row for each pair, a row for each run, and notes."""
    made, values = differences.made, matrix.values
    more_of_pairs, more_of_runs, both = differences.more
    of_pairs = dict(differences.of_pairs)
    identical = of_pairs.pop("identical")
    table = pd.DataFrame(
        {
            "run_a": names_at(matrix.run_ids, pairs[0]),
            "run_b": names_at(matrix.run_ids, pairs[1]),
            **of_pairs,
            "p_value": made.outcome.p_value,
            "p_adjusted": made.adjusted,
            "significant": made.significant,
            "identical": identical,
            "p_error": made.outcome.error,
            **more_of_pairs,
        }
    )
    metadata = _metadata(matrix, made, len(table), settings)
    structure = ("queries", "clusters", "repeats")
    metadata |= {name: settings[name] for name in structure if name in settings}
    if (of_collections := settings.get("collections")) is not None:
        metadata["collections"] = of_collections.shape[1]
        more_of_runs = {**more_of_runs, "borda": borda(of_collections)}
    if both:
        metadata["human_queries"] = both.queries
        metadata["human_scores"] = _mark(both.human)
    notes = [*matrix.notes, *differences.notes]
    notes += _notes(values, table, made, metadata)
    if both:
        power, width = (table[name].median() for name in ("lambda", "width_ratio"))
        notes.append(
            f"human scores of {both.queries} of {both.model.shape[1]} queries; "
            f"medians over pairs: λ {power:.2f}, intervals {width:.2f} as wide as by "
            "human scores alone"
        )
    means, different, letters = differences.of_runs["mean"], None, ""
    if not settings["baselines"]:
        different = np.zeros((len(values), len(values)), bool)
        different[pairs] = different[pairs[::-1]] = made.significant
        letters = groups.letters(different, means)
    runs = pd.DataFrame(
        {
            "run_id": pd.Series(matrix.run_ids, dtype="str"),
            **differences.of_runs,
            "rank": np.searchsorted(np.sort(-means), -means) + 1,
            **rank_columns(_ordered(values, differences, different, settings), means),
            "groups": pd.Series(letters, range(len(means)), dtype="str"),
            **more_of_runs,
        }
    )
    return Comparison(table, metadata, tuple(notes), runs=runs)


def _with_components(comparison: Comparison, components: pd.DataFrame) -> Comparison:
    """Add variance components to findings on systems."""
    deviations = components.set_index("component")["deviation"]
    text = ", ".join(f"{name} {value:.4f}" for name, value in deviations.items())
    note = f"standard deviations of scores by source: {text}"
    variances = dict(zip(components["component"], components["variance"], strict=True))
    metadata = comparison.metadata | {"variance_components": variances}
    notes = *comparison.notes, note
    return replace(comparison, metadata=metadata, notes=notes, components=components)


def _ordered(
    values: Values,
    differences: _PairDifferences,
    different: groups.Different | None,
    settings: Mapping[str, Any],
) -> groups.Different | None:
    """Find the pairs whose order bounds ranks; None if they do not hold together."""
    made, both = differences.made, differences.more[2]
    if both and settings["ranks"] != RANKS[0]:
        values, strata = both.with_one_power()
        draws = rank_sets.most_resamples(len(values)), settings["seed"], None, strata
        return rank_sets.significant_pairs(values, settings["alpha"], *draws)
    if different is None or not made.simultaneous or settings["ranks"] == RANKS[0]:
        return different if made.simultaneous else None
    if len(values) > rank_sets.MANY:
        resamples = rank_sets.most_resamples(len(values))
    else:
        resamples = made.outcome.resamples
    alpha, seed = settings["alpha"], settings["seed"]
    return different | rank_sets.significant_pairs(values, alpha, resamples, seed)


def _metadata(
    matrix: Matrix, made: Decision, pairs: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """List the settings and the data on which the findings depend."""
    runs, queries = matrix.values.shape
    all_pairs = made.test in ("tukey", "anova")
    return {
        "version": __version__,
        "measure": matrix.measure,
        "test": made.test,
        "correction": made.correction,
        "comparisons": runs * (runs - 1) // 2 if all_pairs else pairs,
        "alpha": settings["alpha"],
        "interval": _INTERVAL[made.test],
        "interval_level": float(1 - made.level),
        "simultaneous": made.simultaneous,
        "resamples": made.outcome.resamples,
        "exact": made.outcome.exact,
        "seed": settings["seed"],
        "missing": settings["missing"],
        "baselines": settings["baselines"],
        "runs": runs,
        "queries": queries,
        "scores": _mark(matrix.values),
    }


def _mark(values: Values) -> str:
    return sha256(values.tobytes()).hexdigest()[:16]


def _notes(
    values: Values, table: pd.DataFrame, made: Decision, metadata: dict[str, Any]
) -> list[str]:
    """Write notes on the results, their conditions and their limits."""
    (runs, queries), outcome, alpha = values.shape, made.outcome, metadata["alpha"]
    noun = "cluster" if "clusters" in metadata else "query"
    significant, corrected = int(made.significant.sum()), made.correction != "none"
    notes = [
        f"{counted(runs, 'run')}: {significant} of {counted(len(table), 'pair')} "
        f"differ significantly ({tested(metadata)})"
    ]
    if "collections" in metadata:
        notes.append(
            f"means over {metadata['collections']} collections, whose queries are "
            "resampled: the results do not extend to other collections"
        )
    if len(table) > 1 and (made.test in FAMILY or corrected):
        notes.append(
            "p is for all pairs together: it depends on the runs that are compared"
        )
    if made.test == "max-t" and queries < _QUERIES:
        notes.append(
            f"fewer than {counted(_QUERIES, noun)}: max-t has little power, and was "
            "simulated for 10 runs only"
        )
    if made.test == "max-t" and runs > _RUNS:
        notes.append(f"more than {_RUNS} runs: levels of max-t were not simulated")
    if table.identical.any():
        notes.append(f"{counted(int(table.identical.sum()), 'pair')} identical: p = 1")
    if made.test == "anova":
        _, freedom, f, p = tests.anova(values)
        notes.append(f"two-way ANOVA: F({runs - 1}, {freedom}) = {f:.4g}, p = {p:.4g}")
    if outcome.resamples and outcome.exact:
        notes.append(f"exact: all {outcome.resamples} sign flips")
    least = float(made.least)
    if not significant and least >= alpha:
        notes.append(
            f"no pair could be significant: with {counted(queries, noun)} the "
            f"smallest p of {made.test} is "
            f"{least:.4g}{', once corrected' if corrected else ''}; test max-t and t "
            "have no such limit"
        )
    held = made.significant & (table.low <= 0) & (table.high >= 0)
    if held.any():
        notes.append(
            f"{counted(int(held.sum()), 'significant pair')} with 0 in the interval: "
            "intervals are simultaneous (Bonferroni), and Holm's correction finds more"
        )
    near = (table.p_value - alpha).abs() < 2 * table.p_error
    if near.any() and (table.p_value == table.p_adjusted).all():
        notes.append(
            f"{counted(int(near.sum()), 'pair')} within 2 Monte-Carlo standard errors "
            f"of {alpha:g}: more resamples may change the decision"
        )
    return notes
