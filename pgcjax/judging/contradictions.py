"""Judgments that contradict each other: how many no order can follow, and which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import counted, listed
from pgcjax.io.result import Result
from pgcjax.io.weights import whole_weights
from pgcjax.judging.choices import STATES
from pgcjax.judging.optimal_orders import heaviest_cycles, kept_orders, net_wins
from pgcjax.judging.tally import directed
from pgcjax.judging.votes import read_judgments
from pgcjax.reference.pgc import greedy_ideal

_EDGE = ["query_id", "doc_id", "other_doc_id"]


@dataclass(frozen=True, kw_only=True)
class Contradictions(Result):
    """Contradictions between the judgments of each query.

    Attributes:
        table: A row for each query: query_id, documents, judgments (without ties),
            minimum (judgments that any order of the documents contradicts at least),
            greedy (those that the peel's order contradicts, without a run), excess
            (of greedy over minimum) and proven (whether no order contradicts fewer
            than minimum; else minimum is a lower bound, and may be too low).
        contradicted: A row for each preference that all optimal orders contradict:
            query_id, doc_id (preferred to), other_doc_id, and judgments (their
            number). Optimal orders contradict the fewest judgments.
    """

    contradicted: pd.DataFrame


def contradictions(
    preferences: Any,
    *,
    judges: Sequence[str] | None = None,
    states: int = STATES,
    seconds: float = 0.0,
) -> Contradictions:
    """Count the judgments that no order of the documents can follow, and name them.

    No order follows all judgments if they form cycles or contradict each other. Look
    for mistakes, of judges or in documents, among the judgments that all optimal
    orders contradict.

    Args:
        preferences: As in `read_preferences`; ties and bad documents are ignored.
        judges: Judges to count; None counts all.
        states: Largest number of sets of documents to search in a query.
        seconds: Time limit for a query; 0 means no limit.

    Raises:
        UsageError: an unknown judge. DataError: a row is malformed.

    Examples:
        >>> votes = [("q", "a", "b", 1), ("q", "b", "c", 2), ("q", "a", "c", -1)] * 2
        >>> votes = pd.DataFrame(votes, columns=[*_EDGE, "preference"])
        >>> contradictions(votes).table["minimum"].tolist()
        [2]
    """
    votes = directed(read_judgments(preferences, judges))
    votes = votes.assign(judgments=whole_weights(votes, "contradictions"))
    edges = votes.groupby(_EDGE, as_index=False).agg({"judgments": "sum"})
    rows, tables, too_many = [], [edges.iloc[:0]], []
    for query, of_query in edges.groupby("query_id", sort=True):
        docs, place = np.unique(of_query[_EDGE[1:]].to_numpy(str), return_inverse=True)
        better, worse = place.reshape(-1, 2).T
        times = of_query["judgments"].to_numpy()
        counts = np.zeros((len(docs), len(docs)), np.int64)
        counts[better, worse] = times
        orders = kept_orders(counts, states=states, seconds=seconds)
        if orders is None:
            too_many.append(str(query))
            least = heaviest_cycles(net_wins(counts)).least
            least += int(np.minimum(counts, counts.T).sum()) // 2
        else:
            least = orders.minimum
            tables.append(of_query[~orders.before()[better, worse]])
        greedy = _contradicted_by_peel(counts)
        of_peel = greedy, greedy - least, orders is not None or greedy == least
        rows.append((query, len(docs), int(times.sum()), least, *of_peel))
    names = ["query_id", "documents", "judgments", "minimum", "greedy", "excess"]
    contradicted = pd.concat(tables).sort_values(_EDGE, ignore_index=True)
    note = (
        f"{counted(len(too_many), 'query')} ({listed(too_many)}) with too many orders "
        "that contradict the fewest judgments: the judgments that all of them "
        "contradict are unknown. More states may suffice"
    )
    table = pd.DataFrame(rows, columns=[*names, "proven"])
    settings = {"judges": judges and [*judges], "states": states, "seconds": seconds}
    notes = (note,) if too_many else ()
    return Contradictions(table, settings, notes, contradicted=contradicted)


def _contradicted_by_peel(counts: np.ndarray) -> int:
    """Count judgments that contradict the peel's order, without a run."""
    pairs = np.argwhere(counts)
    names = [f"{vertex:09}" for vertex in range(len(counts))]
    edges = [(names[u], names[v]) for u, v in pairs for _ in range(counts[u, v])]
    place = {name: i for i, name in enumerate(greedy_ideal(edges, []))}
    rank = np.array([place[name] for name in names])
    return int(counts[rank[:, None] > rank].sum())
