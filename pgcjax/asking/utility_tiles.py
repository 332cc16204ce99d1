"""What answers to pairs of documents are worth: all pairs of queries at once."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT, peel_packed, utility
from pgcjax.later import jax
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.padding import padded_size, stack

_QUERIES = 16  # in a call
_PAIRS = 256  # likewise
_AT_ONCE = {"batch_size": 16}  # more leave the caches of a CPU
_EXACT = 2.0**53
_BITS = 40  # of a stake after the point, or fewer where there are many documents


def implied_gains(
    stakes: Sequence[Float64[np.ndarray, "n n"]],
    above: Sequence[Bool[np.ndarray, "n n"]],
) -> list[Float64[np.ndarray, "n n"]]:
    """Add up, of each query and answer, the stakes that it settles.

    Stakes are rounded to whole multiples of a power of 2, so that the sums are the same
    in every layout.

    Args:
        stakes: of open pairs, of each query.
        above: as of `kernels.utility`, of each query.
    """
    sizes = [padded_size(len(matrix)) for matrix in stakes]
    units = [_unit(matrix) for matrix in stakes]
    parts = []
    for size in sorted({*sizes}):
        same_size = [i for i, n in enumerate(sizes) if n == size]
        parts += [
            same_size[low : low + _QUERIES]
            for low in range(0, len(same_size), _QUERIES)
        ]

    def call(part: list[int]) -> Call:
        shape = _QUERIES, sizes[part[0]], sizes[part[0]]

        def make() -> Any:
            whole = [np.rint(stakes[i] / units[i]) for i in part]
            lay = [matrix.astype(np.float64) for matrix in (above[i] for i in part)]
            return _gain_program()((stack(whole, shape, 0), stack(lay, shape, 0)), ())

        return Call(part, make, ("gain", *shape))

    gains: dict[int, np.ndarray] = {}
    for part, made in results(map(call, parts)):
        for i, gain in zip(part, np.asarray(made), strict=False):
            n = len(stakes[i])
            gains[i] = gain[:n, :n] * units[i]
    return [gains[i] for i in range(len(stakes))]


def _unit(stakes: np.ndarray) -> float:
    """Return a power of 2 so that sums of all stakes, in units, are exact."""
    most = max(1.0, float(stakes.max(initial=0.0))) * (1 + stakes.size)
    return 2.0 ** max(-_BITS, np.ceil(np.log2(most / _EXACT)))


@cache
def _gain_program() -> Callable[..., Any]:
    def of_queries(cut: Any, shared: Any) -> Any:
        return jax.lax.map(lambda query: utility.implied_gain(*query), cut, **_AT_ONCE)

    return Program(of_queries, 1)


class AnswerGraph(NamedTuple):
    """A preference graph of which answers are tried.

    Attributes:
        edges: counts of preferences.
        unsettled: whether a pair is open.
        above: as of `kernels.utility`.
        ranks: 0-based, of each run; `ABSENT` if not retrieved.
        pairs: answers: the preferred document and the other one.
    """

    edges: Int[np.ndarray, "n n"]
    unsettled: Bool[np.ndarray, "n n"]
    above: Bool[np.ndarray, "n n"]
    ranks: Int[np.ndarray, "runs n"]
    pairs: Int[np.ndarray, "answers 2"]


def answered_overlaps(
    graphs: Sequence[AnswerGraph],
    weights: Int64[np.ndarray, " depth_plus_1"],
    progress: Progress | None = None,
) -> Iterator[Int64[np.ndarray, "answers runs"]]:
    """Peel each graph after each answer, for all runs: sums of RBO weights, in order.

    A pair (i, i) is no answer: it leaves the graph as it is. `progress` is called with
    `("answers", done, total)` queries.
    """

    def calls() -> Iterator[Call]:
        for number, graph in enumerate(graphs):
            for low in range(0, len(graph.pairs), _PAIRS):
                last = low + _PAIRS >= len(graph.pairs)
                yield _call((number, last), graph, graph.pairs[low:][:_PAIRS], weights)

    done: list[np.ndarray] = []
    for (number, last, count), made in results(calls(), progress=progress):
        done.append(np.asarray(made)[:count])
        if last:
            yield np.concatenate(done)
            done = []
            if progress:
                progress("answers", number + 1, len(graphs))


def _call(
    label: tuple[int, bool], graph: AnswerGraph, pairs: np.ndarray, weights: np.ndarray
) -> Call:
    n, size = len(graph.edges), padded_size(len(graph.edges))
    square, runs = (size, size), len(graph.ranks)

    packed = (
        size <= peel_packed.MOST_VERTICES and _degree(graph) < peel_packed.MOST_DEGREE
    )

    def make() -> Any:
        shared = (
            stack([*graph.edges.astype(np.int32)], square, 0),
            stack([*graph.unsettled], square, False),
            stack([*graph.above], square, False),
            _ranked(graph.ranks, size),
            *(weights, np.arange(size) < n),
        )
        return _peel_program(packed)(stack([*pairs], (_PAIRS, 2), 0), shared)

    program = "answered", packed, size, runs, len(weights)
    return Call((*label, len(pairs)), make, program)


def _degree(graph: AnswerGraph) -> int:
    """Bound the degree of a vertex, whatever the answers."""
    most = graph.edges + graph.unsettled
    return int(max(most.sum(0).max(initial=0), most.sum(1).max(initial=0)))


def _ranked(ranks: Int[np.ndarray, "runs n"], size: int) -> utility.RunOnGraph:
    """Order the vertices by each run, those not retrieved by id; padding at the end."""
    ends = np.full((len(ranks), size - ranks.shape[1]), ABSENT)
    ranks = np.concatenate([ranks, ends], axis=1).astype(np.int32)
    inverse = np.argsort(ranks, axis=1, kind="stable").astype(np.int32)
    order = np.argsort(inverse, axis=1).astype(np.int32)
    return utility.RunOnGraph(
        order, inverse, np.take_along_axis(ranks, inverse, axis=1)
    )


@cache
def _peel_program(packed: bool) -> Callable[..., Any]:
    def of_pairs(pairs: Any, shared: Any) -> Any:
        edges, unsettled, above, runs, weights, where = shared

        def of_pair(pair: Any) -> Any:
            def of_run(ranked: Any) -> Any:
                graph = edges, unsettled, above, pair, ranked, weights
                return utility.answered_overlap(*graph, where=where, packed=packed)

            return jax.lax.map(of_run, runs, **_AT_ONCE)

        return jax.lax.map(of_pair, pairs, **_AT_ONCE)

    return Program(of_pairs, 1)
