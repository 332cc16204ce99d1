"""Ranked lists × arrays about their documents → scores, by any kernel of lists."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member, Setting
from pgcjax.engine.cost import Group
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jax, jnp
from pgcjax.runtime.devices import local_device_count, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.padding import axis_length, list_width, ranks_length, stack
from pgcjax.tensors.rankings import Rankings
from pgcjax.tensors.retrieved import Retrieved, listed

_REACHES = (32, 128, 512)  # ranks; deeper measures are computed apart from shallow ones


class Kernel(NamedTuple):
    """The kernel of a measure, and what it is compiled for.

    Attributes:
        score: see `tensors.measure_tensors.ListTensors`.
        parameters: name and value of each that it reads.
        depth: last rank that counts; None if all do.
    """

    score: Callable[..., Any]
    parameters: tuple[tuple[str, Any], ...]
    depth: int | None


class _Lists(NamedTuple):
    """Judged documents of runs, `[queries, runs, width]`; and lengths of the runs."""

    vertex: np.ndarray
    rank: np.ndarray
    length: np.ndarray


class Arrays(NamedTuple):
    """The arrays of all measures, each of them once: many measures look at the same.

    XLA then computes once what several measures make of an array. Arrays are the same
    if they are one object for every query: those that are equal by chance would make
    another program for other judgments.

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
        """Give padded shapes that hold the arrays of queries."""
        every = zip(*(self.of_query[name] for name in names), strict=True)
        return tuple(
            tuple(
                map(axis_length, map(max, zip(*(x.shape for x in each), strict=True)))
            )
            for each in every
        )


def _read(
    parameters: Mapping[str, Any], names: tuple[str, ...] | None
) -> tuple[tuple[str, Any], ...]:
    """Give the parameters that a kernel reads."""
    every = parameters.items()
    return tuple((name, x) for name, x in every if names is None or name in names)


def _identity(column: Sequence[Any]) -> Hashable:
    """Tell the arrays of all queries from others; equal numbers may be one object."""
    if all(isinstance(leaf, np.ndarray) for leaf in column):
        return tuple(map(id, column))
    return object()


class _Width(NamedTuple):
    """Queries whose lists have one padded length.

    Attributes:
        width: the length.
        columns: number of each query.
        shapes: padded shapes of the arrays: of all tiles of a width, so that they have
            one program.
        per_query: bytes of the arrays of a query.
        per_pair: bytes of a run and query.
    """

    width: int
    columns: list[int]
    shapes: tuple[tuple[int, ...], ...]
    per_query: int
    per_pair: int


