"""Findings as text on a terminal."""

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scipy import stats

from pgcjax.errors import printable
from pgcjax.stats.scores import Scores


def leaderboard(
    scores: Scores, console: Console | None = None, width: int = 30
) -> None:
    """Print the runs by their mean, with an interval on the scale of all runs.

    The interval is Student's t, 95 %, over queries: how far the mean would move with
    other queries of the same kind. It is no test between two runs.

    Args:
        scores: of one or several measures; the first orders the runs.
        console: where to print; stdout by default.
        width: characters that the intervals span.
    """
    first = scores.measures[0]
    means = scores.mean().sort_values(first, ascending=False, kind="stable")
    values = scores.matrix(first)
    count = values.count(axis=1)
    error = values.std(axis=1, ddof=1) / np.sqrt(count)
    half = (error * stats.t.ppf(0.975, np.maximum(count - 1, 1))).fillna(0.0)
    low, high = (means[first] - half).min(), (means[first] + half).max()
    table = Table(title=f"{len(means)} runs by {first}", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("run")
    for measure in scores.measures:
        table.add_column(measure, justify="right")
    table.add_column(f"95 % interval of {first}, {low:.2f} to {high:.2f}", no_wrap=True)
    for place, (run, row) in enumerate(means.iterrows(), 1):
        bar = _interval(row[first], half[run], low, high, width)
        values = [f"{row[m]:.4f}" for m in scores.measures]
        name = Text(printable(str(run)))  # not markup, whatever it holds
        table.add_row(str(place), name, *values, bar)
    (console or Console()).print(table)


def _interval(mean: float, half: float, low: float, high: float, width: int) -> str:
    """Draw `mean ± half` on a scale from low to high: `   ├──●──┤`."""
    scale = (width - 1) / (high - low) if high > low else 0.0
    a, m, b = (round((x - low) * scale) for x in (mean - half, mean, mean + half))
    cells = [" "] * width
    cells[a : b + 1] = "─" * (b + 1 - a)
    cells[a], cells[b] = "├", "┤"
    cells[m] = "●"
    return "".join(cells)
