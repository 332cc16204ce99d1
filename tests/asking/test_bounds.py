"""Bounds hold for every way in which the open pairs can be answered: all are tried."""

from itertools import combinations, product

import numpy as np
import pytest

from pgcjax.asking.bounds import (
    NOISE,
    ComparedRuns,
    asked_measure,
    blocks,
    overlap_bounds,
    share_bounds,
)
from pgcjax.asking.pools import Pool, settle
from pgcjax.kernels.rbo import UNIT, rank_weights
from pgcjax.reference import preference as twins
from pgcjax.reference.pgc import greedy_ideal, greedy_pgc

MEASURES = ("ppref@3", "rpref", "fpref", "wpref", "wpref(weight=upper,normalize=false)")


def drawn(random, n: int, share: float, repeats: bool):
    """Two runs of n documents, and answers to a share of the pairs."""
    ranks = np.array([random.permutation(n + 3)[:n] for _ in range(2)], float)
    ranks[random.random((2, n)) < 0.25] = np.inf
    counts, unsettled = np.zeros((n, n)), np.zeros((n, n), bool)
    for i, j in combinations(range(n), 2):
        if random.random() >= share:
            unsettled[i, j] = unsettled[j, i] = True
            continue
        i, j = (i, j) if random.random() < 0.5 else (j, i)
        counts[i, j] = random.integers(1, 3) if repeats else 1
        counts[j, i] = repeats and random.random() < 0.2
    docs = tuple("abcdef"[:n])
    return Pool("q", docs, ranks, counts, unsettled, np.eye(n, dtype=bool))


def list_of(pool: Pool, run: int) -> list[str]:
    """The run as a list, with other documents where the pool has none."""
    ranks = pool.ranks[run]
    last = int(max(ranks[np.isfinite(ranks)], default=-1))
    ranked = {int(r): doc for r, doc in zip(ranks, pool.docs, strict=True) if r < 99}
    return [ranked.get(place, f"x{place}") for place in range(last + 1)]


def completions(pool: Pool, signs):
    """Preferences by every way to answer the open pairs."""
    left = np.argwhere(np.triu(pool.unsettled)).tolist()
    for answers in product(signs, repeat=len(left)):
        counts = pool.counts.copy()
        for (i, j), sign in zip(left, answers, strict=True):
            counts[(i, j) if sign > 0 else (j, i)] += abs(sign)
        yield twins.Prefs(
            {
                (pool.docs[i], pool.docs[j]): int(counts[i, j])
                for i, j in np.argwhere(counts)
            }
        )


def twin(measure, prefs, run) -> float:
    q = measure.parameters
    cut = q["k"] or float("inf")
    if measure.name == "wpref":
        return twins.wpref(prefs, run, cut, q["weight"], q["normalize"])
    return getattr(twins, measure.name)(prefs, run, cut)


@pytest.mark.parametrize("text", MEASURES)
def test_no_answers_lead_beyond_the_bounds(text):
    """Without ties the bounds are attained; a sign that they show is never wrong."""
    random, measure, early, tight = np.random.default_rng(1), asked_measure(text), 0, 0
    for case in range(40):
        n = 4 + (case % 6 == 0)
        pool = drawn(random, n, 0.7 if n > 4 else 0.55, bool(case % 2))
        runs = [list_of(pool, 0), list_of(pool, 1)]
        split = ComparedRuns.of(measure, pool, np.array([[0, 1], [1, 0]]))
        for may_tie, signs in ((False, (1, -1)), (True, (1, -1, 0))):
            (low, high), (least, most) = share_bounds(
                split, pool.counts, pool.unsettled, may_tie=may_tie
            )
            assert (low, high) == pytest.approx((-most, -least), abs=1e-12)
            gaps = [
                twin(measure, prefs, runs[0]) - twin(measure, prefs, runs[1])
                for prefs in completions(pool, signs)
            ]
            assert low - 1e-12 <= min(gaps) and max(gaps) <= high + 1e-12
            attained = max(min(gaps) - low, high - max(gaps)) < 1e-12
            assert attained or may_tie
            tight += attained and may_tie and pool.pairs > 0
            if low > NOISE or high < -NOISE:
                early += pool.pairs > 0
                assert {np.sign(gap) for gap in gaps} == {1.0 if low > 0 else -1.0}
    assert early >= 8 and tight >= 5  # of 80


