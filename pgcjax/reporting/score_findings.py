"""Findings of a report about scores of runs: tests, correlations, conventions."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pgcjax._version import __version__
from pgcjax.errors import DataError, DataWarning, Progress, UsageError, counted
from pgcjax.stats.aligned import by_measure
from pgcjax.stats.compare import compare
from pgcjax.stats.correlation import correlate
from pgcjax.stats.discrimination import Discrimination
from pgcjax.stats.findings import Comparison
from pgcjax.stats.judge_orders import JudgeOrders
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.scores import Scores
from pgcjax.stats.structure import STRUCTURES, arranged
from pgcjax.stats.uncertainty import Uncertainty

_NEAR = 1e-9  # largest difference of means from the same scores


@dataclass(frozen=True)
class Findings:
    """Scores by one or several measures, and findings from them.

    Attributes:
        scores: Scores of the same runs by measure; each measure has its own queries.
        compared: Result of `compare` for all pairs of runs, by measure.
        how: test, correction, alpha, resamples and seed.
        used: Inputs of the findings, by name.
        uncertainty: Replicates of the judgments of these scores, if there are any.
        judges: Scores of runs by each judge, if there are any.
        averaged: Scores whose means order runs, if these are not `scores`.
    """

    scores: Mapping[str, Matrix]
    compared: Mapping[str, Comparison]
    how: Mapping[str, Any]
    used: Mapping[str, Any]
    uncertainty: Uncertainty | None = None
    judges: JudgeOrders | None = None
    averaged: Mapping[str, Matrix] | None = None

    def means(self, measure: str) -> np.ndarray:
        """Return the means of the runs, ascending by name, by a measure."""
        return (self.averaged or self.scores)[measure].values.mean(axis=1)

    def by_judgments(self, measure: str) -> pd.DataFrame | None:
        """Compute the uncertainty from judgments, if there are replicates of a measure.

        Returns:
            Table of run_id, ascending; low and high of the interval of the mean; tier,
            rank_low and rank_high, as in `Uncertainty.ranks`.
        """
        uncertainty, alpha = self.uncertainty, self.how["alpha"]
        if uncertainty is None or measure not in uncertainty.mean:
            return None
        ranks = uncertainty.ranks(measure, alpha=alpha)[
            ["run_id", "tier", "low", "high"]
        ]
        ranks = ranks.rename(columns={"low": "rank_low", "high": "rank_high"})
        means = uncertainty.means(measure, alpha=alpha)[["run_id", "low", "high"]]
        return means.merge(ranks, on="run_id")

    @cached_property
    def runs(self) -> list[str]:
        """The runs, ascending."""
        return next(iter(self.scores.values())).run_ids

    @cached_property
    def queries(self) -> list[str]:
        """The queries of all measures, ascending."""
        return sorted({q for one in self.scores.values() for q in one.query_ids})

    @property
    def common(self) -> str:
        """Note on orders by measures whose queries differ."""
        sets = [{*one.query_ids} for one in self.scores.values()]
        both = set.intersection(*sets)
        if all(len(one) == len(both) for one in sets):
            return ""
        return f", by the {counted(len(both), 'query')} that all measures have"

    @cached_property
    def correlations(self) -> pd.DataFrame:
        """The table of `correlate`, of two measures or more."""
        with warnings.catch_warnings():  # `common` reports the queries left out
            warnings.simplefilter("ignore", DataWarning)
            return correlate(self.averaged or self.scores, list(self.scores))

    @cached_property
    def discrimination(self) -> Discrimination:
        """Findings of `discriminate`, from the tests that were made already."""
        columns = ["run_a", "run_b", "difference", "p_value", "p_adjusted"]
        pairs = [
            comparison.table[[*columns, "significant"]].assign(
                test=self.how["test"], measure=name
            )
            for name, comparison in self.compared.items()
        ]
        metadata = {name: each.metadata for name, each in self.compared.items()}
        settings = dict(next(iter(metadata.values())))
        queries = {name: of["queries"] for name, of in metadata.items()}
        settings |= {
            "correction": {settings["test"]: settings["correction"]},
            "queries": queries,
        }
        return Discrimination(settings, pairs=pd.concat(pairs, ignore_index=True))


def find(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    test: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    missing: str = "own",
    uncertainty: Uncertainty | None = None,
    judges: JudgeOrders | None = None,
    progress: Progress | None = None,
    **structure: Any,
) -> Findings:
    """Test all pairs of runs by each measure, as `compare` does.

    Args:
        scores: A score table, or a table for each measure, by name.
        measures: Measures to use; None takes all.
        test: Test of differences, as in `compare`.
        correction: Correction of p, likewise.
        alpha: Level of the decisions; the intervals have level 1 - alpha.
        resamples: Resamples of tests that resample.
        seed: Seed of tests that resample.
        missing: As in `discriminate`: by default, each measure has its own queries.
        uncertainty: Replicates of the judgments, for additional intervals.
        judges: Scores by each judge, for a section that compares their orders.
        progress: Called with `("measures", done, total)`.
        structure: cluster, system or collections, as in `compare`.

    Raises:
        UsageError: a measure, test or policy is unknown. DataError: a score is missing.
    """
    one, notes = by_measure(scores, measures, missing)
    structure = {name: structure.get(name) for name in STRUCTURES}
    _check_structure(structure, notes, uncertainty)
    if uncertainty:
        _check(uncertainty, one)
    settings: dict[str, Any] = {"test": test, "correction": correction, "alpha": alpha}
    settings |= {"resamples": resamples, "seed": seed}
    compared = {}
    for done, (name, matrix) in enumerate(one.items(), 1):
        compared[name] = compare(matrix, **settings, **structure)
        if progress:
            progress("measures", done, len(one))
    first = next(iter(compared.values())).metadata
    sizes = {name: each.metadata["queries"] for name, each in compared.items()}
    queries = sizes if len({*sizes.values()}) > 1 else first["queries"]
    settings |= {name: first[name] for name in ("test", "correction")}
    metadata = {"pgcjax": __version__, "runs": first["runs"], "queries": queries}
    metadata |= {"missing": missing, **settings, "comparisons": first["comparisons"]}
    metadata |= {"lacking": notes} if notes else {}
    metadata["resamples"] = first["resamples"] or None
    metadata |= _origins(scores, uncertainty, judges)
    metadata |= {n: given for n, given in structure.items() if isinstance(given, str)}
    described = {n: _said(x) for n, x in metadata.items() if x is not None}
    averaged = _averaged(one, structure)
    shown = averaged or one if structure["system"] is not None else one
    return Findings(shown, compared, settings, described, uncertainty, judges, averaged)


def _origins(
    scores: Any, uncertainty: Uncertainty | None, judges: JudgeOrders | None
) -> dict[str, Any]:
    """Collect the inputs of scores, replicates and scores by judges."""
    every = {"scores": scores if isinstance(scores, Scores) else None}
    every |= {"replicates": uncertainty, "judges": judges}
    return {
        f"{name}, {key}": value
        for name, one in every.items()
        for key, value in (one.metadata if one is not None else {}).items()
    }


def _averaged(
    scores: Mapping[str, Matrix], structure: Mapping[str, Any]
) -> dict[str, Matrix] | None:
    """Compute scores whose means are those of systems, or over collections."""
    if structure["system"] is None and structure["collections"] is None:
        return None
    return {
        name: arranged(matrix, None, "error", structure)[0]
        for name, matrix in scores.items()
    }


def _check_structure(
    structure: Mapping[str, Any], notes: Sequence[str], uncertainty: Uncertainty | None
) -> None:
    """Raise a UsageError if a page cannot show this structure."""
    for name in ("system", "collections"):
        if structure[name] is not None and uncertainty:
            raise UsageError(f"{name}: replicates hold means of runs over queries")
    if structure["collections"] is not None and notes:
        raise UsageError(f"collections: {notes[0]}")


def _check(uncertainty: Uncertainty, scores: Mapping[str, Matrix]) -> None:
    """Refuse replicates of other scores.

    Raises:
        DataError: replicates have other measures, runs or means.
    """
    there = [name for name in scores if name in uncertainty.mean]
    where, mend = "replicates", "Make both by one call of uncertainty."
    if not there:
        ours, theirs = (", ".join(names) for names in (scores, uncertainty.mean))
        raise DataError(
            f"are by {theirs}, but scores are by {ours}", where=where, mend=mend
        )
    for name in there:
        matrix, observed = scores[name], uncertainty.mean[name]
        other = {*matrix.run_ids} ^ {*uncertainty.run_ids}
        if other:
            raise DataError(
                f"run {min(other)!r} is in one of replicates and scores alone",
                where=where,
                mend=mend,
            )
        means = matrix.values.mean(axis=1)
        far = int(np.argmax(np.abs(means - observed)))
        if not abs(means[far] - observed[far]) <= _NEAR:
            raise DataError(
                f"the mean of {matrix.run_ids[far]!r} by {name} is "
                f"{observed[far]:.6f}, and that of the scores {means[far]:.6f}",
                where=where,
                mend=f"{mend} Queries that a measure lacks are left out for all: name "
                "one measure.",
            )


def _said(value: Any) -> str:
    """Format a setting of findings."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_said(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_said, value))
    return str(value)
