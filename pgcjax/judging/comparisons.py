"""Comparisons of documents in pairs: counts of preferences, and sets that they link.

Counts are whole numbers, so their sums do not depend on the order.
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
    """Counts of preferences between documents, by pair, in ascending rows.

    A row counts the votes on a pair; if judges or covariates are separated, those of
    one judge, or with equal covariates.

    Attributes:
        items: query_id, doc_id and, if aspects are separated, aspect; ascending.
        linked: Number of each item's set, in which comparisons link all items; from 0,
            in the order of first items.
        both_ways: Number of each item's set, in which wins link all items both ways
            [Ford 1957]; numbered likewise.
        group: Number of the aspect of each item; 0 unless aspects are separated.
        first: Number of the first item of each row.
        second: Number of the second item, which is higher.
        won: Votes for the first item, in units of 1 / `unit`.
        lost: Votes for the second item, in the same units.
        tied: Votes for neither, in the same units.
        unit: Count of one vote.
        judges: Group and name of each judge, ascending; "" for votes without a judge.
        judge: Number of the judge of each row.
        sways: Covariates of votes, as from `covariates_of`.
        swayed: Values of these covariates towards the first item, a column each.
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
        """Count groups, each of which has separate judges and effects."""
        return int(self.group.max()) + 1

    def wins(self) -> tuple[Float64[np.ndarray, " rows"], ...]:
        """Return votes for each row's first and second item; a tie is half of each."""
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

    A probability p counts p for its document and 1 - p for the other; a weight counts
    as many votes. Judgments that a single document is bad are left out.

    Args:
        preferences: Judgments, as in `read_preferences`.
        aspects: Whether each aspect of a query is a separate set.
        judges: Whether to separate judges.
        sway: Effects that may sway judges, as in `covariates_of`.
        lengths: As in `covariates_of`.
        families: As in `covariates_of`.
        unit: Count of one vote if weights or probabilities are fractions.

    Raises:
        DataError: a row is malformed, or none compares two documents.
        UsageError: no judge is named, or votes lack an effect that may sway judges.
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
    """List the items, ascending, and the places of each row's two documents."""
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
    """Number the sets of items that comparisons link, and that wins link both ways.

    Args:
        first: First item of each comparison.
        second: Second item of each comparison.
        up: Whether the first item won at least one vote.
        down: Whether the second item won at least one vote.
        items: Number of items.
    """
    wins = np.r_[first[up], second[down]], np.r_[second[up], first[down]]
    weak = _components((first, second), items, "weak")
    return weak, _components(wins, items, "strong")


def _judges(
    table: pd.DataFrame, group: np.ndarray
) -> tuple[tuple[tuple[int, str], ...], np.ndarray]:
    """List the judges of each group, and find the number of each row's judge."""
    if "judge" not in table or table["judge"].isna().all():
        raise UsageError("no judge is named: preferences have no column judge")
    number, names = pd.factorize(table["judge"].fillna(""), sort=True)
    codes, of_row = np.unique(group * len(names) + number, return_inverse=True)
    groups, numbers = np.divmod(codes, len(names))
    judges = zip(groups.tolist(), (str(names[i]) for i in numbers), strict=True)
    return tuple(judges), of_row


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
    """Number the connected components of items, in the order of their first items."""
    graph = coo_array((np.ones(len(links[0])), links), (items, items))
    _, label = connected_components(graph, connection=connection)
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
