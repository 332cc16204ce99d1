"""The one pipeline: queries × runs, cut into tiles, laid out, called and collected.

A `TileBatch` says what is computed for one query and several runs. Everything else is
here: queries are grouped by padded size, so that each size is compiled once; groups are
cut into tiles that fit memory; tiles are laid out while those before are computed; each
device has its part of a tile's queries; results are put in their place.

Nothing here changes a score: neither the cut, nor the order, nor the devices.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax.engine import plan
from pgcjax.errors import Progress
from pgcjax.later import jax
from pgcjax.runtime.devices import everywhere, local_device_count, place
from pgcjax.runtime.loop import THREADS, Call, results
from pgcjax.runtime.programs import Program, in_one_piece
from pgcjax.tensors.padding import blank

PyTree = Any
QueryProgram = Callable[[PyTree, PyTree, PyTree], PyTree]
"""A pure function `(query, runs, shared)` → `[runs, …]`, of arrays of one query."""

_LARGE = 2**23  # bytes of a tile's queries, times runs, that are worth a thread


class Pace(NamedTuple):
    """How a program goes through a tile on this device.

    Attributes:
        step: most runs that are computed at once; None: all of a tile.
        in_turn: whether one query is computed after another, each with its own number
            of iterations, as a CPU had better; else all at once.
        in_one_piece: whether it is to be one function of machine code, for CPUs alone,
            which spares a call for each operation: it may not scatter or sort.
        near: whether the queries of a tile are to stay in a core's cache.
    """

    step: int | None = None
    in_turn: bool = False
    in_one_piece: bool = False
    near: bool = False


class PackedQueries(NamedTuple):
    """Queries of one size that are laid out.

    Attributes:
        size: of all of them.
        queries: their numbers.
        arrays: a pytree whose first axis is queries; there may be zeros behind them.
    """

    size: Any
    queries: Sequence[int]
    arrays: PyTree


class TileBatch(ABC):
    """What is computed together: all that the pipeline knows of it.

    Attributes:
        rows: number of queries, or of whatever stands in the first axis.
        columns: number of runs, or of whatever stands in the second.
        most_columns: of any call; a call with fewer has the same programs.
        budget: bytes of a tile.
        rounds: how often a call goes through a tile's queries, for each run.
        shared: arrays that every call needs as a whole.
        shape: of a score.
        dtype: of a score.
    """

    rows: int
    columns: int
    most_columns: int
    budget: int = plan.BUDGET
    rounds: int = 1
    shared: PyTree = ()
    shape: tuple[int, ...] = ()
    dtype: Any = np.float64

    @abstractmethod
    def size(self, query: int) -> Any:
        """Padded size of a query: those of one size share a program; None: all 0."""

    @abstractmethod
    def nbytes(self, size: Any) -> tuple[int, int]:
        """Bytes that a query takes in a tile, and that each of its runs takes."""

    def pace(self, size: Any) -> Pace:
        """How the program of a size goes through a tile."""
        del size
        return Pace()

    @abstractmethod
    def pack_queries(
        self, parts: Sequence[tuple[Any, Sequence[int]]]
    ) -> Sequence[PackedQueries]:
        """Lay out what does not depend on runs.

        Args:
            parts: few queries, by size. What is laid out may have other sizes, such as
                for another form of a graph.
        """

    @abstractmethod
    def pack_runs(self, queries: Sequence[int], runs: slice, size: Any) -> PyTree:
        """Lay out what depends on runs: arrays `[queries, runs, …]`."""

    @abstractmethod
    def program(self, size: Any) -> QueryProgram:
        """The program of a size: the same object each time, of plain contents."""

    def choose(self, size: Any, shape: Hashable, run: Callable[[Any], Any]) -> Any:
        """Choose among sizes whose programs take the same arrays and give equal bits.

        Args:
            size: of the tile.
            shape: of the tile.
            run: starts the program of a size.
        """
        del shape, run
        return size

    def finish(self, queries: Sequence[int], runs: slice, result: PyTree) -> np.ndarray:
        """Scores of what the program gave: `[queries, runs, …]`, as of `shape`."""
        del queries, runs
        return result


def score(batch: TileBatch, progress: Progress | None = None) -> np.ndarray:
    """Compute a batch for all queries and runs.

    Args:
        batch: what to compute.
        progress: called with `("scoring", done, total)`, pairs of a query and a run,
            and with `("compiling", done, total)` for new programs.

    Returns:
        `[rows, columns, …]`, as of `shape`; 0 where a query has no size.
    """
    sizes = [batch.size(query) for query in range(batch.rows)]
    done, total = 0, (len(sizes) - sizes.count(None)) * batch.columns
    out = np.zeros((batch.rows, batch.columns, *batch.shape), batch.dtype)
    for (queries, runs), result in results(calls(batch), progress=progress):
        cut = slice(len(queries)), slice(runs.stop - runs.start)
        result = jax.tree.map(lambda x: np.asarray(x)[cut], result)  # noqa: B023
        out[queries, runs] = batch.finish(queries, runs, result)
        done += len(queries) * (runs.stop - runs.start)
        if progress:
            progress("scoring", done, total)
    return out


def _groups(batch: TileBatch) -> dict[Any, list[int]]:
    """Group queries by size, the largest first: what is computed last is soon done."""
    groups: dict[Any, list[int]] = {}
    for query in range(batch.rows):
        if (size := batch.size(query)) is not None:
            groups.setdefault(size, []).append(query)
    by_bytes = sorted(groups, key=batch.nbytes, reverse=True)
    return {size: groups[size] for size in by_bytes}


def _blocks(
    batch: TileBatch, groups: dict[Any, list[int]]
) -> Iterator[list[tuple[Any, list[int]]]]:
    """Cut queries into blocks that are laid out together.

    numpy takes as long for a few small queries as for many, so that sizes of few
    queries share a block; large ones would fill memory.
    """
    most = plan.settings.block // 8
    block: list[tuple[Any, list[int]]] = []
    room = most
    for size, queries in groups.items():
        each = batch.nbytes(size)[0]
        together = plan.block(each)
        for low in range(0, len(queries), together):
            part = queries[low : low + together]
            if block and len(part) * each > room:
                yield block
                block, room = [], most
            block.append((size, part))
            room -= len(part) * each
    if block:
        yield block


def calls(batch: TileBatch) -> Iterator[Call]:
    """Lay all tiles out, and name the call of each; labels are its queries and runs."""
    groups, shared = _groups(batch), everywhere(batch.shared)
    columns, alone = batch.columns, len(groups) == 1
    for block in _blocks(batch, groups):
        for size, queries, arrays in batch.pack_queries(block):
            most = min(len(groups.get(size, ())), plan.block(batch.nbytes(size)[0]))
            number = max(len(queries), most)
            together, at_once = shape = _shape(batch, size, number, alone)
            work = together * at_once * batch.nbytes(size)[0] * batch.rounds
            for low in range(0, len(queries), together):
                part = queries[low : low + together]
                fixed = place(_cut(arrays, low, together))
                for first in range(0, columns, at_once):
                    runs = slice(first, min(first + at_once, columns))
                    moving = place(_padded(batch.pack_runs(part, runs, size), shape))
                    make = partial(_make, batch, size, shape, (fixed, moving), shared)
                    shapes = tuple(
                        map(np.shape, jax.tree.flatten((fixed, moving, shared))[0])
                    )
                    program = batch.program(size), size, shapes, local_device_count()
                    yield Call((part, runs), make, program, work >= _LARGE)


def _shape(
    batch: TileBatch, size: Any, queries: int, alone: bool = False
) -> tuple[int, int]:
    """Choose the number of queries and of runs of all tiles of a size."""
    per_query, per_pair = batch.nbytes(size)
    near = batch.pace(size).near
    return plan.tile(
        queries,
        batch.most_columns,
        per_query=per_query,
        per_pair=per_pair,
        devices=local_device_count(),
        budget=batch.budget,
        near=near,
        threads=THREADS if near and alone else 1,
    )


def _cut(arrays: PyTree, low: int, length: int) -> PyTree:
    """Take the queries of a tile out of those that are laid out."""

    def part(array: np.ndarray) -> np.ndarray:
        return _filled(array[low : low + length], (length,))

    return jax.tree.map(part, arrays)


def _padded(arrays: PyTree, shape: tuple[int, int]) -> PyTree:
    """Pad queries and runs to a tile's."""
    return jax.tree.map(lambda array: _filled(array, shape), arrays)


