"""Means of runs, as they are printed and written, recomputed by plain twins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pgcjax.engine.request import ScoringRequest
from pgcjax.errors import VerificationError
from pgcjax.later import pd
from pgcjax.reference.means import interval, judged_queries, mean
from pgcjax.stats.run_means import run_means
from pgcjax.stats.scores import Scores

TOLERANCE = 1e-12
"""Largest difference between a mean and its twin, relative to one above 1."""

ENDS_TOLERANCE = 1e-9
"""Likewise of an interval's ends: a spread near 0 loses digits in its square root."""

ByQuery = Mapping[tuple[str, str], Mapping[str, float]]
"""The scores of a run by a measure, by query."""


class _Printed(NamedTuple):
    """One number of a run and measure that users see, and what it is called."""

    run_id: str
    measure: str
    noun: str
    value: float


def check_queries(
    request: ScoringRequest,
    by_query: ByQuery,
    answered: Mapping[str, set[str]],
    whole: bool,
) -> None:
    """Compare the queries of each mean with those that were judged.

    Args:
        request: what was asked.
        by_query: the scores of the table that is printed.
        answered: of each run, judged queries that it has; all of them if `whole`.
        whole: whether that is so.

    Raises:
        VerificationError: a mean has a query too many, or lacks one.
    """
    for measure in request.measures:
        kinds = measure.needs
        judged = judged_queries(request.tables, kinds)
        for run, has in answered.items():
            there = set(by_query.get((run, str(measure)), ()))
            least = judged & has if request.missing == "skip" else judged
            most = least if whole else judged
            if odd := (least - there) | (there - most):
                raise _defect(
                    f"run {run!r}: {measure} has {len(there)} queries, its reference "
                    f"{len(least)}: they differ in {min(odd)!r}"
                )
            absent = {q: by_query[run, str(measure)][q] for q in there - has}
            if whole and any(absent.values()):
                raise _defect(f"run {run!r}: {measure} scores a query that it lacks")


def verify_means(
    scores: Scores, table: pd.DataFrame, by_query: ByQuery, request: ScoringRequest
) -> None:
    """Recompute means and their intervals, as users see them.

    Args:
        scores: what is printed and written.
        table: its rows of some runs.
        by_query: their scores: the twins' where these were computed.
        request: what was asked.

    Raises:
        VerificationError: a number differs from its twin, or is not there.
    """
    twins: dict[tuple[str, str, str], float] = {}
    kinds = {str(measure): measure.mean for measure in request.measures}
    for (run, measure), of_queries in by_query.items():
        values = [*of_queries.values()]
        twins[run, measure, "mean"] = mean(values, kinds[measure])
        ends = interval(values, kinds[measure])
        twins[run, measure, "low"], twins[run, measure, "high"] = ends
    shown = [_lines(scores), _table(scores), _board(table)]
    for printed in shown:
        there = {(p.run_id, p.measure, p.noun): p.value for p in printed}
        for key, twin in twins.items():
            run, measure, noun = key
            if noun == "mean" and key not in there:
                raise _defect(f"run {run!r}: {measure} has no mean, its twin {twin!r}")
            limit = TOLERANCE if noun == "mean" else ENDS_TOLERANCE
            value = there.get(key, twin)
            if not abs(twin - value) <= limit * max(1.0, abs(twin)):
                raise _defect(
                    f"run {run!r}: the {noun} of {measure} is {value!r}, its reference "
                    f"{twin!r}"
                )


def _lines(scores: Scores) -> Iterator[_Printed]:
    """Read the lines of trec_eval's text."""
    named = len(scores.runs) > 1
    _, *lines = scores.lines(digits=None)
    for line in lines:
        *run, measure, _, value = line.split("\t")
        run_id = "\t".join(run) if named else scores.runs[0]
        yield _Printed(run_id, measure, "mean", float(value))


def _table(scores: Scores) -> Iterator[_Printed]:
    """List the means that lines of other tools have."""
    for run, row in scores.mean().iterrows():
        for measure, value in row.items():
            yield _Printed(str(run), str(measure), "mean", float(value))


def _board(table: pd.DataFrame) -> Iterator[_Printed]:
    """List what a leaderboard shows of the runs in a table."""
    means = run_means([table])
    for noun in ("mean", "low", "high"):
        for (run, measure), value in means[noun].items():  # pyright: ignore
            yield _Printed(run, measure, noun, float(value))


def _defect(text: str) -> VerificationError:
    return VerificationError(
        f"{text}. This is a defect of pgcjax: please report it with the data"
    )
