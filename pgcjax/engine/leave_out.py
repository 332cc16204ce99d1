"""One judge, or one run, left out after the other: what is asked, and its batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.replicates import Resampling
from pgcjax.engine.request import Request
from pgcjax.errors import DataError, Progress, UsageError, check_choice
from pgcjax.io.judged import Judged
from pgcjax.io.runs import Runs
from pgcjax.judging.choices import LEFT_OUT
from pgcjax.tensors.rankings import find

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.judging.left_out import Omissions
    from pgcjax.stats.left_out import LeftOut


class LeavingOut(NamedTuple):
    """What is left out, one after the other.

    Attributes:
        leave_out: one of `judging.choices.LEFT_OUT`.
        pool_depth: ranks of a run that brought documents to be judged.
    """

    leave_out: str
    pool_depth: int

    @property
    def used(self) -> dict[str, Any]:
        """What findings depend on, by name."""
        return self._asdict() if self.leave_out == "runs" else {"leave_out": "judges"}

    @classmethod
    def of(
        cls, leave_out: str | None, pool_depth: int, replicates: int
    ) -> LeavingOut | None:
        """Check what is asked; None if nothing is to be left out.

        Raises:
            UsageError: an argument is wrong.
        """
        if leave_out is None:
            return None
        check_choice("leave_out", leave_out, LEFT_OUT)
        if type(pool_depth) is not int or pool_depth < 1:
            raise UsageError(f"pool_depth={pool_depth!r}: expected a number from 1")
        if replicates:
            raise UsageError("leave_out and replicates: ask for one after the other")
        return cls(leave_out, pool_depth)


def omissions(
    request: Request, runs: Runs, how: LeavingOut, progress: Progress | None = None
) -> Omissions:
    """Find whose each judgment is; to leave out runs, all of them are read for that.

    Raises:
        UsageError: a measure has no judgments to leave out. DataError: judgments name
            no judge, there is nobody to leave out, or runs cannot be read twice.
    """
    from pgcjax.engine.replicate_batches import check_resamplable

    asked = f"leave_out={how.leave_out!r}"
    request.check_means(f"{asked} is")
    for member in request.members:
        check_resamplable(member, asked, "")
        needs = member.measure.definition.needs(member.measure.parameters)
        if how.leave_out == "runs" and "qrels" in needs:
            raise UsageError(
                f"{member.measure}: {asked} is of PGC of preferences alone: grades say "
                "of no document who brought it"
            )
    preferences = request.tables["preferences"]
    if how.leave_out == "judges":
        from pgcjax.judging.left_out import of_judges

        return of_judges(preferences)
    return _of_runs(preferences, runs, request.order, how.pool_depth, progress)


def _of_runs(
    preferences: pd.DataFrame,
    runs: Runs,
    order: str,
    depth: int,
    progress: Progress | None,
) -> Omissions:
    """Find the judged documents that a single run has among its first ones.

    A judgment is of a run if one of its documents is there for that run alone; both
    documents may be of different runs.
    """
    if pipe := next((path for path in runs.paths if path.is_fifo()), None):
        raise DataError(
            "a pipe is read once, and leave_out='runs' reads runs twice",
            where=str(pipe),
            mend="Write it to a file.",
        )
    columns = preferences[["query_id", "doc_id", "other_doc_id"]]
    rows = pl.from_pandas(columns).cast(pl.String)
    places = [
        rows.select("query_id", doc_id=name) for name in ("doc_id", "other_doc_id")
    ]
    named = pl.concat(places).drop_nulls().unique()
    docs = {
        str(query): table["doc_id"].sort().to_list()
        for (query,), table in named.group_by("query_id")
    }
    judged = Judged(docs)
    names, owner = _owners(judged, runs, order, depth, progress)
    if len(names) < 2:
        raise DataError(
            f"there is one run alone, {names[0]!r}" if names else "there is no run",
            mend="At least 2 are needed to leave one out.",
        )
    owners = np.array([np.append(owner, -1)[judged.codes(place)] for place in places])
    documents = np.bincount(owner[owner >= 0], minlength=len(names))
    from pgcjax.judging.left_out import Omissions  # which reads preferences

    return Omissions(preferences, names, owners, documents)


def _owners(
    judged: Judged, runs: Runs, order: str, depth: int, progress: Progress | None
) -> tuple[list[str], np.ndarray]:
    """Name all runs, ascending, and give the one that alone has a document, by code."""
    number: dict[str, int] = {}
    count = np.zeros(judged.end, np.int64)
    owner = np.full(judged.end, -1)
    look_up = partial(find, judged=judged, order=order)
    with closing(runs.read(judged, order, look_up, progress=progress)) as units:
        for ranks in chain.from_iterable(read.parts for read in units):
            own = [number.setdefault(run, len(number)) for run in ranks.run_ids]
            run = np.repeat(np.array(own, np.int64)[ranks.run], ranks.count)
            code = ranks.known[ranks.code]
            top = (ranks.position < depth) & (code >= 0)
            np.add.at(count, code[top], 1)
            owner[code[top]] = run[top]
    names = sorted(number)
    place = np.array([names.index(run) for run in number], np.int64)
    alone = count == 1
    owner[alone], owner[~alone] = place[owner[alone]], -1
    return names, owner


def batches(request: Request, left_out: Omissions, memory: int) -> list[Batch]:
    """Make a batch of each measure that scores all runs without each owner.

    Args:
        request: what is asked.
        left_out: of whose judgments.
        memory: bytes that all scores may take.
    """
    from pgcjax.engine.replicate_batches import LeaveOutBatch

    how = Resampling(len(left_out.names), "judgments", 0)
    preferences, share = request.tables["preferences"], memory // len(request.members)
    return [
        LeaveOutBatch(member, preferences, left_out, how, request.missing, memory=share)
        for member in request.members
    ]


def findings(
    run_ids: list[str],
    left_out: Omissions,
    how: LeavingOut,
    missing: str,
    scored: Sequence[tuple[Member, np.ndarray, np.ndarray]],
    parts: Sequence[np.ndarray],
) -> LeftOut:
    """Put the scores of all measures together.

    Args:
        run_ids: the runs.
        left_out: what was left out.
        how: likewise, as it was asked for.
        missing: as of `evaluate`.
        scored: what `scored.by_measure` gives.
        parts: what the batches gave.
    """
    from pgcjax.stats.left_out import LeftOut, LeftOutScores

    scores = {}
    for (member, has, whole), part in zip(scored, parts, strict=True):
        present: np.ndarray = np.all(~np.isnan(part[:, 0]), axis=1)
        without = np.where(has & present[:, None], part[:, 0], 0.0)
        scores[str(member.measure)] = LeftOutScores(
            [*member.tensors.docs], has, whole, without, present
        )
    used = how.used | {"missing": missing}
    return LeftOut(
        used,
        left_out=left_out.names,
        judgments=left_out.judgments,
        documents=left_out.documents,
        run_ids=run_ids,
        scores=scores,
    )
