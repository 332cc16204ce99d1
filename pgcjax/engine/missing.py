"""Judged queries that runs lack, and data that lowers scores: errors and notes."""

import warnings
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from pgcjax.engine.batch import Member
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.tally import MeasureTally, RunTally
from pgcjax.errors import DataError, DataWarning, counted, listed, outside, shared
from pgcjax.io.check import check_common_queries


def refuse(request: ScoringRequest, run_ids: Sequence[str], has: np.ndarray) -> None:
    """Refuse runs that lack a judged query, before hours go into others.

    Args:
        request: refuses nothing unless its `missing` is `error`.
        run_ids: the runs.
        has: bool `[runs, judged queries]`.

    Raises:
        DataError: a run lacks a query that is judged for a measure.
    """
    if request.missing != "error":
        return
    for member in request.members:
        queries = list(member.tensors.docs)
        columns = [request.judged.number[query] for query in queries]
        lacking = np.argwhere(~has[:, columns])
        if len(lacking):
            run, query = lacking[0]
            raise DataError(
                f"run {run_ids[run]!r} lacks query {queries[query]!r}, which is "
                f"judged for {member.measure}",
                mend="Complete it, or choose missing zero or skip.",
            )


def tell(
    members: Sequence[Member],
    tally: RunTally,
    missing: str,
    names: Sequence[str] | None = None,
) -> list[str]:
    """Warn of what lowers scores, and count what was scored: once of equal measures.

    Args:
        members: the measures.
        tally: Counts of all runs.
        missing: see `evaluate`.
        names: by which it is said of each; those of the measures if None.

    Raises:
        DataError: runs and judgments have no query in common.
    """
    names = names or [str(member.measure) for member in members]
    for member in members:
        check_common_queries(member.tensors.docs, tally.query_ids)
    for warned in (
        [_lacking(count, missing) for count in tally.measures],
        [_void(member.tensors.void) for member in members],
        [_unproven(unproven(member)) for member in members],
        [_all_zero(count) for count in tally.measures],
    ):
        for line in shared(_named(names, warned)):
            warnings.warn(line, DataWarning, stacklevel=outside())
    return shared(_named(names, [_counted(m.tensors.docs, tally) for m in members]))


def _named(names: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return notes, each with the name of the measure that it is about."""
    return ((name, text) for name, text in zip(names, texts, strict=True) if text)


def _lacking(count: MeasureTally, missing: str) -> str:
    lacking = sorted(count.lacking)
    if not lacking:
        return ""
    effect = "scored 0" if missing == "zero" else "left out of the run's mean"
    return (
        f"judged queries are missing in {counted(len(lacking), 'run')} "
        f"({listed(lacking)}), {counted(count.absent, 'score')} in all: {effect}"
    )


def _void(queries: Sequence[str]) -> str:
    if not queries:
        return ""
    return (
        "nothing to find (only ties, or nothing relevant) for "
        f"{counted(len(queries), 'judged query')}, such as {queries[0]!r}: every run "
        "scores 0"
    )


def unproven(member: Member) -> list[str]:
    """List the queries whose scores are PGC's, as exact ones would take too long."""
    return getattr(member.tensors, "unproven", [])


def _unproven(queries: Sequence[str]) -> str:
    if not queries:
        return ""
    return (
        f"{counted(len(queries), 'query')} ({listed(queries)}) with too many orders "
        "that contradict the fewest judgments: scored as PGC is, by the greedy peel. "
        "More states=… may suffice"
    )


def _all_zero(count: MeasureTally) -> str:
    if not (count.zero and count.answered.any()):
        return ""
    return "every score is 0: do runs and judgments name documents in the same way?"


def _counted(judged: Collection[str], tally: RunTally) -> str:
    unjudged = len(tally.query_ids - set(judged))
    return (
        f"{counted(len(tally.run_ids), 'run')}, {counted(len(judged), 'judged query')}"
        + (f"; {counted(unjudged, 'unjudged query')} ignored" if unjudged else "")
    )
