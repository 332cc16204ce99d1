import math

import numpy as np
import pandas as pd
import pytest

from pgcjax.stats.means import of_block
from pgcjax.stats.run_means import run_means

MEASURES = ["PGC", "AP(mean=geometric)", "Cost"]


def _table(values, keep):
    """Lay scores out as rows, by run, query and measure."""
    run, _, measure = np.nonzero(keep)
    names = np.array([f"r{i:02}" for i in range(len(values))])
    return pd.DataFrame(
        {
            "run_id": names[run],
            "measure": np.array(MEASURES)[measure],
            "value": values[keep],
        }
    )


def by_run(table):
    with np.errstate(all="ignore"):
        return run_means([table])["mean"].unstack("measure")


@pytest.mark.parametrize("share", [1, 0.8])
@pytest.mark.parametrize("special", [(), (np.nan,), (np.inf, -np.inf), (1e308,)])
def test_means_of_a_block_have_the_bits_of_those_of_rows(share, special):
    rng = np.random.default_rng(7)
    values = (
        rng.random((20, 300, len(MEASURES))) * 10.0 ** rng.integers(-9, 9, 300)[:, None]
    )
    for value in special:
        values[rng.random(values.shape) < 0.01] = value
    keep = rng.random(values.shape) < share
    expected = by_run(_table(values, keep))[MEASURES].to_numpy()
    found = of_block(values, None if keep.all() else keep, MEASURES)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found).any() == (np.inf in special)


def test_a_mean_depends_on_no_other_measure_and_on_no_order_of_rows():
    values = np.random.default_rng(3).normal(size=(20, 300, len(MEASURES)))
    table = _table(values, np.ones(values.shape, bool))
    means = by_run(table)
    exact = [math.fsum(scores) / 300 for scores in values[..., 0].tolist()]
    assert means["PGC"].tolist() == exact
    alone = by_run(table[table["measure"] == "PGC"])
    assert alone["PGC"].tolist() == exact
    pd.testing.assert_frame_equal(
        by_run(table.sample(frac=1, random_state=1)), means, check_exact=True
    )


def test_a_run_without_scores_has_no_mean():
    values, keep = np.ones((2, 3, 1)), np.array([[[True]] * 3, [[False]] * 3])
    assert of_block(values, keep, ["PGC"]).tolist()[0] == [1]
    assert np.isnan(of_block(values, keep, ["PGC"])[1, 0])
