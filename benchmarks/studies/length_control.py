"""AlpacaEval's length-controlled win rates, from its public annotations.

`python -m benchmarks.studies.length_control` is the study behind a table of
docs/judging-evidence.md. The model is that of Dubois et al. 2024: P(model beats
baseline) = logistic(intercept + length term x tanh(length difference / its standard
deviation) + slope x difficulty of the instruction), one fit for each model, and the win
rate is that of equal lengths. What the published program does besides is added step by
step, as it is documented there: nothing is fitted to the published rates.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import data_option, reported
from pgcjax.judging.bradley_terry import ComparedVotes, fit_strengths
from pgcjax.judging.covariates import Covariates
from pgcjax.judging.logistic import fit_votes

GAMED = -1.61
"""Length terms of the two runs of the baseline that were told to be short, or long:
-1.64 and -1.58 by the weights that alpaca_eval publishes (length_controlled_v1)."""

GAMED_ROWS = 161
"""These runs have a weight of .2 / 2 each, of 805 instructions; and no intercept."""

COLUMNS = ["order by", "models", "Spearman's rho", "Kendall's tau", "mean |difference|"]


def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read annotations of other models than the baseline, and the published rates."""
    table = pd.read_csv(folder / "annotations.csv.gz")
    table = table[table["generator_1"] != table["generator_2"]].reset_index(drop=True)
    table["won"] = table["preference"] - 1
    apart = table["length_1"] - table["length_2"]
    deviation = apart.groupby(table["generator_2"]).transform("std")
    table["length"] = np.tanh(apart / deviation)
    # The published program looks difficulties up by the row of a model's file.
    table["row"] = table.groupby("generator_2").cumcount()
    return table, pd.read_csv(folder / "leaderboard.csv").set_index("model")


def difficulties(table: pd.DataFrame) -> np.ndarray:
    """Fit models against instructions, all together, with one length term."""
    model, models = pd.factorize(table["generator_2"])
    instruction = table["instruction"].to_numpy()
    names = [*models, *map(str, range(instruction.max() + 1))]
    votes = ComparedVotes(
        names,
        model,
        len(models) + instruction,
        table["won"].to_numpy(),
        np.ones(len(table)),
        instruction,
    )
    x = table["length"].to_numpy()[:, None]
    fit = fit_strengths(votes, 2.5, Covariates(("length",), x, np.ones(1)))
    return -fit.strength[len(models) :]


def controlled(table: pd.DataFrame, difficulty: np.ndarray, gamed: bool) -> pd.Series:
    """Fit each model by itself; return win rates at equal lengths, in per cent."""
    rates = {}
    for name, rows in table.assign(difficulty=difficulty).groupby("generator_2"):
        x = np.column_stack([np.ones(len(rows)), rows[["length", "difficulty"]]])
        won, count = rows["won"].to_numpy(), GAMED_ROWS * gamed
        # Their length differences are taken to be a standard deviation, either way.
        length = np.tanh(np.where(np.arange(count) % 2, 1.0, -1.0))
        more = np.column_stack([0 * length, length, 0 * length])
        features = np.concatenate([x, more])
        answers = np.concatenate([won, expit(GAMED * length)])
        fit = fit_votes(features, answers, np.arange(len(answers)))
        rates[name] = 100 * expit(fit.beta[0] + fit.beta[2] * x[:, 2]).mean()
    return pd.Series(rates)


def strengths(table: pd.DataFrame) -> pd.DataFrame:
    """Fit Bradley-Terry strengths of all models, with and without length."""
    votes = pd.DataFrame(
        {
            "query_id": table["instruction"].astype(str),
            "doc_id": table["generator_2"],
            "other_doc_id": table["generator_1"],
            "preference": np.sign(table["won"] - 0.5),
            "probability": table["won"],
            "length": table["length_2"].astype(float),
            "other_length": table["length_1"].astype(float),
        }
    )
    fits = [
        pgcjax.judgments.fit(votes, by="all", covariates=names).table
        for names in ([], ["longer"])
    ]
    columns = [table.set_index("doc_id")["strength"] for table in fits]
    return pd.concat(columns, axis=1, keys=["raw", "controlled"])


