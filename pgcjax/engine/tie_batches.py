"""Graphs × rankings × orders of what a run lacks → mean, least and greatest scores.

Documents that a run did not retrieve are tied behind it. Orders of these are one more
axis of the tiles: graphs and runs are laid out once, and of the sums by single orders
none leaves the device.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member, Setting
from pgcjax.engine.cost import Group
from pgcjax.engine.peel_batches import PeelBatch, call_of
from pgcjax.engine.peel_tiles import Layout, Tile
from pgcjax.engine.tied_orders import Listed, blocks, drawn, listed, padded
from pgcjax.errors import Progress
from pgcjax.judging.resampled import BLOCK
from pgcjax.kernels import ABSENT, peel_ties
from pgcjax.kernels.peel_ties import Order
from pgcjax.later import Array, jax, jnp
from pgcjax.runtime.devices import default_backend, local_device_count, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.adjacency import WideGraphs
from pgcjax.tensors.padding import blank
from pgcjax.tensors.rank_tables import WideRuns

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
    def alone(cls, sums: np.ndarray) -> "Spread":
        """Take the sums by the one order there is."""
        return cls(sums, sums, *_halves(sums), np.ones_like(sums))

    def of(self, ties: str) -> Int64[np.ndarray, "*queries runs"]:
        """Give the mean, rounded to a whole weight, or the least or greatest sum."""
        if ties != "mean":
            return self.least if ties == "min" else self.greatest
        count = np.maximum(self.count, 1)
        whole, rest = np.divmod(self.high, count)
        return (whole << _HALF) + ((rest << _HALF) + self.low + count // 2) // count


class TieBatch(Batch):
    """Measures of the same graphs, weights and orders: mean, least, greatest score."""

    def __init__(self, members: Sequence[Member], setting: Setting):
        """Group the graphs.

        Args:
            members: the measures.
            setting: what may be used.
        """
        self.members, self._setting = members, setting
        self._tensors = members[0].tensors
        self.docs = self._tensors.docs
        keep, budget = setting.keep, setting.budget
        how = {"keep": keep, "budget": budget, "listed": False}
        self._layout = Layout(self._tensors.graphs, **how)
        self._queries = list(self._tensors.graphs)
        self._foreseen = PeelBatch(members[0], setting)
        squares = sum(len(graph) ** 2 for graph in self._tensors.graphs.values())
        seconds = plan.PER_WORD * squares * self._tensors.n  # of a run
        self.most_runs = max(16, int(plan.settings.seconds / max(seconds, 1e-9)))

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "measures runs queries"]:
        """Add up RBO weights by each order, and normalise what the measures ask for."""
        runs = len(rankings.run_ids)
        found = self._spread(rankings, progress)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        scores = np.zeros((len(self.members), runs, len(self.docs)))
        for own, member in zip(scores, self.members, strict=True):
            tensors = member.tensors
            own[...] = tensors.finish(found.of(tensors.ties).T, sizes)
        return scores

    def foresee(self, sample: "Rankings") -> list[Group]:
        """Group queries as the peel does, once for each order but of weak orders."""
        what = ", ".join(str(member.measure) for member in self.members)
        return [
            replace(
                group,
                measure=what,
                measures=len(self.members),
                orders=1 if group.form == "levels" else self._tensors.n,
            )
            for group in self._foreseen.foresee(sample)
        ]

    def _spread(self, rankings: "Rankings", progress: Progress | None) -> Spread:
        """Add up RBO weights by each order, for `[queries, runs]`."""
        shape = len(self._queries), len(rankings.run_ids)
        found = Spread(*(np.zeros(shape, np.int64) for _ in Spread._fields))
        found.least[...] = _MOST
        judged = sum(len(graph) > 0 for graph in self._tensors.graphs.values())
        done, total = 0, judged * shape[1] * len(blocks(self._tensors.n))
        for (columns, runs, orders), part in results(
            self._calls(rankings), progress=progress
        ):
            cut = slice(len(columns)), slice(runs.stop - runs.start)
            if not isinstance(part, Spread):
                part = Spread.alone(np.asarray(part))
            own = Spread(*(np.asarray(array)[cut] for array in part))
            here = columns, runs
            found.least[here] = np.minimum(found.least[here], own.least)
            found.greatest[here] = np.maximum(found.greatest[here], own.greatest)
            for sums, more in zip(found[2:], own[2:], strict=True):
                sums[here] += more
            done += orders * own.least.size
            if progress:
                progress("scoring", done, total)
        found.least[found.count == 0] = 0  # no document was judged
        return found

    def _calls(self, rankings: "Rankings") -> Iterator[Call]:
        """Call each tile for each block of orders; labels say how many blocks."""
        every = blocks(self._tensors.n)
        few = [listed(self._tensors.n, block) for block in every]
        for tile in self._layout.tiles(rankings):
            if tile.form == "levels":  # within a level, the run has its own ones first
                call = call_of(tile, self._tensors.weights)
                yield call._replace(label=(tile.columns, tile.runs, len(every)))
                continue
            for block in every:
                make = partial(self._make, tile, block, few[block])
                shapes = tile.form, tile.ranks[-1].shape, padded(self._tensors.n)
                program = "ties", *shapes, few[block].number.shape
                program += self._tensors.weights.shape, local_device_count()
                yield Call((tile.columns, tile.runs, 1), make, program)

    def _make(self, tile: Tile, block: int, few: Listed) -> Spread:
        """Draw orders of the queries of a tile, and peel by each of them."""
        count, (queries, _, size) = padded(self._tensors.n), tile.ranks[-1].shape
        orders = [blank((queries, count, size)) for _ in Order._fields]
        for i, column in enumerate(tile.columns):
            name = self._queries[column]
            own = drawn(
                name, len(self.docs[name]), size, seed=self._tensors.seed, block=block
            )
            for out, array in zip(orders, own, strict=True):
                out[i] = array[:count]
        form = tile.form if size <= peel_ties.MOST_VERTICES else "wide"
        cut = tile.graphs, tile.ranks, tile.steps, place(Order(*orders))
        shared = few, np.int32(block * BLOCK), self._tensors.weights
        backend = default_backend()
        return tie_program(form, local_device_count(), backend)(cut, shared)


def batches(members: Sequence[Member], setting: Setting) -> list[Batch]:
    """Make a batch of the measures that ask for the same sums."""
    groups: dict[tuple, list[Member]] = {}
    for member in members:
        t = member.tensors
        key = id(t.graphs), t.weights.tobytes(), t.n, t.seed
        groups.setdefault(key, []).append(member)
    keep = setting.keep // max(1, len(groups))
    return [TieBatch(own, setting._replace(keep=keep)) for own in groups.values()]


def _halves(sums: Any) -> tuple[Any, Any]:
    return sums >> _HALF, sums & ((1 << _HALF) - 1)


def _packed(graphs, run, drawn, few, steps, weights):
    return peel_ties.packed_overlap(
        *(graphs.rows, graphs.words, run.order, run.inverse, run.ranks),
        *(drawn, few, steps, weights),
        where=graphs.where,
    )


def _wide(graphs, run, drawn, few, steps, weights):
    del steps
    edges, ranks = graphs.edges, run.ranks
    return peel_ties.wide_overlap(edges, ranks, drawn, few, weights, where=graphs.where)


@cache
def tie_program(form: str, devices: int, backend: str) -> Callable:
    """Map a kernel over queries, and for each over orders and runs inside.

    Returns:
        A function of arrays cut along queries, and shared ones, that gives a `Spread`
        of `[queries, runs]`.
    """
    kernel: Callable[..., Array] = {"packed": _packed, "wide": _wide}[form]

    def program(cut, shared):
        few, first, weights = shared
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None, None, None))
        over_orders = jax.vmap(over_runs, in_axes=(None, None, 0, 0, None, None))

        def of_query(arrays):
            graphs, runs, steps, orders = arrays
            graphs, runs = _as_form(form, graphs, runs)
            (count, size), number = orders.place.shape, len(runs.ranks)
            together, at_once = _side_by_side(backend, count, number, size)
            if backend != "cpu":  # a number of the data it would be asked at each step
                steps = graphs.where.shape[-1]
            missing = jnp.sum(graphs.where) - jnp.sum(runs.ranks < ABSENT, axis=-1)
            enough = few.number[jnp.minimum(missing, len(few.number) - 1)]

            def step(i, before: Spread) -> Spread:
                own = jax.tree.map(
                    lambda x: jax.lax.dynamic_slice_in_dim(x, i * together, together),
                    (orders, few.orders),
                )
                if at_once == number:
                    sums = over_orders(graphs, runs, *own, steps, weights)
                else:
                    one = jax.tree.map(lambda x: x[0], own)
                    sums = jax.lax.map(
                        lambda run: kernel(graphs, run, *one, steps, weights),
                        runs,
                        batch_size=at_once,
                    )[None]
                turn = first + i * together + jnp.arange(together, dtype=jnp.int32)
                there = turn[:, None] < enough[None, :]
                return _joined(before, sums, there)

            nothing = jnp.zeros(number, jnp.int64)
            start = Spread(nothing + _MOST, *[nothing] * 4)
            left = jnp.clip(jnp.max(enough) - first, 0, count)
            return jax.lax.fori_loop(0, -(-left // together), step, start)

        return jax.lax.map(of_query, cut)

    return Program(program, devices)


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


def _side_by_side(backend: str, orders: int, runs: int, size: int) -> tuple[int, int]:
    """Choose how many orders, and runs, are peeled in one step: divisors of both."""
    if backend == "cpu":
        return plan.side_by_side(orders, runs, size)
    most = 1 << max(1, _PLACES // (runs * size)).bit_length() - 1
    return math.gcd(orders, most), runs


def _as_form(form: str, graphs: Any, runs: Any) -> tuple[Any, Any]:
    """Unpack graphs whose words have no room for the places of an order."""
    if form == "packed" or isinstance(graphs, WideGraphs):
        return graphs, runs
    ranks: Any = jnp.take_along_axis(runs.ranks, runs.order, axis=-1)  # of each vertex
    edges: Any = peel_ties.edges_of(graphs.rows)
    return WideGraphs(edges, graphs.where), WideRuns(ranks)
