"""Figures of findings, at the size of a paper's column; `canvas.save` writes them.

Each function takes a result of `pgcjax` and returns a matplotlib `Figure`; with `axes`,
such as those of `canvas.panels`, it draws on them.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.reporting import canvas, plot_labels
from pgcjax.reporting.bar_plots import agreement, leaderboard
from pgcjax.reporting.heat_maps import correlations, differences, matrix, overlaps
from pgcjax.stats.aligned import align, measure_names
from pgcjax.stats.correlation import correlation
from pgcjax.stats.discrimination import Discrimination
from pgcjax.stats.matrix import read
from pgcjax.stats.stability import Stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "agreement",
    "correlations",
    "differences",
    "duel",
    "leaderboard",
    "lines",
    "matrix",
    "overlaps",
    "points",
    "recall_precision",
    "scatter",
    "significance_curves",
    "stability",
]


def scatter(
    scores: Any,
    measure_a: str,
    measure_b: str,
    *,
    coefficient: str = "tau",
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw runs by their means of two measures, with the correlation in the title.

    Args:
        scores: A score table, or a table for each measure, by name.
        measure_a: Measure of the horizontal axis.
        measure_b: Measure of the vertical axis.
        coefficient: Coefficient of `correlate`.
        axes: Axes to draw on; None makes a figure.

    Source: Luo 2021, Figures 4.1 to 4.3.
    """
    side = align(scores, [measure_a, measure_b])
    x, y = side.values.mean(axis=2)
    with canvas.on(axes) as axes:
        points(x, y, xlabel=measure_a, ylabel=measure_b, axes=axes)
        plot_labels.title(axes, _correlated(x, y, coefficient))
    return plot_labels.figure_of(axes)


