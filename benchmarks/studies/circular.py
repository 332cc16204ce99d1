"""Does `judgments.circular` find runs that a judge made, and no others?

`python -m benchmarks.studies.circular` is the study behind a table of
docs/judging-evidence.md. The 63 runs of dl21 have PGC by people's votes and by
GPT-4o's, on the 46 queries that both judged. A run is planted by re-ranking it by
GPT-4o's preferences: its score is (1 - w) times its own place and w times that by
strengths of documents (Bradley-Terry). Its lift is by how much more the judge's mean
score grew than people's, on the judge's scale; scores of two weights are mixed so that
it is as asked. One run at a time is planted, and named, among the 62 true others;
queries are those there are, and drawn again. Without planting, all that is found is
false. The rule was chosen on every second run (the first half), and is confirmed on the
others.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import DATA, reported
from pgcjax.judging.models import strengths
from pgcjax.stats.circularity import above_line

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
LIFTS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)
NAMED = (2, 3, 5)  # runs that are named together
TOGETHER = 0.05  # by which these are lifted

Pair = tuple[pd.DataFrame, pd.DataFrame]


def planted(runs: pd.DataFrame, places: pd.Series, weight: float) -> pd.DataFrame:
    """Re-rank all runs by the judge's strengths; documents without one have 0."""
    lists = runs.groupby(["run_id", "query_id"])
    place = lists["score"].rank("first", ascending=False)
    own = 1 - place / lists["score"].transform("size")
    key = pd.MultiIndex.from_frame(runs[["query_id", "doc_id"]])
    by_judge = places.reindex(key).fillna(0.0).to_numpy()
    return runs.assign(score=(1 - weight) * own + weight * by_judge)


def scored(runs: pd.DataFrame, votes: list[pd.DataFrame]) -> Pair:
    """Score runs by the judge's votes and people's, on the queries of both."""
    both = [pgcjax.evaluate(runs, preferences=v, measures=["PGC"]) for v in votes]
    judge, people = (scores.matrix("PGC") for scores in both)
    queries = judge.columns.intersection(people.columns)
    return judge[queries], people[queries]


def lifted(sides: np.ndarray, places: list[int]) -> np.ndarray:
    """Tell which runs of these places `circular` calls lifted, then of all of them."""
    y, x = sides.mean(axis=2)
    return above_line(x, y, np.array(places), seed=0)[1] < 0.05


def planted_at(by_weight: np.ndarray, place: int, lift: float) -> np.ndarray | None:
    """Plant a run of exactly such a lift; None if no weight lifts it so much."""
    honest = by_weight[0]
    y, x = np.delete(honest.mean(axis=2), place, axis=1)
    rows = by_weight[:, :, place]
    lifts = (rows - rows[0]).mean(axis=2) @ [1, -np.polyfit(x, y, 1)[0]]
    if not (reached := np.flatnonzero(lifts >= lift)).size:
        return None
    k, sides = int(reached[0]), honest.copy()
    if k:
        share = (lift - lifts[k - 1]) / (lifts[k] - lifts[k - 1])
        sides[:, place] = (1 - share) * rows[k - 1] + share * rows[k]
    return sides


def found(
    by_weight: np.ndarray, lift: float, draws: int, rng: np.random.Generator
) -> list[str]:
    """Plant each run with a lift: what is found of both halves, and of all."""
    queries, there, again = by_weight.shape[-1], {}, []
    for place in range(by_weight.shape[2]):
        if (sides := planted_at(by_weight, place, lift)) is not None:
            there[place] = lifted(sides, [place]).any()
            drawn = rng.integers(queries, size=(draws, queries))
            again += [lifted(sides[:, :, of], [place]).any() for of in drawn]
    halves = [[x for place, x in there.items() if place % 2 == h] for h in (0, 1)]
    shares = [100 * np.mean(part) for part in (*halves, [*there.values()], again)]
    return [f"{lift:g}", *(f"{share:.1f}" for share in shares), f"{len(there)}"]


def families(
    by_weight: np.ndarray, size: int, count: int, rng: np.random.Generator
) -> list[str]:
    """Name runs together: how often are honest ones accused, and lifted ones found?"""
    honest, runs = by_weight[0], by_weight.shape[2]
    there = {
        place: sides[:, place]
        for place in range(runs)
        if (sides := planted_at(by_weight, place, TOGETHER)) is not None
    }
    shares = []
    for planting in (0, 1, size):
        results = []
        for _ in range(count):
            drawn_from = [*there] if planting else runs
            places = rng.choice(drawn_from, size, replace=False).tolist()
            sides = honest.copy()
            for place in places[:planting]:
                sides[:, place] = there[place]
            answers = lifted(sides, places)
            results.append(answers[:planting].mean() if planting else answers.any())
        shares.append(f"{100 * np.mean(results):.1f}")
    return [f"{size}", *shares, f"{count}"]


def planted_scores(folder: Path) -> np.ndarray:
    """Score the runs of each weight: weights, judge and people, runs, queries."""
    judge = pgcjax.files.read_preferences(sorted((folder / "gpt4o").glob("judge.*")))
    votes = [judge, pgcjax.files.read_preferences(folder / "judgments.txt.gz")]
    runs = pgcjax.files.read_runs(folder / "runs").table
    fitted = strengths(judge)
    places = fitted.groupby("query_id")["strength"].rank(pct=True)
    places.index = pd.MultiIndex.from_frame(fitted[["query_id", "doc_id"]])
    pairs = [scored(planted(runs, places, w) if w else runs, votes) for w in WEIGHTS]
    order = sorted(pairs[0][0].index)
    return np.array([[side.loc[order].to_numpy() for side in pair] for pair in pairs])


@reported
@click.option("--draws", default=20, show_default=True, help="Of queries, drawn again.")
@click.option("--named", default=2000, show_default=True, help="Families of runs.")
@click.option("--seed", default=0, show_default=True)
def main(report: Report, draws: int, named: int, seed: int) -> None:
    """Plant runs among those of dl21."""
    rng = np.random.default_rng(seed)
    by_weight = planted_scores(DATA / "dl21")
    columns = ["planted lift", "first half, %", "second half, %", "all, %"]
    columns += ["queries drawn again, %", "runs"]
    rows = [found(by_weight, lift, draws, rng) for lift in LIFTS]
    report.table("Runs of dl21 that are called lifted", columns, rows)
    rows = [families(by_weight, size, named, rng) for size in NAMED]
    columns = ["named", "all honest: any accused, %", "one lifted: found, %"]
    columns += ["all lifted: found, %", "families"]
    report.table(f"Runs of dl21 named together, lifted by {TOGETHER:g}", columns, rows)


if __name__ == "__main__":
    main()
