"""Resampled differences of pairs of runs, counted in blocks of resamples.

The host draws random numbers with numpy's Philox, by seed, kind and block of `BLOCK`
resamples. They are equal on every device, in every version of JAX, and for any division
of the work; and the first n of N resamples equal those drawn if n are requested. A
block is also the unit of work: devices get whole blocks, so all multiply matrices of
the same shapes.
"""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from pgcjax.later import jax
from pgcjax.runtime.devices import at, default_backend, local_device_count
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.stats import paired_counts
from pgcjax.stats.tests import RunPairs, Values

BLOCK = 500
"""Resamples that are drawn and counted together."""

_KINDS = {"bootstrap": 0, "permutation": 1, "tukey": 2}
_CACHED = 1024  # pairs at once on a CPU, so that statistics stay in a core's cache
_FEW = 32  # pairs at once, if bounds leave few pairs undecided

Weights = Float64[np.ndarray, "queries resamples"]
"""Weight of each query in each resample: its multiplicity, or its sign."""


@dataclass(frozen=True)
class WholeScores:
    """Scores as whole numbers, whose sums are exact in float64, in any order.

    Attributes:
        values: Scores as whole numbers, in units of `unit`.
        unit: Score that 1 stands for: about 1e-14 of the largest for 50 queries.
        slack: Largest difference by rounding of two sums over queries that were equal.
    """

    values: Values
    unit: float
    slack: float

    @classmethod
    def of(cls, values: Values) -> "WholeScores":
        """Round scores so that no sum of a row reaches 2^53."""
        queries = values.shape[1]
        _, exponent = np.frexp(np.abs(values).max(initial=0.0))
        shift = 52 - math.ceil(math.log2(queries)) - int(exponent)
        return cls(np.rint(np.ldexp(values, shift)), 2.0**-shift, 2.0 * queries)


