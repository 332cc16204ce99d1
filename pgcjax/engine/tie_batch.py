"""Graphs × rankings × orders of what a run lacks → mean, least and greatest scores.

Documents that a run did not retrieve are tied behind it. Orders of these are one more
axis of the tiles: graphs and runs are laid out once, and of the sums by single orders
none leaves the device.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from pgcjax.engine import plan, tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.engine.tied_orders import blocks, drawn, listed, padded
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram
from pgcjax.errors import Progress
from pgcjax.judging.variants import BLOCK
from pgcjax.kernels import peel_ties
from pgcjax.kernels.peel_ties import DocumentOrder
from pgcjax.later import Array, jax, jnp
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.adjacency import Form, WideGraphs
from pgcjax.tensors.flat_runs import Where, by_place, by_vertex
from pgcjax.tensors.padding import blank

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_HALF = 31  # bits: sums are added up in two halves, for which 64 bits are enough
_MOST = np.iinfo(np.int64).max
_PLACES = 2**23  # of orders and runs that a device other than a CPU peels at once


class Spread(NamedTuple):
    """Sums of weights by several orders.

    Attributes:
        least: of them.
        greatest: of them.
        high: their upper halves, added up ...
        low: ... and their lower halves.
        count: how many orders there are.
    """

    least: Int64[Any, "*queries runs"]
    greatest: Int64[Any, "*queries runs"]
    high: Int64[Any, "*queries runs"]
    low: Int64[Any, "*queries runs"]
    count: Int64[Any, "*queries runs"]

    @classmethod
    def alone(cls, sums: Array) -> "Spread":
        """Take the sums by the one order there is."""
        return cls(sums, sums, *_halves(sums), jnp.ones_like(sums))

    def of(self, ties: str) -> Int64[np.ndarray, "*queries runs"]:
        """Return the mean, rounded to a whole weight, or the least or greatest sum."""
        if ties != "mean":
            return self.least if ties == "min" else self.greatest
        count = np.maximum(self.count, 1)
        whole, rest = np.divmod(self.high, count)
        return (whole << _HALF) + ((rest << _HALF) + self.low + count // 2) // count


class TieBatch(Batch):
    """Measures of the same graphs, weights and orders: mean, least, greatest score."""

    def __init__(self, members: Sequence[Member], setting: BatchSetting):
        """Group the graphs.

        Args:
            members: the measures.
            setting: what may be used.
        """
        self.members, self._tensors = members, members[0].tensors
        self.docs = self._tensors.docs
        graphs = self._tensors.graphs
        self._graphs = PeelGraphs(graphs, keep=setting.keep, budget=setting.budget)
        squares = sum(len(graph) ** 2 for graph in self._tensors.graphs.values())
        seconds = plan.PER_WORD * squares * self._tensors.n  # of a run
        self.most_runs = max(16, int(plan.settings.seconds / max(seconds, 1e-9)))

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "measures runs queries"]:
        """Add up RBO weights by each order, and normalise what the measures ask for."""
        runs = len(rankings.run_ids)
        spread = self._spread(rankings, progress)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        scores = np.zeros((len(self.members), runs, len(self.docs)))
        for values, member in zip(scores, self.members, strict=True):
            tensors = member.tensors
            values[...] = tensors.finish(spread.of(tensors.ties).T, sizes)
        return scores

    def tiles(self, rankings: "Rankings") -> list["TieTiles"]:
        """The peels by each block of orders."""
        return [
            TieTiles(self._graphs, rankings, self._tensors, block)
            for block in blocks(self._tensors.n)
        ]

    def _spread(self, rankings: "Rankings", progress: Progress | None) -> Spread:
        """Add up RBO weights by each order, for `[queries, runs]`."""
        every = self.tiles(rankings)
        parts = [
            tiles.score(batch, _in_blocks(progress, block, len(every)))
            for block, batch in enumerate(every)
        ]
        # An empty graph has the count 0; a weak order the same sum in all blocks.
        return Spread(
            np.min([part[..., 0] for part in parts], axis=0),
            np.max([part[..., 1] for part in parts], axis=0),
            *(sum(part[..., i] for part in parts) for i in (2, 3, 4)),
        )


def _in_blocks(progress: Progress | None, block: int, count: int) -> Progress | None:
    """Progress of one block of orders as a part of the whole."""

    def of_all(stage: str, done: int, total: int) -> None:
        assert progress
        if stage == "scoring":
            done, total = done + block * total, count * total
        progress(stage, done, total)

    return of_all if progress else None


class TieTiles(PeelTiles):
    """Graphs × runs × a block of orders: a `Spread` for `[queries, runs]`."""

    shape = (len(Spread._fields),)

    def __init__(
        self, graphs: PeelGraphs, rankings: "Rankings", tensors: Any, block: int
    ):
        """List the orders of few documents.

        Args:
            graphs: of all queries.
            rankings: the runs.
            tensors: weights, and how many orders there are.
            block: of orders.
        """
        super().__init__(graphs, rankings, tensors.weights)
        self._tensors, self._block = tensors, block
        first = np.int32(block * BLOCK)
        self.shared = (*self.shared, listed(tensors.n, block), first)
        self._names = list(graphs.docs)

    def pace(self, size: Form) -> Pace:
        """A query after another, on GPUs, too: orders are many."""
        del size
        return Pace(in_turn=True)

    def pack_queries(self, queries: Sequence[int], size: Form) -> list[PackedQueries]:
        """Lay graphs out, and draw orders of their documents."""
        arrays = self.graphs.packed(queries, size)
        if size.name != "levels":
            arrays = *arrays, self._orders(queries, size.size)
        return [PackedQueries(size, queries, arrays)]

    def _orders(self, queries: Sequence[int], size: int) -> DocumentOrder:
        count = padded(self._tensors.n)
        orders = DocumentOrder(
            *(blank((len(queries), count, size)) for _ in DocumentOrder._fields)
        )
        for i, query in enumerate(queries):
            name = self._names[query]
            number, seed = len(self.graphs.docs[name]), self._tensors.seed
            of_query = drawn(name, number, size, seed=seed, block=self._block)
            for out, array in zip(orders, of_query, strict=True):
                out[i] = array[:count]
        return orders

    def program(self, size: Form) -> QueryProgram:
        """Peel a query by all orders; a weak order needs none."""
        if size.name == "levels":  # within a level, the run has its own ones first
            return _without_orders(super().program(size))
        return tie_program(size, default_backend() == "cpu")

    def finish(
        self, queries: Sequence[int], runs: slice, result: Spread
    ) -> Int64[np.ndarray, "queries runs fields"]:
        """Put the fields side by side."""
        del queries, runs
        return np.stack(result, axis=-1)


@cache
def _without_orders(program: QueryProgram) -> QueryProgram:
    def alone(query: Any, runs: Where, shared: Any) -> Spread:
        return Spread.alone(program(query, runs, shared[:2]))

    return alone


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of the measures that ask for the same sums."""
    groups: dict[tuple, list[Member]] = {}
    for member in members:
        t = member.tensors
        key = id(t.graphs), t.weights.tobytes(), t.n, t.seed
        groups.setdefault(key, []).append(member)
    keep = setting.keep // max(1, len(groups))
    return [TieBatch(group, setting._replace(keep=keep)) for group in groups.values()]


