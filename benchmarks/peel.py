"""The peel and RBO of graphs in memory: published Python, numba, textbook JAX, ours."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import baselines, inputs, ours
from benchmarks.harness import Contender, Report
from benchmarks.inputs import Case

SHAPES = ((64, 64, 16), (32, 64, 64), (16, 64, 170), (4, 64, 512))
PER = "(query, run)"
SECONDS = 0.5  # that a round of plain Python takes: a sample of pairs is drawn for it


def run(
    report: Report, data: Path | None, shapes: Sequence[tuple[int, int, int]]
) -> None:
    """Race on made-up graphs of some (queries, runs, N), then on real ones."""
    for shape in shapes:
        race(report, inputs.cyclic(*shape))
    for case in inputs.real(data, (inputs.CAST, inputs.CAST_COMBINED, inputs.DL21)):
        race(report, case)


def race(report: Report, case: Case, seconds: float = SECONDS) -> None:
    """Race on one case."""
    contenders = [
        *plain(case, seconds),
        *scalar(report, case),
        naive(case),
        *pgcjax(case),
    ]
    report.race(f"peel + RBO, {case.title}", contenders, per=PER, units=case.pairs)


def plain(case: Case, seconds: float) -> list[Contender]:
    """Plain Python, as published and with a better RBO, on a sample of the pairs."""
    runs, queries = list(case.rankings.run_ids), list(case.graphs)
    shuffled = np.random.default_rng(0).permutation(case.pairs)
    graphs: dict[str, baselines.Graph] = {}

    def jobs(pairs: np.ndarray) -> list[tuple[baselines.Graph, list[str]]]:
        places = [(runs[i // len(queries)], queries[i % len(queries)]) for i in pairs]
        for _, q in places:
            if q not in graphs:
                graphs[q] = baselines.Graph(case.edges(q))
        return [(graphs[q], case.run(run, q)) for run, q in places]

    def score(some: list, overlap: Callable[..., float]) -> np.ndarray:
        return np.array(
            [
                overlap(docs, baselines.greedy_ideal(graph, docs), case.p, case.depth)
                for graph, docs in some
            ]
        )

    first = jobs(shuffled[:8])
    start = time.perf_counter()
    score(first, baselines.rbo)
    each = (time.perf_counter() - start) / len(first)
    sample = shuffled[: max(8, int(seconds / each))]
    some = jobs(sample)
    note = f"on {len(some)} random pairs" if len(some) < case.pairs else ""
    return [
        Contender(
            name,
            partial(score, some, overlap),
            len(some),
            of=sample,
            note=note,
        )
        for name, overlap in (
            ("published Python", baselines.rbo),
            ("Python, RBO counted", baselines.counted_rbo),
        )
    ]


def scalar(report: Report, case: Case) -> list[Contender]:
    """Numba on one core, if it is installed."""
    try:
        greedy_pgc = baselines.compiled()
    except ImportError as error:
        report.say(f"left out: numba ({error})")
        return []
    weights = baselines.suffix_weights(case.p, case.depth)
    jobs = [(graph.edges(), case.ranks(query)) for query, graph in case.graphs.items()]

    def call() -> np.ndarray:
        return np.stack([greedy_pgc(beats, ranks, weights) for beats, ranks in jobs], 1)

    return [Contender("numba, one core", call, case.pairs)]


def naive(case: Case) -> Contender:
    """JAX without thought: one size for all, a vmapped while loop."""
    import jax

    n = max(len(g) for g in case.graphs.values())
    runs, queries = case.shape
    beats = np.zeros((queries, n, n), np.int32)
    ranks = np.full((queries, runs, n), ours.ABSENT, np.int32)
    where = np.zeros((queries, n), bool)
    for q, (name, graph) in enumerate(case.graphs.items()):
        m = len(graph)
        beats[q, :m, :m] = graph.edges()
        ranks[q, :, :m] = case.ranks(name)
        where[q, :m] = True
    with jax.enable_x64(True):  # or the scores would not agree to 1e-12
        weights = baselines.suffix_weights(case.p, case.depth)
        arrays = jax.device_put((beats, ranks, where, weights))

    def call():
        with jax.enable_x64(True):
            return jax.block_until_ready(baselines.textbook()(*arrays))

    return Contender("textbook JAX", call, case.pairs, values=lambda x: np.asarray(x).T)


def pgcjax(case: Case) -> list[Contender]:
    """Ours, from graphs and ranks on the host, and its work on the device alone."""
    arguments = (case.graphs, case.rankings, case.p, case.depth)
    return [
        Contender("pgcjax", partial(ours.scores, *arguments), case.pairs, ours=True),
        Contender(
            "its device part",
            ours.device_calls(*arguments),
            case.pairs,
            ours=True,
            values=None,
        ),
    ]
