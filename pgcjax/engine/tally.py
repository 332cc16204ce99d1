"""Counts for the notes of a job, chunk by chunk."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool

from pgcjax.engine.batch import Member
from pgcjax.errors import DataError


@dataclass
class MeasureTally:
    """Counts of one measure.

    Attributes:
        answered: Queries of the measure that a run has.
        lacking: Runs that lack one of these queries.
        absent: Number of scores that these runs lack.
        zero: whether every score is 0.
    """

    answered: Bool[np.ndarray, " queries"]
    lacking: list[str] = field(default_factory=list)
    absent: int = 0
    zero: bool = True


class RunTally:
    """Counts of the runs of a job.

    Attributes:
        run_ids: All runs.
        void: Runs that have no query of any measure.
        query_ids: Queries that a run has, judged or not.
        measures: Counts of each measure.
    """

    def __init__(self, members: Iterable[Member]):
        """Begin with no runs."""
        self.run_ids: list[str] = []
        self.void: set[str] = set()
        self.query_ids: set[str] = set()
        queries = [len(member.tensors.docs) for member in members]
        self.measures = [MeasureTally(np.zeros(count, bool)) for count in queries]

    def add(
        self,
        run_ids: Sequence[str],
        query_ids: Iterable[str],
        scored: Iterable[tuple[Bool[np.ndarray, "runs queries"], bool]],
    ) -> None:
        """Count runs.

        Args:
            run_ids: the runs.
            query_ids: queries that any of them has.
            scored: of each measure, which run has which of its queries, and whether any
                score is not 0.
        """
        self.run_ids += run_ids
        self.query_ids.update(query_ids)
        answers = np.zeros(len(run_ids), bool)
        for tally, (has, nonzero) in zip(self.measures, scored, strict=True):
            answers |= has.any(1)
            tally.answered |= has.any(0)
            tally.lacking += [run_ids[int(i)] for i in np.flatnonzero(~has.all(1))]
            tally.absent += int((~has).sum())
            tally.zero &= not nonzero
        self.void |= {run_ids[int(i)] for i in np.flatnonzero(~answers)}

    def nothing(self) -> "RunTally":
        """Return a tally of no runs by the same measures."""
        other = RunTally(())
        other.measures = [
            MeasureTally(np.zeros_like(t.answered)) for t in self.measures
        ]
        return other

    def packed(self) -> bytes:
        """Return all of it as bytes, for `add_packed` of another process."""
        each = [
            [t.answered.tolist(), t.lacking, t.absent, t.zero] for t in self.measures
        ]
        ids = self.run_ids, sorted(self.void), sorted(self.query_ids)
        return json.dumps([*ids, each]).encode()

    def add_packed(self, data: bytes) -> None:
        """Count the runs of another process.

        Raises:
            DataError: a run has been counted.
        """
        runs, void, queries, each = json.loads(data)
        if twice := {*runs} & {*self.run_ids}:
            raise twice_given(min(twice))
        self.run_ids += runs
        self.void |= {*void}
        self.query_ids |= {*queries}
        for tally, (answered, lacking, absent, zero) in zip(
            self.measures, each, strict=True
        ):
            tally.answered |= np.array(answered, bool)
            tally.lacking += lacking
            tally.absent += absent
            tally.zero &= zero


def twice_given(run: str) -> DataError:
    """Make the error of a run that is there twice."""
    return DataError(f"run {run!r} comes twice", mend="Give each run once.")
