"""Are judgments transitive? Products of matrices against triples one by one."""

from math import isnan

import pandas as pd
import pytest
from helpers.judged import judgments, prefs, shuffled, single_votes
from helpers.twins import judgments as twin
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.files import read_preferences
from pgcjax.io.xie import read_xie_votes
from pgcjax.judging.transitivity import KINDS, transitivity


def counts(table: pd.DataFrame, judge: str = "majority") -> dict[str, tuple[int, int]]:
    mine = table[table["judge"] == judge].set_index("kind")
    return {k: (int(mine.triples[k]), int(mine.transitive[k])) for k in KINDS}


def plain(judged: dict) -> dict[str, tuple[int, int]]:
    """Sum of the twin over queries, of {(query, a, b): sign}."""
    found = dict.fromkeys(KINDS, (0, 0))
    for query in {q for q, *_ in judged}:
        here = {(a, b): sign for (q, a, b), sign in judged.items() if q == query}
        for kind, (n, m) in {**twin.triples(here), "chains": twin.chains(here)}.items():
            found[kind] = found[kind][0] + n, found[kind][1] + m
    return found


def signs(table: pd.DataFrame) -> dict:
    return single_votes(table, lambda v: (v > 0) - (v < 0))


# Many pairs of few documents, so that triples are frequent.
dense = judgments(values=(-1, -1, 0, 1, 1), size=90)


@settings(max_examples=15)
@given(dense, st.sampled_from(["drop", "tie"]))
def test_the_majority_equals_the_plain_twin(table, split):
    decided = {
        pair: sign
        for pair, votes in signs(table).items()
        if votes and (sign := twin.majority(votes, split)) is not None
    }
    assert counts(transitivity(table, split=split)) == plain(decided)


@given(dense)
def test_each_judge_equals_the_plain_twin(table):
    if table["judge"].notna().any():
        found = transitivity(table, of="judges")
        for judge in set(table["judge"].dropna()):
            mine = signs(table[table["judge"] == judge])
            said = {pair: votes[0] for pair, votes in mine.items() if votes}
            assert counts(found, judge) == plain(said)


@given(dense)
def test_order_and_sides_of_rows_mean_nothing(table):
    pd.testing.assert_frame_equal(transitivity(table), transitivity(shuffled(table)))


@pytest.mark.parametrize(
    ("ab", "bc", "ac", "kind", "held", "chains"),
    [
        (1, 1, 1, "asym", 1, (1, 1)),
        (1, 1, -1, "asym", 0, (3, 0)),  # a cycle
        (0, 1, 1, "s2a", 1, (0, 0)),
        (0, -1, -1, "s2a", 1, (0, 0)),
        (1, 1, 0, "s2a", 0, (1, 0)),
        (0, 1, -1, "s2a", 0, (1, 0)),  # c > a ≈ b > c
        (0, 0, 0, "s2s", 1, (0, 0)),
        (0, 0, 1, "s2s", 0, (0, 0)),
        (1, 0, 0, "s2s", 0, (0, 0)),
    ],
)
def test_one_triple_of_each_kind(ab, bc, ac, kind, held, chains):
    rows = [("q", "a", "b", ab), ("q", "b", "c", bc), ("q", "a", "c", ac)]
    found = counts(transitivity(prefs(*((*row, "x") for row in rows))))
    expected = dict.fromkeys(KINDS, (0, 0)) | {kind: (1, held), "all": (1, held)}
    assert found == {**expected, "chains": chains}


def test_a_triple_without_a_pair_does_not_count():
    two = prefs(("q", "a", "b", 1, "x"), ("q", "b", "c", 1, "x"))
    found = transitivity(two)
    assert found["triples"].sum() == 0 and all(map(isnan, found["share"]))
    # Nor does one whose pairs are of different queries or judges.
    other = prefs(*two.to_numpy().tolist(), ("p", "a", "c", 1, "x"))
    assert transitivity(other)["triples"].sum() == 0
    other = prefs(*two.to_numpy().tolist(), ("q", "a", "c", 1, "y"))
    assert transitivity(other, of="judges")["triples"].sum() == 0
    assert counts(transitivity(other))["asym"] == (1, 1)


def test_pairs_without_a_majority():
    rows = [("q", "a", "b", 1), ("q", "b", "c", 1), ("q", "a", "c", 1)]
    table = prefs(*((*row, "x") for row in rows), ("q", "c", "a", 1, "y"))
    assert counts(transitivity(table))["all"] == (0, 0)
    assert counts(transitivity(table, split="tie"))["s2a"] == (1, 0)
    weighed = table.drop(columns="judge").assign(weight=[1, 1, 2, 1])
    assert counts(transitivity(weighed))["asym"] == (1, 1)


def test_weights_bad_documents_and_strengths():
    rows = [
        ("q", "a", "b", 2),
        ("q", "b", "c", 1),
        ("q", "a", "c", 2),
        ("q", "d", None, -1),
    ]
    assert counts(transitivity(prefs(*((*row, "x") for row in rows))))["all"] == (1, 1)


def test_public_judgments(data):
    """Figures of our own: the judgments behind the published shares are not public."""
    images = transitivity(read_xie_votes(data / "xie2020"))
    shares = images.set_index("kind")["share"]
    # As published, asym holds most, then s2a, then s2s.
    assert shares["asym"] > 0.95 and shares["asym"] > shares["s2a"] > shares["s2s"]
    assert counts(images)["asym"] == (136_950, 133_729)
    model = read_preferences(sorted((data / "dl21" / "gpt4o").glob("judge.0*")))
    found = counts(transitivity(model))
    assert found["s2a"] == found["s2s"] == (0, 0)
    (n, m), (chains, held) = found["asym"], found["chains"]
    assert held == m and chains == m + 3 * (n - m)


def test_wrong_use():
    table = prefs(("q", "a", "b", 1, "x"))
    with pytest.raises(UsageError, match="of is one of majority, judges, not 'all'"):
        pgcjax.judgments.transitivity(table, of="all")
    with pytest.raises(UsageError, match="split is one of drop, tie, not 'left'"):
        pgcjax.judgments.transitivity(table, split="left")
    with pytest.raises(UsageError, match="no judgment names its judge"):
        pgcjax.judgments.transitivity(table.drop(columns="judge"), of="judges")
