"""Measures of ranked lists: arrays about documents × runs → scores, several at once."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.tiles import PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT
from pgcjax.kernels.ranked_list import RankedList, picked
from pgcjax.later import jax, jnp
from pgcjax.measures.measure import Outline, outlined, rebuilt
from pgcjax.runtime.devices import is_host
from pgcjax.tensors.flat_runs import listed
from pgcjax.tensors.padding import axis_length, list_width, ranks_length, stack

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_REACHES = (32, 128, 512)  # ranks; deeper measures are computed apart from shallow ones


class Kernel(NamedTuple):
    """The kernel of a measure, and what it is compiled for.

    Attributes:
        score: see `tensors.measure_tensors.ListTensors`.
        outline: the measure without its numbers, which are traced.
        depth: place of its depth among the depths of all measures: measures with one
            depth share the computations that depend only on it.
    """

    score: Callable[..., Any]
    outline: Outline
    depth: int


class Arrays(NamedTuple):
    """The arrays of all measures, each of them once: many measures share arrays.

    XLA then computes once what several measures compute from an array. Arrays are the
    same if they are one object for every query: arrays that are equal by chance would
    make another program for other judgments.

    Attributes:
        layouts: the structure of each measure's arrays, and the number of each array.
        of_query: the arrays of each query, by number.
    """

    layouts: tuple[tuple[Any, tuple[int, ...]], ...]
    of_query: dict[str, list[np.ndarray]]

    @classmethod
    def of(cls, every: Sequence[Mapping[str, Any]], names: Sequence[str]) -> "Arrays":
        """Take the pytrees of all measures and queries apart, once for all runs."""
        numbers: dict[Hashable, int] = {}
        columns, layouts, held = [], [], []  # what is held keeps its id
        for arrays in every:
            _, tree = jax.tree.flatten(next(iter(arrays.values()), ()))
            leaves = [jax.tree.flatten(arrays[name])[0] for name in names]
            which = []
            held.append(leaves)
            for column in zip(*leaves, strict=True):  # of all queries
                number = numbers.setdefault(_identity(column), len(columns))
                if number == len(columns):
                    columns.append([*map(np.asarray, column)])
                which.append(number)
            layouts.append((tree, tuple(which)))
        of_query = {n: [c[i] for c in columns] for i, n in enumerate(names)}
        return cls(tuple(layouts), of_query)

    def shapes(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return padded shapes that hold the arrays of queries."""
        every = zip(*(self.of_query[name] for name in names), strict=True)
        return tuple(
            tuple(
                map(axis_length, map(max, zip(*(x.shape for x in each), strict=True)))
            )
            for each in every
        )


def _identity(column: Sequence[Any]) -> Hashable:
    """Find the arrays of all queries; equal numbers may be one object."""
    if all(isinstance(leaf, np.ndarray) for leaf in column):
        return tuple(map(id, column))
    return object()


class ListBatch(Batch):
    """Measures that look at the same documents, about as deep: computed in one call."""

    def __init__(self, members: Sequence[Member], depth: int | None, budget: int):
        """Take measures with the same `docs`.

        Args:
            members: the measures.
            depth: last rank that counts for any measure; None if all ranks do.
            budget: bytes of a tile.
        """
        self.members, self.depth, self.budget = members, depth, budget
        self.tensors = [member.tensors for member in members]
        self.docs = self.tensors[0].docs
        self.arrays = Arrays.of([t.arrays for t in self.tensors], list(self.docs))
        depths = [t.depth or ABSENT for t in self.tensors]
        self.depths = np.unique(np.array(depths, np.int32))
        kernels, numbers = [], []
        for member, last in zip(members, depths, strict=True):
            shape, of_measure = outlined(member.measure)
            place = int(self.depths.searchsorted(last))
            kernels.append(Kernel(member.tensors.kernel, shape, place))
            numbers += of_measure
        self.kernels, self.numbers = tuple(kernels), np.array(numbers)
        self.most_runs_yet, self.room = 0, 0  # of any chunk: smaller ones take the same

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "measures runs queries"]:
        """Score every run for every query by all measures."""
        chunk = ListTiles(self, rankings)
        scores = tiles.score(chunk, progress)
        return np.ascontiguousarray(scores.transpose(2, 1, 0))

    def tiles(self, rankings: "Rankings") -> list[TileBatch]:
        """All measures on these runs."""
        return [ListTiles(self, rankings)]


