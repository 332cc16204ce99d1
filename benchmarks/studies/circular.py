"""Does `judgments.circular` find runs that a judge made, and no others?

`python -m benchmarks.studies.circular` is the study behind a table of
docs/judgments.md. The 63 runs of dl21 have PGC by people's votes and by GPT-4o's, on
the 46 queries that both judged. A run is planted by re-ranking it by GPT-4o's
preferences: its score is (1 - w) times its own place and w times that by strengths of
documents (Bradley-Terry). Its lift is by how much more the judge's mean score grew than
people's, on the judge's scale. One run at a time is planted, and named, among the 62
true others; queries are those there are, and drawn again. Without planting, all that is
found is false.
"""

import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.harness import Report, facts
from benchmarks.studies.calibration import data
from pgcjax.judging.models import strengths

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
EDGES = (0.005, 0.015, 0.025, 0.035, 0.045, 0.055, 0.065, 0.085, 0.125)
NAMED = 3  # honest runs that are named together

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


def verdict(
    honest: Pair, made: Pair, run: str, drawn: np.ndarray
) -> tuple[float, bool]:
    """Plant a run among the true others: its lift, and whether it is found."""
    sides = []
    for true, false in zip(honest, made, strict=True):
        mixed = true.copy()
        mixed.loc[run] = false.loc[run]
        mixed = mixed.iloc[:, drawn].set_axis(range(len(drawn)), axis=1)
        sides.append(mixed.rename(columns=str))
    judge, people = (side.reset_index() for side in sides)
    found = pgcjax.judgments.circular(judge, people, [run])
    both = zip(honest, made, strict=True)
    grown = [false.loc[run].mean() - true.loc[run].mean() for true, false in both]
    lift = grown[0] - found.metadata["slope"] * grown[1]
    return float(lift), bool(found.table["lifted"].iloc[0])


def trials(
    by_weight: dict[float, Pair], draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Plant each run with each weight, by the queries there are and drawn again."""
    honest = by_weight[0.0]
    n, rows = honest[0].shape[1], []
    for draw in range(1 + draws):
        drawn = np.arange(n) if draw == 0 else rng.integers(n, size=n)
        for weight, made in by_weight.items():
            for run in honest[0].index:
                found = verdict(honest, made, run, drawn)
                rows.append((draw, weight, run, *found))
    return pd.DataFrame(rows, columns=["draw", "weight", "run", "lift", "lifted"])


def families(honest: Pair, count: int, rng: np.random.Generator) -> float:
    """Name honest runs together: how often any is accused."""
    (judge, people), accused = (side.reset_index() for side in honest), 0
    for _ in range(count):
        runs = rng.choice(honest[0].index, NAMED, replace=False).tolist()
        accused += bool(
            pgcjax.judgments.circular(judge, people, runs).table["lifted"].any()
        )
    return accused / count


def shares(table: pd.DataFrame) -> list[list[str]]:
    """Count what is found by planted lift."""
    none = table["weight"] == 0
    parts = [("none", table[none])]
    bins = pd.cut(table["lift"], EDGES)
    for interval, part in table[~none].groupby(bins, observed=False):
        parts.append((f"{interval.left:g} to {interval.right:g}", part))
    rows = []
    for name, part in parts:
        row = [name]
        for some in (part[part["draw"] == 0], part[part["draw"] > 0]):
            share = f"{100 * some['lifted'].mean():.1f}" if len(some) else "—"
            row += [share, f"{len(some)}"]
        rows.append(row)
    return rows


@click.command()
@click.option("--draws", default=1, show_default=True, help="Of queries, drawn again.")
@click.option("--triples", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(draws: int, triples: int, seed: int, output: Path | None) -> None:
    """Plant runs among those of dl21."""
    folder, report = data().parent / "dl21", Report()
    rng = np.random.default_rng(seed)
    judge = pgcjax.files.read_preferences(sorted((folder / "gpt4o").glob("judge.*")))
    votes = [judge, pgcjax.files.read_preferences(folder / "judgments.txt.gz")]
    runs = pgcjax.files.read_runs(folder / "runs").table
    fitted = strengths(judge)
    places = fitted.groupby("query_id")["strength"].rank(pct=True)
    places.index = pd.MultiIndex.from_frame(fitted[["query_id", "doc_id"]])
    by_weight = {}
    for weight in WEIGHTS:
        table = planted(runs, places, weight) if weight else runs
        by_weight[weight] = scored(table, votes)
        report.say(f"re-ranked with weight {weight:g}")
    found = trials(by_weight, draws, rng)
    columns = ["planted lift", "found, %", "of", "queries drawn again, %", "of "]
    report.table("Runs of dl21 that are called lifted", columns, shares(found))
    accused = families(by_weight[0.0], triples, rng)
    rows = [[f"{NAMED} honest runs", f"{100 * accused:.1f}", f"{triples}"]]
    report.table("Families of which any is called lifted", ["named", "%", "of"], rows)
    means = found[found["draw"] == 0].groupby("weight")[["lift", "lifted"]].mean()
    rows = [
        [f"{w:g}", f"{m.lift:.4f}", f"{100 * m.lifted:.1f}"]
        for w, m in means.iterrows()
    ]
    report.table("By weight", ["weight", "mean lift", "found, %"], rows)
    if output:
        command = ["python", "-m", "benchmarks.studies.circular", *sys.argv[1:]]
        report.save(output, facts(command))


if __name__ == "__main__":
    main()
