"""Scores by several measures of the same runs and queries."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
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
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import find_columns
from pgcjax.stats import matrix
from pgcjax.stats.choices import EACH_LACKING, LACKING
from pgcjax.stats.scores import Scores, read_scores

_NOTHING = np.zeros((0, 0))
_MENDS = {
    "run": "Complete the other, or drop it.",
    "query": "Complete the other, or choose missing shared, drop or zero.",
}


class Matrices(Mapping[str, matrix.Matrix]):
    """Scores by the name of their measure, read at each access."""

    def __init__(self, measures: Sequence[str], of: Callable[[str], matrix.Matrix]):
        """Take names, and a function that reads the scores of one measure."""
        self._of = dict.fromkeys(measures, of)

    def __getitem__(self, measure: str) -> matrix.Matrix:
        return self._of[measure](measure)

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


@dataclass(frozen=True)
class AlignedScores:
    """Scores of the same runs and queries by several measures.

    Attributes:
        measures: Names of the measures, in the order of the request.
        runs: Names of the runs, ascending.
        queries: Names of the queries, ascending.
        of: Function that returns the scores `[runs, queries]` by a measure, without
            NaN. Memory holds stored scores of one measure at a time.
        notes: A line for each kind of scores left out, or counted as 0.
    """

    measures: list[str]
    runs: list[str]
    queries: list[str]
    of: Callable[[str], Float64[np.ndarray, "runs queries"]]
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> Float64[np.ndarray, "measures runs queries"]:
        """The scores by all measures."""
        return np.stack([self.of(measure) for measure in self.measures])

    def noted(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of findings with the notes in `attrs["notes"]`."""
        table.attrs["notes"] = list(self.notes)
        return table


def align(
    scores: Any,
    measures: Sequence[str] | None = None,
    missing: str = "shared",
    *,
    least: int = 1,
    queries: int = 2,
    runs: Sequence[str] | None = None,
) -> AlignedScores:
    """Align the scores of several measures on the same runs and queries.

    A DataWarning lists scores that are left out or counted as 0.

    Args:
        scores: `Scores`, a DataFrame or a file with the columns of `Scores`, or a dict
            with a table for each measure, in any form that `matrix.read` takes.
        measures: Names of measures; None takes all.
        missing: Treatment of a query that a measure or a run lacks. `shared`: a query
            for which a measure scores no run is left out for all, and one that some
            runs lack is an error; `error`: both are errors; `drop`: both are left out
            for all; `zero`: missing scores are 0.
        least: Least number of measures.
        queries: Least number of queries.
        runs: Names of the runs to read; None takes all.

    Raises:
        UsageError: a measure is unknown or named twice, there are too few measures, or
            the policy is unknown.
        DataError: a score is missing or there twice, or nothing is left.
    """
    check_choice("missing", missing, LACKING)
    one, of = _read_each(scores, measures, missing, queries, runs)
    aligned = _aligned(one, of, missing, queries)
    for note in aligned.notes:  # these change every finding, so users have to see them
        warnings.warn(note, DataWarning, stacklevel=3)
    if len(one) < least:
        raise UsageError(f"compare two measures or more, not {len(one)}")
    return aligned


def by_measure(
    scores: Any,
    measures: Sequence[str] | None = None,
    missing: str = "own",
    *,
    runs: Sequence[str] | None = None,
) -> tuple[Mapping[str, matrix.Matrix], tuple[str, ...]]:
    """Read several measures of the same runs, by default each on all of its queries.

    Args:
        scores: As in `align`.
        measures: Names of measures; None takes all.
        missing: As in `align`; or `own`: like `shared`, but the other measures keep a
            query that one measure lacks, as if each measure were read alone.
        runs: Names of the runs to read; None takes all.

    Returns:
        The scores by each measure, and notes for the user, a line each.

    Raises:
        UsageError, DataError: as in `align`.
    """
    check_choice("missing", missing, EACH_LACKING)
    if missing != "own":
        side = align(scores, measures, missing, runs=runs)

        def aligned(measure: str) -> matrix.Matrix:
            return matrix.Matrix(side.runs, side.queries, side.of(measure), measure)

        return Matrices(side.measures, aligned), side.notes
    one, of = _read_each(scores, measures, "shared", 2, runs)
    names = _same_runs(one)
    sizes: dict[int, list[str]] = {}
    for m in one:
        sizes.setdefault(len(m.query_ids), []).append(m.measure)
    notes = ()
    if len({tuple(m.query_ids) for m in one}) > 1:
        each = (f"{listed(of, 4)} {n}" for n, of in sizes.items())
        notes = (
            f"measures have different queries: {'; '.join(each)}. missing shared "
            "compares them on the same",
        )
    return Matrices(names, of), notes


