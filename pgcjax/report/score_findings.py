"""Scores of runs → all that a report says of them: tests, correlations, conventions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from pgcjax._version import __version__
from pgcjax.errors import Progress
from pgcjax.stats.aligned import align
from pgcjax.stats.compare import compare
from pgcjax.stats.correlation import correlate
from pgcjax.stats.discrimination import Discrimination
from pgcjax.stats.findings import Comparison
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.scores import Scores


@dataclass(frozen=True)
class Findings:
    """Scores by one or several measures, and what was found of them.

    Attributes:
        scores: of the same runs and queries by each measure, by its name.
        compared: what `compare` found of all pairs of runs, by measure.
        how: test, alpha, resamples and seed.
        used: what all of it depends on, by name.
    """

    scores: Mapping[str, Matrix]
    compared: Mapping[str, Comparison]
    how: Mapping[str, Any]
    used: Mapping[str, Any]

    @property
    def runs(self) -> list[str]:
        """The runs, ascending."""
        return next(iter(self.scores.values())).run_ids

    @property
    def queries(self) -> list[str]:
        """The queries, ascending."""
        return next(iter(self.scores.values())).query_ids

    @cached_property
    def correlations(self) -> pd.DataFrame:
        """The table of `correlate`, of two measures or more."""
        return correlate(self.scores, list(self.scores))

    @cached_property
    def discrimination(self) -> Discrimination:
        """What `discriminate` would find, from the tests that were made already."""
        columns = ["run_a", "run_b", "difference", "p_value", "significant"]
        pairs = [
            comparison.table[columns].assign(test=self.how["test"], measure=name)
            for name, comparison in self.compared.items()
        ]
        return Discrimination(pd.concat(pairs, ignore_index=True), dict(self.how))


def find(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    test: str = "tukey",
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    missing: str = "shared",
    progress: Progress | None = None,
) -> Findings:
    """Align scores, and test all pairs of runs by each measure.

    Args:
        scores: a score table, or a table for each measure, by name.
        measures: all that there are if None.
        test: of differences, as of `compare`.
        alpha: level of the decisions, and 1 less that of the intervals.
        resamples: of tests that resample.
        seed: of tests that resample.
        missing: `shared` leaves out queries that a measure lacks, and refuses one that
            some runs lack; `drop` leaves out both, `zero` counts both as 0, `error`
            refuses both.
        progress: called with `("measures", done, total)`.

    Raises:
        UsageError: an unknown measure, test or policy. DataError: a score is missing.
    """
    side = align(scores, measures, missing)
    one = {
        name: Matrix(side.runs, side.queries, values, name)
        for name, values in zip(side.measures, side.values, strict=True)
    }
    how: dict[str, Any] = {"test": test, "alpha": alpha}
    how |= {"resamples": resamples, "seed": seed}
    compared = {}
    for done, (name, matrix) in enumerate(one.items(), 1):
        compared[name] = compare(matrix, **how)
        if progress:
            progress("measures", done, len(one))
    used = {"pgcjax": __version__, "runs": len(side.runs)}
    used |= {"queries": len(side.queries), "missing": missing, **how}
    used |= {"lacking": side.notes} if side.notes else {}
    used["resamples"] = next(iter(compared.values())).metadata["resamples"] or None
    if isinstance(scores, Scores):
        used |= {f"scores, {k}": v for k, v in scores.metadata.items()}
    said = {name: _said(value) for name, value in used.items() if value is not None}
    return Findings(one, compared, how, said)


def _said(value: Any) -> str:
    """Print what findings depend on."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_said(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_said, value))
    return str(value)