class ListBatch(Batch):
    """Measures that look at the same documents, about as deep: computed in one call."""

    def __init__(
        self, members: Sequence[Member], depth: int | None, budget: int = plan.BUDGET
    ):
        """Take measures with the same `docs`.

        Args:
            members: the measures.
            depth: last rank that counts for any; None if all do.
            budget: bytes of a tile.
        """
        self.members, self._depth, self._budget = members, depth, budget
        self._tensors = [member.tensors for member in members]
        self.docs = self._tensors[0].docs
        self.arrays = Arrays.of([t.arrays for t in self._tensors], list(self.docs))
        self._most_runs = 0  # of any chunk: smaller ones take the shapes of the largest
        self._kernels = tuple(
            Kernel(t.kernel, _read(m.measure.parameters, t.reads), t.depth)
            for m, t in zip(members, self._tensors, strict=True)
        )

    def score(
        self, rankings: Rankings, progress: Progress | None = None
    ) -> Float64[np.ndarray, "measures runs queries"]:
        """Score every run for every query by all measures."""
        runs = len(rankings.run_ids)
        self._most_runs = max(runs, self._most_runs)
        out = np.zeros((len(self.members), len(self.docs), runs))
        done, total = 0, len(self.docs) * runs
        calls = self._calls(rankings)
        for (columns, part), tiles in results(calls, progress=progress):
            queries, together = len(columns), part.stop - part.start
            for values, tile in zip(out, tiles, strict=True):
                values[columns, part] = np.asarray(tile)[:queries, :together]
            done += queries * together
            if progress:
                progress("scoring", done, total)
        return np.ascontiguousarray(out.swapaxes(1, 2))

    def foresee(self, sample: Rankings) -> list[Group]:
        """Group queries by the length of their lists."""
        retrieved = list(sample.retrieved(self.docs).values())
        names = list(self.docs)
        what = ", ".join(str(member.measure) for member in self.members)
        out = []
        for group in self._widths(retrieved):
            vertices = sum(len(self.docs[names[i]]) for i in group.columns)
            sizes = group.width, len(group.columns), vertices
            costs = group.per_query, group.per_pair
            name = what if len(self.members) < 4 else f"{len(self.members)} measures"
            measures = len(self.members)
            out.append(Group(name, "lists", *sizes, *costs, measures))
        return out

    def _calls(self, rankings: Rankings) -> Iterator[Call]:
        names, runs = list(self.docs), len(rankings.run_ids)
        retrieved = list(rankings.retrieved(self.docs).values())
        depth = self._depth or ranks_length(rankings.last)
        which, weights = self._weights(depth)
        for group in self._widths(retrieved):
            tile = queries, together = plan.tile(
                len(group.columns),
                self._most_runs,
                per_query=group.per_query,
                per_pair=group.per_pair,
                devices=local_device_count(),
                budget=self._budget,
            )
            what = self._kernels, which, self.arrays.layouts
            program = *what, tile, group.width, group.shapes
            program = *program, tuple(map(len, weights)), local_device_count()
            for low in range(0, len(group.columns), queries):
                columns = group.columns[low : low + queries]
                stacked = self._stacked([names[i] for i in columns], group, queries)
                arrays = place(stacked)
                length = np.array([rankings.lengths(names[i]) for i in columns])
                for first in range(0, runs, together):
                    part = slice(first, min(first + together, runs))
                    lists = listed(
                        *([retrieved[i] for i in columns], part, tile),
                        *(group.width, self._depth),
                    )
                    lengths = stack([*length[:, part]], tile, 0)
                    cut = arrays, place(_Lists(*lists, lengths))
                    make = partial(_score, *what, cut, weights)
                    yield Call((columns, part), make, program)

    def _widths(self, retrieved: Sequence[Retrieved]) -> list[_Width]:
        names = list(self.docs)
        widths = [list_width(found.most(self._depth)) for found in retrieved]
        out = []
        for width in sorted(set(widths), reverse=True):
            columns = [i for i, w in enumerate(widths) if w == width]
            of_width = [names[i] for i in columns]
            shapes = self.arrays.shapes(of_width)
            axes = [axis for shape in shapes for axis in shape]
            per_query = 8 * sum(map(math.prod, shapes))
            per_pair = 64 * max(width, *axes, 0)
            out.append(_Width(width, columns, shapes, per_query, per_pair))
        return out

    def _stacked(self, names: Sequence[str], group: _Width, queries: int) -> list[Any]:
        """Stack the arrays of queries, padded with zeros."""
        every = zip(*(self.arrays.of_query[name] for name in names), strict=True)
        return [
            stack(each, (queries, *shape), 0)
            for each, shape in zip(every, group.shapes, strict=True)
        ]

    def _weights(self, depth: int) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Give tables of the weights of ranks 0..depth, and which is each measure's."""
        tables: dict[bytes, np.ndarray] = {}
        which = []
        for tensors in self._tensors:
            table = tensors.by_rank(depth) if tensors.by_rank else np.zeros(1)
            tables.setdefault(table.tobytes(), table)
            which.append(list(tables).index(table.tobytes()))
        return tuple(which), list(tables.values())


def batches(members: Sequence[Member], setting: Setting) -> list[Batch]:
    """Put measures of lists together that are computed in one call."""
    groups: dict[tuple[int, int | None], list[Member]] = {}
    for member in members:
        depth = member.tensors.depth
        reach = next((d for d in _REACHES if (depth or 1e9) <= d), None)
        groups.setdefault((id(member.tensors.docs), reach), []).append(member)
    return [ListBatch(members, d, setting.budget) for (_, d), members in groups.items()]


def _score(
    kernels: tuple[Kernel, ...], which: tuple[int, ...], layouts: tuple, cut, weights
) -> tuple:
    program = list_program(kernels, which, layouts, local_device_count())
    return program(cut, weights)


@cache
def list_program(
    kernels: tuple[Kernel, ...],
    which: tuple[int, ...],
    layouts: tuple[tuple[Any, tuple[int, ...]], ...],
    devices: int,
) -> Callable:
    """Map the kernels of measures over queries, and runs inside.

    Args:
        kernels: one of each measure.
        which: the number of each measure's table of weights.
        layouts: the structure of each measure's arrays, and the number of each array.
        devices: over which queries are spread.
    """
    numbers = [tree.unflatten(of_leaves) for tree, of_leaves in layouts]

    def scores_of_one(arrays, lists, weights):
        vertex, rank, length = lists
        out = []
        for kernel, of_query, i in zip(kernels, numbers, which, strict=True):
            where = (rank > 0) & (rank <= (kernel.depth or ABSENT))
            last = weights[i].shape[0] - 1
            weight = weights[i][jnp.minimum(rank, last)]
            run = RankedList(vertex, rank, where, weight, length)
            of_query = jax.tree.map(arrays.__getitem__, of_query)
            out.append(kernel.score(run, of_query, dict(kernel.parameters)))
        return tuple(out)

    def over_queries(cut, weights):
        arrays, lists = cut
        over_runs = jax.vmap(scores_of_one, in_axes=(None, 0, None))
        return jax.vmap(over_runs, in_axes=(0, 0, None))(arrays, lists, weights)

    return Program(over_queries, devices)
