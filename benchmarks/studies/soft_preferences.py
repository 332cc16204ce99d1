"""What do probabilities, and votes in both orders, do to the order of runs?

`python -m benchmarks.studies.soft_preferences` is the study behind docs/votes.md. It
needs the public data of the tests (`PGCJAX_SHARED`). Runs are ordered by their mean PGC
by each reading of the same judgments; tau compares the order with that of the first.

- people: votes of people on Deep Learning 2021, of each pair one judgment, whose
  probability is the share of the votes; 63 official runs.
- model: GPT-4o's answers in both orders there, as they stand and by --flips, and as
  one judgment of each pair, whose probability is the share of the answers.
- answers: probabilities of CRAGC-25 of the overall quality of answers; a run puts the
  answers of each topic in the order of the published grades of one aspect.
"""

import warnings
from itertools import combinations

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.studies.commands import DATA
from pgcjax.io.choices import FLIPS
from pgcjax.io.weights import SOFT

_PAIR = ["query_id", "low", "high"]
Means = dict[str, pd.Series]


def shares(votes: pd.DataFrame) -> pd.DataFrame:
    """Make one judgment of each pair: the share of its votes, a tie being half."""
    turned = (votes["doc_id"] > votes["other_doc_id"]).to_numpy()
    low = votes["doc_id"].where(~turned, votes["other_doc_id"])
    high = votes["other_doc_id"].where(~turned, votes["doc_id"])
    sign = np.sign(votes["preference"].to_numpy()) * np.where(turned, -1, 1)
    each = votes[["query_id"]].assign(low=low, high=high, probability=(1 + sign) / 2)
    pairs = each.groupby(_PAIR)["probability"].mean().reset_index()
    names = ["query_id", "doc_id", "other_doc_id", "probability"]
    return pairs.set_axis(names, axis=1)


def means(runs: object, preferences: object, soft: str = SOFT[0]) -> pd.Series:
    """Give the mean PGC of each run."""
    measure = f"PGC(soft={soft})"
    scores = pgcjax.evaluate(runs, preferences=preferences, measures=measure)
    return scores.mean()[measure].sort_index()


def people() -> Means:
    """Score the official runs by people's votes."""
    votes = pgcjax.files.read_preferences(DATA / "dl21/judgments.txt.gz")
    runs = pgcjax.files.read_runs(DATA / "dl21/runs").table
    by_share = {soft: means(runs, shares(votes), soft) for soft in SOFT}
    return {"all votes": means(runs, votes)} | by_share


def model() -> Means:
    """Score them by a model's answers in both orders."""
    how = {"columns": "judge=round", "answers": "a=1|Passage 1,b=2,none=*"}
    path = DATA / "dl21/both-orders/gpt4o.tsv.gz"
    runs, found = pgcjax.files.read_runs(DATA / "dl21/runs").table, {}
    for flips in FLIPS:
        with pgcjax.files.reading(**how, flips=flips):
            found[f"flips {flips}"] = means(runs, pgcjax.files.read_preferences(path))
    with pgcjax.files.reading(**how):
        each = shares(pgcjax.files.read_preferences(path))
    return found | {soft: means(runs, each, soft) for soft in SOFT}


def answers() -> Means:
    """Score the orders of answers by single aspects, by their overall quality."""
    folder = DATA / "cragc25"
    named = "p_a=p_a,p_tie=p_n,p_b=p_b"
    with pgcjax.files.reading(columns=named, aspects="quality_overall"):
        soft = pgcjax.files.read_preferences(folder / "ratings.jsonl.gz")
    with pgcjax.files.reading(aspects="quality_overall"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        votes = pgcjax.files.read_preferences(folder / "ratings.jsonl.gz")
    grades = pd.read_json(folder / "grades.jsonl.gz", lines=True)
    topic = dict(zip(votes["doc_id"], votes["query_id"], strict=True))
    topic |= dict(zip(votes["other_doc_id"], votes["query_id"], strict=True))
    rows = grades.melt(id_vars="response", var_name="run_id", value_name="rank")
    rows = rows.rename(columns={"response": "doc_id"})
    runs = rows.assign(query_id=rows["doc_id"].map(topic), score=-rows["rank"])
    runs = runs.drop(columns="rank")
    found = {name: means(runs, soft, name) for name in SOFT}
    return {"all votes": means(runs, votes)} | found


def table(found: Means) -> pd.DataFrame:
    """Compare the orders of runs with that by the first reading."""
    first, rows = next(iter(found.values())), []
    for name, of in found.items():
        own = of.reindex(first.index)
        one, other = first.to_numpy(), own.to_numpy()
        swapped = sum(
            (one[i] - one[j]) * (other[i] - other[j]) < 0
            for i, j in combinations(range(len(own)), 2)
        )
        moved = np.abs(stats.rankdata(-one) - stats.rankdata(-other)).max()
        tau = stats.kendalltau(one, other).statistic
        best = str(own.idxmax())
        rows.append((name, own.mean(), tau, swapped, int(moved), best))
    columns = ["reading", "mean", "tau", "swapped", "ranks moved", "best run"]
    return pd.DataFrame(rows, columns=columns)


SECTIONS = {"people": people, "model": model, "answers": answers}


@click.command()
@click.argument("sections", nargs=-1, type=click.Choice(list(SECTIONS)))
def main(sections: tuple[str, ...]) -> None:
    """Print a table of each section, or of those named."""
    for name in sections or SECTIONS:
        found = SECTIONS[name]()
        pairs = len(next(iter(found.values())))
        click.echo(f"\n{name}: {pairs} runs, {pairs * (pairs - 1) // 2} pairs of runs")
        click.echo(table(found).to_string(index=False, float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
