"""Optimal orders × rankings → scores: the extreme overlap, over queries and runs."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.cost import CostGroup
from pgcjax.engine.peel_batch import PeelBatch, PeelGraphs
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import exact
from pgcjax.later import Array, jnp
from pgcjax.reference.exact_pgc import exact_pgc_of
from pgcjax.reference.pgc import pgc_of
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.lattices import (
    Lattice,
    NearRuns,
    batch_lattices,
    batch_ranks,
    by_kind,
    lay_out,
)

if TYPE_CHECKING:
    from pgcjax.measures.measure import Case
    from pgcjax.tensors.rankings import Rankings

_PLAIN = 12  # documents, of which the twin looks at all sets


class ExactBatch(Batch):
    """Exact PGC: by optimal orders or, of queries with too many, by the peel."""

    def __init__(self, member: Member, setting: BatchSetting):
        """Remember the measure: orders are looked for when runs are there."""
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        self._setting = setting
        self._lattices: dict[str, Lattice] = {}
        self._graphs: PeelGraphs | None = None
        self._most_runs = 0

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Add up RBO weights, and normalise the sums."""
        graphs = self._prepared(progress)
        self._most_runs = max(self._most_runs, len(rankings.run_ids))
        columns = {query: i for i, query in enumerate(self.docs)}
        weights = self._tensors.weights
        sums = np.zeros((len(rankings.run_ids), len(columns)), np.int64)
        peeled = [columns[query] for query in graphs.docs]
        sums[:, peeled] = graphs.overlaps(rankings, weights, progress)
        if self._lattices:
            chunk = ExactTiles(
                *(self._lattices, self._tensors, rankings),
                *(self._most_runs, self._setting.budget),
            )
            proven = [columns[query] for query in self._lattices]
            sums[:, proven] = tiles.score(chunk, progress).T
        sizes = np.array([len(docs) for docs in self.docs.values()])
        return self._tensors.finish(sums, sizes)[None]

    def foresee(self, sample: "Rankings") -> list[CostGroup]:
        """Group queries as if all were peeled, which takes about as long."""
        return PeelBatch(self.members[0], self._setting).foresee(sample)

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again: of many documents, along the optimal orders.

        Where there are too many sets of documents for plain Python to look at, those of
        the search are taken from it, and what they contradict is counted again.
        """
        orders = self._tensors.orders().get(case.query_id)
        docs = self.docs[case.query_id]
        if orders is None:
            return pgc_of(case) if len(docs) else 0.0
        if len(docs) <= _PLAIN:
            return exact_pgc_of(case)
        rank = {doc: i for i, doc in enumerate(case.run)}
        standing = np.array(
            [rank.get(doc, len(rank) + i) for i, doc in enumerate(docs)]
        )
        standing = -standing if self._tensors.farthest else standing
        graph_docs = np.empty(len(docs), object)  # of a kind, as they stand in the run
        graph_docs[np.argsort(orders.kinds, kind="stable")] = docs[
            np.lexsort((standing, orders.kinds))
        ]
        return exact_pgc_of(
            case, [graph_docs[chosen].tolist() for chosen in orders.sets]
        )

    def _prepared(self, progress: Progress | None) -> PeelGraphs:
        """Lay out the optimal orders, and the graphs that are peeled instead."""
        if self._graphs is not None:
            return self._graphs
        graphs, orders = self._tensors.graphs, self._tensors.orders(progress)
        together = exact.FEW if default_backend() == "cpu" else exact.MANY
        for query, of_query in orders.items():
            if of_query is not None:
                steps = of_query.sets, of_query.steps
                self._lattices[query] = lay_out(*steps, together)
        rest = {query: graphs[query] for query in graphs if query not in self._lattices}
        keep, budget = self._setting.keep, self._setting.budget
        self._graphs = PeelGraphs(rest, keep=keep, budget=budget)
        return self._graphs


class ExactTiles(TileBatch):
    """Lattices of optimal orders × runs: sums of RBO weights `[queries, runs]`."""

    dtype = np.int64

    def __init__(
        self,
        lattices: dict[str, Lattice],
        tensors: Any,
        rankings: "Rankings",
        most_runs: int,
        budget: int,
    ):
        """Look documents up.

        Args:
            lattices: of each query.
            tensors: weights of ranks, and the kinds of documents.
            rankings: the runs.
            most_runs: of any chunk.
            budget: bytes of a tile.
        """
        self._lattices, self._farthest = list(lattices.values()), tensors.farthest
        orders = tensors.orders()
        docs = {query: tensors.docs[query] for query in lattices}
        self._retrieved = [
            by_kind(of_query, orders[query].kinds, farthest=tensors.farthest)
            for query, of_query in rankings.retrieved(docs).items()
        ]
        self.rows, self.columns = len(lattices), len(rankings.run_ids)
        self.most_columns, self.budget = most_runs, budget
        self.shared = tensors.weights

    def size(self, query: int) -> tuple[int, int, int]:
        """Shape of its lattice."""
        return self._lattices[query].shape

    def nbytes(self, size: tuple[int, int, int]) -> tuple[int, int]:
        """Bytes of a lattice, and of its sets' sums and a run's documents."""
        words, sets, _ = size
        lattice = next(x for x in self._lattices if x.shape == size)
        return lattice.nbytes, 24 * sets + 8 * (32 * words + 1) * (words + 1)

    def pace(self, size: tuple[int, int, int]) -> Pace:
        """A CPU takes one query after another."""
        del size
        return Pace(in_turn=default_backend() == "cpu")

    def pack_queries(
        self, parts: Sequence[tuple[tuple[int, int, int], Sequence[int]]]
    ) -> list[PackedQueries]:
        """Stack the lattices of each shape."""
        return [
            PackedQueries(
                size,
                queries,
                batch_lattices([self._lattices[i] for i in queries], len(queries)),
            )
            for size, queries in parts
        ]

    def pack_runs(
        self, queries: Sequence[int], runs: slice, size: tuple[int, int, int]
    ) -> NearRuns:
        """Lay out where runs have the documents: the axis of runs comes second."""
        shape = len(queries), runs.stop - runs.start
        retrieved = [self._retrieved[i] for i in queries]
        near = batch_ranks(retrieved, runs, shape, size[0])
        return NearRuns(*(np.moveaxis(array, -1, 1) for array in near))

    def program(self, size: tuple[int, int, int]) -> QueryProgram:
        """Find the extreme overlap of a query and several runs."""
        del size
        return exact_program(self._farthest)


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of each measure of optimal orders."""
    keep = setting.keep // max(1, len(members))
    return [ExactBatch(member, setting._replace(keep=keep)) for member in members]


@cache
def exact_program(farthest: bool) -> QueryProgram:
    """Program of the nearest, or farthest, of all optimal orders."""

    def program(lattice: Any, runs: NearRuns, weights: Array) -> Array:
        near = [jnp.moveaxis(array, 0, -1) for array in runs]
        statics = {"weights": weights, "farthest": farthest}
        return exact.extreme_overlap(*lattice, *near, **statics)

    return program
