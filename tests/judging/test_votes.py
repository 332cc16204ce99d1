"""Votes from preferences: one of each judge on each pair, in named options."""

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import UsageError
from pgcjax.judging.votes import collect, encode, label

COLUMNS = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]


def prefs(*rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


def said(votes) -> list[tuple]:
    """Pair, judge and option of each vote, in words."""
    pairs = votes.pairs.to_numpy().tolist()
    return [
        (*pairs[p], votes.judges[j] if j >= 0 else None, votes.options[o], int(w))
        for p, j, o, w in zip(
            votes.pair, votes.judge, votes.option, votes.weight, strict=True
        )
    ]


def test_options_are_named_and_ordered():
    assert [label(v) for v in (-2, -1, 0, 1, 2)] == [
        "A<<B",
        "A<B",
        "A=B",
        "A>B",
        "A>>B",
    ]
    assert label(-0.5) == "A<B 0.5" and label(3) == "A>B 3"
    values = np.array([2.0, -1.0, 0.0, np.nan, np.nan])
    options, mirrored, code = encode(values, "all", "any")
    assert options == ("A<<B", "A<B", "A=B", "A>B", "A>>B", "A,B bad")
    assert mirrored.tolist() == [4, 3, 2, 1, 0, 5]
    assert code.tolist() == [4, 1, 2, 5, 5]
    options, _, code = encode(values, "strict", "any")
    assert options == ("A<B", "A>B", "A,B bad") and code.tolist() == [1, 0, -1, 2, 2]
    options, _, code = encode(values, "all", "given")
    assert options == ("A<B", "A=B", "A>>B", "A,B bad")


def test_refused_options():
    with pytest.raises(UsageError) as error:
        encode(np.array([-1.0]), "five", "any")
    assert str(error.value) == "grouping is one of all, sign, strict, not 'five'"
    with pytest.raises(UsageError, match="have 202 different values"):
        encode(np.arange(1.0, 102.0), "all", "any")


def test_pairs_are_turned_so_that_the_first_id_is_a():
    votes = collect(
        prefs(
            ("q", "b", "a", 2, "y"), ("q", "a", "b", -1, "x"), ("p", "b", "c", 0, "x")
        ),
        grouping="all",
    )
    assert said(votes) == [
        ("p", "b", "c", "x", "A=B", 1),
        ("q", "a", "b", "x", "A<B", 1),
        ("q", "a", "b", "y", "A<<B", 1),
    ]
    assert votes.sign.tolist() == [0, -1, -1]
    assert votes.counts().tolist() == [[0, 0, 1, 0, 0], [1, 1, 0, 0, 0]]


def test_a_judge_has_one_vote_on_a_pair():
    table = prefs(
        ("q", "a", "b", 1, "x"),
        ("q", "b", "a", -2, "x"),
        ("q", "a", "c", 1, "x"),
        ("q", "c", "a", 1, "x"),
        ("q", "c", "a", 1, "x"),
    )
    votes = collect(table)
    assert said(votes) == [("q", "a", "b", "x", "A>B", 1)]
    assert votes.notes == (
        "left out: judgments by which a judge contradicts himself, 1 time",
    )
    assert len(collect(table, grouping="all").pair) == 0  # 1 and 2 are different things


def test_without_names_each_judgment_is_a_vote():
    table = prefs(("q", "a", "b", 1, None), ("q", "b", "a", 1, None)).assign(
        weight=[3, 1]
    )
    assert [row[3:] for row in said(collect(table))] == [
        (None, "A<B", 1),
        (None, "A>B", 3),
    ]
    named = table.assign(judge=["x", None])
    assert collect(named).weight.tolist() == [1, 1]
    assert collect(named.drop(columns="judge")).weight.tolist() == [1, 3]


def test_sides_as_given():
    table = prefs(
        ("q", "b", "a", 1, "x"), ("q", "b", "a", -1, "y"), ("q", "a", "c", 1, "x")
    )
    assert said(collect(table, sides="given")) == [
        ("q", "b", "a", "x", "A>B", 1),
        ("q", "b", "a", "y", "A<B", 1),
        ("q", "a", "c", "x", "A>B", 1),
    ]
    both = prefs(("q", "b", "a", 1, "x"), ("q", "a", "b", 1, "y"))
    two = collect(both, sides="given")  # in both orders, it is two pairs
    assert said(two) == [("q", "a", "b", "y", "A>B", 1), ("q", "b", "a", "x", "A>B", 1)]
    assert two.notes == ("1 pair in both orders: each order is a pair",)
    # What was shown first says more than which document is given first.
    assert said(collect(both.assign(first="a"), sides="given")) == [
        ("q", "a", "b", "x", "A<B", 1),
        ("q", "a", "b", "y", "A>B", 1),
    ]
    with pytest.raises(UsageError, match="sides is one of any, given, not 'left'"):
        collect(both, sides="left")
    with pytest.raises(UsageError, match="have no sides"):
        collect(both, sides="given", bad=True)


def test_bad_documents_imply_votes_on_what_the_judge_saw():
    table = prefs(
        ("q", "a", "b", 2, "x"),
        ("q", "c", None, -1, "x"),
        ("q", "d", None, -1, "x"),
        ("q", "c", "a", 1, "x"),  # said, and stands
        ("q", "e", "f", 1, "y"),  # seen by another judge
        ("p", "c", "g", 1, "x"),  # and of another query
    )
    votes = collect(table, grouping="all", bad=True)
    assert sorted(said(votes)) == sorted(
        [
            ("p", "c", "g", "x", "A>B", 1),
            ("q", "a", "b", "x", "A>>B", 1),
            ("q", "a", "c", "x", "A<B", 1),
            ("q", "a", "d", "x", "A>B", 1),
            ("q", "b", "c", "x", "A>B", 1),
            ("q", "b", "d", "x", "A>B", 1),
            ("q", "c", "d", "x", "A,B bad", 1),
            ("q", "e", "f", "y", "A>B", 1),
        ]
    )
    assert votes.notes == ()
    without = collect(table, grouping="all")
    assert without.notes == ("left out: 2 judgments that a document is bad",)
    assert len(without.pair) == 4
    # Without names, the rows are of one judge.
    one = collect(table.drop(columns="judge").iloc[:3], bad=True)
    assert len(one.pairs) == 6 and one.judges == ()


def test_only_some_judges():
    table = prefs(
        ("q", "a", "b", 1, "x"), ("q", "a", "b", 0, "y"), ("q", "a", "b", 0, None)
    )
    assert said(collect(table, judges=["y"])) == [("q", "a", "b", "y", "A=B", 1)]
    with pytest.raises(UsageError, match="no judge 'z'; there are x, y"):
        collect(table, judges=["y", "z"])
    with pytest.raises(UsageError, match="no judge 'z'; no row names one"):
        collect(table.drop(columns="judge"), judges=["z"])
    with pytest.raises(UsageError, match="no judge is asked for; there are x, y"):
        collect(table, judges=[])


def test_nothing_left_is_no_error():
    bad = prefs(("q", "a", None, -1, "x"))
    votes = collect(bad)
    assert len(votes.pairs) == len(votes.pair) == 0
    assert votes.counts().shape == (0, 0)
    tie = collect(prefs(("q", "a", "b", 0, "x")), grouping="strict")
    assert len(tie.pair) == 0
    assert tie.notes == ("left out: 1 judgment of an option that is in no group",)
