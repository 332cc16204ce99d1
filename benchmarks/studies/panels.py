"""Do weights of judges, found without labels, make better judgments than a majority?

`python -m benchmarks.studies.panels` is the study behind tables of
docs/judging-evidence.md. On CRAGC-25, five workers and a model judge each pair of
answers: one worker's vote is left out of each pair in turn, and counted is how often
what the others say together agrees with it (its gold labels are made of the same votes,
so they would prove nothing). On Deep Learning 2021, people and GPT-4o judge the same
pairs: counted is how often judgments agree with the order of NIST's grades, which
neither made. Simulated panels have judges of known discrimination (log-normal), who
judge one share of all pairs of 20 queries with 6 documents (strengths of standard
deviation 1.5): estimates are compared with the truth, both centred within the panel, as
only their ratios mean anything, also those at the mode of discriminations and strengths
together; and judgments with the true order.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import DATA, reported
from pgcjax.judging.bradley_terry import compared_votes, fit_strengths
from pgcjax.judging.models import PRIOR

ASPECT = "quality_overall"
MODEL = "model"
SIDES = ["query_id", "doc_id", "other_doc_id"]
QUERIES, DOCUMENTS = 20, 6
PANELS = (  # judges, share of pairs, standard deviation of log discrimination
    *((judges, share, 0.7) for share in (1.0, 0.3) for judges in (3, 4, 6)),
    (4, 1.0, 0.3),
    (4, 1.0, 1.2),
)


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


def simulated(
    rng: np.random.Generator, judges: int, share: float, spread: float
) -> tuple[pd.DataFrame, np.ndarray]:
    """Make votes of a panel, lower documents first: True where the first is better."""
    log_d = rng.normal(0, spread, judges)
    low, high = np.triu_indices(DOCUMENTS, 1)
    shape = judges, QUERIES, len(low)
    strengths = rng.normal(0, 1.5, (QUERIES, DOCUMENTS))
    gaps = np.broadcast_to(strengths[:, low] - strengths[:, high], shape)
    judge, query, pair = np.nonzero(rng.random(shape) < share)
    gap = gaps[judge, query, pair]
    won = rng.random(len(gap)) < expit(np.exp(log_d)[judge] * gap)
    sides = [np.char.add("d", side.astype(str))[pair] for side in (low, high)]
    columns = (query.astype(str), *sides, judge.astype(str), 2 * won - 1, gap > 0)
    names = [*SIDES, "judge", "preference", "better"]
    return pd.DataFrame(dict(zip(names, columns, strict=True))), log_d


def recovered(case: tuple[int, float, float], worlds: int, seed: int) -> list[Any]:
    """Compare discriminations and judgments of simulated panels with the truth."""
    rng, logs, right = np.random.default_rng((seed, PANELS.index(case))), [], []
    for _ in range(worlds):
        votes, log_d = simulated(rng, *case)
        truth = 2.0 * votes.groupby(SIDES)["better"].first() - 1
        of_world = [log_d]
        shares = [agreed(decided(votes), truth)]
        for method in ("dawid-skene", "bt-sigma"):
            panel = pgcjax.judgments.panel(votes.drop(columns="better"), method)
            table = panel.table.set_index("judge").sort_index()
            odds = table["weight"].clip(lower=1e-3)
            of_world.append(np.log(table.get("discrimination", odds).to_numpy()))
            said = panel.judgments.set_index(SIDES)["preference"]
            shares.append(agreed(said, truth))
        together = votes.assign(doc_id=votes["query_id"] + votes["doc_id"])
        together["other_doc_id"] = votes["query_id"] + votes["other_doc_id"]
        group = votes["judge"].to_numpy(int) + 1  # none has discrimination 1
        mode = fit_strengths(compared_votes(together), PRIOR, group=group, errors=False)
        of_world.append(mode.sharpness)
        logs.append([x - x.mean() for x in of_world])
        right.append([100 * count / n for n, count in shares])
    true, *estimates = np.concatenate(logs, axis=1)
    fits = [f"{np.corrcoef(true, x)[0, 1]:.2f}" for x in estimates]
    fits += [f"{x @ true / (true @ true):.2f}" for x in estimates[1:]]
    errors = [f"{np.sqrt(np.mean((true - x) ** 2)):.2f}" for x in (0, estimates[1])]
    better = np.array(right)[:, 2] - np.array(right)[:, 1]
    shown = [f"{x:.1f}" for x in (*np.mean(right, axis=0), better.std() / worlds**0.5)]
    return [*map(str, case), *fits, *errors, *shown]


@reported
@click.option("--worlds", default=100, show_default=True, help="Panels of each kind.")
@click.option("--seed", default=0, show_default=True)
@click.option("--simulated", "alone", is_flag=True, help="Simulated panels alone.")
def main(report: Report, worlds: int, seed: int, alone: bool) -> None:
    """Compare panels with majorities and single judges."""
    columns = ["judges", "share of pairs", "spread", "r, dawid-skene", "r, bt-sigma"]
    columns += ["r, mode", "slope, bt-sigma", "slope, mode", "truth, rms"]
    columns += ["error of bt-sigma, rms", "majority right, %"]
    columns += ["dawid-skene right, %", "bt-sigma right, %", "+- of the difference"]
    rows = [recovered(case, worlds, seed) for case in PANELS]
    report.table("Simulated panels: logarithms of discriminations", columns, rows)
    if not alone:
        public(report, ("dawid-skene", "bt-sigma"))


def public(report: Report, methods: Sequence[str]) -> None:
    """Add tables of public votes."""
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


if __name__ == "__main__":
    main()
