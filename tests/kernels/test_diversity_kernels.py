"""A mean over intents, to the last bit.

That measures of diversity equal their twins is shown in tests/measures.
"""

import jax
import numpy as np
import pytest

from pgcjax.kernels import diversity as kernels


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def test_a_mean_is_the_same_for_one_run_and_for_many():
    """Of two intents, compilers have fused its products into its sum."""
    rng = np.random.default_rng(0)
    mean = jax.jit(jax.vmap(kernels.expected, (0, None)))
    for _ in range(50):
        weights, scores = rng.integers(1, 5, 2).astype(float), rng.random((9, 2))
        expected = (weights * scores).sum(1) / weights.sum()
        assert mean(scores, weights).tolist() == expected.tolist()
        assert mean(scores[:1], weights).tolist() == expected[:1].tolist()
