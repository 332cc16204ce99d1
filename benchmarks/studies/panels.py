"""Do weights of judges, found without labels, make better judgments than a majority?

`python -m benchmarks.studies.panels` is the study behind tables of
docs/judging-evidence.md. On CRAGC-25, five workers and a model judge each pair of
answers: one worker's vote is left out of each pair in turn, and counted is how often
what the others say together agrees with it (its gold labels are made of the same votes,
so they would prove nothing). On Deep Learning 2021, people and GPT-4o judge the same
pairs: counted is how often judgments agree with the order of NIST's grades, which
neither made.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.harness import Report, facts

DATA = Path(__file__).parents[3] / "shared/data"
ASPECT = "quality_overall"
MODEL = "model"
SIDES = ["query_id", "doc_id", "other_doc_id"]


def cragc() -> pd.DataFrame:
    """Read votes of workers, with the place of each in its pair, and of the model."""
    ratings = pd.read_json(DATA / "cragc25/ratings.jsonl.gz", lines=True)
    ids = {"query_id": "query_id", "response_a": "doc_id"}
    ids |= {"response_b": "other_doc_id", "worker": "judge", f"{ASPECT}_vote": "vote"}
    people = ratings[[*ids]].rename(columns=ids)
    people["place"] = [[*range(len(votes))] for votes in people["vote"]]
    people = people.explode(["judge", "vote", "place"], ignore_index=True)
    model = pd.read_json(DATA / "cragc25/llm_ratings.jsonl.gz", lines=True)
    model = model.rename(columns=ids | {ASPECT: "vote"}).dropna(subset=["vote"])
    model = model.assign(judge=MODEL, place=-1)
    votes = pd.concat([people, model], ignore_index=True)[[*SIDES, "judge", "vote"]]
    votes["place"] = pd.concat([people["place"], model["place"]], ignore_index=True)
    sign = votes["vote"].str.lower().map({"a": 1.0, "b": -1.0, "n": 0.0})
    return votes.assign(preference=sign).drop(columns="vote")


def by_pair(table: pd.DataFrame) -> pd.DataFrame:
    """Turn judgments so that the lower document stands first."""
    turned = (table["doc_id"] > table["other_doc_id"]).to_numpy()
    low, high = (table[["doc_id", "other_doc_id"]].agg(f, axis=1) for f in (min, max))
    sign = np.where(turned, -1.0, 1.0) * table["preference"].to_numpy()
    return table.assign(doc_id=low, other_doc_id=high, preference=sign)


def decided(votes: pd.DataFrame) -> pd.Series:
    """Decide each pair by the sum of its votes."""
    sums = votes.groupby(SIDES)["preference"].sum()
    return pd.Series(np.sign(np.round(sums.to_numpy(), 6)), sums.index)


def judgments(
    votes: pd.DataFrame, methods: Sequence[str]
) -> Iterator[tuple[str, pd.Series]]:
    """Return what judges say of each pair together, in several ways."""
    pairs = by_pair(votes)
    for name in (*([MODEL] if MODEL in {*votes["judge"]} else []), "people", "GPT-4o"):
        alone = pairs[pairs["judge"] == name]
        if len(alone):
            yield f"{name} alone", decided(alone)
    people = pairs[~pairs["judge"].isin([MODEL, "GPT-4o"])]
    if people["judge"].nunique() > 1:
        yield "majority of workers", decided(people)
    yield "majority of all", decided(pairs)
    for method in methods:
        found = pgcjax.judgments.panel(votes, method)
        yield f"{method}", found.judgments.set_index(SIDES)["preference"]
        weighted = by_pair(found.weighted)
        weighted["preference"] *= weighted["weight"]
        yield f"votes weighted by {method}", decided(weighted)


def agreed(said: pd.Series, truth: pd.Series) -> tuple[int, float]:
    """Count pairs, and those on which judgments are right, a tie half."""
    said = said.reindex(truth.index).fillna(0.0)
    right = (1 + said.to_numpy() * truth.to_numpy()) / 2
    return len(truth), float(right.sum())


def left_out(votes: pd.DataFrame, methods: Sequence[str]) -> list[list[Any]]:
    """Leave one worker's vote out of each pair in turn, and predict it."""
    counts: dict[str, np.ndarray] = {}
    for place in range(5):
        held = by_pair(votes[votes["place"] == place])
        truth = held[held["preference"] != 0]
        rest = votes[votes["place"] != place].drop(columns="place")
        for name, said in judgments(rest, methods):
            keys = pd.MultiIndex.from_frame(truth[SIDES])
            one = agreed(said, pd.Series(truth["preference"].to_numpy(), keys))
            counts[name] = counts.get(name, np.zeros(2)) + one
    return [_row(name, *of) for name, of in counts.items()]


