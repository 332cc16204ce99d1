"""Marks beside the means of runs that were compared: which runs differ."""

from string import ascii_lowercase

import numpy as np
import pandas as pd

from pgcjax.stats.findings import Comparison

_MOST_LETTERS = 12
_MOST_RANGES = 3


def marks(comparison: Comparison) -> tuple[str, pd.Series, str]:
    """Mark runs by the runs from which they differ significantly.

    Comparisons with baselines have arrows. Comparisons of all pairs have letters: runs
    that share one do not differ. With more than 12 letters, the mark of a run lists the
    ranks of the runs from which it does not differ.

    Returns:
        The name of the marks, the mark of each run by its name, and a legend.
    """
    test = comparison.tested
    if comparison.metadata["baselines"]:
        arrows, reason = _arrows(comparison)
        return "against", arrows, f"{reason} ({test})"
    groups = comparison.runs.set_index("run_id")["groups"]
    letters = {*"".join(groups)}  # above 26 groups, blanks separate the letters
    if " " not in letters and len(letters) <= _MOST_LETTERS:
        reason = f"Runs that share a letter do not differ significantly ({test})"
        return "groups", groups, reason
    reason = f"same as: ranks of the runs that do not differ significantly ({test})"
    return "same as", _ranges(comparison), reason


def _arrows(comparison: Comparison) -> tuple[pd.Series, str]:
    """Point up where a run is better than a baseline, down where it is worse."""
    baselines = list(dict.fromkeys(comparison.metadata["baselines"]))
    several = len(baselines) > 1
    names = {run: _name(i) if several else "" for i, run in enumerate(baselines)}
    arrows: dict[str, dict[str, str]] = {run: {} for run in comparison.runs["run_id"]}
    pairs = comparison.table[comparison.table["significant"]]
    columns = (pairs[name].tolist() for name in ("run_a", "run_b", "difference"))
    for a, b, difference in zip(*columns, strict=True):
        up, down = ("↑", "↓") if difference > 0 else ("↓", "↑")
        for run, base, arrow in ((a, b, up), (b, a, down)):
            if base in names:
                arrows[run][arrow] = arrows[run].get(arrow, "") + names[base]
    text = {
        run: "".join(arrow + of[arrow] for arrow in "↑↓" if arrow in of)
        for run, of in arrows.items()
    }
    who = f" than {baselines[0]}"
    if several:
        listed = (f"{names[run]} = {run}" for run in baselines)
        who = f" than {', '.join(listed)}"
    return pd.Series(text, dtype="str"), f"↑ significantly better, ↓ worse{who}"


def _name(i: int) -> str:
    return ascii_lowercase[i] if i < len(ascii_lowercase) else f"({i + 1})"


def _ranges(comparison: Comparison) -> pd.Series:
    """Name the ranks of all runs from which each run does not differ."""
    runs = comparison.runs.sort_values(["rank", "run_id"])
    place = {run: i for i, run in enumerate(runs["run_id"])}
    alike = np.ones((len(runs), len(runs)), bool)
    pairs = comparison.table[comparison.table["significant"]]
    a, b = (pairs[name].map(place).to_numpy(int) for name in ("run_a", "run_b"))
    alike[a, b] = alike[b, a] = False
    ranks = runs["rank"].tolist()
    text = [_range(np.flatnonzero(row), ranks) for row in alike]
    return pd.Series(text, runs["run_id"].to_list(), dtype="str")


def _range(places: np.ndarray, ranks: list[int]) -> str:
    """Write `3–17`, `2, 5–9`, or, where there are many gaps, `9 of 3–17`."""

    def between(first: int, last: int) -> str:
        low, high = ranks[first], ranks[last]
        return f"{low}–{high}" if high > low else f"{low}"

    rows = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    if len(rows) > _MOST_RANGES:
        return f"{len(places)} of {between(places[0], places[-1])}"
    return ", ".join(between(row[0], row[-1]) for row in rows)
