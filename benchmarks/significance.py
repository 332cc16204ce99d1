"""Tests of all pairs of runs beside scipy, numpy and ranx, on made-up scores.

`python -m benchmarks.significance RUNS QUERIES RESAMPLES PART` tests all pairs once and
prints the seconds it took; PART is `p` for p-values of the bootstrap alone, or a test
for all of `compare`.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.harness import Contender, NotEqualError, Report, child
from pgcjax.stats import compare, procedures, resample, tests
from pgcjax.stats.matrix import Matrix

NEAR = 128  # pairs of a block in numpy: the fastest of 16, 32, … 256
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


def run(
    report: Report,
    runs: int = 100,
    queries: int = 50,
    resamples: int = 1000,
    shuffles: int = 5000,
    families: Sequence[int] = (20, 100, 500),
    many: int = 1000,
    sampled: int = 40,
    together: int = 2000,
) -> None:
    """Race the resampled tests, then time `compare` and measure a large sweep."""
    x = scores(runs, queries)
    with _one_blas_thread(report):
        bootstrap(report, x, resamples, sampled)
        sign_flip(report, x, resamples, sampled)
        max_t(report, x, together)
        max_t(report, scores(many, queries), together)
        for size in families:
            tukey(report, scores(size, queries), shuffles)
    whole(report, x)
    large(report, many, queries, resamples)


def _one_blas_thread(report: Report) -> AbstractContextManager[Any]:
    """Keep numpy's BLAS to a thread: its own gain nothing here, and disturb ours."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        report.say("threadpoolctl is not installed: numpy's BLAS has all its threads")
        return nullcontext()
    return threadpool_limits(1, "blas")


def scores(runs: int, queries: int, seed: int = 0) -> np.ndarray:
    """Make up scores without ties: hard and easy queries, runs that differ a little."""
    random = np.random.default_rng(seed)
    ease = random.beta(2, 3, (1, queries))
    skill = 0.05 * random.normal(size=(runs, 1))
    return np.clip(ease + skill + random.normal(0, 0.15, (runs, queries)), 1e-6, 1)


def bootstrap(report: Report, x: np.ndarray, resamples: int, sampled: int) -> None:
    """Race the studentised paired bootstrap of all pairs."""
    pairs = tests.all_pairs(len(x))
    weights = _multiplicities(resamples, x.shape[1])
    ours = partial(_ours, x, "bootstrap", resamples)
    some, a, b = _sample(len(x), sampled)
    theirs = partial(scipy_bootstrap, x[a] - x[b], resamples)
    _check_near("scipy.stats.bootstrap", ours()[some], theirs(), resamples)
    n, note = len(pairs[0]), f"{len(some)} random pairs of {len(pairs[0])}"
    rows = [
        Contender(
            "scipy.stats.bootstrap of t", theirs, len(some), False, None, note=note
        ),
        Contender("numpy, textbook", partial(textbook, x, pairs, weights), n),
        Contender("numpy, our formula", partial(blocked, x, pairs, weights), n),
        Contender("pgcjax", ours, n, ours=True),
    ]
    report.race(_title("bootstrap", x, resamples), rows, per="pair", units=n)


