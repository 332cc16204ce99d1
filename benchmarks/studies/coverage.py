"""How often do intervals hold the true difference of two runs?

`python -m benchmarks.studies.coverage` is the study behind a table of
docs/significance-evidence.md. Two random runs of a public score matrix have a true
difference: the mean over all topics of the matrix. Topics are drawn from these with
replacement, an interval is made of the differences of each draw, and those that hold
the truth are counted. Random numbers are as in `calibration`: equal calls, equal files.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.studies.calibration import (
    ALPHAS,
    CHUNK,
    COVER,
    SOURCES,
    equal_means,
    random_of,
    share,
    some_matrix,
    table_of,
)
from benchmarks.studies.commands import Sections, matrices_option, study
from pgcjax.stats import intervals, resample, tests

TOPICS = (10, 30, 50, 100)
RESAMPLES = 1000


def rows(folder: Path, trials: int) -> Iterator[dict[str, Any]]:
    """Count the intervals that miss the truth, by measure, topics, kind and level."""
    for measure, topics in product(SOURCES, TOPICS):
        missed: dict[tuple[str, float], list[np.ndarray]] = {}
        for low in range(0, trials, CHUNK):
            # What is drawn is less the mean of all topics: the truth is 0.
            values = _drawn(
                folder, measure, topics, range(low, min(low + CHUNK, trials))
            )
            for alpha in ALPHAS:
                for kind, bounds in _intervals(values, low, alpha).items():
                    outside = (bounds[0] > 0) | (bounds[1] < 0)
                    missed.setdefault((kind, alpha), []).append(outside)
        for (kind, alpha), parts in missed.items():
            row = {"measure": measure, "topics": topics, "test": kind}
            yield row | share(np.concatenate(parts), alpha)


def _drawn(folder: Path, measure: str, topics: int, trials: range) -> np.ndarray:
    """Draw the topics of a pair of runs for each trial: pairs follow each other."""
    pairs = []
    for trial in trials:
        random = random_of(f"coverage {measure} {topics}", trial)
        x = some_matrix(folder, measure, random)
        pairs.append(equal_means(x, topics, random, 0.0))
    return np.concatenate(pairs)


def _intervals(
    values: np.ndarray, seed: int, alpha: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give low and high ends of each pair, by the name that `compare` gives them."""
    pairs = np.arange(0, len(values), 2), np.arange(1, len(values), 2)
    mean, deviation = tests.moments(values, pairs)
    z, queries = values[pairs[0]] - values[pairs[1]], values.shape[1]
    drawn = z @ resample.bootstrap_weights(seed, RESAMPLES, queries) / queries
    bias = intervals.bias_of(mean, drawn)
    drawn.sort(axis=1)
    levels = np.full((2, len(z)), [[alpha / 2], [1 - alpha / 2]])
    w = z - mean[:, None]
    spread = (w * w).sum(1) ** 1.5
    acceleration = (w**3).sum(1) / (6 * np.where(spread > 0, spread, 1.0))
    far = bias + ndtri(levels)
    moved = ndtr(bias + far / (1 - acceleration * far))
    student = intervals.student(mean, deviation, queries, alpha)
    found = {"t": student}
    for name, level in (("percentile", levels), ("bca", moved)):
        low, high = (intervals.quantile(drawn, bound) for bound in level)
        found[name] = low, high
    return found


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the table of the page, in Markdown and per cent."""
    yield from table_of(found["coverage"], ("measure", "topics"), held_of)


def held_of(of_cell: list[dict]) -> str:
    """Print the share of intervals that hold the truth, and where chance ends."""
    signs = {"below": "↑", "within": "", "above": "↓"}  # of those that miss
    held = (f"{100 - 100 * r['share']:.2f}{signs[r['where']]}" for r in of_cell)
    return " / ".join(held)


@study(tables, interval=COVER)
@matrices_option
@click.option("--trials", type=int, default=10_000, show_default=True)
def main(folder: Path, trials: int) -> Sections:
    """Draw topics of real runs, and count the intervals that hold the truth."""
    return {"coverage": list(rows(folder, trials))}


if __name__ == "__main__":
    main()
