"""Graphs × rankings → sums of weights: the peel over queries, runs and devices."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from pgcjax import peels, plan
from pgcjax.calls import THREADS, Progress, over_devices, place, start
from pgcjax.kernels import levels, peel, words
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.retrieved import Retrieved

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_LARGE = 64  # vertices: smaller tiles take about as long to lay out as to compute


def overlap_sums(
    graphs: Mapping[str, Graph],
    rankings: "Rankings",
    weights: np.ndarray,
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> np.ndarray:
    """Add up RBO weights of every run with its nearest ideal ranking of every query.

    Queries are grouped by form and padded size, cut into tiles that fit `budget`
    bytes, and spread over all local devices. Sums are of integers: no cut changes them.

    Returns:
        int64 `[runs, queries]`, queries in the order of `graphs`; 0 for empty graphs.
    """
    batches = Batches(graphs, keep=0)
    return batches.sums(rankings, weights, budget=budget, progress=progress)


class Batches:
    """Graphs that are laid out once for many calls: runs may come in chunks."""

    def __init__(self, graphs: Mapping[str, Graph], *, keep: int = plan.BUDGET):
        """Group queries by size.

        Args:
            graphs: of each query.
            keep: bytes of laid out graphs to keep for the next call.
        """
        self._graphs = graphs
        self._docs = {name: graph.doc_ids for name, graph in graphs.items()}
        self._blocks = list(_blocks(graphs))
        self._ready: dict[int, list[forms.Prepared]] = {}
        self._room = keep

    def sums(
        self,
        rankings: "Rankings",
        weights: np.ndarray,
        *,
        budget: int = plan.BUDGET,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """Do what `overlap_sums` does, for these graphs."""
        runs = len(rankings.run_ids)
        sums = np.zeros((len(self._graphs), runs), np.int64)
        done, total = 0, runs * sum(map(len, self._blocks))

        def collect(columns: list[int], some: slice, part: Callable) -> None:
            nonlocal done
            mine = np.asarray(part())[: len(columns), : some.stop - some.start]
            sums[columns, some] = mine
            done += mine.size
            if progress:
                progress("scoring", done, total)

        # This thread lays tiles out, while others compute those before.
        pending: deque[tuple[list[int], slice, Callable]] = deque()
        for tile in self._tiles(rankings, budget):
            for some, arguments in _arguments(tile, runs):
                part = _start(tile, arguments, weights, progress)
                pending.append((tile.columns, some, part))
                if len(pending) > 2 * THREADS:
                    collect(*pending.popleft())
        while pending:
            collect(*pending.popleft())
        return np.ascontiguousarray(sums.T)

    def _tiles(self, rankings: "Rankings", budget: int) -> Iterator["_Tile"]:
        retrieved = rankings.retrieved(self._docs)
        for i, block in enumerate(self._blocks):
            found = [retrieved[name] for _, name in block]
            columns = [column for column, _ in block]
            members = list(zip(columns, self._prepared(i), found, strict=True))
            yield from _tiles(members, len(rankings.run_ids), budget)

    def _prepared(self, i: int) -> list[forms.Prepared]:
        """Lay out the graphs of a block, or find them."""
        if i in self._ready:
            return self._ready[i]
        graphs = [self._graphs[name] for _, name in self._blocks[i]]
        ready = forms.prepare(graphs, padded_size(max(map(len, graphs))))
        size = sum(array.nbytes for graph in ready for array in graph.arrays)
        if size <= self._room:
            self._room -= size
            self._ready[i] = ready
        return ready


_Member = tuple[int, forms.Prepared, Retrieved]
_Arguments = tuple[str, Any, Any, Any, int]


def _blocks(graphs: Mapping[str, Graph]) -> Iterator[list[tuple[int, str]]]:
    """Cut queries, by size, into blocks that are laid out at the same time.

    Large ones come first: what is computed last should be soon done. Grades alone need
    no matrices, so they are one block.
    """
    groups: dict[tuple[bool, int], list[tuple[int, int, str]]] = {}
    for column, (name, graph) in enumerate(graphs.items()):
        if n := len(graph):
            graded = graph.levels is not None and not len(graph.wins)
            key = graded, 0 if graded else padded_size(n)
            groups.setdefault(key, []).append((-n, column, name))
    for graded, size in sorted(groups, key=lambda key: (key[0], -key[1])):
        queries = [(column, name) for _, column, name in sorted(groups[graded, size])]
        most = plan.block(size)
        for i in range(0, len(queries), most):
            yield queries[i : i + most]


class _Tile(NamedTuple):
    """Some queries of one form and size, for all runs.

    Attributes:
        columns: number of each query.
        graphs: what does not depend on the run.
        found: judged documents that runs retrieved.
        shape: numbers of queries and runs that are computed at once.
        width: padded number of documents in a ranking.
        length: of `levels`, room for the documents of all rankings on a device.
    """

    columns: list[int]
    graphs: list[forms.Prepared]
    found: list[Retrieved]
    shape: tuple[int, int]
    width: int
    length: int


def _tiles(members: list[_Member], runs: int, budget: int) -> Iterator[_Tile]:
    groups: dict[tuple[str, int], list[_Member]] = {}
    for member in members:
        groups.setdefault((member[1].form, member[1].size), []).append(member)
    cpu = jax.default_backend() == "cpu"
    for (form, size), some in sorted(groups.items(), key=lambda item: item[0]):
        columns, graphs, found = (list(x) for x in zip(*some, strict=True))
        width, length = size, 0
        if form == "levels":
            width = padded_size(max(f.most() for f in found))
        per_tile, run_tile = plan.tile(
            len(some),
            runs,
            per_query=4 * size * (1 if form == "levels" else size),
            per_pair=48 * width,  # three int32 arrays, and as much again on the way
            devices=jax.local_device_count(),
            budget=budget,
            near=cpu,
        )
        shape = per_tile, run_tile
        if form == "levels":
            length = _room(found, runs, shape)
        for i in range(0, len(some), per_tile):
            part = slice(i, i + per_tile)
            mine = columns[part], graphs[part], found[part]
            yield _Tile(*mine, shape, width, length)


def _room(found: list[Retrieved], runs: int, shape: tuple[int, int]) -> int:
    """Find what holds the documents of each tile on each device: a power of 2."""
    count = np.diff(np.array([f.starts for f in found]))
    per_device = shape[0] // jax.local_device_count()
    count = np.add.reduceat(count, range(0, len(found), per_device), axis=0)
    count = np.add.reduceat(count, range(0, runs, shape[1]), axis=1)
    return max(16, 1 << (int(count.max()) - 1).bit_length())


def _arguments(tile: _Tile, runs: int) -> Iterator[tuple[slice, _Arguments]]:
    """Lay a tile out: which runs, and what `_call` needs to compute them."""
    fixed = place(forms.batch_graphs(tile.graphs, tile.shape[0]))
    for low in range(0, runs, tile.shape[1]):
        some = slice(low, min(low + tile.shape[1], runs))
        form, known = tile.graphs[0].form, (tile.graphs, tile.found, some, tile.shape)
        if form == "levels":
            devices = jax.local_device_count()
            moving, steps = forms.batch_levels(*known, tile.length, devices)
        else:
            moving, steps = forms.batch_rankings(*known)
        yield some, (form, fixed, place(moving), place(steps), tile.width)


def _start(
    tile: _Tile,
    arguments: _Arguments,
    weights: np.ndarray,
    progress: Progress | None,
) -> Callable:
    """Begin to compute a tile; what is returned waits for the sums."""
    form, size = tile.graphs[0].form, tile.graphs[0].size
    sizes = tile.width, tile.length, size
    key = form, tile.shape, sizes, weights.shape, jax.device_count()
    # Small tiles JAX computes one after another while we go on, as fast as we lay out.
    apart = form != "levels" and size >= _LARGE
    return start(key, lambda: _call(*arguments, weights), progress, apart=apart)


def _call(
    form: str, fixed, moving, steps, width: int, weights: np.ndarray
) -> jax.Array:
    # int64 needs JAX's x64 mode: switched on around our calls alone, never for the
    # program that imports us.
    devices, backend = jax.local_device_count(), jax.default_backend()
    # A number that all know beforehand spares other devices to ask for it.
    most = width if form == "levels" and backend != "cpu" else 0

    def call(form: str) -> jax.Array:
        return _batched(form, devices, backend, most)(fixed, moving, steps, weights)

    with jax.enable_x64(True):
        if form == "words" and backend != "cpu":
            form = peels.choose(moving[0].shape, call)
        return call(form)


def _levels(fixed, moving, steps, weights):
    """Compute all queries of a device: their documents are in one list."""
    (starts,), (level, ranks, first, count) = fixed, moving
    return jax.vmap(
        lambda starts, first, count: levels.levelled_overlap(
            starts, level[0], ranks[0], first, count, steps, weights
        )
    )(starts, first, count)


def _words(fixed, moving, steps, weights):
    (rows, start, where), (order, inverse, ranks) = fixed, moving
    return words.peeled_overlap(
        rows, start, order, inverse, ranks, steps, weights, where=where
    )


def _launch(fixed, moving, steps, weights):
    # Pallas takes a moment to import, and is for GPUs.
    from pgcjax.kernels import launch

    (rows, start, where), (order, inverse, ranks) = fixed, moving
    interpret = jax.local_devices()[0].platform == "cpu"  # to test it
    return launch.peeled_overlap(
        *(rows, start, order, inverse, ranks, steps, weights),
        where=where,
        interpret=interpret,
    )


def _wide(fixed, moving, steps, weights):
    (edges, where), (ranks,) = fixed, moving
    return peel.peeled_overlap(edges, ranks, weights, where=where)


@cache
def _batched(form: str, devices: int, backend: str, most: int = 0) -> Callable:
    """Map a kernel of one query and one run over queries, and runs inside.

    On CPU queries follow each other, each with as many steps as it needs, and so do
    runs if they are many; elsewhere all are computed at once, with as many steps as
    there are places. Levels are so small that they are computed at once everywhere, in
    `most` steps, or as many as they need.
    """
    kernel = {"levels": _levels, "launch": _launch, "words": _words, "wide": _wide}[
        form
    ]
    over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))

    def one_by_one(fixed, moving, steps, weights):
        queries, runs, size = moving[0].shape
        together, some = plan.side_by_side(queries, runs, size)

        def few(queries):
            mine, theirs, count = queries
            if together > 1:
                over = jax.vmap(over_runs, in_axes=(0, 0, None, None))
                return over(mine, theirs, count.max(), weights)
            mine, theirs, count = jax.tree.map(lambda x: x[0], queries)
            return jax.lax.map(
                lambda run: kernel(mine, run, count, weights), theirs, batch_size=some
            )

        grouped = jax.tree.map(
            lambda x: x.reshape(-1, together, *x.shape[1:]), (fixed, moving, steps)
        )
        return jax.lax.map(few, grouped).reshape(queries, runs)

    def at_once(fixed, moving, steps, weights):
        if form == "launch":
            over = jax.vmap(kernel, in_axes=(0, 0, 0, None))
            return over(fixed, moving, steps, weights)
        if form == "levels":
            return kernel(fixed, moving, most or steps.max(), weights)
        places = moving[0].shape[-1]
        return jax.vmap(lambda f, m: over_runs(f, m, places, weights))(fixed, moving)

    over_queries = one_by_one if backend == "cpu" and form != "levels" else at_once
    return over_devices(over_queries, devices)
