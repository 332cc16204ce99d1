"""A page on the decision of a gate, and on the queries and documents behind it."""

import shlex
from typing import TYPE_CHECKING, Any

import pandas as pd

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.reporting import canvas, figures, plot_labels
from pgcjax.reporting.page import Page, Part, Picture, Section, first_rows, table_of
from pgcjax.stats.gates import GateDecision
from pgcjax.stats.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_QUERIES = 5  # queries at each end of a table
_EXPLAINED = 3  # queries among them that are explained by documents
_DOCUMENTS = 10


def page_of(decision: GateDecision, scores: Scores | None = None) -> Page:
    """Make the page of a decision.

    Args:
        decision: Result of `pgcjax.gate`.
        scores: Scores behind it; if they remember runs and judgments, documents explain
            the largest differences.
    """
    about = decision.metadata
    new, against = about["new"], about["against"]
    drawn = f"difference of {new} to {against}, and its bounds by the test"
    parts: list[Part] = [
        f"{decision.why}.",
        *(f"{note}." for note in decision.notes),
        Picture("gate", figures.figure(decision, None, None), drawn.capitalize()),
        table_of(decision.table, "Decision by each measure"),
    ]
    sections = [Section("Decision", parts)]
    for number, measure in enumerate(decision.table["measure"], 1):
        rows = decision.queries[decision.queries["measure"] == measure]
        sections.append(_queries(number, measure, rows, about))
        sections += _documents(measure, rows, about, scores)
    settings = {name: value for name, value in about.items() if name != "why"}
    return Page(f"{new} against {against}: {decision.outcome}", sections, settings)


def _queries(
    number: int, measure: str, rows: pd.DataFrame, about: dict[str, Any]
) -> Section:
    """Show all differences, and the queries with the largest of both signs."""
    name, rows = measure or "scores", rows.drop(columns="measure")
    worse, better = ((sign * rows["difference"] > 0).sum() for sign in (-1, 1))
    text = f"{about['new']} is worse on {counted(int(worse), 'query')}, better on "
    text += f"{better}, equal on {len(rows) - worse - better}. The mean of all "
    text += f"differences is {rows['difference'].mean():+.4f}."
    drawn = Picture(f"queries-{number}", _bars(rows, name), "Differences by query")
    lost, won = rows[rows["difference"] < 0], rows[rows["difference"] > 0][::-1]
    tables = [
        first_rows(table, f"Where it is {side}, the largest difference first", _QUERIES)
        for side, table in (("worse", lost), ("better", won))
        if len(table)
    ]
    return Section(f"Queries by {name}", [text, drawn, *tables])


def _bars(rows: pd.DataFrame, name: str) -> "Figure":
    """Draw the differences of all queries, ascending."""
    values = rows["difference"].to_numpy()
    with canvas.on(None, 1.6) as axes:
        colours = [canvas.COLOURS[int(value < 0)] for value in values]
        axes.bar(range(len(values)), values, width=1.0, color=colours)
        axes.axhline(values.mean(), color="black", linestyle="--", linewidth=0.8)
        axes.set_xticks([])
        label = f"{counted(len(values), 'query')}; dashed: the mean"
        plot_labels.label(axes, label, f"difference by {name}")
    return plot_labels.figure_of(axes)


def _documents(
    measure: str, rows: pd.DataFrame, about: dict[str, Any], scores: Scores | None
) -> list[Section]:
    """Explain the largest differences by documents, or show the command for it."""
    new, against = about["new"], about["against"]
    ends = rows[rows["difference"] < 0][:_EXPLAINED]
    ends = pd.concat([ends, rows[rows["difference"] > 0][: -_EXPLAINED - 1 : -1]])
    command = ["pgcjax", "explain", "RUN…", "--prefs", "FILE", "--run-id", new]
    command += ["--other", against, "--query"]
    if scores is None:
        line = shlex.join(command).replace("'RUN…'", "RUN…")
        return [Section("Documents", [f"To see them: {line} ID"])]
    sections = []
    for query, difference in zip(ends["query_id"], ends["difference"], strict=True):
        try:
            explanation = scores.explain(new, query, other=against, measure=measure)
        except (UsageError, DataError) as error:
            return [Section(f"Documents by {measure}", [f"Not explained: {error}."])]
        table = explanation.table
        table = table[table["difference"] != 0]
        caption = "Documents by their part in it, ranks in runs and in ideal rankings"
        title = f"Query {query}: {difference:+.4f} by {measure}"
        sections.append(Section(title, [first_rows(table, caption, _DOCUMENTS)]))
    return sections
