"""Figures of each kind of findings: `Result.plot` draws them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.io.result import Result
from pgcjax.io.text_tables import intervals
from pgcjax.reporting import bar_plots, canvas, heat_maps, plot_labels, plots
from pgcjax.reporting.leaderboard import leaderboard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Draw = Callable[[Any, "Axes | None"], "Figure"]


class Dots(NamedTuple):
    """A dot for each row of a table of findings, with its interval if there is one.

    Attributes:
        names: Columns that name a row.
        value: Column of the dot; None draws intervals alone.
        label: Label of the numbers.
        table: Attribute of the findings that is the table.
    """

    names: list[str]
    value: str | None
    label: str
    table: str = "table"

    def __call__(self, finding: Any, axes: "Axes | None") -> "Figure":
        """Draw the dots."""
        table = getattr(finding, self.table)
        return bar_plots.dots(table, self.names, self.value, self.label, axes=axes)


_DrawMeasure = Callable[[Any, str | None, "Axes | None"], "Figure"]


def figure(finding: Result, measure: str | None, axes: "Axes | None") -> "Figure":
    """Draw findings by the function for their class: see `Result.plot`."""
    kinds = [kind.__name__ for kind in type(finding).__mro__]
    for kind in kinds:
        if kind in BY_MEASURE:
            return BY_MEASURE[kind](finding, measure, axes)
    if measure is not None:
        raise UsageError(
            f"measure={measure!r}: a figure of {kinds[0]} has no measure to choose"
        )
    draw = next((WHOLE[kind] for kind in kinds if kind in WHOLE), _table)
    return draw(finding, axes)


def _table(finding: Any, axes: "Axes | None") -> "Figure":
    """Draw the first column of floats by the names beside it."""
    table = finding._shown()
    ends = {end for interval in intervals(table) for end in interval[1:]}
    kinds = {name: table[name].dtype.kind for name in table}
    texts = [name for name, kind in kinds.items() if kind not in "biuf"]
    several = [name for name in texts if table[name].nunique() > 1]
    value = next(n for n, kind in kinds.items() if kind == "f" and n not in ends)
    return bar_plots.dots(table, several or texts[:1], value, value, axes=axes)


def _scores(finding: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    name = None if measure is None else finding._spelling(measure)
    return _leaderboard(leaderboard(finding), name, axes)


def _leaderboard(board: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    measure = _chosen(measure, board.mean)
    table = pd.DataFrame({"run_id": board.runs["run_id"]})
    for name in ("mean", "low", "high"):
        table[name] = getattr(board, name)[measure]
    ends = f" and {board.level:g} % interval"
    if table["low"].equals(table["high"]):  # one score per run has no interval
        ends = ""
    return _means(table, f"{measure}, mean{ends}", axes)


def _uncertainty(finding: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    measure = _chosen(measure, finding.mean)
    label = f"{measure}, mean and 95 % interval: {finding.resampling}"
    return _means(finding.means(measure), label, axes)


def _means(table: pd.DataFrame, label: str, axes: "Axes | None") -> "Figure":
    table = table.sort_values("mean", ascending=False, kind="stable")
    return bar_plots.dots(table, ["run_id"], "mean", label, axes=axes)


def _chosen(measure: str | None, names: Iterable[Any]) -> str:
    """Return the measure asked for, by default the first one; it must exist."""
    names = [str(name) for name in names]
    if measure is not None and measure not in names:
        raise UsageError(f"no measure {measure!r}; there are {', '.join(names)}")
    return names[0] if measure is None else measure


def _left_out(finding: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    measure = _chosen(measure, finding.scores)
    label = f"largest change of a mean of {measure}"
    table = finding.changes(measure)
    names = ["left_out", "run"]
    return bar_plots.dots(table, names, "largest_change", label, axes=axes)


def _stability(finding: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    drawn = plots.stability(finding, measure, axes=axes)
    return _label(drawn, "judgments", "as by all judgments", axes)


def _win_rates(finding: Any, measure: str | None, axes: "Axes | None") -> "Figure":
    measure = _chosen(measure, finding.tallies)
    title = f"share of queries for the run of the row, by {measure}"
    return _square(finding.win_rate(measure), title, "run_b", "run_a", axes)


def _similarity(finding: Any, axes: "Axes | None") -> "Figure":
    if finding.runs_a != finding.runs_b or len(finding.runs_a) < 3:
        return _table(finding, axes)
    return _square(finding.matrix(), finding.measure, "run_b", "run_a", axes)


def _judge_agreement(finding: Any, axes: "Axes | None") -> "Figure":
    title = f"share of answers beside another judge's, κ = {finding.kappa:.4f}"
    return _square(finding.shares(), title, "another judge", "a judge", axes)


def _square(
    table: pd.DataFrame, title: str, x: str, y: str, axes: "Axes | None"
) -> "Figure":
    names = [str(name) for name in table.columns]
    drawn = heat_maps.matrix(table.to_numpy(), names, title=title, axes=axes)
    return _label(drawn, x, y, axes)


def _label(drawn: "Figure", x: str, y: str, axes: "Axes | None") -> "Figure":
    with canvas.drawing():
        plot_labels.label(drawn.axes[0] if axes is None else axes, x, y)
    return drawn


def _grades(finding: Any, axes: "Axes | None") -> "Figure":
    table = finding.table.rename(columns={"judge": "measure", "votes": "pairs"})
    return bar_plots.agreement(table, axes=axes)


def _audit(finding: Any, axes: "Axes | None") -> "Figure":
    table = finding.table.dropna(subset="estimate")
    names, label = ["judge", "probe", "of"], "estimate and 95 % interval"
    return bar_plots.dots(table, names, "estimate", label, axes=axes)


def _judge_orders(finding: Any, axes: "Axes | None") -> "Figure":
    table = finding.table
    first = table["coefficient"].iloc[0] if len(table) else "tau"
    rows = table[table["coefficient"] == first]
    label = f"{first} of the orders of runs by two judges"
    return bar_plots.dots(rows, ["judge_a", "judge_b"], "value", label, axes=axes)


def _judge_comparison(finding: Any, axes: "Axes | None") -> "Figure":
    ends = {"low": finding.documents["rank_a"], "high": finding.documents["rank_b"]}
    names = [name for name in ("query_id", "doc_id") if name in finding.documents]
    table, (a, b) = finding.documents.assign(**ends), finding.judges
    label = f"rank by {a}; the line ends at the rank by {b}"
    return bar_plots.dots(table, names, "rank_a", label, axes=axes)


def _contradictions(finding: Any, axes: "Axes | None") -> "Figure":
    ends = {"low": finding.table["minimum"], "high": finding.table["greedy"]}
    table = finding.table.assign(**ends)
    label = "judgments that the peel's order contradicts; the line ends at the fewest"
    return bar_plots.dots(table, ["query_id"], "greedy", label, axes=axes)


def _fit(finding: Any, axes: "Axes | None") -> "Figure":
    by = [name for name in ("query_id", "aspect", "rank") if name in finding.table]
    table = finding.table.sort_values(by, kind="stable")
    names = [*by[:-1], "doc_id"]
    return bar_plots.dots(table, names, "strength", "strength", axes=axes)


def _strength(finding: Any, axes: "Axes | None") -> "Figure":
    gaps = finding.by_gap
    table = gaps.assign(gap=(gaps["low"] + gaps["high"]) / 2, of="strength")
    labels = {"xlabel": "relevance gap", "ylabel": "strength of preference"}
    return plots.lines(table, "gap", "strength", "of", **labels, axes=axes)


def _asking(finding: Any, axes: "Axes | None") -> "Figure":
    labels = {"xlabel": "judgments of a query", "ylabel": "best documents found"}
    table = finding.table.sort_values("judgments")
    return plots.lines(table, "judgments", "top", "design", **labels, axes=axes)


def _explanation(finding: Any, axes: "Axes | None") -> "Figure":
    of = ("doc_id", "adds") if finding.query_id else ("query_id", "score")
    low, high = finding.table[of[1]], finding.table[f"ideal_{of[1]}"]
    table = finding.table.assign(low=low, high=high)
    if finding.query_id:  # leaves out the many documents that add nothing
        table = table[(low != 0) | (high != 0)]
    label = f"{of[1]} ({finding.measure}); the line ends at the ideal ranking's"
    title = f"{finding.run_id}, {finding.query_id or 'all queries'}"
    return bar_plots.dots(table, [of[0]], of[1], label, title=title, axes=axes)


def _difference(finding: Any, axes: "Axes | None") -> "Figure":
    table = finding.table.assign(low=0.0, high=finding.table["difference"])
    name = "doc_id" if finding.query_id else "query_id"
    label = f"{finding.measure}, {finding.run_id} - {finding.other}"
    title = finding.query_id and f"query {finding.query_id}"
    return bar_plots.dots(table, [name], "difference", label, title=title, axes=axes)


def _gate(finding: Any, axes: "Axes | None") -> "Figure":
    about = finding.metadata
    title = f"{about['new']}: {finding.outcome}"
    label = f"difference to {about['against']}; dashed: where the claim ends"
    table = finding.table.assign(measure=finding.table["measure"].replace("", "scores"))
    with canvas.on(axes, 0.9 + 0.2 * len(table)) as on:
        bar_plots.dots(table, ["measure"], "difference", label, title=title, axes=on)
        on.axvline(0, color=canvas.GREY, linewidth=0.5)
        for border in finding.borders:
            on.axvline(border, color=canvas.COLOURS[1], linestyle="--", linewidth=0.8)
    return plot_labels.figure_of(on)


# By class name, because some classes are in rooms that import this one.
BY_MEASURE: dict[str, _DrawMeasure] = {
    "Scores": _scores,
    "Leaderboard": _leaderboard,
    "Uncertainty": _uncertainty,
    "LeftOut": _left_out,
    "Preferences": _win_rates,
    "Stability": _stability,
}
_RUNS = ["run_a", "run_b"]
_BOUNDS = Dots(
    _RUNS, None, "difference of means, as far as it is decided", "comparisons"
)
_RIGHT = "share of conditional grades that are right"
WHOLE: dict[str, _Draw] = {
    "Agreement": lambda finding, axes: bar_plots.agreement(finding.table, axes=axes),
    "Audit": _audit,
    "Circularity": Dots(["run_id"], "lift", "lift by the judge above people"),
    "Comparison": lambda finding, axes: bar_plots.leaderboard(finding, axes=axes),
    "ContextPrediction": Dots(["method"], "accuracy", _RIGHT, "accuracy"),
    "Contradictions": _contradictions,
    "Difference": _difference,
    "Discrimination": lambda finding, axes: plots.significance_curves(
        finding, axes=axes
    ),
    "DrawnAnswers": _BOUNDS,
    "Explanation": _explanation,
    "Finished": Dots(["query_id", "doc_id"], "wins", "wins in the last round", "top"),
    "Fit": _fit,
    "GateDecision": _gate,
    "GradeAgreement": _grades,
    "JudgeAgreement": _judge_agreement,
    "JudgeComparison": _judge_comparison,
    "JudgeOrders": _judge_orders,
    "NextAnswers": _BOUNDS,
    "Panel": Dots(["judge"], "reliability", "reliability"),
    "Power": Dots(
        ["pair", *_RUNS, "test"], "least_difference", "least difference that is found"
    ),
    "RankSets": Dots(["run_id"], "rank", "rank, and those that it may be"),
    "Similarity": _similarity,
    "SimulatedAsking": _asking,
    "Strength": _strength,
}
