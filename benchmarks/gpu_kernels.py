"""What a GPU computes beside the peel, on made-up inputs; for `gpu.py`.

`studies.gpu_bounds` compiles the same programs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import inputs
from pgcjax.engine.grid_batch import grid_program
from pgcjax.engine.list_batch import Kernel, list_program
from pgcjax.engine.tiles import Pace, compiled
from pgcjax.engine.variant_batch import variant_program
from pgcjax.kernels import ABSENT
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.rbo import rank_weights
from pgcjax.measures.binary import AP, RBP
from pgcjax.measures.graded import ERR, nDCG
from pgcjax.measures.measure import outlined
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.stats import paired_counts, resample
from pgcjax.tensors import adjacency
from pgcjax.tensors.padding import list_width, padded_size, ranks_length, stack

DEPTH, P = 1000, 0.95
SAMPLE = 12  # results that plain numpy or Python computes, too
RESAMPLES, PAIRS = 500, 2**14  # of a call of the tests, in one block
REPLICATES = 128  # of a call
MEASURES = nDCG(), AP(), ERR(), RBP()
TIED = 3  # images of a grid at one distance


class Images(NamedTuple):
    """What `grid_program("packed", …)` takes of systems."""

    place: np.ndarray
    inverse: np.ndarray
    first: np.ndarray


class Cells(NamedTuple):
    """What `grid_program("pairs", …)` takes of systems."""

    first: np.ndarray
    row: np.ndarray
    column: np.ndarray
    others: np.ndarray
    images: np.ndarray


class Work(NamedTuple):
    """A program with its arguments.

    Attributes:
        name: what its row is called.
        title: its shape.
        program: by `jax.jit`.
        arguments: on the host.
        units: how much a call computes.
        per: what a unit is.
        differs: says of a result how far it is from the plain one, on a sample: at
            most 1e-12 of scores, and 0 of whole numbers.
        sample: how many results that compares, at most.
    """

    name: str
    title: str
    program: Any
    arguments: tuple
    units: int
    per: str
    differs: Callable[[Any], float]
    sample: int = SAMPLE


def lists(queries: int, runs: int, n: int) -> Work:
    """Score ranked lists by nDCG, AP, ERR and RBP, in one call."""
    drawn, rng = inputs.Drawn(runs, n), np.random.default_rng([1, n])
    grades = rng.choice(4, size=(queries, n), p=[0.3, 0.4, 0.2, 0.1]) + 1.0
    retrieved = [drawn[f"q{q}"] for q in range(queries)]
    shape, size = (queries, runs), padded_size(n)
    flat = drawn.flat({f"q{q}": np.arange(n) for q in range(queries)})
    width = list_width(int(flat.count.max()))
    arrays, layouts, weights, pools = [], [], [], []
    for measure in MEASURES:
        gains = [measure.gains(grade, 4.0) for grade in grades]
        ideal = [measure.ideal(gain) for gain in gains]
        ideals = np.array(ideal) if ideal[0] != () else ()
        of_measure = QueryGains(stack(gains, (queries, size), 0), ideals)
        leaves, tree = jax.tree.flatten(of_measure)
        layouts.append((tree, tuple(range(len(arrays), len(arrays) + len(leaves)))))
        arrays += leaves
        weights.append(measure.weights(ranks_length(DEPTH)))
        pools.append(gains)
    places = flat.where(range(queries), slice(0, runs))
    cut = arrays, (places, np.full(shape, DEPTH, np.int32))

    def differs(found: Any) -> float:
        far = 0.0
        for q, r in _some(shape):
            places, ranks = retrieved[q].of_runs(slice(r, r + 1))
            for measure, gains, values in zip(MEASURES, pools, found, strict=True):
                run = np.zeros(DEPTH)
                run[ranks] = gains[q][places]
                plain = measure.plain_score(run.tolist(), gains[q].tolist())
                far = max(far, abs(plain - float(values[q, r])))
        return far

    title = f"nDCG, AP, ERR and RBP, N = {n}: {queries} queries × {runs} runs"
    kernels = tuple(Kernel(type(m).kernel, outlined(m)[0], 0) for m in MEASURES)
    one = list_program(kernels, (0, 1, 2, 3), tuple(layouts), width)
    program = compiled(one, Pace(), 1)
    pairs = queries * runs
    traced = np.array([n for m in MEASURES for n in outlined(m)[1]])
    depths = np.array([ABSENT], np.int32)
    shared = flat.documents, weights, traced, depths
    return Work("lists", title, program, (cut, shared), pairs, "(query, run)", differs)


def grids(queries: int, systems: int, n: int) -> Work:
    """Peel the graphs of image grids whose lists have ties."""
    case, weights = inputs.cyclic(queries, 1, n), rank_weights(P, DEPTH)
    graphs, size = list(case.graphs.values()), padded_size(n)
    place, first, *_ = _grids(queries, systems, n, size)
    inverse = np.argsort(place, axis=2).astype(np.int32)
    fixed = adjacency.packed(graphs, size)
    cut = fixed, Images(place, inverse, first)

    def differs(found: Any) -> float:
        far = 0.0
        for q, r in _some((queries, systems), 4):
            names = graphs[q].doc_ids.tolist()
            order = [names[i] for i in np.argsort(place[q, r, :n])]
            ideal = {
                d: i for i, d in enumerate(greedy_ideal(case.edges(f"q{q}"), order))
            }
            nearer = dict(zip(names, first[q, r].tolist(), strict=False))
            shown = [d for d in ideal if nearer[d] < ABSENT]
            total, placed = 0, dict[int, int]()
            for doc in shown:
                rank = nearer[doc] + placed.setdefault(nearer[doc], 0)
                placed[nearer[doc]] += 1
                total += int(weights[min(max(rank, ideal[doc]), DEPTH)])
            far = max(far, float(total != int(found[q, r])))
        return far

    title = f"PGC of grids, N = {n}: {queries} queries × {systems} systems"
    program = compiled(grid_program("packed"), Pace(), 1)
    units = queries * systems
    arguments = cut, weights
    return Work("grids", title, program, arguments, units, "(query, run)", differs, 4)


def grid_pairs(queries: int, systems: int, n: int) -> Work:
    """Count the pairs of images whose order agrees with people's."""
    rng, size = np.random.default_rng([2, n]), padded_size(n)
    judged = np.triu(rng.random((queries, n, n)) < inputs.DENSITY, 1)
    first_wins = rng.random((queries, n, n)) < 0.5
    wins = (judged & first_wins) | np.swapaxes(judged & ~first_wins, 1, 2)
    judged |= np.swapaxes(judged, 1, 2)
    _, first, row, column = _grids(queries, systems, n, size)
    shape = queries, size, size
    fixed = (
        *(stack([*x], shape, 0) for x in (wins, judged)),
        stack([*np.ones((queries, n), bool)], shape[:2], 0),
    )
    others = np.where(rng.random(first.shape) < 0.8, 0, ABSENT).astype(np.int32)
    images = np.full((queries, systems), n, np.int64)
    cells = Cells(first, row, column, others, images)

    def differs(found: Any) -> float:
        agreed, pairs, won = found[0], found[1], found[4]
        far = 0
        for q, r in _some((queries, systems)):
            own, nearer = first[q, r, :n] < ABSENT, first[q, r, :n]
            both = own[:, None] & own & judged[q] & (nearer[:, None] < nearer)
            far += abs(both.sum(0) - np.asarray(pairs[q, r, :n])).sum()
            good = (both & ~wins[q].T).sum(0)
            far += abs(good - np.asarray(agreed[q, r, :n])).sum()
            theirs = others[q, r, :n] < ABSENT
            far += abs((own[:, None] & theirs & wins[q]).sum() - int(won[q, r]))
        return float(far)

    title = f"pairs of grids, N = {n}: {queries} queries × {systems} systems"
    arguments = (fixed, cells), np.zeros(1, np.int64)
    program = compiled(grid_program("pairs"), Pace(), 1)
    units = queries * systems
    return Work("grid pairs", title, program, arguments, units, "(query, run)", differs)


