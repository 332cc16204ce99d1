"""Do the ranks of an arena hold together?

`python -m benchmarks.studies.standings` prints the table of docs/judging-evidence.md:
of made-up arenas, how often all ranks of `judgments.standings` hold the true ones, and
how wide they are. Systems differ from query to query, so that votes on a query hang
together; where all are equal, every difference that is told is false.
"""

from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.harness import Report
from benchmarks.studies import covariates
from benchmarks.studies.commands import reported
from pgcjax.judging.bradley_terry import compared_votes, fit_strengths
from pgcjax.judging.covariates import Covariates
from pgcjax.judging.models import PRIOR
from pgcjax.judging.rank_ranges import places, significant_pairs

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
FEW = (  # of queries, where errors are of the jackknife
    (4, 20, 5, 0.0, 0.8),
    (8, 20, 5, 0.0, 0.0),
    (8, 20, 20, 0.0, 0.8),
    (8, 20, 20, 0.0, 1.5),
    (8, 30, 20, 0.0, 0.8),
    (20, 20, 20, 0.0, 0.8),
    (20, 30, 40, 0.0, 0.8),
    (8, 20, 20, 0.5, 0.8),
    (20, 49, 20, 0.0, 0.8),
    (4, 1, 20, 0.0, 0.0),
    (8, 1, 40, 0.0, 0.0),
)
EFFECTS = ((4, 20, 10), (8, 20, 20), (8, 30, 5))  # systems, queries, votes
OWN_ANSWERS = (  # cases of `covariates`
    (2, 6, 20, 10, 1.0, 0.0),
    (4, 6, 20, 5, 2.0, 0.0),
    (4, 6, 20, 5, 1.0, 0.7),
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
        votes = compared_votes(table)  # what `standings` does, without reading
        fit, one_set = fit_strengths(votes, PRIOR), np.zeros(len(votes.names), int)
        freedom, drawn = int(votes.clusters.max()), {"draws": 2000, "seed": world}
        given = fit.strength, fit.covariance, one_set, freedom
        low, high, _ = places(significant_pairs(*given, **drawn), fit.strength)
        strength = true[[int(name[1:]) for name in votes.names]]
        above = (strength > strength[:, None]).sum(1)  # equal ones have all ranks
        reach = (strength >= strength[:, None]).sum(1)
        held.append(((low <= above + 1) & (reach <= high)).all())
        widths.append((high - low + 1).mean())
    return [*of, f"{100 * np.mean(held):.1f} %", f"{np.mean(widths):.1f}"]


def effect(worlds: int, seed: int, n: int, queries: int, votes: int) -> list[Any]:
    """Count intervals that hold a covariate's effect, 0 in the mean of queries."""
    held = []
    for world in range(worlds):
        rng = np.random.default_rng((seed, world))
        table, _ = arena(rng, n, queries, votes, 0.5, 0.8)
        x, slope = rng.normal(0, 1, len(table)), rng.normal(0, 0.5, queries)
        query = table["query_id"].str[1:].astype(int)
        swayed = rng.random(len(table)) < np.abs(np.tanh(slope[query] * x))
        sign = np.where(swayed, np.sign(slope[query] * x), table["preference"])
        data = Covariates(("x",), x[:, None], np.ones(1))
        voted = compared_votes(table.assign(preference=sign))
        fit = fit_strengths(voted, PRIOR, data)
        reach = stats.t.isf(0.025, queries - 1) * fit.beta_error[0]
        held.append(abs(fit.beta[0]) <= reach)
    return [n, queries, votes, f"{100 * np.mean(held):.1f} %"]


@reported
@click.option("--few", is_flag=True, help="Of 20 to 49 queries.")
@click.option("--worlds", default=400, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(report: Report, few: bool, worlds: int, seed: int) -> None:
    """Simulate arenas."""
    rows = [case(worlds, seed, *of) for of in (FEW if few else CASES)]
    report.table(f"{worlds} made-up arenas each, ranks at 95 %", COLUMNS, rows)
    if few:
        rows = [effect(worlds, seed, *of) for of in EFFECTS]
        columns = ["systems", "queries", "votes on each", "hold"]
        report.table("95 % intervals of a covariate's effect", columns, rows)
        rows = [covariates.case(worlds, seed, *of) for of in OWN_ANSWERS]
        columns = [*covariates.COLUMNS, *covariates.FOUND]
        report.table("... of own answers' advantage", columns, rows)


if __name__ == "__main__":
    main()