def _halves(sums: Any) -> tuple[Any, Any]:
    return sums >> _HALF, sums & ((1 << _HALF) - 1)


@cache
def tie_program(form: Form, cpu: bool) -> QueryProgram:
    """Program of a form: a `Spread` of one query and several runs, over orders."""

    def packed(
        graph: Any,
        run: Any,
        order: DocumentOrder,
        few: DocumentOrder,
        steps: Any,
        weights,
    ):
        places = run.order, run.inverse, run.ranks
        arrays: Any = graph.rows, graph.words, *places, order, few, steps, weights
        return peel_ties.packed_overlap(*arrays, where=graph.where)

    def wide(
        graph: Any,
        ranks: Any,
        order: DocumentOrder,
        few: DocumentOrder,
        steps: Any,
        weights,
    ):
        del steps
        statics = {"where": graph.where}
        return peel_ties.wide_overlap(
            graph.edges, ranks, order, few, weights, **statics
        )

    def program(query: Any, runs: Where, shared: Any) -> Spread:
        (graph, vertices, orders), (documents, weights, few, first) = query, shared
        n, number = form.size, runs.first.shape[0]
        kernel: Callable[..., Array]
        if form.name == "packed" and n <= peel_ties.MOST_VERTICES:
            kernel, ranked = packed, by_place(documents, runs, n)
        else:  # words have no room for the places of an order
            kernel, ranked = wide, by_vertex(documents, runs, n)
            if form.name == "packed":
                edges: Any = peel_ties.edges_of(graph.rows)
                graph = WideGraphs(edges, graph.where)
        # A GPU would be asked for a number of the data at each step.
        steps = vertices if cpu else n
        together, at_once = _side_by_side(cpu, len(orders.place), number, n)
        missing = jnp.sum(graph.where, dtype=jnp.int32) - runs.count
        enough = few.number[jnp.minimum(missing, len(few.number) - 1)]
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None, None, None))
        over_orders = jax.vmap(over_runs, in_axes=(None, None, 0, 0, None, None))

        def step(i: Array, before: Spread) -> Spread:
            part = jax.tree.map(
                lambda x: jax.lax.dynamic_slice_in_dim(x, i * together, together),
                (orders, few.orders),
            )
            if at_once == number:
                sums = over_orders(graph, ranked, *part, steps, weights)
            else:
                one = jax.tree.map(lambda x: x[0], part)
                sums = jax.lax.map(
                    lambda run: kernel(graph, run, *one, steps, weights),
                    ranked,
                    batch_size=at_once,
                )[None]
            turn = first + i * together + jnp.arange(together, dtype=jnp.int32)
            there = turn[:, None] < enough[None, :]
            return _joined(before, sums, there)

        nothing = jnp.zeros(number, jnp.int64)
        start = Spread(nothing + _MOST, *[nothing] * 4)
        left = jnp.clip(jnp.max(enough) - first, 0, len(orders.place))
        return jax.lax.fori_loop(0, -(-left // together), step, start)

    return program


def _joined(before: Spread, sums: Array, there: Array) -> Spread:
    """Put the sums by further orders to a spread, `[orders, runs]`, that there are."""
    parts = [
        jnp.sum(jnp.where(there, x, 0), axis=0, dtype=jnp.int64)
        for x in (*_halves(sums), 1)
    ]
    return Spread(
        jnp.minimum(before.least, jnp.where(there, sums, _MOST).min(0)),
        jnp.maximum(before.greatest, jnp.where(there, sums, 0).max(0)),
        *(a + b for a, b in zip(before[2:], parts, strict=True)),
    )


def _side_by_side(cpu: bool, orders: int, runs: int, size: int) -> tuple[int, int]:
    """Choose how many orders, and runs, are peeled in one step: divisors of both."""
    if cpu:
        return plan.side_by_side(orders, runs, size)
    most = 1 << max(1, _PLACES // (runs * size)).bit_length() - 1
    return math.gcd(orders, most), runs
