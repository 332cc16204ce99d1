"""Twins of graded measures: values worked out by hand, from the papers."""

from math import log2

import pytest

from pgcjax.reference import graded as twins

EXACT = 1e-12


def test_sakai_figure_1():
    """Gains 1, 3, 7 of levels 1 to 3; the two intents of the five documents shown."""
    run_i, run_j = [1, 7, 0, 0, 1], [0, 1, 0, 7, 0]
    q_i = (2 / 8 + 10 / 10 + 12 / 14) / 3
    assert twins.q_measure(run_i, run_i, 5) == pytest.approx(q_i, abs=EXACT)
    assert round(q_i, 7) == 0.7023810
    both = (2 / 10 + 10 / 12) / 2
    assert twins.q_measure(run_j, run_j, 5) == pytest.approx(both, abs=EXACT)
    assert twins.p_plus(run_j, run_j, 5) == pytest.approx(both, abs=EXACT)
    assert round(both, 7) == 0.5166667
    # P+ ends at the first document of the highest gain; O at the first relevant one.
    assert twins.p_plus(run_i, run_i, 5) == pytest.approx((2 / 8 + 1) / 2, abs=EXACT)
    assert twins.o_measure(run_i, run_i, 5) == pytest.approx(2 / 8, abs=EXACT)
    assert twins.o_measure(run_j, run_j, 5) == pytest.approx(2 / 10, abs=EXACT)


def test_the_highest_gain_is_that_of_the_truncated_list():
    run = [0, 1, 0, 7, 0]
    assert twins.p_plus(run, run, 3) == pytest.approx(2 / 10, abs=EXACT)
    assert twins.p_plus(run, run, 1) == 0.0


def test_a_cutoff_limits_what_can_be_found():
    pool = [1, 1, 1, 1]
    assert twins.q_measure([1, 1, 1, 1], pool, 2) == 1.0
    assert twins.q_measure([1, 0, 0, 0], pool, 2) == 0.5
    assert twins.average_precision([1, 1, 0, 0], pool, 2) == 0.5
    assert twins.average_precision([1, 1, 0, 0], pool, 2, "reachable") == 1.0


def test_q_without_gains_is_average_precision():
    run, pool = [0, 3, 0, 1, 7], [7, 3, 1, 1]
    value = twins.q_measure(run, pool, None, beta=0.0)
    assert value == pytest.approx(twins.average_precision(run, pool, None), abs=EXACT)


def test_expected_reciprocal_rank():
    """Stops at rank 1 with 3/8, else at rank 3 with 7/8."""
    value = twins.err([3 / 8, 0, 7 / 8], None)
    assert value == pytest.approx(3 / 8 + 5 / 8 * 7 / 8 / 3, abs=EXACT)
    assert twins.err([3 / 8, 0, 7 / 8], 2) == 3 / 8
    assert twins.nerr([3 / 8], [3 / 8, 7 / 8], 1) == pytest.approx(3 / 7, abs=EXACT)
    assert [twins.stop(g, 3, "exp") for g in (-2, 0, 1, 3)] == [0, 0, 1 / 8, 7 / 8]
    assert [twins.stop(g, 3, "linear") for g in (-2, 0, 1, 3)] == [0, 0, 1 / 4, 3 / 4]


def test_discounts():
    run = [3, 2, 0, 1]
    assert twins.cg(run, None) == 6 and twins.cg(run, 2) == 5
    standard = 3 + 2 / log2(3) + 1 / log2(5)
    assert twins.dcg(run, None) == pytest.approx(standard, abs=EXACT)
    original = 3 + 2 / log2(2) + 1 / log2(4)
    assert twins.dcg(run, None, "original") == pytest.approx(original, abs=EXACT)
    assert [twins.gain(g, "exp") for g in (-1, 0, 1, 2, 3)] == [0, 0, 1, 3, 7]
    assert [twins.gain(g, "linear") for g in (-1, 0.5)] == [0, 0.5]


def test_the_base_of_the_logarithm_cancels_out():
    run, pool = [0, 7, 1, 0, 3], [7, 7, 3, 1]
    for k in (None, 1, 3):
        value = twins.msndcg(run, pool, k)
        assert value == pytest.approx(twins.ndcg(run, pool, k), abs=EXACT)


def test_rank_biased_precision_and_its_residual():
    """The residual is what the base would gain if all the rest were relevant."""
    known = [True, False, True]
    assert twins.rbp([1, 0, 0], 0.5, None) == 0.5
    residual = twins.rbp_residual(known, 0.5, None)
    assert residual == pytest.approx(0.25 + 0.125, abs=EXACT)
    long = [1, 1, 0] + [1] * 60
    assert twins.rbp(long, 0.5, None) == pytest.approx(0.5 + residual, abs=1e-9)
    assert twins.rbp_residual(known, 0.5, 1) == 0.5


def test_shares():
    run, pool = [1, 0, 1], [1, 1, 1, 1]
    assert twins.precision(run, 2) == 0.5 and twins.precision(run, 6) == 2 / 6
    assert twins.precision(run, None) == 2 / 3
    assert twins.recall(run, pool, 1) == 0.25 and twins.recall(run, pool, None) == 0.5
    assert twins.reciprocal_rank([0, 0, 2], None) == 1 / 3
    assert twins.reciprocal_rank([0, 0, 2], 2) == 0.0
    assert twins.judged([True, False, True], 2) == 0.5
    assert twins.judged([True, False, True], 9) == 2 / 3


def test_nothing_relevant_or_retrieved():
    for run, pool in (([0, 0], [0]), ([], [1, 3]), ([], [])):
        assert twins.ndcg(run, pool, 5) == twins.msndcg(run, pool, 5) == 0.0
        assert twins.nerr(run, pool, None) == twins.err(run, None) == 0.0
        assert twins.q_measure(run, pool, 5) == twins.p_plus(run, pool, 5) == 0.0
        assert twins.o_measure(run, pool, 5) == twins.recall(run, pool, 5) == 0.0
        assert twins.average_precision(run, pool, None) == 0.0
        assert twins.precision([], None) == twins.judged([], None) == 0.0