def sign_flip(report: Report, x: np.ndarray, resamples: int, sampled: int) -> None:
    """Race the sign-flip permutation test of all pairs; with ranx if it is there."""
    pairs = tests.all_pairs(len(x))
    signs = np.concatenate(
        [resample.signs(0, *block, x.shape[1]) for block in _blocks(resamples)], axis=1
    )
    ours = partial(_ours, x, "permutation", resamples)
    n, rows = len(pairs[0]), []
    few = np.sort(np.random.default_rng(2).permutation(len(x))[: max(3, sampled // 6)])
    among = np.isin(pairs[0], few) & np.isin(pairs[1], few)
    try:
        theirs = ranx(x[few], resamples)
    except ImportError:
        report.say("left out: ranx, which is not installed")
    else:
        _check_near("ranx", ours()[among], theirs(), resamples)
        note = (
            f"ranx {version('ranx')}, {among.sum()} pairs, those of {len(few)} random"
        )
        note += " runs, without scoring"
        name = "ranx compare(…, 'fisher')"
        rows.append(Contender(name, theirs, among.sum(), False, None, note=note))
    rows += [
        Contender("numpy, pair by pair", partial(flip_loop, x, pairs, signs), n),
        Contender("numpy, our formula", partial(flip_blocks, x, pairs, signs), n),
        Contender("pgcjax", ours, n, ours=True),
    ]
    report.race(_title("sign flips", x, resamples), rows, per="pair", units=n)


def max_t(report: Report, x: np.ndarray, resamples: int) -> None:
    """Race the moderated bootstrap-t of all pairs together."""
    pairs = tests.all_pairs(len(x))
    weights = _multiplicities(resamples, x.shape[1])
    ours = partial(_ours, x, "max-t", resamples)
    in_float32 = partial(moderated, x, pairs, weights, np.float32)
    _check_near("numpy in float32", ours(), in_float32(), resamples)
    n = len(pairs[0])
    rows = [
        Contender("numpy, in blocks", partial(moderated, x, pairs, weights), n),
        Contender("the same in float32", in_float32, n, values=None),
        Contender("pgcjax", ours, n, ours=True),
    ]
    report.race(_title("max-t", x, resamples), rows, per="pair", units=n, rounds=3)


def moderated(
    x: np.ndarray, pairs: tests.RunPairs, weights: np.ndarray, kind: Any = np.float64
) -> np.ndarray:
    """Do max-T by two products a block; the family's variance without its pairs."""
    queries, resamples = weights.shape
    z, used = x[pairs[0]] - x[pairs[1]], len(pairs[0])
    error = z.var(1, ddof=1) / queries
    observed = np.abs(z.mean(1)) / np.sqrt(error + error.mean())
    centred = x - x.mean(1, keepdims=True)
    means = centred @ weights / queries
    squares = (centred**2 @ weights).sum(0) / queries - (means**2).sum(0)
    total = centred.sum(0)
    of_total = (total**2) @ weights / queries - (total @ weights / queries) ** 2
    shared = (len(x) * squares - of_total) / ((queries - 1) * used)
    shared, means, rows, counts = (
        a.astype(kind) for a in (shared, means, centred, weights)
    )

    def largest(block: slice) -> np.ndarray:
        a, b = pairs[0][block], pairs[1][block]
        mean, w = means[a], rows[a]
        mean -= means[b]
        w -= rows[b]
        w *= w
        spread = w @ counts
        spread /= queries
        mean *= mean
        spread -= mean
        spread /= queries - 1
        spread += shared
        mean /= spread
        return mean.max(0)

    places = [slice(low, low + NEAR) for low in range(0, used, NEAR)]
    with ThreadPoolExecutor(CORES) as pool:
        found = np.sqrt(np.maximum.reduce(list(pool.map(largest, places))))
    below = np.searchsorted(np.sort(found), observed * (1 - 1e-9))
    return (1 + resamples - below) / (1 + resamples)


def tukey(report: Report, x: np.ndarray, resamples: int) -> None:
    """Race randomised Tukey HSD."""
    ours = partial(_ours, x, "tukey", resamples)
    one = partial(permuted, x, resamples)
    default = partial(permuted, x, resamples, generator=np.random.default_rng)
    _check_near("numpy's default generator", ours(), default(), resamples)
    rows = [
        Contender("numpy, one by one", one, resamples),
        Contender("the same by PCG64", default, resamples, values=None),
        Contender("pgcjax", ours, resamples, ours=True),
    ]
    title = _title("randomised Tukey HSD", x, resamples)
    report.race(title, rows, per="resample", units=resamples)


def whole(report: Report, x: np.ndarray) -> None:
    """Time `compare`, with intervals, effect sizes and letters, by each test.

    Each takes as many resamples as its correction needs.
    """
    ids = [[f"{i:05}" for i in range(n)] for n in x.shape]
    matrix, rows = Matrix(ids[0], ids[1], x), []
    for test in procedures.TESTS:
        call = partial(compare.compare, matrix, test=test)
        call()
        start = time.perf_counter()
        found = call()
        rows.append([test, time.perf_counter() - start, found.metadata["interval"]])
    runs, queries = x.shape
    report.table(
        f"compare: {runs} runs × {queries} queries, all pairs",
        ["test", "seconds", "interval"],
        rows,
    )


def large(report: Report, runs: int, queries: int, resamples: int) -> None:
    """Test all pairs of many runs in processes of their own: time and peak memory."""
    rows: list[list[Any]] = []
    for part, name in (
        ("p", "bootstrap: p-values"),
        ("max-t", "max-t, B = 2000: compare, with intervals"),
        ("tukey", "tukey, B = 5000: compare"),
    ):
        size = (runs, queries, resamples, part)
        printed = child(
            "-m", "benchmarks.studies.memory", "benchmarks.significance", *size
        )
        seconds, peak = map(float, printed.split()[-2:])
        rows.append([name, seconds, peak])
    n = runs * (runs - 1) // 2
    report.table(
        f"{n:,} pairs: {runs} runs × {queries} queries, B = {resamples}",
        ["a process of its own", "seconds", "peak, MiB"],
        rows,
    )


def scipy_bootstrap(z: np.ndarray, resamples: int) -> np.ndarray:
    """Test each row of differences by scipy's resamples of Student's t."""
    p, random = np.empty(len(z)), np.random.default_rng(1)
    for i, row in enumerate(z):
        found = stats.bootstrap(
            (row - row.mean(),),
            _t,
            n_resamples=resamples,
            vectorized=True,
            method="percentile",  # the cheapest, and BCa would need no p
            rng=random,
        )
        count = np.sum(np.abs(found.bootstrap_distribution) >= abs(_t(row)))
        p[i] = (1 + count) / (1 + resamples)
    return p


def _t(sample: np.ndarray, axis: int = -1) -> np.ndarray:
    deviation = np.std(sample, axis=axis, ddof=1)
    return np.mean(sample, axis=axis) / (deviation / math.sqrt(sample.shape[axis]))


def textbook(x: np.ndarray, pairs: tests.RunPairs, weights: np.ndarray) -> np.ndarray:
    """Bootstrap all pairs at once by two products: E[w²] - m² of each resample."""
    z = x[pairs[0]] - x[pairs[1]]
    queries, resamples = weights.shape
    w = z - z.mean(1, keepdims=True)
    mean = w @ weights / queries
    variance = ((w * w) @ weights / queries - mean**2) * queries / (queries - 1)
    reached = np.abs(mean / np.sqrt(variance / queries)) >= np.abs(_t(z))[:, None]
    return (1 + reached.sum(1)) / (1 + resamples)


def blocked(x: np.ndarray, pairs: tests.RunPairs, weights: np.ndarray) -> np.ndarray:
    """Bootstrap as pgcjax does: one product, no root, blocks in cache, threads."""
    centred = x - x.mean(1, keepdims=True)
    moved = centred @ weights

    def count(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        z = x[a] - x[b]
        ratio = z.sum(1) ** 2 / np.einsum("ij,ij->i", z, z) * (1 - 1e-12)
        w = centred[a] - centred[b]
        w *= w
        w *= ratio[:, None]
        mean = np.take(moved, a, 0)
        mean -= moved[b]
        mean *= mean
        return _ones(mean >= w @ weights)

    return _in_threads(count, pairs, weights.shape[1])


def flip_loop(x: np.ndarray, pairs: tests.RunPairs, signs: np.ndarray) -> np.ndarray:
    """Flip signs of one pair after the other."""
    z = x[pairs[0]] - x[pairs[1]]
    count = [np.sum(np.abs(row @ signs) >= abs(row.sum()) - 1e-12) for row in z]
    return (1 + np.array(count)) / (1 + signs.shape[1])


def flip_blocks(x: np.ndarray, pairs: tests.RunPairs, signs: np.ndarray) -> np.ndarray:
    """Flip signs as pgcjax does: one product for all, blocks in cache, threads."""
    moved = x @ signs

    def count(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        reach = np.abs((x[a] - x[b]).sum(1)) - 1e-12
        mean = np.take(moved, a, 0)
        mean -= moved[b]
        return _ones(np.abs(mean, out=mean) >= reach[:, None])

    return _in_threads(count, pairs, signs.shape[1])


def _in_threads(
    count: Callable[[np.ndarray, np.ndarray], np.ndarray],
    pairs: tests.RunPairs,
    resamples: int,
) -> np.ndarray:
    places = [slice(low, low + NEAR) for low in range(0, len(pairs[0]), NEAR)]
    with ThreadPoolExecutor(CORES) as pool:
        parts = pool.map(lambda some: count(pairs[0][some], pairs[1][some]), places)
        return (1 + np.concatenate(list(parts))) / (1 + resamples)


def _ones(hits: np.ndarray) -> np.ndarray:
    """Count the ones of each row, eight bytes at once while no byte can overflow."""
    if hits.shape[1] % 8 or hits.shape[1] > 8 * 255:
        return hits.sum(1)
    words = np.add.reduce(hits.view(np.uint64), axis=1)
    return words.view(np.uint8).reshape(len(hits), 8).sum(1, dtype=np.int64)


def permuted(
    x: np.ndarray, resamples: int, generator: Callable[[int], Any] | None = None
) -> np.ndarray:
    """Do randomised Tukey HSD as a loop over `permuted`, by pgcjax's random numbers."""
    rows = np.ascontiguousarray(np.sort(x, axis=0).T)
    largest = []
    for block, size in _blocks(resamples):
        made = generator(block) if generator else resample.generator(0, "tukey", block)
        for _ in range(size):
            largest.append(np.ptp(made.permuted(rows, axis=1).sum(0)))
    first, second = tests.all_pairs(len(x))
    sums = x.sum(1)
    reach = np.abs(sums[first] - sums[second]) - 1e-12
    below = np.searchsorted(np.sort(largest), reach)
    return (1 + resamples - below) / (1 + resamples)


def ranx(x: np.ndarray, resamples: int) -> Callable[[], np.ndarray]:
    """Prepare what ranx's `compare(…, "fisher")` does once it has scored the runs."""
    from ranx.statistical_tests import compute_statistical_significance

    names = [str(i) for i in range(len(x))]
    given = {name: {"m": row} for name, row in zip(names, x, strict=True)}
    first, second = tests.all_pairs(len(x))

    def call() -> np.ndarray:
        found = compute_statistical_significance(names, given, "fisher", resamples)
        sides = zip(first, second, strict=True)
        p = [found[frozenset((names[i], names[j]))]["m"]["p_value"] for i, j in sides]
        # Theirs is count / B.
        return (1 + resamples * np.array(p)) / (1 + resamples)

    return call


def _ours(x: np.ndarray, test: str, resamples: int) -> np.ndarray:
    return procedures.p_values(x, test, resamples=resamples)


def _blocks(resamples: int) -> list[tuple[int, int]]:
    size = resample.BLOCK
    starts = range(0, resamples, size)
    return [(low // size, min(size, resamples - low)) for low in starts]


def _multiplicities(resamples: int, queries: int) -> np.ndarray:
    drawn = [resample.indices(0, *block, queries) for block in _blocks(resamples)]
    return resample.multiplicities(np.concatenate(drawn))


def _sample(runs: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose some of all pairs at random: their places, and both sides."""
    first, second = tests.all_pairs(runs)
    some = np.random.default_rng(1).permutation(len(first))[:most]
    return some, first[some], second[some]


def _title(test: str, x: np.ndarray, resamples: int) -> str:
    return f"{test}: {len(x)} runs × {x.shape[1]} queries, B = {resamples}"


def _check_near(
    name: str, ours: np.ndarray, theirs: np.ndarray, resamples: int
) -> None:
    """Refuse p-values by other random numbers that are further off than chance."""
    p = (ours + theirs) / 2
    limit = 6 * np.sqrt(2 * p * (1 - p) / resamples) + 2 / resamples
    if (np.abs(ours - theirs) > limit).any():
        worst = float(np.abs(ours - theirs).max())
        raise NotEqualError(f"{name}: p differs by up to {worst:.3g}, beyond chance")


def _main(runs: int, queries: int, resamples: int, part: str) -> None:
    x = scores(runs, queries)
    start = time.perf_counter()
    if part == "p":
        _ours(x, "bootstrap", resamples)
    else:
        ids = [[f"{i:05}" for i in range(n)] for n in x.shape]
        matrix = Matrix(ids[0], ids[1], x)
        compare.compare(matrix, test=part)
    print(time.perf_counter() - start)


if __name__ == "__main__":
    size = [int(argument) for argument in sys.argv[1:4]]
    _main(size[0], size[1], size[2], sys.argv[4])
