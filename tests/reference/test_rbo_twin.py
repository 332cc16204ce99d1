"""The plain twin of RBO: published values, printed formulas, what bounds mean."""

from itertools import permutations, product
from math import log

import pytest
from helpers.tied import TIES, VARIANTS, apart, flat, rankings
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgcjax.reference.rbo import rbo, rbo_of_ties

persistences = st.sampled_from([0.05, 0.5, 0.8, 0.9, 0.98])


@given(rankings(), rankings(), persistences)
def test_untied_rankings_by_the_printed_formulas(x, y, p):
    """Webber, Moffat and Zobel 2010, equations 11, 30 and 32."""
    short, long = sorted((flat(x), flat(y)), key=len)
    s, n = len(short), len(long)
    shared = [len({*short[:d]} & {*long[:d]}) for d in range(n + 1)]
    at_s, at_n = shared[s], shared[n]
    f = n + s - at_n

    def harmonic(low: int, high: int) -> float:
        return sum(p**d / d for d in range(low, high + 1))

    ext = sum(shared[d] / d * p**d for d in range(1, n + 1))
    ext += sum(at_s * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    ext = (1 - p) / p * ext + ((at_n - at_s) / n + at_s / s) * p**n
    least = sum((shared[d] - at_n) * p**d / d for d in range(1, n + 1))
    least = (1 - p) / p * (least - at_n * log(1 - p))
    res = s * harmonic(s + 1, f) + n * harmonic(n + 1, f)
    res += at_n * (-log(1 - p) - harmonic(1, f))
    res = p**s + p**n - p**f - (1 - p) / p * res
    expected = {"ext": ext, "min": least, "max": least + res, "res": res}
    for ties in TIES:
        found = rbo_of_ties(apart(short), apart(long), p, ties)
        assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30)
@given(rankings(5, 7), rankings(5, 7), persistences)
def test_ties_a_are_the_mean_over_all_orders(x, y, p):
    """What was seen by every order; beyond it, if no tie is left there."""

    def orders(groups):
        for parts in product(*(permutations(group) for group in groups)):
            yield apart([doc for part in parts for doc in part])

    alike = len(flat(x)) == len(flat(y))
    every = [rbo_of_ties(*both, p) for both in product(orders(x), orders(y))]
    found = rbo_of_ties(x, y, p, "a")
    for variant in VARIANTS if alike else ("min",):
        mean = sum(each[variant] for each in every) / len(every)
        assert found[variant] == pytest.approx(mean, abs=1e-12)


@given(rankings(), rankings(), persistences, st.integers(1, 12), st.integers(1, 12))
def test_bounds_hold_for_what_was_not_seen(x, y, p, i, j):
    """Of untied rankings: the more is seen, the closer are min and max."""
    x, y = apart(flat(x)), apart(flat(y))
    seen, more = rbo_of_ties(x[:i], y[:j], p), rbo_of_ties(x, y, p)
    assert seen["min"] <= more["min"] + 1e-12
    assert seen["max"] >= more["max"] - 1e-12


@given(rankings(), rankings(), persistences)
def test_min_is_the_sum_to_any_depth_of_lists_that_stay(x, y, p):
    """As which compatibility is computed, up to what depths beyond 1000 weigh."""
    assume(p < 0.95)
    expected = rbo(flat(x), flat(y), p, 1000, "one-minus-p")
    found = rbo_of_ties(apart(flat(x)), apart(flat(y)), p)["min"]
    assert found == pytest.approx(expected, abs=1e-12)
