"""Scores of one measure, by any tool, as a matrix of runs and queries."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.errors import (
    DataError,
    DataWarning,
    UsageError,
    check_choice,
    counted,
    listed,
)
from pgcjax.io.in_memory import scores_in_hand
from pgcjax.io.schema import (
    ALIASES,
    Origin,
    check_squares,
    find_columns,
    first_repeat,
    ids,
    numbers,
    refuse,
)
from pgcjax.io.scores.door import check_queries, read_any_scores
from pgcjax.io.scores.parts import open_parquet
from pgcjax.stats.choices import INCOMPLETE
from pgcjax.stats.means import GEOMETRIC, LOGARITHMS, mean_of, to_average
from pgcjax.stats.scores import Scores, read_scores

NAMES = {
    "run_id": ALIASES["run_id"],
    "query_id": ALIASES["query_id"],
    "measure": ("metric",),
    "value": ("score",),
}
"""Canonical names of columns, and other names that are accepted."""

AVERAGES = ("all", "amean", "average")
"""Query ids that stand for means over queries in files of other tools."""

_KEYS = ["run_id", "query_id"]
_ROW = ("run_id", "query_id", "value")


@dataclass(frozen=True)
class Matrix:
    """Scores of one measure, complete.

    Attributes:
        run_ids: Names of the runs, ascending.
        query_ids: Names of the queries, ascending.
        values: Score of each run and query, finite; a logarithm if the mean of the
            measure is geometric.
        measure: Name of the measure; empty if the source has none.
        notes: Notes on changes of the data, a line each.
        lacked: Runs that lacked a query, by its name; their score is omitted or 0.
    """

    run_ids: list[str]
    query_ids: list[str]
    values: Float64[np.ndarray, "runs queries"]
    measure: str = ""
    notes: tuple[str, ...] = ()
    lacked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read(
    scores: Any,
    *,
    measure: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: str = "error",
) -> Matrix:
    """Read scores of one measure.

    Args:
        scores: `Scores`, a DataFrame, a CSV, TSV, JSONL or Parquet file, or text of
            another tool. Tables have a row per score, or a row per query and a column
            per run, or, with a column run_id, a row per run and a column per query.
        measure: Name of the measure; needed if there are several.
        columns: Names of run_id, query_id, measure or value in the source.
        missing: Treatment of queries that runs lack: `error`, `drop` for all runs, or
            `zero` for those that lack them.

    Raises:
        DataError: the source holds no such scores, one twice, one that is not finite,
            or not all that are needed. UsageError: an argument is wrong.
    """
    check_choice("missing", missing, INCOMPLETE)
    if isinstance(scores, Matrix):
        return scores
    source = CheckedScores.of(scores, columns or {})
    matrix = source.matrix(measure, missing)
    if missing == "drop" and matrix.lacked:
        # Omitted queries change every finding, so notes alone do not suffice.
        note = f"{source.name}: {matrix.notes[-1]}"
        warnings.warn(note, DataWarning, stacklevel=3)
    return matrix


@dataclass(frozen=True)
class CheckedScores:
    """Checked scores, before the choice of a measure.

    Attributes:
        name: Name of the source.
        wide: Function that returns the table runs × queries of a measure, and its name;
            None takes the only measure.
        notes: Notes on changes of the data, a line each.
    """

    name: str
    wide: Callable[[str | None], tuple[pd.DataFrame, str]]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, scores: Any, columns: Mapping[str, str]) -> "CheckedScores":
        """Check a source; arguments and errors are those of `read`."""
        origin = Origin("scores")
        if isinstance(scores, (str, os.PathLike)):
            origin = Origin(str(scores))
            parquet = None if columns else open_parquet(scores)
            scores = Scores(*parquet) if parquet else read_any_scores(scores)
        if (
            isinstance(scores, Scores)
            and scores.stored
            and not columns
            and scores.count
        ):
            check_queries([not scores.means_alone], origin.name)
            return cls(origin.name, partial(_wide, scores))
        if isinstance(scores, tuple) and isinstance(scores[-1], Origin):
            scores, origin = scores
        frame = frame_of(scores)
        named = columns_of(frame, columns, origin.name)
        lacking = [name for name in _ROW if name not in named]
        if not lacking:
            rows = Scores(long_table(frame, named, origin, AVERAGES))
            return cls(origin.name, partial(_wide, rows))
        if columns or lacking == ["value"] or "value" in named:
            raise DataError(
                f"missing columns {lacking} (found {[str(c) for c in frame.columns]})",
                where=origin.name,
                mend="Name them by columns=, such as {'value': 'ndcg'}.",
            )
        table, notes = wide_table(frame, named, origin)
        return cls(origin.name, lambda measure: (table, measure or ""), notes)

    def matrix(
        self,
        measure: str | None,
        missing: str,
        queries: int = 2,
        runs: Sequence[str] | None = None,
    ) -> Matrix:
        """Complete the scores of one measure; arguments and errors are those of `read`.

        `missing` may also be `shared`, which is `error`, except that a query that all
        runs lack is left out. The matrix has at least `queries` queries, and if `runs`
        is given, these runs alone.
        """
        wide, measure = self.wide(measure)
        if runs is not None:
            if unknown := [run for run in runs if run not in wide.index]:
                there = listed([*map(str, wide.index)])
                raise UsageError(f"no scores of run {unknown[0]!r}; there are {there}")
            wide = wide.loc[[*runs]]
        wide = wide.sort_index(axis=0).sort_index(axis=1)
        check_squares(wide.to_numpy(np.float64), "scores", self.name)
        absent = np.asarray(wide.isna())
        runs, names = ([str(name) for name in axis] for axis in wide.axes)
        lacked = {
            names[i]: tuple(compress(runs, absent[:, i]))
            for i in np.flatnonzero(absent.any(axis=0))
        }
        wide, notes = _completed(wide, missing, lacked, self.name)
        for name, size, needed in (
            ("run", len(wide), 2),
            ("query", len(wide.columns), queries),
        ):
            if size < needed:
                raise DataError(
                    f"holds {counted(size, name)} to compare",
                    where=self.name,
                    mend=f"At least 2 runs and {counted(queries, 'query')} that all of "
                    "them have are needed.",
                )
        values = np.ascontiguousarray(wide.to_numpy(np.float64))
        notes = self.notes + notes
        if mean_of(measure) == GEOMETRIC:
            values, notes = to_average(values, measure), (LOGARITHMS, *notes)
        names = [str(name) for name in wide.columns]
        return Matrix(runs, names, values, measure, notes, lacked)


def check_same_runs(people: Matrix, other: Matrix, judge: str) -> None:
    """Check that people and another judge scored the same runs.

    Args:
        people: Scores by people.
        other: Scores by the other judge.
        judge: Name of the other judge in messages, such as `the model`.

    Raises:
        DataError: a run has scores by one of the two alone.
    """
    for run in sorted({*people.run_ids} ^ {*other.run_ids}):
        who = "people" if run in people.run_ids else judge
        raise DataError(
            f"run {run!r} has scores by {who} alone",
            mend="Score it by the other, too, or leave it out of both.",
        )


def _completed(
    wide: pd.DataFrame, missing: str, lacked: Mapping[str, Sequence[str]], where: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Apply `missing` to queries that runs lack, and add a note on them."""
    absent = np.asarray(wide.isna())
    if missing == "shared":  # leave out queries for which no run has a score
        there = np.flatnonzero(~absent.all(axis=0))
        wide, absent = wide.iloc[:, there], absent[:, there]
    if not absent.any():
        return wide, ()
    count = int(absent.sum())
    if missing == "zero":
        return wide.fillna(0.0), (f"{counted(count, 'missing score')} counted as 0",)
    if missing == "drop":
        gaps = listed([*compress(map(str, wide.index), np.any(absent, axis=1))])
        number = f"{counted(len(lacked), 'query')} left out that some run lacks"
        return wide.iloc[:, np.flatnonzero(~absent.any(axis=0))], (f"{number}: {gaps}",)
    run, query = np.argwhere(absent)[0]
    raise DataError(
        f"run {wide.index[run]!r} has no score for query {wide.columns[query]!r} "
        f"(missing in all: {count})",
        where=where,
        mend="Complete them, or choose missing drop or zero.",
    )


