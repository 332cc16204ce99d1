"""The one pipeline: queries × runs, cut into tiles, laid out, called and collected.

A `TileBatch` defines the computation for one query and several runs. Everything else is
here: queries are grouped by padded size, so that each size is compiled once; groups are
cut into tiles that fit memory; a tile is laid out while the previous ones are computed;
each device computes its part of a tile's queries; results are put in their places.

Nothing here changes a score: neither the cut, nor the order, nor the devices.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax.engine import plan
from pgcjax.errors import Progress
from pgcjax.later import jax
from pgcjax.runtime.devices import (
    default_backend,
    everywhere,
    is_host,
    local_device_count,
    place,
)
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program, in_one_piece
from pgcjax.tensors.padding import blank

PyTree = Any
QueryProgram = Callable[[PyTree, PyTree, PyTree], PyTree]
"""A pure function `(query, runs, shared)` → `[runs, …]`, of arrays of one query."""

_LARGE = 2**23  # bytes of a tile's queries, times runs, that are worth a thread


class Pace(NamedTuple):
    """Order in which a program goes through a tile on this device.

    Attributes:
        step: Most runs that are computed at once; None: all of a tile.
        in_turn: whether one query is computed after another, each with its own number
            of iterations, which is faster on a CPU; else all at once.
        in_one_piece: whether to compile one function of machine code, only for CPUs,
            which saves a call for each operation; it may not scatter or sort.
    """

    step: int | None = None
    in_turn: bool = False
    in_one_piece: bool = False


class PackedQueries(NamedTuple):
    """Queries of one size that are laid out.

    Attributes:
        size: Size of all these queries.
        queries: Numbers of the queries.
        arrays: Pytree of arrays whose first axis is queries.
    """

    size: Any
    queries: Sequence[int]
    arrays: PyTree


class TileBatch(ABC):
    """Queries and runs that are computed together.

    Attributes:
        rows: Number of queries, or of items of the first axis.
        columns: Number of runs, or of items of the second axis.
        most_columns: Most columns of any call; calls with fewer have the same programs.
        budget: Bytes of a tile.
        rounds: How often a call goes through a tile's queries, for each run.
        shared: Arrays that every call needs as a whole.
        shape: Shape of a score.
        dtype: Type of a score.
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
        """Order in which the program of a size goes through a tile."""
        del size
        return Pace()

    @abstractmethod
    def pack_queries(
        self, queries: Sequence[int], size: Any
    ) -> Sequence[PackedQueries]:
        """Lay out the arrays that do not depend on runs.

        Args:
            queries: Queries of a tile.
            size: Size of these queries; results may have others, such as fewer votes.
        """

    def keep(self, part: PackedQueries, arrays: PyTree) -> None:
        """Take laid out arrays as the devices have them, for later runs."""
        del part, arrays

    @abstractmethod
    def pack_runs(self, queries: Sequence[int], runs: slice, size: Any) -> PyTree:
        """Lay out the arrays that depend on runs: `[queries, runs, …]`."""

    @abstractmethod
    def program(self, size: Any) -> QueryProgram:
        """The program of a size: the same object each time, of plain contents."""

    def leave_out(self, size: Any, error: Exception) -> None:
        """Have `program` return another one, as the call of its last one failed.

        Raises:
            Exception: the error, if there is no other.
        """
        del size
        raise error

    def finish(self, queries: Sequence[int], runs: slice, result: PyTree) -> np.ndarray:
        """Convert results of the program to scores: `[queries, runs, …]` of `shape`."""
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
    groups = cut(batch)
    done, total = 0, sum(len(group.queries) for group in groups) * batch.columns
    out = np.zeros((batch.rows, batch.columns, *batch.shape), batch.dtype)
    for (queries, runs), result in results(calls(batch, groups), progress=progress):
        filled = slice(len(queries)), slice(runs.stop - runs.start)
        result = jax.tree.map(lambda x: np.asarray(x)[filled], result)  # noqa: B023
        out[queries, runs] = batch.finish(queries, runs, result)
        done += len(queries) * (runs.stop - runs.start)
        if progress:
            progress("scoring", done, total)
    return out


