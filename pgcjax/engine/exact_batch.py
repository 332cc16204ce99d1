"""Optimal orders × rankings → scores: the extreme overlap, over queries and runs."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import exact
from pgcjax.later import Array, jnp
from pgcjax.measures.exact import ExactTensors
from pgcjax.reference.exact_pgc import exact_pgc_of
from pgcjax.reference.pgc import pgc_of
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.flat_runs import Documents, Where, by_vertex
from pgcjax.tensors.lattices import WORD, Lattice, batch_lattices, by_kind, lay_out
from pgcjax.tensors.padding import lengthened, list_room

if TYPE_CHECKING:
    from pgcjax.measures.measure import Case
    from pgcjax.tensors.rankings import Rankings

_PLAIN = 12  # documents up to which the twin looks at all sets


class ExactBatch(Batch):
    """Exact PGC: by optimal orders or, for queries with too many, by the peel."""

    def __init__(self, member: Member, setting: BatchSetting):
        """Remember the measure: orders are looked for when runs are there."""
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        self.budget, self._keep = setting.budget, setting.keep
        self._lattices: dict[str, Lattice] = {}
        self._graphs: PeelGraphs | None = None
        self.most_runs_yet, self.room = 0, 0  # of any chunk: others take the same

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Add up RBO weights, and normalise the sums."""
        graphs = self._prepared(progress)
        columns = {query: i for i, query in enumerate(self.docs)}
        weights = self._tensors.weights
        sums = np.zeros((len(rankings.run_ids), len(columns)), np.int64)
        peeled = [columns[query] for query in graphs.docs]
        sums[:, peeled] = graphs.overlaps(rankings, weights, progress)
        if self._lattices:
            chunk = ExactTiles(self, self._lattices, self._tensors, rankings)
            proven = [columns[query] for query in self._lattices]
            sums[:, proven] = tiles.score(chunk, progress).T
        sizes = np.array([len(docs) for docs in self.docs.values()])
        return self._tensors.finish(sums, sizes)[None]

    def tiles(self, rankings: "Rankings") -> list[TileBatch]:
        """The peel of all graphs, which takes about as long."""
        graphs = PeelGraphs(self._tensors.graphs, budget=self.budget)
        return [PeelTiles(graphs, rankings, self._tensors.weights)]

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again: for many documents, along the optimal orders.

        If there are too many sets of documents for plain Python, the twin takes the
        sets of the search, and counts again the votes that they contradict.
        """
        orders = self._tensors.orders().get(case.query_id)
        if orders is None:
            return pgc_of(case) if len(self.docs[case.query_id]) else 0.0
        return exact_pgc_of(case, optimal_sets(self._tensors, case.query_id, case.run))

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
        self._graphs = PeelGraphs(rest, keep=self._keep, budget=self.budget)
        return self._graphs


class ExactTiles(TileBatch):
    """Lattices of optimal orders × runs: sums of RBO weights `[queries, runs]`."""

    dtype = np.int64

    def __init__(
        self,
        batch: ExactBatch,
        lattices: dict[str, Lattice],
        tensors: Any,
        rankings: "Rankings",
    ):
        """Look documents up.

        Args:
            batch: Batch, which remembers the sizes of the largest chunk.
            lattices: Lattice of each query.
            tensors: Weights of ranks, and the kinds of documents.
            rankings: Rankings of the runs.
        """
        self._lattices, self._farthest = list(lattices.values()), tensors.farthest
        orders = tensors.orders()
        docs = {query: tensors.docs[query] for query in lattices}
        retrieved = [
            by_kind(of_query, orders[query].kinds, farthest=tensors.farthest)
            for query, of_query in rankings.retrieved(docs).items()
        ]
        count = np.array([of_query.count for of_query in retrieved], np.int32)
        first = np.cumsum(count, dtype=np.int32).reshape(count.shape) - count
        self._where = Where(first, count)
        longest = max(WORD * lattice.shape[0] for lattice in self._lattices)
        batch.room = max(batch.room, list_room(int(count.sum()), longest))
        columns = zip(*((r.vertex, r.rank) for r in retrieved), strict=True)
        flat = (np.concatenate(column).astype(np.int32) for column in columns)
        documents = Documents(*(lengthened(x, batch.room) for x in flat))
        self.rows, self.columns = count.shape
        batch.most_runs_yet = max(batch.most_runs_yet, self.columns)
        self.most_columns, self.budget = batch.most_runs_yet, batch.budget
        self.shared = documents, tensors.weights

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
        self, queries: Sequence[int], size: tuple[int, int, int]
    ) -> list[PackedQueries]:
        """Stack lattices."""
        lattices = batch_lattices([self._lattices[i] for i in queries], len(queries))
        return [PackedQueries(size, queries, lattices)]

    def pack_runs(
        self, queries: Sequence[int], runs: slice, size: tuple[int, int, int]
    ) -> Where:
        """Places of rankings."""
        del size
        return Where(*(array[queries, runs] for array in self._where))

    def program(self, size: tuple[int, int, int]) -> QueryProgram:
        """Find the extreme overlap of a query and several runs."""
        return exact_program(size[0], self._farthest)


def optimal_sets(
    tensors: ExactTensors, query: str, run: Sequence[str]
) -> list[list[str]] | None:
    """List the first documents, of each number, that optimal orders begin with.

    Documents of one kind are interchangeable: they have the order of the run.

    Args:
        tensors: Tensors of the measure; the query has optimal orders.
        query: Name of the query.
        run: Documents of the run, best first.

    Returns:
        The sets; None if plain Python can look at all of them.
    """
    docs, orders = tensors.docs[query], tensors.orders()[query]
    if len(docs) <= _PLAIN or orders is None:
        return None
    rank = {doc: i for i, doc in enumerate(run)}
    standing = np.array([rank.get(doc, len(rank) + i) for i, doc in enumerate(docs)])
    standing = -standing if tensors.farthest else standing
    graph_docs = np.empty(len(docs), object)  # of a kind, as they stand in the run
    graph_docs[np.argsort(orders.kinds, kind="stable")] = docs[
        np.lexsort((standing, orders.kinds))
    ]
    return [graph_docs[chosen].tolist() for chosen in orders.sets]


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of each measure of optimal orders."""
    keep = setting.keep // max(1, len(members))
    return [ExactBatch(member, setting._replace(keep=keep)) for member in members]


@cache
def exact_program(words: int, farthest: bool) -> QueryProgram:
    """Program of the nearest, or farthest, of all optimal orders.

    Args:
        words: Number of words that hold a bit for each document.
        farthest: whether to take the farthest order.
    """
    n = WORD * words

    def program(lattice: Any, runs: Where, shared: Any) -> Array:
        documents, weights = shared
        ranks = by_vertex(documents, runs, n).T
        # The documents that each run has to each depth from 0 on, as bits of words.
        bit = jnp.left_shift(jnp.uint32(1), jnp.arange(WORD, dtype=jnp.uint32))
        depth = jnp.arange(n + 1, dtype=jnp.int32)[None, None, :, None]
        there = ranks.reshape(words, WORD, 1, -1) < depth
        bits = jnp.where(there, bit[None, :, None, None], jnp.uint32(0))
        top = jnp.sum(bits, axis=1, dtype=jnp.uint32)
        arrays: Any = *lattice, top, ranks
        statics = {"weights": weights, "farthest": farthest}
        return exact.extreme_overlap(*arrays, **statics)

    return program
