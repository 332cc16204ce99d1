"""A judge's two votes on a pair that was shown in both orders."""

import random
from collections import Counter, defaultdict

import pandas as pd
import pytest
from helpers.twins import double_votes as twins

from pgcjax.errors import DataWarning
from pgcjax.files import read_preferences
from pgcjax.io.check import summarise_preferences
from pgcjax.io.reading import reading
from pgcjax.io.votes.double import double_votes, settle

NAMES = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "first"]
NAMES += ["aspect", "weight"]


def table(rows) -> pd.DataFrame:
    """Canonical preferences of rows with all columns."""
    return read_preferences(pd.DataFrame(rows, columns=NAMES))


def votes(*answers, judge="j"):
    """Rows of (document shown first, other, preference of the first)."""
    return [("q", a, b, sign, judge, a, "", 1) for a, b, sign in answers]


KINDS = {
    "agreeing": votes(("a", "b", 1), ("b", "a", -1)),
    "tied": votes(("a", "c", 0), ("c", "a", 0)),
    "half tied": votes(("a", "d", 1), ("d", "a", 0)),
    "flipped": votes(("b", "c", 1), ("c", "b", 1)),
    "flipped to the second": votes(("b", "d", -2), ("d", "b", -1)),
}
ALONE = votes(("c", "d", 1)) + votes(("d", "c", 1), judge="k")
ALL = [row for rows in KINDS.values() for row in rows] + ALONE


def test_kinds():
    found = double_votes(table(ALL))
    assert found[["low", "high", "low_first", "high_first"]].values.tolist() == [
        ["a", "b", 1, 1],
        ["a", "c", 0, 0],
        ["a", "d", 1, 0],
        ["b", "c", 1, -1],
        ["b", "d", -1, 1],
    ]
    kinds = ["agreeing", "tied", "half tied", "flipped", "flipped"]
    assert found["kind"].tolist() == kinds
    assert found["to"].tolist() == ["", "", "", "first", "second"]
    assert found["rows"].tolist() == [2] * 5
    assert summarise_preferences(table(ALL))[-1] == (
        "5 pairs judged in both orders: 1 agreeing, 1 tied, 1 half tied, 2 flipped (1 "
        "to the one shown first, 1 to the second): all count (--flips)"
    )
    agreed = table(KINDS["agreeing"] + ALONE)
    assert summarise_preferences(agreed)[-1] == (
        "1 pair judged in both orders: 1 agreeing: all agree"
    )
    assert double_votes(agreed.drop(columns="first")).empty
    # In one order both answers were given: that one is a tie.
    again = votes(("a", "b", 1), ("a", "b", -1), ("b", "a", -1))
    assert double_votes(table(again))["kind"].tolist() == ["half tied"]
    unnamed = table(KINDS["flipped"]).drop(columns=["judge", "aspect", "weight"])
    assert double_votes(unnamed)["kind"].tolist() == ["flipped"]


@pytest.mark.parametrize(
    ("flips", "expected"),
    [
        ("keep", [tuple(row[:4]) + (1.0,) for row in ALL]),
        (
            "tie",
            [
                ("q", "a", "b", 1, 1),
                ("q", "a", "c", 0, 1),
                ("q", "a", "d", 0, 1),
                ("q", "b", "c", 0, 1),
                ("q", "b", "d", 0, 1),
            ],
        ),
        ("drop", [("q", "a", "b", 1, 1), ("q", "a", "c", 0, 1)]),
        ("half", [tuple(row[:4]) + (0.5,) for row in ALL[:-2]]),
    ],
)
def test_what_becomes_of_them(flips, expected):
    with reading(flips=flips):
        settled = table(ALL)
        again = read_preferences(settled)
    rows = settled[[*NAMES[:4], "weight"]].itertuples(index=False, name=None)
    alone = [("q", "c", "d", 1, 1), ("q", "d", "c", 1, 1)]
    assert list(rows) == expected + alone * (flips != "keep")
    assert settled["judge"].tolist() == ["j"] * (len(settled) - 1) + ["k"]
    pd.testing.assert_frame_equal(again, settled)  # once is for ever
    if flips != "keep":
        assert settled["first"].notna().tolist() == [False] * len(expected) + [True] * 2
        assert double_votes(settled).empty