class SizeGroup(NamedTuple):
    """Queries of one padded size, and how many queries and runs a tile has."""

    size: Any
    queries: list[int]
    tile: tuple[int, int]

    def calls(self, columns: int) -> int:
        """Count the tiles."""
        together, at_once = self.tile
        return -(-len(self.queries) // together) * -(-columns // at_once)


def cut(batch: TileBatch) -> list[SizeGroup]:
    """Group queries by size, the largest first: what is computed last is soon done."""
    groups: dict[Any, list[int]] = {}
    for query in range(batch.rows):
        if (size := batch.size(query)) is not None:
            groups.setdefault(size, []).append(query)
    return [
        SizeGroup(size, groups[size], _tile(batch, size, len(groups[size])))
        for size in sorted(groups, key=batch.nbytes, reverse=True)
    ]


def _tile(batch: TileBatch, size: Any, queries: int) -> tuple[int, int]:
    """Choose the number of queries and of runs of all tiles of a size."""
    per_query, per_pair = batch.nbytes(size)
    in_turn = default_backend() == "cpu" and batch.pace(size).in_turn
    return plan.tile(
        queries,
        batch.most_columns,
        per_query=per_query,
        per_pair=per_pair,
        devices=local_device_count(),
        budget=batch.budget,
        most=plan.settings.tile if in_turn else batch.budget,
        on_gpu=default_backend() == "gpu",
    )


def calls(
    batch: TileBatch, groups: Sequence[SizeGroup] | None = None
) -> Iterator[Call]:
    """Lay all tiles out, and name the call of each; labels are its queries and runs."""
    shared = everywhere(batch.shared)
    for size, queries, tile in cut(batch) if groups is None else groups:
        for low in range(0, len(queries), tile[0]):
            for part in batch.pack_queries(queries[low : low + tile[0]], size):
                same = part.size == size
                shape = tile if same else _tile(batch, part.size, len(part.queries))
                yield from _calls_of(batch, part, shape, shared)


def _calls_of(
    batch: TileBatch, part: PackedQueries, shape: tuple[int, int], shared: PyTree
) -> Iterator[Call]:
    """Name the calls of queries that are laid out, of some runs after the others."""
    size, queries, arrays = part
    fixed = place(_padded(arrays, shape[:1]), several=True)
    if not is_host():
        batch.keep(part, fixed)
    devices = local_device_count()
    work = shape[0] * shape[1] * batch.nbytes(size)[0] * batch.rounds
    for first in range(0, batch.columns, shape[1]):
        runs = slice(first, min(first + shape[1], batch.columns))
        moving = place(_padded(batch.pack_runs(queries, runs, size), shape))
        shapes = map(np.shape, jax.tree.flatten((fixed, moving, shared))[0])
        program = batch.program(size)
        make = compiled(program, batch.pace(size), devices)
        key = program, size, tuple(shapes), devices
        tile = (fixed, moving), shared
        instead = partial(_instead, batch, size, tile)
        make = partial(make, *tile)
        yield Call((queries, runs), make, key, work >= _LARGE, instead)


def _instead(batch: TileBatch, size: Any, arrays: PyTree, error: Exception) -> PyTree:
    """Call the program that follows one that failed, or the next one after it."""
    batch.leave_out(size, error)
    program = compiled(batch.program(size), batch.pace(size), local_device_count())
    try:
        return program(*arrays)
    except Exception as another:
        return _instead(batch, size, arrays, another)


def _padded(arrays: PyTree, shape: tuple[int, ...]) -> PyTree:
    """Pad the first axes with zeros to a tile's, or cut the padding of a larger one."""

    def filled(array: np.ndarray) -> np.ndarray:
        here = array.shape[: len(shape)]
        if here == shape:
            return array
        out = blank((*shape, *array.shape[len(shape) :]), 0, array.dtype)
        common = tuple(map(slice, map(min, here, shape)))
        out[common] = array[common]
        return out

    return jax.tree.map(filled, arrays)


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
