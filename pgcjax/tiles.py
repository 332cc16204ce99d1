"""Graphs × rankings, cut into tiles: what is laid out for one call each."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from pgcjax import plan
from pgcjax.calls import everywhere, place
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.retrieved import Flat, Retrieved

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings


_ROOM = 2**12  # documents in a list at least: so that small jobs share programs


class Tile(NamedTuple):
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


Member = tuple[int, forms.Prepared, Retrieved]


class Graded:
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
        self._ready = forms.as_levels(list(levels.values()))

    def tiles(self, rankings: "Rankings", shapes: "Shapes") -> Iterator[Tile]:
        """Lay all of them out."""
        flat = rankings.flat(self._docs, self._levels)
        runs = len(rankings.run_ids)
        for size in sorted({ready.size for ready in self._ready}):
            which = [i for i, ready in enumerate(self._ready) if ready.size == size]
            shape = shapes.of("levels", size, len(which))
            room, width = shapes.room(size, flat.count[which], shape)
            for i in range(0, len(which), shape[0]):
                mine = which[i : i + shape[0]]
                columns = [self._columns[j] for j in mine]
                ready = [self._ready[j] for j in mine]
                fixed = place(forms.batch_graphs(ready, shape[0]))
                for some in _slices(runs, shape[1]):
                    part = flat.tile(mine, some, shape, room)
                    yield _of_levels(columns, some, size, fixed, part, width)


def _of_levels(
    columns: list[int], some: slice, size: int, fixed: Any, flat: Flat, width: int
) -> Tile:
    moving, steps = place((flat.first, flat.count)), place(flat.count.max(1))
    lists = everywhere((flat.value, flat.rank))
    return Tile(columns, some, "levels", size, fixed, moving, steps, lists, width)


def blocks(
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


def tiles(members: list[Member], runs: int, shapes: "Shapes") -> Iterator[Tile]:
    """Lay out tiles of queries that need matrices, or look as if they did."""
    groups: dict[tuple[str, int], list[Member]] = {}
    for member in members:
        groups.setdefault((member[1].form, member[1].size), []).append(member)
    for (form, size), every in sorted(groups.items(), key=lambda item: item[0]):
        shape = shapes.of(form, size, len(every))
        room = width = 0
        if form == "levels":
            count = np.array([found.count for *_, found in every])
            room, width = shapes.room(size, count, shape)
        for i in range(0, len(every), shape[0]):
            part = zip(*every[i : i + shape[0]], strict=True)
            columns, graphs, found = (list(column) for column in part)
            fixed = place(forms.batch_graphs(graphs, shape[0]))
            for some in _slices(runs, shape[1]):
                known = graphs, found, some, shape
                if form == "levels":
                    flat = forms.batch_levels(*known, room)
                    yield _of_levels(columns, some, size, fixed, flat, width)
                    continue
                moving, steps = map(place, forms.batch_rankings(*known))
                yield Tile(columns, some, form, size, fixed, moving, steps)


class Shapes:
    """Shapes of tiles, which stay as they are from call to call if they can.

    Attributes:
        runs: the most of any call.
        budget: bytes of a tile.
    """

    def __init__(self) -> None:
        self.runs = self.budget = 0
        self._rooms: dict[tuple[int, tuple[int, int]], tuple[int, int]] = {}

    def of(self, form: str, size: int, queries: int) -> tuple[int, int]:
        """Choose how many queries and runs a tile has."""
        levels = form == "levels"
        return plan.tile(
            queries,
            self.runs,
            per_query=4 * size * (1 if levels else size),
            # Three int32 arrays, and as much again on the way.
            per_pair=plan.PER_LEVELS if levels else 48 * size,
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


def _slices(runs: int, together: int) -> Iterator[slice]:
    for low in range(0, runs, together):
        yield slice(low, min(low + together, runs))
