"""How long covariates take, and whether the interval of own answers' advantage holds.

`python -m benchmarks.studies.covariates` is the study behind tables of
docs/judging-evidence.md. Judges of a made-up arena compare systems, of which one is the
first judge's own: counted is how often the 95 % interval of its advantage holds the
planted one.
"""

import time
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import reported
from pgcjax.judging.bradley_terry import ComparedVotes, fit_strengths
from pgcjax.judging.covariates import Covariates
from pgcjax.judging.swayed import Swayed

CASES = (  # judges, systems, queries, votes of each judge on each, sharpness, advantage
    (2, 6, 50, 10, 1.0, 0.0),
    (2, 6, 50, 10, 2.0, 0.0),
    (4, 6, 100, 5, 2.0, 0.0),
    (4, 6, 100, 5, 0.5, 0.0),
    (4, 6, 100, 5, 1.0, 0.7),
    (4, 6, 100, 5, 2.0, 0.7),
    (4, 20, 200, 10, 1.5, 0.3),
    (4, 6, 1, 800, 1.5, 0.7),
)
COLUMNS = ["judges", "systems", "queries", "votes", "sharpness", "advantage"]
FOUND = ["held", "chance", "told of 0", "mean estimate"]


def arena(
    rng: np.random.Generator,
    judges: int,
    n: int,
    queries: int,
    votes: int,
    sharpness: float,
    advantage: float,
) -> pd.DataFrame:
    """Make up votes, of which those of judge s0 favour s0; s0 is one of the best."""
    strength = np.sort(rng.normal(0, 1, n))[::-1]
    strength[[0, 1]] = strength[[1, 0]]
    by_query = rng.normal(0, 0.3, (queries, n))
    parts = []
    for number in range(judges):
        query = np.repeat(np.arange(queries), votes)
        a = rng.integers(0, n, len(query))
        b = (a + rng.integers(1, n, len(query))) % n
        odds = strength[a] + by_query[query, a] - strength[b] - by_query[query, b]
        if number == 0:
            odds = sharpness * odds + advantage * ((a == 0) * 1.0 - (b == 0))
        won = rng.random(len(query)) < 1 / (1 + np.exp(-odds))
        judge = "s0" if number == 0 else f"judge {number}"
        ids = {"query_id": query.astype(str), "judge": judge}
        ids |= {"doc_id": [f"s{i}" for i in a], "other_doc_id": [f"s{i}" for i in b]}
        parts.append(pd.DataFrame(ids | {"preference": np.where(won, 1.0, -1.0)}))
    return pd.concat(parts, ignore_index=True)


def case(worlds: int, seed: int, *of: Any) -> list[Any]:
    """Count the worlds in which the interval holds, and in which it excludes 0."""
    held, told, estimates = [], [], []
    for world in range(worlds):
        table = arena(np.random.default_rng((seed, world)), *of)
        (found,) = Swayed(table, [], None, None).own_answers("s0")
        held.append(found.low <= np.exp(of[-1]) <= found.high)
        told.append(found.low > 1 or found.high < 1)
        estimates.append(np.log(found.estimate))
    share = f"{100 * np.mean(held):.1f} %"
    least, most = stats.binom.interval(0.95, worlds, 0.95)
    chance = f"{100 * least / worlds:.1f}-{100 * most / worlds:.1f} %"
    mean = f"{np.mean(estimates):.3f}"
    return [*of, share, chance, f"{100 * np.mean(told):.1f} %", mean]


def timed(votes: int, covariates: int, systems: int = 100) -> list[Any]:
    """Time a fit of made-up votes, from arrays and from a table."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, systems, votes)
    b = (a + rng.integers(1, systems, votes)) % systems
    strength, query = rng.normal(0, 1, systems), rng.integers(0, 5000, votes)
    x, beta = rng.normal(0, 1, (votes, covariates)), rng.normal(0, 0.3, covariates)
    odds = strength[a] - strength[b] + x @ beta
    won = (rng.random(votes) < 1 / (1 + np.exp(-odds))) * 1.0
    names = [f"m{i:02}" for i in range(systems)]
    columns = tuple(f"x{i}" for i in range(covariates))
    data = ComparedVotes(names, a, b, won, np.ones(votes), query)
    seconds, far = [], 0.0
    for _ in range(3):
        start = time.perf_counter(), time.process_time()
        fit = fit_strengths(data, 2.5, Covariates(columns, x, np.ones(covariates)))
        end = time.perf_counter(), time.process_time()
        far = float(np.abs((fit.beta - beta) / fit.beta_error).max())
        seconds.append([y - x for x, y in zip(start, end, strict=True)])
    wall, of_cpu = np.min(seconds, axis=0)
    table = pd.DataFrame({"query_id": query.astype(str)})
    table["doc_id"], table["other_doc_id"] = np.array(names)[a], np.array(names)[b]
    table["preference"] = 2 * won - 1
    for i, name in enumerate(columns):
        table[name], table[f"other_{name}"] = x[:, i], 0.0
    start = time.perf_counter()
    pgcjax.judgments.fit(table, by="all", covariates=columns)
    whole = time.perf_counter() - start
    shown = f"{wall:.2f} s", f"{of_cpu:.2f} s", f"{whole:.2f} s", f"{far:.1f}"
    return [votes, covariates, systems, *shown]


@reported
@click.option("--worlds", default=500, show_default=True)
@click.option("--votes", default=10**6, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(report: Report, worlds: int, votes: int, seed: int) -> None:
    """Time fits, and simulate judges who compete."""
    of = ["votes", "covariates", "systems", "fit, best of 3", "of a CPU"]
    of += ["from a table, raw fit included", "largest |z|"]
    report.table("Bradley-Terry with covariates", of, [timed(votes, 10)])
    rows = [case(worlds, seed, *of) for of in CASES]
    title = f"95 % intervals of own answers' advantage, {worlds} made-up arenas each"
    report.table(title, [*COLUMNS, *FOUND], rows)


if __name__ == "__main__":
    main()
