"""Runs by their means, best first: for terminals, papers and programs."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console

from pgcjax.errors import UsageError, shared
from pgcjax.io.result import Result, computed
from pgcjax.io.scores.text import is_count
from pgcjax.io.text_tables import Column, TextTable, cells_of
from pgcjax.reporting import terminal
from pgcjax.reporting.marks import marks
from pgcjax.stats.findings import Comparison
from pgcjax.stats.run_means import run_means
from pgcjax.stats.scores import Scores

if TYPE_CHECKING:
    from pgcjax.stats.uncertainty import Uncertainty

_ENDS = ("low", "high")
_STUDENT = "Student's t over queries"
_RECTIFIED = "of human scores, predicted with the help of a model's"
_BAR, _LEAST_BAR = 30, 12  # characters that intervals span


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Result):
    """Runs, the best first; all tables have a row for each.

    Attributes:
        runs: rank (1 is best, equal means share one) and run_id; with replicates of the
            judgments also tier, rank_low and rank_high, as in `Uncertainty.ranks`.
        mean: Means, a column for each measure; the first measure orders the runs.
        low: Lower ends of the intervals of the means, likewise.
        high: Upper ends, likewise.
        marks: Marks from `marks`, for some or all measures, likewise.
        marked: Name of the marks.
        level: Level of the intervals, in per cent.
        interval: Kind of the intervals.
        total: Number of ranked runs, of which the leaderboard may have the best only.
        table: All numbers: rank, run_id, and for each measure mean, …_low, …_high.
    """

    runs: pd.DataFrame
    mean: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    marks: pd.DataFrame = field(default_factory=pd.DataFrame)
    marked: str = ""
    level: float = 95.0
    interval: str = _STUDENT
    total: int = 0
    table: pd.DataFrame = computed(lambda self: self._numbers())

    def _numbers(self) -> pd.DataFrame:
        parts = [self.runs]
        for measure in self.mean:
            parts += [self.mean[measure]]
            parts += [
                getattr(self, end)[measure].rename(f"{measure}_{end}") for end in _ENDS
            ]
        return pd.concat(parts, axis=1)

    def top(self, count: int | None) -> "Leaderboard":
        """Select the best runs, or all if the count is None."""
        if count is None or count >= len(self.runs):
            return self
        tables = ("runs", "mean", "low", "high", "marks")
        best: dict[str, Any] = {
            name: getattr(self, name).head(count) for name in tables
        }
        return replace(self, **best)

    def text_table(self, intervals: bool = True) -> TextTable:
        """Lay the leaderboard out as text, with intervals of the first measure."""
        columns = [
            Column("#", [str(rank) for rank in self.runs["rank"]], right=True),
            Column("run", self.runs["run_id"].tolist()),
        ]
        first = self.mean.columns[0]
        for measure, values in self.mean.items():
            bold = (values == values.max()).tolist()
            columns.append(Column(str(measure), _cells(measure, values), True, bold))
            if measure in self.marks:
                cells = self.marks[measure].tolist()
                columns.append(Column(self.marked, cells, raised=True))
            if measure == first and intervals:
                ends = (cells_of(getattr(self, end)[first]) for end in _ENDS)
                cells = [f"[{low}, {high}]" for low, high in zip(*ends, strict=True)]
                columns.append(Column(f"{self.level:g} % interval", cells, right=True))
        if "tier" in self.runs:
            columns.append(Column("tier", cells_of(self.runs["tier"]), right=True))
            ends = zip(self.runs["rank_low"], self.runs["rank_high"], strict=True)
            ranks = [f"{low}" if low == high else f"{low}-{high}" for low, high in ends]
            columns.append(Column("ranks", ranks, right=True))
        is_named = intervals or self.interval != _STUDENT
        method = [f"Intervals: {self.interval}"] if is_named else []
        left_out = len(self.runs) < self.total
        best = f"The best {len(self.runs)} of " if left_out else ""
        title = f"{best}{self.total} runs by {first}"
        return TextTable(columns, title, [*self.notes, *method])


def leaderboard(
    findings: "Scores | Uncertainty | Comparison | Sequence[Comparison]",
    *,
    interval: str = "centred",
) -> Leaderboard:
    """Rank runs by their means.

    The intervals are Student's t over queries: the range of a mean over other queries
    of the same kind. They do not test two runs against each other; a result of
    `compare` does, and adds marks beside the means. Replicates of the judgments add
    their own intervals instead, and tiers and ranks by the first measure.

    Args:
        findings: Scores of one or several measures, of which the first orders the runs;
            a result of `uncertainty`; or results of `compare`, one for each measure.
        interval: Interval of the replicates; see `stats.choices.REPLICATED`.
    """
    if isinstance(findings, Scores):
        return _of_scores(findings)
    from pgcjax.stats.uncertainty import Uncertainty

    if isinstance(findings, Uncertainty):
        if findings.observed is None:
            raise UsageError("replicates of a file have no scores: give report both")
        board = _of_scores(findings.observed)
        return _with_replicates(board, findings, interval)
    comparisons = [findings] if isinstance(findings, Comparison) else list(findings)
    of = {each.metadata["measure"] or "mean": each for each in comparisons}
    parts = {measure: each.runs.set_index("run_id") for measure, each in of.items()}
    metadata_of = [each.metadata for each in comparisons]
    board = _ranked(
        parts, metadata_of[0] if len(metadata_of) == 1 else {"comparisons": metadata_of}
    )
    marked = {measure: marks(each) for measure, each in of.items()}
    runs = board.runs["run_id"]
    rectified = any("human_queries" in metadata for metadata in metadata_of)
    beside = {
        measure: runs.map(text).fillna("") for measure, (_, text, _) in marked.items()
    }
    return replace(
        board,
        marks=pd.DataFrame(beside),
        marked=" or ".join(dict.fromkeys(name for name, _, _ in marked.values())),
        level=100 * (1 - metadata_of[0]["alpha"]),
        interval=_RECTIFIED if rectified else _STUDENT,
        notes=_unrepeated(
            (measure, reason) for measure, (_, _, reason) in marked.items()
        ),
    )


def _unrepeated(notes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Write notes on all measures once, and others with the names of their measures."""
    notes = list(notes)
    lines = list(dict.fromkeys(text for _, text in notes))
    return tuple(lines if len(lines) == 1 else shared(notes))


