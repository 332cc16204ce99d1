"""Leaderboards against the true one: how alike they order the runs, and how surely."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import (
    DataError,
    DataWarning,
    UsageError,
    counted,
    listed,
)
from pgcjax.io.schema import Origin
from pgcjax.io.scores.door import read_any_scores
from pgcjax.stats import matrix
from pgcjax.stats.aligned import AlignedScores, align
from pgcjax.stats.choices import RANK_INTERVALS
from pgcjax.stats.order_correlations import Drawing, RunOrder, correlation_of


@dataclass(frozen=True)
class _Board:
    """A leaderboard.

    Attributes:
        name: in messages.
        queries: scores of the measures that have any: run_id, query_id, value.
        means: of measures that have nothing else: a mean by run.
    """

    name: str
    queries: dict[str, pd.DataFrame]
    means: dict[str, pd.Series]

    @property
    def measures(self) -> list[str]:
        return [*self.queries, *self.means]

    def key(self, measure: str) -> str:
        """Find which measure of which leaderboard it is."""
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
        truth: scores of queries, of means (query `all`, or none), or of both: `Scores`,
            a DataFrame or a file.
        leaderboards: the same, or several by name.
        measures: of the leaderboards; all that there are if None.
        truth_measures: of the truth; all that there are if None.
        coefficients: names as of `correlation`, with the truth first.
        interval: of tau, `simex`, as `resampled_orders.tau_interval` makes it, queries
            drawn for both leaderboards together; or `none`. There is none of other
            coefficients, of fewer than 50 queries, and of means alone.
        alpha: 1 less the level of the intervals.
        resamples: of the intervals.
        seed: of the resamples.
        missing: as of `correlate`, for each leaderboard with the truth; a run that one
            of the two lacks is an error, and left out by `drop`.

    Returns:
        A row for each leaderboard, two measures and coefficient: leaderboard,
        truth_measure, measure, coefficient, value, low, high, resamples (in which it is
        defined), runs, queries, undefined (what is NaN, and why).

    Raises:
        UsageError: an argument is wrong. DataError: scores are malformed or missing.
    """
    drawing = Drawing.of(coefficients, interval, alpha, resamples, seed)
    true = _read(truth, "the truth", truth_measures)
    several = isinstance(leaderboards, Mapping)
    rows, notes = [], []
    for name, source in (leaderboards if several else {"scores": leaderboards}).items():
        boards = true, _read(source, str(name), measures)
        if missing == "drop":
            boards, notes_of_runs = _of_same_runs(*boards)
            notes += notes_of_runs
        side = _aligned(*boards, missing)
        notes += side.notes if side else ()
        orders = _orders(*boards, side, drawing)
        measures_of = (board.measures for board in boards)
        for one, two, coefficient in product(*measures_of, coefficients):
            x, y = orders[boards[0].key(one)], orders[boards[1].key(two)]
            row = {"leaderboard": name, "truth_measure": one, "measure": two}
            row["coefficient"] = coefficient
            rows.append(row | correlation_of(x, y, coefficient, drawing))
    table = pd.DataFrame(rows)
    table.attrs["notes"] = notes
    return table


def _read(source: Any, name: str, chosen: Sequence[str] | None) -> _Board:
    """Read a leaderboard, of which `chosen` measures are wanted."""
    frame, origin = source, Origin(name)
    if isinstance(source, (str, os.PathLike)):
        frame, origin = read_any_scores(source)
    frame = matrix.frame_of(frame)
    named = matrix.columns_of(frame, {}, origin.name)
    if not {"run_id", "value"} <= set(named):  # a column for each run, or query
        wide, _ = matrix.wide_table(frame, named, origin)
        wide = wide.rename_axis("run_id").rename_axis(columns="query_id")
        frame = pd.DataFrame({"value": wide.stack()}).dropna().reset_index()
        named, origin = {n: n for n in ("run_id", "query_id", "value")}, Origin(name)
    if "query_id" not in named:
        average = matrix.AVERAGES[0]
        frame, named = frame.assign(query_id=average), named | {"query_id": "query_id"}
    table = matrix.long_table(frame, named, origin, measures=chosen)
    there = dict.fromkeys(table["measure"] if chosen is None else chosen)
    queries, means = {}, {}
    for measure in there:
        of_measure = table[table["measure"] == measure]
        scores = of_measure[~of_measure["query_id"].isin(matrix.AVERAGES)]
        if len(scores):
            queries[measure] = scores[["run_id", "query_id", "value"]]
        else:
            of_measure = of_measure[
                of_measure["query_id"] == of_measure["query_id"].iloc[0]
            ]  # of one average
            means[measure] = of_measure.set_index("run_id")["value"]
    return _Board(name, queries, means)


def _of_same_runs(
    true: _Board, other: _Board
) -> tuple[tuple[_Board, _Board], list[str]]:
    """Leave out runs that not all measures of both have, and say so."""
    boards = true, other
    runs = [set(t["run_id"]) for board in boards for t in board.queries.values()]
    runs += [set(mean.index) for board in boards for mean in board.means.values()]
    common, every = set.intersection(*runs), set.union(*runs)
    if common == every:
        return boards, []
    gone = sorted(every - common)
    note = f"{counted(len(gone), 'run')} left out that {other.name} or {true.name} "
    note += f"lacks: {listed(gone)}"
    warnings.warn(note, DataWarning, stacklevel=3)
    first, second = (
        replace(
            board,
            queries={m: t[t["run_id"].isin(common)] for m, t in board.queries.items()},
            means={m: v[v.index.isin(common)] for m, v in board.means.items()},
        )
        for board in boards
    )
    return (first, second), [note]


def _aligned(true: _Board, other: _Board, missing: str) -> AlignedScores | None:
    """Bring what has scores of queries to the same runs and queries."""
    if true.name == other.name:
        raise UsageError(f"call no leaderboard {true.name!r}")
    tables = {
        board.key(measure): (table, Origin(board.key(measure)))
        for board in (true, other)
        for measure, table in board.queries.items()
    }
    return align(tables, None, missing, queries=1) if tables else None


def _orders(
    true: _Board, other: _Board, side: AlignedScores | None, drawing: Drawing
) -> dict[str, RunOrder]:
    """Order the runs by each measure of both, runs ascending.

    Raises:
        DataError: one lacks a run that another has.
    """
    runs: dict[str, set[str]] = {}
    orders: dict[str, RunOrder] = {}
    for board in (true, other):
        for measure, mean in board.means.items():
            mean, key = mean.sort_index(), board.key(measure)
            runs[key] = {*mean.index}
            none = np.zeros((len(mean), 0))
            orders[key] = RunOrder(none, drawing, mean.to_numpy())
    if side:
        for key, values in zip(side.measures, side.values, strict=True):
            runs[key], orders[key] = {*side.runs}, RunOrder(values, drawing)
    first, *others = runs
    for key in others:
        if odd := runs[first] ^ runs[key]:
            raise DataError(
                f"of {first} and {key}, only one has scores of run {min(odd)!r}",
                mend="Complete the other, or drop it.",
            )
    return orders
