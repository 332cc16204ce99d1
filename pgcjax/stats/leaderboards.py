"""Correlations of leaderboards with the true one, with intervals."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, DataWarning, UsageError, counted, listed
from pgcjax.io.schema import Origin
from pgcjax.io.scores.door import read_any_scores
from pgcjax.stats import matrix
from pgcjax.stats.aligned import align
from pgcjax.stats.choices import RANK_INTERVALS
from pgcjax.stats.orders import Drawing, RunOrder, checked_drawing, correlation_of


@dataclass(frozen=True)
class _ScoresByMeasure:
    """Scores by several measures.

    Attributes:
        name: Name of the leaderboard in messages.
        tables: For each measure, a table with run_id, query_id and value.
        means: Measures of which only the means of runs are known.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    means: set[str]

    def key(self, measure: str) -> str:
        """Return a name of a measure that no other leaderboard has."""
        return f"{measure or 'scores'} of {self.name}"


def correlate_leaderboards(
    truth: Any,
    leaderboards: Any,
    measures: Sequence[str] | None = None,
    truth_measures: Sequence[str] | None = None,
    coefficients: Sequence[str] = ("tau", "tau_ap_b"),
    *,
    interval: str = RANK_INTERVALS[0],
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 0,
    missing: str = "shared",
) -> pd.DataFrame:
    """Correlate leaderboards with the true one, by the means of the runs.

    Args:
        truth: Scores by query, or means of runs (query `all`, or no query), or both:
            `Scores`, a DataFrame or a file.
        leaderboards: Scores as for `truth`, or several of them by name.
        measures: Measures of the leaderboards; None takes all.
        truth_measures: Measures of the truth; None takes all.
        coefficients: Names as in `correlation`, whose first order is the truth.
        interval: Interval of tau: `simex`, by `orders.tau_interval` with the same
            queries drawn for both leaderboards; or `none`. Other coefficients, fewer
            than 50 queries, and means alone get no interval.
        alpha: 1 less the level of the intervals.
        resamples: Number of resamples for the intervals.
        seed: Seed of the resamples.
        missing: Treatment of missing queries as in `correlate`, for each leaderboard
            with the truth. A run that one of them lacks is an error; `drop` drops it.

    Returns:
        A row for each leaderboard, pair of measures and coefficient: leaderboard,
        truth_measure, measure, coefficient, value, low, high, resamples (those with a
        defined value), runs, queries, undefined (the reason of a NaN).

    Raises:
        UsageError: an argument is wrong. DataError: scores are malformed or missing.
    """
    drawing = checked_drawing(coefficients, interval, alpha, resamples, seed)
    true = _read(truth, "the truth", truth_measures)
    several = isinstance(leaderboards, Mapping)
    rows, notes = [], []
    for name, source in (leaderboards if several else {"scores": leaderboards}).items():
        boards = true, _read(source, str(name), measures)
        if missing == "drop":
            boards = _of_same_runs(*boards, notes)
        orders = _orders(*boards, missing, drawing, notes)
        both = (board.tables for board in boards)
        for true_measure, measure, coefficient in product(*both, coefficients):
            x = orders[boards[0].key(true_measure)]
            y = orders[boards[1].key(measure)]
            row = {"leaderboard": name, "truth_measure": true_measure}
            row |= {"measure": measure, "coefficient": coefficient}
            rows.append(row | correlation_of(x, y, coefficient, drawing))
    table = pd.DataFrame(rows)
    table.attrs["notes"] = notes
    return table


def _read(source: Any, name: str, chosen: Sequence[str] | None) -> _ScoresByMeasure:
    """Read the `chosen` measures of a leaderboard."""
    frame, origin = source, Origin(name)
    if isinstance(source, (str, os.PathLike)):
        frame, origin = read_any_scores(source)
    frame = matrix.frame_of(frame)
    named = matrix.columns_of(frame, {}, origin.name)
    if not {"run_id", "value"} <= set(named):  # columns are runs or queries
        wide, _ = matrix.wide_table(frame, named, origin)
        wide = wide.rename_axis("run_id").rename_axis(columns="query_id")
        frame = pd.DataFrame({"value": wide.stack()}).dropna().reset_index()
        named, origin = {n: n for n in ("run_id", "query_id", "value")}, Origin(name)
    if "query_id" not in named:
        frame = frame.assign(query_id=matrix.AVERAGES[0])
        named = named | {"query_id": "query_id"}
    table = matrix.long_table(frame, named, origin, measures=chosen)
    tables, means = {}, {}
    for measure in dict.fromkeys(table["measure"] if chosen is None else chosen):
        of_measure = table.loc[
            table["measure"] == measure, ["run_id", "query_id", "value"]
        ]
        of_all = of_measure["query_id"].isin(matrix.AVERAGES)
        if of_all.all():  # only one kind of average is read
            first = of_measure["query_id"] == of_measure["query_id"].iloc[0]
            means[measure] = of_measure[first].sort_values("run_id")
        else:
            tables[measure] = of_measure[~of_all]
    return _ScoresByMeasure(name, tables | means, {*means})


def _of_same_runs(
    true: _ScoresByMeasure, other: _ScoresByMeasure, notes: list[str]
) -> tuple[_ScoresByMeasure, _ScoresByMeasure]:
    """Drop runs that a measure of either leaderboard lacks, and add a note."""
    boards = true, other
    runs = [set(t["run_id"]) for board in boards for t in board.tables.values()]
    common = set.intersection(*runs)
    if dropped := sorted(set.union(*runs) - common):
        notes.append(
            f"{counted(len(dropped), 'run')} left out that {other.name} or {true.name} "
            f"lacks: {listed(dropped)}"
        )
        warnings.warn(notes[-1], DataWarning, stacklevel=3)
    true_tables, other_tables = (
        {m: t[t["run_id"].isin(common)] for m, t in board.tables.items()}
        for board in boards
    )
    return replace(true, tables=true_tables), replace(other, tables=other_tables)


def _orders(
    true: _ScoresByMeasure,
    other: _ScoresByMeasure,
    missing: str,
    drawing: Drawing,
    notes: list[str],
) -> dict[str, RunOrder]:
    """Order the runs by each measure, over the queries that all measures have.

    Raises:
        UsageError: both leaderboards have the same name. DataError: one lacks a run of
            the other.
    """
    if true.name == other.name:
        raise UsageError(f"call no leaderboard {true.name!r}")
    runs: dict[str, set[str]] = {}
    orders: dict[str, RunOrder] = {}
    scored = {}
    for board in (true, other):
        for measure, table in board.tables.items():
            key = board.key(measure)
            if measure not in board.means:
                scored[key] = table, Origin(key)
                continue
            runs[key], no_queries = {*table["run_id"]}, np.zeros((len(table), 0))
            orders[key] = RunOrder(no_queries, drawing, table["value"].to_numpy())
    if scored:
        aligned = align(scored, None, missing, queries=1)
        notes += aligned.notes
        for key in aligned.measures:
            runs[key] = {*aligned.runs}
            orders[key] = RunOrder(aligned.of(key), drawing)
    first, *others = runs
    for key in others:
        if unshared := runs[first] ^ runs[key]:
            raise DataError(
                f"only one of {first} and {key} has scores of run {min(unshared)!r}",
                mend="Complete the other, or drop it.",
            )
    return orders
