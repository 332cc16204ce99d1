"""Ranges of ranks: which documents differ, of all pairs that votes link."""

from itertools import combinations

import numpy as np

from pgcjax.judging.rank_ranges import significant_pairs


def test_the_largest_t_is_that_of_all_pairs_that_votes_link():
    random = np.random.default_rng(1)
    square, strength = random.normal(size=(6, 6)), 2 * random.normal(size=6)
    covariance, linked, freedom = square @ square.T, np.array([0, 1, 0, 1, 2, 0]), 9
    pairs = [(i, j) for i, j in combinations(range(6), 2) if linked[i] == linked[j]]
    error = {
        (i, j): np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
        for i, j in pairs
    }
    values, vectors = np.linalg.eigh(covariance)
    random = np.random.default_rng(3)
    drawn = random.standard_normal((500, 6)) @ (vectors * np.sqrt(values)).T
    drawn /= np.sqrt(random.chisquare(freedom, (500, 1)) / freedom)
    largest = [max(abs(x[i] - x[j]) / error[i, j] for i, j in pairs) for x in drawn]
    counts = set()
    for level in np.linspace(0.02, 0.98, 49):
        most = np.quantile(largest, level)
        expected = np.zeros((6, 6), bool)
        for i, j in pairs:
            expected[i, j] = abs(strength[i] - strength[j]) / error[i, j] > most
        expected |= expected.T
        how = {"level": level, "draws": 500, "seed": 3}
        found = significant_pairs(strength, covariance, linked, freedom, **how)
        np.testing.assert_array_equal(found, expected)
        counts.add(expected.sum())
    assert len(counts) > 2
