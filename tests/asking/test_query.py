"""The tournament of one query, whatever its judges say, against a plain count."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.asking.choices import INFER, SIDES
from pgcjax.asking.query import Answer, Query, TournamentSettings
from pgcjax.asking.rounds import Draw, Rules, begin, candidates, pair_of
from pgcjax.io.closure import transitive_closure

chosen = st.builds(
    TournamentSettings,
    st.sampled_from([Rules(1, 2, 3), Rules(2, 3, 5), Rules(3, 4, 6), Rules(5, 7, 9)]),
    st.integers(1, 3),
    st.sampled_from(SIDES),
    st.sampled_from(INFER),
    st.booleans(),
    st.integers(0, 99),
)


def plain(said: dict, shown: int) -> dict:
    """Decide pairs by hand: a judge's orders agree, or are a tie; then the majority."""
    decided = {}
    for pair, judges in said.items():
        votes = [
            v[0] if len({*v}) == 1 else 0 for v in judges.values() if len(v) == shown
        ]
        first, *others = Counter(votes).most_common()
        tied = any(count == first[1] for _, count in others)
        decided[pair] = 0 if tied else first[0]
    return decided


@settings(max_examples=50)
@given(how=chosen, n=st.integers(0, 16), named=st.booleans(), faith=st.integers(0, 3))
def test_whatever_judges_say(how, n, named, faith):
    """Rounds end with what was asked for, and are decided by a plain count of it."""
    chance, asked, time = Draw(how.seed, "judges"), 0, 0
    grades = {f"d{i:02}": float(1 + i % 3) for i in range(n)}
    query, said = Query("q", grades, how), defaultdict(lambda: defaultdict(list))
    shown: Counter = Counter()  # of judges who are not named, each order is a judge's
    while query.round:
        time += 1
        name = f"j{chance(time, 'who') % how.judges}" if named else None
        requests = query.requests(1 if chance(time, "all") % 2 else None, name)
        for r in requests:
            if query.round is None or r not in query.requests(None, name):
                continue  # it was implied, or its round is over
            key = query.round.number, pair_of(r.first, r.second)
            order = key, r.first if how.sides == "both" else ""
            shown[order] += 1
            # Faithful judges follow the ids; the others say anything.
            right = chance(asked, "faith") % 4 < faith
            sign = 1 if right else chance(asked, "sign") % 3 - 1
            turn = 1 if r.first < r.second else -1
            said[key][name or shown[order]].append(sign)
            answer = Answer("q", r.first, r.second, turn * sign, r.first, name)
            assert query.apply(answer) == ""
            asked += 1
    assert query.round is None and query.top is not None
    needed = sum(len(r.pairs) for r, _ in query.played) * how.judges * how.shown
    assert asked + query.saved.total() == needed
    assert how.infer != "none" or asked == needed
    assert [r.number for r, _ in query.played] == [*range(1, len(query.played) + 1)]
    if query.played:
        assert query.played[0][0] == begin(grades, how.rules, Draw(how.seed, "q"))
    else:
        assert len(candidates(grades, how.rules.k)) < 2
    for played, outcomes in query.played:
        assert outcomes.keys() == {*played.pairs}
        own = {p: said[played.number, p] for p in played.pairs if not outcomes[p][1]}
        decided = {pair: sign for pair, (sign, rules) in outcomes.items() if not rules}
        assert decided == plain(own, how.shown)
    if how.infer == "majority":
        check_implied(query)


def check_implied(query: Query) -> None:
    """What was implied follows from the votes of all rounds, or from the same pair's.

    Where a later vote has closed a cycle, it does so no more: then a chain leads both
    ways.
    """
    docs = sorted(query.grades)
    edges = np.zeros((len(docs), len(docs)), bool)
    voted = {}
    for _, outcomes in query.played:
        for (one, other), (sign, rules) in outcomes.items():
            if not rules:
                voted[one, other] = sign
                i, j = docs.index(one), docs.index(other)
                edges[i, j], edges[j, i] = sign > 0, sign < 0
    leads = transitive_closure(edges)
    for _, outcomes in query.played:
        for pair, (sign, rules) in outcomes.items():
            i, j = map(docs.index, pair)
            for clear in rules.values():
                if clear.rule == "answered":
                    assert sign == voted[pair]
                else:
                    assert leads[i, j] if sign > 0 else leads[j, i]


@settings(max_examples=20)
@given(how=chosen, seed=st.integers(0, 999))
def test_answers_count_in_any_order(how, seed):
    """Judges may take their time within a round, if nothing is implied."""
    how = TournamentSettings(how.rules, how.judges, how.sides, seed=how.seed)
    chance, tops = Draw(seed, "order"), []
    for turn in range(2):
        query = Query("q", {f"d{i}": 1.0 for i in range(8)}, how)
        while requests := query.requests():
            key = (lambda r: chance(*r)) if turn else None
            for r in sorted(requests, key=key):
                sign = Draw(seed, "said")(*r) % 3 - 1
                judge = f"j{r.number}"
                answer = Answer("q", r.first, r.second, sign, r.first, judge)
                assert query.apply(answer) == ""
        tops.append((query.top, [outcomes for _, outcomes in query.played]))
    assert tops[0] == tops[1]
