"""Could `pgcjax power` say how many judgments a difference needs? Not by variances.

`python -m benchmarks.studies.votes_per_pair` makes collections up in which 16 judges
judged all pairs of documents. If errors of judges added a part of 1 / votes to the
variance of a difference over queries, two votes a pair would tell it, and so how many
do for a difference to be found. Here that number is promised to find it in 80 % by 50
queries, runs are moved until their difference is what was asked for, and as many votes
and queries are drawn.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import click
import numpy as np
from scipy import stats

import pgcjax
from benchmarks.studies.commands import Sections, study
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.stats.power import _t_difference

JUDGES, QUERIES, POWER, ALPHA = 16, 50, 0.8, 0.05
VOTES = (1, 2, 4, 8, 16)
SIZE = {"queries": 200, "documents": 20, "runs": 6, "judges": JUDGES, "pairs": 190}


def scores(seed: int) -> dict[int, np.ndarray]:
    """Score runs by so many votes a pair; those of the first two judges are 0 and 1."""
    made = simulate(CollectionSettings(**SIZE, seed=seed))
    judge = made.preferences["judge"].str[1:].astype(int)
    found = {}
    for votes in (0, *VOTES):
        some = judge == 2 if votes == 0 else judge <= votes
        given = {"preferences": made.preferences[some], "measures": "PGC"}
        table = pgcjax.evaluate(made.runs, **given).table
        wide = table.pivot(index="run_id", columns="query_id", values="value")
        found[votes] = wide.to_numpy()
    return found


def tried(worlds: int, draws: int) -> list[dict[str, Any]]:
    """Count how often a difference is found by as many votes as were promised to do."""
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for seed in range(worlds):
        by, random = scores(seed), np.random.default_rng(seed)
        for a, b in combinations(range(SIZE["runs"]), 2):
            z = {votes: x[a] - x[b] for votes, x in by.items()}
            of_judges = (z[0] - z[1]).var(ddof=1) / 2  # of one vote a pair
            rest = (z[0].var(ddof=1) + z[1].var(ddof=1)) / 2 - of_judges
            for votes in VOTES[1:]:
                deviation = max(rest + of_judges / votes, 0) ** 0.5
                asked = _t_difference(deviation, ALPHA, POWER, QUERIES)
                moved = z[votes] - z[votes].mean() + asked
                drawn = moved[random.integers(0, len(moved), (draws, QUERIES))]
                p = stats.ttest_1samp(drawn, 0, axis=1).pvalue
                rows.setdefault(votes, []).append(
                    (
                        float(np.mean(p < ALPHA)),
                        float(z[votes].std() / z[1].std()),
                        float(abs(z[votes].mean()) / abs(z[JUDGES].mean())),
                    )
                )
    return [
        {
            "votes": votes,
            "pairs": len(each),
            "promised": POWER,
            "reached": round(float(np.mean([row[0] for row in each])), 4),
            "lowest": round(min(row[0] for row in each), 4),
            "deviation_by_one": round(float(np.median([row[1] for row in each])), 4),
            "difference_by_all": round(float(np.median([row[2] for row in each])), 4),
        }
        for votes, each in rows.items()
    ]


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Make a table: votes a pair, reached power in per cent, and what votes change."""
    columns = ("votes", "pairs", "reached", "deviation_by_one", "difference_by_all")
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        yield "| " + " | ".join(str(row[name]) for name in columns) + " |"


@study(lambda found: tables(found["votes"]))
@click.option("--worlds", type=int, default=4, show_default=True, help="Collections.")
@click.option("--draws", type=int, default=500, show_default=True, help="A pair.")
def main(worlds: int, draws: int) -> Sections:
    """Promise numbers of votes, and count how often a difference is found by them."""
    return {"votes": tried(worlds, draws)}


if __name__ == "__main__":
    main()