def _wide(scores: Scores, measure: str | None) -> tuple[pd.DataFrame, str]:
    """Return the table runs × queries of a measure, as `CheckedScores.wide` does."""
    there = scores.measures
    if measure is None and len(there) > 1:
        names = listed(there, 40)
        raise UsageError(f"scores of {len(there)} measures: choose one of {names}")
    if there == [""]:
        return scores.matrix(""), measure or ""
    name = there[0] if measure is None else measure
    wide = scores.matrix(name)
    return wide.drop(columns=[n for n in AVERAGES if n in wide]), name


def frame_of(scores: Any) -> pd.DataFrame:
    """Return the table of scores, in memory or of a file that `Scores.save` wrote.

    Raises:
        UsageError: they are neither `Scores` nor a table nor a file.
    """
    if isinstance(scores, (str, os.PathLike)):
        scores = read_scores(scores)
    table = scores.table if isinstance(scores, Scores) else scores_in_hand(scores)
    if not isinstance(table, pd.DataFrame):
        kind = type(table).__name__
        raise UsageError(
            f"expected scores, a DataFrame or a file, found {kind}. Give a table of "
            "run_id, query_id and value, or {run: table of query_id and value}"
        )
    return table


def columns_of(
    frame: pd.DataFrame, wanted: Mapping[str, str], where: str
) -> dict[str, Any]:
    """Map the canonical names of columns to their names in the frame."""
    unknown = [n for n in wanted if n not in NAMES]
    if unknown:
        raise UsageError(f"columns: {unknown[0]!r} is none of {', '.join(NAMES)}")
    names = list(frame.columns)
    twice = [str(n) for n in names if names.count(n) > 1]
    if twice:
        raise DataError(f"has more than one column {twice[0]!r}", where=where)
    absent = [n for n in wanted.values() if n not in names]
    if absent:
        present = [str(n) for n in names]
        raise DataError(f"has no column {absent[0]!r} (found {present})", where=where)
    free = [n for n in names if n not in wanted.values()]
    return {**find_columns(free, NAMES, NAMES), **wanted}


