"""Kernels of pairs: their twins; the same bits however they are padded."""

from functools import partial
from math import log2

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.builders import padded
from helpers.strategies import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.kernels import preference as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.reference import preference as twins

EXACT = 1e-12
some = settings(max_examples=25)
KINDS = {"all": ["ret", "imp", "not"], "some": ["ret", "imp"], "both": ["ret"]}


def seen_of(case, depth: int, size: int, weights) -> RankedList:
    """The judged documents of a run; those beyond `depth` do not count."""
    ranks = [(r, case.docs.index(d)) for r, d in enumerate(case.run, 1) if d[0] == "d"]
    rank, vertex = np.array(ranks, np.int32).reshape(-1, 2).T
    where = rank <= depth
    weight = np.where(where, [weights(int(r)) for r in rank], 0.0)
    columns = padded(vertex, (size,), 0), padded(rank, (size,), 0)
    where, weight = padded(where, (size,), False), padded(weight, (size,), 0.0)
    return RankedList(*columns, where, weight, jnp.asarray(len(case.run)))


def pairs_of(case, pairs: int, docs: int, times: int = 1) -> kernels.PairCounts:
    counts = case.counts.astype(np.int64) * times
    first, second = np.argwhere(np.triu(counts + counts.T)).T
    columns = (
        first.astype(np.int32),
        second.astype(np.int32),
        counts[first, second],
        counts[second, first],
    )
    preferred = padded(counts.any(axis=1), (docs,), False)
    arrays = (padded(column, (pairs,), 0) for column in columns)
    return kernels.PairCounts(*arrays, preferred=preferred)


def prefs_of(case, times: int = 1) -> twins.Prefs:
    return twins.Prefs({e: n * times for e, n in twins.Prefs(case.edges).items()})


def run(kernel, case, depth=99, weights=lambda r: 1 / log2(1 + r), times=1):
    """Score by a kernel, or by several; the size of no array changes a bit."""
    out = []
    with jax.enable_x64(True):
        for width, pairs, docs in ((13, 36, 9), (64, 100, 33)):
            seen = seen_of(case, depth, width, weights)
            arrays = pairs_of(case, pairs, docs, times)
            scores = _jitted(kernel)(seen, arrays)
            out.append(jax.tree.map(lambda score: np.asarray(score).item(), scores))
    assert out[0] == out[1]
    return out[0]


_JITTED: dict = {}


def _jitted(kernel):
    key = getattr(kernel, "func", kernel), str(getattr(kernel, "keywords", ""))
    return _JITTED.setdefault(key, jax.jit(kernel))


def shares(seen, pairs) -> dict:
    """All kernels of shares and counts, among all kinds of pairs."""
    every = kernels.share, kernels.pair_mean, kernels.fulfilled
    found = {among: [k(seen, pairs, among=among) for k in every] for among in KINDS}
    return {"possible": kernels.possible(seen, pairs), **found}


@some
@given(cases(min_docs=2))
def test_shares(case):
    prefs, found = prefs_of(case), run(shares, case)
    assert found["possible"] == len(case.edges)
    counts = twins.prefs_counts(prefs, case.run)
    for among, kinds in KINDS.items():
        share, mean, count = found[among]
        assert share == twins.prefs_share(prefs, case.run, kinds)
        expected = twins.prefs_pair(prefs, case.run, kinds)
        assert mean == pytest.approx(expected, abs=EXACT)
        assert count == sum(counts["ful_" + kind] for kind in kinds)


def averages(seen, pairs) -> list:
    """Precision, recall, their harmonic mean, and the average precision."""
    some, every = (kernels.share(seen, pairs, among=among) for among in ("some", "all"))
    return [some, every, kernels.harmonic(seen, pairs), kernels.average(seen, pairs)]


@some
@given(cases(min_docs=2), st.sampled_from([1, 2, 4, 99]))
def test_precision_recall_and_their_averages(case, k):
    prefs, found = prefs_of(case), run(averages, case, depth=k)
    them = twins.ppref, twins.rpref, twins.fpref, twins.ap_pref
    expected = [twin(prefs, case.run, k) for twin in them]
    assert found == pytest.approx(expected, abs=EXACT)


@some
@given(
    cases(min_docs=2),
    st.sampled_from([1, 3, 99]),
    st.sampled_from(["lower", "upper", "tool"]),
    st.booleans(),
)
def test_weighted(case, k, weight, normalize):
    kernel = partial(kernels.weighted, lower=weight == "lower", normalize=normalize)
    tool = weight == "tool"
    score = run(
        kernel, case, k, lambda r: 1 / (1 + log2(r)) if tool else 1 / log2(1 + r)
    )
    expected = twins.wpref(prefs_of(case), case.run, k, weight, normalize)
    assert score == pytest.approx(expected, abs=EXACT)
    assert score <= 1 or not normalize


@some
@given(cases(min_docs=2))
def test_all_in_order_is_one_to_the_last_bit(case):
    """Among pairs in the order of the run, whatever their weights."""
    rank = {doc: r for r, doc in enumerate(case.run)}
    places = np.array([rank.get(doc, 99) for doc in case.docs])
    counts = case.counts * (places[:, None] < places[None, :])
    kept = type(case)(counts, case.run)
    for lower in (True, False):
        score = run(partial(kernels.weighted, lower=lower, normalize=True), kept)
        judged = [(a, b) for a, b in kept.edges if not lower or b in rank]
        assert score == bool(judged)
    assert run(kernels.average, kept) == bool(kept.edges)


@some
@given(cases(min_docs=2))
def test_many_judgments_count_exactly(case):
    times = 2**30
    kernel = partial(kernels.fulfilled, among="some")
    assert run(kernel, case, times=times) == times * run(kernel, case)
    share = partial(kernels.share, among="all")
    assert run(share, case, times=times) == run(share, case)


def judge_means(seen, counts) -> dict:
    return {among: kernels.judge_mean(seen, counts, among=among) for among in KINDS}


@some
@given(st.lists(cases(min_docs=4, max_docs=4), min_size=1, max_size=4))
def test_mean_over_judges(judged):
    """Judges with the same documents; the run is that of the first."""
    with jax.enable_x64(True):
        _mean_over_judges(judged)


def _mean_over_judges(judged) -> None:
    case = judged[0]
    parts = [
        pairs_of(each, int(np.triu(each.counts + each.counts.T).astype(bool).sum()), 4)
        for each in judged
    ]
    ends = np.cumsum([0, *(len(part.first) for part in parts)])
    for size, spare in ((24, 0), (40, 3)):
        columns = zip(*(part[:4] for part in parts), strict=True)
        arrays = (padded(np.concatenate(column), (size,), 0) for column in columns)
        counts = kernels.JudgeCounts(
            kernels.PairCounts(*arrays, preferred=jnp.ones(4, bool)),
            padded(ends[:-1], (4 + spare,), 0),
            padded(ends[1:], (4 + spare,), 0),
            jnp.asarray(len(judged)),
        )
        scores = _jitted(judge_means)(seen_of(case, 99, 16, lambda r: 1.0), counts)
        prefs = [prefs_of(each) for each in judged]
        for among, kinds in KINDS.items():
            expected = twins.prefs_avgjg(prefs, case.run, kinds)
            assert float(scores[among]) == pytest.approx(expected, abs=EXACT)
