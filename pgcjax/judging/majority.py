"""Several votes on a pair of documents reduced to the judgment of the majority."""

from __future__ import annotations

import numpy as np

from pgcjax.errors import check_choice
from pgcjax.io.schema import PREFERENCES
from pgcjax.io.weights import whole_weights
from pgcjax.judging.contingency import most_frequent
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.later import pd

TIE_BREAKS = ("tie", "left", "drop")


def majority(preferences: pd.DataFrame, *, split: str = "tie") -> pd.DataFrame:
    """Reduce the votes on each pair to the most frequent one.

    A vote is for one document, for the other, or for neither (a tie), whatever its
    strength. Judgments that a single document is bad are left out.

    Args:
        preferences: Canonical, a row for each vote; a weight counts as many votes.
        split: Judgment where two or three votes are equally frequent: a `tie`; `drop`
            leaves the pair out; `left` takes the first of left, tie and right that is
            among them. Left is the document that the first vote on the pair names as
            doc_id. The published numbers of Xie et al. 2020 take `left` for the 5 of
            41,538 pairs whose three votes all differ.

    Returns:
        A row for each pair, in the order in which they first appear: query_id, doc_id,
        other_doc_id, preference (1, -1 or, for a tie, 0).

    Raises:
        UsageError: `split` is unknown.

    Examples:
        >>> votes = [("q1", "a", "b", 1), ("q1", "b", "a", -1), ("q1", "a", "b", 0)]
        >>> majority(pd.DataFrame(votes, columns=PREFERENCES)).values.tolist()
        [['q1', 'a', 'b', 1.0]]
    """
    check_choice("split", split, TIE_BREAKS)
    weight = whole_weights(preferences, "a majority")
    both = preferences["other_doc_id"].notna().to_numpy()
    votes, weight = preferences[both], weight[both]
    pairs = by_pair(votes)
    pair = pairs.groupby(UNORDERED, sort=False).ngroup().to_numpy()
    first = np.unique(pair, return_index=True)[1]
    # The first vote on a pair defines the left document for all its votes.
    sign = pairs["sign"].to_numpy() * pairs["turn"].to_numpy()[first][pair]
    cell = 3 * pair + (1 - sign).astype(np.int64)  # left, tie, right
    counts = np.bincount(cell, weight, 3 * len(first)).reshape(-1, 3)
    option, alone = most_frequent(counts)
    preference = 1.0 - option
    if split != "left":
        preference = np.where(alone, preference, 0.0)
    table = votes[[*PREFERENCES[:3]]].iloc[first].assign(preference=preference)
    table = table[alone] if split == "drop" else table
    return table.reset_index(drop=True).astype({c: "str" for c in PREFERENCES[:3]})