class ListTiles(TileBatch):
    """A chunk of runs, scored by several measures: `[queries, runs, measures]`."""

    def __init__(self, batch: ListBatch, rankings: "Rankings"):
        """Look up documents, and the weights of ranks."""
        self._batch, self._names, docs = batch, list(batch.docs), batch.docs
        flat = rankings.flat(docs, room=batch.room, narrow=not is_host())
        self.runs = flat.to_depth(batch.depth)
        self.rows, self.columns = self.runs.count.shape
        batch.room = self.runs.room
        batch.most_runs_yet = max(batch.most_runs_yet, self.columns)
        self.most_columns, self.budget = batch.most_runs_yet, batch.budget
        self.shape = (len(batch.members),)
        depth = batch.depth or ranks_length(rankings.last)
        which, tables = _weights(batch.tensors, depth)
        self._measures = batch.kernels, which, batch.arrays.layouts
        self.shared = self.runs.documents, tables, batch.numbers, batch.depths
        self._lengths = np.array([rankings.lengths(query) for query in docs], np.int32)
        most = self.runs.count.max(axis=1, initial=0).tolist()
        self._width = [*map(list_width, most)]
        widths: dict[int, list[str]] = {}
        for name, width in zip(self._names, self._width, strict=True):
            widths.setdefault(width, []).append(name)
        self._shapes = {
            width: batch.arrays.shapes(names) for width, names in widths.items()
        }

    def size(self, query: int) -> int:
        """Padded length of its lists."""
        return self._width[query]

    def nbytes(self, size: int) -> tuple[int, int]:
        """Bytes of the arrays of all measures, and of a list."""
        shapes = self._shapes[size]
        longest = max([size, *(axis for shape in shapes for axis in shape)])
        return 8 * sum(map(math.prod, shapes)), 64 * longest

    def pack_queries(self, queries: Sequence[int], size: int) -> list[PackedQueries]:
        """Stack each array, padded to the largest of all queries of a width."""
        of_query = self._batch.arrays.of_query
        every = zip(*(of_query[self._names[i]] for i in queries), strict=True)
        arrays = [
            stack(each, (len(queries), *shape), 0)
            for each, shape in zip(every, self._shapes[size], strict=True)
        ]
        return [PackedQueries(size, queries, arrays)]

    def pack_runs(self, queries: Sequence[int], runs: slice, size: int) -> Any:
        """Places of lists, and lengths of the runs."""
        del size
        return self.runs.where(queries, runs), self._lengths[queries, runs]

    def program(self, size: int) -> QueryProgram:
        """Score a query by all measures."""
        return list_program(*self._measures, size)

    def finish(self, queries: Sequence[int], runs: slice, result: Any) -> np.ndarray:
        """Put the scores by each measure side by side."""
        del queries, runs
        return np.stack(result, axis=-1)


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Put measures of lists together that are computed in one call."""
    groups: dict[tuple[int, int | None], list[Member]] = {}
    for member in members:
        depth = member.tensors.depth
        reach = next((d for d in _REACHES if (depth or 1e9) <= d), None)
        groups.setdefault((id(member.tensors.docs), reach), []).append(member)
    return [ListBatch(members, d, setting.budget) for (_, d), members in groups.items()]


def _weights(
    tensors: Sequence[Any], depth: int
) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Tables of the weights of ranks 0..depth, and which of them each measure has."""
    tables: dict[bytes, np.ndarray] = {}
    which = []
    for of_measure in tensors:
        table = of_measure.weights(depth)
        tables.setdefault(table.tobytes(), table)
        which.append(list(tables).index(table.tobytes()))
    return tuple(which), list(tables.values())


@cache
def list_program(
    kernels: tuple[Kernel, ...],
    which: tuple[int, ...],
    layouts: tuple[tuple[Any, tuple[int, ...]], ...],
    width: int,
) -> QueryProgram:
    """Score one query and several runs by the kernels of measures.

    Args:
        kernels: one of each measure.
        which: number of each measure's table of weights.
        layouts: the structure of each measure's arrays, and the number of each array.
        width: padded length of lists.
    """
    places = [tree.unflatten(of_leaves) for tree, of_leaves in layouts]

    def program(arrays: Any, runs: Any, shared: Any) -> Any:
        (where, lengths), (documents, weights, numbers, depths) = runs, shared
        each = range(numbers.shape[0])
        traced = (jax.lax.index_in_dim(numbers, i, keepdims=False) for i in each)
        measures = [rebuilt(kernel.outline, traced) for kernel in kernels]

        def of_run(vertex: Any, rank: Any, length: Any) -> Any:
            out = []
            last = [table.shape[0] - 1 for table in weights]
            weigh = cache(lambda i: picked(weights[i], jnp.minimum(rank, last[i])))
            reach = cache(lambda i: (rank > 0) & (rank <= depths[i]))
            for place, (kernel, i) in enumerate(zip(kernels, which, strict=True)):
                near, weight = reach(kernel.depth), weigh(i)
                run = RankedList(vertex, rank, near, weight, length)
                of_query = jax.tree.map(arrays.__getitem__, places[place])
                out.append(kernel.score(measures[place], run, of_query))
            return tuple(out)

        vertex, rank, there = listed(documents, where, width)
        vertex, rank = jnp.where(there, vertex, 0), jnp.where(there, rank + 1, 0)
        return jax.vmap(of_run)(vertex, rank, lengths)

    return program
