"""Several votes on a pair of documents as one judgment: that of the majority."""

from __future__ import annotations

import polars as pl

from pgcjax.errors import check_choice, refuse_forked
from pgcjax.io.fast_columns import of_pandas
from pgcjax.io.schema import PREFERENCES
from pgcjax.io.weights import whole_weights
from pgcjax.later import pd

TIE_BREAKS = ("tie", "left", "drop")
_PAIR = ["query_id", "low", "high"]


def majority(preferences: pd.DataFrame, *, split: str = "tie") -> pd.DataFrame:
    """Reduce the votes on each pair to the one that is most frequent.

    A vote is for the one document, for the other, or for neither (a tie), however
    strong it is. Documents that were judged bad, and not as a pair, are left out.

    Args:
        preferences: canonical, a row for each vote; a weight counts as many votes.
        split: the judgment where two or three votes are equally frequent: a `tie`;
            none (`drop`: the pair is left out); or `left`, the first of left, tie,
            right that is among these. Left is the document that the first vote on the
            pair names as doc_id. The published numbers of Xie et al. 2020 take `left`
            for the 5 of 41,538 pairs whose three votes all differ.

    Returns:
        A row for each pair, in the order in which they first appear: query_id, doc_id,
        other_doc_id, preference (1, -1 or, for a tie, 0).

    Raises:
        UsageError: `split` is none of these.

    Examples:
        >>> votes = [("q1", "a", "b", 1), ("q1", "b", "a", -1), ("q1", "a", "b", 0)]
        >>> majority(pd.DataFrame(votes, columns=PREFERENCES)).values.tolist()
        [['q1', 'a', 'b', 1.0]]
    """
    refuse_forked()
    check_choice("split", split, TIE_BREAKS)
    whole_weights(preferences, "a majority")
    pairs = _votes_by_pair(preferences)
    counts = "for_left", "for_tie", "for_right"
    most = pl.max_horizontal(*counts)
    wins = {name: pl.col(name) == most for name in counts}
    alone = pl.sum_horizontal(*(won.cast(pl.Int8) for won in wins.values())) == 1
    judged = pl.lit(True) if split == "left" else alone
    preference = (
        pl.when(judged & wins["for_left"])
        .then(1.0)
        .when(judged & wins["for_right"] & ~wins["for_tie"])
        .then(-1.0)
        .otherwise(0.0)
    )
    if split == "drop":
        pairs = pairs.filter(alone)
    table = pairs.with_columns(preference=preference).select(PREFERENCES)
    return table.to_pandas().astype({c: "str" for c in PREFERENCES[:3]})


def _votes_by_pair(preferences: pd.DataFrame) -> pl.DataFrame:
    """Count the votes on each pair: for_left, for_tie and for_right."""
    votes = of_pandas(preferences, [*PREFERENCES, "weight"]).filter(
        pl.col("other_doc_id").is_not_null()
    )
    left, right = pl.col("doc_id"), pl.col("other_doc_id")
    number = pl.col("weight") if "weight" in votes.columns else pl.lit(1.0)
    votes = votes.with_columns(
        low=pl.min_horizontal(left, right),
        high=pl.max_horizontal(left, right),
        number=number.cast(pl.Float64),
        sign=pl.col("preference").sign(),
    )
    # The first vote on a pair says which of the two is left for all its votes.
    first = left.first().over(_PAIR)
    votes = votes.with_columns(
        sign=pl.when(left == first).then(pl.col("sign")).otherwise(-pl.col("sign"))
    )
    counts = [
        pl.col("number").filter(pl.col("sign") == sign).sum().alias(name)
        for name, sign in (("for_left", 1), ("for_tie", 0), ("for_right", -1))
    ]
    return votes.group_by(_PAIR, maintain_order=True).agg(
        left.first(), right.first(), *counts
    )
