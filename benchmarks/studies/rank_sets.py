"""Do the ranks that runs may have hold together, and how wide are they?

`python -m benchmarks.studies.rank_sets` is the study behind docs/how-sure-evidence.md.
Families of runs are drawn as `families` draws them, topics being the population. Beside
its nulls and real means there are two kinds in which some runs are truly equal:

- thirds: each run has the mean of its third, by real means;
- half tied: half of the runs, any of them, have the median of all means.

`one step` is what all pairs at once (max-t) tell apart, `windows` what
`pgcjax.rank_sets` does; the same of replicates: means of resampled queries.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.studies import families as drawing
from benchmarks.studies.calibration import random_of
from benchmarks.studies.commands import Part, matrices_option, study
from benchmarks.studies.families import NULLS, Cell, _held, _levels_above, _of
from pgcjax.judging.rank_ranges import places
from pgcjax.stats import rank_sets

ALPHA, B, QUERIES = 0.05, 999, 50
MEASURES = ("nDCG", "AP", "P@10", "RR")
KINDS = ("real means", "exchangeable", "equal means", "thirds", "half tied")
SHARES = {10: 1.0, 30: 0.6, 60: 0.3}


def cells() -> Iterator[Cell]:
    """List the families, those of real means first."""
    for kind, (runs, share), measure in product(KINDS, SHARES.items(), MEASURES):
        yield Cell(measure, kind, runs, QUERIES, share)


def drawn(
    folder: Path, cell: Cell, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a family: scores, and true means."""
    if cell.null in NULLS:
        return drawing.drawn(folder, cell, random), np.zeros(cell.runs)
    x = drawing.matrix_of(folder, cell, random)
    x = x[random.choice(len(x), cell.runs, replace=False)]
    means = truth = x.mean(1)
    if cell.null == "thirds":
        truth = of_thirds(means)
    elif cell.null == "half tied":
        some = random.permuted(np.arange(len(x)) < len(x) // 2)
        truth = np.where(some, np.median(means), means)
    topics = random.integers(0, x.shape[1], cell.queries)
    return (x + (truth - means)[:, None])[:, topics], truth


def of_thirds(means: np.ndarray) -> np.ndarray:
    """Average the means of the best third of runs, of the next, and of the last."""
    third = np.argsort(np.argsort(means)) * 3 // len(means)
    return np.array([means[third == k].mean() for k in range(3)])[third]


def tried(folder: Path, cell: Cell, families: int) -> list[dict[str, Any]]:
    """Compute the ranks that runs of families may have, by each procedure."""
    found: dict[str, list[dict[str, float]]] = {}
    for i in range(max(2, round(cell.share * families))):
        x, truth = drawn(folder, cell, random_of(f"rank sets {cell[:4]}", i))
        means = x.mean(1)
        statistic, parts, maxima = rank_sets.resampled(x, B, i)
        whole = [np.concatenate(parts)], maxima.max((1, 2), keepdims=True)
        again = drawing.resampled(x, i)
        centred = again - again.mean(0)
        apart = np.abs(means[:, None] - means) * (1 - 1e-9)
        ranges = np.ptp(centred, axis=1)[:, None, None]
        for name, pairs in {
            "one step": rank_sets.stepwise(statistic, *whole, ALPHA),
            "windows": rank_sets.stepwise(statistic, parts, maxima, ALPHA),
            "one step, replicates": rank_sets.stepwise(apart, whole[0], ranges, ALPHA),
            "windows, replicates": rank_sets.of_replicates(means, again, ALPHA),
        }.items():
            placed = places(pairs, means)
            row = _held(truth, placed.low, placed.high)
            row["tiers_hold"] = bool((placed.tier <= _levels_above(truth)).all())
            found.setdefault(name, []).append(row)
    return [
        {
            **_of(cell),
            "by": name,
            "families": len(rows),
            **pd.DataFrame(rows).mean().round(4).to_dict(),
        }
        for name, rows in found.items()
    ]


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Make the table of docs/how-sure-evidence.md: joint coverage (%), and widths."""
    frame = pd.DataFrame(rows)
    names = list(frame["by"].unique())
    yield "| means | runs | families | " + " | ".join(names) + " | narrower by |"
    yield "|---" * (len(names) + 4) + "|"
    for (kind, runs), part in frame.groupby(["null", "runs"], sort=False):
        held = part["ranks_hold"] * part["families"]
        by = part.assign(held=held).groupby("by", sort=False)
        share = 100 * by["held"].sum() / by["families"].sum()
        width = by["width"].mean()
        cells = [f"{share[n]:.1f}, {width[n]:.1f}" for n in names]
        less = 100 * (1 - width["windows"] / width["one step"])
        count = int(by["families"].sum().iloc[0])
        yield f"| {kind} | {runs} | {count} | {' | '.join(cells)} | {less:.1f} % |"


@study(lambda found: tables(found["ranks"]), resume=True, resamples=B)
@matrices_option
@click.option("--families", type=int, default=250, show_default=True, help="A cell.")
def main(folder: Path, families: int) -> Iterator[Part]:
    """Draw families of runs, and count whose ranks hold: coverage, and widths.

    A file of -o that is there already is gone on with.
    """
    for cell in cells():
        yield "ranks", _of(cell), partial(tried, folder, cell, families)


if __name__ == "__main__":
    main()
