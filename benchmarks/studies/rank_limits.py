"""How narrow can sets of ranks be, and how much narrower does a model make them?

`python -m benchmarks.studies.rank_limits` is a study behind docs/how-sure-evidence.md.

*bounds*: families of `rank_sets` with their real means, and by the same scores the sets
of oracles. *Errors and order*: it knows the standard errors of all differences, the
order of true means, and the critical value that holds at exactly 95 % if these are
nearly equal. *Clear pairs*, too: it need not guard pairs that are 3 standard errors or
more apart. *True means*: its critical value holds at exactly 95 % for these alone. Each
oracle adds the share of the family's mean variance that makes its sets narrowest.

*rectified*: people's scores are known of some queries, a model's, or those of a measure
that needs fewer judgments, of more. Sets of the former alone, and of both.
"""

from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.studies import rectified_coverage
from benchmarks.studies.calibration import random_of, read_matrix
from benchmarks.studies.commands import Part, matrices_option, study
from benchmarks.studies.families import Cell, _held, _of, matrix_of
from benchmarks.studies.rank_sets import ALPHA, MEASURES, QUERIES, SHARES, of_thirds
from pgcjax.judging.rank_ranges import places
from pgcjax.stats import rank_sets, tests
from pgcjax.stats.rectified import BothScores

B, DRAWS = 499, 1000
WEIGHTS = (0.0, 0.25, 1.0)  # of the family's mean variance
CLEAR = 3  # standard errors
SOURCES = {
    "PGC: people, GPT-4o": None,
    "nDCG@10, RR": ("dl/dl20*_ndcg_cut_10", "ndcg_cut_10", "recip_rank"),
    "AP, P@10": ("urbano2019/adhoc*_ap", "ap", "p10"),
}
KINDS = ("real means", "thirds", "equal means")
SIZES = {10: ((50, 200), (50, 50), (20, 200)), 30: ((50, 200),), 60: ((50, 200),)}
"""Queries that people judge, and that the model alone does, by the number of runs."""
REPEATED = {10: 1.0, 30: 0.5, 60: 0.2}


def oracle_widths(
    population: np.ndarray, x: np.ndarray, random: np.random.Generator
) -> dict[str, float]:
    """Compute mean widths of the sets of oracles, of scores x of a population."""
    topics, queries = population.shape[1], x.shape[1]
    a, b = tests.all_pairs(len(x))
    z = population[a] - population[b]
    means, variance = z.mean(1), z.var(1) / queries
    drawn = random.multinomial(queries, np.full(topics, 1 / topics), DRAWS) / queries
    wrong = -np.sign(means) * (drawn @ (z - means[:, None]).T)
    seen = np.abs(x.mean(1)[a] - x.mean(1)[b])
    found: dict[str, list[float]] = {}
    for weight in WEIGHTS:
        error = np.sqrt(variance + weight * variance.mean())
        open_pairs = np.abs(means) < CLEAR * np.sqrt(variance)
        open_pairs[np.argmin(np.abs(means) / error)] = True
        for name, largest in {
            "errors and order": (wrong / error).max(1),
            "clear pairs": (wrong / error)[:, open_pairs].max(1),
            "true means": ((wrong - np.abs(means)) / error).max(1),
        }.items():
            critical = max(0.0, np.quantile(largest, 1 - ALPHA))
            alike = (seen <= critical * error).sum()
            found.setdefault(name, []).append(1 + 2 * alike / len(x))
    return {name: float(min(widths)) for name, widths in found.items()}


def bound(folder: Path, cell: Cell, families: int) -> list[dict[str, Any]]:
    """Average the widths of sets, and of those of oracles."""
    rows = []
    for i in range(max(2, round(cell.share * families))):
        random = random_of(f"rank limits {cell[:4]}", i)
        population = matrix_of(folder, cell, random)
        population = population[
            random.choice(len(population), cell.runs, replace=False)
        ]
        topics = random.integers(0, population.shape[1], cell.queries)
        x = np.ascontiguousarray(population[:, topics])
        statistic, parts, maxima = rank_sets.resampled(x, B, i)
        whole, top = [np.concatenate(parts)], maxima.max((1, 2), keepdims=True)
        row = {}
        for name, (of, largest) in {
            "one step": (whole, top),
            "windows": (parts, maxima),
        }.items():
            apart = rank_sets.stepwise(statistic, of, largest, ALPHA)
            row[name] = len(x) - apart.sum() / len(x)
        rows.append(row | oracle_widths(population, x, random))
    means = pd.DataFrame(rows).mean().round(3)
    return [{**_of(cell), "families": len(rows), **means}]


