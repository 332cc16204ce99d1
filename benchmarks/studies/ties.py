"""How much do ties among documents that runs lack decide?

`python -m benchmarks.studies.ties` prints the tables of docs/ties.md: how far PGC moves
with the order of these documents, on public judgments and runs, how many pairs of runs
that leaves undecided, and what all rankings that contradict the fewest judgments give.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import ours
from benchmarks.studies.commands import Sections, data_option, study

COLLECTIONS = {  # judgments and runs below a folder
    "CAsT 2019": ("cast2019/clarke-prefs/TREC-CAsT-2019.pref.gz", "cast2019/runs"),
    "DL 2021, people": ("dl21/judgments.txt.gz", "dl21/runs"),
    "DL 2021, a model": ("dl21/gpt4o/judge.*", "dl21/runs"),
}
ORDERS = (10, 100, 1000)
SHOWN = 100
P, DEPTH = 0.95, 1000


def widths(folder: Path, orders: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Measure how far scores and means move, by judgments and number of orders."""
    for name, graphs, rankings in _collections(folder):
        plain = ours.scores(graphs, rankings, P, DEPTH)
        for n in orders:
            batch = ours.tie_batch(graphs, P, DEPTH, n)
            least, mean, greatest, _ = batch.score(rankings)
            outside = (plain < least) | (plain > greatest)
            row = {"judgments": name, "runs": plain.shape[0], "n": n}
            row |= _of_scores(least, greatest)
            row |= {"outside": outside.mean(), "off": np.abs(plain - mean).mean()}
            yield row | _of_pairs(plain, least, greatest)


def shares(folder: Path) -> Iterator[dict[str, Any]]:
    """Count the scores that ties leave alone, that are exact, and of drawn orders."""
    for name, graphs, rankings in _collections(folder):
        batch = ours.tie_batch(graphs, P, DEPTH, SHOWN)
        least, _, greatest, error = batch.score(rankings)
        drawn = error > 0
        yield {
            "judgments": name,
            "scores": drawn.size,
            "without cycles": 1 - len(batch.cyclic) / len(graphs),
            "moved": (greatest > least).mean(),
            "drawn": drawn.mean(),
            "mean error": error[drawn].mean() if drawn.any() else 0.0,
            "most error": error.max(),
        }


def together(folder: Path, n: int) -> Iterator[dict[str, Any]]:
    """Count pairs of runs that an order reverses which both of them have."""
    for name, graphs, rankings in _collections(folder):
        plain = ours.scores(graphs, rankings, P, DEPTH)
        each = np.array([*ours.each_order(graphs, rankings, P, DEPTH, n)])
        a, b = np.triu_indices(len(plain), 1)
        reversed_, by_order = 0, each.mean(2)
        for i, j in zip(a.tolist(), b.tolist(), strict=True):
            differs = each[:, i] - each[:, j]
            ends = differs.min(0).mean(), differs.max(0).mean()
            reversed_ += ends[0] <= 0 <= ends[1]
        order = np.sign(by_order[:, a] - by_order[:, b])
        same = (order == np.sign(plain.mean(1)[a] - plain.mean(1)[b])).mean()
        yield {
            "judgments": name,
            "n": n,
            "pairs": len(a),
            "undecided": int(reversed_),
            "kept by one order": same,
        }


def exact(folder: Path) -> Iterator[dict[str, Any]]:
    """Measure what all rankings that contradict the fewest judgments give a run."""
    for name, graphs, rankings in _collections(folder):
        nearest, _, unproven = ours.exact_batch(graphs, P, DEPTH)
        proven = {q: graph for q, graph in graphs.items() if q not in unproven}
        row = {"judgments": name, "queries": len(graphs), "proven": len(proven)}
        if proven:
            batches = [
                ours.exact_batch(proven, P, DEPTH, farthest=farthest)[0]
                for farthest in (True, False)
            ]
            least, greatest = (batch.score(rankings)[0] for batch in batches)
            plain = ours.scores(proven, rankings, P, DEPTH)
            row |= _of_scores(least, greatest) | _of_pairs(plain, least, greatest)
            row["outside"] = ((plain < least) | (plain > greatest)).mean()
        yield row