def _of_scores(scores: Scores) -> Leaderboard:
    means = run_means(scores.frames())
    by = means.reset_index("measure").groupby("measure")
    board = _ranked({m: by.get_group(m) for m in scores.measures}, scores.metadata)
    settings = (f"{name} {scores.metadata.get(name)}" for name in ("order", "missing"))
    settings = [*settings, *(["float32"] if scores.metadata.get("float32") else [])]
    notes = (", ".join(settings).capitalize(),) if "order" in scores.metadata else ()
    return replace(board, notes=notes)


def _cells(measure: Hashable, values: pd.Series) -> list[str]:
    """Print means, and sums of counts as whole numbers."""
    if is_count(str(measure)) and (values % 1 == 0).all():
        return [f"{value:.0f}" for value in values]
    return cells_of(values)


def _with_replicates(
    board: Leaderboard, uncertainty: "Uncertainty", interval: str
) -> Leaderboard:
    """Replace the intervals over queries by those of replicates."""
    low, high = board.low.copy(), board.high.copy()
    names = board.runs["run_id"].to_list()
    for measure in uncertainty.mean:
        means = uncertainty.means(measure, interval=interval).set_index("run_id")
        low[measure], high[measure] = (means[end][names].to_numpy() for end in _ENDS)
    ranks = uncertainty.ranks(str(board.mean.columns[0]))
    ranks = ranks.set_index("run_id").loc[names].reset_index()
    runs = board.runs.assign(
        tier=ranks["tier"], rank_low=ranks["low"], rank_high=ranks["high"]
    )
    text = f"{uncertainty.resampling} ({interval})"
    return replace(board, runs=runs, low=low, high=high, interval=text)


def _ranked(parts: Mapping[str, pd.DataFrame], metadata: dict[str, Any]) -> Leaderboard:
    """Order runs by their means of the first measure.

    Args:
        parts: Mean, low and high by run_id, for each measure.
        metadata: Settings behind them.
    """
    mean, low, high = (
        pd.DataFrame({measure: part[end] for measure, part in parts.items()})
        for end in ("mean", *_ENDS)
    )
    first = mean.iloc[:, 0]
    rank = first.rank(method="min", ascending=False, na_option="bottom").astype(int)
    runs = rank.rename("rank").rename_axis("run_id").reset_index()
    runs = runs.sort_values(["rank", "run_id"])[["rank", "run_id"]]
    places, runs = runs.index, runs.reset_index(drop=True)
    mean, low, high = (
        table.iloc[places].reset_index(drop=True) for table in (mean, low, high)
    )
    return Leaderboard(
        metadata, runs=runs, mean=mean, low=low, high=high, total=len(runs)
    )


def show(board: Leaderboard, console: Console | None = None) -> None:
    """Print a leaderboard, with the intervals of the first measure on one scale."""
    console = console or terminal.console_of()
    text = board.text_table(intervals=False)
    columns, notes = list(text.columns), list(text.notes)
    width = min(_BAR, terminal.room(columns, console) - 3)
    if width >= _LEAST_BAR:
        mean, low, high = (t.iloc[:, 0] for t in (board.mean, board.low, board.high))
        name = f"{board.level:g} % interval, {low.min():.2f} to {high.max():.2f}"
        bars = _bars(
            mean, low, high, width, "-||o" if console.options.ascii_only else "─├┤●"
        )
        columns.append(Column(name, bars, raised=True))
    else:
        notes.append("No room for intervals; --format csv has them")
    if len(board.runs) < board.total:
        notes.append(f"--top {board.total} shows all {board.total} runs")
    terminal.show(replace(text, columns=columns, notes=notes), console)


def _bars(
    mean: pd.Series, low: pd.Series, high: pd.Series, width: int, signs: str
) -> list[str]:
    """Draw intervals on one scale: `   ├──●──┤`."""
    least, most = low.min(), high.max()
    scale = (width - 1) / (most - least) if most > least else 0.0
    line, left, right, point = signs
    bars = []
    for ends in zip(low, mean, high, strict=True):
        cells = [" "] * width
        if not np.isnan(ends[1]):  # the run has a mean
            a, m, b = (round((x - least) * scale) for x in ends)
            cells[a : b + 1] = line * (b + 1 - a)
            cells[a], cells[b] = left, right
            cells[m] = point
        bars.append("".join(cells))
    return bars
