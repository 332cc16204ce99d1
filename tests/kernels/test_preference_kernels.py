"""Kernels of pairs to the last bit, however they are padded.

That measures of pairs equal their twins is shown in tests/measures/test_preference.py.
"""

from functools import partial
from math import log2

import jax
import jax.numpy as jnp
import numpy as np
from helpers.builders import padded
from helpers.strategies import cases
from hypothesis import given, settings

from pgcjax.kernels import preference as kernels
from pgcjax.kernels.ranked_list import RankedList

some = settings(max_examples=25)


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
