"""Scores of runs → a page: who is best, which differences are real, which queries."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from pgcjax._version import __version__
from pgcjax.errors import Progress, UsageError, counted
from pgcjax.report import canvas, plots
from pgcjax.report.page import Page, Part, Picture, Section, Table, cell_of, table_of
from pgcjax.stats.aligned import align
from pgcjax.stats.compare import compare
from pgcjax.stats.correlation import correlate
from pgcjax.stats.discrimination import Discrimination
from pgcjax.stats.findings import Comparison
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.scores import Scores

_SCATTERED = 6  # plots of two measures that a page has room for


def summary(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    title: str = "Scores of runs",
    test: str = "tukey",
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    missing: str = "error",
    top: int = 8,
    progress: Progress | None = None,
) -> Page:
    """Sum scores up: leaderboards, significance, queries, and measures compared.

    Args:
        scores: a score table, or a table for each measure, by name.
        measures: all that there are if None.
        title: of the page.
        test: of differences, as of `compare`.
        alpha: level of the decisions, and 1 less that of the intervals.
        resamples: of tests that resample.
        seed: of tests that resample.
        missing: what a query does that a run or a measure lacks: `error`, `drop` it
            for all, or `zero` for those that lack it.
        top: how many of the best runs have a column in the table of queries.
        progress: called with `("measures", done, total)`.

    Raises:
        UsageError: an unknown measure, test or policy. DataError: a score is missing.
    """
    if top < 1:
        raise UsageError(f"the table of queries shows 1 run or more, not {top}")
    side = align(scores, measures, missing)
    one = {
        name: Matrix(side.runs, side.queries, values, name)
        for name, values in zip(side.measures, side.values, strict=True)
    }
    how: dict[str, Any] = {"test": test, "alpha": alpha}
    how |= {"resamples": resamples, "seed": seed}
    sections, compared = [], {}
    for i, (name, matrix) in enumerate(one.items()):
        compared[name] = compare(matrix, **how)
        sections.append(_measure(i + 1, matrix, compared[name], top))
        if progress:
            progress("measures", i + 1, len(one))
    if len(one) > 1:
        sections.append(_compared(one, compared, how))
    used = {"pgcjax": __version__, "runs": len(side.runs)}
    used |= {"queries": len(side.queries), "missing": missing, **how}
    used |= {"lacking": side.notes} if side.notes else {}
    used["resamples"] = next(iter(compared.values())).metadata["resamples"] or None
    if isinstance(scores, Scores):
        used |= {f"scores, {k}": v for k, v in scores.metadata.items()}
    said = {name: _said(value) for name, value in used.items() if value is not None}
    return Page(title, sections, said)


def _said(value: Any) -> str:
    """Print what a page depends on."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_said(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_said, value))
    return str(value)


def _measure(number: int, matrix: Matrix, comparison: Comparison, top: int) -> Section:
    """Show one measure: its leaderboard, which runs differ, its queries."""
    test, alpha = comparison.metadata["test"], comparison.metadata["alpha"]
    board = comparison.runs.sort_values(["rank", "run_id"], ignore_index=True)
    ordered = board[["rank", "run_id", "mean", "low", "high", "groups"]]
    level = f"{100 * (1 - alpha):g} %"
    parts: list[Part] = [
        f"{matrix.measure or 'Scores'}: " + "; ".join(comparison.notes) + ".",
        Picture(
            f"leaderboard-{number}",
            plots.leaderboard(comparison),
            f"Means over queries with {level} intervals (Student's t). Runs that share "
            f"a letter do not differ significantly ({test}); c-h are all from c to h.",
        ),
        table_of(ordered, "Runs by mean"),
        Picture(
            f"differences-{number}",
            plots.differences(comparison),
            "Blue: the run of the row is significantly better than that of the column; "
            "orange: worse.",
        ),
        _queries(matrix, board["run_id"].head(top).tolist()),
    ]
    return Section(f"Runs by {matrix.measure or 'score'}", parts)


def _queries(matrix: Matrix, best: Sequence[str]) -> Table:
    """Show what all runs, and the best ones, have on each query."""
    values = matrix.values
    where = [matrix.run_ids.index(run) for run in best]
    frame = pd.DataFrame(
        {
            "query": matrix.query_ids,
            "mean": values.mean(axis=0),
            "deviation": values.std(axis=0, ddof=1),
            "best run": [matrix.run_ids[i] for i in values.argmax(axis=0)],
            **{matrix.run_ids[i]: values[i] for i in where},
        }
    )
    shown = counted(len(where), "run")
    caption = f"Queries: mean and deviation over all runs, and the best {shown}"
    return table_of(frame, caption)


def _compared(
    one: Mapping[str, Matrix], compared: Mapping[str, Comparison], how: dict[str, Any]
) -> Section:
    """Compare measures: do they order runs alike, how many pairs do they tell apart?"""
    names = list(one)
    table = correlate(one, names)
    # What `discriminate` would find, and has been found already.
    columns = ["run_a", "run_b", "difference", "p_value", "significant"]
    pairs = [
        comparison.table[columns].assign(test=how["test"], measure=name)
        for name, comparison in compared.items()
    ]
    discrimination = Discrimination(pd.concat(pairs, ignore_index=True), how)
    power = discrimination.table.drop(columns="test")
    parts: list[Part] = [
        table_of(power, f"Pairs of runs that differ significantly, {how['test']}"),
        Picture(
            "curves",
            plots.significance_curves(discrimination),
            "p of all pairs of runs, sorted: the nearer to the origin, the more pairs "
            "a measure tells apart.",
        ),
        Picture(
            "overlaps",
            plots.overlaps(discrimination),
            "Pairs significant by both of two measures, among those by either.",
        ),
        _means(one),
        Picture(
            "correlations",
            plots.correlations(table),
            "Kendall's τ of the orders in which two measures put the runs.",
        ),
        table_of(table.drop(columns="undefined"), "Rank correlations of run orders"),
    ]
    every = list(combinations(names, 2))
    drawn = {
        f"({letter})" if len(every) > 1 else "": partial(plots.scatter, one, *two)
        for letter, two in zip(ascii_lowercase, every[:_SCATTERED], strict=False)
    }
    caption = "A point for each run: its means by two measures"
    if len(every) > len(drawn):
        caption += f"; the first {len(drawn)} of {len(every)} pairs of measures"
    scattered = canvas.grid(drawn, columns=min(2, len(drawn)))
    parts.append(Picture("scatter", scattered, f"{caption}."))
    return Section("Measures compared", parts)


def _means(one: Mapping[str, Matrix]) -> Table:
    """Show each run by each measure, in the order of the first."""
    means = {name: matrix.values.mean(axis=1) for name, matrix in one.items()}
    runs = next(iter(one.values())).run_ids
    order = np.argsort(-next(iter(means.values())), kind="stable")
    rows = [[runs[i], *(cell_of(float(m[i])) for m in means.values())] for i in order]
    return Table(["run_id", *means], rows, "Means of the runs")
