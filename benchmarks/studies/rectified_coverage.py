"""How often do intervals of rectified scores hold the mean of all human scores?

`python -m benchmarks.studies.rectified_coverage` is the study behind tables of
docs/judging-evidence.md. Runs have scores of PGC by people and by a model, on all
topics of dl21 that both judged, and on 400 simulated queries. The truth is the mean of
the human scores of all of them. Queries are drawn from these, with replacement; of the
first ones the human scores are taken, of the others the model's alone. Equal calls,
equal files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.studies.calibration import COVER, random_of
from benchmarks.studies.commands import Sections, data_option, study
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.stats import intervals
from pgcjax.stats.rectified import estimate

ALPHA = 0.05
SIZES = ((5, 41), (10, 36), (23, 23), (23, 100))
"""Queries that people judge, and that the model alone does."""
HALF = (23, 23)
SIMULATED: dict[str, Any] = {"queries": 400, "documents": 20, "runs": 8, "seed": 0}
PANEL, PAIRS = 10, 95
"""Judges who are people, and pairs of each query that each judge judges."""
SIGNS = {"below": "↓", "within": "", "above": "↑"}
KINDS = ("rectified", "published", "people", "model")


class Scores(NamedTuple):
    """Scores of the same runs and queries."""

    collection: str
    by: str
    human: np.ndarray
    model: np.ndarray


def rows(folder: Path, trials: int) -> Iterator[dict[str, Any]]:
    """Count the intervals that hold the truth, by scores, sizes and kind."""
    for scores in (_dl21(folder / "dl21"), *_simulated()):
        for sizes in SIZES:
            yield from counts(scores, *sizes, trials, again=True)
        if scores.collection == "dl21":
            yield from counts(scores, *HALF, trials, again=False)


def counts(
    scores: Scores, judged: int, others: int, trials: int, *, again: bool
) -> Iterator[dict[str, Any]]:
    """Draw queries for random runs, and for random pairs."""
    name = f"rectified {scores.collection} {scores.by} {judged} {others} {again}"
    random = random_of(name, 0)
    runs, queries = scores.human.shape
    a = random.integers(runs, size=trials)
    b = (a + random.integers(1, runs, size=trials)) % runs
    if again:
        drawn = random.integers(queries, size=(trials, judged + others))
    else:
        drawn = random.random((trials, queries)).argsort(1)[:, : judged + others]
    for of in ("means", "differences"):
        pair = of == "differences"
        human, model = (
            x[a] - x[b] if pair else x[a] for x in (scores.human, scores.model)
        )
        truth = human.mean(1)
        like = np.mean(
            [_like(y, f) for y, f in zip(human[:500], model[:500], strict=True)]
        )
        human = np.take_along_axis(human, drawn[:, :judged], 1)
        model = np.take_along_axis(model, drawn, 1)
        worth = estimate(human, model, 1e-12).columns(ALPHA)["effective_queries"]
        for kind, (low, high) in _intervals(human, model).items():
            held = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
            least, most = stats.binom.interval(COVER, trials, 1 - ALPHA)
            count = int(held.sum())
            where = "below" if count < least else "above" if count > most else "within"
            yield {
                "collection": scores.collection,
                "model": scores.by,
                "judged": judged,
                "others": others,
                "again": again,
                "of": of,
                "interval": kind,
                "trials": trials,
                "held": round(count / trials, 4),
                "where": where,
                "width": round(float((high - low).mean()), 5),
                "found": round(float(((low > 0) | (high < 0)).mean()), 4),
                "correlation": round(float(like), 3),
                "effective": round(float(np.median(worth)), 2),
            }


def _like(human: np.ndarray, model: np.ndarray) -> float:
    constant = np.ptp(human) == 0 or np.ptp(model) == 0
    return 0.0 if constant else float(np.corrcoef(human, model)[0, 1])


def _intervals(
    human: np.ndarray, model: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give the ends of the interval of each row."""
    n, every = human.shape[1], model.shape[1]
    found = estimate(human, model, 1e-12)
    same, other = model[:, :n], model[:, n:]
    power = found.power[:, None]
    error = np.sqrt(
        (power * other).var(1) / (every - n) + (human - power * same).var(1) / n
    )
    half = stats.norm.isf(ALPHA / 2) * error
    return {
        "rectified": found.interval(ALPHA),
        "published": (found.mean - half, found.mean + half),
        "people": intervals.student(human.mean(1), human.std(1, ddof=1), n, ALPHA),
        "model": intervals.student(model.mean(1), model.std(1, ddof=1), every, ALPHA),
    }


