"""Preference judgments as pairs of documents, query by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgcjax.io.closure import transitive_closure
from pgcjax.io.weights import whole_weights
from pgcjax.kernels.preference import JudgeCounts, PairCounts
from pgcjax.later import pd
from pgcjax.tensors.graphs import grade_graphs

_Edges = tuple[np.ndarray, ...]  # query, judge, better, worse, count: int64 each


@dataclass(frozen=True)
class JudgedPairs:
    """The judged pairs of documents of all queries.

    Attributes:
        docs: Documents of each query that are in any pair, ascending; queries
            ascending.
        pooled: Counts of judgments on the pairs of each query; documents are int32,
            first < second.
        by_judge: The same counts for each judge.
        gain: int64 `[n]` for each query: wins - losses of each document, less the
            lowest value of the query.
    """

    docs: dict[str, np.ndarray]
    pooled: dict[str, PairCounts]
    by_judge: dict[str, JudgeCounts]
    gain: dict[str, np.ndarray]


def judged_pairs(
    preferences: pd.DataFrame, *, bad: bool = True, closure: bool = False
) -> JudgedPairs:
    """Collect the pairs of documents on which there is a preference.

    Every judgment counts once, repeats and conflicts too.

    Args:
        preferences: canonical. Judgments without a judge belong to one judge.
        bad: A judgment that a document is bad counts as preferences over it for every
            other document that its judge saw for the query, did not find bad, and did
            not compare with it [Carterette et al. 2008, 5.2].
        closure: If a chain of a judge's preferences leads from one document to another,
            and none leads back, the first is preferred once [the same, 5.1]. Ties are
            links of a chain in both directions.
    """
    names = _Names([preferences])
    return _laid_out(names, [_judgments(preferences, names, bad, closure)])


def graded_pairs(qrels: pd.DataFrame) -> JudgedPairs:
    """Collect the pairs of documents with different grades."""
    names = _Names([qrels])
    return _laid_out(names, [_of_grades(qrels, names)])


def combined_pairs(
    preferences: pd.DataFrame,
    qrels: pd.DataFrame,
    *,
    bad: bool = True,
    closure: bool = False,
) -> JudgedPairs:
    """Add up `judged_pairs` and `graded_pairs`, which count as one more judge."""
    names = _Names([preferences, qrels])
    judged = _judgments(preferences, names, bad, closure)
    return _laid_out(names, [judged, _of_grades(qrels, names)])


class _Names:
    """Queries and documents by number, ascending."""

    def __init__(self, tables: Sequence[pd.DataFrame]):
        queries = {name for table in tables for name in table["query_id"].unique()}
        self.queries = sorted(queries)
        columns = ("doc_id", "other_doc_id")
        docs = [t[c].dropna().unique() for t in tables for c in columns if c in t]
        self.docs = np.array(sorted(set(np.concatenate(docs).tolist())), object)
        self._query, self._doc = pd.Index(self.queries), pd.Index(self.docs)

    def query(self, column: pd.Series) -> np.ndarray:
        return self._query.get_indexer(pd.Index(column.astype(object)))

    def doc(self, column: pd.Series) -> np.ndarray:
        """Look documents up; -1 for none."""
        return self._doc.get_indexer(pd.Index(column.astype(object)))


def _judgments(
    table: pd.DataFrame, names: _Names, bad: bool, closure: bool
) -> tuple[_Edges, np.ndarray]:
    """List who prefers what to what, and the queries of all judges."""
    who = table["judge"].fillna("") if "judge" in table else pd.Series("", table.index)
    query, group = names.query(table["query_id"]), pd.factorize(who, sort=True)[0]
    owner, judge = np.unique(
        query * (group.max(initial=0) + 1) + group, return_inverse=True
    )
    doc, other = names.doc(table["doc_id"]), names.doc(table["other_doc_id"])
    sign = table["preference"].to_numpy()
    count = whole_weights(table, "a measure of pairs")
    pair, tied = other >= 0, sign == 0
    better, worse = np.where((sign < 0) & pair, (other, doc), (doc, other))
    votes = np.stack([query, judge, better, worse, count])
    edges = [votes[:, pair & ~tied]]
    if bad:
        for key, rows in _each(votes, np.isin(judge, judge[~pair])):
            edges.append(_edges(key, _worse_than_all(rows)))
    if closure:
        judged = np.concatenate([*edges, votes[:, pair & tied]], axis=1)
        tie = np.arange(judged.shape[1]) >= judged.shape[1] - (pair & tied).sum()
        judged = np.concatenate([judged, [tie]])
        for key, rows in _each(judged, judged[1] >= 0):
            edges.append(_edges(key, _chained(rows)))
    return tuple(np.concatenate(edges, axis=1)), owner // (group.max(initial=0) + 1)


def _each(
    votes: np.ndarray, chosen: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return query and judge, and better, worse, count, … of each judge."""
    votes = votes[:, chosen]
    votes = votes[:, np.argsort(votes[1], kind="stable")]
    for part in np.split(votes, np.flatnonzero(np.diff(votes[1])) + 1, axis=1):
        if part.shape[1]:
            yield part[:2, 0], part[2:]


