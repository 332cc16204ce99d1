"""A page about votes on systems without runs, as arenas show them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from pgcjax._version import __version__
from pgcjax.errors import Progress, counted
from pgcjax.io.votes.double import FLIPPED, KINDS, double_votes
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.audit import ALL, audit
from pgcjax.judging.two_judges import JudgeComparison
from pgcjax.reporting import bar_plots, figures, heat_maps, page
from pgcjax.reporting.judgment_analysis import Choices, analyse
from pgcjax.reporting.page import (
    Page,
    Part,
    Picture,
    Section,
    Table,
    first_rows,
    table_of,
)
from pgcjax.stats.standings import CLUSTERS, Standings, standings

_SQUARE = 30  # most documents in a win matrix
_ROWS = 40  # most rows of judges in a table
_SECTIONS = ("Agreement of judges", "Transitivity", "Judging times")


def report(
    preferences: Any,
    path: str | os.PathLike,
    *,
    title: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Path:
    """Write a page about comparisons: a leaderboard, who beats whom, and the judges.

    Args:
        preferences: Votes in any form that `read_preferences` takes, whose documents
            are answers of systems; or a comparison of two judges from `compare`.
        path: An .html file, or an .md file with figures in a folder beside it.
        title: Title of the page; by default Arena, or the judges.
        level: Level of the intervals, and of all ranks jointly.
        seed: Seed of the draws behind the ranks.
        progress: Called with `(stage, done, total)`.

    Raises:
        UsageError: `path` has another suffix. DataError: there are no comparisons, a
            row is malformed, or the file cannot be written.
    """
    page.ready(path)
    if isinstance(preferences, JudgeComparison):
        return page.write(two_judges(preferences, title), path)
    settings: dict[str, Any] = {"level": level, "seed": seed, "progress": progress}
    return page.write(arena(preferences, title=title or "Arena", **settings), path)


def arena(
    preferences: Any,
    *,
    title: str = "Arena",
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Page:
    """Make the page; arguments are those of `report`."""
    table = read_preferences(preferences)
    board = standings(table, level=level, seed=seed)
    sections = [_introduction(table, board), _leaderboard(board, level), _wins(board)]
    sections += _flips(table)
    sections += _audit(table, progress)
    for analysis in analyse(table, None, Choices()):
        if analysis.title in _SECTIONS and not analysis.why_not:
            parts: list[Part] = [
                first_rows(part.frame, part.caption, _ROWS) for part in analysis.parts
            ]
            sections.append(Section(analysis.title, [*parts, *analysis.notes]))
    return Page(title, sections, {"version": __version__, **board.metadata})


def _introduction(table: pd.DataFrame, board: Standings) -> Section:
    """Describe the judgments and judges, and the meaning of the numbers."""
    compared = table[table["other_doc_id"].notna()]
    ties = int((compared["preference"] == 0).sum())
    judges = compared["judge"].nunique() if "judge" in compared else 0
    by = f" by {counted(judges, 'judge')}" if judges else ""
    queries = counted(compared["query_id"].nunique(), "query")
    first, confident = board.table["doc_id"][0], board.table["rank_low"].notna().all()
    rivals = int((board.table["rank_low"] == 1).sum()) - 1
    near = f"{rivals} more can be first" if rivals else "no other one can be first"
    ranks = (
        "A system may have the ranks from low to high: with "
        f"{100 * board.metadata['level']:g} % confidence all of them hold at once. "
        f"{first} is first; {near}."
        if confident
        else f"{first} is first. How certain this is cannot be estimated from fewer "
        f"than {CLUSTERS} queries."
    )
    return Section(
        "What this page shows",
        [
            f"{counted(len(board.table), 'system')} were compared in pairs: "
            f"{len(compared)} votes on {queries}{by}, {ties} of them ties. A vote says "
            "which of two answers is better.",
            "Strengths are log-odds by the model of Bradley and Terry: a system wins "
            "73 % of its comparisons with one that is 1 weaker, 88 % with one that is "
            "2 weaker. A tie is half a vote for each.",
            ranks,
        ],
    )


def _leaderboard(board: Standings, level: float) -> Section:
    table = board.table.rename(columns={"doc_id": "system"})
    shown = table[
        ["rank", "rank_low", "rank_high", "tier", "system", "strength"]
    ].assign(
        low=table["low"],
        high=table["high"],
        votes=table["votes"],
        **{"win rate": table["won"] / table["votes"]},
    )
    label = f"strength, {100 * level:g} % interval"
    drawn = bar_plots.dots(board.table, ["doc_id"], "strength", label)
    caption = f"Strengths with {100 * level:g} % intervals, each by itself."
    picture = Picture("leaderboard", drawn, caption)
    return Section("Leaderboard", [picture, table_of(shown, board.notes[0])])


def _wins(board: Standings) -> Section:
    names = board.wins.index[:_SQUARE].tolist()
    wins, met = board.wins.loc[names, names], board.met.loc[names, names]
    more = len(board.wins) - len(names)
    note = f" (the first {len(names)} of {len(board.wins)})" if more else ""
    caption = f"Share of the votes that the row wins over the column{note}"
    rows = [
        [
            name,
            *(
                _share(*cell)
                for cell in zip(wins.loc[name], met.loc[name], strict=True)
            ),
        ]
        for name in names
    ]
    square = heat_maps.matrix(wins.to_numpy(), names, title="share of votes won")
    return Section(
        "Who beats whom",
        [
            Picture("wins", square, f"{caption}; white where two never met."),
            Table(["", *names], rows, f"{caption}, and the number of votes"),
        ],
    )


def _share(won: float, votes: float) -> str:
    return f"{won:.2f} ({votes:g})" if votes else "—"


def _flips(table: pd.DataFrame) -> list[Section]:
    """Count pairs that were judged in both orders, by outcome."""
    if "first" not in table or (double := double_votes(table)).empty:
        return []
    judge = double["judge"].replace("", "(no name)")
    counts = pd.crosstab(judge, double["kind"]).reindex(columns=[*KINDS], fill_value=0)
    counts["pairs"] = counts.sum(axis=1)
    is_flipped = double["kind"] == FLIPPED
    to_first = judge[is_flipped & (double["to"] == "first")].value_counts()
    counts["flipped to first"] = to_first.reindex(counts.index, fill_value=0)
    text = (
        f"{counted(len(double), 'pair')} judged in both orders, {is_flipped.sum()} "
        "flipped: there the order decided, and not the answers."
    )
    caption = "Pairs judged in both orders, by judge"
    return [Section("Flips", [text, first_rows(counts.reset_index(), caption, _ROWS)])]


def _audit(table: pd.DataFrame, progress: Progress | None) -> list[Section]:
    """Show the audit of the judges: the probes that have a result."""
    findings = audit(table, progress=progress)
    rows = findings.table[findings.table["estimate"].notna()]
    if rows.empty:
        return []
    columns = ["judge", "probe", "of", "estimate", "low", "high", "count", "verdict"]
    columns = [name for name in columns if name != "of" or rows["of"].any()]
    parts = [
        first_rows(part[columns].drop(columns=gone), caption, _ROWS)
        for part, gone, caption in (
            (rows[rows["judge"] == ALL], ["judge"], "All judges together"),
            (rows[rows["judge"] != ALL], [], "Each judge"),
        )
        if len(part)
    ]
    return [Section("Audit of the judges", [*parts, *findings.notes])]


def two_judges(found: JudgeComparison, title: str | None = None) -> Page:
    """Make a page about two judges: agreement, bias, and differing votes."""
    a, b = found.judges
    estimated = found.table[found.table["estimate"].notna()]
    absent = found.table[found.table["estimate"].isna()]
    numbers = table_of(
        estimated.rename(columns={"a": a, "b": b}),
        "Estimates with 95 % intervals; for first and longer, odds and their ratio",
    )
    why_not = [f"{row.statistic} is {row.verdict}" for row in absent.itertuples()]
    ranks = Picture("ranks", figures.figure(found, None, None), "Ranks by both judges.")
    counts = found.answers.rename_axis(f"{a} says").reset_index()
    parts: list[Part] = [
        first_rows(found.queries, "Queries, the most opposite decisions first", _ROWS),
        first_rows(
            found.pairs,
            f"Pairs decided in opposite ways: {a} prefers doc_id, {b} the other one",
            _ROWS,
        ),
    ]
    answers = f"Answers by {a} (rows) and {b} (columns), each pair both ways round"
    sections = [
        Section("How far two judges agree", [*found.notes, numbers, *why_not]),
        Section("Answers", [table_of(counts, answers)]),
        Section("Where they differ", parts),
        Section(
            "Order of documents",
            [ranks, first_rows(found.documents, "By Bradley and Terry's model", _ROWS)],
        ),
    ]
    used = {"version": __version__, **found.metadata}
    return Page(title or f"{a} and {b}", sections, used)
