"""Do judges of pairs agree with grades, and with what grades imply?"""

from math import isnan

import numpy as np
import pandas as pd
import pytest
from helpers.judged import judgments, prefs, shuffled, single_votes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.judging.agreement import (
    judge_agreement,
    preferences_from_grades,
)

QRELS = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}}


def test_a_small_example_by_hand():
    table = prefs(
        ("q", "a", "b", 2, "x"),  # agrees
        ("q", "d", "a", -1, "y"),  # agrees
        ("q", "d", "b", 1, "y"),  # disagrees
        ("q", "b", "c", 1, "x"),  # equal grades
        ("q", "c", "b", 0, "y"),  # equal grades, and a tie
        ("q", "a", "c", 0, "y"),  # a tie
        ("q", "a", "e", 1, "y"),  # e has no grade
    )
    found = pgcjax.judgments.grade_agreement(table, QRELS)
    rows = found.table.set_index("judge")
    whole = rows.loc["all"]
    names = ["votes", "agree", "disagree", "ties_grades", "ties_votes", "ties_both"]
    assert whole[names].tolist() == [6, 2, 1, 1, 1, 1]
    assert rows.loc["x", names].tolist() == [2, 1, 0, 1, 0, 0]
    assert rows.loc["y", names].tolist() == [4, 1, 1, 0, 1, 1]
    assert whole["chi2"] == pytest.approx((2 - 1) ** 2 / 3)
    assert whole["agree_p_exact"] == pytest.approx(0.5)
    assert whole["undefined"] == ""
    # Rows: A, B, a tie by grades; columns: by votes; A is the first id.
    assert found.contingency["all"].tolist() == [[2, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert found.options.loc["A>>B"].tolist() == [1, 0, 0]
    assert found.options.loc["A=B"].tolist() == [1, 0, 1]
    assert found.notes == ("left out: 1 pair with a document that has no grade",)


graded = st.dictionaries(
    st.sampled_from("pq"),
    st.dictionaries(st.sampled_from("abcde"), st.integers(0, 2), min_size=2),
    min_size=1,
)


@given(judgments(), graded)
def test_counts_one_by_one(table, qrels):
    found = pgcjax.judgments.grade_agreement(table, qrels)
    expected = np.zeros((3, 3), int)
    place = {1: 0, -1: 1, 0: 2}
    for (query, a, b), votes in single_votes(table, np.sign).items():
        grades = qrels.get(query, {})
        if a in grades and b in grades:
            grade = np.sign(grades[a] - grades[b])
            for vote in votes:
                expected[place[grade], place[np.sign(vote)]] += 1
    assert found.contingency["all"].tolist() == expected.tolist()
    row = found.table.iloc[0]
    assert row["votes"] == expected.sum()
    options = np.zeros(3, int)
    for (query, a, b), votes in single_votes(table).items():
        grades = qrels.get(query, {})
        if a in grades and b in grades:
            options[place[np.sign(grades[a] - grades[b])]] += len(votes)
    assert found.options.sum().tolist() == options.tolist()
    agree, disagree = row["agree"], row["disagree"]
    if agree + disagree:
        assert row["chi2"] == pytest.approx(
            (agree - disagree) ** 2 / (agree + disagree)
        )
        flip = stats.chisquare([agree, disagree])
        assert row["chi2_p"] == pytest.approx(flip.pvalue)
    else:
        assert isnan(row["chi2"]) and "chi2" in row["undefined"]


@settings(max_examples=10)
@given(judgments(), graded)
def test_order_and_sides_of_rows_mean_nothing(table, qrels):
    one = pgcjax.judgments.grade_agreement(table, qrels)
    other = pgcjax.judgments.grade_agreement(shuffled(table), qrels)
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    pd.testing.assert_frame_equal(one.options, other.options)


def test_sides_as_given_make_a_table_of_two_sides():
    rows = [
        ("q", f"l{i}", f"r{i}", sign, None) for i, sign in enumerate([1] * 8 + [-1] * 4)
    ]
    grades = {f"l{i}": int(i < 6) for i in range(12)} | {
        f"r{i}": 0.5 for i in range(12)
    }
    found = pgcjax.judgments.grade_agreement(prefs(*rows), {"q": grades}, sides="given")
    corner = np.array([[6, 0], [2, 4]])
    assert found.contingency["all"][:2, :2].tolist() == corner.tolist()
    expected = stats.chi2_contingency(corner, correction=False)
    assert found.table["chi2"][0] == pytest.approx(expected.statistic)


def test_public_preferences_follow_grades(data):
    found = pgcjax.judgments.grade_agreement(
        sorted((data / "dl21" / "gpt4o").glob("judge.0*")),
        data / "dl21" / "qrels.dl21-passage.txt.gz",
    )
    row = found.table.iloc[0]
    assert row["votes"] == 43_939
    assert row["agree"] + row["disagree"] + row["ties_grades"] == 43_939
    assert row["agree"] > 2 * row["disagree"] and row["chi2_p"] < 1e-9


def test_preferences_of_grades():
    grades = pd.DataFrame(
        [
            ("q", "a", 2, "x"),
            ("q", "b", 2, "x"),
            ("q", "c", 0, "x"),
            ("q", "a", 1, "y"),
            ("q", "b", 0, "y"),
            ("p", "a", 1, "y"),
        ],
        columns=["query_id", "doc_id", "relevance", "judge"],
    )
    found = preferences_from_grades(grades)
    assert found.to_numpy().tolist() == [
        ["q", "a", "b", 0.0, "x"],
        ["q", "a", "c", 1.0, "x"],
        ["q", "b", "c", 1.0, "x"],
        ["q", "a", "b", 1.0, "y"],
    ]
    judge_agreement(found)  # is what it takes
    alone = preferences_from_grades(
        grades[grades["judge"] == "x"].drop(columns="judge")
    )
    assert "judge" not in alone and len(alone) == 3
    twice = pd.concat([grades, grades.iloc[:1].assign(relevance=1)])
    with pytest.raises(DataError, match="has two grades"):
        preferences_from_grades(twice)


def test_wrong_use():
    table = prefs(("q", "a", "b", 1, "x"))
    with pytest.raises(DataError, match="two grades"):
        both = [("q", "a", 1), ("q", "a", 2)]
        columns = ["query_id", "doc_id", "relevance"]
        pgcjax.judgments.grade_agreement(table, pd.DataFrame(both, columns=columns))
    with pytest.raises(UsageError, match="no judge 'z'"):
        pgcjax.judgments.grade_agreement(table, QRELS, judges=["z"])
    nothing = pgcjax.judgments.grade_agreement(table, {"p": {"a": 1}})
    assert nothing.table["votes"].tolist() == [0, 0]
    assert "chi2" in nothing.table["undefined"][0]