def _dl21(folder: Path) -> Scores:
    """Score the official runs by the preferences of people and of GPT-4o."""
    judgments = folder / "judgments.txt.gz", sorted((folder / "gpt4o").glob("judge.0*"))
    human, model = (_scored(str(folder / "runs"), prefs) for prefs in judgments)
    both = sorted({*human.columns} & {*model.columns})
    return Scores("dl21", "GPT-4o", human[both].to_numpy(), model[both].to_numpy())


def _scored(runs: Any, preferences: Any) -> pd.DataFrame:
    return pgcjax.evaluate(runs, preferences=preferences, measures="PGC").matrix("PGC")


def _simulated() -> Iterator[Scores]:
    """Score simulated runs by ten judges, and by three models."""
    drawn = simulate(CollectionSettings(**SIMULATED, judges=PANEL + 3, pairs=PAIRS))
    names = [f"j{i + 1}" for i in range(PANEL)]
    people = drawn.preferences["judge"].isin(names)
    human = _scored(drawn.runs, drawn.preferences[people])
    three = drawn.preferences[~people]
    worst = drawn.truth["run_id"].iloc[-1]
    for by, prefs in (
        ("three judges", three),
        ("the same, for one run", _partial(three, drawn.runs, worst)),
        ("guesses", _guessed(three)),
    ):
        model = _scored(drawn.runs, prefs)[human.columns]
        yield Scores("simulated", by, human.to_numpy(), model.to_numpy())


def _partial(prefs: pd.DataFrame, runs: pd.DataFrame, favourite: str) -> pd.DataFrame:
    """Let a document among the first five of one run win against all others."""
    top = runs[(runs["run_id"] == favourite) & (runs["rank"] <= 5)]
    liked = {*zip(top["query_id"], top["doc_id"], strict=True)}
    first, second = (
        np.array([key in liked for key in zip(prefs["query_id"], docs, strict=True)])
        for docs in (prefs["doc_id"], prefs["other_doc_id"])
    )
    sign = np.where(first == second, prefs["preference"], np.where(first, 1.0, -1.0))
    return prefs.assign(preference=sign)


def _guessed(prefs: pd.DataFrame) -> pd.DataFrame:
    """Decide each pair by a coin."""
    coin = random_of("rectified guesses", 0).integers(2, size=len(prefs))
    return prefs.assign(preference=2.0 * coin - 1)


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the tables of the page, in Markdown, of means / differences."""
    cases: dict[tuple, dict[tuple[str, str], dict[str, Any]]] = {}
    names = "collection", "model", "judged", "others", "again"
    for row in found["coverage"]:
        of_case = cases.setdefault(tuple(row[name] for name in names), {})
        of_case[row["interval"], row["of"]] = row
    heads = KINDS[:2] + tuple(f"{kind} alone" for kind in KINDS[2:])
    yield "| scores | model | people | model only | " + " | ".join(heads) + " |"
    yield "|---" * (4 + len(KINDS)) + "|"
    for case, cells in cases.items():
        held = [_both(cells, kind, _held) for kind in KINDS]
        yield "| " + " | ".join([*_named(case), *held]) + " |"
    yield ""
    head = "correlation", "width", "worth", "rectified finds", "people find"
    yield "| scores | model | people | model only | " + " | ".join(head) + " |"
    yield "|---" * (4 + len(head)) + "|"
    for case, cells in cases.items():
        wide = (
            cells["rectified", of]["width"] / cells["people", of]["width"]
            for of in ("means", "differences")
        )
        like = _both(cells, "people", lambda row: f"{row['correlation']:.2f}")
        of_pairs = (cells[kind, "differences"] for kind in ("rectified", "people"))
        found_of = [f"{100 * row['found']:.0f}" for row in of_pairs]
        width = " / ".join(f"{ratio:.2f}" for ratio in wide)
        worth = _both(cells, "rectified", lambda row: f"{row['effective']:.0f}")
        yield "| " + " | ".join([*_named(case), like, width, worth, *found_of]) + " |"
    yield ""


def _named(case: tuple) -> list[str]:
    collection, model, judged, others, again = case
    return [collection, model, f"{judged}{'' if again else ', once'}", str(others)]


def _both(cells: dict, kind: str, cell: Any) -> str:
    return " / ".join(cell(cells[kind, of]) for of in ("means", "differences"))


def _held(row: dict[str, Any]) -> str:
    return f"{100 * row['held']:.1f}{SIGNS[row['where']]}"


@study(tables, interval=COVER)
@data_option
@click.option("--trials", type=int, default=10_000, show_default=True)
def main(data: Path, trials: int) -> Sections:
    """Hide human scores, and count the intervals that hold the mean of all."""
    return {"coverage": list(rows(data, trials))}


if __name__ == "__main__":
    main()
