"""Scores of two runs on a query of which few judgments are removed or reversed.

Thousands of graphs that differ in few edges are peeled at once, on the host: they share
one matrix of edges, and nothing is compiled. `kernels.peel` is the definition; scores
of chosen sets are compared with those of the engine, bit by bit.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int64

from pgcjax.engine.variant_batch import VariantGraphs
from pgcjax.judging.variants import Counts
from pgcjax.kernels import ABSENT

_CELLS = 2**16  # variants times documents that are peeled at once: they fit a cache
_NONE = -1  # pads sets of changes

Sets = Int[np.ndarray, "sets changes"]
"""Which changes each set has, by number; -1 is none."""


class Run(NamedTuple):
    """A run on a query.

    Attributes:
        rank: 0-based rank of each vertex in the run, `ABSENT` if not retrieved.
        order: place of each vertex among all, by the run's order, then by document id.
    """

    rank: Int64[np.ndarray, " n"]
    order: Int64[np.ndarray, " n"]


class ChangedQuery:
    """Differences of two runs on a query, by which judgments are changed.

    Judgments that say the same are one change, which can be made `times` times.

    Attributes:
        times: how often each change can be made.
        size: number of documents.
        difference: of the two scores as they are.
    """

    def __init__(
        self,
        graphs: VariantGraphs,
        number: int,
        query: str,
        counts: Counts,
        times: Int[np.ndarray, " changes"],
        rankings: list[list[str]],
    ):
        """Lay out what each change does to the edges of the graph.

        Args:
            graphs: of the measure.
            number: of the query among them.
            query: its name.
            counts: how often each vote counts as it is, and by each change alone.
            times: how often each change can be made.
            rankings: the documents of the two runs, best first.
        """
        tensors, edges = graphs.member.tensors, graphs.edges[number]
        docs = tensors.docs[query]
        self.size, self.times, self._finish = len(docs), times, tensors.finish
        self._weights = np.asarray(tensors.weights)
        if edges is None:
            edges_of, amounts = np.zeros((0, 2), int), np.zeros((len(counts), 0), int)
            self._edges, self._graded = np.zeros((0, 0), int), np.zeros(0, bool)
        else:
            edges_of, amounts = edges.pairs, graphs.amounts(query, edges, counts)
            self._edges, self._graded = edges.fixed.astype(np.int64), edges.graded
            np.add.at(self._edges, tuple(edges_of.T), amounts[0])
        self._changes = _cells(edges_of, amounts[1:] - amounts[0])
        u, v, added = self._changes
        touched = np.zeros((len(times), self.size), bool)
        for side in (u, v):
            np.logical_or.at(
                touched, (np.arange(len(times))[:, None], side), added != 0
            )
        # Graded documents are there without a judgment.
        self._judgments = np.where(self._graded, np.inf, times @ touched)
        self.runs = [_run(docs, ranking) for ranking in rankings]
        self.difference = float(self.differences(np.zeros((1, 0), int))[0])

    def differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        """Score both runs by each set of changes: 0 where no judgment is left."""
        if not self.size or not len(sets):
            return np.zeros(len(sets))
        step = max(1, _CELLS // self.size)
        parts = [sets[low : low + step] for low in range(0, len(sets), step)]
        return np.concatenate([self._differences(part) for part in parts])

    def _differences(self, sets: Sets) -> Float64[np.ndarray, " sets"]:
        u, v, added = (x[sets].reshape(len(sets), -1) for x in self._changes)
        added = np.where((sets == _NONE).repeat(self._changes.shape[2], 1), 0, added)
        one, other = (self._score(run, u, v, added) for run in self.runs)
        return one - other

    def _score(
        self, run: Run, u: np.ndarray, v: np.ndarray, added: np.ndarray
    ) -> Float64[np.ndarray, " sets"]:
        """Peel graphs whose edges (u, v) count more or less, and score the run."""
        edges, n, rows = self._edges, self.size, np.arange(len(u))
        # One number orders what a step may place: sinks, then sources, then the rest.
        large = (2 * int(edges.sum(0).max() + edges.sum(1).max()) + 2) * n
        kind = np.int32 if 8 * large < 2**31 else np.int64
        edges, order, added = (x.astype(kind) for x in (edges, run.order, added))
        out, into = (np.tile(edges.sum(x, dtype=kind), (len(u), 1)) for x in (1, 0))
        np.add.at(out, (rows[:, None], u), added)
        np.add.at(into, (rows[:, None], v), added)
        gone = ~(self._graded | (out + into > 0))
        sizes = n - gone.sum(1)
        front, back, total = np.zeros_like(sizes), sizes - 1, np.zeros_like(sizes)
        source, sink = 2 * large - order, 4 * large + order
        columns = edges.T.copy()
        depth = len(self._weights) - 1
        for _ in range(int(sizes.max(initial=0))):
            key = (out - into) * kind(n) - order
            np.copyto(key, source, where=into == 0)
            np.copyto(key, sink, where=out == 0)
            np.copyto(key, -4 * large, where=gone)
            chosen = key.argmax(1)
            left, is_sink = ~gone[rows, chosen], out[rows, chosen] == 0
            place = np.maximum(run.rank[chosen], np.where(is_sink, back, front))
            total += np.where(left, self._weights[np.minimum(place, depth)], 0)
            front += left & ~is_sink
            back -= left & is_sink
            out -= columns[chosen]
            into -= edges[chosen]
            for a, b, more in zip(u.T, v.T, added.T, strict=True):
                out[rows, a] -= more * (chosen == b)
                into[rows, b] -= more * (chosen == a)
            gone[rows, chosen] = True
        scores = self._finish(total[None], sizes)[0]
        return np.where(sizes > 0, scores, 0.0)

    def vanishing(self, removed: int) -> int:
        """Bound how many documents lose all judgments, of which each has two."""
        return int((np.cumsum(np.sort(self._judgments)) <= 2 * removed).sum())

    def reach(self, vanish: int) -> tuple[float, float]:
        """Bound the differences that any judgments of these documents can make.

        A document adds the smaller of the weights of its two ranks, which is
        supermodular: the least sum has both orders opposed, the largest one is that of
        the run's own order.

        Args:
            vanish: how many documents may lose all their judgments, at most.
        """
        least, most = zip(*(self._range(run, vanish) for run in self.runs), strict=True)
        return least[0] - most[1], most[0] - least[1]

    def _range(self, run: Run, vanish: int) -> tuple[float, float]:
        rank = np.sort(np.minimum(run.rank, len(self._weights) - 1))
        last = np.arange(self.size)[::-1]
        sums = np.array([np.minimum(self._weights[rank], self._weights[last]).sum()])
        sums = np.append(sums, self._weights[rank].sum())
        # With those that are gone behind the others, the least sum is a bound; each of
        # them adds to it the weight of its rank in the run at most.
        sums[0] = max(0, sums[0] - np.sort(self._weights[rank])[::-1][:vanish].sum())
        sizes = np.arange(max(0, self.size - vanish), self.size + 1)
        scores = self._finish(*np.broadcast_arrays(sums[:, None], sizes))
        scores = np.where(sizes > 0, scores, 0.0)
        return float(scores[0].min(initial=0.0)), float(scores[1].max(initial=0.0))


def _run(docs: np.ndarray, ranking: list[str]) -> Run:
    """Find the vertices of a query in a run."""
    place = {doc: rank for rank, doc in reversed([*enumerate(ranking)])}
    rank = np.array([place.get(doc, ABSENT) for doc in docs.tolist()], np.int64)
    order = np.empty(len(docs), np.int64)
    order[np.lexsort([np.arange(len(docs)), rank])] = np.arange(len(docs))
    return Run(rank, order)


def _cells(pairs: np.ndarray, changed: np.ndarray) -> Int64[np.ndarray, "3 changes w"]:
    """List the edges of each change: from, to, and how much more they count."""
    n = int(pairs.max(initial=0)) + 1
    cell, number = np.unique(pairs[:, 0] * n + pairs[:, 1], return_inverse=True)
    sums = np.zeros((len(changed), len(cell)), np.int64)
    np.add.at(sums.T, number, changed.T)
    width = int((sums != 0).sum(1).max(initial=0))
    order = np.argsort(sums == 0, axis=1, kind="stable")[:, :width]
    u, v = np.divmod(cell[order], n) if len(cell) else (order, order)
    return np.array([u, v, np.take_along_axis(sums, order, 1)])