def long_table(
    frame: pd.DataFrame,
    named: Mapping[str, Any],
    origin: Origin,
    averages: Sequence[str] = (),
    measures: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Check a table with a row per score.

    Args:
        frame: Table of scores.
        named: Columns by their canonical names.
        origin: Origin of the rows.
        averages: Queries to omit.
        measures: Measures to read; None reads all.

    Returns:
        run_id, query_id, measure (empty without such a column) and value.

    Raises:
        DataError: a row is malformed, or a score is given twice.
        UsageError: there are no scores of a measure.
    """
    table = pd.DataFrame({name: frame[column] for name, column in named.items()})
    table = table.reset_index(drop=True)
    if table.empty:
        raise DataError("holds no rows", where=origin.name, mend="Add rows.")
    if "measure" not in named:
        table["measure"] = ""
    keep = ~table["query_id"].isin(averages).to_numpy()
    check_queries(keep, origin.name)
    if measures is not None:
        names = table["measure"]
        if "measure" in named:
            names = ids(names, origin)
        check_measures(measures, list(dict.fromkeys(names)))
        keep &= names.isin([*measures]).to_numpy()
    places = np.arange(1, len(table) + 1) if not len(origin.places) else origin.places
    origin = replace(origin, places=np.asarray(places)[keep])
    table = table[keep].reset_index(drop=True)
    for name in [name for name in NAMES if name in named and name != "value"]:
        table[name] = ids(table[name], origin)
    table["value"] = numbers(table["value"], "value", origin)
    if repeat := first_repeat(table, [*_KEYS, "measure"]):
        run, query = table.loc[repeat[1], _KEYS]
        raise DataError(
            f"scores run {run!r}, query {query!r} twice, first in "
            f"{origin.place(repeat[0])}",
            where=origin.at(repeat[1]),
            mend="Keep one.",
        )
    return table


def check_measures(wanted: Sequence[str], there: Sequence[str]) -> None:
    """Raise a UsageError if a measure has no scores."""
    unknown = [m for m in wanted if m not in there]
    if unknown:
        raise UsageError(f"no scores of {unknown[0]!r}; there are {', '.join(there)}")


def wide_table(
    frame: pd.DataFrame, named: dict[str, Any], origin: Origin
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Convert a wide table to runs × queries; NaN where a cell is empty."""
    notes: tuple[str, ...] = ()
    rows = "run_id" if "run_id" in named else "query_id"
    other = "query_id" if rows == "run_id" else "run_id"
    if rows in named:
        names = ids(frame[named[rows]].reset_index(drop=True), origin)
        cells = frame.drop(columns=named[rows])
    elif find_columns([frame.index.name], _KEYS):
        frame = frame.reset_index()
        return wide_table(frame, columns_of(frame, {}, ""), origin)
    else:
        cells, width = frame, len(str(len(frame)))
        names = pd.Series([f"{i + 1:0{width}}" for i in range(len(frame))])
        notes = (
            f"no column names the queries: {counted(len(frame), 'row')}, numbered",
        )
    repeated = names.duplicated().to_numpy()
    refuse(repeated, lambda i: f"has {rows} {names[i]!r} twice", origin, "Keep one.")
    values = np.full(cells.shape, np.nan)
    for k, column in enumerate(cells.columns):
        cell = cells[column].reset_index(drop=True)
        filled = np.flatnonzero(~(cell.isna() | (cell == "")).to_numpy())
        places = np.asarray(origin.places)[filled] if len(origin.places) else filled + 1
        label, here = f"score, {other} {str(column)!r}", replace(origin, places=places)
        values[filled, k] = numbers(cell.iloc[filled], label, here)
    wide = pd.DataFrame(values, names.to_numpy(), [str(c) for c in cells.columns])
    return (wide if rows == "run_id" else wide.T), notes
