"""The documents of each query whose pairs may be asked for, and what is known of them.

A pool holds the documents that the compared runs rank highest, and those that were
judged. Each pair of the former gets one answer, at the most, if it has none.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from jaxtyping import Bool, Float64, Int

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.io.closure import transitive_closure
from pgcjax.io.order import ranked
from pgcjax.io.runs import Runs
from pgcjax.io.weights import whole_weights


class Pool(NamedTuple):
    """What is known of the documents of a query.

    Attributes:
        query_id: the query.
        docs: ids, ascending.
        ranks: 0-based, of each compared run; infinite if not retrieved.
        counts: how many preferences of the row's document to the column's there are:
            answers, and what they imply.
        unsettled: whether a pair is still to be asked for, both ways.
        above: whether a chain of answers leads from one document to another, or they
            are the same; without inference, the latter alone.
    """

    query_id: str
    docs: tuple[str, ...]
    ranks: Float64[np.ndarray, "runs n"]
    counts: Float64[np.ndarray, "n n"]
    unsettled: Bool[np.ndarray, "n n"]
    above: Bool[np.ndarray, "n n"]

    @property
    def pairs(self) -> int:
        """How many pairs are still to be asked for."""
        return int(self.unsettled.sum()) // 2


def rankings(
    runs: Runs, order: str, queries: Collection[str] | None
) -> tuple[list[str], dict[str, list[list[str]]]]:
    """List the documents of each run and query, best first; queries ascend.

    Raises:
        DataError: a run cannot be read or ranked, or none has a query that is asked
            for. UsageError: there are fewer than two runs.
    """
    names: list[str] = []
    by_query: dict[str, dict[str, list[str]]] = {}
    for table in runs.tables():
        rows, position, groups, _ = ranked(table, order)
        named = rows.select("run_id", "query_id", "doc_id")
        placed = named.with_columns(pl.Series("at", position))
        names += dict.fromkeys(run for run, _ in groups)
        placed = placed.sort("at").group_by("run_id", "query_id", maintain_order=True)
        for (run, query), ranking in placed:
            if queries is None or query in queries:
                by_query.setdefault(str(query), {})[str(run)] = ranking[
                    "doc_id"
                ].to_list()
    names = sorted({*names})
    if len(names) < 2:
        raise UsageError(f"expected two runs or more to compare, found {len(names)}")
    if lacking := sorted({*(queries or ())} - {*by_query}):
        raise DataError(f"no run has query {lacking[0]!r}", mend="Leave it out.")
    return names, {
        query: [by_query[query].get(name, []) for name in names]
        for query in sorted(by_query)
    }


def query_pools(
    lists: Mapping[str, Sequence[Sequence[str]]],
    preferences: pd.DataFrame | None,
    *,
    documents: int,
    bad: bool = True,
    infer: bool = False,
) -> list[Pool]:
    """Lay out what is known of each query that has an answer, or may have one.

    Args:
        lists: documents of each run, best first, by query.
        preferences: canonical: the answers so far. They are taken as of one judge.
        documents: of a query that are paired: those that runs rank highest, by the sum
            of 1 / rank, of equal ones the first by id.
        bad: as `measures.preference` has it.
        infer: take what chains of answers imply for answered.
    """
    answers = dict(_answers(preferences)) if preferences is not None else {}
    pools = (
        _pool(query, runs, answers.get(query, _NONE), documents, bad, infer)
        for query, runs in lists.items()
    )
    return [pool for pool in pools if pool.pairs or pool.query_id in answers]


class _Answers(NamedTuple):
    """Answers to pairs of a query: (preferred, other), and documents found bad."""

    wins: dict[tuple[str, str], int]
    ties: set[tuple[str, str]]
    bad: dict[str, int]


_NONE = _Answers({}, set(), {})


def _answers(table: pd.DataFrame) -> Iterator[tuple[str, _Answers]]:
    if "probability" in table and table["probability"].notna().any():
        raise DataError(
            "expected answers that name a document, found probabilities",
            where="preferences",
            mend="Ask for one document or a tie.",
        )
    weights = whole_weights(table, "what is asked next")
    for query, rows in table.assign(weight=weights).groupby("query_id", sort=True):
        wins, ties, bad = {}, set(), {}
        columns = ("doc_id", "other_doc_id", "preference", "weight")
        for doc, other, sign, weight in zip(*(rows[c] for c in columns), strict=True):
            if not isinstance(other, str):
                bad[doc] = bad.get(doc, 0) + weight
            elif sign:
                pair = (doc, other) if sign > 0 else (other, doc)
                wins[pair] = wins.get(pair, 0) + weight
            else:
                ties.add((doc, other))
        yield str(query), _Answers(wins, ties, bad)


def _pool(
    query: str,
    lists: Sequence[Sequence[str]],
    answers: _Answers,
    documents: int,
    take_bad: bool,
    infer: bool,
) -> Pool:
    places = [{doc: i for i, doc in enumerate(ranking)} for ranking in lists]
    high: dict[str, float] = {}
    for of_run in places:
        for doc, place in of_run.items():
            high[doc] = high.get(doc, 0.0) + 1 / (1 + place)
    paired = sorted(high, key=lambda doc: (-high[doc], doc))[:documents]
    judged = {doc for pair in (*answers.wins, *answers.ties) for doc in pair}
    docs = sorted({*paired, *judged, *answers.bad})
    place = {doc: i for i, doc in enumerate(docs)}
    n = len(docs)
    ranks = np.array([[of_run.get(doc, inf) for doc in docs] for of_run in places])
    wins, tied, askable = np.zeros((n, n)), *np.zeros((2, n, n), bool)
    for (better, worse), count in answers.wins.items():
        wins[place[better], place[worse]] = count
    for one, other in answers.ties:
        tied[place[one], place[other]] = tied[place[other], place[one]] = True
    paired_places = [place[doc] for doc in paired]
    askable[np.ix_(paired_places, paired_places)] = True
    worst = np.array([answers.bad.get(doc, 0) * take_bad for doc in docs])
    return Pool(query, tuple(docs), ranks, *settle(wins, tied, worst, askable, infer))


def settle(
    wins: Float64[np.ndarray, "n n"],
    tied: Bool[np.ndarray, "n n"],
    bad: Int[np.ndarray, " n"],
    askable: Bool[np.ndarray, "n n"],
    infer: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Infer what answers make clear of all pairs of a query, as `asking.inference`.

    Args:
        wins: how many answers prefer the row's document to the column's.
        tied: whether any answer to a pair is a tie, both ways.
        bad: how often each document was found bad.
        askable: which pairs are to be asked for, both ways.
        infer: take what chains of the majority's answers imply for answered.

    Returns:
        Counts, open pairs and chains: see `Pool`.
    """
    answered, same = (wins + wins.T > 0) | tied, np.eye(len(wins), dtype=bool)
    found_bad = bad > 0
    unsettled = askable & ~answered & ~same
    unsettled &= ~(found_bad[:, None] | found_bad[None, :])
    counts = wins + bad * (~found_bad[:, None] & found_bad[None, :] & ~answered)
    if not infer:
        return counts, unsettled, same
    reach = transitive_closure(wins > wins.T)
    implied = reach & ~reach.T & unsettled
    return counts + implied, unsettled & ~(implied | implied.T), reach | same


def asked_of(names: Sequence[str], pools: Sequence[Pool]) -> str:
    """Describe what is compared, for a note."""
    return (
        f"{counted(len(names), 'run')}, {counted(len(pools), 'query')}, "
        f"{counted(sum(pool.pairs for pool in pools), 'pair')} without an answer"
    )
