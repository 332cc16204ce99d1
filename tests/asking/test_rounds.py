"""Rules of tournaments: by hand, and on whatever grades and judges there may be."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.asking.rounds import (
    Draw,
    Round,
    Rules,
    advance,
    begin,
    candidates,
    count_wins,
    near_regular,
    new_grades,
    top,
)
from pgcjax.errors import UsageError

DRAW = Draw(0, "q")
few = settings(max_examples=25)


def documents(n: int) -> list[str]:
    return [f"d{i:02}" for i in range(n)]


@pytest.mark.parametrize(
    ("k", "rules"),
    [(1, (7, 9)), (5, (7, 9)), (6, (7, 9)), (7, (9, 11)), (8, (9, 11)), (20, (21, 23))],
)
def test_rules_are_the_published_ones_for_five(k, rules):
    assert Rules.of(k) == Rules(k, *rules)


@pytest.mark.parametrize("wrong", [(0, 7, 9), (7, 7, 9), (5, 7, 7), (5, 9, 8)])
def test_wrong_rules(wrong):
    with pytest.raises(UsageError) as error:
        Rules.of(*wrong)
    k, pairings, final = wrong
    assert str(error.value) == (
        f"expected 1 <= k < pairings < final, found k={k}, pairings={pairings}, "
        f"final={final}"
    )


def test_candidates_by_hand():
    """The best by grade, above 0, and all that tie with the last of them."""
    grades = {"a": 3, "b": 2, "c": 2, "d": 2, "e": 1, "f": 0, "g": -2}
    expected = {1: "a", 2: "abcd", 4: "abcd", 5: "abcde", 9: "abcde"}
    assert {k: "".join(candidates(grades, k)) for k in expected} == expected
    assert candidates({"a": 0.0, "b": -1.0}, 5) == ()


@few
@given(n=st.integers(10, 60), pairings=st.integers(2, 9), seed=st.integers(0, 9))
def test_pairs_are_near_regular(n, pairings, seed):
    docs = documents(n)
    pairs = near_regular(docs, pairings, Draw(seed, "q"), 1)
    times = Counter(d for pair in pairs for d in pair)
    assert all(a < b for a, b in pairs) and len({*pairs}) == len(pairs)
    assert times.keys() == {*docs}
    assert {*times.values()} <= {pairings, pairings + 1}
    # No order of documents changes what is drawn, and another round does.
    assert near_regular(docs[::-1], pairings, Draw(seed, "q"), 1) == pairs
    assert near_regular(docs, pairings, Draw(seed, "q"), 2) != pairs


def test_few_documents_are_all_compared():
    docs = documents(6)
    assert sorted(near_regular(docs, 7, DRAW, 1)) == [*combinations(docs, 2)]


def test_draws_stay_as_they_are():
    """A log that was begun with an earlier version goes on with the same pairs."""
    pairs = near_regular(documents(10), 2, Draw(1, "q"), 1)
    assert " ".join(a[1:] + b[1:] for a, b in pairs) == (
        "0109 0308 0205 0406 0007 0104 0003 0208 0506 0709"
    )


def played(grades, better, rules, draw=DRAW):
    """Play a tournament; `better(a, b)` is 1, -1 or 0."""
    rounds, now = [], begin(grades, rules, draw)
    while isinstance(now, Round):
        rounds.append(now)
        outcomes = {pair: better(*pair) for pair in now.pairs}
        now = advance(now, count_wins(now.documents, outcomes), rules, draw)
    return rounds, now


def by_id(a: str, b: str) -> int:
    return 1 if a < b else -1


def test_a_final_by_hand():
    """Four candidates beat each other in a cycle of three; d loses to all."""
    beats = {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): -1}
    rounds, best = played(
        dict.fromkeys("abcd", 1.0) | {"e": 0.5},
        lambda *pair: beats.get(pair, 1),
        Rules(2, 3, 4),
    )
    assert [r.documents for r in rounds] == [tuple("abcd")] and rounds[0].last
    assert best == {"a": 2.0, "b": 2.0, "c": 2.0}  # they tie for the second place
    assert new_grades({**dict.fromkeys("abcd", 1.0), "e": 0.5}, best) == {
        "a": 103.0,
        "b": 103.0,
        "c": 103.0,
        "d": 1.0,
        "e": 0.5,
    }


@pytest.mark.parametrize(
    ("grades", "best"),
    [
        ({}, {}),
        ({"a": 0.0}, {}),
        ({"a": 2.0, "b": 0.0}, {"a": 1.0}),  # alone, it won as the program has it
        ({"a": 2.0, "b": 1.0}, {"a": 1.0}),  # b won nothing
    ],
)
def test_few_candidates(grades, best):
    assert played(grades, by_id, Rules.of(5))[1] == best


def test_survivors_have_won_more_than_half():
    """Of 7 comparisons, 4 wins are enough and 3 are not; of ties, half a win each."""
    docs = tuple("abcdefghij")
    won = dict(zip(docs, (7, 4, 4.5, 3.5, 3, 3, 2.5, 1, 0, 4), strict=True))
    after = advance(Round(1, docs, (), False), won, Rules.of(5), DRAW)
    assert isinstance(after, Round)
    assert after.documents == tuple("abcdj") and (after.number, after.last) == (2, True)
    assert after.pairs == tuple(combinations("abcdj", 2))


def test_a_judge_who_ties_everything_is_asked_once():
    """All documents won half of their comparisons: more rounds tell nothing."""
    rounds, best = played(
        dict.fromkeys(documents(20), 1.0), lambda a, b: 0, Rules.of(5)
    )
    assert len(rounds) == 1 and best.keys() >= {*documents(20)[:5]}
    even = dict.fromkeys("abcdef", 2.0)  # nobody has more than half of four
    assert advance(
        Round(1, tuple("abcdef"), (), False), even, Rules(1, 4, 5), DRAW
    ) == (even)


def test_one_survivor_is_the_top():
    won = dict.fromkeys("bcdef", 1.0) | {"a": 4.0}
    after = advance(Round(1, tuple("abcdef"), (), False), won, Rules(1, 4, 5), DRAW)
    assert after == {"a": 1.0}


@few
@given(
    grades=st.lists(st.integers(-1, 3), min_size=0, max_size=45),
    k=st.integers(1, 6),
    noise=st.integers(0, 2**20),
)
def test_tournaments_follow_the_rules(grades, k, noise):
    """Whatever judges say: who plays, whom they play, who stays, who is on top."""
    rules, draw = Rules.of(k), Draw(noise, "q")
    graded = dict(zip(documents(len(grades)), map(float, grades), strict=True))
    said = {}

    def better(a, b):
        said[a, b] = draw("said", a, b, len(said)) % 3 - 1
        return said[a, b]

    rounds, now = [], begin(graded, rules, draw)
    while isinstance(now, Round):
        before = rounds[-1][0].documents if rounds else candidates(graded, k)
        assert {*now.documents} <= {*before}
        assert now.last == (len(now.documents) <= rules.final)
        times = Counter(d for pair in now.pairs for d in pair)
        needed = min(rules.pairings, len(now.documents) - 1)
        assert min(times[d] for d in now.documents) >= needed
        outcomes = {pair: better(*pair) for pair in now.pairs}
        wins = count_wins(now.documents, outcomes)
        assert sum(wins.values()) == len(now.pairs)
        after = advance(now, wins, rules, draw)
        if isinstance(after, Round):
            half = rules.pairings // 2
            stay = tuple(d for d in now.documents if wins[d] > half)
            assert after.documents == stay != now.documents
            assert after.number == now.number + 1 == len(rounds) + 2
        elif now.last:
            assert after == top(wins, k)
            least = sorted(wins.values(), reverse=True)[:k][-1]
            assert after == {d: w for d, w in wins.items() if w >= least and w > 0}
        rounds.append((now, wins))
        now = after
    raised = new_grades(graded, now)
    assert {d for d in graded if raised[d] != graded[d]} == {*now}
    assert all(raised[d] > 100 + max(grades) for d in now)


def test_consistent_judges_find_the_best():
    """A judge who never errs finds the five best, in their order."""
    rounds, best = played(dict.fromkeys(documents(60), 1.0), by_id, Rules.of(5))
    assert sorted(best, key=best.__getitem__, reverse=True) == documents(5)
    assert len(rounds) > 2 and sum(len(r.pairs) for r in rounds) < 60 * 59 / 4
