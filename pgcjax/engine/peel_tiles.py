"""Graphs × rankings, cut into tiles: what is laid out for one call each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from pgcjax.engine import plan
from pgcjax.runtime.devices import everywhere, place
from pgcjax.tensors import adjacency, rank_tables
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import padded_size
from pgcjax.tensors.retrieved import Flat, Retrieved

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_ROOM = 2**12  # documents in a list at least: so that small jobs share programs


class Tile(NamedTuple):
    """Queries of one form and size, and runs, laid out for a call.

    Attributes:
        columns: number of each query.
        runs: which runs.
        form: of the graphs.
        size: padded size of the graphs.
        graphs: what does not depend on the run.
        ranks: what does.
        steps: of each query.
        lists: of `levels`, the levels and ranks that `ranks` is about.
        width: of `levels`, as many steps as are enough, out of few numbers.
    """

    columns: list[int]
    runs: slice
    form: str
    size: int
    graphs: adjacency.Graphs
    ranks: rank_tables.PackedRuns | rank_tables.WideRuns | rank_tables.LevelRuns
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
    ):
        """Group queries by size.

        Args:
            graphs: of each query.
            keep: bytes of laid out graphs to keep for the next call.
            budget: bytes of a tile.
        """
        self.graphs = graphs
        columns = {name: i for i, name in enumerate(graphs)}
        levels = {
            name: graph.graded_only() for name, graph in graphs.items() if len(graph)
        }
        graded = {n: level for n, level in levels.items() if level is not None}
        self._graded = _Graded(graded, graphs, columns) if graded else None
        rest = {n: graph for n, graph in graphs.items() if n not in graded}
        self._docs = {name: graph.doc_ids for name, graph in rest.items()}
        self._blocks = list(_blocks(rest, columns))
        self._ready: dict[int, list[adjacency.Prepared]] = {}
        self._room = keep
        self._shapes = Shapes(budget)

    def tiles(self, rankings: "Rankings") -> Iterator[Tile]:
        """Lay out all graphs and runs.

        A call with fewer runs than one before has its shapes, and so its programs.
        """
        runs = len(rankings.run_ids)
        self._shapes.runs = max(runs, self._shapes.runs)
        retrieved = rankings.retrieved(self._docs) if self._blocks else {}
        for i, block in enumerate(self._blocks):
            of_block = [retrieved[name] for _, name in block]
            columns = [column for column, _ in block]
            members = list(zip(columns, self._prepared(i), of_block, strict=True))
            yield from _tiles(members, runs, self._shapes)
        if self._graded:
            yield from self._graded.tiles(rankings, self._shapes)

    def _prepared(self, i: int) -> list[adjacency.Prepared]:
        """Lay out the graphs of a block, or give those that were kept."""
        if i in self._ready:
            return self._ready[i]
        graphs = [self.graphs[name] for _, name in self._blocks[i]]
        ready = adjacency.prepare(graphs, padded_size(max(map(len, graphs))))
        size = sum(graph.nbytes for graph in ready)
        if size <= self._room:
            self._room -= size
            self._ready[i] = ready
        return ready


class Shapes:
    """Shapes of tiles, which stay as they are from call to call if they can.

    Attributes:
        runs: the most of any call.
        budget: bytes of a tile.
    """

    def __init__(self, budget: int) -> None:
        self.runs, self.budget = 0, budget
        self._rooms: dict[tuple[int, tuple[int, int]], tuple[int, int]] = {}

    def of(self, form: str, size: int, queries: int) -> tuple[int, int]:
        """Choose how many queries and runs a tile has."""
        per_query, per_pair = bytes_of(form, size)
        return plan.tile(
            queries,
            self.runs,
            per_query=per_query,
            per_pair=per_pair,
            devices=jax.local_device_count(),
            budget=self.budget,
            near=jax.default_backend() == "cpu",
        )

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


_Member = tuple[int, adjacency.Prepared, Retrieved]  # column, graph, runs


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
        self._levels = np.concatenate(list(levels.values())).astype(np.int32)
        self._columns = [columns[name] for name in levels]
        self._ready = adjacency.as_levels(list(levels.values()))

    def tiles(self, rankings: "Rankings", shapes: Shapes) -> Iterator[Tile]:
        """Lay all of them out."""
        flat = rankings.flat(self._docs, self._levels)
        runs = len(rankings.run_ids)
        for size in sorted({ready.size for ready in self._ready}):
            which = [i for i, ready in enumerate(self._ready) if ready.size == size]
            shape = shapes.of("levels", size, len(which))
            room, width = shapes.room(size, flat.count[which], shape)
            for i in range(0, len(which), shape[0]):
                queries = which[i : i + shape[0]]
                columns = [self._columns[j] for j in queries]
                ready = [self._ready[j] for j in queries]
                graphs = place(adjacency.batch_graphs(ready, shape[0]))
                for part_of_runs in _slices(runs, shape[1]):
                    part = flat.tile(queries, part_of_runs, shape, room)
                    yield _of_levels(columns, part_of_runs, size, graphs, part, width)


def _of_levels(
    columns: list[int],
    runs: slice,
    size: int,
    graphs: adjacency.Graphs,
    flat: Flat,
    width: int,
) -> Tile:
    ranks = place(rank_tables.LevelRuns(flat.first, flat.count))
    steps, lists = place(flat.count.max(1)), everywhere((flat.value, flat.rank))
    return Tile(columns, runs, "levels", size, graphs, ranks, steps, lists, width)


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


def _tiles(members: Sequence[_Member], runs: int, shapes: Shapes) -> Iterator[Tile]:
    """Lay out tiles of queries that need matrices, or look as if they did."""
    groups: dict[tuple[str, int], list[_Member]] = {}
    for member in members:
        groups.setdefault((member[1].form, member[1].size), []).append(member)
    for (form, size), every in sorted(groups.items(), key=lambda item: item[0]):
        shape = shapes.of(form, size, len(every))
        room = width = 0
        if form == "levels":
            count = np.array([retrieved.count for *_, retrieved in every])
            room, width = shapes.room(size, count, shape)
        for i in range(0, len(every), shape[0]):
            part = zip(*every[i : i + shape[0]], strict=True)
            columns, ready, retrieved = (list(column) for column in part)
            graphs = place(adjacency.batch_graphs(ready, shape[0]))
            for part_of_runs in _slices(runs, shape[1]):
                tile = ready, retrieved, part_of_runs, shape
                if form == "levels":
                    flat = rank_tables.batch_levels(*tile, room)
                    yield _of_levels(columns, part_of_runs, size, graphs, flat, width)
                    continue
                ranks, steps = map(place, rank_tables.batch_rankings(*tile))
                yield Tile(columns, part_of_runs, form, size, graphs, ranks, steps)


def _slices(runs: int, together: int) -> Iterator[slice]:
    for low in range(0, runs, together):
        yield slice(low, min(low + together, runs))
