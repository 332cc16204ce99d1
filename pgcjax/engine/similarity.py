"""RBO between any two rankings: arguments, conventions, queries that a run lacks."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan
from numbers import Real
from typing import Any

import numpy as np

from pgcjax._version import __version__
from pgcjax.engine import plan, similarity_tiles
from pgcjax.engine.choices import TIES, VARIANTS
from pgcjax.engine.similarity_result import Similarity, means
from pgcjax.errors import (
    DataError,
    DataWarning,
    Progress,
    UsageError,
    check_choice,
    counted,
)
from pgcjax.io.choices import MISSING, ORDERS
from pgcjax.io.reading import memory_limit, reading
from pgcjax.tensors.tied_lists import Lists, Numbers, TiedList, of_groups, read

BROKEN = TIES[-1]


def rbo(
    a: Any,
    b: Any = None,
    *,
    p: float = 0.9,
    variant: str = "ext",
    ties: str = "a",
    order: str = "trec",
    missing: str = "zero",
    depth: int | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Compare rankings by rank-biased overlap: all pairs of runs, query by query.

    Args:
        a: Input or result of `read_runs`; or a list of documents, with ties as lists.
        b: Runs to compare with those of a, or a list; None: a's runs with each other.
        p: Persistence, 0 < p < 1.
        variant: `ext`, `min`, `max` or `res`.
        ties: Treatment of equal scores: `w`, `a`, `b`, or `broken` by the order.
        order: `trec` or `clarke` (by score), or `rank`, where equal ranks tie.
        missing: A query that only one of two runs has is 0 (`zero`), left out (`skip`),
            or an `error`.
        depth: Last rank that counts; a tie group that begins there counts as a whole.
        memory: Bytes that work may take, or a size such as `2GB`.
        progress: called with `(stage, done, total)`.

    Returns: `Similarity` of runs; of two lists, a number.

    Source: Webber, Moffat and Zobel 2010; ties by Corsi and Urbano 2024.

    Raises:
        DataError: rankings cannot be compared. UsageError: an argument is wrong.

    Examples:
        >>> round(rbo(["a", "b", "c", "d", "e"], ["b", "c", "a", "f"]), 4)
        0.6728
    """
    measure = _name(p, variant, ties, depth)
    check_choice("order", order, ORDERS)
    check_choice("missing", missing, MISSING)
    budget = plan.MemoryLimits(memory_limit(memory)).tile
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return _of_lists(a, b, float(p), variant, ties, depth)
    settings = {"order": order, "broken": ties == BROKEN, "depth": depth}
    settings |= {"rows": plan.settings.rows, "progress": progress}
    reader = partial(read, numbers=Numbers(), **settings)
    with reading(memory=memory):
        sides = [reader(x) for x in ((a,) if b is None else (a, b))]
    del reader  # frees the names of all documents
    pairs = _Compared(*sides[0], *sides[-1], alone=b is None)
    _check(pairs, missing)
    values, notes = _without(pairs, missing, measure)
    for compared in similarity_tiles.compare(
        pairs.sides(), float(p), ties, budget=budget, progress=progress
    ):
        values[pairs.rows(compared), compared.query] = compared.values[variant]
    metadata = {"version": __version__, "measure": measure, "order": order}
    return _result(pairs, values, metadata | {"missing": missing}, tuple(notes))


def _name(p: float, variant: str, ties: str, depth: int | None) -> str:
    """Check the parameters of the measure, and spell it with all of them."""
    if not (isinstance(p, Real) and 0 < p < 1):
        raise UsageError(f"p={p}: expected a number above 0 and below 1")
    check_choice("variant", variant, VARIANTS)
    check_choice("ties", ties, TIES)
    if depth is not None and not (type(depth) is int and depth > 0):
        raise UsageError(f"depth={depth}: expected a whole number from 1 up")
    cut = "" if depth is None else f",depth={depth}"
    return f"RBO(p={float(p)},variant={variant},ties={ties}{cut})"


def _of_lists(
    a: Sequence[Any],
    b: Sequence[Any],
    p: float,
    variant: str,
    ties: str,
    depth: int | None,
) -> float:
    """Compare two lists of documents."""
    both = (*a, *b)
    if both and all(
        isinstance(x, (str, os.PathLike)) and os.path.exists(x) for x in both
    ):
        raise UsageError(
            "two lists are read as two rankings, but these name files: give their "
            "runs as read_runs([...])"
        )
    numbers: dict[Any, int] = {}
    lists = [
        of_groups(x, numbers, name, depth) for x, name in ((a, "list a"), (b, "list b"))
    ]
    if ties == BROKEN and any(x.tied for x in lists):
        raise UsageError(
            "ties=broken: a list has no order within ties: choose w, a or b"
        )
    (compared,) = similarity_tiles.compare(
        [similarity_tiles.RankingSides(lists[:1], lists[1:])], p, ties
    )
    return float(compared.values[variant][0])


