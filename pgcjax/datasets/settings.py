"""Settings of the simulation. They need neither numpy nor pandas."""

from dataclasses import dataclass
from math import comb
from typing import Any

from pgcjax.errors import UsageError

RANGES = {
    "queries": (2, 10_000),
    "documents": (2, 1_000),
    "runs": (2, 10_000),
    "judges": (1, 100),
    "intents": (1, 20),
    "depth": (1, 1_000),
    "rows": (1, 100),
    "columns": (1, 100),
    "seed": (0, 2**63 - 1),
}


@dataclass(frozen=True, kw_only=True)
class CollectionSettings:
    """Settings of the simulation; the defaults made the shipped collection.

    Args:
        queries: Number of queries.
        documents: Judged documents per query (the pool).
        runs: Number of runs; one of them lacks one query.
        judges: Number of judges of preferences.
        intents: Intents per query.
        depth: Documents per query in a run. The collection holds as many unjudged
            documents per query, which runs retrieve as well.
        rows: Rows of the image grid, which shows the top of a run in reading order.
        columns: Columns of the image grid.
        pairs: Pairs that each judge judges per query; None is 1.25 per document.
        seed: Seed of all random numbers.

    Raises:
        UsageError: a setting is no whole number, or is out of its range.
    """

    queries: int = 20
    documents: int = 20
    runs: int = 8
    judges: int = 3
    intents: int = 3
    depth: int = 20
    rows: int = 3
    columns: int = 4
    pairs: int | None = None
    seed: int = 0

    def __post_init__(self):
        """Check every range; `pairs` depends on `documents`, so it comes last."""
        for name, (low, high) in RANGES.items():
            _check(name, getattr(self, name), low, high)
        possible = comb(self.documents, 2)
        if self.pairs is None:
            pairs = min(5 * self.documents // 4, possible)
            object.__setattr__(self, "pairs", pairs)
        note = f", the pairs of {self.documents} documents"
        _check("pairs", self.pairs, 1, possible, note)


def _check(name: str, value: Any, low: int, high: int, note: str = "") -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        raise UsageError(
            f"{name} must be a whole number from {low} to {high}{note}; got {value!r}"
        )
