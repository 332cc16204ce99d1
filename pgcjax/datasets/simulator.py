"""A made-up test collection whose true order of runs is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.datasets.settings import CollectionSettings

MODEL = 1  # to be raised with every change of the tables that settings produce
GRADE_FROM = (0.25, 0.5, 0.75)  # utilities where grades 1, 2 and 3 begin
GRADE_NOISE = 0.05  # standard deviation, in utility
TIE_BELOW = 0.08  # perceived utilities closer than this are judged a tie
BEST_QUALITY, WORST_QUALITY = 0.82, 0.40
BEST_RELIABILITY, WORST_RELIABILITY = 0.95, 0.65
UNJUDGED_UTILITY = 0.6  # factor: a pool misses poor documents more than good ones
NAVIGATIONAL = 0.35  # share of the intents after the first
# Index of the query that the worst run lacks. It does not depend on the number of
# queries, and the order of the runs is the same if the query counts as 0.
MISSING_QUERY = 1
WORDS = (
    "alder aspen basil birch cedar clove cress elder fern hazel heath holly iris ivy "
    "larch lilac maple moss oak olive peony pine poppy reed rose sage sedge sorrel "
    "thyme tulip viola yew"
).split()


class Purpose(IntEnum):
    """Purposes of streams of random numbers. Values are part of the model."""

    DOCUMENTS = 0
    GRADES = 1
    JUDGMENTS = 2
    INTENTS = 3
    RUNS = 4
    NAMES = 5
    JUDGES = 6


@dataclass(frozen=True, eq=False)
class Collection:
    """Simulated tables, in the canonical columns, and the truth behind them.

    `truth` has one row per run, best first: run_id, quality (0 to 1) and position
    (from 1). The true order is the order of quality, which is the weight of utility
    against noise in a run's scores. More weight raises the expected score of every
    sound measure, but two neighbours may be reversed on a sample of queries.

    Judgments were drawn from `judges` (judge, reliability) and `utilities` (query_id,
    doc_id, utility, judged). Rows and columns of `grid` count from 0, ranks of `runs`
    from 1.
    """

    settings: CollectionSettings
    runs: pd.DataFrame
    qrels: pd.DataFrame
    intent_qrels: pd.DataFrame
    intents: pd.DataFrame
    preferences: pd.DataFrame
    grid: pd.DataFrame
    truth: pd.DataFrame
    judges: pd.DataFrame
    utilities: pd.DataFrame


@dataclass(frozen=True, eq=False)
class _SimulatedQuery:
    """One query: its documents, judged ones first, with their true utilities."""

    index: int
    query_id: str
    doc_ids: np.ndarray
    utility: np.ndarray  # in [0, 1]
    grade: np.ndarray  # of judged documents only


def simulate(settings: CollectionSettings) -> Collection:
    """Draw a collection: the same settings always give the same tables.

    A document's utility u is the square of a uniform number, so most documents are
    poor; u of an unjudged document is multiplied by 0.6. Grades are thresholds of u
    with a little noise. A judge of reliability r perceives utilities with noise of
    standard deviation (1 - r) / 2, answers a tie if they differ by less than 0.08, else
    prefers the larger one, and reverses a share (1 - r) / 2 of the answers. A run of
    quality q scores documents with q u + (1 - q) uniform noise.

    Every (purpose, query, run or judge) has its own stream of random numbers, so more
    runs do not change the judgments, nor more queries the earlier ones.
    """
    queries = [_query(settings, i) for i in range(settings.queries)]
    quality = _spaced(BEST_QUALITY, WORST_QUALITY, settings.runs)
    names = _run_names(settings)
    judges = _judges(settings)
    named = list(judges.itertuples(index=False, name=None))
    intents, intent_qrels = zip(*(_intents(settings, q) for q in queries), strict=True)
    runs = _table(
        [
            _ranking(settings, query, run, name, quality[run])
            for (run, name), query in product(enumerate(names), queries)
            if (run, query.index) != (settings.runs - 1, MISSING_QUERY)
        ]
    )
    truth = {"run_id": names, "quality": quality}
    truth["position"] = np.arange(1, settings.runs + 1)
    return Collection(
        settings=settings,
        runs=runs,
        qrels=_table([_qrels(query) for query in queries]),
        intent_qrels=_table(intent_qrels),
        intents=_table(intents),
        preferences=_table(
            [
                _judged_pairs(settings, query, i, name, reliability)
                for query in queries
                for i, (name, reliability) in enumerate(named)
            ]
        ),
        grid=_grid(settings, runs),
        truth=pd.DataFrame(truth),
        judges=judges,
        utilities=_table([_utilities(settings, query) for query in queries]),
    )


def _query(settings: CollectionSettings, index: int) -> _SimulatedQuery:
    rng = _stream(settings, Purpose.DOCUMENTS, index)
    size = settings.documents + settings.depth
    utility = rng.random(size) ** 2
    utility[settings.documents :] *= UNJUDGED_UTILITY
    utility = utility.round(4)
    # Ids are shuffled, else ties broken by doc id would favour unjudged documents.
    dealt = np.split(_shuffled(rng, size) + 1, [settings.documents])
    numbers = np.concatenate([np.sort(part) for part in dealt])
    width = max(2, len(str(size)))
    query_id = str(101 + index)
    noise = GRADE_NOISE * _stream(settings, Purpose.GRADES, index).standard_normal(size)
    grade = np.digitize(utility + noise, GRADE_FROM)
    doc_ids = np.array([f"d-{query_id}-{n:0{width}d}" for n in numbers])
    judged = grade[: settings.documents].astype(float)
    return _SimulatedQuery(index, f"q{query_id}", doc_ids, utility, judged)


def _qrels(query: _SimulatedQuery) -> dict[str, Any]:
    return {
        "query_id": query.query_id,
        "doc_id": query.doc_ids[: query.grade.size],
        "relevance": query.grade,
    }


def _utilities(settings: CollectionSettings, query: _SimulatedQuery) -> dict[str, Any]:
    return {
        "query_id": query.query_id,
        "doc_id": query.doc_ids,
        "utility": query.utility,
        "judged": np.arange(query.utility.size) < settings.documents,
    }


def _ranking(
    settings: CollectionSettings,
    query: _SimulatedQuery,
    run: int,
    name: str,
    quality: float,
) -> dict[str, Any]:
    rng = _stream(settings, Purpose.RUNS, query.index, run)
    noise = rng.random(query.utility.size)
    score = quality * query.utility + (1 - quality) * noise
    top = np.argsort(-score, kind="stable")[: settings.depth]
    return {
        "run_id": name,
        "query_id": query.query_id,
        "doc_id": query.doc_ids[top],
        "score": score[top].round(2),  # coarse, as real runs are: some scores tie
        "rank": np.arange(1, top.size + 1),
    }


def _grid(settings: CollectionSettings, runs: pd.DataFrame) -> pd.DataFrame:
    shown = runs["rank"] <= settings.rows * settings.columns
    cell = runs.loc[shown, "rank"] - 1
    table = runs.loc[shown, ["query_id", "run_id", "doc_id"]].assign(
        row=cell // settings.columns, column=cell % settings.columns
    )
    order = ["query_id", "run_id", "row", "column"]
    return table.sort_values(order, ignore_index=True)


def _judges(settings: CollectionSettings) -> pd.DataFrame:
    """Return judges in the order of their names, with shuffled reliabilities."""
    reliability = _spaced(BEST_RELIABILITY, WORST_RELIABILITY, settings.judges)
    dealt = _shuffled(_stream(settings, Purpose.JUDGES), settings.judges)
    names = [f"j{i}" for i in range(1, settings.judges + 1)]
    return pd.DataFrame({"judge": names, "reliability": reliability[dealt]})


def _judged_pairs(
    settings: CollectionSettings,
    query: _SimulatedQuery,
    judge: int,
    name: str,
    reliability: float,
) -> dict[str, Any]:
    rng = _stream(settings, Purpose.JUDGMENTS, query.index, judge)
    first, second = np.triu_indices(settings.documents, k=1)
    chosen = _shuffled(rng, first.size)[: settings.pairs]
    pair = np.stack([first[chosen], second[chosen]])
    swapped = rng.random(chosen.size) < 0.5  # which of the two is shown first
    left, right = np.where(swapped, pair[::-1], pair)
    blur = (1 - reliability) / 2
    seen = query.utility[np.stack([left, right])]
    seen = seen + blur * rng.standard_normal(seen.shape)
    difference = seen[0] - seen[1]
    answer = np.where(np.abs(difference) < TIE_BELOW, 0, np.sign(difference))
    slip = rng.random(chosen.size) < blur
    return {
        "query_id": query.query_id,
        "doc_id": query.doc_ids[left],
        "other_doc_id": query.doc_ids[right],
        "preference": np.where(slip, -answer, answer).astype(int),
        "judge": name,
    }


def _intents(
    settings: CollectionSettings, query: _SimulatedQuery
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The intents of a query, and the grades of its pool for each intent.

    A document keeps its grade for about half of the intents, and has grade 0 for the
    others. For a navigational intent only the best document keeps a grade, at least 1.
    """
    rng = _stream(settings, Purpose.INTENTS, query.index)
    count, pool = settings.intents, query.grade.size
    weight = 1 + 2 * rng.random(count)
    thousandths = np.floor(1000 * weight / weight.sum()).astype(int)
    thousandths[0] += 1000 - thousandths.sum()
    navigational = rng.random(count) < NAVIGATIONAL
    navigational[0] = False
    fit = rng.random((count, pool))
    grade = np.where(fit > 0.5, query.grade, 0.0)
    for i in np.flatnonzero(navigational):
        target = np.argmax(fit[i] * query.utility[:pool])
        grade[i] = 0.0
        grade[i, target] = max(1.0, query.grade[target])
    ids = np.arange(1, count + 1).astype(str)
    about = {
        "query_id": query.query_id,
        "intent_id": ids,
        "probability": thousandths / 1000,
        "kind": np.where(navigational, "nav", "inf"),
    }
    graded = {
        "query_id": query.query_id,
        "intent_id": np.repeat(ids, pool),
        "doc_id": np.tile(query.doc_ids[:pool], count),
        "relevance": grade.ravel(),
    }
    return about, graded


