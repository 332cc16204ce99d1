"""Ways to peel on a device, compiled and with their inputs there; for `gpu.py`."""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import baselines, ours
from benchmarks.gpu_kernels import Work
from benchmarks.inputs import Case
from pgcjax.kernels import peel_levels, peel_packed
from pgcjax.tensors import adjacency
from pgcjax.tensors.flat_runs import by_place
from pgcjax.tensors.padding import padded_size

ONE_WORD, OWN_CHOICE = "XLA, one word", "Pallas, its own choice"
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


class Arrays(NamedTuple):
    """A case as the kernels take it: on the host, or on a device.

    Attributes:
        graphs: what does not depend on the run.
        runs: where the runs have the documents.
        steps: of each query.
        shared: what all queries share: lists of `levels`; and weights.
    """

    graphs: Any
    runs: Any
    steps: Any
    shared: tuple

    def on(self, device: jax.Device, queries: slice = slice(None)) -> "Arrays":
        """Put some queries on a device."""
        with jax.enable_x64(True):
            cut = jax.tree.map(lambda x: x[queries], self[:3])
            return Arrays(*jax.device_put((*cut, self.shared), device))

    @property
    def cut(self) -> tuple:
        """Arrays whose first axis is queries."""
        return self[:3]

    @property
    def pairs(self) -> int:
        """Number of pairs of a query and a run."""
        return int(np.prod(self.runs[0].shape[:2]))

    @property
    def width(self) -> int:
        """Padded number of documents."""
        return self.graphs[0].shape[-1]


def lay_out(case: Case, weights: np.ndarray, form: str) -> Arrays:
    """Lay out all queries and runs of a case as one batch, on the host.

    Raises:
        ValueError: a graph takes another form.
    """
    graphs = list(case.graphs.values())
    size, (runs, queries) = padded_size(max(map(len, graphs))), case.shape
    # What happens to be a weak order is peeled; grades alone have levels.
    every = adjacency.forms(graphs, weak_orders_from=2**62)
    formed = [f for f in every if f is not None]
    if {of_graph.form.name for of_graph in formed} != {form}:
        raise ValueError(f"{case.title}: not every graph has the form {form!r}")
    docs = {graph.query_id: graph.doc_ids for graph in graphs}
    values = [np.arange(len(graph), dtype=np.int32) for graph in graphs]
    if form == "levels":
        levels = [np.asarray(of_graph.level, np.int32) for of_graph in formed]
        flat = case.rankings.flat(docs, np.concatenate(levels))
        where = flat.where(range(queries), slice(0, runs))
        width = max(of_graph.form.size for of_graph in formed)
        starts = adjacency.of_levels(levels, width)
        return Arrays(starts, where, where.count.max(1), (*flat.documents, weights))
    flat = case.rankings.flat(docs, np.concatenate(values))
    placed = jax.jit(jax.vmap(by_place, (None, 0, None)), static_argnums=2)
    parts = []
    for low in range(0, queries, CHUNK):
        some = range(queries)[low : low + CHUNK]
        ranks = placed(flat.documents, flat.where(some, slice(0, runs)), size)
        vertices = np.array([len(graphs[i]) for i in some], np.int32)
        packed = adjacency.packed([graphs[i] for i in some], size)
        parts.append((packed, ranks, vertices))
    return Arrays(*jax.tree.map(lambda *x: np.concatenate(x), *parts), (weights,))


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


def of_work(work: Work, device: jax.Device) -> Row:
    """Compile a program of `gpu_kernels`, its arguments being on the device."""
    with jax.enable_x64(True):
        arguments = jax.device_put(work.arguments, device)
    moved = sum(x.nbytes for x in jax.tree.leaves(arguments))
    return _row(work.name, work.program, arguments, moved)