def _result(
    pairs: "_Compared", values: np.ndarray, metadata: dict, notes: tuple[str, ...]
) -> Similarity:
    """Separate the values of different runs from those of runs with themselves."""
    first, second = pairs.pairs
    itself = pairs.alone & (first == second)
    return Similarity(
        metadata,
        notes,
        measure=metadata["measure"],
        runs_a=pairs.runs_a,
        runs_b=pairs.runs_b,
        pairs=(first[~itself], second[~itself]),
        queries=pairs.queries,
        values=values[~itself],
        own=means(values[itself]),
    )


@dataclass(frozen=True)
class _Compared:
    """Runs that are compared, and their pairs.

    Attributes:
        runs_a: Runs, ascending.
        lists_a: Rankings of runs_a.
        runs_b: Other runs, or the same.
        lists_b: Rankings of runs_b.
        alone: whether runs_b are runs_a: then each run is also compared with itself.
    """

    runs_a: list[str]
    lists_a: Lists
    runs_b: list[str]
    lists_b: Lists
    alone: bool

    @cached_property
    def queries(self) -> list[str]:
        """All queries, ascending."""
        return sorted({*self.lists_a, *self.lists_b})

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the one run and of the other of each pair."""
        if self.alone:
            return np.triu_indices(len(self.runs_a))
        number = np.arange(len(self.runs_a) * len(self.runs_b))
        return np.divmod(number, max(1, len(self.runs_b)))

    @cached_property
    def places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, by query, the places of the runs that have it, of a and of b."""

        def places(runs: list[str], lists: Lists, query: str) -> np.ndarray:
            has = lists.get(query, {})
            return np.array([i for i, run in enumerate(runs) if run in has], np.int64)

        return [
            (places(self.runs_a, self.lists_a, q), places(self.runs_b, self.lists_b, q))
            for q in self.queries
        ]

    def sides(self) -> list[similarity_tiles.RankingSides]:
        """List the rankings of each query by run."""

        def lists(runs: list[str], of_query: dict[str, TiedList]) -> list[TiedList]:
            return [of_query[run] for run in runs if run in of_query]

        return [
            similarity_tiles.RankingSides(
                lists(self.runs_a, self.lists_a.get(query, {})),
                None if self.alone else lists(self.runs_b, self.lists_b.get(query, {})),
            )
            for query in self.queries
        ]

    def rows(self, compared: similarity_tiles.PairValues) -> np.ndarray:
        """Return the pairs that were compared."""
        a, b = self.places[compared.query]
        i, j, n = a[compared.a], b[compared.b], len(self.runs_b)
        return i * n + j - (i * (i + 1) // 2 if self.alone else 0)


def _check(pairs: _Compared, missing: str) -> None:
    """Refuse runs that cannot be compared, before the computation."""
    if pairs.alone and len(pairs.runs_a) == 1:
        raise DataError(
            f"run {pairs.runs_a[0]!r} is the only one",
            mend="Give another run to compare it with.",
        )
    if not any(len(a) > pairs.alone and len(b) for a, b in pairs.places):
        raise DataError(
            "no two runs have the same query", mend="Compare runs of the same queries."
        )
    for query, (a, b) in zip(pairs.queries, pairs.places, strict=True):
        for there, runs in ((a, pairs.runs_a), (b, pairs.runs_b)):
            if missing == "error" and len(there) < len(runs):
                run = next(run for i, run in enumerate(runs) if i not in there)
                raise DataError(
                    f"run {run!r} lacks query {query!r}, which another run has",
                    mend="Complete it, or choose missing zero or skip.",
                )


def _without(
    pairs: _Compared, missing: str, measure: str
) -> tuple[np.ndarray, list[str]]:
    """Return values of pairs and queries, where only one of two runs has the query.

    Returns:
        float64 `[pairs, queries]`: 0 for such a query with `zero`, else NaN; and notes.
    """
    first, second = pairs.pairs
    values = np.full((len(first), len(pairs.queries)), nan)
    lacking, count = np.zeros(len(values), bool), 0
    for i, (a, b) in enumerate(pairs.places):
        one = np.isin(first, a) != np.isin(second, b)
        lacking |= one
        count += int(one.sum())
        if missing == "zero":
            values[one, i] = 0.0
    if count:
        effect = "have the value 0" if missing == "zero" else "are left out"
        warnings.warn(
            f"{measure}: in {counted(int(lacking.sum()), 'pair')} of runs, only one "
            f"has a query: {counted(count, 'value')} in all {effect}",
            DataWarning,
            stacklevel=3,  # at the caller of rbo
        )
    compared = int((first != second).sum()) if pairs.alone else len(values)
    return values, [
        f"{measure}: {counted(compared, 'pair')} of runs, "
        + counted(len(pairs.queries), "query")
    ]
