"""Runs as ranks: three conventions, ties, absence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.builders import rankings_of, run_table
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.errors import DataError
from pgcjax.io.choices import ORDERS
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.runs import RunTable
from pgcjax.reference.order import ordered
from pgcjax.tensors.rankings import Rankings, find

ids = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1)


def docs(*names) -> np.ndarray:
    return np.array(names, object)


def best_first(runs, order) -> list[str]:
    """The documents of query q, as all of them judged and retrieved."""
    judged = np.array(sorted(set(run_table(runs)["doc_id"])), object)
    found = rankings_of(runs, {"q": judged}, order).retrieved({"q": judged})["q"]
    assert found.rank.tolist() == list(range(len(judged)))
    return [str(d) for d in judged[found.vertex]]


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
    assert best_first(frame.assign(query_id="q"), order) == ordered(rows, order)
    # In the right order already, which takes a shorter path.
    twin = ordered(rows, order)
    frame = frame.set_index("doc_id").loc[twin].reset_index()
    assert best_first(frame.assign(query_id="q"), order) == twin


def test_ranks_of_judged_documents_among_all():
    runs = {"r1": {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "r2": {"p": {"a": 1.0}}}
    judged = {"none": docs("a"), "p": docs("b"), "q": docs("a", "b", "c")}
    rankings = rankings_of(runs, judged)
    found = rankings.retrieved(judged)["q"]
    assert found.run.tolist() == [0, 0]
    assert found.vertex.tolist() == [0, 1]
    assert found.rank.tolist() == [0, 2]
    some = rankings.retrieved({"q": docs("b", "c")})["q"]
    assert (some.vertex.tolist(), some.rank.tolist()) == ([0], [2])
    assert not rankings.retrieved(judged)["none"].count.any()
    assert rankings.query_ids == {"p", "q"}
    assert rankings.answered(["p", "q", "none"]).tolist() == [
        [False, True, False],
        [True, False, False],
    ]


def test_a_table_of_several_runs_query_by_query():
    """Each ranking stands together and in order, but runs take turns."""
    rows = [
        ("r2", "q1", "a", 2.0),
        ("r2", "q1", "b", 1.0),
        ("r1", "q1", "b", 2.0),
        ("r2", "q2", "b", 3.0),
        ("r1", "q2", "a", 2.0),
    ]
    frame = pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])
    judged = {"q1": docs("a", "b"), "q2": docs("a", "b")}
    known = JudgedDocuments(judged)
    rankings = Rankings(
        known,
        [find(RunTable(pl.from_pandas(run_table(frame))), known, "trec")],
    )
    assert rankings.run_ids == ["r2", "r1"]
    for query, run, vertex, rank in (
        ("q1", [0, 0, 1], [0, 1, 1], [0, 1, 0]),
        ("q2", [0, 1], [1, 0], [0, 0]),
    ):
        found = rankings.retrieved(judged)[query]
        assert (found.run.tolist(), found.vertex.tolist()) == (run, vertex)
        assert found.rank.tolist() == rank


def test_rank_order_needs_ranks_that_order():
    frame = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b"], "score": 1.0, "rank": [1, 1]}
    )
    with pytest.raises(DataError, match="'a' and 'b' of query 'q' the same rank 1"):
        best_first(frame, "rank")
    with pytest.raises(DataError, match="no usable rank for document 'a'"):
        best_first(frame.drop(columns="rank"), "rank")
    only_ranks = frame.assign(rank=[2, 1]).drop(columns="score")
    for order in ORDERS:
        assert best_first(only_ranks, order) == ["b", "a"]


def test_documents_of_several_tables_of_runs():
    """Of several tables of runs, whose documents are read one after the other."""
    rng = np.random.default_rng(0)
    judged = {f"q{q}": docs(*(f"d{i}" for i in range(q + 2))) for q in range(4)}
    runs = {
        f"r{r}": {
            query: {doc: float(rng.random()) for doc in rng.permutation(some)[:3]}
            for query, some in judged.items()
        }
        for r in range(5)
    }
    rankings = rankings_of(runs, judged)
    retrieved = rankings.retrieved(judged)
    for query, some in judged.items():
        found = retrieved[query]
        for i, run in enumerate(runs):
            ranked = runs[run][query]
            vertices, ranks = found.of_runs(slice(i, i + 1))
            best = sorted(ranked, key=lambda doc: -ranked[doc])  # noqa: B023
            assert some[vertices].tolist() == best
            assert ranks.tolist() == list(range(len(best)))


def test_codes_of_documents():
    a = {"q2": docs("b", "c"), "q1": docs("x")}
    b = {"q2": docs("a", "b"), "q3": docs("x")}
    known = JudgedDocuments(a, b)
    assert list(known.docs) == ["q1", "q2", "q3"]
    assert sorted(known.docs["q2"]) == ["a", "b", "c"]
    assert known.codes(a) is known.codes(dict(a))
    assert known.codes(a)[0] == known.codes(b)[1]  # b of q2
    table = pl.DataFrame(
        {"query_id": ["q3", "q1", "q9", "q2"], "doc_id": ["x", "b", "x", "c"]}
    )
    assert known.codes(table).tolist() == [known.codes(b)[2], -1, -1, known.codes(a)[1]]
    back = known.spread(b, np.array([5, 6, 7], np.int32))
    assert back[known.codes(b)].tolist() == [5, 6, 7]
    assert back[known.codes(a)].tolist() == [6, -1, -1]
