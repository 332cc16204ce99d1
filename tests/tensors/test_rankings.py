"""Runs as ranks: three conventions, ties, absence."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.errors import DataError
from pgcjax.kernels import ABSENT
from pgcjax.reference.order import ordered
from pgcjax.tables.runs import read_runs
from pgcjax.tensors.rankings import ORDERS, Rankings

ids = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1)


@given(
    st.dictionaries(ids, st.sampled_from([-1.5, 0.0, -0.0, 1e-9, 2.0]), min_size=1),
    st.sampled_from(ORDERS),
    st.randoms(use_true_random=False),
)
def test_every_order_equals_its_twin(scores, order, random):
    """On ids of any script: comparison is by code point, as by bytes of UTF-8."""
    ranks = list(range(len(scores)))
    random.shuffle(ranks)
    rows = [(d, s, float(r)) for (d, s), r in zip(scores.items(), ranks, strict=True)]
    frame = pd.DataFrame(rows, columns=["doc_id", "score", "rank"])
    rankings = Rankings(read_runs(frame.assign(query_id="q")), order)
    assert rankings.ranking("run", "q") == ordered(rows, order)


def test_ties_by_convention():
    runs = read_runs({"q": {"a": 1.0, "c": 1.0, "b": 2.0}})
    assert Rankings(runs, "trec").ranking("run", "q") == ["b", "c", "a"]
    assert Rankings(runs, "clarke").ranking("run", "q") == ["b", "a", "c"]


def test_ranks_of_judged_documents_among_all():
    runs = read_runs(
        {"r1": {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "r2": {"p": {"a": 1.0}}}
    )
    rankings = Rankings(runs, "trec")
    ranks = rankings.ranks("q", np.array(["a", "b", "c"], object))
    assert ranks.tolist() == [[0, 2, ABSENT], [ABSENT] * 3]
    assert rankings.ranks("none", np.array(["a"], object)).tolist() == [[ABSENT]] * 2
    assert rankings.retrieved(["p", "q", "none"]).tolist() == [
        [False, True, False],
        [True, False, False],
    ]


def test_rank_order_needs_ranks_that_order():
    frame = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b"], "score": 1.0, "rank": [1, 1]}
    )
    with pytest.raises(DataError, match="'a' and 'b' of query 'q' the same rank 1"):
        Rankings(read_runs(frame), "rank")
    with pytest.raises(DataError, match="no usable rank for document 'a'"):
        Rankings(read_runs(frame.drop(columns="rank")), "rank")
    only_ranks = frame.assign(rank=[2, 1]).drop(columns="score")
    for order in ORDERS:
        rankings = Rankings(read_runs(only_ranks), order)
        assert rankings.ranking("run", "q") == ["b", "a"]
