"""How often do intervals by replicates of the judgments hold the true score?

`python -m benchmarks.studies.judgment_coverage` is the study behind a table of
docs/judging-evidence.md. A trial is a simulated collection: 20 queries of 20 documents,
8 runs, and judges at random out of 100. A few of them judge random pairs of each query.
There are two truths: `size`, the mean of PGC over other judges who judge as many pairs,
and `unlimited`, PGC when all 100 judges judge all 190 pairs. Where queries are drawn
again, it is the mean over the queries of all trials: runs at the same place of the true
order are of the same quality in each. Equal calls, equal files.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.studies.commands import Sections, study
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import Collection, simulate

PANELS = ((3, 25), (3, 95), (10, 25), (10, 95), (10, 190))
"""Judges, and pairs of each query that each of them judges."""
RESAMPLED = ("judgments", "judges", "queries", "both")
INTERVALS = ("centred", "basic", "percentile", "bc")
TRUTHS = ("size", "unlimited")
OTHERS = 9  # panels behind the truth of the same size
KEY = ["query_id", "doc_id", "other_doc_id", "preference"]
SIZE: dict[str, Any] = {"queries": 20, "documents": 20, "runs": 8}
EVERY = 190  # pairs of 20 documents


def rows(trials: int, replicates: int) -> Iterator[dict[str, Any]]:
    """Count the intervals that hold the truth, by panel, scheme and kind."""
    unlimited = np.array([_unlimited(seed) for seed in range(trials)])
    for judges, pairs in PANELS:
        drawn = [
            simulate(CollectionSettings(**SIZE, judges=100, pairs=pairs, seed=seed))
            for seed in range(trials)
        ]
        own = [_judged(c, range(judges)) for c in drawn]
        others = np.array([_others(c, judges) for c in drawn])
        scores = np.array([_means(c, p) for c, p in zip(drawn, own, strict=True)])
        for resample in RESAMPLED:
            fixed = resample in ("judgments", "judges")  # the queries
            held: dict[tuple[str, ...], list[tuple[float, ...]]] = {}
            for seed, (collection, prefs) in enumerate(zip(drawn, own, strict=True)):
                found = _evaluate(collection, prefs, replicates, resample, seed)
                for name, truth in (
                    ("size", others[seed] if fixed else scores.mean(0)),
                    ("unlimited", unlimited[seed] if fixed else unlimited.mean(0)),
                ):
                    for kind, of, *numbers in _counts(found, collection, truth):
                        held.setdefault((name, kind, of), []).append(tuple(numbers))
            for (name, kind, of), numbers in held.items():
                share, width, error, pull = np.mean(numbers, axis=0)
                spread = np.std([each[0] for each in numbers], ddof=1)
                yield {
                    "judges": judges,
                    "pairs": pairs,
                    "resample": resample,
                    "truth": name,
                    "of": of,
                    "interval": kind,
                    "held": round(float(share), 4),
                    "error": round(float(spread) / trials**0.5, 4),
                    "width": round(float(width), 5),
                    "score_less_truth": round(float(error), 5),
                    "replicates_less_score": round(float(pull), 5),
                }


def _judged(collection: Collection, judges: Iterable[int]) -> pd.DataFrame:
    """Give the judgments of a panel, by numbers of judges from 0."""
    names = [f"j{i + 1}" for i in judges]
    return collection.preferences[collection.preferences["judge"].isin(names)]


def _others(collection: Collection, judges: int) -> np.ndarray:
    """Average the scores by other panels of as many judges; no two share one."""
    starts = range(judges, judges * (OTHERS + 1), judges)
    panels = [range(low, low + judges) for low in starts]
    means = [_means(collection, _judged(collection, panel)) for panel in panels]
    return np.mean(means, axis=0)


def _unlimited(seed: int) -> np.ndarray:
    """Score all runs by all judges on all pairs."""
    collection = simulate(
        CollectionSettings(**SIZE, judges=100, pairs=EVERY, seed=seed)
    )
    votes = collection.preferences.groupby(KEY).size().rename("weight").reset_index()
    return _means(collection, votes)


def _means(collection: Collection, prefs: pd.DataFrame) -> np.ndarray:
    """Score all runs, the best by truth first."""
    scores = pgcjax.evaluate(collection.runs, preferences=prefs, measures="PGC")
    return scores.mean().loc[collection.truth["run_id"], "PGC"].to_numpy()


def _evaluate(
    collection: Collection,
    prefs: pd.DataFrame,
    replicates: int,
    resample: str,
    seed: int,
) -> Any:
    return pgcjax.uncertainty(
        collection.runs,
        preferences=prefs,
        measures="PGC",
        replicates=replicates,
        resample=resample,
        seed=seed,
    )


def _counts(
    found: Any, collection: Collection, truth: np.ndarray
) -> Iterator[tuple[Any, ...]]:
    """Give kind, what it is of, share held, width, error and pull of a trial."""
    true = pd.Series(truth, collection.truth["run_id"].to_list())
    for kind in INTERVALS:
        means = found.means(interval=kind)
        of_run = true[means["run_id"]].to_numpy()
        yield kind, "means", *_held(means, means["mean"], of_run), _pull(means)
        pairs = found.differences(interval=kind)
        a, b = (true[pairs[side]].to_numpy() for side in ("run_a", "run_b"))
        yield kind, "differences", *_held(pairs, pairs["difference"], a - b), 0.0
    ranks = found.ranks()
    place = true.rank(ascending=False)[ranks["run_id"]].to_numpy()
    yield "percentile", "ranks", *_held(ranks, ranks["rank"], place), 0.0


def _held(
    table: pd.DataFrame, observed: pd.Series, truth: np.ndarray
) -> tuple[float, float, float]:
    inside = (table["low"] <= truth) & (truth <= table["high"])
    width = (table["high"] - table["low"]).mean()
    return float(inside.mean()), float(width), float((observed - truth).mean())


def _pull(means: pd.DataFrame) -> float:
    return float((means["mean_replicate"] - means["mean"]).mean())


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the table of the page, in Markdown: per cent that are held."""
    names = "judges", "pairs", "resample", "truth", "of", "interval"
    cells = {tuple(r[name] for name in names): r for r in found["coverage"]}
    for truth in TRUTHS:
        yield f"{truth}: per cent of means / of differences"
        yield ""
        yield "| judges × pairs | drawn | " + " | ".join(INTERVALS) + " |"
        yield "|---|---|" + "---|" * len(INTERVALS)
        for (judges, pairs), resample in product(PANELS, RESAMPLED):
            key = judges, pairs, resample, truth
            both = [
                [100 * cells[*key, of, kind]["held"] for of in ("means", "differences")]
                for kind in INTERVALS
            ]
            shown = " | ".join(f"{mean:.0f} / {apart:.0f}" for mean, apart in both)
            yield f"| {judges} × {pairs} | {resample} | {shown} |"
        yield ""


@study(tables)
@click.option("--trials", type=int, default=40, show_default=True)
@click.option("--replicates", type=int, default=400, show_default=True)
def main(trials: int, replicates: int) -> Sections:
    """Simulate collections, and count the intervals that hold the truth."""
    return {"coverage": list(rows(trials, replicates))}


if __name__ == "__main__":
    main()
