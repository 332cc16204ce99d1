"""Every kernel against plain Python, on small random inputs: what `gpu.py` does first.

Graphs have ragged sizes, none among them, votes both ways and several of a pair; runs
retrieve all, some or none of the documents, beyond the depth that counts, too.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any
from unittest import mock

import jax
import numpy as np

from benchmarks import gpu_kernels, gpu_rows, ours
from benchmarks.gpu_bench import in_a_line
from benchmarks.harness import TOLERANCE, without_folders
from benchmarks.inputs import Case
from pgcjax.engine import plan
from pgcjax.engine.peel_programs import PROGRAMS, VARIABLE, misfit
from pgcjax.errors import DataWarning
from pgcjax.reference.pgc import greedy_ideal

DEPTH = 40
SHAPES = ((16, 0, 1, 7, 2), 11), ((130, 33), 3)  # documents of each query, and runs
OF_CPU = SHAPES[:1]  # where kernels for GPUs are interpreted
FEW = (((5, 3), 2),)  # for Mosaic GPU's interpreter, which takes seconds for a run
Count = tuple[int, int]  # sums that were compared, and those that differ


class Ragged:
    """Runs by the ranks of documents: `[runs, n]` of each query, of as many documents.

    Attributes:
        run_ids: names of runs.
    """

    def __init__(self, ranks: Mapping[str, np.ndarray]):
        """Take ranks, `ABSENT` of what a run did not retrieve."""
        self.ranks = ranks
        self.run_ids = [f"r{i}" for i in range(len(next(iter(ranks.values()))))]

    def flat(
        self,
        docs: Mapping[str, np.ndarray],
        values: np.ndarray | None = None,
        room: int = 0,
        *,
        narrow: bool = False,
    ) -> ours.FlatRuns:
        """List what runs retrieved, as `Rankings.flat` does."""
        sizes = [len(self.ranks[query].T) for query in docs]
        if values is None:
            values = np.concatenate([np.arange(n) for n in sizes])
        chosen, ranked, counts = [], [], []
        by_query = np.split(values, np.cumsum(sizes)[:-1])
        for query, of_query in zip(docs, by_query, strict=True):
            by = np.argsort(self.ranks[query], axis=1, kind="stable")
            rank = np.take_along_axis(self.ranks[query], by, 1)
            chosen.append(of_query[by][rank < ours.ABSENT])
            ranked.append(rank[rank < ours.ABSENT])
            counts.append((rank < ours.ABSENT).sum(1))
        value, rank = np.concatenate(chosen), np.concatenate(ranked)
        return ours.flat_runs(value, rank, np.array(counts), max(sizes), room, narrow)


def drawn(sizes: tuple[int, ...], runs: int, kind: str = "packed") -> Case:
    """Draw graphs and runs; `levels` have grades, and `wide` thousands of votes."""
    rng = np.random.default_rng([*sizes, runs])
    graphs, ranks = {}, {}
    sizes = tuple(filter(None, sizes)) if kind == "levels" else sizes
    for q, n in enumerate(sizes):
        votes = rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.3)
        np.fill_diagonal(votes, 0)
        pairs = np.argwhere(votes)
        many = 5000 if kind == "wide" else 1
        wins = np.column_stack([pairs, many * votes[pairs[:, 0], pairs[:, 1]]])
        levels = None
        if kind == "levels":
            wins, levels = wins[:0], np.sort(rng.integers(0, 3, n)).astype(np.int32)
            levels = np.unique(levels, return_inverse=True)[1].astype(np.int32)
        docs = np.array([f"d{i:03}" for i in range(n)], object)
        graphs[f"q{q}"] = ours.Graph(f"q{q}", docs, wins.astype(np.int64), levels)
        places = rng.random((runs, 2 * n)).argsort(1)[:, :n].astype(np.int32)
        retrieved = rng.random((runs, n)) < rng.choice([0.0, 0.6, 1.0], (runs, 1))
        ranks[f"q{q}"] = np.where(retrieved, places, np.int32(ours.ABSENT))

    def none(*_: str) -> list:
        raise NotImplementedError  # nothing here asks for edges or runs as lists

    return Case(kind, graphs, Ragged(ranks), none, none, depth=DEPTH)


def weights_of(case: Case) -> np.ndarray:
    """Draw weights, whose sums tell ideal rankings apart."""
    return np.append(np.random.default_rng(1).integers(0, 2**50, case.depth), 0)


def twin_sums(case: Case) -> np.ndarray:
    """Add weights up by the twin in plain Python: `[queries, runs]`."""
    weights, sums = weights_of(case), np.zeros(case.shape[::-1], np.int64)
    for q, (query, graph) in enumerate(case.graphs.items()):
        docs, votes = graph.doc_ids.tolist(), graph.edges()
        edges = {(docs[u], docs[v]): int(votes[u, v]) for u, v in np.argwhere(votes)}
        for r, rank in enumerate(case.rankings.ranks[query]):
            run = [docs[i] for i in np.argsort(rank) if rank[i] < ours.ABSENT]
            ideal = greedy_ideal(edges, run, tuple(docs))
            place = np.array([ideal.index(doc) for doc in docs], int)
            sums[q, r] = weights[np.minimum(np.maximum(rank, place), DEPTH)].sum()
    return sums


def checks(backend: str) -> Iterator[tuple[str, Callable[[], Count]]]:
    """List kernels, and how to compare the sums of each with plain Python's."""
    device, shapes = jax.local_devices()[0], OF_CPU if backend == "cpu" else SHAPES

    def by_row(make: Callable[..., Any], shapes: tuple, form: str = "packed") -> Count:
        cases = [drawn(*shape, form) for shape in shapes]
        return _compared(
            cases,
            lambda x: make(gpu_rows.lay_out(x, weights_of(x), form).on(device)).sums(),
        )

    one_word = partial(gpu_rows.one_word, backend=backend)
    yield "XLA", lambda: by_row(one_word, shapes)
    level = partial(gpu_rows.levels, backend=backend)
    yield "levels", lambda: by_row(level, shapes, "levels")
    yield "engine, XLA", lambda: _by_engine("xla", shapes)
    for program in PROGRAMS if backend in ("gpu", "cpu") else ():
        name, module = program.name, program.module.rpartition(".")[2]
        here = FEW if name == "mosaic" and backend == "cpu" else shapes
        interpret = {"interpret": True} if backend == "cpu" else {}
        make = partial(gpu_rows.pallas, name=name, module=module, **interpret)
        yield name, partial(_kernel, program, lambda m=make, s=here: by_row(m, s))
        if backend == "gpu":
            run = partial(_by_engine, name, shapes)
            yield f"engine, {name}", partial(_kernel, program, run)
    for name, make in gpu_kernels.every(3, 7, 11, backend).items():
        yield name, partial(_work, make, device)