def test_no_answers_lead_pgc_beyond_its_bounds():
    """Repeats and conflicts too; they part documents in blocks, and often are tight."""
    random, weights, tight, apart = np.random.default_rng(2), rank_weights(0.8, 9), 0, 0
    for case in range(90):
        pool = drawn(random, 4 + (case % 9 == 0), 0.7, case % 3 == 0)
        block = blocks(pool.counts, pool.unsettled)
        apart += 1 < len({*block}) < len(pool.docs)
        ends = [overlap_bounds(block, ranks, weights) for ranks in pool.ranks]
        scores = [
            [greedy_pgc(prefs, list_of(pool, run), 0.8, 9) for run in (0, 1)]
            for prefs in completions(pool, (1, -1))
        ]
        for run, (low, high) in enumerate(ends):
            of_run = [pair[run] for pair in scores]
            assert low * UNIT - 1e-12 <= min(of_run)
            assert max(of_run) <= high * UNIT + 1e-12
            tight += abs(low * UNIT - min(of_run)) < 1e-9
    assert tight > 90 and apart > 15


def test_many_votes_below_may_lift_a_document_above():
    """Who beats all of the others once each may be outdone by 50 votes among them."""
    docs, counts = tuple("stuabc"), np.zeros((6, 6))
    counts[:3, 3:] = 1
    for block, votes in ((0, 1), (3, 50)):
        for i in range(3):
            counts[block + i, block + (i + 1) % 3] = votes
    counts[5, 3] = 3  # so a is ahead: 50 - 3 - 3 of votes
    none = np.zeros((6, 6), bool)
    assert blocks(counts, none).tolist() == [0] * 6
    assert blocks(np.minimum(counts, 1), none).tolist() == [0] * 3 + [1] * 3
    edges = {(docs[i], docs[j]): int(counts[i, j]) for i, j in np.argwhere(counts)}
    assert greedy_ideal(edges, ["a"])[0] == "a"


def test_chains_and_bad_documents_settle_pairs():
    """As the rules of tournaments have it: `asking.inference`."""
    from pgcjax.asking.inference import Closure

    random, n = np.random.default_rng(3), 7
    names, clear_by = "abcdefg", set()
    for case in range(60):
        wins, tied, bad = np.zeros((n, n)), np.zeros((n, n), bool), np.zeros(n, int)
        signs = {}
        for i, j in combinations(range(n), 2):
            sign = int(random.integers(-2, 3))
            if abs(sign) == 2 and case % 3 or abs(sign) == 1 and case % 2:
                wins[(i, j) if sign > 0 else (j, i)] = 1
                signs[names[i], names[j]] = int(np.sign(sign))
            elif sign == 0 and random.random() < 0.3:
                tied[i, j] = tied[j, i] = True
                signs[names[i], names[j]] = 0
        bad[random.random(n) < 0.15] = 1
        known = Closure(names[i] for i in np.flatnonzero(bad))
        for pair, sign in signs.items():
            known.answer(*pair, sign)
        counts, unsettled, _ = settle(wins, tied, bad, np.ones((n, n), bool), True)
        for i, j in combinations(range(n), 2):
            found = known.clear(names[i], names[j])
            assert (found is None) == unsettled[i, j]
            if found:
                clear_by.add(found.rule)
                assert found.sign == np.sign(counts[i, j] - counts[j, i])
    assert clear_by == {"answered", "bad", "transitive"}
