"""How strong are preferences, and how long do they take, as relevance differs?"""

from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from helpers.judged import judgments, prefs, shuffled, single_votes
from helpers.twins import judgments as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.xie import read_xie_votes
from pgcjax.judging.strength import RELATIONS

QRELS = {"q": {"a": 90, "b": 60, "c": 30, "d": 0}}


def test_a_small_example_by_hand():
    table = prefs(
        ("q", "a", "b", 2, "x"),
        ("q", "a", "b", 0, "y"),
        ("q", "c", "a", 1, "x"),
        ("q", "d", "a", -1, "x"),
        ("q", "b", "d", 1, "x"),
        ("q", "b", "e", 1, "x"),
    )
    found = pgcjax.judgments.strength(table, QRELS)
    rows = found.pairs[["doc_id", "other_doc_id", "low", "high", "votes", "strength"]]
    assert rows.to_numpy().tolist() == [
        ["b", "a", 60, 90, 2, 1.5],  # a definite vote counts as any other
        ["c", "a", 30, 90, 1, 0],
        ["d", "a", 0, 90, 1, 2],
        ["d", "b", 0, 60, 1, 2],
    ]
    of = found.table.set_index("relation")
    assert found.table["of"].unique().tolist() == ["strength"]
    assert of.loc["B / A", "undefined"] == "fewer than three"
    assert of.loc["B - A", "pairs"] == 4 and of.loc["B / A", "pairs"] == 2
    expected = stats.pearsonr([30, 60, 90, 60], [1.5, 0, 2, 2])
    assert of.loc["B - A", "pearson"] == pytest.approx(expected.statistic)
    assert of.loc["B - A", "pearson_p"] == pytest.approx(expected.pvalue)
    assert found.by_gap.to_numpy().tolist() == [
        [30, 30, 1, 1.5],
        [60, 60, 2, 1],
        [90, 90, 1, 2],
    ]
    assert found.notes == ("left out: 1 pair with a document that has no grade",)


@given(
    judgments(),
    st.dictionaries(st.sampled_from("abcde"), st.integers(0, 9), min_size=3),
)
def test_equals_the_plain_twin(table, grades):
    found = pgcjax.judgments.strength(table, {"p": grades, "q": grades})
    x, y = [], []
    for (_, a, b), votes in single_votes(table, np.sign).items():
        if votes and a in grades and b in grades and grades[a] != grades[b]:
            way = np.sign(grades[a] - grades[b])
            x.append(abs(grades[a] - grades[b]))
            y.append(twin.strength([int(np.sign(vote) * way) for vote in votes]))
    gap = found.table.set_index("relation").loc["B - A"]
    assert gap["pairs"] == len(x) == len(found.pairs)
    assert sorted(found.pairs["strength"]) == pytest.approx(sorted(y))
    if len(x) > 2 and len(set(x)) > 1 and max(y) - min(y) > 1e-9:
        assert gap["pearson"] == pytest.approx(twin.pearson(x, y), abs=1e-9)
        assert gap["spearman"] == pytest.approx(twin.spearman(x, y), abs=1e-9)
    else:
        assert isnan(gap["pearson"]) and isnan(gap["spearman"]) and gap["undefined"]


@settings(max_examples=10)
@given(judgments())
def test_order_and_sides_of_rows_mean_nothing(table):
    qrels = {q: {"a": 4, "b": 2, "c": 1, "d": 1} for q in "pq"}
    one = pgcjax.judgments.strength(table, qrels)
    other = pgcjax.judgments.strength(shuffled(table), qrels)
    pd.testing.assert_frame_equal(one.pairs, other.pairs)
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)


def simulated(slope: float, n: int = 60) -> tuple[pd.DataFrame, dict]:
    """Judges whose preferences, and times, follow the relevance gap by `slope`."""
    random = np.random.default_rng(3)
    grades = {f"d{i:02}": float(g) for i, g in enumerate(random.uniform(0, 100, n))}
    docs, rows = sorted(grades), []
    for a, b in zip(docs[:-1], docs[1:], strict=True):
        gap = grades[a] - grades[b]
        for judge in "vwxyz":
            sign = np.sign(slope * gap + random.normal(scale=20))
            seconds = 10 - slope * abs(gap) / 20 + random.uniform(0, 1)
            rows.append(("q", a, b, sign, judge, seconds))
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "seconds"]
    return pd.DataFrame(rows, columns=columns), {"q": grades}


