"""Graphs × rankings → sums of weights: the peel over queries, runs and devices."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from pgcjax import peels, plan
from pgcjax.calls import THREADS, Progress, everywhere, over_devices, place, start
from pgcjax.kernels import levels, peel, words
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.retrieved import Flat, Retrieved

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
        self._graded = _Graded(graded, graphs, columns) if graded else None
        rest = {n: graph for n, graph in graphs.items() if n not in graded}
        self._docs = {name: graph.doc_ids for name, graph in rest.items()}
        self._blocks = list(_blocks(rest, columns))
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
        done, total = 0, runs * sum(len(graph) > 0 for graph in self._graphs.values())

        def collect(tile: _Tile, part: Callable) -> None:
            nonlocal done
            some = tile.runs
            mine = np.asarray(part())[: len(tile.columns), : some.stop - some.start]
            sums[tile.columns, some] = mine
            done += mine.size
            if progress:
                progress("scoring", done, total)

        # This thread lays tiles out, while others compute those before.
        pending: deque[tuple[_Tile, Callable]] = deque()
        for tile in self._tiles(rankings, budget):
            pending.append((tile, _start(tile, weights, progress)))
            if len(pending) > 2 * THREADS:
                collect(*pending.popleft())
        while pending:
            collect(*pending.popleft())
        return np.ascontiguousarray(sums.T)

    def _tiles(self, rankings: "Rankings", budget: int) -> Iterator["_Tile"]:
        runs = len(rankings.run_ids)
        retrieved = rankings.retrieved(self._docs) if self._blocks else {}
        for i, block in enumerate(self._blocks):
            found = [retrieved[name] for _, name in block]
            columns = [column for column, _ in block]
            members = list(zip(columns, self._prepared(i), found, strict=True))
            yield from _tiles(members, runs, budget)
        if self._graded:
            yield from self._graded.tiles(rankings, budget)

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


class _Tile(NamedTuple):
    """Some queries of one form and size, and some runs, laid out for a call.

    Attributes:
        columns: number of each query.
        runs: which runs.
        form: of the graphs.
        size: padded size of the graphs.
        fixed: what does not depend on the run.
        moving: what does.
        steps: of each query.
        lists: of `levels`, what `moving` is about.
        width: of `levels`, as many steps as are enough, out of few numbers.
    """

    columns: list[int]
    runs: slice
    form: str
    size: int
    fixed: Any
    moving: Any
    steps: Any
    lists: tuple[Any, ...] = ()
    width: int = 0


_Member = tuple[int, forms.Prepared, Retrieved]


class _Graded:
    """Graphs that grades alone make, which need no matrices.

    Levels of documents stand in the place of their codes, for all queries at once:
    nothing is laid out for a tile, but where its rankings begin.
    """

    def __init__(
        self,
        levels: Mapping[str, np.ndarray],
        graphs: Mapping[str, Graph],
        columns: Mapping[str, int],
    ):
        """Lay levels out.

        Args:
            levels: of the documents of each graph that grades alone make.
            graphs: all graphs.
            columns: number of each query.
        """
        self._docs = {name: graphs[name].doc_ids for name in levels}
        self._levels = np.concatenate(list(levels.values())).astype(np.int32)
        self._columns = [columns[name] for name in levels]
        self._ready = forms.as_levels(list(levels.values()))

    def tiles(self, rankings: "Rankings", budget: int) -> Iterator[_Tile]:
        flat = rankings.flat(self._docs, self._levels)
        runs = len(rankings.run_ids)
        for size in sorted({ready.size for ready in self._ready}):
            which = [i for i, ready in enumerate(self._ready) if ready.size == size]
            shape = _shape("levels", size, len(which), runs, budget)
            room, width = _room(flat.count[which], shape)
            for i in range(0, len(which), shape[0]):
                mine = which[i : i + shape[0]]
                columns = [self._columns[j] for j in mine]
                ready = [self._ready[j] for j in mine]
                fixed = place(forms.batch_graphs(ready, shape[0]))
                for some in _slices(runs, shape[1]):
                    part = flat.tile(mine, some, shape, room)
                    yield _tile_of_levels(columns, some, size, fixed, part, width)


def _room(count: np.ndarray, shape: tuple[int, int]) -> tuple[int, int]:
    """Tell what is enough for all tiles: documents in one, and in a ranking."""
    most = int(count.max(initial=0))
    for axis, together in enumerate(shape):
        starts = range(0, count.shape[axis], together)
        count = np.add.reduceat(count, starts, axis=axis)
    return max(16, 1 << (int(count.max()) - 1).bit_length()), padded_size(most)


def _tile_of_levels(
    columns: list[int], some: slice, size: int, fixed: Any, flat: Flat, width: int
) -> _Tile:
    moving, steps = place((flat.first, flat.count)), place(flat.count.max(1))
    lists = everywhere((flat.value, flat.rank))
    return _Tile(columns, some, "levels", size, fixed, moving, steps, lists, width)


def _blocks(
    graphs: Mapping[str, Graph], columns: Mapping[str, int]
) -> Iterator[list[tuple[int, str]]]:
    """Cut queries, by size, into blocks that are laid out at the same time.

    Large ones come first: what is computed last should be soon done.
    """
    groups: dict[int, list[tuple[int, int, str]]] = {}
    for name, graph in graphs.items():
        if n := len(graph):
            groups.setdefault(padded_size(n), []).append((-n, columns[name], name))
    for size in sorted(groups, reverse=True):
        queries = [(column, name) for _, column, name in sorted(groups[size])]
        most = plan.block(size)
        for i in range(0, len(queries), most):
            yield queries[i : i + most]


def _tiles(members: list[_Member], runs: int, budget: int) -> Iterator[_Tile]:
    """Lay out tiles of queries that need matrices, or look as if they did."""
    groups: dict[tuple[str, int], list[_Member]] = {}
    for member in members:
        groups.setdefault((member[1].form, member[1].size), []).append(member)
    for (form, size), every in sorted(groups.items(), key=lambda item: item[0]):
        shape = _shape(form, size, len(every), runs, budget)
        room = width = 0
        if form == "levels":
            count = np.array([found.count for *_, found in every])
            room, width = _room(count, shape)
        for i in range(0, len(every), shape[0]):
            part = zip(*every[i : i + shape[0]], strict=True)
            columns, graphs, found = (list(column) for column in part)
            fixed = place(forms.batch_graphs(graphs, shape[0]))
            for some in _slices(runs, shape[1]):
                known = graphs, found, some, shape
                if form == "levels":
                    flat = forms.batch_levels(*known, room)
                    yield _tile_of_levels(columns, some, size, fixed, flat, width)
                    continue
                moving, steps = map(place, forms.batch_rankings(*known))
                yield _Tile(columns, some, form, size, fixed, moving, steps)


def _shape(
    form: str, size: int, queries: int, runs: int, budget: int
) -> tuple[int, int]:
    """Choose how many queries and runs a tile has."""
    levels = form == "levels"
    return plan.tile(
        queries,
        runs,
        per_query=4 * size * (1 if levels else size),
        # Three int32 arrays, and as much again on the way.
        per_pair=plan.PER_LEVELS if levels else 48 * size,
        devices=jax.local_device_count(),
        budget=budget,
        near=jax.default_backend() == "cpu",
    )


def _slices(runs: int, together: int) -> Iterator[slice]:
    for low in range(0, runs, together):
        yield slice(low, min(low + together, runs))


def _start(tile: _Tile, weights: np.ndarray, progress: Progress | None) -> Callable:
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
