"""Do judges agree? Against textbooks, other code, plain twins and published tables."""

from math import isnan

import numpy as np
import pandas as pd
import pytest
from helpers.judged import judgments, prefs, shuffled, single_votes
from helpers.twins import correlation as cohen
from helpers.twins import judgments as twin
from hypothesis import given, settings
from statsmodels.stats.inter_rater import fleiss_kappa as theirs

import pgcjax
from pgcjax.errors import DataError
from pgcjax.io.xie import read_xie_votes
from pgcjax.judging.agreement import (
    compare_agreement,
    fleiss_kappa,
    judge_agreement,
    share_ties,
)
from pgcjax.judging.votes import label

# The usual worked example: 10 subjects, 14 raters, 5 categories, kappa .210.
FLEISS = """0 0 0 0 14; 0 2 6 4 2; 0 0 3 5 6; 0 3 9 2 0; 2 2 8 1 1
7 7 0 0 0; 3 2 6 3 0; 2 5 3 2 2; 6 5 2 1 0; 0 2 2 3 7""".replace("\n", ";")
# Carterette et al. 2008, Tables 2(a), 2(b) and 3: shares of rows, and totals.
PREFERRED = [[0.752, 0.033, 0.215], [0.208, 0.567, 0.225], [0.201, 0.034, 0.765]]
INFERRED = [[0.657, 0.051, 0.292], [0.297, 0.380, 0.323], [0.278, 0.053, 0.669]]
TOTALS = [2580, 413, 2757], [2530, 437, 2654]


def test_a_textbook_example():
    counts = np.array([row.split() for row in FLEISS.split(";")], int)
    assert fleiss_kappa(counts) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(counts) == pytest.approx(theirs(counts), abs=1e-12)


def test_items_with_one_vote_do_not_count_and_kappa_can_be_undefined():
    two = np.array([[2, 0], [1, 1], [0, 2]])
    assert fleiss_kappa(np.vstack([two, [[1, 0]] * 5])) == fleiss_kappa(two)
    assert isnan(fleiss_kappa(np.array([[3, 0], [2, 0]])))
    assert isnan(fleiss_kappa(np.array([[1, 0], [0, 1]])))
    assert isnan(fleiss_kappa(np.zeros((0, 2))))


@given(judgments())
def test_equals_the_plain_twin(table):
    found = judge_agreement(table)
    votes = [v for v in single_votes(table).values() if len(v) > 1]
    assert (found.pairs, found.votes) == (len(votes), sum(map(len, votes)))
    counts = twin.agreement_table([[label(v) for v in item] for item in votes])
    for one in found.table.index:
        for other in found.table.columns:
            assert found.table.loc[one, other] == counts.get((one, other), 0)
    total = sum(counts.values())
    agreed = sum(n for (one, other), n in counts.items() if one == other)
    if not total:
        assert isnan(found.agreement) and isnan(found.kappa)
        return
    assert found.agreement == pytest.approx(agreed / total, abs=1e-12)
    shares = [twin.share_of_equal(item) for item in votes if len(item) > 1]
    assert found.observed == pytest.approx(sum(shares) / len(shares), abs=1e-12)
    both_ways = [*votes, *([-v for v in item] for item in votes)]
    if len({v for item in both_ways for v in item}) > 1:
        expected = twin.fleiss_kappa([[str(v) for v in item] for item in both_ways])
        assert found.kappa == pytest.approx(expected, abs=1e-12)
    else:
        assert isnan(found.kappa)


@given(judgments())
def test_two_judges_equal_the_plain_twin(table):
    found = judge_agreement(table, grouping="sign").judges
    sign = {-2: -1, -1: -1, 0: 0, 1: 1, 2: 1}
    said = {
        who: single_votes(table[table["judge"] == who], lambda v: sign[v])
        for who in "xyz"
    }
    rows = {(a, b): row for a, b, *row in found.itertuples(index=False, name=None)}
    for a, b in (("x", "y"), ("x", "z"), ("y", "z")):
        common = [p for p in said[a] if said[a][p] and said[b].get(p)]
        if not common:
            assert (a, b) not in rows
            continue
        first, second = ([said[who][p][0] for p in common] for who in (a, b))
        n, agree, share, kappa, jaccard = rows[a, b]
        assert n == len(common)
        assert agree == sum(x == y for x, y in zip(first, second, strict=True))
        assert share == agree / n
        assert jaccard == pytest.approx(cohen.jaccard(first, second))
        first, second = ([*x, *(-v for v in x)] for x in (first, second))
        if len(set(first)) > 1 or len(set(second)) > 1 or first != second:
            assert kappa == pytest.approx(cohen.kappa(first, second), abs=1e-12)
        else:
            assert isnan(kappa)


@settings(max_examples=10)
@given(judgments())
def test_order_and_sides_of_rows_mean_nothing(table):
    one, other = judge_agreement(table), judge_agreement(shuffled(table))
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    pd.testing.assert_frame_equal(one.judges, other.judges, check_exact=True)
    assert one.kappa == other.kappa or isnan(one.kappa) and isnan(other.kappa)