def _filled(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Pad the first axes with zeros to a shape."""
    here = array.shape[: len(shape)]
    if here == shape:
        return array
    out = blank((*shape, *array.shape[len(shape) :]), 0, array.dtype)
    out[tuple(map(slice, here))] = array
    return out


def _make(
    batch: TileBatch, size: Any, shape: tuple[int, int], cut: PyTree, shared: PyTree
) -> PyTree:
    """Call the program of a tile, or the fastest of those with equal bits."""

    def run(size: Any) -> PyTree:
        program = compiled(batch.program(size), batch.pace(size), local_device_count())
        return program(cut, shared)

    return run(batch.choose(size, shape, run))


@cache
def compiled(
    program: QueryProgram, pace: Pace, devices: int
) -> Callable[[PyTree, PyTree], PyTree]:
    """Map a program of one query over queries, those of each device by themselves.

    Args:
        program: see `QueryProgram`.
        pace: how it goes through a tile.
        devices: how many.

    Returns:
        A function of arrays that are cut along queries, those that do not depend on the
        run and those that do; and of shared ones.
    """

    def of_query(query: PyTree, runs: PyTree, shared: PyTree) -> PyTree:
        number = jax.tree.leaves(runs)[0].shape[0]
        step = min(pace.step or number, number)
        step = next(n for n in range(step, 0, -1) if number % n == 0)
        if step == number:
            return program(query, runs, shared)
        cut = jax.tree.map(lambda x: x.reshape(-1, step, *x.shape[1:]), runs)
        parts = jax.lax.map(lambda part: program(query, part, shared), cut)
        return jax.tree.map(lambda x: x.reshape(number, *x.shape[2:]), parts)

    def over_queries(cut: PyTree, shared: PyTree) -> PyTree:
        queries, runs = cut
        if pace.in_turn:
            return jax.lax.map(lambda one: of_query(one[0], one[1], shared), cut)
        return jax.vmap(of_query, in_axes=(0, 0, None))(queries, runs, shared)

    whole = in_one_piece(over_queries) if pace.in_one_piece else over_queries
    return Program(whole, devices)
