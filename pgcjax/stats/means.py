"""Means of the scores of queries: arithmetic and geometric means, and sums.

The name of a measure, such as `AP(mean=geometric)`, states its mean, also in files of
scores; measures that count are summed. A geometric mean raises scores to at least 1e-5,
as in trec_eval. It is the exponential of the mean of logarithms, and statistics use
these logarithms in place of scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.io.choices import MEANS, SUMMED
from pgcjax.later import pd

FLOOR = 1e-5
ARITHMETIC, GEOMETRIC, SUM = MEANS
LOGARITHMS = f"logarithms of scores, {FLOOR:.5f} at least: the mean is geometric"


def mean_of(measure: str) -> str:
    """Return the mean in `MEANS` that the name of a measure states."""
    if parameter := re.search(r"[(,]\s*mean\s*=\s*(\w+)\s*[,)]", measure):
        return parameter[1] if parameter[1] in MEANS else ARITHMETIC
    return SUM if re.split(r"[(@]", measure)[0].strip() in SUMMED else ARITHMETIC


def to_average(values: Any, measure: str) -> Any:
    """Return the values to average: logarithms of scores if the mean is geometric."""
    if mean_of(measure) != GEOMETRIC:
        return values
    return np.log(np.maximum(values, FLOOR))


def from_average(means: Any, measure: str, counts: Any) -> Any:
    """Convert means of `to_average`, over `counts` queries, to means of the measure."""
    mean = mean_of(measure)
    if mean == GEOMETRIC:
        return np.exp(means)
    return means * counts if mean == SUM else means


def table_to_average(table: pd.DataFrame) -> pd.DataFrame:
    """Replace the column value with the values to average, as `to_average` does."""
    for name in [m for m in table["measure"].unique() if mean_of(m) == GEOMETRIC]:
        rows = (table["measure"] == name).to_numpy()
        values = table["value"].to_numpy(float)
        table = table.assign(value=np.where(rows, to_average(values, name), values))
    return table


def averaged(table: pd.DataFrame) -> pd.DataFrame:
    """Average the column value by run and measure; return columns mean and count."""
    groups = table.groupby(["run_id", "measure"], sort=True, observed=True)
    sizes = groups.size().rename("count")
    keep = np.arange(sizes.max() if len(sizes) else 0) < sizes.to_numpy()[:, None]
    order = np.argsort(groups.ngroup().to_numpy(), kind="stable")
    cells = np.zeros(keep.shape)
    cells[keep] = table["value"].to_numpy(float)[order]
    return sizes.to_frame().assign(mean=_averaged(cells, keep))


def of_block(
    values: Float64[np.ndarray, "runs queries measures"],
    keep: Bool[np.ndarray, "runs queries measures"] | None,
    measures: Sequence[str],
) -> Float64[np.ndarray, "runs measures"]:
    """Average scores of whole runs over queries.

    Args:
        values: Scores.
        keep: Whether each score exists; None means that all do.
        measures: Names of the measures.

    Returns:
        Means; NaN where there are no scores.
    """
    means = _averaged(values, keep)
    counts = np.full(means.shape, values.shape[1]) if keep is None else keep.sum(1)
    for i, name in enumerate(measures):
        if mean_of(name) != ARITHMETIC:
            present = None if keep is None else keep[..., i]
            averaged = _averaged(to_average(values[..., i], name), present)
            means[:, i] = from_average(averaged, name, counts[:, i])
    return means


def _averaged(
    values: Float64[np.ndarray, "runs queries ..."],
    keep: Bool[np.ndarray, "runs queries ..."] | None,
) -> Float64[np.ndarray, "runs ..."]:
    """Average over queries, independently of their order and of other measures.

    Sums have twice the precision (TwoSum in a tree: Ogita, Rump and Oishi, SIAM J. Sci.
    Comput. 26(6), 2005, algorithm 4.4), and are rounded once: sums of pandas depend on
    the order of rows, and those of numpy on the number of adjacent values.
    """
    valid = ~np.isnan(values) if np.isnan(values).any() else True
    valid = valid if keep is None else valid & keep
    if valid is not True:
        values = np.where(valid, values, 0)
    counts = values.shape[1] if valid is True else valid.sum(1)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(counts, _sums(values) / np.maximum(counts, 1), np.nan)


def _sums(values: np.ndarray) -> np.ndarray:
    """Sum along the second axis, with the rounding errors added at the end."""
    errors: np.ndarray | float = 0.0
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        a, b, odd = values[:, :half], values[:, half : 2 * half], values[:, 2 * half :]
        sums = a + b
        of_b = sums - a
        errors = errors + ((a - (sums - of_b)) + (b - of_b)).sum(1)
        values = np.concatenate([sums, odd], 1) if odd.size else sums
    sums = values.sum(1)  # zero or one column is left
    return np.where(np.isfinite(sums), sums + errors, sums)
