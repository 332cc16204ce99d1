"""Square figures of all pairs of measures or runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.reporting import canvas, plot_labels
from pgcjax.stats.discrimination import Discrimination
from pgcjax.stats.findings import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FULL = 10  # most rows of a matrix with numbers in its cells
_PITCH = 0.13  # inches from one line of letters to the next
_TALL = 3.4  # inches: largest height of a square of runs
_SHARE = 0.7  # share of the width, beside names
_CELLS: dict[str, Any] = {"interpolation": "none", "aspect": "auto"}


def correlations(
    table: pd.DataFrame, coefficient: str = "tau", *, axes: "Axes | None" = None
) -> "Figure":
    """Draw the correlations of all pairs of measures as a heat map.

    Args:
        table: Table from `correlate`.
        coefficient: One of its coefficients.
        axes: Axes to draw on; None makes a figure.
    """
    square = correlation_square(table, coefficient)
    names = [str(name) for name in square]
    return matrix(square, names, title=coefficient, axes=axes)


def correlation_square(table: pd.DataFrame, coefficient: str) -> pd.DataFrame:
    """Lay the correlations of all pairs of measures out as a square, by their names.

    Args:
        table: Table from `correlate`.
        coefficient: One of its coefficients.

    Returns:
        Table with a row and a column for each measure, 1 on the diagonal.
    """
    rows = table[table["coefficient"] == coefficient]
    if rows.empty:
        names = ", ".join(dict.fromkeys(table["coefficient"]))
        raise UsageError(f"no {coefficient!r} in the table; there are {names}")
    cells = rows.set_index(["measure_a", "measure_b"])["value"].to_dict()
    names = list(dict.fromkeys([*rows["measure_a"], *rows["measure_b"]]))
    square = np.eye(len(names))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i != j:
                # A symmetric coefficient has one row for both directions.
                square[i, j] = cells.get((a, b), cells.get((b, a), np.nan))
    return pd.DataFrame(square, names, names)


def overlaps(
    discrimination: Discrimination,
    test: str | None = None,
    *,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw the overlap of significant pairs for each two measures.

    It is the number of pairs significant by both, divided by that of pairs significant
    by either, from sets such as those of Sakai 2012, Table 4.

    Args:
        discrimination: Result of `discriminate`.
        test: Test to draw, if there are several.
        axes: Axes to draw on; None makes a figure.
    """
    table = discrimination.overlaps()
    tests = list(dict.fromkeys([*table["test_a"], *table["test_b"]]))
    if test is None and len(tests) != 1:
        raise UsageError(
            f"choose a test of {', '.join(tests)}, by two measures or more"
        )
    test = tests[0] if test is None else test
    table = table[(table["test_a"] == test) & (table["test_b"] == test)]
    names = list(dict.fromkeys([*table["measure_a"], *table["measure_b"]]))
    square, place = np.eye(len(names)), {name: i for i, name in enumerate(names)}
    for row in table.to_dict("records"):
        either = row["only_a"] + row["both"] + row["only_b"]
        i, j = place[row["measure_a"]], place[row["measure_b"]]
        square[i, j] = square[j, i] = row["both"] / either if either else np.nan
    title = f"significant pairs in common: {discrimination.tested(test)}"
    return matrix(square, names, title=title, axes=axes)