def _compared(cases: list[Case], sums: Callable[[Case], np.ndarray]) -> Count:
    right = [twin_sums(case) for case in cases]
    pairs = [*zip(map(sums, cases), right, strict=True)]
    return sum(x.size for x in right), sum(int((a != b).sum()) for a, b in pairs)


def _by_engine(program: str, shapes: tuple) -> Count:
    """Score as `evaluate` does, of which a warning says that another program ran."""
    cases = [drawn(*shape, kind) for kind in ("packed", "wide") for shape in shapes]
    cases += [drawn(*shape, "levels") for shape in shapes]

    def sums(case: Case) -> np.ndarray:
        return ours.overlap_sums(case.graphs, case.rankings, weights_of(case)).T

    with (
        mock.patch.dict(os.environ, {VARIABLE: program}),
        warnings.catch_warnings(),
        plan.using(levels=1),
    ):
        warnings.simplefilter("error", DataWarning)
        return _compared(cases, sums)


def _kernel(program: Any, call: Callable[[], Count]) -> Count:
    """Compare a kernel for GPUs.

    Raises:
        ImportError: this device or this JAX does not have it.
    """
    import_module(program.module)
    if jax.default_backend() != "cpu":
        if why := misfit(program):
            raise ImportError(why)
    elif program.name == "mosaic":
        module = import_module("jax.experimental.pallas.mosaic_gpu")
        if not hasattr(module, "InterpretGPUParams"):
            raise ImportError("this JAX has no interpreter of it")
    return call()


def _work(make: Callable[[], gpu_kernels.Work], device: jax.Device) -> Count:
    work = make()
    found = gpu_rows.of_work(work, device).call()
    with jax.enable_x64(True):
        far = work.differs(jax.tree.map(np.asarray, found))
    return work.sample, int(far > TOLERANCE) and work.sample


def check(bench: Any) -> bool:
    """Compare all, print a table, and say whether no kernel differs or fails."""
    rows = []
    for name, compare in checks(bench.backend):
        try:
            cases, different = compare()
            equal = "no" if different else "yes"
            if different:
                bench.wrong.append(f"{name}: {different} of {cases} differ")
        except ImportError as error:
            cases, equal = 0, f"not here: {without_folders(str(error))}"
        except Exception as error:
            cases, equal = 0, f"no: {in_a_line(error)}"
            bench.wrong.append(f"{name}: {in_a_line(error)}")
        rows.append([name, cases, equal])
    title = "every kernel against plain Python, on small random inputs"
    bench.table(title, ["kernel", "cases", "equal"], rows)
    return not bench.wrong
