"""The majority of votes, and what a split is."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.errors import UsageError
from pgcjax.files import read_preferences
from pgcjax.io.xie import read_xie_votes
from pgcjax.judging.majority import majority
from pgcjax.reference.image import most_frequent

VOTES = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2"]),
        st.sampled_from([("a", "b"), ("b", "a"), ("a", "c"), ("d", "b")]),
        st.sampled_from([-2.0, -1.0, 0.0, 1.0, 0.5]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=30,
)


def table(rows) -> pd.DataFrame:
    return read_preferences(
        pd.DataFrame(
            [(q, a, b, vote, n) for q, (a, b), vote, n in rows],
            columns=["query_id", "doc_id", "other_doc_id", "preference", "weight"],
        )
    )


@given(VOTES, st.sampled_from(["tie", "left", "drop"]))
def test_equals_the_twin(rows, split):
    signs, left = {}, {}
    for query, (a, b), vote, n in rows:
        key = query, *sorted((a, b))
        first = left.setdefault(key, a)
        sign = (vote > 0) - (vote < 0)
        signs.setdefault(key, []).extend([sign if a == first else -sign] * n)
    expected = {}
    for (query, low, high), votes in signs.items():
        first = left[query, low, high]
        pair = (low, high) if first == low else (high, low)
        sign = most_frequent(votes, split)
        if sign is not None:
            expected[query, *pair] = sign
    found = majority(table(rows), split=split)
    ours = {
        (r.query_id, r.doc_id, r.other_doc_id): r.preference for r in found.itertuples()
    }
    assert ours == expected
    assert len(found) == len(expected) and list(ours) == list(expected)


def test_without_weights_and_with_bad_documents():
    frame = pd.DataFrame(
        [("q", "a", "b", 1.0), ("q", "b", "a", -1.0), ("q", "c", None, -1.0)],
        columns=["query_id", "doc_id", "other_doc_id", "preference"],
    )
    assert majority(read_preferences(frame)).values.tolist() == [["q", "a", "b", 1.0]]


def test_unknown_split():
    with pytest.raises(
        UsageError, match="split is one of tie, left, drop, not 'right'"
    ):
        majority(table([("q1", ("a", "b"), 1.0, 1)]), split="right")


def test_public_votes(data):
    """Three votes on 41,538 pairs, of which 5 say left, tie and right."""
    votes = read_xie_votes(data / "xie2020")
    tied, left = majority(votes), majority(votes, split="left")
    assert len(tied) == len(left) == 41538
    differ = tied["preference"] != left["preference"]
    assert differ.sum() == 5
    assert set(tied["preference"][differ]) == {0.0}
    assert set(left["preference"][differ]) == {1.0}
    assert len(majority(votes, split="drop")) == 41538 - 5
