"""Is one order of each pair enough, drawn at random, where both were asked?

`python -m benchmarks.studies.one_order` is the study behind a table of
docs/judging-evidence.md. GPT-4o judged 1,412 pairs of dl21 in both orders. The 63
official runs are scored by PGC from all of these votes; from one order of each pair,
drawn at random; from the order in which the pair is listed, for all; and, at the same
price, from both orders of half of the pairs. Orders of runs are compared (tau) with the
one by all votes, and people's; `half-width` is that of 95 % intervals of means over
queries, `sd of mean` the standard deviation of a run's mean over draws, and the last
column its largest share of that.
"""

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import DATA, reported

FOLDER = DATA / "dl21"
COLUMNS = ["asked", "calls", "tau: all", "least", "people", "half-width"]
COLUMNS += ["sd of mean", "sd / half-width"]


def votes() -> pd.DataFrame:
    """Read the answers, of each pair both orders."""
    columns, answers = "judge=round", "a=1|Passage 1,b=2,none=*"
    with pgcjax.files.reading(columns=columns, answers=answers):
        table = pgcjax.files.read_preferences(FOLDER / "both-orders/gpt4o.tsv.gz")
    ids = table[["doc_id", "other_doc_id"]]
    key = [table["query_id"], ids.min(axis=1), ids.max(axis=1)]
    return table.assign(pair=table.groupby(key).ngroup())


def asked(table: pd.DataFrame, design: str, rng: np.random.Generator) -> pd.DataFrame:
    """Take the votes that a design asks for."""
    pairs = table["pair"].to_numpy()
    low_first = (table["first"] == table[["doc_id", "other_doc_id"]].min(axis=1)).values
    chosen = rng.random(pairs.max() + 1) < 0.5
    if design == "one order, at random":
        return table[chosen[pairs] == low_first]
    if design == "one order, the same for all":
        return table[low_first]
    return table[chosen[pairs]] if design == "both, half of the pairs" else table


def scores(runs: pd.DataFrame, preferences: pd.DataFrame) -> pd.DataFrame:
    """Score runs on each query, by PGC: runs x queries."""
    preferences = preferences.drop(columns="pair", errors="ignore")
    found = pgcjax.evaluate(runs, preferences=preferences, measures="PGC")
    table = found.table
    return table.pivot(index="run_id", columns="query_id", values="value")


@reported
@click.option("--draws", default=40, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(report: Report, draws: int, seed: int) -> None:
    """Compare the order of runs by one order of each pair with that by both."""
    table = votes()
    runs = pgcjax.files.read_runs(FOLDER / "runs").table
    runs = runs[runs["query_id"].isin(table["query_id"])]
    human = pgcjax.files.read_preferences(FOLDER / "judgments.txt.gz")
    human = human[human["query_id"].isin(table["query_id"])]
    people = scores(runs, human).mean(axis=1)
    full = scores(runs, table).mean(axis=1)
    designs = {"both orders": 1, "one order, the same for all": 1}
    designs |= {"one order, at random": draws, "both, half of the pairs": draws}
    rows = []
    for design, times in designs.items():
        means, widths, calls = [], [], []
        for draw in range(times):
            rng = np.random.default_rng((seed, draw))
            some = asked(table, design, rng)
            found = scores(runs, some).reindex(full.index)
            n = found.notna().sum(axis=1)
            quantile = stats.t.isf(0.025, n - 1)
            widths.append(quantile * found.std(axis=1) / np.sqrt(n))
            means.append(found.mean(axis=1))
            calls.append(len(some))
        each = pd.DataFrame(means)
        of_full = [stats.kendalltau(full, m).statistic for m in means]
        of_people = [stats.kendalltau(people, m).statistic for m in means]
        width, deviation = float(np.mean(widths)), each.std(ddof=int(times > 1))
        shown = f"{np.mean(of_full):.3f}", f"{min(of_full):.3f}"
        shown += f"{np.mean(of_people):.3f}", f"{width:.4f}", f"{deviation.mean():.4f}"
        share = (deviation / np.mean(widths, axis=0)).max()
        rows.append([design, f"{np.mean(calls):.0f}", *shown, f"{share:.2f}"])
    title = f"{len(full)} runs on {table['query_id'].nunique()} queries, {draws} draws"
    report.table(title, COLUMNS, rows)


if __name__ == "__main__":
    main()