def test_strength_and_time_follow_the_gap_as_simulated():
    table, qrels = simulated(1.0)
    found = pgcjax.judgments.strength(table, qrels).table
    of = found.set_index(["of", "relation"])
    assert found["relation"].tolist() == [*RELATIONS, *RELATIONS]
    assert of.loc[("strength", "B - A"), "spearman"] > 0.6
    assert of.loc[("seconds", "B - A"), "pearson"] < -0.95
    table, qrels = simulated(0.0)
    of = pgcjax.judgments.strength(table, qrels).table.set_index(["of", "relation"])
    assert of.loc[("strength", "B - A"), "pearson_p"] > 0.05
    assert of.loc[("seconds", "B - A"), "pearson_p"] > 0.05


def test_ten_intervals_of_the_gap():
    table, qrels = simulated(1.0)
    found = pgcjax.judgments.strength(table, qrels)
    gap = found.pairs["high"] - found.pairs["low"]
    assert found.by_gap["pairs"].sum() == len(found.pairs)
    assert found.by_gap["high"].max() == pytest.approx(gap.max())
    for row in found.by_gap.itertuples():
        some = found.pairs[(gap > row.low) & (gap <= row.high)]
        assert row.pairs == len(some)
        assert row.strength == pytest.approx(some["strength"].mean())
        assert row.seconds == pytest.approx(some["seconds"].mean())


def test_votes_of_xie(data):
    """Figures of our own: the published correlations are of judges of another study."""
    names = ["query_id", "doc_id", "relevance"]
    path = data / "xie2020" / "relevance_data"
    qrels = pd.read_csv(
        path, sep="\t", names=names, skiprows=1, dtype={"query_id": "str"}
    )
    found = pgcjax.judgments.strength(read_xie_votes(data / "xie2020"), qrels)
    assert len(found.pairs) == 41_538 - 471
    gap = found.table.iloc[0]
    assert gap["pearson"] == pytest.approx(0.2872, abs=5e-5) and gap["pearson_p"] < 1e-9
    assert gap["spearman"] == pytest.approx(0.3069, abs=5e-5)
    means = found.by_gap["strength"].tolist()
    assert means[:9] == sorted(means[:9])


TIMED = prefs(
    ("q", "a", "b", 2, "x"),
    ("q", "b", "a", -1, "y"),
    ("q", "a", "c", 0, "x"),
    ("q", "c", None, -1, "y"),
    ("p", "a", "c", 1, "x"),
).assign(seconds=[1.0, 3.0, "", "8", None])


def test_times():
    found = pgcjax.judgments.times(TIMED)
    rows = {(group, name): row for group, name, *row in found.to_numpy().tolist()}
    assert rows["all", "all"] == [3, 3.0, 4.0, 1, 2.0]
    assert rows["option", "A>>B"] == [1, 1.0, 1.0, 1, 1.0]
    assert rows["option", "A>B"] == [1, 3.0, 3.0, 1, 3.0]
    assert rows["option", "bad"][:4] == [1, 8.0, 8.0, 0] and isnan(
        rows["option", "bad"][4]
    )
    assert rows["judge", "y"] == [2, 5.5, 5.5, 1, 3.0]
    assert rows["query", "q"] == [3, 3.0, 4.0, 1, 2.0]
    assert ("query", "p") not in rows and ("option", "A=B") not in rows
    mine = pgcjax.judgments.times(TIMED, judges=["x"])
    assert mine["judgments"].tolist() == [1, 1, 1, 1]


def test_times_that_are_not_there_or_no_times():
    with pytest.raises(UsageError, match="no column seconds"):
        pgcjax.judgments.times(TIMED.drop(columns="seconds"))
    with pytest.raises(UsageError, match="no column seconds"):
        pgcjax.judgments.times(TIMED.assign(seconds=nan))
    for wrong in ("fast", -1.0, np.inf, True):
        bad = TIMED.assign(seconds=[1.0, wrong, 1.0, 1.0, 1.0])
        with pytest.raises(DataError, match="preferences, row 2: expected seconds"):
            pgcjax.judgments.times(bad)