def resampled(kind: str, queries: int, runs: int, pairs: int = PAIRS) -> Work:
    """Count resamples of pairs of runs: `bootstrap` of t, or `permutation` of signs."""
    rng = np.random.default_rng(3)
    x = np.rint(2.0**40 * rng.random((runs, queries)))
    if kind == "bootstrap":
        drawn = rng.integers(queries, size=(RESAMPLES, queries))
        weights = np.array([np.bincount(d, minlength=queries) for d in drawn]).T * 1.0
    else:
        weights = 2.0 * rng.integers(2, size=(queries, RESAMPLES)) - 1
    a, step = (rng.integers(1, runs, size=pairs).astype(np.int32) for _ in range(2))
    b = (a + step) % np.int32(runs)  # another run
    slack = np.float64(2.0 * queries)
    if kind == "bootstrap":
        about, unit = resample.centred(x)
        total = np.abs(x[a].sum(1) - x[b].sum(1)) / unit
        given = about, resample.with_observed(weights), slack, unit
        arguments = *given, total.astype(np.float32), a, b
    else:
        arguments = x, weights, slack, a, b

    def whole(x, weights, slack, *rest):
        if kind == "permutation":
            flipped = paired_counts.flipped(x, weights, slack)
            return paired_counts.sign_flip(*flipped, *rest)
        unit, *of_pairs = rest
        near = paired_counts.approximate(x, weights, slack, unit)
        return paired_counts.bootstrap_bounds(near, *of_pairs)

    def differs(found: Any) -> float:
        far = 0
        for i in rng.permutation(pairs)[:SAMPLE].tolist():
            z = x[a[i]] - x[b[i]]
            if kind == "permutation":
                reached = abs(z @ weights) >= abs(z.sum()) - slack
            else:
                drawn = weights.T @ (z - z.mean()) / queries
                spread = weights.T @ (z - z.mean()) ** 2 / queries - drawn**2
                reached = drawn**2 * z.var() >= z.mean() ** 2 * spread  # |t*| >= |t|
            if found[i] < paired_counts.OPEN:  # others are left to the exact rule
                far += abs(int(reached.sum()) - int(found[i]))
        return float(far)

    title = f"{kind}, B = {RESAMPLES}: {pairs} pairs of {runs} runs × {queries} queries"
    return Work(kind, title, jax.jit(whole), arguments, pairs, "pair", differs)


