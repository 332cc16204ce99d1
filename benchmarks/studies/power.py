"""Is a difference found as often as `pgcjax power` promises?

`python -m benchmarks.studies.power` is the study behind docs/how-sure-evidence.md.
Topics of a public score matrix are the population, of which a pilot is drawn with
replacement; or the pilot is the population itself, so that its deviations are the true
ones. The run of a pair is moved until their true difference is what was asked for, as
many topics as were promised to do are drawn, and both tests are made: how often is the
pair found?
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.studies.calibration import random_of
from benchmarks.studies.commands import Part, matrices_option, study
from benchmarks.studies.families import Cell, matrix_of
from pgcjax.errors import UsageError
from pgcjax.stats import rank_sets, tests
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.power import power

POWER, B, SHARE = 0.8, 499, 0.8
MEASURES = ("nDCG", "AP", "P@10", "RR")
PILOTS = {"population": None, "50 topics": 50}


def tried(
    folder: Path, measure: str, runs: int, pilot: str, worlds: int, draws: int
) -> list[dict[str, Any]]:
    """Plan by pilots, and count how often the pair is found by so many topics."""
    found: dict[str, list[tuple[float, int]]] = {}
    for i in range(worlds):
        random = random_of(f"power {measure} {runs} {pilot}", i)
        x = matrix_of(folder, Cell(measure, "real means", runs, 50), random)
        x = x[random.choice(len(x), runs, replace=False)]
        count = PILOTS[pilot]
        seen = x if count is None else x[:, random.integers(0, x.shape[1], count)]
        run_ids, topics = ([f"r{k:03}" for k in range(n)] for n in seen.shape)
        matrix = Matrix(run_ids, topics, seen)
        try:
            table = power(matrix, resamples=B).table
        except UsageError:  # all runs of the pilot are equal
            continue
        for row in table[table["pair"] == "median"].to_dict("records"):
            pair = [int(row[name][1:]) for name in ("run_a", "run_b")]
            difference = SHARE * row["least_difference"]
            plan = power(matrix, difference, resamples=B).table
            same = (plan["pair"] == "median") & (plan["test"] == row["test"])
            queries = int(plan.loc[same, "queries"].iloc[0])
            moved = x.copy()
            moved[pair[0]] += difference - x[pair[0]].mean() + x[pair[1]].mean()
            sizes = random.integers(0, x.shape[1], (draws, queries))
            hits = [_is_found(moved[:, s], pair, row["test"]) for s in sizes]
            found.setdefault(row["test"], []).append((float(np.mean(hits)), queries))
    about = {"measure": measure, "runs": runs, "pilot": pilot, "promised": POWER}
    return [
        {
            **about,
            "test": test,
            "worlds": len(each),
            "reached": round(float(np.mean([share for share, _ in each])), 4),
            "error": round(float(np.std([s for s, _ in each]) / len(each) ** 0.5), 4),
            "queries": float(np.median([queries for _, queries in each])),
        }
        for test, each in found.items()
    ]


def _is_found(x: np.ndarray, pair: list[int], test: str) -> bool:
    a, b = pair
    if test == "t":
        return bool(tests.t(x, (np.array([a]), np.array([b])))[0] < 0.05)
    statistic, parts, maxima = rank_sets.resampled(x, B, 0)
    whole = [np.concatenate(parts)], maxima.max((1, 2), keepdims=True)
    return bool(rank_sets.stepwise(statistic, *whole, 0.05)[a, b])


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Make the table of docs/how-sure-evidence.md: reached power, in per cent."""
    yield "| pilot | runs | test | " + " | ".join(MEASURES) + " |"
    yield "|---" * (3 + len(MEASURES)) + "|"
    for key in dict.fromkeys((r["pilot"], r["runs"], r["test"]) for r in rows):
        part = {
            r["measure"]: r for r in rows if (r["pilot"], r["runs"], r["test"]) == key
        }
        cells = [
            f"{100 * r['reached']:.0f} ± {200 * r['error']:.0f}" for r in part.values()
        ]
        yield "| " + " | ".join([*map(str, key), *cells]) + " |"


@study(lambda found: tables(found["power"]), resume=True, resamples=B)
@matrices_option
@click.option("--families", type=int, default=8, show_default=True, help="A cell.")
@click.option("--draws", type=int, default=30, show_default=True, help="A family.")
def main(folder: Path, families: int, draws: int) -> Iterator[Part]:
    """Plan numbers of topics, and count how often a difference is found by them.

    A file of -o that is there already is gone on with.
    """
    for pilot, runs, measure in product(PILOTS, (10, 30), MEASURES):
        cell = {"measure": measure, "runs": runs, "pilot": pilot}
        yield "power", cell, partial(tried, folder, *cell.values(), families, draws)


if __name__ == "__main__":
    main()