def _row(name: str, n: float, right: float) -> list[Any]:
    share = right / n
    error = 1.96 * np.sqrt(share * (1 - share) / n)
    return [name, int(n), f"{100 * share:.1f} %", f"{100 * error:.1f}"]


def dl21(methods: Sequence[str]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Compare judgments with grades, and orders of runs with that by grades."""
    folder = DATA / "dl21"
    sources = {"people": [folder / "judgments.txt.gz"]}
    sources["GPT-4o"] = sorted((folder / "gpt4o").glob("judge.0*"))
    tables = {n: pgcjax.files.read_preferences(x) for n, x in sources.items()}
    votes = pd.concat([t.assign(judge=n) for n, t in tables.items()])
    votes = votes[[*SIDES, "preference", "judge"]].reset_index(drop=True)
    people = tables["people"]["query_id"].unique()
    votes = votes[votes["query_id"].isin(people)].reset_index(drop=True)
    grades = pgcjax.files.read_qrels(folder / "qrels.dl21-passage.txt.gz")
    grade = grades.set_index(["query_id", "doc_id"])["relevance"]
    runs = pgcjax.files.read_runs(folder / "runs").table
    runs = runs[runs["query_id"].isin(people)]
    gain = pgcjax.evaluate(runs, qrels=grades, measures="nDCG@10").mean()["nDCG@10"]
    both = by_pair(votes).groupby(SIDES)["judge"].nunique()
    both = both[both == 2].index.to_frame(index=False)
    graded = [
        grade.reindex(pd.MultiIndex.from_frame(both[["query_id", c]])).to_numpy()
        for c in SIDES[1:]
    ]
    lead = np.sign(graded[0] - graded[1])
    truth = pd.Series(lead, pd.MultiIndex.from_frame(both))
    truth = truth[truth.notna() & (truth != 0)]
    rows = [
        _row(name, *agreed(said, truth)) for name, said in judgments(votes, methods)
    ]
    weighted = {m: pgcjax.judgments.panel(votes, m).weighted for m in methods}
    by_judge = {name: votes[votes["judge"] == name] for name in tables}
    orders = []
    for name, some in {**by_judge, "both": votes, **weighted}.items():
        found = pgcjax.evaluate(runs, preferences=some, measures="PGC").mean()["PGC"]
        tau = stats.kendalltau(gain, found.reindex(gain.index)).statistic
        of = some.groupby("judge")["weight"].first() if "weight" in some else {}
        shown = ", ".join(f"{j} {w:.2f}" for j, w in dict(of).items())
        orders.append([name, len(some), f"{tau:.3f}", shown])
    return rows, orders


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path))
@click.option("--slow", is_flag=True, help="With bradley-terry, too.")
def main(output: Path | None, slow: bool) -> None:
    """Compare panels with majorities and single judges."""
    methods = ("dawid-skene", *["bradley-terry"] * slow)
    report = Report()
    columns = ["judgments by", "votes", "right, a tie half", "+-"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = left_out(cragc(), methods)
        report.table("CRAGC-25: the vote of a worker who is left out", columns, rows)
        rows, orders = dl21(methods)
    columns[1] = "pairs"
    report.table("DL 2021: pairs of different grades, judged by both", columns, rows)
    columns = ["PGC by", "votes", "Kendall's tau to nDCG@10", "weights"]
    report.table("DL 2021: orders of 63 runs", columns, orders)
    if output:
        command = ["python", "-m", "benchmarks.studies.panels", *sys.argv[1:]]
        report.save(output, facts(command))


if __name__ == "__main__":
    main()