def _read_each(
    scores: Any,
    measures: Sequence[str] | None,
    missing: str,
    queries: int,
    runs: Sequence[str] | None,
) -> tuple[list[matrix.Matrix], Callable[[str], matrix.Matrix]]:
    """Read measures, each by itself.

    Returns:
        A matrix of each measure, without its numbers; and a function that reads a
        measure with them, by name.
    """
    if isinstance(scores, (str, os.PathLike)):
        scores = read_scores(scores)
    scores = in_hand(scores, "scores")  # once: it may be an iterator
    wanted = measure_names(scores) if measures is None else list(measures)
    if not wanted:
        raise UsageError("there are no measures to compare")
    if isinstance(scores, Mapping):
        matrix.check_measures(wanted, list(scores))

        def opened(measure: str) -> matrix.Matrix:
            table = scores[measure]
            if isinstance(table, matrix.Matrix):
                return replace(table, measure=measure)
            source = matrix.CheckedScores.of(table, {})
            return replace(source.matrix(None, missing, queries, runs), measure=measure)
    else:
        source = matrix.CheckedScores.of(scores, {})

        def opened(measure: str) -> matrix.Matrix:
            return source.matrix(measure, missing, queries, runs)

    stored = isinstance(scores, Scores) and scores.stored
    # Scores that are not in memory are read again at each access.
    read = opened if stored or isinstance(scores, Matrices) else cache(opened)
    return [replace(read(measure), values=_NOTHING) for measure in wanted], read


def measure_names(scores: Any) -> list[str]:
    """List the measures of a score table, or of several tables by name."""
    if isinstance(scores, Mapping):
        return list(scores)
    if isinstance(scores, Scores):
        return scores.measures
    table = matrix.frame_of(scores)
    for column in find_columns(table.columns, ["measure"], matrix.NAMES).values():
        return list(dict.fromkeys(table[column].astype(str)))
    raise DataError(
        f"missing column 'measure' (found {[str(c) for c in table.columns]})",
        mend="Without it, give a table for each measure, by name.",
    )


def _aligned(
    one: list[matrix.Matrix],
    read: Callable[[str], matrix.Matrix],
    missing: str,
    least: int = 2,
) -> AlignedScores:
    """Align measures, each complete by itself, on the same runs and queries."""
    measures = _same_runs(one, equal=missing == "error")
    runs, queries = one[0].run_ids, set(one[0].query_ids)
    for other in one[1:]:
        theirs = set(other.query_ids)
        queries = queries | theirs if missing == "zero" else queries & theirs
    if len(queries) < least:  # matrix.read refuses a single measure likewise
        have = counted(len(queries), "query")
        raise DataError(f"all measures have {have} in common, fewer than {least}")
    order = sorted(queries)

    def of(measure: str) -> np.ndarray:
        scores = read(measure)
        columns = pd.Index(scores.query_ids).get_indexer(pd.Index(order))
        out = np.zeros((len(runs), len(order)))
        out[:, columns >= 0] = scores.values[:, columns[columns >= 0]]
        return out

    return AlignedScores(measures, runs, order, of, _notes(one, queries, missing))


def _same_runs(one: list[matrix.Matrix], equal: bool = False) -> list[str]:
    """Refuse measures of different runs, and with `equal` of different queries.

    Returns:
        The names of the measures.
    """
    measures = [m.measure for m in one]
    if len(set(measures)) < len(measures):
        raise UsageError("a measure is named twice")
    first = one[0]
    for other in one[1:]:
        odd = {"run": set(first.run_ids) ^ set(other.run_ids)}
        if equal:
            odd["query"] = set(first.query_ids) ^ set(other.query_ids)
        for noun, names in odd.items():
            if names:
                raise DataError(
                    f"only one of {first.measure} and {other.measure} has scores of "
                    f"{noun} {min(names)!r}",
                    mend=_MENDS[noun],
                )
    return measures


def _notes(
    one: list[matrix.Matrix], queries: set[str], missing: str
) -> tuple[str, ...]:
    """Write a line on scores that runs and measures lacked, and their treatment."""
    every = {query for m in one for query in (*m.query_ids, *m.lacked)}
    gaps: dict[str, list[str]] = {}  # measures by phrases on missing scores
    filled = 0
    for m in one:
        # A measure that scores no run for a query lacks the query.
        lacked_by_some = {q: r for q, r in m.lacked.items() if len(r) < len(m.run_ids)}
        absent = len(every - ({*m.query_ids} - {*m.lacked}) - {*lacked_by_some})
        runs = sorted({run for lacking in lacked_by_some.values() for run in lacking})
        filled += absent * len(m.run_ids) + sum(map(len, lacked_by_some.values()))
        if lacked_by_some:
            phrase = f"{listed(runs)} {'lacks' if len(runs) == 1 else 'lack'} "
            phrase += f"{counted(len(lacked_by_some), 'query')} by "
            gaps.setdefault(phrase, []).append(m.measure)
        if absent:
            phrase = f"there are no scores of {counted(absent, 'query')} by "
            gaps.setdefault(phrase, []).append(m.measure)
    if not gaps:
        return ()
    done = f"{len(every - queries)} of {counted(len(every), 'query')} left out"
    if missing == "zero":
        done = f"{counted(filled, 'missing score')} counted as 0"
    lines = (phrase + listed(names) for phrase, names in gaps.items())
    return (f"{done}: {'; '.join(lines)}",)