def _edges(key: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return np.concatenate([np.repeat(key[:, None], pairs.shape[1], axis=1), pairs])


def _worse_than_all(rows: np.ndarray) -> np.ndarray:
    """List what follows from the bad documents that one judge found for a query."""
    better, worse, count = rows
    alone = worse < 0
    bad, which = np.unique(better[alone], return_inverse=True)
    times = np.bincount(which, count[alone]).astype(np.int64)
    others = np.setdiff1d(rows[:2], [-1, *bad])
    implied = np.stack(
        [np.tile(others, len(bad)), np.repeat(bad, len(others))]
        + [np.repeat(times, len(others))]
    )
    compared = {*zip(*rows[:2].tolist(), strict=True)}
    compared |= {(b, a) for a, b in compared}
    new = [pair not in compared for pair in zip(*implied[:2].tolist(), strict=True)]
    return implied[:, np.array(new, bool)]


def _chained(rows: np.ndarray) -> np.ndarray:
    """List what follows by transitivity from the judgments of one judge and query."""
    docs, vertex = np.unique(rows[:2], return_inverse=True)
    (a, b), tied = vertex.reshape(2, -1), rows[3] > 0
    judged, links = np.zeros((2, len(docs), len(docs)), bool)
    judged[a, b] = links[a, b] = True
    links[b[tied], a[tied]] = True
    reach = transitive_closure(links)
    better, worse = np.nonzero(reach & ~reach.T & ~judged)
    return np.stack([docs[better], docs[worse], np.ones_like(better)])


def _of_grades(qrels: pd.DataFrame, names: _Names) -> tuple[_Edges, np.ndarray]:
    """List the same of grades, as of one judge."""
    parts = [np.zeros((5, 0), np.int64)]
    queries = []
    for name, graph in grade_graphs(qrels).items():
        levels = graph.levels
        assert levels is not None
        docs = names.doc(pd.Series(graph.doc_ids))
        pairs = docs[np.stack(np.nonzero(levels[:, None] > levels[None, :]))]
        pairs = np.concatenate([pairs, np.ones_like(pairs[:1])])
        key = np.array([names.query(pd.Series([name]))[0], len(queries)])
        parts.append(_edges(key, pairs))
        queries.append(key[0])
    return tuple(np.concatenate(parts, axis=1)), np.array(queries, np.int64)


def _laid_out(names: _Names, parts: Sequence[tuple[_Edges, np.ndarray]]) -> JudgedPairs:
    """Number the documents of each query, and add up equal pairs."""
    (query, judge, better, worse, count), of_judge = _joined(parts)
    # The documents of all queries end to end, and so pairs, and pairs of judges.
    keys = query * len(names.docs) + np.stack([better, worse])
    keys, ends = np.unique(keys, return_inverse=True)
    ends = ends.reshape(2, -1)
    of_key, doc = np.divmod(keys, max(1, len(names.docs)))
    pair = ends.min(axis=0) * len(keys) + ends.max(axis=0)
    pooled, one, which = _added(pair, ends, count)
    apart, each, _ = _added(judge * len(one) + which, ends, count)
    won, lost = (np.bincount(end, count, len(keys)).astype(np.int64) for end in ends)
    numbers = np.arange(len(names.queries) + 1)
    docs = np.searchsorted(of_key, numbers)
    rows = np.searchsorted(query[one], numbers)
    judges = np.searchsorted(of_judge, numbers)
    starts = np.searchsorted(judge[each], np.arange(len(of_judge) + 1))
    out = JudgedPairs({}, {}, {}, {})
    for i, name in enumerate(names.queries):
        block = slice(docs[i], docs[i + 1])
        preferred, gain = won[block] > 0, (won - lost)[block]
        out.docs[name] = names.docs[doc[block]]
        out.gain[name] = gain - min(gain, default=0)
        out.pooled[name] = _part(pooled, rows[i : i + 2], docs[i], preferred)
        bounds = starts[judges[i] : judges[i + 1] + 1]
        first = bounds - bounds[0]
        pairs = _part(apart, bounds[[0, -1]], docs[i], preferred)
        out.by_judge[name] = JudgeCounts(
            pairs, first[:-1], first[1:], np.int64(len(first) - 1)
        )
    return out


def _joined(parts: Sequence[tuple[_Edges, np.ndarray]]) -> tuple[_Edges, np.ndarray]:
    """Put edges together; judges get numbers of their own, by query."""
    first = np.cumsum([0, *(len(queries) for _, queries in parts)])
    of_judge = np.concatenate([queries for _, queries in parts])
    order = np.argsort(of_judge, kind="stable")
    number = np.argsort(order)
    edges = [
        (query, number[judge + n], *rest)
        for ((query, judge, *rest), _), n in zip(parts, first, strict=False)
    ]
    return tuple(map(np.concatenate, zip(*edges, strict=True))), of_judge[order]


def _added(
    key: np.ndarray, ends: np.ndarray, count: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Add up the judgments of each key, for the first document and the second.

    Returns:
        Both documents `[2, keys]` and counts `[2, keys]`; a row of each key; and which
        key each row has.
    """
    keys, row, which = np.unique(key, return_index=True, return_inverse=True)
    upright = ends[0] < ends[1]
    counts = [
        np.bincount(which, np.where(up, count, 0), len(keys))
        for up in (upright, ~upright)
    ]
    # Sums of whole numbers below 2^53 are exact in float64.
    both = np.sort(ends[:, row], axis=0), np.array(counts).astype(np.int64)
    return both, row, which


def _part(
    table: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    first: int,
    preferred: np.ndarray,
) -> PairCounts:
    """Cut the pairs of a query out, whose documents are numbered from `first`."""
    chosen_rows = slice(*rows)
    ends, counts = (
        (table[0][:, chosen_rows] - first).astype(np.int32),
        table[1][:, chosen_rows],
    )
    return PairCounts(*ends, *counts, preferred=preferred)
