"""Means of runs, and their intervals on a leaderboard."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pgcjax.later import stats
from pgcjax.stats.means import (
    ARITHMETIC,
    averaged,
    from_average,
    mean_of,
    table_to_average,
)


def run_means(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Average scores over queries, with Student's 95 % interval of each mean.

    Args:
        tables: Tables with run_id, measure and value; all scores of a run are in one.

    Returns:
        Columns mean, low, high, std and count (of queries), by run_id and measure; std
        and count describe the averaged values: logarithms, if the mean is geometric.
    """
    means = pd.concat([_of_table(table) for table in tables])
    means = means.set_index(["run_id", "measure"])
    quantile = stats.t.ppf(0.975, np.maximum(means["count"] - 1, 1))
    half = (means["std"] / np.sqrt(means["count"]) * quantile).fillna(0.0)
    means = means.assign(low=means["mean"] - half, high=means["mean"] + half)
    names = means.index.get_level_values("measure")
    for name in [m for m in names.unique() if mean_of(m) != ARITHMETIC]:
        rows = names == name
        counts = means.loc[rows, "count"]
        for column in ("mean", "low", "high"):
            values = means.loc[rows, column]
            means.loc[rows, column] = from_average(values, name, counts)
    return means


def _of_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean, std and count of the values to average, by run and measure."""
    table = table_to_average(table)
    groups = table.groupby(["run_id", "measure"], sort=True, observed=True)["value"]
    means = averaged(table).assign(std=groups.std()).reset_index()
    return means.astype({"run_id": "str", "measure": "str"})