def _collections(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    for name, (prefs, runs) in COLLECTIONS.items():
        if (folder / runs).is_dir():
            graphs = ours.graphs_of("PGC", preferences=str(folder / prefs))
            judged = {query: graph.doc_ids for query, graph in graphs.items()}
            files = sorted((folder / runs).iterdir())
            yield name, graphs, ours.rankings_of(files, judged)


def _of_scores(least: np.ndarray, greatest: np.ndarray) -> dict[str, float]:
    width = greatest - least
    of_means = width.mean(1)
    return {
        "moved": (width > 0).mean(),
        "mean": width.mean(),
        "p90": float(np.quantile(width, 0.9)),
        "most": width.max(),
        "p90 of means": float(np.quantile(of_means, 0.9)),
    }


def _of_pairs(
    plain: np.ndarray, least: np.ndarray, greatest: np.ndarray
) -> dict[str, int]:
    """Count pairs of runs whose means PGC orders, but whose ranges overlap."""
    mean, low, high = (values.mean(1) for values in (plain, least, greatest))
    a, b = np.triu_indices(len(mean), 1)
    first = np.where(mean[a] >= mean[b], a, b)
    second = a + b - first
    return {"pairs": len(a), "overlap": int((low[first] <= high[second]).sum())}


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Give the tables of docs/ties.md, in Markdown."""
    head = "scores that move | mean range | 90th percentile | widest"
    head += " | of means: 90th percentile | pairs"
    yield "| judgments | scores | graphs without cycles | drawn | mean error | most |"
    yield "|---" * 6 + "|"
    for row in found.get("shares", ()):
        parts = (f"{100 * row[name]:.1f} %" for name in ("without cycles", "drawn"))
        errors = f"{row['mean error']:.5f} | {row['most error']:.5f}"
        numbers = f"{row['scores']:,} | {' | '.join(parts)} | {errors}"
        yield f"| {row['judgments']} | {numbers} |"
    yield ""
    yield f"| judgments | n | {head} |"
    yield "|---" * 8 + "|"
    for row in found.get("widths", ()):
        yield f"| {row['judgments']} | {row['n']} | {_widths(row)} |"
    yield ""
    yield "| judgments | n | PGC outside of the range | difference from mean |"
    yield "|---" * 4 + "|"
    for row in found.get("widths", ()):
        outside = f"{100 * row['outside']:.2f} %"
        yield f"| {row['judgments']} | {row['n']} | {outside} | {row['off']:.5f} |"
    yield ""
    yield "| judgments | pairs | undecided, if both have one order | as PGC, by one |"
    yield "|---" * 4 + "|"
    for row in found.get("together", ()):
        kept = f"{100 * row['kept by one order']:.2f} %"
        counts = f"{row['pairs']} | {row['undecided']} | {kept}"
        yield f"| {row['judgments']} | {counts} |"
    yield ""
    yield f"| judgments | proven | {head} | PGC outside |"
    yield "|---" * 9 + "|"
    for row in found.get("exact", ()):
        proven = f"{row['proven']} of {row['queries']}"
        if row["proven"]:
            outside = f"{100 * row['outside']:.0f} %"
            yield f"| {row['judgments']} | {proven} | {_widths(row)} | {outside} |"


def _widths(row: dict[str, Any]) -> str:
    names = ("mean", "p90", "most", "p90 of means")
    numbers = " | ".join(f"{row[name]:.4f}" for name in names)
    return (
        f"{100 * row['moved']:.0f} % | {numbers} | {row['overlap']} of {row['pairs']}"
    )


PARTS = {
    "shares": shares,
    "widths": partial(widths, orders=ORDERS),
    "together": partial(together, n=SHOWN),
    "exact": exact,
}


@study(tables)
@data_option
@click.option("--part", "parts", multiple=True, type=click.Choice([*PARTS]))
def main(data: Path, parts: tuple[str, ...]) -> Sections:
    """Score public runs by many orders of what they lack."""
    return {part: [*PARTS[part](data)] for part in parts or PARTS}


if __name__ == "__main__":
    main()
