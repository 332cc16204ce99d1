"""Ways to peel on a device, compiled and with their inputs there; for `gpu.py`."""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from benchmarks import baselines, ours
from benchmarks.inputs import Case
from pgcjax.engine import peel_batches
from pgcjax.kernels import peel_packed
from pgcjax.tensors import adjacency
from pgcjax.tensors.padding import padded_size

LIMB = 21  # bits: 1024 of them add up in an int32
CHUNK = 16  # queries that are laid out at the same time


@dataclass(frozen=True)
class Row:
    """One way to compute the sums of a case.

    Attributes:
        name: what its row is called.
        call: computes all, or for the textbook a third of the bits, and waits for it.
        sums: computes int64 `[queries, runs]`.
        compile: seconds that tracing and compiling took; None where not measured.
        scratch: bytes on the device beside inputs and result; None where not known.
        moved: bytes that a call reads and writes at the least, from the shapes alone.
        ours: whether it is a form of pgcjax's.
        note: what else is to be known.
    """

    name: str
    call: Callable[[], Any]
    sums: Callable[[], np.ndarray]
    compile: float | None
    scratch: int | None
    moved: int
    ours: bool = True
    note: str = ""


@dataclass(frozen=True)
class Arrays:
    """A case as the kernels take it: on the host, or on a device."""

    fixed: tuple
    moving: tuple
    steps: Any
    shared: tuple

    def on(self, device: jax.Device, queries: slice = slice(None)) -> "Arrays":
        """Put some queries on a device."""

        def put(x):
            return jax.device_put(x[queries], device)

        with jax.enable_x64(True):
            fixed, moving = (tuple(map(put, x)) for x in (self.fixed, self.moving))
            shared = jax.device_put(self.shared, device)
            return Arrays(fixed, moving, put(self.steps), shared)

    @property
    def pairs(self) -> int:
        """Number of pairs of a query and a run."""
        return int(np.prod(self.moving[-1].shape[:2]))

    @property
    def width(self) -> int:
        """Padded number of documents."""
        return self.moving[0].shape[-1]


def lay_out(case: Case, weights: np.ndarray, form: str) -> Arrays:
    """Lay out all queries and runs of a case as one batch, on the host.

    Raises:
        ValueError: some graph takes another form.
    """
    graphs = list(case.graphs.values())
    size = padded_size(max(map(len, graphs)))
    chunks = [slice(i, i + CHUNK) for i in range(0, len(graphs), CHUNK)]
    ready = [g for some in chunks for g in adjacency.prepare(graphs[some], size)]
    if {g.form for g in ready} != {form}:
        raise ValueError(f"{case.title}: not every graph has the form {form!r}")
    ready = [replace(g, size=max(g.size for g in ready)) for g in ready]
    retrieved = case.rankings.retrieved({g.query_id: g.doc_ids for g in graphs})
    found = [retrieved[g.query_id] for g in graphs]
    runs = slice(0, case.shape[0])
    if form == "levels":
        fixed = adjacency.batch_graphs(ready, len(ready))
        known = ready, found, runs, (len(ready), runs.stop)
        flat = adjacency.batch_levels(*known, sum(int(f.starts[-1]) for f in found))
        shared = flat.value, flat.rank, weights
        return Arrays(fixed, (flat.first, flat.count), flat.count.max(1), shared)
    fixed, moving, steps = [], [], []
    for some in chunks:
        members = ready[some]
        fixed.append(adjacency.batch_graphs(members, len(members)))
        shape = len(members), runs.stop
        laid, count = adjacency.batch_rankings(members, found[some], runs, shape)
        moving.append(laid)
        steps.append(count)
    join = [tuple(map(np.concatenate, zip(*x, strict=True))) for x in (fixed, moving)]
    return Arrays(*join, np.concatenate(steps), (weights,))


def _row(name: str, program: Any, arguments: tuple, moved: int) -> Row:
    """Compile for arguments that are on a device."""
    with jax.enable_x64(True):
        start = time.perf_counter()
        compiled = program.lower(*arguments).compile()
        seconds = time.perf_counter() - start

    def call() -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready(compiled(*arguments))

    return Row(
        name, call, lambda: np.asarray(call()), seconds, _scratch(compiled), moved
    )


def _scratch(compiled: Any) -> int | None:
    try:
        return compiled.memory_analysis().temp_size_in_bytes
    except Exception:  # not every device tells
        return None