def differences(
    comparison: Comparison, *, most: int = 60, axes: "Axes | None" = None
) -> "Figure":
    """Draw which runs differ: a square of all pairs, the best run first.

    Blue: the run of the row is significantly better; orange: worse; pale: neither.

    Args:
        comparison: Result of `compare` for all pairs.
        most: Most runs to draw: the best ones, with a note in the title.
        axes: Axes to draw on; None makes a figure.
    """
    order = comparison.runs.sort_values("mean", ascending=False, kind="stable")
    runs = order["run_id"].tolist()
    shown = runs[:most]
    place = {run: i for i, run in enumerate(shown)}
    square = np.zeros((len(shown), len(shown)))
    for row in comparison.table[comparison.table["significant"]].to_dict("records"):
        i, j = place.get(row["run_a"]), place.get(row["run_b"])
        if i is not None and j is not None:
            square[i, j] = np.sign(row["difference"])
            square[j, i] = -square[i, j]
    is_new = axes is None
    with canvas.on(axes, min(0.5 + _PITCH * len(shown), _TALL)) as axes:
        from matplotlib.colors import ListedColormap

        three = ListedColormap([canvas.COLOURS[4], "#f2f2f2", canvas.COLOURS[0]])
        axes.imshow(square, cmap=three, vmin=-1, vmax=1, **_CELLS)
        across = [str(i) for i in range(1, len(shown) + 1)]
        rows = map("  ".join, zip(plot_labels.fitted(axes, shown), across, strict=True))
        _name(axes, list(rows), across, _TALL - 0.5 if is_new else 1.0)
        texts = [f"significant differences: {comparison.tested}"]
        if len(shown) < len(runs):
            texts.append(f"the first {len(shown)} of {len(runs)} runs")
        plot_labels.title(axes, *texts, share=_SHARE)
    return plot_labels.figure_of(axes)


def matrix(
    values: Any, names: Sequence[str], *, title: str = "", axes: "Axes | None" = None
) -> "Figure":
    """Draw a square of numbers, -1 to 1 or 0 to 1, darker where further from 0.

    Args:
        values: Numbers `[n, n]`; NaN is left white.
        names: Names of rows and columns `[n]`.
        title: Title of the plot.
        axes: Axes to draw on; None makes a figure.
    """
    square = np.asarray(values, np.float64)
    if square.shape != (len(names), len(names)):
        raise UsageError(f"expected a square of {len(names)}, found {square.shape}")
    is_new = axes is None
    with canvas.on(axes) as axes:
        shown = plot_labels.fitted(axes, names)
        if is_new:
            below = max(map(plot_labels.width, shown), default=0)
            tall = 0.4 + below + min(max(0.24 * len(names), 0.5), 2.0)
            plot_labels.figure_of(axes).set_figheight(tall)
        from matplotlib.colors import LinearSegmentedColormap

        ends = [canvas.COLOURS[1], "white", canvas.COLOURS[0]]
        shades = LinearSegmentedColormap.from_list("", ends)
        image = axes.imshow(square, cmap=shades, vmin=-1, vmax=1, **_CELLS)
        _name(axes, shown, shown, 2.0 if is_new else 1.0)
        plot_labels.title(axes, title, share=_SHARE)
        if is_new and len(names) <= _FULL:
            for (i, j), value in np.ndenumerate(square):
                if not np.isnan(value):
                    colour = "white" if value > 0.88 else "black"
                    text = f"{round(value, 2) + 0.0:.2f}".replace("0.", ".")
                    axes.text(j, i, text, ha="center", va="center", color=colour)
        else:
            least = min(0.0, float(np.nanmin(square, initial=0)))
            bar = plot_labels.figure_of(axes).colorbar(image, ax=axes)
            canvas.style_ticks(bar.ax)
            bar.ax.set_ylim(least, 1)
    return plot_labels.figure_of(axes)


def _name(
    axes: "Axes", rows: Sequence[str], columns: Sequence[str], inches: float
) -> None:
    """Name rows and columns; if there is no room for all names, skip some evenly."""
    upright = max(map(len, columns), default=0) > 3
    for axis, names, pitch in (
        (axes.yaxis, rows, _PITCH),
        (axes.xaxis, columns, _PITCH if upright else 0.2),
    ):
        step = max(1, -(-int(1000 * pitch * len(names)) // int(1000 * inches)))
        ticks = range(0, len(names), step)
        axis.set_ticks(ticks, [names[i] for i in ticks])
    axes.tick_params(axis="x", rotation=90 if upright else 0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
