"""Documents of each query whose pairs may be asked for, and their known outcomes.

A pool holds the documents that the compared runs rank highest, and the judged ones.
Each pair of the former that has no answer gets at most one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from jaxtyping import Bool, Float64, Int

from pgcjax.errors import DataError, UsageError, check_whole
from pgcjax.io.closure import transitive_closure
from pgcjax.io.order import ranked
from pgcjax.io.runs import open_runs
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import whole_weights

_VOTE = ("doc_id", "other_doc_id", "preference")
Rankings = Mapping[str, Sequence[Sequence[str]]]
"""Documents of each run for each query, best first."""


class Pool(NamedTuple):
    """Known properties of the documents of a query.

    Attributes:
        query_id: The query.
        docs: Document ids, ascending.
        ranks: 0-based ranks in each compared run; infinite if not retrieved.
        counts: Number of preferences for the row's document over the column's: answers,
            and those that they imply.
        unsettled: Whether a pair is still to be asked for, both ways.
        above: Whether a chain of answers leads from the row's document to the column's;
            true on the diagonal, and without inference only there.
    """

    query_id: str
    docs: tuple[str, ...]
    ranks: Float64[np.ndarray, "runs n"]
    counts: Float64[np.ndarray, "n n"]
    unsettled: Bool[np.ndarray, "n n"]
    above: Bool[np.ndarray, "n n"]

    @property
    def pairs(self) -> int:
        """Number of pairs that are still to be asked for."""
        return int(self.unsettled.sum()) // 2


def read_pools(
    runs: Any,
    preferences: Any,
    order: str,
    queries: Collection[str] | None,
    documents: int,
    *,
    bad: bool = True,
    infer: bool = False,
) -> tuple[list[str], list[Pool]]:
    """Read runs and answers: names of the runs, and the pool of each query."""
    check_whole("documents", documents, 2)
    names, lists = read_rankings(runs, order, queries)
    table = None if preferences is None else read_preferences(preferences)
    if table is not None and queries is None:  # means include queries that no run has
        judged = {*table["query_id"]} - lists.keys()
        lists |= dict.fromkeys(judged, [[]] * len(names))
        lists = {query: lists[query] for query in sorted(lists)}
    return names, query_pools(lists, table, documents=documents, bad=bad, infer=infer)


def read_rankings(
    runs: Any, order: str, queries: Collection[str] | None
) -> tuple[list[str], dict[str, list[list[str]]]]:
    """List the runs, and their documents for each query, best first; queries ascend.

    Raises:
        DataError: a run cannot be read or ranked, or no run has any of `queries`.
        UsageError: there are fewer than two runs.
    """
    names: set[str] = set()
    by_query: dict[str, dict[str, list[str]]] = {}
    for table in open_runs(runs).tables():
        rows, position, groups, _ = ranked(table, order)
        names |= {run for run, _ in groups}
        placed = rows.select("run_id", "query_id", "doc_id").with_columns(
            pl.Series("at", position)
        )
        placed = placed.sort("at").group_by("run_id", "query_id", maintain_order=True)
        for (run, query), ranking in placed:
            if queries is None or query in queries:
                docs = ranking["doc_id"].to_list()
                by_query.setdefault(str(query), {})[str(run)] = docs
    if len(names) < 2:
        raise UsageError(f"expected two runs or more to compare, found {len(names)}")
    if lacking := sorted({*(queries or ())} - {*by_query}):
        raise DataError(f"no run has query {lacking[0]!r}", mend="Leave it out.")
    return sorted(names), {
        query: [by_query[query].get(name, []) for name in sorted(names)]
        for query in sorted(by_query)
    }


def query_pools(
    lists: Rankings,
    preferences: pd.DataFrame | None,
    *,
    documents: int,
    bad: bool = True,
    infer: bool = False,
) -> list[Pool]:
    """Collect known outcomes of each query that has an answer, or may have one.

    Args:
        lists: Documents of each run and query.
        preferences: Canonical table of the answers so far, taken as one judge's.
        documents: Number of documents per query to pair: those with the highest sum of
            1 / rank over runs; ties go to the lower id.
        bad: Whether bad documents lose, as in `measures.preference`.
        infer: Whether pairs that chains of answers imply count as answered.
    """
    answers: dict[str, list[tuple]] = {}
    if preferences is not None:
        if "probability" in preferences and preferences["probability"].notna().any():
            raise DataError(
                "expected answers that name a document, found probabilities",
                where="preferences",
                mend="Ask for one document or a tie.",
            )
        weight = whole_weights(preferences, "the choice of pairs")
        for query, rows in preferences.assign(weight=weight).groupby("query_id"):
            rows = rows[[*_VOTE, "weight"]].itertuples(index=False, name=None)
            answers[str(query)] = [*rows]
    pools = (
        _pool(query, rankings, answers.get(query, ()), documents, bad, infer)
        for query, rankings in lists.items()
    )
    return [pool for pool in pools if pool.pairs or pool.query_id in answers]


def _pool(
    query: str,
    rankings: Sequence[Sequence[str]],
    votes: Sequence[tuple],
    documents: int,
    take_bad: bool,
    infer: bool,
) -> Pool:
    high: dict[str, float] = {}
    for ranking in rankings:
        for place, doc in enumerate(ranking):
            high[doc] = high.get(doc, 0.0) + 1 / (1 + place)
    paired = sorted(high, key=lambda doc: (-high[doc], doc))[:documents]
    judged = {doc for vote in votes for doc in vote[:2] if isinstance(doc, str)}
    docs = tuple(sorted({*paired, *judged}))
    number, n = {doc: i for i, doc in enumerate(docs)}, len(docs)
    wins, bad = np.zeros((n, n)), np.zeros(n, np.int64)
    tied, askable = np.zeros((2, n, n), bool)
    for doc, other, preference, weight in votes:
        i = number[doc]
        if not isinstance(other, str):
            bad[i] += weight * take_bad
        elif preference:
            j = number[other]
            wins[(i, j) if preference > 0 else (j, i)] += weight
        else:
            j = number[other]
            tied[i, j] = tied[j, i] = True
    chosen = [number[doc] for doc in paired]
    askable[np.ix_(chosen, chosen)] = True
    clear = settle(wins, tied, bad, askable, infer)
    return Pool(query, docs, ranks_of(docs, rankings), *clear)


def ranks_of(
    docs: Sequence[str], rankings: Sequence[Sequence[str]]
) -> Float64[np.ndarray, "runs n"]:
    """Look up 0-based ranks of documents in each run; infinite if not retrieved."""
    places = [{doc: i for i, doc in enumerate(ranking)} for ranking in rankings]
    ranks = [[place.get(doc, inf) for doc in docs] for place in places]
    return np.array(ranks, np.float64)


def settle(
    wins: Float64[np.ndarray, "n n"],
    tied: Bool[np.ndarray, "n n"],
    bad: Int[np.ndarray, " n"],
    askable: Bool[np.ndarray, "n n"],
    infer: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Infer outcomes of all pairs of a query from its answers, as `asking.inference`.

    Args:
        wins: Number of answers that prefer the row's document to the column's.
        tied: Whether any answer to a pair is a tie, both ways.
        bad: Number of times that each document was found bad.
        askable: Whether a pair may be asked for, both ways.
        infer: Whether pairs that chains of the majority's answers imply count as
            answered.

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


def votes_by_pair(
    table: pd.DataFrame, weights: Iterable[int]
) -> dict[str, dict[tuple[str, str], list[int]]]:
    """List the votes on each pair of each query, in order; without bad documents.

    Args:
        table: Canonical preferences.
        weights: Number of times that each row counts.

    Returns:
        Votes by query and pair, ids ascending: 1 for the first document, -1 for the
        second, 0 for a tie.
    """
    votes: dict[str, dict[tuple[str, str], list[int]]] = {}
    columns = (table[name].tolist() for name in ("query_id", *_VOTE))
    for query, doc, other, preference, weight in zip(*columns, weights, strict=True):
        of_query = votes.setdefault(query, {})
        if isinstance(other, str):
            sign = int(np.sign(preference))
            pair, sign = ((doc, other), sign) if doc < other else ((other, doc), -sign)
            of_query.setdefault(pair, []).extend([sign] * int(weight))
    return votes
