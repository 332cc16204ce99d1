"""Runs share a letter exactly if they are not significantly different."""

import numpy as np
from helpers.twins import replicates as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.judging.rank_ranges import places
from pgcjax.stats.groups import letters, memberships, name

seeds = st.integers(0, 10**6)


def shares(found: list[list[str]]) -> np.ndarray:
    return np.array([[not set(a).isdisjoint(b) for b in found] for a in found])


@settings(max_examples=60)
@given(seeds, st.integers(1, 40), st.floats(0, 1))
def test_any_decisions(seed, runs, share):
    random = np.random.default_rng(seed)
    different = np.triu(random.random((runs, runs)) < share, 1)
    different |= different.T
    found = memberships(different, random.random(runs))
    assert (shares(found) == ~different).all()
    # No letter says what another one says already.
    sets = {n: {i for i, mine in enumerate(found) if n in mine} for n in sum(found, [])}
    assert not any(a < b for a in sets.values() for b in sets.values())


@given(seeds, st.integers(1, 60), st.floats(0, 0.5))
def test_where_means_decide_letters_are_as_few_as_can_be(seed, runs, least):
    means = np.random.default_rng(seed).random(runs)
    different = np.abs(means[:, None] - means) > least
    found = memberships(different, means)
    assert (shares(found) == ~different).all()
    # One for each range of runs that no longer range holds.
    ends = {int((means >= m - least).sum()) for m in means}
    assert set(sum(found, [])) == {name(i) for i in range(len(ends))}
    assert found[int(np.argmax(means))] == ["a"]


def test_beyond_z():
    assert [name(i) for i in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        *("a", "z", "aa", "ab", "az", "ba", "zz", "aaa")
    ]
    found = letters(~np.eye(1000, dtype=bool), -np.arange(1000.0))
    assert found[:28] == [name(i) for i in range(28)]
    assert len(set(found)) == 1000


def test_three_runs():
    different = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool)
    assert letters(different, np.array([0.3, 0.2, 0.1])) == ["a", "ab", "b"]
    assert letters(different, np.array([0.1, 0.2, 0.3])) == ["b", "ab", "a"]
    assert letters(np.zeros((3, 3), bool), np.zeros(3)) == ["a", "a", "a"]


@settings(max_examples=60)
@given(seeds, st.integers(1, 12), st.floats(0, 1))
def test_ranks_and_tiers_are_those_of_the_twin(seed, runs, share):
    random = np.random.default_rng(seed)
    means = random.integers(0, 2 * runs, runs) / 8  # some are equal
    different = np.triu(random.random((runs, runs)) < share, 1)
    different |= different.T
    found = places(different, means)
    better = different & (means[None, :] > means[:, None])
    rows = zip(found.low, found.high, found.tier, strict=True)
    assert [*rows] == twin.places(better.tolist())
    apart = better | better.T
    assert not (apart & (found.tier[:, None] == found.tier)).any()
    assert ((found.tier == 1) == (found.low == 1)).all()