def one_word(arrays: Arrays, backend: str) -> Row:
    """Peel one word per vertex by XLA, everything in one call.

    A step reads a word of each vertex and of the row to subtract, and writes one.
    """
    program = one_word_program(backend == "cpu")
    moved = 12 * arrays.pairs * arrays.width**2
    return _row(ONE_WORD, program, (arrays.cut, arrays.shared), moved)


def levels(arrays: Arrays, backend: str) -> Row:
    """Count per level: a step reads and writes a count of each."""
    steps = int(np.max(arrays.steps))
    states = arrays.pairs * arrays.width * steps
    moved = 8 * states + 8 * arrays.pairs * steps
    del backend
    program = levels_program(padded_size(steps))
    return _row("levels", program, (arrays.cut, arrays.shared), moved)


def one_word_program(in_turn: bool) -> Any:
    """Map the peel over queries and runs: a program of arrays as of `Arrays`."""

    def of_query(query: Any, weights: Any) -> Any:
        graph, runs, vertices = query
        steps = vertices if in_turn else runs.order.shape[-1]

        def of_run(run: Any) -> Any:
            arrays = graph.rows, graph.words, run.order, run.inverse, run.ranks
            return peel_packed.peeled_overlap(
                *arrays, steps, weights, where=graph.where
            )

        return jax.vmap(of_run)(runs)

    def program(cut: Any, shared: Any) -> Any:
        if in_turn:
            return jax.lax.map(lambda query: of_query(query, *shared), cut)
        return jax.vmap(of_query, in_axes=(0, None))(cut, *shared)

    return jax.jit(program)


def levels_program(steps: int) -> Any:
    """Map counts per level over queries, in as many steps as are enough."""

    def program(cut: Any, shared: Any) -> Any:
        value, rank, weights = shared

        def of_query(starts: Any, runs: Any) -> Any:
            lists = value, rank, runs.first, runs.count
            return peel_levels.levelled_overlap(starts, *lists, steps, weights)

        starts, runs, _ = cut
        return jax.vmap(of_query)(starts, runs)

    return jax.jit(program)


def has_pallas(module: str = "peel_pallas") -> bool:
    """Say whether this version has a kernel."""
    return importlib.util.find_spec(f"pgcjax.kernels.{module}") is not None


def pallas(arrays: Arrays, name: str, **options: Any) -> Row:
    """Peel in one launch, `options` being those of `pallas_program`.

    A step reads a row, mostly from the cache that all processors share; the words stay
    in registers, and the rest is read once.
    """
    program = pallas_program(**options)
    vertices = int(np.max(arrays.steps))
    moved = 4 * arrays.pairs * arrays.width * (vertices + 3)
    arguments = arrays.graphs, arrays.runs, *arrays.shared
    return _row(name, program, arguments, moved)


def pallas_program(module: str = "peel_pallas", **options: Any) -> Any:
    """Map a kernel over queries: a program of graphs, runs and weights."""
    peel = importlib.import_module(f"pgcjax.kernels.{module}").peeled_overlap

    def one(graphs, runs, weights):
        return peel(
            *(graphs.rows, graphs.words, runs.order, runs.inverse, runs.ranks),
            *(runs.order.shape[-1], weights),
            where=graphs.where,
            **options,
        )

    return jax.jit(jax.vmap(one, in_axes=(0, 0, None)))


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
    """Call what `ours.overlap_sums` calls, its tiles being on the device.

    Its note says the time from graphs and ranks on the host, laying out included.
    """
    arguments = case.graphs, case.rankings, weights
    ours.overlap_sums(*arguments)  # compiles
    start = time.perf_counter()
    sums = ours.overlap_sums(*arguments).T
    seconds = time.perf_counter() - start
    note = f"{seconds:.3g} s from graphs and ranks on the host"
    call = ours.replay(*arguments)
    # The tiles come in any order: what is checked is what `overlap_sums` makes of them.
    return Row("pgcjax's tiles", call, lambda: sums, None, None, moved, note=note)
