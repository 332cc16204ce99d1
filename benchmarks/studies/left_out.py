"""How far do scores move without the judgments that a run alone brought?

`python -m benchmarks.studies.left_out` is the study behind a table of
docs/judging-evidence.md: each run of public collections is left out of the pool, and
scored by what the others brought. Equal calls, equal numbers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study

DEPTHS = (5, 10, 20)
COLLECTIONS = {
    "dl21, people": ("dl21/runs", "dl21/judgments.txt.gz"),
    "dl21, GPT-4o": ("dl21/runs", "dl21/gpt4o/judge.0*"),
    "cast2019, people": (
        "cast2019/runs",
        "cast2019/clarke-prefs/TREC-CAsT-2019.pref.gz",
    ),
}
"""Runs and preferences, by folder of the public collections."""


def rows(
    folder: Path, depths: tuple[int, ...] = DEPTHS, collections: Any = None
) -> Iterator[dict[str, Any]]:
    """Sum up what moves, by collection and depth of the pool."""
    for name, (runs, prefs) in (collections or COLLECTIONS).items():
        files = sorted(folder.glob(prefs))
        total = len(pgcjax.files.read_preferences(files))
        table = pgcjax.files.read_runs(folder / runs, name_by="file").table
        for depth in depths:
            found = pgcjax.uncertainty(
                table,
                preferences=files,
                measures="PGC",
                leave_out="runs",
                pool_depth=depth,
            )
            yield {"collection": name, "depth": depth, **_moved(found, total)}


def _moved(found: Any, total: int) -> dict[str, Any]:
    table = found.changes()
    own = (table["score_without"] - table["score"]) / table["score"]
    ranks = (table["rank_without"] - table["rank"]).abs()
    pairs = len(table) * (len(table) - 1) / 2
    changed = (table["gained"] + table["lost"]) / pairs
    return {
        "runs": len(table),
        "documents": float(table["documents"].median()),
        "judgments": round(float(table["judgments"].median() / total), 5),
        "own": round(float(own.mean()), 5),
        "own_most": round(float(own.min()), 5),
        "ranks_mean": round(float(ranks.mean()), 3),
        "ranks_most": int(ranks.max()),
        "tau": round(float(table["tau"].min()), 4),
        "changed": round(float(changed.mean()), 5),
        "changed_most": round(float(changed.max()), 5),
    }


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Give the table of docs/judging-evidence.md, in Markdown."""
    heads = "collection", "depth", "own documents", "judgments gone, %", "own score, %"
    heads += "ranks moved", "least τ", "pairs changed, %"
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for row in found["left out"]:
        cells = [
            row["collection"],
            str(row["depth"]),
            f"{row['documents']:g}",
            f"{100 * row['judgments']:.1f}",
            f"{100 * row['own']:.1f} / {100 * row['own_most']:.1f}",
            f"{row['ranks_mean']:.1f} / {row['ranks_most']}",
            f"{row['tau']:.3f}",
            f"{100 * row['changed']:.1f} / {100 * row['changed_most']:.1f}",
        ]
        yield "| " + " | ".join(cells) + " |"
    yield ""


@study(tables)
@data_option
def main(data: Path) -> Sections:
    """Leave each run out of the pool, and score all runs without what it brought."""
    return {"left out": list(rows(data))}


if __name__ == "__main__":
    main()
