"""Bounds of the fewest judgments, or queries, that overturn an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.errors import counted
from pgcjax.io.result import Result
from pgcjax.judging.choices import CHANGES


@dataclass(frozen=True, kw_only=True)
class Fragility(Result):
    """The fewest judgments, or queries, that overturn an order, between two bounds.

    Attributes:
        table: Judgments of the smallest set that was found, a row each: query_id,
            doc_id (which it prefers), other_doc_id, judge if judges are named, and
            fall, by which all listed ones of the query lower the mean difference;
            for queries: query_id and difference.
        run_id: The run that is ahead, or the first of two systems.
        other: The run that overtakes it.
        count: Number of listed judgments; None if no set was found.
        lower: A proven bound: fewer cannot overturn the order.
    """

    run_id: str
    other: str
    count: int | None
    lower: int

    @property
    def ratio(self) -> float:
        """Ratio of count to lower; 1 if both are equal, NaN if no set was found."""
        return self.count / self.lower if self.count else np.nan


def in_words(change: str, count: int | None, lower: int, of: str, effect: str) -> str:
    """Describe both bounds in a sentence.

    Args:
        change: One of `CHANGES`.
        count: Number of judgments in the set that was found.
        lower: The proven bound.
        of: Where the judgments are, such as `of 3 queries`.
        effect: Effect of the change, such as `puts b above a`.
    """
    verb = {CHANGES[0]: "removing", CHANGES[1]: "reversing"}[change]
    fewer = "no fewer can" if lower == count else f"no {lower - 1} can"
    if count is None:
        return f"{verb} judgments: none found that {effect}; proven: {fewer}"
    fewer = "" if lower <= 1 else f"; {fewer}"
    return f"{verb} {counted(count, 'judgment')} {of}{effect}{fewer}"


class Allocation(NamedTuple):
    """The largest total of gains for each number of changes.

    Attributes:
        best: Total with 0, 1, … changes.
        choices: Number of changes of each query.
    """

    best: Float64[np.ndarray, " changes"]
    choices: list[np.ndarray]

    def parts(self, changes: int) -> list[int]:
        """Return each query's number of changes, given their total."""
        parts = []
        for choice in reversed(self.choices):
            parts.append(int(choice[changes]))
            changes -= parts[-1]
        return parts[::-1]

    def fewest(self, need: float) -> int | None:
        """Return the fewest changes whose gains reach `need`."""
        enough = np.flatnonzero(self.best >= need)
        return int(enough[0]) if len(enough) else None


def allocate(gains: Sequence[np.ndarray], most: int) -> Allocation:
    """Share changes out among queries, by dynamic programming.

    Args:
        gains: Gains of each query with 0, 1, … changes; they never decrease.
        most: Largest number of changes.
    """
    best, choices = np.zeros(most + 1), []
    for gain in gains:
        totals = np.full((min(len(gain), most + 1), most + 1), -np.inf)
        for k, row in enumerate(totals):
            row[k:] = best[: most + 1 - k] + gain[k]
        choices.append(totals.argmax(0))
        best = totals.max(0)
    return Allocation(best, choices)