def replicates(queries: int, runs: int, n: int, backend: str = "gpu") -> Work:
    """Draw the judgments of graphs again, and peel all replicates."""
    rng, size = np.random.default_rng([4, n]), padded_size(n)
    case, weights = inputs.cyclic(queries, runs, n), rank_weights(P, DEPTH)
    graphs = list(case.graphs.values())
    most = list_width(max(len(graph.wins) for graph in graphs))
    cells = np.full((queries, most), size**2, np.int32)
    counts = np.zeros((queries, REPLICATES, most), np.int32)
    for q, graph in enumerate(graphs):
        rows = len(graph.wins)
        cells[q, :rows] = graph.wins[:, 0] * size + graph.wins[:, 1]
        counts[q, :, :rows] = rng.poisson(1.0, (REPLICATES, rows))
    found = [case.rankings[f"q{q}"] for q in range(queries)]
    flat = case.rankings.flat({f"q{q}": np.arange(n) for q in range(queries)})
    where = flat.where(range(queries), slice(0, runs))
    fixed, shape = np.zeros((queries, size, size), np.int32), (queries, runs)
    cut = (fixed, np.zeros((queries, size), bool), cells, counts), where

    def differs(result: Any) -> float:
        far = 0.0
        for (q, r), b in zip(_some(shape, 4), (0, 1, 5, 77), strict=False):
            graph, (place, rank) = graphs[q], found[q].of_runs(slice(r, r + 1))
            names = graph.doc_ids.tolist()
            pairs = zip(graph.wins[:, :2].tolist(), counts[q, b].tolist(), strict=False)
            edges = {(names[u], names[v]): k for (u, v), k in pairs if k}
            ranks = {names[v]: k for v, k in zip(place, rank.tolist(), strict=True)}
            docs = {v for edge in edges for v in edge}
            ideal = greedy_ideal(edges, [d for d in ranks if d in docs])
            lower = [max(ranks.get(d, DEPTH), i) for i, d in enumerate(ideal)]
            total = weights[np.minimum(lower, DEPTH)].sum()
            far = max(far, float(total != int(result[0][q, r, b])))
        return far

    title = f"replicates, N = {n}: {REPLICATES} × {queries} queries × {runs} runs"
    of_query = variant_program("packed", size, REPLICATES, runs, backend == "cpu")
    program = compiled(of_query, Pace(in_turn=True), 1)
    shared = flat.documents, weights
    units, arguments = REPLICATES * queries * runs, (cut, shared)
    per = "(replicate, query, run)"
    return Work("replicates", title, program, arguments, units, per, differs, 4)


def every(
    queries: int, runs: int, n: int, backend: str
) -> dict[str, Callable[[], Work]]:
    """Say how to make all, for as many queries and runs, or as the engine has them.

    Grids have few systems, and replicates the tile of a call: of 64 runs.
    """
    few, pairs = min(runs, 64), min(PAIRS, runs * runs)
    return {
        "lists": partial(lists, queries, runs, n),
        "grids": partial(grids, queries, few, 64),
        "grid pairs": partial(grid_pairs, queries, few, 64),
        "bootstrap": partial(resampled, "bootstrap", queries, runs, pairs),
        "permutation": partial(resampled, "permutation", queries, runs, pairs),
        "replicates, N = 16": partial(replicates, min(queries, 32), few, 16, backend),
        f"replicates, N = {n}": partial(replicates, min(queries, 2), few, n, backend),
    }


def _some(shape: tuple[int, int], count: int = SAMPLE) -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    places = rng.permutation(shape[0] * shape[1])[:count]
    return [divmod(int(place), shape[1]) for place in places]


def _grids(queries: int, systems: int, n: int, size: int) -> tuple[np.ndarray, ...]:
    """Lay images out in grids: place, images that are nearer, row and column."""
    rng = np.random.default_rng([5, n])
    blank = np.broadcast_to(np.arange(size, dtype=np.int32), (queries, systems, size))
    place, first = blank.copy(), np.full(blank.shape, ABSENT, np.int32)
    place[..., :n] = rng.random((queries, systems, n)).argsort(2)
    shown = place[..., :n] < int(inputs.RETRIEVED * n) // TIED * TIED
    nearer = place[..., :n] // TIED * TIED
    first[..., :n] = np.where(shown, nearer, ABSENT)
    row, column = np.divmod(np.where(first < ABSENT, place, 0), 5)
    return place, first, row.astype(np.int32), column.astype(np.int32)
