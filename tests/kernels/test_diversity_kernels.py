"""What documents are worth to several intents, one run and query at a time."""

from functools import partial

import jax
import numpy as np
import pytest

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.ranked_list import RankedList

WORTH = np.array([[1.0, 0, 2, 0], [0, 0, 3, 1], [1, 0, 1, 1]])  # intents, documents


def seen(vertex, width=8) -> RankedList:
    """A run with these documents at ranks 1, 2 and so on."""
    n = len(vertex)
    padded = np.pad(np.array(vertex, np.int32), (0, width - n))
    rank = np.pad(np.arange(1, n + 1, dtype=np.int32), (0, width - n))
    arrays = (padded, rank, rank > 0, np.where(rank > 0, 1.0, 0), np.int32(n))
    return RankedList(*arrays)


_gains_of = jax.jit(kernels.gains_of)
_effective = jax.jit(kernels.effective)
_expected = jax.jit(kernels.expected)
_recall = jax.jit(kernels.recall)


def gains(*vertex):
    return np.asarray(_gains_of(WORTH, seen(vertex)))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def test_gains_and_what_was_there_before():
    gain = gains(2, 1, 0, 3)
    assert gain[:, :4].tolist() == [[2, 0, 1, 0], [3, 0, 0, 1], [1, 0, 1, 1]]
    assert not gain[:, 4:].any()  # document 0 is padding there
    assert jax.jit(kernels.earlier)(gain)[:, :4].tolist() == [
        [0, 1, 1, 2],
        [0, 1, 1, 1],
        [0, 1, 1, 2],
    ]


def test_novelty_fades():
    fade = np.array([1.0, 0.5, 0.25])
    novel = jax.jit(kernels.novel)(gains(2, 1, 0, 3), fade)
    assert novel[:4].tolist() == [3, 0, 1, 0.75]


def test_only_the_first_serves_a_navigational_intent():
    gain = gains(2, 1, 0, 3)
    nav = np.array([True, False, True])
    some = np.asarray(_effective(gain, nav))
    assert some[:, :4].tolist() == [[2, 0, 0, 0], [3, 0, 0, 1], [1, 0, 0, 0]]
    assert jax.jit(kernels.precision)(some, 5.0) == 0.4
    assert (np.asarray(_effective(gain, np.zeros(3, bool))) == gain).all()


def test_recall_counts_intents():
    for docs, share in (((1,), 0), ((0,), 2 / 3), ((3,), 2 / 3), ((1, 0, 3), 1)):
        assert _recall(gains(*docs), 3.0) == share
    assert _recall(gains(0), 0.0) == 0


def test_sums_and_means_over_intents():
    total = jax.jit(kernels.globally)(gains(2, 0), 4.0)
    assert total[:3].tolist() == [1.5, 0.5, 0]
    scores = jax.jit(partial(kernels.by_intent, lambda a, b: a.sum() * b["x"]))(
        WORTH, {"x": np.array([1.0, 10, 100])}
    )
    assert scores.tolist() == [3, 40, 300]
    scores, weights = np.asarray(scores), np.array([1.0, 0, 3])
    assert _expected(scores, weights) == (3 + 900) / 4
    assert _expected(scores, np.zeros(3)) == 0
    mixed = jax.jit(partial(kernels.mixed, 0.25))(0.5, 0.1)
    assert mixed == 0.125 + 0.75 * 0.1


def test_a_mean_is_the_same_for_one_run_and_for_many():
    """Of two intents, compilers have fused its products into its sum."""
    rng = np.random.default_rng(0)
    mean = jax.jit(jax.vmap(kernels.expected, (0, None)))
    for _ in range(50):
        weights, scores = rng.integers(1, 5, 2).astype(float), rng.random((9, 2))
        expected = (weights * scores).sum(1) / weights.sum()
        assert mean(scores, weights).tolist() == expected.tolist()
        assert mean(scores[:1], weights).tolist() == expected[:1].tolist()
