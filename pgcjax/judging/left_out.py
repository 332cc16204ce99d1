"""Judgments of which each replicate leaves out those of one judge, or one run's."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from jaxtyping import Int, Int64

from pgcjax.errors import DataError
from pgcjax.judging.resampled import BLOCK, Counts, Draws, judges_of
from pgcjax.later import pd

Owners = Int[np.ndarray, "2 rows"]
"""Whose each row of judgments is, by number, or -1: nobody's, or everybody's."""


class Omissions(Draws):
    """How often each row of judgments counts when those of one owner are left out.

    Attributes:
        names: the owners; replicate b leaves out what is of the b-th.
        judgments: how many each of them has; a row of weight w is w judgments.
        documents: of runs, how many judged documents each of them alone brought.
    """

    def __init__(
        self,
        preferences: pd.DataFrame,
        names: list[str],
        owners: Owners,
        documents: Int64[np.ndarray, " owners"] | None = None,
    ):
        """Take canonical preferences, and whose they are."""
        super().__init__(preferences, "judgments", 0)
        self.names, self._owners, self.documents = names, owners, documents
        judgments = np.zeros(len(names))
        for place in range(2):  # a row that is twice of one owner counts once
            own = owners[place] >= 0
            if place:
                own &= owners[0] != owners[1]
            np.add.at(judgments, owners[place][own], self._weight[own])
        whole = (self._weight % 1 == 0).all()
        self.judgments = judgments.astype(np.int64) if whole else judgments

    @property
    def fingerprint(self) -> str:
        """Name all that counts depend on, beside the judgments."""
        text = "\n".join(self.names).encode()
        return sha256(text + b"\0" + self._owners.tobytes()).hexdigest()[:16]

    def counts(self, query: str, block: int, size: int) -> Counts:
        """Tell how often each row of a query counts in the first replicates of a block.

        Args:
            query: one of those that have rows.
            block: number of the block.
            size: of its replicates, up to `BLOCK`.
        """
        rows = self.rows[query]
        left_out = block * BLOCK + np.arange(size)[:, None, None]
        kept = (self._owners[:, rows] != left_out).all(1)
        return kept * self._judgments[rows]


def of_judges(preferences: pd.DataFrame) -> Omissions:
    """Leave out one judge after the other, ascending by name.

    Raises:
        DataError: a judgment names no judge, or there is one judge alone.
    """
    judge = judges_of(preferences, "left out", "leave out runs")
    names = sorted(preferences["judge"].unique()) if len(preferences) else []
    if len(names) < 2:
        raise DataError(
            f"there is one judge alone, {names[0]!r}" if names else "there is no judge",
            where="preferences",
            mend="At least 2 are needed to leave one out.",
        )
    return Omissions(preferences, names, np.array([judge, np.full_like(judge, -1)]))
