"""Graphs × rankings → sums of weights: the peel over queries, runs and devices."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pgcjax import peels, plan
from pgcjax.calls import THREADS, Progress, over_devices, start
from pgcjax.kernels import levels, peel, words
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tiles import Graded, Shapes, Tile, blocks, tiles

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
        graded = {
            name: levels
            for name, graph in graphs.items()
            if len(graph) and (levels := graph.graded_only()) is not None
        }
        columns = {name: i for i, name in enumerate(graphs)}
        self._graded = Graded(graded, graphs, columns) if graded else None
        rest = {n: graph for n, graph in graphs.items() if n not in graded}
        self._docs = {name: graph.doc_ids for name, graph in rest.items()}
        self._blocks = list(blocks(rest, columns))
        self._ready: dict[int, list[forms.Prepared]] = {}
        self._room = keep
        self._shapes = Shapes()

    def sums(
        self,
        rankings: "Rankings",
        weights: np.ndarray,
        *,
        budget: int = plan.BUDGET,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """Do what `overlap_sums` does, for these graphs.

        A call with fewer runs than one before has its shapes, and so its programs.
        """
        runs = len(rankings.run_ids)
        self._shapes.budget = budget
        self._shapes.runs = max(runs, self._shapes.runs)
        sums = np.zeros((len(self._graphs), runs), np.int64)
        done, total = 0, runs * sum(len(graph) > 0 for graph in self._graphs.values())

        def collect(columns: list[int], some: slice, part: Callable) -> None:
            nonlocal done
            mine = np.asarray(part())[: len(columns), : some.stop - some.start]
            sums[columns, some] = mine
            done += mine.size
            if progress:
                progress("scoring", done, total)

        # This thread lays tiles out, while others compute those before.
        pending: deque[tuple[list[int], slice, Callable]] = deque()
        for tile in self._tiles(rankings):
            part = _start(tile, weights, progress)
            pending.append((tile.columns, tile.runs, part))
            if len(pending) > 2 * THREADS:
                collect(*pending.popleft())
        while pending:
            collect(*pending.popleft())
        return np.ascontiguousarray(sums.T)

    def _tiles(self, rankings: "Rankings") -> Iterator[Tile]:
        runs = len(rankings.run_ids)
        retrieved = rankings.retrieved(self._docs) if self._blocks else {}
        for i, block in enumerate(self._blocks):
            found = [retrieved[name] for _, name in block]
            columns = [column for column, _ in block]
            members = list(zip(columns, self._prepared(i), found, strict=True))
            yield from tiles(members, runs, self._shapes)
        if self._graded:
            yield from self._graded.tiles(rankings, self._shapes)

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


def _start(tile: Tile, weights: np.ndarray, progress: Progress | None) -> Callable:
    """Begin to compute a tile; what is returned waits for the sums."""
    shapes = jax.tree.map(np.shape, (tile.moving, tile.lists))
    key = tile.form, shapes, tile.size, tile.width, weights.shape, jax.device_count()
    # Small tiles JAX computes one after another while we go on, as fast as we lay out.
    apart = tile.form != "levels" and tile.size >= _LARGE
    arguments = tile.fixed, tile.moving, tile.steps, (*tile.lists, weights), tile.width
    return start(key, lambda: _call(tile.form, *arguments), progress, apart=apart)


def _call(
    form: str, fixed, moving, steps, shared: tuple[Any, ...], width: int = 0
) -> jax.Array:
    # int64 needs JAX's x64 mode: switched on around our calls alone, never for the
    # program that imports us.
    devices, backend = jax.local_device_count(), jax.default_backend()
    # A number that all know beforehand spares other devices to ask for it.
    most = width if form == "levels" and backend != "cpu" else 0

    def call(form: str) -> jax.Array:
        return _batched(form, devices, backend, most)(fixed, moving, steps, *shared)

    with jax.enable_x64(True):
        if form == "words" and backend != "cpu":
            form = peels.choose(moving[0].shape, call)
        return call(form)


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


def _levelled(most: int) -> Callable:
    """Make what computes all queries and runs of a device at once."""

    def program(fixed, moving, steps, level, ranks, weights):
        (starts,), (first, count), enough = fixed, moving, most or steps.max()
        return jax.vmap(
            lambda starts, first, count: levels.levelled_overlap(
                starts, level, ranks, first, count, enough, weights
            )
        )(starts, first, count)

    return program


@cache
def _batched(form: str, devices: int, backend: str, most: int = 0) -> Callable:
    """Map a kernel of one query and one run over queries, and runs inside.

    On CPU queries follow each other, each with as many steps as it needs, and so do
    runs if they are many; elsewhere all are computed at once, with as many steps as
    there are places. Levels are so small that they are computed at once everywhere, in
    `most` steps, or as many as they need.
    """
    if form == "levels":
        return over_devices(_levelled(most), devices, shared=3)
    kernel = {"launch": _launch, "words": _words, "wide": _wide}[form]
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
        places = moving[0].shape[-1]
        return jax.vmap(lambda f, m: over_runs(f, m, places, weights))(fixed, moving)

    over_queries = one_by_one if backend == "cpu" else at_once
    return over_devices(over_queries, devices)