def one_word(arrays: Arrays, backend: str) -> Row:
    """Peel one word per vertex by XLA, everything in one call.

    A step reads a word of each vertex and of the row to subtract, and writes one.
    """
    if backend == "cpu":
        program = peel_batches._batched("words", 1, backend)
    else:

        def one(fixed, moving, steps, weights):
            (rows, start, where), (order, inverse, ranks) = fixed, moving
            return peel_packed.peeled_overlap(
                rows, start, order, inverse, ranks, steps, weights, where=where
            )

        def batch(fixed, moving, steps, weights):
            # As many steps as places: a count that is known needs no test on the way.
            runs = jax.vmap(one, in_axes=(None, 0, None, None))
            queries = jax.vmap(runs, in_axes=(0, 0, None, None))
            return queries(fixed, moving, moving[0].shape[-1], weights)

        program = jax.jit(batch)
    moved = 12 * arrays.pairs * arrays.width**2
    return _row("XLA, one word", program, _arguments(arrays), moved)


def levels(arrays: Arrays, backend: str) -> Row:
    """Count per level: a step reads and writes a count of each."""
    steps = int(np.max(arrays.steps))
    states = arrays.pairs * arrays.fixed[0].shape[-1] * steps
    moved = 8 * states + 8 * arrays.pairs * steps
    most = 0 if backend == "cpu" else padded_size(steps)
    program = peel_batches._batched("levels", 1, backend, most)
    return _row("levels", program, _arguments(arrays), moved)


def _arguments(arrays: Arrays) -> tuple:
    return arrays.fixed, arrays.moving, arrays.steps, *arrays.shared


def has_pallas() -> bool:
    """Say whether this version has the kernel."""
    return importlib.util.find_spec("pgcjax.kernels.peel_pallas") is not None


def pallas(arrays: Arrays, name: str, **options: Any) -> Row:
    """Peel in one launch, `options` being the kernel's.

    A step reads a row, mostly from the cache that all processors share; the words stay
    in registers, and the rest is read once.
    """
    from pgcjax.kernels import peel_pallas

    def one(fixed, moving, weights):
        (rows, start, where), (order, inverse, ranks) = fixed, moving
        return peel_pallas.peeled_overlap(
            rows,
            start,
            order,
            inverse,
            ranks,
            order.shape[-1],
            weights,
            where=where,
            **options,
        )

    program = jax.jit(jax.vmap(one, in_axes=(0, 0, None)))
    vertices = int(np.max(arrays.steps))
    moved = 4 * arrays.pairs * arrays.width * (vertices + 3)
    arguments = arrays.fixed, arrays.moving, *arrays.shared
    return _row(name, program, arguments, moved)


def textbook(case: Case, weights: np.ndarray) -> Row:
    """Peel as JAX's tutorials would, without our padding, in JAX's 32 bits.

    In 64 bits its ranks would be twice as wide, which is no fault of the form. So its
    sums come in three parts, from three calls; one call is timed. A step reads two
    slices of the matrix and the run's order, and reads and writes two degrees and a
    mask.
    """
    runs, queries = case.shape
    graphs = list(case.graphs.values())
    beats = np.stack([graph.edges() for graph in graphs])
    ranks = np.stack([case.ranks(graph.query_id) for graph in graphs])
    where = np.ones(beats.shape[:2], bool)
    limbs = [
        (weights >> shift & (1 << LIMB) - 1).astype(np.int32)
        for shift in range(0, 63, LIMB)
    ]
    with jax.enable_x64(False):
        arrays, parts = jax.device_put(((beats, ranks, where), limbs))
        start = time.perf_counter()
        compiled = baselines.textbook().lower(*arrays, parts[0]).compile()
        seconds = time.perf_counter() - start

    def call(part: int = 0) -> Any:
        with jax.enable_x64(False):
            return jax.block_until_ready(compiled(*arrays, parts[part]))

    def sums() -> np.ndarray:
        found = [np.asarray(call(i)).astype(np.int64) << LIMB * i for i in range(3)]
        return np.sum(found, axis=0)

    moved = 30 * runs * queries * beats.shape[-1] ** 2
    scratch = _scratch(compiled)
    return Row("textbook JAX", call, sums, seconds, scratch, moved, ours=False)


def shipped(case: Case, weights: np.ndarray, moved: int) -> Row:
    """Call what `peel_batches.overlap_sums` calls, its tiles being on the device.

    Its note says the time from graphs and ranks on the host, laying out included.
    """
    calls = ours.recorded(
        lambda: peel_batches.overlap_sums(case.graphs, case.rankings, weights)
    )
    start = time.perf_counter()
    sums = peel_batches.overlap_sums(case.graphs, case.rankings, weights).T
    seconds = time.perf_counter() - start
    note = f"{seconds:.3g} s from graphs and ranks on the host"
    with jax.enable_x64(True):
        there = [(function, jax.device_put(given)) for function, given in calls]

    def call() -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready([f(*given) for f, given in there])

    # The tiles come in any order: what is checked is what `overlap_sums` makes of them.
    return Row("pgcjax's tiles", call, lambda: sums, None, None, moved, note=note)
