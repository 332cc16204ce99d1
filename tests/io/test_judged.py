"""Judged documents are found by hashes as by comparing all of them."""

from itertools import groupby

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.order import no_repeat, outline

DOCS = [f"d{i}" for i in range(40)] + ["", "ü", "D1", "d1 "]
docs = st.lists(st.sampled_from(DOCS), max_size=40)
KEEPS = {  # of a hash of 64 bits
    "all": 2**64 - 1,
    "the lower": 2**20 - 1,
    "two": 2**63 + 1,
    "none": 0,
}


@pytest.mark.parametrize("kept", KEEPS)
@given(
    judged=st.dictionaries(st.sampled_from("pq"), docs.map(set).map(sorted)),
    retrieved=st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from(DOCS))),
)
def test_equal_hashes_are_no_equal_documents(kept, judged, retrieved):
    hash_of = pl.Series.hash

    def poor(docs: pl.Series) -> pl.Series:
        return hash_of(docs) & KEEPS[kept]

    known = JudgedDocuments(judged)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.Series, "hash", poor)
        rankings = [(q, len([*g])) for q, g in groupby(q for q, _ in retrieved)]
        query = np.array([known.number.get(q, -1) for q, _ in rankings], np.int32)
        length = np.array([count for _, count in rankings], np.int64)
        doc_id = pl.Series([doc for _, doc in retrieved], dtype=pl.String)
        hash_ = doc_id.hash().to_numpy()
        rows, codes = known.find(query, length, doc_id, hash_)
    code_of = {
        (query, doc): code for query, doc, code in known.table.iter_rows() if query >= 0
    }
    expected = {
        (i, code_of[number, doc])
        for i, (q, doc) in enumerate(retrieved)
        if (number := known.number.get(q)) is not None and (number, doc) in code_of
    }
    assert list(zip(rows.tolist(), codes.tolist(), strict=True)) == sorted(expected)


def test_a_repeat_is_in_doubt_but_never_missed():
    """Also in a ranking that goes on elsewhere; equal hashes say nothing."""
    names = ["run_id", "query_id", "doc_id"]
    rows = [("r", "q", "a"), ("r", "q", "b"), ("r", "p", "a"), ("s", "p", "a")]
    table = pl.DataFrame(rows, names, orient="row")
    assert no_repeat(table, outline(table))
    for more in (("s", "p", "a"), ("r", "q", "c")):
        longer = pl.DataFrame([*rows, more], names, orient="row")
        assert not no_repeat(longer, outline(longer))
    marks = outline(table)
    alike = marks._replace(hash_=np.ones(4, np.uint64))
    assert not no_repeat(table, alike)
