"""The programs that `gpu_bounds` compiles: which, and of what shapes."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import gpu_kernels, gpu_rows, inputs
from pgcjax.tensors.adjacency import PackedGraphs
from pgcjax.tensors.flat_runs import RunRanks, Where
from pgcjax.tensors.padding import padded_size

QUERIES, RUNS = 173, 1000
SMALL, LARGE = 16, 170
TRITON, XLA = "peel, Triton", "peel, XLA"


class Row(NamedTuple):
    """What is to be compiled: as of `Compiled`; `make` gives program and arguments.

    XLA peels in loops of launches; a loop in one of its kernels has few turns.
    """

    row: str
    shape: str
    pairs: int
    turns: int
    runs: int
    make: Callable[[], tuple[Any, Any]]


def peels(queries: int, runs: int, n: int, shape: str) -> Iterator[Row]:
    """List ways to peel."""
    pairs, fit = queries * runs, 1024 // padded_size(n)
    each = min(8, 1 << (fit.bit_length() - 1))
    make = partial(_triton, queries, runs, n)
    yield Row(TRITON, shape, pairs, n, each, make)
    yield Row(XLA, shape, pairs, 1, 0, partial(_packed, queries, runs, n))


def rows() -> Iterator[Row]:
    """List all that is to be compiled."""
    for n in (LARGE, SMALL):
        whole = f"{QUERIES} × {RUNS}, N = {n}"
        yield from peels(QUERIES, RUNS, n, whole)
        pairs = QUERIES * RUNS
        yield Row("levels", whole, pairs, n, 0, partial(_levels, QUERIES, RUNS, n))
        make = partial(_work, gpu_kernels.lists, n)
        yield Row("lists", whole, pairs, n, 0, make)
    for name, work in (
        ("grids", gpu_kernels.grids),
        ("grid pairs", gpu_kernels.grid_pairs),
    ):
        shape, make = f"{QUERIES} × 64, N = 64", partial(_work, work, 64, runs=64)
        yield Row(name, shape, 64 * QUERIES, 64, 0, make)
    for kind in ("bootstrap", "permutation"):
        pairs, b = gpu_kernels.PAIRS, gpu_kernels.RESAMPLES
        shape = f"{pairs} pairs, {QUERIES} queries, B = {b}"
        yield Row(kind, shape, pairs, 1, 0, partial(_resampled, kind))
    for queries, n in ((32, SMALL), (2, LARGE)):
        count = gpu_kernels.REPLICATES
        shape, make = (
            f"{count} × {queries} × 64, N = {n}",
            partial(_replicates, queries, n),
        )
        yield Row("replicates", shape, 64 * count * queries, 1, 0, make)


def _of(*shape: int, dtype: Any = np.int32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def _peeled(queries: int, runs: int, n: int) -> tuple[Any, Any, Any]:
    size = padded_size(n)
    where = _of(queries, size, dtype=np.bool_)
    graphs = PackedGraphs(_of(queries, size, size), _of(queries, size), where)
    ranks = RunRanks(*[_of(queries, runs, size)] * 3)
    return graphs, ranks, _of(1001, dtype=np.int64)


def _triton(queries: int, runs: int, n: int, **options: int) -> Any:
    program = gpu_rows.pallas_program(**options)
    return program, _peeled(queries, runs, n)


def _packed(queries: int, runs: int, n: int) -> Any:
    graphs, ranks, weights = _peeled(queries, runs, n)
    cut = graphs, ranks, _of(queries)
    return gpu_rows.one_word_program(False), (cut, (weights,))


def _levels(queries: int, runs: int, n: int) -> Any:
    room = round(queries * runs * n * inputs.RETRIEVED)
    each = _of(queries, runs)
    cut = _of(queries, 8), Where(each, each), _of(queries)
    shared = _of(room), _of(room), _of(1001, dtype=np.int64)
    most = padded_size(round(n * min(1.0, inputs.RETRIEVED + 0.1)))
    return gpu_rows.levels_program(most), (cut, shared)


def _work(make: Any, n: int, runs: int = RUNS) -> Any:
    """Take a program of `gpu_kernels` for few queries and runs, and enlarge it."""
    few = make(3, 7, n)
    return few.program, _enlarged(few.arguments, {3: QUERIES, 7: runs})


def _resampled(kind: str) -> Any:
    work = gpu_kernels.resampled(kind, 11, 7, 13)
    larger = {11: QUERIES, 7: RUNS, 13: gpu_kernels.PAIRS}
    return work.program, _enlarged(work.arguments, larger)


def _replicates(queries: int, n: int) -> Any:
    work = gpu_kernels.replicates(queries, 64, n)  # whose program is for as many runs
    return work.program, _enlarged(work.arguments, {})


def _enlarged(arguments: Any, axes: dict[int, int]) -> Any:
    def larger(x: Any) -> Any:
        shape = [axes.get(d, d) for d in np.shape(x)]
        return _of(*shape, dtype=x.dtype)

    return jax.tree.map(larger, arguments)
