"""Figures with a row for each run, or for each measure."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.reporting import canvas, plot_labels
from pgcjax.stats.findings import Comparison
from pgcjax.stats.intervals import student
from pgcjax.stats.matrix import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.135  # inches per row: letters of 7 points and a gap
_TITLE = 0.7  # share of the width; names take the rest
_BESIDE: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False}
_BESIDE["xycoords"] = ("axes fraction", "data")


def leaderboard(
    scores: Any,
    measure: str | None = None,
    *,
    level: float = 0.95,
    most: int = 60,
    judged: pd.DataFrame | None = None,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw runs by their mean, with intervals over queries, and their letters.

    Runs that share a letter do not differ significantly; c-h are all from c to h.

    Args:
        scores: Scores of runs, as `compare` takes them; or a result of `compare`, whose
            intervals and letters are drawn.
        measure: Measure to draw, if there are several.
        level: Level of the intervals (Student's t).
        most: Most runs to draw: the best ones, with a note in the title.
        judged: Intervals by replicates of the judgments, from `Uncertainty.means`:
            run_id, low, high. They are drawn in orange, below the other intervals.
        axes: Axes to draw on; None makes a figure.
    """
    titles = []
    if isinstance(scores, Comparison):
        table, measure = scores.runs, scores.metadata["measure"]
        level = 1 - scores.metadata["alpha"]
        if not scores.metadata["baselines"]:
            titles = [f"letters: {scores.tested}"]
    else:
        table, measure = _means(scores, measure, level)
    table = table.sort_values("mean", ascending=False, kind="stable")
    shown = table.head(most)
    is_new = axes is None
    with canvas.on(axes) as axes:
        y = _dots(axes, shown, "mean", shown["run_id"])
        if judged is not None:
            ends = judged.set_index("run_id").loc[shown["run_id"]]
            axes.hlines(y + 0.28, ends["low"], ends["high"], color=canvas.COLOURS[1])
        label = f"{measure or 'score'}, mean and {100 * level:g} % interval"
        plot_labels.label(axes, label, share=0.6)
        groups = shown.get("groups", pd.Series("", shown.index))
        for row, text in zip(y, groups, strict=True):
            text = plot_labels.fit(_ranges(str(text)), 0.6)
            axes.annotate(text, (1, row), (2, 0), va="center", **_BESIDE)
        if len(shown) < len(table):
            titles.append(f"the first {len(shown)} of {len(table)} runs")
        _finish(axes, titles, len(shown), is_new)
    return plot_labels.figure_of(axes)


