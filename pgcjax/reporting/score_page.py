"""A page about scores: who is best, which differences are real, which queries."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError, counted
from pgcjax.io.text_tables import cell_of
from pgcjax.reporting import canvas, judge_orders, plot_labels, plots
from pgcjax.reporting.page import Page, Part, Picture, Section, Table, table_of
from pgcjax.reporting.score_findings import Findings, find
from pgcjax.stats.matrix import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCATTERED = 6  # most plots of two measures in a page


def summary(
    scores: Any,
    measures: Sequence[str] | None = None,
    *,
    title: str = "Scores of runs",
    top: int = 8,
    **settings: Any,
) -> Page:
    """Summarize scores: leaderboards, significance, queries, comparison of measures.

    Args:
        scores: A score table, or a table for each measure, by name.
        measures: Measures to use; None takes all.
        title: Title of the page.
        top: Number of the best runs with a column in the table of queries.
        settings: test, alpha, resamples, seed, missing, cluster, system, collections,
            progress, as in `score_findings.find`.

    Raises:
        UsageError: a measure, test or policy is unknown. DataError: a score is missing.
    """
    check_top(top)
    return page_of(find(scores, measures, **settings), title, top)


def page_of(findings: Findings, title: str, top: int) -> Page:
    """Make the page of findings; other arguments are those of `summary`."""
    sections = [
        _measure(i, matrix, findings, top)
        for i, (name, matrix) in enumerate(findings.scores.items(), 1)
    ]
    if len(sections) > 1:
        sections.append(_compared(findings))
    if findings.judges:
        judged = judge_orders.parts(findings.judges, findings.how)
        sections.append(Section(judge_orders.TITLE, judged))
    return Page(title, sections, findings.used)


def check_top(top: int) -> None:
    """Refuse a table of queries without runs, by a UsageError."""
    if top < 1:
        raise UsageError(f"the table of queries shows 1 run or more, not {top}")


def _measure(number: int, matrix: Matrix, findings: Findings, top: int) -> Section:
    """Show one measure: its leaderboard, which runs differ, its queries."""
    comparison = findings.compared[matrix.measure]
    tested, alpha = comparison.tested, comparison.metadata["alpha"]
    board = comparison.runs.sort_values(["rank", "run_id"], ignore_index=True)
    ordered = board[["rank", "run_id", "mean", "low", "high", "groups"]]
    level = f"{100 * (1 - alpha):g} %"
    judged = findings.by_judgments(matrix.measure)
    caption = f"Runs by mean; groups: {tested}"
    note = ""
    if judged is not None and findings.uncertainty:
        ends = {"low": "judged_low", "high": "judged_high"}
        ordered = ordered.merge(judged.rename(columns=ends), on="run_id")
        redrawn = findings.uncertainty.resampling
        note = f" Below, in orange: {level} intervals by {redrawn} (centred)."
        caption += f"; judged_low, judged_high, tier and ranks: by {redrawn} (centred)"
    parts: list[Part] = [
        f"{matrix.measure or 'Scores'}: " + "; ".join(comparison.notes) + ".",
        Picture(
            f"leaderboard-{number}",
            plots.leaderboard(comparison, judged=judged),
            f"Means over queries with {level} intervals (Student's t). Runs that share "
            f"a letter do not differ significantly ({tested}); c-h are all from c to h."
            + note,
        ),
        table_of(ordered, caption),
        Picture(
            f"differences-{number}",
            plots.differences(comparison),
            "Blue: the run of the row is significantly better than that of the column; "
            f"orange: worse ({tested}).",
        ),
        _queries(matrix, board["run_id"].head(top).tolist()),
    ]
    return Section(f"Runs by {matrix.measure or 'score'}", parts)


def _queries(matrix: Matrix, best: Sequence[str]) -> Table:
    """Show the scores of all runs together, and of the best ones, on each query."""
    values = matrix.values
    where = [matrix.run_ids.index(run) for run in best]
    frame = pd.DataFrame(
        {
            "query": matrix.query_ids,
            "mean": values.mean(axis=0),
            "deviation": values.std(axis=0, ddof=1),
            "best run": [matrix.run_ids[i] for i in values.argmax(axis=0)],
            **{matrix.run_ids[i]: values[i] for i in where},
        }
    )
    shown = counted(len(where), "run")
    caption = f"Queries: mean and deviation over all runs, and the best {shown}"
    return table_of(frame, caption)


def _compared(findings: Findings) -> Section:
    """Compare measures by their orders of runs, and the pairs that they separate."""
    one, table = findings.scores, findings.correlations
    names, discrimination = list(one), findings.discrimination
    power, tested = discrimination.table, discrimination.tested()
    power = power.drop(columns=["test", "correction"])
    parts: list[Part] = [
        table_of(power, f"Pairs of runs that differ significantly: {tested}"),
        Picture(
            "curves",
            plots.significance_curves(discrimination),
            "p of all pairs of runs, sorted: the closer to the origin, the more "
            f"pairs a measure separates ({tested}).",
        ),
        Picture(
            "overlaps",
            plots.overlaps(discrimination),
            "Pairs significant by both of two measures, among those by either "
            f"({tested}).",
        ),
        _means(findings),
        Picture(
            "correlations",
            plots.correlations(table),
            "Kendall's τ of the orders in which two measures put the runs"
            f"{findings.common}.",
        ),
        table_of(
            table.drop(columns="undefined"),
            f"Rank correlations of run orders{findings.common}",
        ),
    ]
    if len(plots.recall_levels(names)) > 1:
        parts.append(
            Picture(
                "recall-precision",
                plots.recall_precision(one),
                "Interpolated precision at levels of recall, the mean over queries: of "
                "each run the best precision from that recall on.",
            )
        )
    every = list(combinations(names, 2))
    drawn = {
        f"({letter})" if len(every) > 1 else "": partial(_points, findings, *two)
        for letter, two in zip(ascii_lowercase, every[:_SCATTERED], strict=False)
    }
    caption = "A point for each run: its means by two measures"
    if len(every) > len(drawn):
        caption += f"; the first {len(drawn)} of {len(every)} pairs of measures"
    scattered = canvas.grid(drawn, columns=min(2, len(drawn)))
    parts.append(Picture("scatter", scattered, f"{caption}."))
    return Section("Measures compared", parts)


def _points(findings: Findings, a: str, b: str, axes: "Axes") -> "Figure":
    """Draw runs by the means in the tables, with τ in the title."""
    x, y = map(findings.means, (a, b))
    rows = findings.correlations.query("coefficient == 'tau'")
    tau = rows.set_index(["measure_a", "measure_b"])["value"][(a, b)]
    with canvas.on(axes) as axes:
        figure = plots.points(x, y, xlabel=a, ylabel=b, axes=axes)
        is_known = not np.isnan(tau)
        plot_labels.title(axes, f"τ = {tau:.4f}" if is_known else "τ is undefined")
    return figure


def _means(findings: Findings) -> Table:
    """Show each run by each measure, in the order of the first."""
    means, runs = {n: findings.means(n) for n in findings.scores}, findings.runs
    order = np.argsort(-next(iter(means.values())), kind="stable")
    rows = [[runs[i], *(cell_of(float(m[i])) for m in means.values())] for i in order]
    return Table(["run_id", *means], rows, "Means of the runs")
