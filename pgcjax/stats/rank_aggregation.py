"""Preferences between all pairs of runs → one order of the runs, with intervals."""

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.stats import tests
from pgcjax.stats.uncertainty import Uncertainty

JUMP = 0.15
"""Chance with which the chain of `mc4` goes to any run instead of one that is ahead."""

_DIGITS = 12  # of chances in the long run; what is left is rounding


def mc4(behind: Int[np.ndarray, "runs runs"]) -> Float64[np.ndarray, " runs"]:
    """Order runs by a Markov chain which goes to runs that most queries prefer.

    From its run, the chain draws one of all runs, its own among them, with the same
    chance, and goes there if more queries prefer that one than the other way round;
    else it stays. The chance to be at a run
    in the long run is its value. With chance `JUMP` the chain goes to any run instead:
    without that, all of the value could end at one run, and the others would be alike.

    Args:
        behind: `[i, j]` is by how many queries more j is preferred to i than i to j.

    Source: MC4 of Dwork, Kumar, Naor and Sivakumar 2001; the jump is that of Brin and
    Page 1998.
    """
    runs = len(behind)
    chain = (behind > 0) / runs
    np.fill_diagonal(chain, 1 - chain.sum(axis=1))
    flow = np.eye(runs) - (1 - JUMP) * chain.T
    value = np.linalg.solve(flow, np.full(runs, JUMP / runs))
    return np.round(value / value.sum(), _DIGITS)


def ordering(
    run_ids: list[str],
    observed: Float64[np.ndarray, " runs"],
    drawn: Float64[np.ndarray, "resamples runs"],
    alpha: float,
) -> pd.DataFrame:
    """Order runs by their values, the best first, with intervals of values and ranks.

    Returns:
        run_id, value, low, high, rank (1 best, equal values share one), rank_low,
        rank_high, tier: as of `Uncertainty.ranks`. Intervals of values are percentiles.
    """
    tests.check_alpha(alpha)
    uncertainty = Uncertainty(
        run_ids=run_ids, mean={"": observed}, replicates={"": drawn}
    )
    options = {"interval": "percentile", "alpha": alpha}
    values = uncertainty.means("", **options).rename(columns={"mean": "value"})
    ranks = uncertainty.ranks("", alpha=alpha).drop(columns="mean")
    ranks = ranks.rename(columns={"low": "rank_low", "high": "rank_high"})
    table = ranks.merge(values[["run_id", "value", "low", "high"]], on="run_id")
    columns = ["run_id", "value", "low", "high", "rank", "rank_low", "rank_high"]
    return table[[*columns, "tier"]]