def _run_names(settings: CollectionSettings) -> list[str]:
    """Plain words in shuffled order, with numbers after all words are used."""
    names: list[str] = []
    while len(names) < settings.runs:
        lap = len(names) // len(WORDS)
        order = _shuffled(_stream(settings, Purpose.NAMES, lap), len(WORDS))
        names += [f"{WORDS[i]}-{lap + 1}" if lap else WORDS[i] for i in order]
    return names[: settings.runs]


def _stream(
    settings: CollectionSettings, purpose: Purpose, query: int = 0, item: int = 0
) -> np.random.Generator:
    key = (int(purpose), query, item)
    seeds = np.random.SeedSequence(settings.seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(seeds))


def _shuffled(rng: np.random.Generator, size: int) -> np.ndarray:
    # Not rng.permutation, whose algorithm numpy may change between versions.
    return np.argsort(rng.random(size), kind="stable")


def _spaced(best: float, worst: float, count: int) -> np.ndarray:
    return np.linspace(best, worst, count).round(4)


def _table(parts: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Stack parts whose columns are arrays, or one value for the whole part."""
    full = [np.broadcast_arrays(*part.values()) for part in parts]
    columns = (np.concatenate(pieces) for pieces in zip(*full, strict=True))
    return pd.DataFrame(dict(zip(parts[0], columns, strict=True)))
