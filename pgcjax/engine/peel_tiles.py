"""Graphs × rankings, cut into tiles: what is laid out for one call each."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgcjax.engine import plan
from pgcjax.kernels import peel_packed
from pgcjax.runtime.devices import (
    default_backend,
    everywhere,
    is_host,
    local_device_count,
    place,
)
from pgcjax.runtime.loop import THREADS
from pgcjax.tensors import adjacency, rank_tables
from pgcjax.tensors.adjacency import Stack
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import blank, padded_size
from pgcjax.tensors.retrieved import Flat

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_ROOM = 2**12  # documents in a list of `levels` at least: so that jobs share programs
_AFTER = peel_packed.MOST_LISTED  # behind the last: a program reads as many at once


class Tile(NamedTuple):
    """Queries of one form and size, and runs, laid out for a call.

    Attributes:
        columns: number of each query.
        runs: which runs.
        form: of the graphs; or `listed`: `packed`, with runs as lists.
        size: padded size of the graphs.
        graphs: what does not depend on the run.
        ranks: what does.
        steps: of each query.
        lists: of `levels` the levels, of `listed` the vertices, and the ranks that
            `ranks` is about.
        width: of `levels`, as many steps as are enough, out of few numbers.
    """

    columns: list[int]
    runs: slice
    form: str
    size: int
    graphs: adjacency.Graphs
    ranks: rank_tables.PackedRuns | rank_tables.WideRuns | rank_tables.ListedRuns
    steps: Any
    lists: tuple[Any, ...] = ()
    width: int = 0


class Layout:
    """Graphs that are laid out once for many calls: runs may come in chunks."""

    def __init__(
        self,
        graphs: Mapping[str, Graph],
        *,
        keep: int = plan.BUDGET,
        budget: int = plan.BUDGET,
        listed: bool = True,
    ):
        """Group queries by size.

        Args:
            graphs: of each query.
            keep: bytes of laid out graphs to keep for the next call.
            budget: bytes of a tile.
            listed: leave it to the program to lay runs out where it can.
        """
        self.graphs, names = graphs, list(graphs)
        levels = {
            name: graph.graded_only()
            for name, graph in graphs.items()
            if graph.levels is not None and len(graph)
        }
        graded = {n: level for n, level in levels.items() if level is not None}
        columns = {name: i for i, name in enumerate(names) if name in graded}
        self._graded = _Graded(graded, graphs, columns) if graded else None
        counts = [len(graph.doc_ids) for graph in graphs.values()]
        self.judged = len(counts) - counts.count(0)
        for column in columns.values():
            counts[column] = 0
        order, self._sizes, self._blocks = _blocks(counts)
        self._columns, self._names = np.array(order), [names[i] for i in order]
        self._docs = {name: graphs[name].doc_ids for name in self._names}
        counts = np.array([counts[i] for i in order], np.int32)
        starts = np.repeat(np.cumsum(counts, dtype=np.int32) - counts, counts)
        self._vertices = np.arange(len(starts), dtype=np.int32) - starts
        self._ready: dict[int, list[Stack]] = {}
        self._room = keep
        alone = len(set(self._sizes)) == 1 and not graded
        self._shapes = Shapes(budget, threads=THREADS if alone else 1)
        self._listed = listed and is_host()

    def tiles(self, rankings: "Rankings") -> Iterator[Tile]:
        """Lay all graphs and runs out.

        A call with fewer runs than one before has its shapes, and so its programs.
        """
        runs = len(rankings.run_ids)
        self._shapes.runs = max(runs, self._shapes.runs)
        if self._blocks:
            yield from self._judged(rankings)
        if self._graded:
            yield from self._graded.tiles(rankings, self._shapes)

    def _judged(self, rankings: "Rankings") -> Iterator[Tile]:
        """Lay out graphs that need matrices, or look as if they did."""
        flat = rankings.flat(self._docs, self._vertices)
        lists = _Lists(flat) if self._listed else None
        for i, block in enumerate(self._blocks):
            for graphs in self._prepared(i):
                rows = block.start + graphs.which
                own = _Rows(self._columns[rows], rows, flat, vertices=True)
                if graphs.form == "levels":
                    yield from _level_tiles(graphs, own, self._shapes)
                else:
                    yield from _peel_tiles(graphs, own, self._shapes, lists)

    def _prepared(self, i: int) -> list[Stack]:
        """Lay the graphs of a block out, or give those that were kept."""
        if i in self._ready:
            return self._ready[i]
        block = self._blocks[i]
        graphs = [self.graphs[name] for name in self._names[block]]
        levels = -(-plan.settings.levels // plan.runs_at_once(self._shapes.runs))
        how: Any = {"levels": levels, "room": self._shapes.whole}
        ready = adjacency.matrices(graphs, self._sizes[block], **how)
        nbytes = sum(own.nbytes for own in ready)
        if nbytes <= self._room:
            self._room -= nbytes
            self._ready[i] = ready
        return ready


class _Lists:
    """The documents that runs retrieved, as programs take them that lay runs out."""

    def __init__(self, flat: Flat):
        """Take lists whole that fit into every tile's."""
        self._flat = flat
        documents = int(flat.count.sum())
        self._whole: tuple[np.ndarray, ...] | None = None
        self._room = plan.settings.documents
        if documents <= self._room:
            columns = flat.value[:documents], flat.rank[:documents]
            self._whole = tuple(blank((self._room + _AFTER,), None) for _ in columns)
            for out, column in zip(self._whole, columns, strict=True):
                out[:documents] = column  # no program looks at what is behind them

    def tiles(
        self, own: "_Rows", shape: tuple[int, int], documents: int
    ) -> Iterator[tuple[rank_tables.ListedRuns, tuple[np.ndarray, ...]]]:
        """Say where the rankings of each tile are, and in which lists.

        Args:
            own: the queries.
            shape: numbers of queries and runs in a tile.
            documents: at most in a tile of this shape.
        """
        if self._whole is None:
            room = max(self._room, documents) + _AFTER
            for _, _, rows, parts in own.cut(shape):
                for runs in parts:
                    flat = self._flat.tile(rows, runs, shape, room)
                    ranks = rank_tables.ListedRuns(flat.first, flat.count)
                    yield ranks, (flat.value, flat.rank)
            return
        queries, together = shape
        parts = range(0, self._flat.count.shape[1], together)
        length = -(-len(own.rows) // queries) * queries
        found = blank((2, len(parts), length, together))
        for array, out in zip((self._flat.first, self._flat.count), found, strict=True):
            for part, low in zip(out, parts, strict=True):
                of_part = array[own.rows, low : low + together]
                part[: len(of_part), : of_part.shape[1]] = of_part
        for low in range(0, length, queries):
            for part in range(len(parts)):
                here = part, slice(low, low + queries)
                yield rank_tables.ListedRuns(*(x[here] for x in found)), self._whole


class Shapes:
    """Shapes of tiles, which stay as they are from call to call if they can.

    Attributes:
        runs: the most of any call.
        budget: bytes of a tile.
        threads: that compute tiles of one size alone.
    """

    def __init__(self, budget: int, threads: int = 1) -> None:
        self.runs, self.budget, self.threads = 0, budget, threads
        self._rooms: dict[tuple[int, tuple[int, int]], tuple[int, int]] = {}

    def of(self, form: str, size: int, queries: int) -> tuple[int, int]:
        """Choose how many queries and runs a tile has."""
        per_query, per_pair = bytes_of(form, size)
        near = default_backend() == "cpu" and form != "levels"
        return plan.tile(
            queries,
            self.runs,
            per_query=per_query,
            per_pair=per_pair,
            devices=local_device_count(),
            budget=self.budget,
            near=near,
            threads=self.threads if near else 1,
        )

    def whole(self, size: int, queries: int) -> int:
        """Round a number of graphs that need a peel up to whole tiles."""
        tile = self.of("packed", size, queries)[0]
        return -(-queries // tile) * tile

    def room(
        self, size: int, count: np.ndarray, shape: tuple[int, int]
    ) -> tuple[int, int]:
        """Tell what is enough for all tiles: documents in one, and in a ranking.

        Args:
            size: of the levels.
            count: documents of each query and run.
            shape: of the tiles.
        """
        width = padded_size(int(count.max(initial=0)))
        for axis, together in enumerate(shape):
            starts = range(0, count.shape[axis], together)
            count = np.add.reduceat(count, starts, axis=axis)
        room = max(_ROOM, 1 << (int(count.max()) - 1).bit_length())
        before = self._rooms.get((size, shape), (0, 0))
        self._rooms[size, shape] = max(room, before[0]), max(width, before[1])
        return self._rooms[size, shape]


def bytes_of(form: str, size: int) -> tuple[int, int]:
    """Tell the bytes of a query, and of a run and query, in a tile."""
    if form == "levels":
        return 4 * size, plan.PER_LEVELS
    # Three int32 arrays, and as much again on the way.
    return 4 * size * size, 48 * size


class _Graded:
    """Graphs that grades alone make, which need no matrices.

    Levels stand in the place of vertices, for all queries at once: a tile is copied
    from one list of all documents.
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
        self._levels, lengths = adjacency.end_to_end(list(levels.values()))
        self._columns = np.array([columns[name] for name in levels])
        self._ready = adjacency.as_levels(self._levels, lengths)

    def tiles(self, rankings: "Rankings", shapes: Shapes) -> Iterator[Tile]:
        """Lay all of them out."""
        flat = rankings.flat(self._docs, self._levels)
        for graphs in self._ready:
            own = _Rows(self._columns[graphs.which], graphs.which, flat)
            yield from _level_tiles(graphs, own, shapes)


class _Rows(NamedTuple):
    """What runs retrieved for the queries of a stack.

    Attributes:
        columns: number of each query.
        rows: where it is in `flat`.
        flat: what runs retrieved for all queries.
        vertices: whether its values are vertices; else levels.
    """

    columns: np.ndarray
    rows: np.ndarray
    flat: Flat
    vertices: bool = False

    def cut(
        self, shape: tuple[int, int]
    ) -> Iterator[tuple[int, list[int], list[int], list[slice]]]:
        """Give, for each tile of queries, the first, columns, rows, and parts of runs.

        Args:
            shape: numbers of queries and runs in a tile.
        """
        runs, (together, run_tile) = self.flat.count.shape[1], shape
        parts = [slice(i, min(i + run_tile, runs)) for i in range(0, runs, run_tile)]
        for low in range(0, len(self.rows), together):
            some = slice(low, low + together)
            yield low, self.columns[some].tolist(), self.rows[some].tolist(), parts


def _level_tiles(graphs: Stack, own: _Rows, shapes: Shapes) -> Iterator[Tile]:
    """Lay weak orders out."""
    size = graphs.size
    shape = shapes.of("levels", size, len(graphs))
    room, width = shapes.room(size, own.flat.count[own.rows], shape)
    for low, columns, rows, parts in own.cut(shape):
        fixed = place(adjacency.batch_graphs(graphs, shape[0], low))
        for runs in parts:
            flat = own.flat.tile(rows, runs, shape, room)
            if own.vertices:
                rank_tables.to_levels(flat, graphs, low)
            ranks = place(rank_tables.ListedRuns(flat.first, flat.count))
            steps, lists = place(flat.count.max(1)), everywhere((flat.value, flat.rank))
            yield Tile(columns, runs, "levels", size, fixed, ranks, steps, lists, width)


def _peel_tiles(
    graphs: Stack, own: _Rows, shapes: Shapes, lists: _Lists | None
) -> Iterator[Tile]:
    """Lay out graphs that need a peel.

    Args:
        graphs: of `packed` or `wide` form.
        own: what runs retrieved for them.
        shapes: of tiles.
        lists: of documents, if programs take them.
    """
    form, size = graphs.form, graphs.size
    if form != "packed" or size > peel_packed.MOST_LISTED:
        lists = None
    shape = shapes.of(form, size, len(graphs))
    documents = shape[0] * shape[1] * size
    listed = lists.tiles(own, shape, documents) if lists else None
    for low, columns, rows, parts in own.cut(shape):
        fixed = place(adjacency.batch_graphs(graphs, shape[0], low))
        steps = adjacency.vertices_of(graphs, shape[0], low)
        for runs in parts:
            if listed is not None:
                ranks, of_tile = next(listed)
                yield Tile(columns, runs, "listed", size, fixed, ranks, steps, of_tile)
                continue
            flat = own.flat.tile(rows, runs, shape, documents)
            ranks = place(rank_tables.batch_rankings(form, steps, flat, size))
            yield Tile(columns, runs, form, size, fixed, ranks, place(steps))


def _blocks(counts: list[int]) -> tuple[list[int], list[int], list[slice]]:
    """Order graphs by size, and cut them into blocks that are laid out together.

    Large ones come first: what is computed last should be soon done.

    Args:
        counts: of their vertices; 0 for graphs to be left out.

    Returns:
        The graphs in order, their padded sizes, and which of them each block has.
    """
    order = sorted(range(len(counts)), key=counts.__getitem__, reverse=True)
    padded = {n: padded_size(n) for n in set(counts)}
    order = [i for i in order if counts[i]]
    sizes = [padded[counts[i]] for i in order]
    begins, room, end = [], 0, 0
    for size, number in Counter(sizes).items():
        most, first, end = plan.block(size), end, end + number
        for begin in range(first, end, most):
            cells = min(most, end - begin) * size * size
            if not begins or cells > room:
                begins.append(begin)
                room = plan.settings.block // 32
            room -= cells
    return order, sizes, [slice(*ends) for ends in pairwise([*begins, end])]
