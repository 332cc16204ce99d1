"""Scores as verbs give them: notes on stderr, a file, and what is printed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pgcjax.cli.formats import print_findings, print_leaderboard, print_line
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.stats.scores import Scores


def give(
    scores: "Scores",
    output: str | None,
    *,
    written: bool = False,
    notes: Sequence[str] | None = None,
    **form: Any,
) -> None:
    """Print the notes of scores, or others, and write them, if that is not done."""
    for note in scores.notes if notes is None else notes:
        say(note)
    if output and not written:
        with ProgressDisplay() as progress:
            scores.save(output, **form, progress=progress.update)
    if output:
        say(f"wrote {scores.count} scores to {output}")


def print_scores(
    scores: "Scores",
    form: str,
    top: int | None,
    per_query: bool = False,
) -> None:
    """Print the lines of trec_eval, or a leaderboard."""
    if form == "text":
        for line in scores.lines(per_query):
            print_line(line)
        return
    if scores.metadata.get("means_only"):
        print_findings(_ranked(scores)[:top], form, scores.metadata)
        return
    from pgcjax.reporting.leaderboard import leaderboard

    print_leaderboard(leaderboard(scores), form, top)


def _ranked(scores: "Scores") -> "pd.DataFrame":
    """Order runs by the means of the first measure, the best first, without intervals.

    Returns:
        Table of rank (equal means share one), run_id and the mean of each measure.
    """
    means = scores.mean().rename_axis(columns=None)
    rank = means.iloc[:, 0].rank(method="min", ascending=False, na_option="bottom")
    table = means.reset_index()
    table.insert(0, "rank", rank.astype(int).to_numpy())
    return table.sort_values(["rank", "run_id"], ignore_index=True)
