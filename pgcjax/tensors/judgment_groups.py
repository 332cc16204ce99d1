"""Judgment groups of trec_eval: which of their documents are relevant, and pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgcjax.io.choices import LEVELS
from pgcjax.io.weights import whole_weights
from pgcjax.kernels.judgment_groups import (
    NONRELEVANT,
    ONE_SUBGROUP,
    RELEVANT,
    SUBGROUPS,
    GroupCounts,
)
from pgcjax.later import pd


class JudgedGroups(NamedTuple):
    """The judgment groups of all queries.

    Attributes:
        docs: Documents of each query, ascending; queries ascending.
        counts: Counts of each query's groups, ascending by name.
    """

    docs: dict[str, np.ndarray]
    counts: dict[str, GroupCounts]


def judged_groups(preferences: pd.DataFrame) -> JudgedGroups:
    """Collect the relevant documents and the preferences of judgment groups.

    Args:
        preferences: canonical, with the columns `choices.LEVELS`. A judge is a group.
    """
    table = preferences.assign(
        judge=preferences["judge"].fillna("") if "judge" in preferences else "",
        times=whole_weights(preferences, "a measure of pairs"),
    )
    out = JudgedGroups({}, {})
    for query, of_query in table.groupby("query_id", sort=True):
        out.docs[str(query)], out.counts[str(query)] = _of_query(of_query)
    return out


def _of_query(table: pd.DataFrame) -> tuple[np.ndarray, GroupCounts]:
    ends = table[["doc_id", "other_doc_id"]].to_numpy(object)
    docs, vertex = np.unique(ends.astype(str), return_inverse=True)
    group = pd.factorize(table["judge"], sort=True)[0]
    # A row for each group and document, ascending by both.
    keys = group[:, None] * len(docs) + vertex.reshape(-1, 2)
    level, other_level, subgroups = (table[c].to_numpy(float) for c in LEVELS)
    rows, first, row = np.unique(keys, return_index=True, return_inverse=True)
    relevant = np.stack([level, other_level], axis=1).reshape(-1)[first] > 0
    sign, row = table["preference"].to_numpy(float), row.reshape(-1, 2)
    turned = np.where(sign[:, None] < 0, row[:, ::-1], row)[sign != 0]
    several = np.zeros(group.max() + 1, bool)
    several[group[subgroups > 1]] = True
    return docs.astype(object), GroupCounts(
        vertex=(rows % len(docs)).astype(np.int32),
        group=(rows // len(docs)).astype(np.int32),
        kind=np.where(relevant, RELEVANT, NONRELEVANT).astype(np.int32),
        better=turned[:, 0].astype(np.int32),
        worse=turned[:, 1].astype(np.int32),
        times=table["times"].to_numpy(np.int64)[sign != 0],
        form=np.where(several, SUBGROUPS, ONE_SUBGROUP).astype(np.int32),
    )
