"""Published tournaments, played again: TREC CAsT 2019 by a crowd, dl21 by GPT-4o."""

import gzip
from collections import Counter, defaultdict
from itertools import combinations, product

import pytest

from pgcjax.asking.query import Answer, Query, TournamentSettings
from pgcjax.asking.rounds import Rules, candidates, pair_of, top

SETTINGS = TournamentSettings(Rules.of(5))


def lines(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for line in file:
            yield line.split()


def grades_of(path):
    grades = defaultdict(dict)
    for query, _, document, grade in lines(path):
        grades[query][document] = float(grade)
    return grades


def play(query: Query, won: list[tuple[str, str]]) -> None:
    """Make a round of these comparisons, winner first, and answer them."""
    assert query.take_pairs(pair_of(*pair) for pair in won) == ""
    for winner, loser in won:
        assert query.apply(Answer(query.query, winner, loser, 1)) == ""


@pytest.fixture(scope="module")
def crowd(data):
    folder = data / "cast2019"
    votes = defaultdict(list)
    for query, a, b, best in lines(folder / "clarke-prefs/TREC-CAsT-2019.pref.gz"):
        votes[query].append((best, b if best == a else a))
    grades = grades_of(folder / "qrels/2019qrels.txt.gz")
    final = grades_of(folder / "clarke-prefs/TREC-CAsT-2019.qrels.gz")
    best = {q: {d: g for d, g in of.items() if g >= 10} for q, of in final.items()}
    return grades, votes, best


def levels(won):
    """50 for the best, 40 for the second, …; who ties is as good."""
    return {d: 10.0 * (5 - sum(v > w for v in won.values())) for d, w in won.items()}


def without(levels, losers):
    return {d: level for d, level in levels.items() if d not in losers}


def test_who_takes_part_in_cast(crowd):
    """In each of the 171 topics with votes, these are of all candidates, and no others.

    The two topics without votes have one candidate.
    """
    grades, votes, _ = crowd
    chosen = {query: {*candidates(of, 5)} for query, of in grades.items()}
    alone = [query for query, docs in chosen.items() if len(docs) == 1]
    assert sorted(alone) == ["59_6", "78_8"] and len(chosen) == 173
    assert {q: {*sum(v, ())} for q, v in votes.items()} == {
        q: docs for q, docs in chosen.items() if q not in alone
    }
    assert len(votes) == 171
    # The example of the published program asks for 9,145 pairs, with other luck.
    queries = [Query(name, of, SETTINGS) for name, of in grades.items()]
    assert sum(len(query.requests()) for query in queries) == 9146


def test_finals_of_cast(crowd):
    """69 topics need one round: 61 end as published, 8 but for who won nothing.

    There, five candidates are left, and the published grades keep the one that lost to
    all others; the published program leaves it out, as its authors have it later. Nine
    more topics are pilots, in which each pair was judged up to seven times.
    """
    grades, votes, best = crowd
    counts = Counter()
    for name, won in votes.items():
        if len(candidates(grades[name], 5)) > 9:
            continue
        if len({pair_of(*pair) for pair in won}) < len(won):
            counts["pilot"] += 1
            continue
        query = Query(name, grades[name], SETTINGS)
        assert query.round and query.round.last
        assert sorted(query.round.pairs) == sorted(pair_of(*pair) for pair in won)
        play(query, won)
        losers = {*candidates(grades[name], 5)} - {w for w, _ in won}
        assert levels(query.top) == without(best[name], losers)
        counts["but losers" if losers & best[name].keys() else "as published"] += 1
    assert counts == {"as published": 61, "but losers": 8, "pilot": 9}


def test_eliminations_of_cast(crowd):
    """Of 93 topics with eliminations, nobody who left in round 1 had more than 3 wins.

    53 have one such round. The file has lost which of two answers to a pair was of the
    final; with one choice for each of the pairs answered both ways, the survivors are
    those with more than 3 wins, and the top is that of the published grades.
    """
    grades, votes, best = crowd
    counts = Counter()
    for name, won in votes.items():
        chosen = candidates(grades[name], 5)
        if len(chosen) <= 9:
            continue
        times, wins = Counter(sum(won, ())), Counter(winner for winner, _ in won)
        staying = [d for d in chosen if times[d] > 9]
        assert all(wins[d] <= 3 for d in chosen if d not in staying)
        answers = defaultdict(list)
        for winner, loser in won:
            answers[pair_of(winner, loser)].append((winner, loser))
        final = [*combinations(staying, 2)]
        if len(final) > 36 or max(map(len, answers.values())) > 2:
            counts["more rounds"] += 1
            continue
        assert len(won) - len(final) in (
            -(-len(chosen) * 7 // 2),
            1 - (-len(chosen) * 7 // 2),
        )
        split = [pair for pair in final if len({*answers[pair]}) == 2]
        for turn in product((0, 1), repeat=len(split)):
            last = {pair: answers[pair][0] for pair in final}
            last |= {p: answers[p][i] for p, i in zip(split, turn, strict=True)}
            ends = Counter(winner for winner, _ in last.values())
            lost = {d for d in staying if not ends[d]}
            kept = without(best[name], lost)
            stays = all(wins[d] - ends[d] > 3 for d in staying)
            if stays and levels(top({d: ends[d] for d in staying}, 5)) == kept:
                break
        else:
            raise AssertionError(f"{name}: no choice of answers ends as published")
        query, first = Query(name, grades[name], SETTINGS), [*won]
        for answer in last.values():
            first.remove(answer)
        play(query, first)
        assert query.round.documents == tuple(staying) and query.round.last
        play(query, [*last.values()])
        assert levels(query.top) == kept
        counts["but losers" if lost & best[name].keys() else "as published"] += 1
    assert counts == {"as published": 48, "but losers": 5, "more rounds": 40}


def test_gpt4o_on_dl21(data):
    """Six rounds of 53 topics end in the published grades: the wins of all rounds.

    Their tournament starts from binary grades: whatever is relevant takes part.
    """
    folder = data / "dl21"
    judged = grades_of(folder / "qrels.dl21-passage.txt.gz")
    queries = {
        name: Query(name, {d: float(g > 0) for d, g in of.items()}, SETTINGS)
        for name, of in judged.items()
    }
    rounds = Counter()
    for number, path in enumerate(sorted((folder / "gpt4o").glob("judge.0*")), 1):
        won = defaultdict(list)
        for name, winner, loser in lines(path):
            won[name].append((winner, loser))
        opened = {name for name, query in queries.items() if query.round}
        assert opened == won.keys()
        for name, pairs in won.items():
            assert queries[name].round.number == number
            assert {*sum(pairs, ())} == {*queries[name].round.documents}
            play(queries[name], pairs)
            rounds[number] += len(pairs)
    assert all(query.top for query in queries.values())
    assert rounds == {1: 22731, 2: 11413, 3: 5656, 4: 2727, 5: 1171, 6: 241}
    published = grades_of(folder / "gpt4o/prefs.dl21.qrels.gz")
    assert {name: query.wins() for name, query in queries.items()} == published