@cache
def both_scores(folder: Path, source: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Read scores of the same runs and topics: expensive ones, and cheap ones."""
    if (of := SOURCES[source]) is None:
        scores = rectified_coverage._dl21(folder.parent / "dl21")
        return [(scores.human, scores.model)]
    pattern, expensive, cheap = of
    found = []
    for path in sorted(folder.glob(f"{pattern}.csv.gz")):
        other = path.with_name(path.name.replace(f"_{expensive}.", f"_{cheap}."))
        y, f = read_matrix(path), read_matrix(other)
        _, first = np.unique(y, axis=0, return_index=True)
        found.append((y[first], f[first]))
    return found


def rectified(
    folder: Path, case: dict[str, Any], families: int
) -> list[dict[str, Any]]:
    """Draw families, and compute coverage and widths with a model and without."""
    source, kind, runs = case["source"], case["null"], case["runs"]
    judged, others = case["judged"], case["others"]
    large = [pair for pair in both_scores(folder, source) if len(pair[0]) >= runs]
    rows = []
    for i in range(max(2, round(REPEATED[runs] * families))):
        random = random_of(f"rank limits {case}", i)
        y, f = large[random.integers(len(large))]
        chosen = random.choice(len(y), runs, replace=False)
        y, f = y[chosen], f[chosen]
        means = y.mean(1)
        truth = with_ties(means, kind)
        topics = random.integers(0, y.shape[1], judged + others)
        human = (y + (truth - means)[:, None])[:, topics[:judged]]
        values, strata = BothScores(human, f[:, topics], 1e-12).with_one_power()
        row: dict[str, float] = {}
        for name, x, sizes in (("people", human, ()), ("both", values, strata)):
            statistic, parts, maxima = rank_sets.resampled(x, B, i, strata=sizes)
            whole, top = [np.concatenate(parts)], maxima.max((1, 2), keepdims=True)
            for by, (of, largest) in {
                "one step": (whole, top),
                "windows": (parts, maxima),
            }.items():
                apart = rank_sets.stepwise(statistic, of, largest, ALPHA)
                placed = places(apart, x.mean(1))
                held = _held(truth, placed.low, placed.high)
                row |= {f"{name}, {by}, {key}": part for key, part in held.items()}
        rows.append(row)
    means = pd.DataFrame(rows).mean().round(4)
    return [{**case, "families": len(rows), **means}]


def with_ties(means: np.ndarray, kind: str) -> np.ndarray:
    """Choose true means: those of runs, of their thirds, or none."""
    if kind == "real means":
        return means
    if kind == "equal means":
        return np.zeros(len(means))
    return of_thirds(means)


def cases() -> Iterator[dict[str, Any]]:
    """List the families whose scores are rectified."""
    for (runs, sizes), source, kind in product(SIZES.items(), SOURCES, KINDS):
        for judged, others in sizes:
            case = {"source": source, "null": kind, "runs": runs}
            yield case | {"judged": judged, "others": others}


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the tables of docs/how-sure-evidence.md."""
    names = ["windows", "errors and order", "clear pairs", "true means"]
    yield "| runs | families | ranks, one step | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 3) + "|"
    for runs, part in pd.DataFrame(found["bounds"]).groupby("runs", sort=False):
        mean, count = part.mean(numeric_only=True), part["families"].sum()
        less = [f"{100 * (1 - mean[n] / mean['one step']):.1f} %" for n in names]
        yield f"| {runs} | {count} | {mean['one step']:.1f} | {' | '.join(less)} |"
    yield ""
    rows = pd.DataFrame(found["rectified"])
    columns = ["people, one step", "people, windows", "both, windows"]
    yield "| scores | queries | runs | means | families | " + " | ".join(columns)
    yield "|---" * 9 + "|"
    for row in rows.to_dict("records"):
        by = [
            f"{100 * row[f'{n}, ranks_hold']:.1f}, {row[f'{n}, width']:.1f}"
            for n in columns
        ]
        less = 1 - row["both, windows, width"] / row["people, one step, width"]
        queries = f"{row['judged']} + {row['others']}"
        case = f"{row['source']} | {queries} | {row['runs']} | {row['null']}"
        yield f"| {case} | {row['families']} | {' | '.join(by)} | {100 * less:.0f} % |"


@study(tables, resume=True, resamples=B)
@matrices_option
@click.option("--families", type=int, default=50, show_default=True, help="A cell.")
def main(folder: Path, families: int) -> Iterator[Part]:
    """Compute bounds of widths, and sets of ranks with the help of a model.

    A file of -o that is there already is gone on with.
    """
    for (runs, share), measure in product(SHARES.items(), MEASURES):
        cell = Cell(measure, "real means", runs, QUERIES, share)
        yield "bounds", _of(cell), partial(bound, folder, cell, families)
    for case in cases():
        yield "rectified", case, partial(rectified, folder, case, families)


if __name__ == "__main__":
    main()