def pgc(table: pd.DataFrame) -> pd.DataFrame:
    """Score each model by PGC: of each instruction, a run of its answer alone."""
    query = table["instruction"].astype(str)
    answers = pd.DataFrame({"run_id": table["generator_2"], "query_id": query})
    answers = answers.assign(doc_id=table["generator_2"], score=1.0)
    votes = answers[["query_id", "doc_id"]].assign(other_doc_id=table["generator_1"])
    votes["preference"] = np.sign(table["won"] - 0.5).astype(int)
    scores = pgcjax.evaluate(answers, preferences=votes, measures=["PGC"])
    return scores.matrix("PGC")


def worth_of_wins(table: pd.DataFrame, scores: pd.DataFrame) -> list[list[Any]]:
    """Compare PGC of answers that won and did not, by how many models won."""
    won = table.pivot(index="generator_2", columns="instruction", values="won") > 0.5
    won, rows = won.set_axis(won.columns.astype(str), axis=1), []
    scores = scores.loc[won.index, won.columns]
    of = [scores.where(won).mean() - scores.where(~won).mean(), won.sum()]
    for low, high in ((1, 3), (4, 10), (11, 50)):
        worth = of[0][of[1].between(low, high)]
        rows.append([f"{low} to {high}", len(worth), f"{worth.mean():.3f}"])
    return rows


def beside(name: str, published: pd.Series, rates: pd.Series) -> list[Any]:
    """Compare an order of models with the published one."""
    rates = rates.reindex(published.index)
    rho = stats.spearmanr(published, rates).statistic
    tau = stats.kendalltau(published, rates).statistic
    apart = float((published - rates).abs().mean())
    points = f"{apart:.2f}" if rates.min() > 0 else "-"
    return [name, len(rates), f"{rho:.4f}", f"{tau:.4f}", points]


def moved(published: pd.Series, table: pd.DataFrame, raw: pd.Series) -> list[list[Any]]:
    """List the models that length control moves most, by ranks, and their lengths."""
    ranks = published.rank(ascending=False), raw.rank(ascending=False)
    shift = (ranks[1] - ranks[0]).sort_values(key=lambda x: -x.abs(), kind="stable")
    lengths = table.groupby("generator_2")["length_2"].mean()
    rows = [
        [name, f"{ranks[1][name]:g}", f"{ranks[0][name]:g}", f"{lengths[name]:.0f}"]
        for name in shift.index[:8]
    ]
    rho = stats.spearmanr(shift, lengths.reindex(shift.index)).statistic
    return [*rows, [f"Spearman's rho of all shifts with length: {rho:.2f}", "", "", ""]]


@reported
@data_option
def main(report: Report, data: Path) -> None:
    """Compare orders of models with AlpacaEval's length-controlled one."""
    table, board = read(data / "alpaca_eval")
    published = board["length_controlled_winrate"].drop("gpt4_1106_preview")
    difficulty = difficulties(table)
    by_id = difficulty[table["instruction"]]
    by_row = difficulty[table["row"]]
    raw = 100 * table.groupby("generator_2")["won"].mean()
    fitted = strengths(table)
    by_pgc = pgc(table)
    orders = {
        "PGC of each answer alone": 100 * by_pgc.mean(axis=1),
        "win rate, plain Bradley-Terry": raw,
        "Bradley-Terry, fit --by all": fitted["raw"],
        "... --covariate longer": fitted["controlled"],
        "AlpacaEval's model, each alone": controlled(table, by_id, False),
        "... regularised by gamed runs": controlled(table, by_id, True),
        "... difficulties by row": controlled(table, by_row, True),
    }
    rows = [beside(name, published, rates) for name, rates in orders.items()]
    report.table("beside the published length-controlled rates", COLUMNS, rows)
    rho = stats.spearmanr(by_pgc.mean(axis=1), raw.reindex(by_pgc.index)).statistic
    report.say(f"Spearman's rho of PGC with the win rate: {rho:.4f}")
    columns = ["models that won an instruction", "instructions", "PGC of a win, more"]
    report.table("What a win is worth", columns, worth_of_wins(table, by_pgc))
    missing = table["generator_2"].value_counts()
    missing = missing[missing < table["instruction"].nunique()].sort_index()
    report.say(f"models of fewer instructions: {missing.to_dict()}")
    rows = moved(published, table, raw.reindex(published.index))
    report.table("moved most", ["model", "rank by wins", "controlled", "length"], rows)


if __name__ == "__main__":
    main()
