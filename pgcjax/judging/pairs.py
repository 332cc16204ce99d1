"""Votes by pair of documents, whichever of the two a row names first."""

from __future__ import annotations

import numpy as np

from pgcjax.later import pd

UNORDERED = ["query_id", "low", "high"]
"""The columns that name a pair, whatever its order."""


def by_pair(table: pd.DataFrame) -> pd.DataFrame:
    """Put the two documents of each vote in the order of their ids.

    Args:
        table: Canonical preferences between two documents.

    Returns:
        A row for each row of the table, numbered from 0: query_id; low and high (the
        documents, ids ascending); turn (1 if low is doc_id, else -1); and sign (1 if
        low is preferred, -1 if high is, 0 for a tie).
    """
    doc, other = (table[c].to_numpy(object) for c in ("doc_id", "other_doc_id"))
    turned = doc > other
    turn = np.where(turned, -1.0, 1.0)
    columns = {
        "query_id": table["query_id"].to_numpy(object),
        "low": np.where(turned, other, doc),
        "high": np.where(turned, doc, other),
        "turn": turn,
        "sign": np.sign(table["preference"].to_numpy(np.float64)) * turn + 0.0,
    }
    return pd.DataFrame(columns)  # a tie has no negative zero
