"""One order of the runs from their pairwise preferences, with intervals."""

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.stats import tests
from pgcjax.stats.uncertainty import Uncertainty

JUMP = 0.15
"""Probability that the chain of `mc4` jumps to any run."""

_DIGITS = 12  # of stationary probabilities; the rest is rounding


def mc4(behind: Int[np.ndarray, "runs runs"]) -> Float64[np.ndarray, " runs"]:
    """Compute values of runs by a Markov chain that moves to preferred runs.

    In each step the chain draws a run, with equal probability, and moves to it if more
    queries prefer it than the current run; otherwise the chain stays. The value of a
    run is its stationary probability. With probability `JUMP` a step moves to any run
    instead. Without such jumps, one run could get all of the value, and the rest tie.

    Args:
        behind: `[i, j]` is the number of queries that prefer j to i, less the number
            that prefer i to j.

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
        Columns run_id, value, low, high, rank (1 best, equal values share one),
        rank_low, rank_high and tier, as in `Uncertainty.ranks`. Intervals of values are
        percentiles.
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