def dots(
    table: pd.DataFrame,
    names: Sequence[str],
    value: str | None,
    label: str,
    *,
    title: str = "",
    most: int = 60,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw a number in each row, and its interval if there is one.

    Args:
        table: Table with one row per number; columns low and high, if present, are the
            interval.
        names: Columns that name a row.
        value: Column of the number; None draws intervals alone.
        label: Label of the numbers.
        title: Title of the plot.
        most: Most rows to draw: the first ones, with a note in the title.
        axes: Axes to draw on; None makes a figure.
    """
    shown, is_new, titles = table.head(most), axes is None, [title] if title else []
    with canvas.on(axes) as axes:
        cells = shown[list(names)].astype(str).to_numpy().tolist()
        _dots(axes, shown, value, [", ".join(filter(None, row)) for row in cells])
        plot_labels.label(axes, label, share=0.7)
        whole = value is not None and shown[value].dtype.kind in "iu"
        axes.locator_params(axis="x", nbins=6, integer=whole)
        if len(shown) < len(table):
            titles.append(f"the first {len(shown)} of {len(table)} rows")
        _finish(axes, titles, max(3, len(shown)), is_new)
    return plot_labels.figure_of(axes)


def _dots(
    axes: "Axes", shown: pd.DataFrame, value: str | None, names: Any
) -> np.ndarray:
    """Draw rows with their names, and return their vertical positions."""
    y, colour = np.arange(len(shown)), canvas.COLOURS[0]
    numbers = {
        name: shown[name].to_numpy(np.float64, na_value=np.nan)
        for name in (value, "low", "high")
        if name in shown
    }
    numbers = {name: np.where(np.isinf(x), np.nan, x) for name, x in numbers.items()}
    if {"low", "high"} <= set(numbers):
        width = 0.8 if value else 2.0
        axes.hlines(y, numbers["low"], numbers["high"], color=colour, linewidth=width)
    if value:
        axes.plot(numbers[value], y, "o", color=colour, markersize=2.8)
    axes.set_yticks(y, plot_labels.fitted(axes, names))
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(axis="x", color=canvas.PALE, linewidth=0.4)
    return y


def _finish(axes: "Axes", titles: list[str], rows: int, is_new: bool) -> None:
    """Write titles, and fit the height of a new figure to its rows."""
    if titles:
        plot_labels.title(axes, *titles, share=_TITLE)
    if is_new:
        lines = axes.get_xlabel().count("\n") + 1
        lines += axes.get_title("left").count("\n") + 1 if titles else 0
        tall = 0.4 + 0.13 * lines + _ROW * rows
        plot_labels.figure_of(axes).set_figheight(tall)


def _ranges(groups: str) -> str:
    """Write `c-h` for `cdefgh`, so that the letters of many runs fit."""
    names = groups.split() if " " in groups else list(groups)
    parts = []
    # Within successive letters, the difference of number and place is constant.
    for _, row in groupby(enumerate(names), lambda at: _number(at[1]) - at[0]):
        letters = [name for _, name in row]
        parts += letters if len(letters) < 4 else [f"{letters[0]}-{letters[-1]}"]
    return (" " if " " in groups else "").join(parts)


def _number(letters: str) -> int:
    """Count a, b, …, z, aa, ab, … from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("a") + 1
    return number


def _means(scores: Any, measure: str | None, level: float) -> tuple[pd.DataFrame, str]:
    if not 0 < level < 1:
        raise UsageError(f"an interval's level is between 0 and 1, not {level}")
    table = read(scores, measure=measure)
    values = table.values
    mean, deviation = values.mean(1), values.std(1, ddof=1)
    low, high = student(mean, deviation, values.shape[1], 1 - level)
    frame = {"run_id": table.run_ids, "mean": mean, "low": low, "high": high}
    return pd.DataFrame(frame), table.measure


def agreement(table: pd.DataFrame, *, axes: "Axes | None" = None) -> "Figure":
    """Draw how often measures agree: bars of agree, tie and disagree.

    Args:
        table: Table from `agree` or `agree_measures`, or any with the columns measure
            (or measure_a, measure_b), agree, disagree and pairs.
        axes: Axes to draw on; None makes a figure.

    Source: the form of Luo 2021, Table 4.1.
    """
    named = ["measure"] if "measure" in table else ["measure_a", "measure_b"]
    counts = table[["agree", "disagree"]].to_numpy(np.float64)
    total = table["pairs"].to_numpy(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreed, opposed = counts.T / total
    parts = {"agree": agreed, "tie": 1 - agreed - opposed, "disagree": opposed}
    colours = canvas.COLOURS[0], canvas.PALE, canvas.COLOURS[1]
    is_new = axes is None
    with canvas.on(axes, 0.5 + 1.25 * _ROW * len(table)) as axes:
        y, left = np.arange(len(table)), np.zeros(len(table))
        for (name, share), colour in zip(parts.items(), colours, strict=True):
            axes.barh(y, share, left=left, color=colour, height=0.75, label=name)
            left = left + share
        for row, share in enumerate(agreed):
            if share == share:  # NaN without pairs
                inside = share > 0.2
                place = 0.01 if inside else share + 0.01
                look = {"color": "white" if inside else "black", "va": "center"}
                axes.text(place, row, f"{share:.3f}", None, **look)
        share = 0.5 / len(named)
        names = zip(
            *(plot_labels.fitted(axes, table[n], share) for n in named), strict=True
        )
        axes.set_yticks(y, [", ".join(one) for one in names])
        axes.set_ylim(len(table) - 0.4, -0.6)
        axes.set(xlim=(0, 1), xlabel="share of pairs")
        plot_labels.legend(axes, own=is_new, columns=3)
    return plot_labels.figure_of(axes)