def test_strength_times_and_probabilities_are_means():
    rows = table(KINDS["flipped to the second"] + KINDS["agreeing"])
    more = {"seconds": [1.0, 2, 4, 8], "probability": [0.1, 0.2, 0.9, 0.3]}
    settled = settle(rows.assign(**more), "tie")
    assert settled["preference"].tolist() == [0, 1]
    assert settled["seconds"].tolist() == [1.5, 6]
    assert settled["probability"].tolist() == [0.5, pytest.approx(0.8)]
    strong = settle(table(votes(("a", "b", 2), ("b", "a", -1))), "drop")
    assert strong["preference"].tolist() == [1.5]


@pytest.mark.parametrize("flips", ["keep", "tie", "drop", "half"])
def test_plain_python_says_the_same(flips):
    for seed in range(5):
        made = random.Random(seed)
        rows = []
        for _ in range(30 * seed + 2):
            a, b = made.sample("abc", 2)
            first = made.choice([a, b, None])
            who, what = made.choice(["j", "k", None]), made.choice(["u", "v", None])
            sign, weight = made.choice([-2, -1, 0, 1]), made.choice([1, 1, 4])
            rows.append((made.choice("qr"), a, b, sign, who, first, what, weight))
        plain = [dict(zip(NAMES, row, strict=True)) for row in rows]
        prefs = table(rows)
        found = {
            tuple(row[:5]): row[5]
            for row in double_votes(prefs)[
                ["query_id", "low", "high", "judge", "aspect", "kind"]
            ].itertuples(index=False, name=None)
        }
        assert found == {
            key: twins.kind(*(twins.answer(orders[doc], key[1]) for doc in key[1:3]))
            for key, orders in twins.by_order(plain).items()
        }
        made.shuffle(rows)  # and in another order of rows
        records: list = settle(table(rows), flips).to_dict("records")
        wins: dict[tuple, float] = defaultdict(float)
        for row in records:
            row["judge"] = row["judge"] if isinstance(row["judge"], str) else None
            row["aspect"] = row["aspect"] if isinstance(row["aspect"], str) else None
            twins.add(wins, row, row["weight"])
        assert dict(wins) == pytest.approx(twins.settled_wins(plain, flips))


def test_published_flips(data):
    """Of 1,412 pairs GPT-4o goes with the position in 583, one has no answer."""
    with (
        pytest.warns(
            DataWarning, match="1 of 1412 cells of answer_b_first match no rule"
        ),
        reading(columns="judge=round"),
    ):
        gpt4o = read_preferences(data / "dl21/both-orders/gpt4o.tsv.gz")
    found = double_votes(gpt4o)
    assert Counter(found["kind"]) == {"agreeing": 828, "flipped": 583}
    assert Counter(found["to"]) == {"": 828, "first": 322, "second": 261}
    assert gpt4o.attrs["refused"] == {"5": 1}
    with reading(columns="judge=inference,aspect=*"):
        model = read_preferences(data / "cragc25/llm_ratings.jsonl.gz")
    combined = model[model["judge"] == "combined"]
    # Half of these pairs were asked twice in each order: the last answers count ...
    last = combined.drop_duplicates([*NAMES[:3], "aspect"], keep="last")
    for rows, whole, one in (
        (last, [301, 128], [47, 16]),
        (combined, [272, 111], [45, 14]),  # ... or only what both answers say
    ):
        found = double_votes(rows)
        assert len(found) == 7 * 377
        of = [Counter(found["to"])[to] for to in ("first", "second")]
        assert of == whole
        found = found[found["aspect"] == "quality_overall"]
        assert [Counter(found["to"])[to] for to in ("first", "second")] == one
