"""The curve of fewer judgments, and how many are enough: equal to plain twins."""

import numpy as np
import pytest
from helpers.twins import replicates as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.stats.stability import LEVEL, stability

SHARES, COUNTS = (0.25, 0.5, 0.75), (10, 20, 30, 40)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([2, 9, 10**6]))
def test_the_curve_is_that_of_the_twins(seed, runs, steps):
    random = np.random.default_rng(seed)

    def means(count):  # of few values: ties
        return random.integers(0, steps, (count, runs)) / steps

    observed = means(1)[0]
    spread = observed if seed % 2 else means(1)[0]  # many replicates keep the order
    drawn = [np.where(random.random((40, 1)) < s, spread, means(40)) for s in SHARES]
    names = [f"r{i}" for i in range(runs)]
    found = stability(names, {"PGC": observed}, {"PGC": drawn}, SHARES, COUNTS, 3, {})
    assert found.table["share"].tolist() == [*SHARES, 1.0]
    assert found.table["judgments"].tolist() == [*COUNTS]
    for row, part in zip(
        found.table.itertuples(), [*drawn, observed[None]], strict=True
    ):
        each = part.tolist()
        taus = [tau(observed, values) for values in each]
        assert row.tau == pytest.approx(np.mean(taus))
        if len(each) > 1:
            assert row.tau_low == pytest.approx(twin.quantile(taus, 0.025))
            assert row.tau_high == pytest.approx(twin.quantile(taus, 0.975))
        assert row.same_best == pytest.approx(twin.same_best(observed, each))
        overlap = twin.overlap(observed, each, min(3, runs))
        assert row.overlap == pytest.approx(overlap)
    first = twin.enough(found.table["same_best"].tolist(), LEVEL)
    (least,) = found.enough.to_dict("records")
    assert least["judgments"] == COUNTS[first]
    assert least["share"] == [*SHARES, 1.0][first]
    assert least["best"] == names[int(np.argmax(observed))]


def tau(x, y):
    """0 where all are equal: nothing of the order is left."""
    return twin.tau_b([*map(float, x)], y) if len({*x}) > 1 and len({*y}) > 1 else 0.0


def test_what_is_told():
    observed = {"PGC": np.array([0.5, 0.25]), "PGC(p=0.5)": np.array([0.25, 0.5])}
    kept, turned = np.array([[0.5, 0.25]] * 2), np.array([[0.5, 0.25], [0.2, 0.3]])
    drawn = {"PGC": [turned, kept], "PGC(p=0.5)": [turned, turned]}
    found = stability(["a", "b"], observed, drawn, (0.25, 0.5), (2, 4, 8), 5, {"x": 1})
    assert found.notes == (
        "PGC: from 4 of the 8 judgments on (50 %), a is the best run in 95 % of the "
        "subsamples",
        "PGC(p=0.5): no share that was tried keeps b the best run in 95 % of the "
        "subsamples: even the 8 judgments may be too few",
    )
    assert found.metadata == {"x": 1}
    one = stability(
        ["a"], {"PGC": np.ones(1)}, {"PGC": [np.ones((2, 1))]}, (0.5,), (1, 2), 1, {}
    )
    assert one.table.iloc[0].tolist() == ["PGC", 0.5, 1, 1.0, 1.0, 1.0, 1.0, 1.0]
