"""How near are scores to those by all votes, if people judge few pairs of each query?

`python -m benchmarks.studies.rectified_votes` is the study behind
docs/judging-evidence.md, "Votes, not queries". The pairs of dl21 that people and GPT-4o
judged, and those of simulated collections; the truth is PGC by all votes of people on
them. Of each query a share of the pairs is drawn, the votes on the others are hidden.
Estimates are of the mean over these queries, and of the mean over all queries of such a
kind: there queries are drawn, too, with replacement. Equal calls, equal files.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.studies.commands import Sections, data_option, study
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.engine import rectify as of
from pgcjax.engine.evaluate import scoring_task
from pgcjax.engine.job import Job
from pgcjax.io.reading import reading
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.majority import majority
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.stats.choices import REPLICATED
from pgcjax.stats.intervals import of_replicates
from pgcjax.stats.rectified import estimate
from pgcjax.stats.uncertainty import Uncertainty
from pgcjax.tensors.rankings import read_rankings

ALPHA = 0.05
SHARES = (0.125, 0.25, 0.5)
DRAWS, DRAWN, REPLICATES = 40, 10, 200
"""Draws of hidden votes; of the queries, in each family; replicates of an interval."""
EVERY = 4
"""Of the runs of dl21, each fourth by name is scored."""
SIMULATED: dict[str, Any] = {"queries": 46, "documents": 20, "runs": 8}
PAIRS, CHANCE = 95, 0.4
"""Pairs of a query that a judge judges, and how likely each is among those here."""


class Collection(NamedTuple):
    """Votes on pairs, and scores by them."""

    name: str
    pairs: of.SampledPairs
    heights: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]
    model: np.ndarray


def collection(name: str, runs: Any, people: Any, model: Any) -> Collection:
    """Take the pairs that both judged."""
    people, model = (majority(read_preferences(p)) for p in (people, model))
    key = [_keyed(table) for table in (people, model)]
    both = set(key[0]) & set(key[1])
    people, model = (
        table[[k in both for k in keys]]
        for table, keys in zip((people, model), key, strict=True)
    )
    pairs = of.judged_pairs(people, model)
    task = scoring_task(
        *(runs, {"preferences": of.both_ways(pairs)}, ["PGC"], "trec", False, "zero"),
        Job(),
    )
    with reading():
        read = (task.runs, task.request.judged, task.request.order)
        rankings = read_rankings(*read)
        names = sorted(rankings.run_ids)
        few = read_rankings(*read, only=names[:: EVERY if len(names) > 20 else 1])
    heights = of.heights(task, rankings, pairs)
    answer = np.sign(pairs.answer).astype(np.int8)
    return Collection(
        *(name, pairs, heights, lambda s: of.score_votes(task, few, s), answer)
    )


def _keyed(table: pd.DataFrame) -> list[tuple]:
    return [*by_pair(table)[UNORDERED].itertuples(False, None)]


def dl21(folder: Path) -> Collection:
    """Take the votes of people and of GPT-4o."""
    model = sorted((folder / "gpt4o").glob("judge.0*"))
    people = folder / "judgments.txt.gz"
    return collection("dl21", str(folder / "runs"), people, model)


def simulated(seed: int) -> Collection:
    """Let one judge be people, and three others the model."""
    settings = CollectionSettings(**SIMULATED, judges=4, pairs=PAIRS, seed=seed)
    drawn = simulate(settings)
    chosen = np.random.default_rng(seed).random(len(drawn.preferences)) < CHANCE
    first = drawn.preferences["judge"] == "j1"
    people, model = drawn.preferences[first & chosen], drawn.preferences[~first]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    return collection("simulated", drawn.runs, people[columns], model[columns])


def sampled(pairs: of.SampledPairs, share: float, rng: np.random.Generator) -> Any:
    """Draw pairs of each query: their share, rounded by lot, and one at least."""
    order = np.lexsort([rng.random(len(pairs.query)), pairs.query])
    size = np.bincount(pairs.query)
    number = np.maximum(1, (share * size + rng.random(len(size))).astype(int))
    place = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    judged = np.zeros(len(order), bool)
    judged[order[place < np.repeat(number, size)]] = True
    return judged


def estimates(here: Collection, judged: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Score in each way from the judged pairs, by draws: `[draws, runs, queries]`."""
    pairs = here.pairs._replace(judged=judged)
    flat = np.zeros((len(judged), 1))
    hidden = {
        "people alone": np.where(judged, pairs.people, 0)[None],
        "model filled in": np.where(judged, pairs.people, here.model)[None],
        "draws, not by runs": of.draw_votes(pairs, flat, DRAWS, seed),
        "draws": of.draw_votes(pairs, here.heights, DRAWS, seed),
    }
    made = here.score(np.concatenate([*hidden.values()]).astype(np.int8))
    ends = np.cumsum([0, *map(len, hidden.values())])
    parts = zip(hidden, ends, ends[1:], strict=False)
    return {name: made[low:high] for name, low, high in parts}


def contrasts(scores: np.ndarray, of_what: str) -> np.ndarray:
    """Return scores of runs, or differences of all pairs of runs, along axis -2."""
    if of_what == "means":
        return scores
    a, b = np.triu_indices(scores.shape[-2], 1)
    return scores[..., a, :] - scores[..., b, :]


