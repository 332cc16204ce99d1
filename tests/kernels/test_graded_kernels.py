"""Best lists of gains, to the last bit as kernels add them up."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.kernels import ranked_list as sums
from pgcjax.tensors import gains as best

some = settings(max_examples=60)


@jax.jit
def _sums(gain, where):
    cumulated = sums.running(jnp.add, gain, neutral=0.0)
    return sums.total(gain, where=where), cumulated


@some
@given(st.lists(st.floats(0, 1e3, allow_subnormal=False), max_size=40))
def test_best_lists_are_added_up_as_runs_are(gains):
    """So that a run that is a best list scores 1 to the last bit.

    Without gains below 2.2e-308, which XLA takes for 0.
    """
    ordered = best.best_first(np.array(gains))
    n = len(ordered)
    assert (np.diff(ordered) <= 0).all() and (ordered > 0).all()
    with jax.enable_x64(True):
        total, cumulated = _sums(np.pad(ordered, (0, 40 - n)), np.arange(40) < n)
    assert best.total(ordered) == float(total)
    if n:
        assert (best.cumulative(ordered) == np.asarray(cumulated)[:n]).all()


def test_best_lists_down_to_a_depth():
    gains = np.array([0.0, 2.0, 0.5, 3.0, 2.0])
    assert best.best_first(gains, 3).tolist() == [3.0, 2.0, 2.0]
    assert best.best_first(gains).tolist() == [3.0, 2.0, 2.0, 0.5]
    assert best.cumulative(best.best_first(gains)).tolist() == [3.0, 5.0, 7.0, 7.5]
    assert best.cumulative(np.zeros(0)).tolist() == [0.0]
    weights = np.array([0.0, 1.0, 0.5, 0.25])
    assert best.best_discounted(np.array([4.0, 2.0]), weights) == 5.0
    assert best.best_reciprocal(np.array([0.5, 0.5]), weights) == 0.5 + 0.5 * 0.25
