"""Judged queries that runs lack, and other data that lowers scores: refused or told."""

import warnings
from collections.abc import Sequence

import numpy as np

from pgcjax.engine.batch import Member
from pgcjax.engine.chunk import Chunk
from pgcjax.engine.request import Request
from pgcjax.errors import DataError, DataWarning, counted, listed
from pgcjax.io.check import check_common_queries


def refuse(request: Request, run_ids: Sequence[str], has: np.ndarray) -> None:
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
                mend="Complete it, or let missing be zero or skip.",
            )


def tell(
    member: Member, total: Chunk, has: np.ndarray, scores: np.ndarray, missing: str
) -> str:
    """Warn of what lowers the scores of a measure; count what was scored.

    Args:
        member: the measure.
        total: all runs.
        has: bool `[runs, queries]`, for the queries of the measure.
        scores: `[runs, queries]` of the measure.
        missing: as of `evaluate`.

    Raises:
        DataError: runs and judgments have no query in common.
    """
    measure, tensors = member.measure, member.tensors
    check_common_queries(tensors.docs, total.query_ids)
    if not has.all():
        lacking = [total.run_ids[i] for i in np.flatnonzero(~has.all(1))]
        effect = "scored 0" if missing == "zero" else "left out of the run's mean"
        _warn(
            f"{measure}: judged queries are missing in {counted(len(lacking), 'run')} "
            f"({listed(lacking)}), {counted((~has).sum(), 'score')} in all: {effect}"
        )
    if void := tensors.void:
        _warn(
            f"{measure}: nothing to find (only ties, or nothing relevant) for "
            f"{counted(len(void), 'judged query')}, such as {void[0]!r}: every run "
            "scores 0"
        )
    if has.any() and not scores.any():
        _warn(
            f"{measure}: every score is 0: do runs and judgments "
            "name documents in the same way?"
        )
    unjudged = len(total.query_ids - set(tensors.docs))
    return (
        f"{measure}: {counted(len(total.run_ids), 'run')}, "
        + counted(len(tensors.docs), "judged query")
        + (f"; {counted(unjudged, 'unjudged query')} ignored" if unjudged else "")
    )


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=5)  # at the caller of evaluate
