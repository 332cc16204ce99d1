"""A page of votes alone: its numbers are those of the findings behind it."""

import numpy as np
import pandas as pd
import pytest

import pgcjax as package
from pgcjax.reporting.arena_page import arena

pytest.importorskip("matplotlib")


def votes(judges=2, queries=60, seed=0, **more):
    """A table as an arena writes it: model_a, model_b, winner, in both orders."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        for judge in range(judges):
            a, b = rng.choice(4, 2, replace=False)
            for first, second in ((a, b), (b, a)):
                better = rng.random() < 1 / (1 + np.exp(first - second))
                word = "tie" if rng.random() < 0.1 else f"model_{'ab'[not better]}"
                rows.append((f"q{query}", f"m{first}", f"m{second}", word, f"j{judge}"))
    names = ["question_id", "model_a", "model_b", "winner", "judge"]
    return pd.DataFrame(rows, columns=names).assign(**more)


def section(page, title):
    return next(part for part in page.sections if part.title == title)


def test_the_numbers_are_those_of_the_findings():
    table = package.files.read_preferences(votes())
    page = arena(table)
    board = package.judgments.standings(table)
    _, shown = section(page, "Leaderboard").parts
    assert [row[4] for row in shown.rows] == board.table["doc_id"].tolist()
    assert [row[1] for row in shown.rows] == [*map(str, board.table["rank_low"])]
    assert [row[5] for row in shown.rows] == [
        f"{s:.4f}" for s in board.table["strength"]
    ]
    _, square = section(page, "Who beats whom").parts
    first, second = board.wins.index[:2]
    cell = f"{board.wins.loc[first, second]:.2f} ({board.met.loc[first, second]:g})"
    assert square.rows[0][2] == cell and square.rows[1][2] == "—"
    audit = package.judgments.audit(table).table
    swap = audit[(audit["judge"] == "all judges") & (audit["probe"] == "swap")].iloc[0]
    rows = section(page, "Audit of the judges").parts[0].rows
    assert f"{swap['estimate']:.4f}" in next(row for row in rows if row[0] == "swap")
    text, flips = section(page, "Flips").parts
    count = sum(int(row[flips.columns.index("flipped")]) for row in flips.rows)
    assert f"120 pairs judged in both orders, {count} flipped" in text and count


def test_sections_without_data_are_absent():
    table = votes(judges=1).drop(columns="judge").iloc[::2]
    titles = [part.title for part in arena(table).sections]
    assert titles[:3] == ["What this page shows", "Leaderboard", "Who beats whom"]
    assert not {"Flips", "Judging times", "Agreement of judges"} & {*titles}


def test_few_queries_say_what_is_missing():
    page = arena(votes(queries=5))
    assert (
        "cannot be estimated from fewer than 20 queries" in page.sections[0].parts[-1]
    )
    assert section(page, "Leaderboard").parts[1].rows[0][1] == "—"
