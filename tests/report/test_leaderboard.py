"""The leaderboard."""

import io

import pandas as pd
from rich.console import Console

from pgcjax.report.leaderboard import leaderboard
from pgcjax.stats.scores import Scores


def shown(rows) -> list[str]:
    out = io.StringIO()
    table = pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])
    leaderboard(Scores(table), Console(file=out, width=100))
    return out.getvalue().splitlines()


def test_runs_by_their_mean_with_an_interval():
    lines = shown(
        [
            ("low", "q1", "PGC", 0.1),
            ("low", "q2", "PGC", 0.2),
            ("high", "q1", "PGC", 0.8),
            ("high", "q2", "PGC", 0.9),
        ]
    )
    text = "\n".join(lines)
    assert "2 runs by PGC" in text
    assert text.index("high") < text.index("low")
    assert "0.8500" in text and "0.1500" in text
    # t(0.975, 1) * sd / sqrt(2) = 12.7062 * 0.0707107 / 1.41421
    assert f"{0.15 - 0.635310:.2f} to {0.85 + 0.635310:.2f}" in text
    assert text.count("●") == 2 and text.count("├") == 2


def test_one_query_and_equal_runs_have_no_interval():
    lines = shown([("a", "q1", "PGC", 0.5), ("b", "q1", "PGC", 0.5)])
    assert "\n".join(lines).count("●") == 2
