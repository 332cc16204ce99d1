"""Comparisons of documents in pairs: how often each was preferred, and what links them.

Counts are whole numbers, so that their sums depend on no order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Int64
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pgcjax.errors import DataError, UsageError
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import UNIT, by_sides, weights_of
from pgcjax.judging.covariates import (
    Covariates,
    check_collinear,
    covariates_of,
    reading_covariates,
)


@dataclass(frozen=True)
class Comparisons:
    """Counts of preferences between documents, by pair; rows ascend.

    Where judges, or what sways them, are told apart, a row is of one judge and of one
    way to show the pair.

    Attributes:
        items: query_id, doc_id and, of each aspect apart, aspect; ascending.
        linked: number of the set of items that comparisons link, of each item; from 0,
            by the first item of each.
        both_ways: likewise, of items that are linked by wins both ways [Ford 1957].
        group: number of the aspect of each item, where aspects are told apart, or 0.
        first: item of each row.
        second: the other one, of a higher number.
        won: how often the first was preferred, in votes of 1 / `unit`.
        lost: how often the second was.
        tied: how often neither was.
        unit: what one vote counts.
        judges: group and name, ascending; "" of votes that name none.
        judge: whose each row is.
        sways: what may sway judges, as of `covariates_of`.
        swayed: towards the first, a column each.
    """

    items: pd.DataFrame
    linked: Int[np.ndarray, " items"]
    both_ways: Int[np.ndarray, " items"]
    group: Int[np.ndarray, " items"]
    first: Int[np.ndarray, " rows"]
    second: Int[np.ndarray, " rows"]
    won: Int64[np.ndarray, " rows"]
    lost: Int64[np.ndarray, " rows"]
    tied: Int64[np.ndarray, " rows"]
    unit: int
    judges: tuple[tuple[int, str], ...]
    judge: Int[np.ndarray, " rows"]
    sways: Covariates
    swayed: Float64[np.ndarray, "rows c"]

    @property
    def groups(self) -> int:
        """Count groups, of each of which judges and sway are its own."""
        return int(self.group.max()) + 1

    def wins(self) -> tuple[Float64[np.ndarray, " rows"], ...]:
        """Return votes for the first and second of each pair, a tie half for each."""
        half = 2 * self.unit  # exact: whole numbers below 2^53 over a power of 2
        sides = self.won, self.lost
        return tuple((2 * side + self.tied) / half for side in sides)


def compared(
    preferences: Any,
    *,
    aspects: bool = False,
    judges: bool = False,
    sway: Sequence[str] = (),
    lengths: Any = None,
    families: Mapping[str, str] | None = None,
    unit: int = UNIT,
) -> Comparisons:
    """Count comparisons of documents by query.

    A probability p counts p for its document and 1 - p for the other; a weight, as many
    votes. Judgments that a document is bad compare no two, and are left out.

    Args:
        preferences: as of `read_preferences`.
        aspects: whether each aspect of a query is a set of its own.
        judges: whether judges are told apart.
        sway: what may sway them, as of `covariates_of`.
        lengths: likewise.
        families: likewise.
        unit: what a vote counts where weights or probabilities are fractions.

    Raises:
        DataError: a row is malformed, or none compares two documents.
        UsageError: no judge is named, or something that may sway is not to be had.
    """
    with reading_covariates(sway):
        table = read_preferences(preferences)
    table = table[table["other_doc_id"].notna()]
    if table.empty:
        raise DataError("compare no two documents", where="preferences")
    items, doc, other = _items(table, aspects)
    turned = doc > other
    rows = {"low": np.minimum(doc, other), "high": np.maximum(doc, other)}
    group = pd.factorize(items["aspect"], sort=True)[0] if aspects else 0 * items.index
    group = np.asarray(group)
    names, rows["judge"] = (((0, ""),), 0 * doc)
    if judges:
        names, rows["judge"] = _judges(table, group[doc])
    sways = covariates_of(table, sway, lengths=lengths, families=families)
    towards = sways.known * np.where(turned, -1.0, 1.0)[:, None] + 0.0
    check_collinear(sways.names, towards.T @ towards)
    rows |= {f"sway {i}": column for i, column in enumerate(towards.T)}
    won, lost, tied, unit = _counts(table, unit)
    counts = {"won": np.where(turned, lost, won), "lost": np.where(turned, won, lost)}
    frame = pd.DataFrame({**rows, **counts, "tied": tied})
    sums = frame.groupby([*rows], sort=True).sum().reset_index()
    columns = ("low", "high", "won", "lost", "tied")
    first, second, won, lost, tied = (sums[c].to_numpy() for c in columns)
    return Comparisons(
        items.reset_index(drop=True),
        *links(first, second, won + tied > 0, lost + tied > 0, len(items)),
        *(group, first, second, won, lost, tied, unit, names),
        sums["judge"].to_numpy(),
        sways,
        sums[[f"sway {i}" for i in range(len(sways.names))]].to_numpy(np.float64),
    )


def _items(
    table: pd.DataFrame, aspects: bool
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """List the documents of each query, ascending, and the places of each row's two."""
    keys = ["query_id", *(["aspect"] if aspects else [])]
    sets = table.reindex(columns=keys).fillna("")
    sides = [sets.assign(doc_id=table[c]) for c in ("doc_id", "other_doc_id")]
    items = pd.concat(sides).drop_duplicates().sort_values([*keys, "doc_id"])
    index = pd.MultiIndex.from_frame(items)
    doc, other = (index.get_indexer(pd.MultiIndex.from_frame(s)) for s in sides)
    return items, doc, other


def links(
    first: np.ndarray, second: np.ndarray, up: np.ndarray, down: np.ndarray, items: int
) -> tuple[Int[np.ndarray, " items"], Int[np.ndarray, " items"]]:
    """Number sets of items linked by comparisons, and by wins (up, down) both ways."""
    both = np.r_[first[up], second[down]], np.r_[second[up], first[down]]
    weak = _components((first, second), items, "weak")
    return weak, _components(both, items, "strong")


def _judges(
    table: pd.DataFrame, group: np.ndarray
) -> tuple[tuple[tuple[int, str], ...], np.ndarray]:
    if "judge" not in table or table["judge"].isna().all():
        raise UsageError("no judge is named: preferences have no column judge")
    number, names = pd.factorize(table["judge"].fillna(""), sort=True)
    both, of_row = np.unique(group * len(names) + number, return_inverse=True)
    groups, who = np.divmod(both, len(names))
    named = zip(groups.tolist(), (str(names[i]) for i in who), strict=True)
    return tuple(named), of_row


def _counts(
    table: pd.DataFrame, unit: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Count votes of each row for its document, for the other, and for neither."""
    preference = table["preference"].to_numpy(np.float64)
    weight, p = weights_of(table), np.full(len(table), np.nan)
    if "probability" in table:
        p = table["probability"].to_numpy(np.float64)
    sides = by_sides(preference, weight, p, "both", unit)
    neither = np.where(np.isnan(p), preference == 0, p == 0.5)
    tied = np.where(neither, np.rint(weight * sides.unit), 0).astype(np.int64)
    return sides.doc, sides.other, tied, sides.unit


def _components(
    links: tuple[np.ndarray, np.ndarray],
    items: int,
    connection: Literal["weak", "strong"],
) -> Int[np.ndarray, " items"]:
    """Number sets of items that links hold together by the first item of each."""
    graph = coo_array((np.ones(len(links[0])), links), (items, items))
    _, label = connected_components(graph, connection=connection)
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