def rows(
    name: str, populations: list[Collection], families: int
) -> Iterator[dict[str, Any]]:
    """Count the intervals that hold the truth, by share, estimate and kind."""
    for share in SHARES:
        found: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
        for family in range(families):
            here = populations[family % len(populations)]
            rng = np.random.default_rng([family, int(100 * share)])
            truth, by_model = here.score(np.stack([here.pairs.people, here.model]))
            made = estimates(here, sampled(here.pairs, share, rng), family)
            again = rng.integers(0, truth.shape[1], (DRAWN, truth.shape[1]))
            for what in ("means", "differences"):
                true = contrasts(truth, what)
                for key, value in _measured(made, true, what, again):
                    found.setdefault((what, *key), []).append(value)
                model = contrasts(by_model, what)
                value = _by_queries(true, model, share, rng)
                key = (what, "query by query", "queries")
                found.setdefault(key, []).append(value)
        for (what, estimate_, over), values in found.items():
            held, width, bias, square = np.mean(values, axis=0)
            error = np.std([v[0] for v in values], ddof=1) / len(values) ** 0.5
            yield {
                "collection": name,
                "share": share,
                "of": what,
                "estimate": estimate_,
                "over": over,
                "families": families,
                "held": round(float(held), 4),
                "error": round(float(error), 4),
                "width": round(float(width), 5),
                "bias": round(float(bias), 5),
                "rmse": round(float(square**0.5), 5),
            }


def _measured(
    made: dict[str, np.ndarray], true: np.ndarray, what: str, again: np.ndarray
) -> Iterator[tuple[tuple[str, str], tuple[float, ...]]]:
    """Measure intervals of these queries, and of queries of the kind.

    Yields:
        Estimate and what the interval is over; share held, width, bias, mean square.
    """
    mean, n = true.mean(1), true.shape[1]
    for name, scores in made.items():
        if several := len(scores) > 1:
            drawn = contrasts(scores.mean(2)[..., None], what)[..., 0]
            off = drawn.mean(0) - mean
            half = 2.0 * drawn.std(0, ddof=1) * (1 + 1 / len(drawn)) ** 0.5
            yield (name, "votes"), _row(np.abs(off) <= half + 1e-12, 2 * half, off)
        parts: dict[str, list[tuple[float, ...]]] = {"queries": [], "ranks": []}
        for seed, chosen in enumerate(again):
            of_queries = scores[:, :, chosen]
            values = contrasts(of_queries.mean(0), what)
            off = values.mean(1) - mean
            half = stats.t.isf(ALPHA / 2, n - 1) * values.std(1, ddof=1) / n**0.5
            low, high = off - half, off + half
            if several:
                means = of.replicate_means(of_queries, REPLICATES, seed)
                if what == "means":
                    parts["ranks"].append(_ranked(means, values.mean(1), mean))
                drawn = contrasts(means[..., None], what)[..., 0]
                ends = of_replicates(values.mean(1), drawn.T, REPLICATED[0], ALPHA)
                low, high = (end - mean for end in ends)
            held = (low <= 1e-12) & (high >= -1e-12)
            parts["queries"].append(_row(held, high - low, off))
        for over, measured in parts.items():
            if measured:
                yield (name, over), tuple(np.mean(measured, axis=0))


def _ranked(means: np.ndarray, found: np.ndarray, true: np.ndarray) -> tuple:
    """Tell whether all true ranks are in their ranges, and how wide these are."""
    names = [f"{i:03}" for i in range(len(true))]
    told = {"replicates": len(means), "resample": "both", "seed": 0}
    replicates = Uncertainty(
        told, run_ids=names, mean={"PGC": found}, replicates={"PGC": means}
    )
    ranks = replicates.ranks().sort_values("run_id")
    place = stats.rankdata(-true, "min")
    held = (ranks["low"] <= place) & (place <= ranks["high"])
    wide = ranks["high"] - ranks["low"]
    return _row(np.array([held.all()]), wide.to_numpy(), found - true)


def _by_queries(
    true: np.ndarray, model: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[float, ...]:
    """Let people judge a share of the queries whole; queries are drawn each time."""
    n = true.shape[1]
    number = int(share * n + 0.5)
    parts = []
    for drawn in rng.integers(0, n, (DRAWN, n)):
        by = estimate(true[:, drawn[:number]], model[:, drawn], 1e-12)
        low, high = by.interval(ALPHA)
        mean = true.mean(1)
        held = (low - 1e-12 <= mean) & (mean <= high + 1e-12)
        parts.append(_row(held, high - low, by.mean - mean))
    return tuple(np.mean(parts, axis=0))


def _row(held: np.ndarray, width: np.ndarray, off: np.ndarray) -> tuple[float, ...]:
    of_all = held, width, off, off**2
    return tuple(float(np.mean(values)) for values in of_all)


def tables(found: list[dict[str, Any]]) -> Iterator[str]:
    """Lay out what was found in Markdown, of means / differences."""
    heads = "collection", "share", "estimate", "over", "held", "width", "bias", "rmse"
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    cells = {}
    for row in found:
        key = tuple(row[k] for k in ("collection", "share", "estimate", "over"))
        cells.setdefault(key, {})[row["of"]] = row
    for (name, share, estimate_, over), both in sorted(cells.items(), key=str):
        shown = [
            " / ".join(form(row) for row in both.values())
            for form in (
                lambda r: f"{100 * r['held']:.1f}",
                *(lambda r, k=k: f"{r[k]:.4f}" for k in ("width", "bias", "rmse")),
            )
        ]
        yield "| " + " | ".join([name, str(share), estimate_, over, *shown]) + " |"


@study(lambda found: tables(found["votes"]))
@data_option
@click.option("--families", type=int, default=24, show_default=True)
def main(data: Path, families: int) -> Sections:
    """Hide votes of people, and count the intervals that hold the scores by all."""
    found = [
        *rows("dl21", [dl21(data / "dl21")], families),
        *rows("simulated", [simulated(seed) for seed in range(families)], families),
    ]
    return {"votes": found}


if __name__ == "__main__":
    main()