def generator(seed: int, kind: str, block: int) -> np.random.Generator:
    """Create the random generator of one block of resamples."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_KINDS[kind], block))
    return np.random.Generator(np.random.Philox(sequence))


def indices(
    seed: int, block: int, size: int, *queries: int
) -> Int64[np.ndarray, "resamples queries"]:
    """Draw queries with replacement, from each stratum as many as it has.

    Args:
        seed: Seed of the random numbers.
        block: Number of the block.
        size: Number of resamples in the block.
        queries: Number of queries in each stratum, in the order of columns.
    """
    random, first = generator(seed, "bootstrap", block), np.cumsum([0, *queries])
    drawn = [random.integers(0, count, (size, count)) for count in queries]
    strata = zip(drawn, first, strict=False)
    return np.concatenate([low + places for places, low in strata], axis=1)


def multiplicities(
    drawn: Int64[np.ndarray, "resamples drawn"], queries: int | None = None
) -> Weights:
    """Count how often each resample holds each query."""
    size, count = len(drawn), drawn.shape[1] if queries is None else queries
    places = drawn + count * np.arange(size)[:, None]
    counts = np.bincount(places.ravel(), minlength=size * count)
    return np.ascontiguousarray(counts.reshape(size, count).T, np.float64)


def bootstrap_weights(seed: int, resamples: int, queries: int) -> Weights:
    """Draw the multiplicities of all resamples, block by block."""
    return multiplicities(all_indices(seed, resamples, queries))


def all_indices(
    seed: int, resamples: int, *queries: int
) -> Int64[np.ndarray, "resamples queries"]:
    """Draw the queries of all resamples, block by block."""
    drawn = [indices(seed, *block, *queries) for block in blocks(resamples)]
    return np.concatenate(drawn)


def blocks(resamples: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """Yield number and size of each block, from block `first` on."""
    for number in range(first, -(-resamples // BLOCK)):
        yield number, min(BLOCK, resamples - number * BLOCK)


def signs(seed: int, block: int, size: int, queries: int) -> Weights:
    """Draw a sign, -1 or 1, for each query in each resample."""
    drawn = generator(seed, "permutation", block).integers(0, 2, (size, queries))
    return np.ascontiguousarray(2.0 * drawn.T - 1.0)


def all_signs(block: int, size: int, queries: int) -> Weights:
    """Enumerate half of all signs of queries; the other half gives opposite sums."""
    number = block * BLOCK + np.arange(size)
    return 1.0 - 2.0 * ((number >> np.arange(queries)[:, None]) & 1)


def largest_ranges(
    values: Values, seed: int, block: int, size: int, near: int = 2**20
) -> Float64[np.ndarray, " resamples"]:
    """Permute each query's scores over runs; return the range of sums [Sakai Fig. 4].

    Scores, which are whole numbers, are sorted first, so the order of runs has no
    effect. numpy permutes whatever the device is: it is faster than sorting by JAX on a
    CPU, and all devices get the same numbers. Copies of the scores that are made at
    once take `near` bytes.
    """
    rows = np.ascontiguousarray(np.sort(values, axis=0).T)
    random = generator(seed, "tukey", block)
    step = max(1, near // max(1, rows.nbytes))
    ranges = np.empty(size)
    for low in range(0, size, step):
        resamples = min(step, size - low)
        copies = np.broadcast_to(rows, (resamples, *rows.shape))
        sums = random.permuted(copies, axis=2).sum(axis=1)
        ranges[low : low + resamples] = np.ptp(sums, axis=1)
    return ranges


def count(
    kind: str,
    scores: WholeScores,
    pairs: RunPairs,
    weights: Weights,
    *,
    device: Any = None,
    budget: int = 2**28,
) -> Int64[np.ndarray, " pairs"]:
    """Count, per pair, the resamples at least as extreme as the observed sample.

    Args:
        kind: `bootstrap` (studentised, paired, shifted to the null [Sakai Fig. 2]) or
            `permutation` of signs.
        scores: Scores of all runs.
        pairs: Pairs of runs.
        weights: Multiplicities, or signs.
        device: Device that computes; None takes the only one, or JAX's first.
        budget: Bytes that intermediate results may take.

    The statistic of a sample without variance is the limit of Student's t: 0 if its
    mean is 0, and otherwise infinite.
    """
    step = pairs_at_once(len(pairs[0]), weights.shape[1], budget)
    put = partial(at, device=device)
    if kind == "permutation":
        placed = put((scores.values, weights, np.float64(scores.slack)))
        flips = partial(program("sign_flip"), *program("flipped")(*placed))
        return _in_blocks(flips, step, *pairs)
    return _studentised(scores, pairs, weights, put, step)


def _studentised(
    scores: WholeScores, pairs: RunPairs, weights: Weights, put: Callable, step: int
) -> Int64[np.ndarray, " pairs"]:
    """Count for `bootstrap` by bounds in float32, then exactly for undecided pairs."""
    first, second = pairs
    sums, slack = scores.values.sum(1), np.float64(scores.slack)
    total = np.abs(sums[first] - sums[second])
    c, unit = centred(scores.values)
    near = program("approximate")(*put((c, with_observed(weights), slack, unit)))
    bounds = partial(program("bootstrap_bounds"), near)
    counts = _in_blocks(bounds, step, (total / unit).astype(np.float32), *pairs)
    equal = total <= slack
    counts[equal] = weights.shape[1]  # all resamples reach 0
    undecided = np.flatnonzero((counts >= paired_counts.OPEN) & ~equal)
    if len(undecided):
        exact = partial(program("bootstrap"), *put((scores.values, weights, slack)))
        step = step if 4 * len(undecided) > step else min(step, _FEW)
        pairs = first[undecided], second[undecided]
        counts[undecided] = _in_blocks(exact, step, *pairs)
    return counts


def _in_blocks(
    call: Callable, step: int, *of_pairs: np.ndarray
) -> Int64[np.ndarray, " pairs"]:
    """Count with a program on arrays of pairs, `step` pairs at once."""
    counts = [np.zeros(0, np.int64), *in_steps(call, step, *of_pairs)]
    return np.concatenate(counts)[: len(of_pairs[0])].astype(np.int64)


def in_steps(call: Callable, step: int, *of_pairs: np.ndarray) -> list[np.ndarray]:
    """Call a program on arrays of pairs, `step` pairs at once.

    Pairs of a run with itself pad the last block, so all blocks have one shape.
    """
    total, outputs = len(of_pairs[0]), []
    small = [a.astype(np.int32) if a.dtype == np.int64 else a for a in of_pairs]
    for low in range(0, total, step):
        padding = 0, max(0, low + step - total)
        outputs.append(call(*(np.pad(a[low : low + step], padding) for a in small)))
    return [*map(np.asarray, outputs)]


def pairs_at_once(pairs: int, resamples: int, budget: int) -> int:
    """Choose the number of pairs computed at once: a power of 2, at least 16."""
    most = max(16, budget // (3 * 8 * resamples))
    if default_backend() == "cpu":
        most = min(most, _CACHED)
    return min(1 << max(4, (pairs - 1).bit_length()), 1 << (most.bit_length() - 1))


def centred(values: Values) -> tuple[Values, np.float64]:
    """Subtract means of runs and of queries from scores, and scale the largest to 1.

    The differences of a pair, less their mean, are differences of these values, too.
    float32 holds more of the digits in which two runs differ, because the leading
    digits that they share are gone.

    Returns:
        The values, and the `unit` by which they were divided.
    """
    c = values - values.mean(1, keepdims=True)
    c -= c.mean(0)
    unit = np.abs(c).max(initial=0.0) or 1.0
    return c / unit, np.float64(unit)


def with_observed(weights: Weights) -> Weights:
    """Pad resamples to whole lanes, by at least one, with the observed sample.

    The observed sample holds each query once. Shifted to the null, its mean is 0, so it
    is never counted as extreme.
    """
    queries, resamples = weights.shape
    lanes = paired_counts.LANES
    width = -(-(resamples + 1) // lanes) * lanes
    return np.pad(weights, ((0, 0), (0, width - resamples)), constant_values=1.0)


@cache
def program(name: str) -> Callable:
    """Return the program of a function of `paired_counts`, compiled for each shape."""
    return Program(getattr(paired_counts, name))


def block_results(
    work: Callable[[int, int, Any], np.ndarray], first: int, resamples: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Compute several blocks at the same time, on all devices.

    Args:
        work: Function called in a thread with number, size and device of a block.
        first: Number of the first block.
        resamples: Number of resamples in all blocks, including those before `first`.

    Yields:
        Size and result of each block, in the order of blocks.
    """
    # With a single device, no call of JAX is needed.
    devices = [None] if local_device_count() == 1 else jax.local_devices()

    def calls() -> Iterator[Call]:
        for block, size in blocks(resamples, first):
            device = devices[block % len(devices)]
            yield Call(size, partial(work, block, size, device))

    return results(calls(), ahead=workers(), workers=workers())


def workers() -> int:
    """Return the number of blocks computed at the same time."""
    return max(local_device_count(), min(4, os.cpu_count() or 1))
