"""Preferences of pairs of runs, added up query by query, so that they fit memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float64, Int32

from pgcjax.stats.rounding import NOISE
from pgcjax.stats.tests import RunPairs

_PART = 2.0**-40  # unit to which preferences are rounded for averages over runs


@dataclass
class PreferenceTally:
    """Sums and counts of the preferences by one measure.

    Attributes:
        pairs: Number of pairs of runs.
        runs: Number of runs.
        queries: Queries that have been added.
        total: Sum of the preferences of each pair.
        wins: Number of queries that prefer the first run of each pair.
        losses: Number of queries that prefer the second run of each pair.
        counted: Number of queries of each pair.
        mean: Mean preference of each run over all others, for each query.
        borda: Share of the other runs that a run is preferred to, for each query; a tie
            counts half.
        values: Preferences of each query, if kept; NaN where a pair has none.
    """

    pairs: RunPairs
    runs: int
    keep: bool = False
    queries: list[str] = field(default_factory=list)
    total: Float64[np.ndarray, " pairs"] = field(init=False)
    wins: Int32[np.ndarray, " pairs"] = field(init=False)
    losses: Int32[np.ndarray, " pairs"] = field(init=False)
    counted: Int32[np.ndarray, " pairs"] = field(init=False)
    mean: list[Float64[np.ndarray, " runs"]] = field(default_factory=list)
    borda: list[Float64[np.ndarray, " runs"]] = field(default_factory=list)
    values: list[Float64[np.ndarray, " pairs"]] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.pairs[0])
        self.total = np.zeros(count)
        self.wins, self.losses, self.counted = np.zeros((3, count), np.int32)

    def add(
        self,
        query: str,
        values: Float64[np.ndarray, " pairs"],
        has: Bool[np.ndarray, " runs"] | None = None,
        slack: float | Float64[np.ndarray, " pairs"] = NOISE,
    ) -> None:
        """Add a query.

        Args:
            query: Name of the query.
            values: Preference of the first run of each pair over the second.
            has: Whether each run counts for the query; None: all do.
            slack: Largest absolute value that counts as a tie, because of rounding.
        """
        first, second = self.pairs
        values = np.where(np.abs(values) <= slack, 0.0, values)
        there, others = True, self.runs - 1
        if has is not None:
            there = has[first] & has[second]
            values = np.where(there, values, 0.0)
            others = self._sums(there.astype(float), 1)
        sign = np.sign(values)
        self.queries.append(query)
        self.total += values
        self.wins += sign > 0
        self.losses += sign < 0
        self.counted += there
        with np.errstate(invalid="ignore"):
            whole = np.rint(values / _PART)  # their sums are exact in any order
            self.mean.append(self._sums(whole, -1) * _PART / others)
            self.borda.append((self._sums(sign, -1) / others + 1) / 2)
        if self.keep:
            self.values.append(np.where(there, values, np.nan))

    def _sums(
        self, values: Float64[np.ndarray, " pairs"], back: int
    ) -> Float64[np.ndarray, " runs"]:
        """Add the values of all pairs of each run, those of the second times `back`."""
        first, second = (np.bincount(side, values, self.runs) for side in self.pairs)
        return first + back * second


def bytes_of(pairs: int, queries: Sequence[int], keep: bool) -> int:
    """Bound the bytes of tallies, and of the values that are added to them at once.

    Args:
        pairs: Number of pairs of runs.
        queries: Number of queries of each measure.
        keep: whether the values of each query are kept.
    """
    of_pair = 20 * len(queries) + 8 * (len(queries) + 8)
    return pairs * (of_pair + (8 * sum(queries) if keep else 0))