def test_a_small_example_by_hand():
    table = prefs(
        ("q", "a", "b", 2, "x"),
        ("q", "a", "b", 1, "y"),
        ("q", "a", "c", 0, "x"),
        ("q", "c", "a", 0, "y"),
    )
    found = judge_agreement(table)
    # One pair of two agrees. Both ways round, four of eight votes are ties, and one is
    # A>>B, A>B, A<B, A<<B each: chance is 1/4 + 4/64, kappa (1/2 - 5/16) / (11/16).
    assert found.agreement == 0.5
    assert found.kappa == pytest.approx((1 / 2 - 5 / 16) / (11 / 16))
    assert found.table.loc["A>B", "A>>B"] == found.table.loc["A>>B", "A>B"] == 1
    assert found.shares().loc["A=B", "A=B"] == 1
    assert judge_agreement(table, grouping="sign").kappa == 1
    given_sides = judge_agreement(table.iloc[:2], sides="given")
    assert given_sides.kappa == pytest.approx((0 - 1 / 2) / (1 / 2))
    assert given_sides.judges["kappa"].tolist() == [0]


def test_bad_documents_are_an_option():
    table = prefs(
        *(
            ("q", doc, None, -1, who)
            for who, docs in (("x", "bc"), ("y", "bc"), ("z", "c"))
            for doc in docs
        ),
        *(("q", "a", "b", 1, who) for who in "xyz"),
    )
    found = judge_agreement(table, bad=True)
    assert found.table.loc["A,B bad", "A,B bad"] == 2
    assert found.table.loc["A,B bad", "A>B"] == 2  # to z, b is better than c
    assert found.pairs == 3 and found.notes == ()
    without = judge_agreement(table)
    assert without.pairs == 1
    assert without.notes == ("left out: 5 judgments that a document is bad",)


def published(shares, totals) -> np.ndarray:
    return np.array(shares) * np.array(totals)[:, None]


def test_published_agreement_of_real_and_inferred_preferences():
    # The paper's tables show each two judgments from both sides, as ours do ...
    tables = [
        published(s, n) for s, n in zip((PREFERRED, INFERRED), TOTALS, strict=True)
    ]
    for table in tables:
        assert np.allclose(table, table.T, atol=2.5)
    # ... and its χ² of 143 takes both for judgments; with each two once it is half.
    chi2, p = compare_agreement(*(2 * table for table in tables))
    assert chi2 == pytest.approx(143, abs=2) and p < 1e-30
    assert compare_agreement(*tables)[0] == pytest.approx(chi2 / 2)


def test_no_disagreement_is_no_test():
    whole = np.diag([3, 4, 5])
    assert all(map(isnan, compare_agreement(whole, whole)))
    assert all(map(isnan, compare_agreement(np.zeros((3, 3)), whole)))
    some = np.array([[8, 2], [2, 8]])
    assert compare_agreement(some, some) == (0, 1)


def test_ties_become_flips_of_a_coin():
    names = ["A<B", "A=B", "A>B"]
    table = pd.DataFrame([[6, 2, 0], [2, 4, 0], [0, 0, 2]], index=names, columns=names)
    flipped = share_ties(table)
    # A tie beside A<B agrees with it one time in two; two ties agree one time in two.
    assert flipped.loc["A<B", "A<B"] == 6 + 2 * 2 / 2 + 4 / 4
    assert flipped.loc["A<B", "A>B"] == flipped.loc["A>B", "A<B"] == 2 / 2 + 4 / 4
    assert flipped.loc["A>B", "A>B"] == 2 + 4 / 4
    assert flipped.to_numpy().sum() == table.to_numpy().sum()
    with pytest.raises(DataError, match="expected A<B, A=B and A>B among the options"):
        share_ties(table.drop(index="A=B", columns="A=B"))


def test_votes_of_xie(data):
    votes = read_xie_votes(data / "xie2020")
    sign = np.sign(votes["preference"].to_numpy()).reshape(-1, 3)
    counts = np.stack([(sign == s).sum(axis=1) for s in (-1, 0, 1)], axis=1)
    found = judge_agreement(votes, grouping="sign", sides="given")
    # Published is .605, which the public votes do not give: other code finds .509 too.
    assert found.kappa == pytest.approx(theirs(counts), abs=1e-12)
    assert found.kappa == pytest.approx(0.5092, abs=5e-5)
    five = judge_agreement(votes, sides="given")
    assert list(five.table) == ["A<<B", "A<B", "A=B", "A>B", "A>>B"]
    assert five.kappa == pytest.approx(0.4780, abs=5e-5)
    assert five.kappa < found.kappa  # grouped options agree better, as published
    assert found.pairs == 41_538 and found.votes == 3 * 41_538
    both = np.vstack([counts, counts[:, ::-1]])
    either = judge_agreement(votes, grouping="sign")
    assert either.kappa == pytest.approx(theirs(both), abs=1e-12)


def test_judgments_without_names(data):
    found = pgcjax.judgments.judge_agreement(data / "dl21" / "judgments.txt.gz")
    assert found.judges.empty and list(found.table) == ["A<B", "A>B"]
    assert found.pairs > 1000 and found.kappa < 0.2


def test_wrong_use():
    table = prefs(("q", "a", "b", 1, "x"))
    both = prefs(("q", "a", "b", 0, "x"), ("q", "a", "b", 0, "y"))
    found = judge_agreement(both, grouping="strict")
    assert isnan(found.kappa) and found.pairs == 0 and found.judges.empty
    assert found.notes[0].startswith("left out: 2 judgments of an option that")
    found = judge_agreement(table)
    assert isnan(found.kappa) and isnan(found.agreement) and found.pairs == 0
    assert found.judges.empty
