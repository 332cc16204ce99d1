"""Discriminative power of measures, and how often each is right where two disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from pgcjax.errors import Progress, UsageError
from pgcjax.io.result import Result, computed
from pgcjax.stats.agreement import preferred
from pgcjax.stats.aligned import align, by_measure, measure_names
from pgcjax.stats.findings import tested
from pgcjax.stats.matrix import check_measures
from pgcjax.stats.procedures import decide
from pgcjax.stats.tests import all_pairs, check_alpha

Counts = Int64[np.ndarray, "measures measures"]


@dataclass(frozen=True, kw_only=True)
class Discrimination(Result):
    """Tests of all pairs of runs, by several measures.

    Attributes:
        pairs: A row for each test, measure and pair: test, measure, run_a, run_b,
            difference (mean of a less mean of b), p_value, p_adjusted, significant.
        metadata: alpha, resamples, seed and the treatment of missing queries; the
            correction of each test, the number of queries of each measure, and
            the number of comparisons.
        table: Discriminative power, a row for each test and measure: test, measure,
            significant, pairs, power (a share), correction, queries.
    """

    pairs: pd.DataFrame
    table: pd.DataFrame = computed(lambda self: self._power())
    _sorted_by: ClassVar = {"power": False}

    def _power(self) -> pd.DataFrame:
        significant = self._groups()["significant"]
        table = significant.agg(significant="sum", pairs="size").reset_index()
        return table.assign(
            power=table["significant"] / table["pairs"],
            correction=table["test"].map(self.metadata["correction"]),
            queries=table["measure"].map(self.metadata["queries"]),
        )

    def tested(self, test: str | None = None) -> str:
        """Name the tests and the settings of their p, as `findings.tested` does."""
        names = [*dict.fromkeys(self.pairs["test"])] if test is None else [test]
        corrections = self.metadata["correction"]
        settings = self.metadata | {"queries": list(self.metadata["queries"].values())}
        each = (
            tested(settings | {"test": name, "correction": corrections[name]})
            for name in names
        )
        return "; ".join(each)

    def curves(self) -> pd.DataFrame:
        """ASL curves: test, measure, position (from 1), p_adjusted, largest first.

        Achieved significance levels (ASL) of better measures fall sooner [Sakai 2012,
        Figure 8].
        """
        parts = []
        for (test, measure), rows in self._groups():
            values = np.sort(rows["p_adjusted"])[::-1]
            where = {"test": test, "measure": measure}
            place = np.arange(1, len(values) + 1)
            curve = {**where, "position": place, "p_adjusted": values}
            parts.append(pd.DataFrame(curve))
        return pd.concat(parts, ignore_index=True)

    def overlaps(self) -> pd.DataFrame:
        """Count the significant pairs that two tests or measures have in common.

        A row for any two combinations of test and measure: test_a, measure_a, test_b,
        measure_b, only_a, both, only_b.

        Source: Sakai 2012, Table 4.
        """
        by = {key: rows["significant"].to_numpy() for key, rows in self._groups()}
        rows = []
        for (one, a), (other, b) in combinations(by.items(), 2):
            both = int((a & b).sum())
            rows.append((*one, *other, int(a.sum()) - both, both, int(b.sum()) - both))
        names = ["test_a", "measure_a", "test_b", "measure_b"]
        return pd.DataFrame(rows, columns=[*names, "only_a", "both", "only_b"])

    def _groups(self) -> Any:
        return self.pairs.groupby(["test", "measure"], sort=False)


def discriminate(
    scores: Any,
    measures: Sequence[str] | None = None,
    test: str | Sequence[str] = "max-t",
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    missing: str = "own",
    correction: str | None = None,
    progress: Progress | None = None,
) -> Discrimination:
    """Test all pairs of runs by each measure: how many differences are significant?

    Args:
        scores: A score table, or a dict with a table for each measure.
        measures: Names of measures; None takes all.
        test: One or several tests of `compare`, which finds the same.
        alpha: Significance level; a pair with p_adjusted < alpha is significant.
        resamples: Number of resamples, as in `compare`.
        seed: Seed of the resamples.
        missing: `own` takes each measure on all of its queries, as `compare` does, and
            refuses a query that some runs lack; `shared` leaves out queries that any
            measure lacks; `drop` leaves out both, `zero` counts both as 0, `error`
            refuses both.
        correction: Correction of p for many pairs, as in `compare`.
        progress: Function called with `("measures", done, total)`.

    Source: Sakai 2012, 4.1, where p is not corrected.

    Raises:
        UsageError: an unknown measure, test or policy, or alpha not between 0 and 1.
        DataError: a score is missing or there twice, or there is one run only.
    """
    check_alpha(alpha)
    one, notes = by_measure(scores, measures, missing)
    tests = [test] if isinstance(test, str) else list(dict.fromkeys(test))
    if not tests:
        raise UsageError("name a test")
    options: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": seed}
    corrections, queries, parts = {}, {}, []
    for name in tests:
        for measure, matrix in one.items():
            values, runs = matrix.values, np.array(matrix.run_ids, object)
            first, second = pairs = all_pairs(len(runs))
            made = decide(values, pairs, name, correction=correction, **options)
            means = values.mean(axis=1)
            columns = {"run_a": runs[first], "run_b": runs[second]}
            columns["difference"] = means[first] - means[second]
            columns |= {"p_value": made.outcome.p_value, "p_adjusted": made.adjusted}
            columns["significant"] = made.significant
            parts.append(pd.DataFrame({"test": name, "measure": measure, **columns}))
            corrections[name], queries[measure] = made.correction, values.shape[1]
            if progress:
                progress("measures", len(parts), len(tests) * len(one))
    settings = {**options, "missing": missing, "correction": corrections}
    settings |= {"queries": queries, "comparisons": len(parts[0])}
    return Discrimination(settings, notes, pairs=pd.concat(parts, ignore_index=True))


def sensitivity(
    scores: Any,
    measures: Sequence[str] | None = None,
    alpha: float = 0.05,
    missing: str = "shared",
) -> pd.DataFrame:
    """Share the pairs of runs whose paired t-test has p < alpha [Luo 2021, chapter 4].

    The p is not corrected for the number of pairs.

    Returns:
        Columns measure, significant, pairs, sensitivity. Arguments and errors are those
        of `discriminate`.
    """
    options: dict[str, Any] = {"missing": missing, "correction": "none"}
    table = discriminate(scores, measures, "t", alpha, **options).table
    names = ["measure", "significant", "pairs", "power"]
    return table[names].rename(columns={"power": "sensitivity"})


def concordance(
    values: Float64[np.ndarray, "measures runs queries"],
    gold: Float64[np.ndarray, "golds runs queries"],
) -> tuple[Counts, Counts]:
    """Count where measures disagree about two runs on a query, and which one is right.

    A measure is right if no gold measure prefers the other run, so it is also right
    where the gold measures tie.

    Returns:
        Numbers of disagreements, symmetric; and, in row i and column j, the number of
        disagreements of measures i and j in which i is right.

    Source: Sakai 2012, Figure 6 and the end of 4.2.
    """
    disagreements, correct = np.zeros((2, len(values), len(values)))
    a, b = all_pairs(values.shape[1])
    for query in range(values.shape[2]):  # so that memory suffices for many runs
        sign = preferred(values[:, a, query], values[:, b, query])
        truth = preferred(gold[:, a, query], gold[:, b, query])
        better, worse = (sign > 0).astype(float), (sign < 0).astype(float)
        disagreements += better @ worse.T + worse @ better.T
        better *= (truth >= 0).all(axis=0)
        worse *= (truth <= 0).all(axis=0)
        correct += better @ (sign < 0).T + worse @ (sign > 0).T
    return disagreements.astype(np.int64), correct.astype(np.int64)


def intuitiveness(
    scores: Any,
    gold: str | Sequence[str],
    measures: Sequence[str] | None = None,
    missing: str = "shared",
) -> pd.DataFrame:
    """Compare how often two measures are right where they disagree [Sakai 2012, 4.2].

    Args:
        scores: A score table, or a dict with a table for each measure.
        gold: Measure that is right by definition, or several, with all of which a right
            measure agrees; spelled as in the table.
        measures: Names of measures; None takes all but the gold ones.
        missing: `shared` leaves out queries that a measure lacks, and refuses one that
            some runs lack; `drop` leaves out both, `zero` counts both as 0, `error`
            refuses both.

    Returns:
        A row for each two measures: measure_a, measure_b, gold, disagreements,
        correct_a, correct_b, intuitiveness_a, intuitiveness_b (shares of the
        disagreements), undefined (why there are no shares, or empty).
        `attrs["notes"]` lists scores left out, or counted as 0.

    Raises:
        UsageError: fewer than two measures, or an unknown one or policy.
        DataError: a score is missing, or there twice.
    """
    golds = [gold] if isinstance(gold, str) else list(gold)
    if not golds:
        raise UsageError("name a gold measure")
    there = measure_names(scores)
    check_measures(golds, there)
    if measures is None:
        measures = [m for m in there if m not in golds]
    if len(measures) < 2:
        raise UsageError(f"compare two measures or more, not {len(measures)}")
    aligned = align(scores, [*measures, *golds], missing)
    values, truths = np.split(aligned.values, [len(measures)])
    disagreements, correct = concordance(values, truths)
    rows = []
    for i, j in combinations(range(len(measures)), 2):
        n, right = int(disagreements[i, j]), (int(correct[i, j]), int(correct[j, i]))
        shares = [r / n if n else nan for r in right]
        why = "" if n else "the two never disagree"
        which = measures[i], measures[j], " & ".join(golds)
        rows.append((*which, n, *right, *shares, why))
    names = ["measure_a", "measure_b", "gold", "disagreements", "correct_a"]
    names += ["correct_b", "intuitiveness_a", "intuitiveness_b", "undefined"]
    return aligned.noted(pd.DataFrame(rows, columns=names))