def duel(
    scores: Any,
    run_a: str,
    run_b: str,
    measure: str | None = None,
    *,
    coefficient: str = "tau",
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw queries by the scores of two runs; above the line, the second is better.

    Args:
        scores: Scores as `compare` takes them.
        run_a: Run of the horizontal axis.
        run_b: Run of the vertical axis.
        measure: Measure to draw, if there are several.
        coefficient: Coefficient of `correlate`, here over queries.
        axes: Axes to draw on; None makes a figure.

    Source: Luo 2021, Figures 5.7, 5.9 and 5.11.
    """
    table = read(scores, measure=measure)
    for run in (run_a, run_b):
        if run not in table.run_ids:
            raise UsageError(f"no scores of run {run!r}")
    x, y = (table.values[table.run_ids.index(run)] for run in (run_a, run_b))
    with canvas.on(axes, 2.9) as axes:
        points(x, y, xlabel=run_a, ylabel=run_b, diagonal=True, axes=axes)
        plot_labels.title(axes, table.measure, _correlated(x, y, coefficient))
    return plot_labels.figure_of(axes)


def _correlated(x: np.ndarray, y: np.ndarray, coefficient: str) -> str:
    sign = {"tau": "τ", "pearson": "r", "spearman": "ρ"}.get(coefficient, coefficient)
    try:
        return f"{sign} = {correlation(x, y, coefficient):.4f}"
    except DataError:
        return f"{sign} is undefined"


def points(
    x: Any,
    y: Any,
    *,
    xlabel: str = "",
    ylabel: str = "",
    diagonal: bool = False,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw points; where there are many, each is fainter.

    Args:
        x: Numbers `[n]`; NaN is left out.
        y: Numbers `[n]`, likewise.
        xlabel: Label of x.
        ylabel: Label of y.
        diagonal: Whether to draw the line y = x, on equal axes.
        axes: Axes to draw on; None makes a figure.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise UsageError(f"expected as many x as y, found {x.shape} and {y.shape}")
    drawn = np.isfinite(x) & np.isfinite(y)
    faint = float(np.clip(120 / max(1, drawn.sum()), 0.08, 0.85))
    with canvas.on(axes, 2.9 if diagonal else 2.0) as axes:
        axes.scatter(x, y, s=9, color=canvas.COLOURS[0], linewidths=0, alpha=faint)
        if diagonal and drawn.any():
            both = np.concatenate([x[drawn], y[drawn]])
            least, most = both.min(), both.max()
            air = 0.04 * (most - least) or 0.5
            ends = least - air, most + air
            axes.plot(ends, ends, color=canvas.GREY, linewidth=0.5, zorder=0)
            axes.set(xlim=ends, ylim=ends, aspect="equal")
            axes.locator_params(nbins=5, steps=[1, 2, 2.5, 5, 10])
        plot_labels.label(axes, xlabel, ylabel)
    return plot_labels.figure_of(axes)


def lines(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    xlabel: str | None = None,
    ylabel: str | None = None,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw curves over a parameter: one for each value of a column.

    Args:
        table: Table with one row per point.
        x: Column of the parameter, such as p, γ or λ.
        y: Column of the dependent number; NaN leaves a gap.
        by: Column that names the curve.
        xlabel: Label of x, by default the column's name.
        ylabel: Label of y, likewise.
        axes: Axes to draw on; None makes a figure.

    Source: the form of Xie et al. 2020, Figures 4 and 5.
    """
    absent = [name for name in (x, y, by) if name not in table]
    if absent:
        raise UsageError(f"no column {absent[0]!r} to draw; there are {list(table)}")
    groups, is_new = table.groupby(by, sort=False), axes is None
    with canvas.on(axes) as axes:
        for style, (name, curve) in zip(canvas.styles(), groups, strict=False):
            look: dict[str, Any] = {"color": style.colour, "label": str(name)}
            look |= {"marker": style.mark, "markersize": 2.5}
            axes.plot(curve[x], curve[y], style.line, **look)
        plot_labels.label(
            axes, x if xlabel is None else xlabel, y if ylabel is None else ylabel
        )
        plot_labels.legend(axes, own=is_new)
    return plot_labels.figure_of(axes)


def recall_precision(
    scores: Any,
    runs: Sequence[str] | None = None,
    *,
    most: int = 7,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw interpolated precision by recall, the mean over queries: a curve per run.

    Args:
        scores: Scores as `compare` takes them, with measures such as `IPrec@0.1`; the
            levels 0, 0.1, …, 1 make the classical 11-point curve.
        runs: Runs to draw; by default the `most` with the highest curves on average.
        most: Number of runs by default.
        axes: Axes to draw on; None makes a figure.

    Source: Salton and McGill 1983, as `iprec_at_recall` of trec_eval.

    Raises:
        UsageError: there are fewer than two levels, or two kinds of IPrec, or a run has
            no scores. DataError: a score is missing.
    """
    names = recall_levels(measure_names(scores))
    if len(names) < 2:
        raise UsageError(
            "a curve needs scores at two levels of recall or more, such as IPrec@0.1 "
            "and IPrec@0.2"
        )
    side = align(scores, list(names))
    values = side.values.mean(axis=2)  # [levels, runs]
    unknown = [run for run in runs or () if run not in side.runs]
    if unknown:
        raise UsageError(f"no scores of run {unknown[0]!r}")
    best = np.argsort(-values.mean(axis=0), kind="stable")[:most]
    chosen = [side.runs.index(run) for run in runs] if runs else best.tolist()
    levels = list(names.values())
    rows = [
        (side.runs[run], level, value)
        for run in chosen
        for level, value in sorted(zip(levels, values[:, run], strict=True))
    ]
    table = pd.DataFrame(rows, columns=["run", "recall", "interpolated precision"])
    figure = lines(table, "recall", "interpolated precision", "run", axes=axes)
    if len(chosen) < len(side.runs):
        with canvas.drawing():
            label = f"{len(chosen)} of {len(side.runs)} runs"
            plot_labels.title(figure.axes[0] if axes is None else axes, label)
    return figure


def recall_levels(measures: Iterable[str]) -> dict[str, float]:
    """Find measures of interpolated precision, and the level of recall of each.

    Raises:
        UsageError: the measures differ in more than the level.
    """
    levels = {}
    for name in measures:
        if match := re.fullmatch(r"IPrec(\(.*\))?@([0-9]*\.?[0-9]+)", name):
            levels[name] = match[1] or "", float(match[2])
    kinds = sorted({kind for kind, _ in levels.values()})
    if len(kinds) > 1:
        raise UsageError(
            f"scores of IPrec{kinds[0]} and IPrec{kinds[1]}: draw one of them"
        )
    return {name: level for name, (_, level) in levels.items()}


def significance_curves(
    discrimination: Discrimination,
    *,
    test: str | None = None,
    highest: float = 0.1,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw ASL curves: p of all pairs of runs, sorted, for each measure.

    The nearer a curve is to the origin, the more pairs the measure separates.

    Args:
        discrimination: Result of `discriminate`.
        test: Test to draw, if there are several; None draws all.
        highest: Highest p on the axis.
        axes: Axes to draw on; None makes a figure.

    Source: Sakai 2012, Figures 7 to 9.
    """
    curves = discrimination.curves()
    tests = list(dict.fromkeys(curves["test"]))
    if test is not None:
        if test not in tests:
            raise UsageError(f"no test {test!r}; there are {', '.join(tests)}")
        curves, tests = curves[curves["test"] == test], [test]
    names = curves["measure"]
    if len(tests) > 1:
        names = names + ", " + curves["test"]
    alpha = discrimination.metadata["alpha"]
    groups, is_new = curves.groupby(names, sort=False), axes is None
    with canvas.on(axes) as axes:
        for style, (name, curve) in zip(canvas.styles(), groups, strict=False):
            x, y = curve["position"], curve["p_adjusted"]
            axes.plot(x, y, style.line, color=style.colour, label=str(name))
        axes.axhline(alpha, color=canvas.GREY, linewidth=0.4)
        last = int(curves["position"].max())
        axes.set_ylim(0, highest)
        plot_labels.title(axes, discrimination.tested(test))
        plot_labels.label(axes, "pairs of runs, by p", "p (ASL)")
        reach = curves.loc[curves["p_adjusted"] <= highest, "position"]
        first = int(reach.min()) if len(reach) else last
        axes.set_xlim(max(1, first - 1) - 0.5, last + 0.5)
        axes.locator_params(axis="x", integer=True, nbins=6)
        plot_labels.legend(axes, own=is_new)
    return plot_labels.figure_of(axes)


_STABLE = {
    "tau": "τ with the order by all, 95 %",
    "same_best": "the same best run",
    "overlap": "best runs kept",
}


def stability(
    stable: Stability, measure: str | None = None, *, axes: "Axes | None" = None
) -> "Figure":
    """Draw how well fewer judgments preserve the order of the runs.

    Args:
        stable: Result of `enough`.
        measure: Measure to draw; by default the first.
        axes: Axes to draw on; None makes a figure.
    """
    measure = stable.table["measure"].iloc[0] if measure is None else measure
    curve = stable.table[stable.table["measure"] == measure]
    if not len(curve):
        there = ", ".join(stable.enough["measure"])
        raise UsageError(f"no curve of {measure!r}; there are {there}")
    is_new, x = axes is None, curve["judgments"]
    with canvas.on(axes) as axes:
        band = {"color": canvas.COLOURS[0], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(x, curve["tau_low"], curve["tau_high"], **band)
        looks = zip(canvas.styles(), _STABLE.items(), strict=False)
        for style, (name, label) in looks:
            look: dict[str, Any] = {"color": style.colour, "label": label}
            look |= {"marker": style.mark, "markersize": 2.5}
            axes.plot(x, curve[name], style.line, **look)
        least = float(curve[["tau_low", "same_best", "overlap"]].min().min())
        axes.set_ylim(least - 0.05 * (1 - least) - 0.01, 1.01)
        axes.locator_params(axis="x", integer=True, nbins=6 if is_new else 3)
        plot_labels.title(axes, str(measure))
        plot_labels.label(axes, "judgments")
        plot_labels.legend(axes, own=is_new)
    return plot_labels.figure_of(axes)
