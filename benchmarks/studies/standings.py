"""Do the ranks of an arena hold together?

`python -m benchmarks.studies.standings` prints the table of docs/models.md: of made-up
arenas, how often all ranks of `judgments.standings` hold the true ones, and how wide
they are. Systems differ from query to query, so that votes on a query hang together;
where all are equal, every difference that is told is false.
"""

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.harness import Report, facts

CASES = (  # systems, queries, votes on each, spread of strengths, of these by query
    (8, 50, 20, 0.0, 0.8),
    (20, 50, 20, 0.0, 0.8),
    (20, 100, 20, 0.0, 0.8),
    (40, 100, 40, 0.0, 0.8),
    (8, 200, 2, 0.0, 0.0),
    (8, 50, 20, 0.5, 0.8),
    (20, 200, 20, 0.5, 0.8),
    (8, 1, 400, 0.0, 0.0),
)
COLUMNS = ["systems", "queries", "votes on each", "spread", "by query", "hold", "width"]


def arena(
    rng: np.random.Generator, n: int, queries: int, votes: int, spread: float, by: float
) -> tuple[pd.DataFrame, np.ndarray]:
    """Make votes of systems up; a tenth are ties."""
    true = rng.normal(0, spread, n)
    query = np.repeat(np.arange(queries), votes)
    a = rng.integers(0, n, len(query))
    b = (a + rng.integers(1, n, len(query))) % n
    strength = true + rng.normal(0, by, (queries, n))
    p = 1 / (1 + np.exp(strength[query, b] - strength[query, a]))
    won = np.where(rng.random(len(query)) < p, 1.0, -1.0)
    won[rng.random(len(query)) < 0.1] = 0.0
    names = np.array([f"s{i:03}" for i in range(n)])
    columns = {"query_id": [f"q{i}" for i in query], "doc_id": names[a]}
    return pd.DataFrame(columns | {"other_doc_id": names[b], "preference": won}), true


def case(worlds: int, seed: int, *of: Any) -> list[Any]:
    """Count the worlds in which all ranks hold, and average their widths."""
    held, widths = [], []
    for world in range(worlds):
        table, true = arena(np.random.default_rng((seed, world)), *of)
        board = pgcjax.judgments.standings(table, draws=2000, seed=world).table
        strength = true[board["doc_id"].str[1:].astype(int)]
        above = (strength > strength[:, None]).sum(1)  # equal ones have all ranks
        reach = (strength >= strength[:, None]).sum(1)
        low, high = board["rank_low"].to_numpy(), board["rank_high"].to_numpy()
        held.append(((low <= above + 1) & (reach <= high)).all())
        widths.append((high - low + 1).mean())
    return [*of, f"{100 * np.mean(held):.1f} %", f"{np.mean(widths):.1f}"]


@click.command()
@click.option("--worlds", default=400, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(worlds: int, seed: int, output: Path | None) -> None:
    """Simulate arenas."""
    report = Report()
    rows = [case(worlds, seed, *of) for of in CASES]
    report.table(f"{worlds} made-up arenas each, ranks at 95 %", COLUMNS, rows)
    if output:
        command = ["python", "-m", "benchmarks.studies.standings", *sys.argv[1:]]
        report.save(output, facts(command))


if __name__ == "__main__":
    main()
