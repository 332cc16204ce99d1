"""The examples of a property as the queries of one call, whose programs they share."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pandas as pd
from hypothesis import strategies as st

import pgcjax
from helpers.builders import run_of
from pgcjax.measures.catalogue import parse

T = TypeVar("T")


def several(
    case: st.SearchStrategy[T], longest: T, size: int = 10
) -> st.SearchStrategy[list[T]]:
    """Draw cases for the queries of one call.

    Args:
        case: draws one.
        longest: comes first; its run is as long as any, so that all calls have
            programs for runs of one length.
        size: number of cases drawn.
    """
    drawn = st.lists(case, min_size=size, max_size=size)
    return drawn.map(lambda cases: [longest, *cases])


def query_id(number: int) -> str:
    return f"q{number:02}"


def by_query(values: Iterable[T]) -> dict[str, T]:
    """Name what belongs to the first query, the second, and so on."""
    return {query_id(i): value for i, value in enumerate(values)}


def tables(values: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Join tables of one query each."""
    named = [table.assign(query_id=q) for q, table in by_query(values).items()]
    return pd.concat(named, ignore_index=True)


def joined(
    collection: Callable[..., Iterable[pd.DataFrame]], seeds: Iterable[int], **sizes
) -> list[pd.DataFrame]:
    """Join the tables of several made-up collections, each with its own queries."""
    collections = [
        [
            t.assign(query_id=f"{seed}" + t["query_id"])
            for t in collection(seed, **sizes)
        ]
        for seed in seeds
    ]
    return [pd.concat(t, ignore_index=True) for t in zip(*collections, strict=True)]


def runs_of(**ranked: Sequence[Iterable[str]]) -> dict:
    """Runs by name, each with a list of documents for every query."""
    return {
        name: {query: run_of(docs)["q"] for query, docs in by_query(lists).items()}
        for name, lists in ranked.items()
    }


def scores_of(measures: Sequence[str], runs: dict, **options) -> pd.DataFrame:
    """Scores: a row for each run and query, a column for each measure as spelt."""
    table = pgcjax.evaluate(runs, measures=measures, **options).table
    wide = table.set_index(["run_id", "query_id", "measure"])["value"].unstack()
    return wide[[str(parse(m)) for m in measures]].set_axis(list(measures), axis=1)


def assert_no_less(after: pd.DataFrame, before: pd.DataFrame, slack: float) -> None:
    """No score of a query is less than it was."""
    less = (after < before - slack).stack()
    assert not less.any(), less[less].index.tolist()
