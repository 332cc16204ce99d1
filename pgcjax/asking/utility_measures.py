"""The measures by which runs are told apart, as bounds and utilities need them."""

from collections.abc import Callable, Sequence
from math import inf, log2
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from pgcjax.asking.bounds import Ranks, Share, blocks, overlap_bounds
from pgcjax.asking.utility_pools import Pool
from pgcjax.errors import UsageError
from pgcjax.io.choices import MEANS
from pgcjax.kernels.rbo import rank_weights
from pgcjax.measures.catalogue import parse
from pgcjax.measures.compatibility import finished
from pgcjax.measures.measure import Measure

SHARES = ("ppref", "rpref", "fpref", "wpref")
"""Measures that are shares of the preferences, which bounds take apart by pair."""


def asked_measure(text: Any, *, only: Sequence[str] = (*SHARES, "PGC")) -> Measure:
    """Read the measure by which runs are compared.

    Raises:
        UsageError: nothing is provable of it, or of one of its settings.
    """
    measure = parse(text)
    if measure.name not in only:
        raise UsageError(f"{measure}: expected {', '.join(only[:-1])} or {only[-1]}")
    usual = {"graph": "real", "closure": False, "ties": "doc_id"}
    for name, value in usual.items():
        if measure.parameters.get(name, value) != value:
            written = str(value).lower()
            raise UsageError(f"{measure}: expected {name}={written}, the default")
    if measure.mean != MEANS[0]:
        raise UsageError(f"{measure}: expected the arithmetic mean over queries")
    return measure


def shares(measure: Measure, pool: Pool) -> list[Share]:
    """Take a measure apart by pair, for each run."""
    q = measure.parameters
    cut = inf if q["k"] is None else q["k"]
    return [_share(measure.name, q, np.where(r < cut, r, inf)) for r in pool.ranks]


def _share(name: str, q: dict[str, Any], ranks: Ranks) -> Share:
    above = (ranks[:, None] < ranks[None, :]).astype(np.float64)
    either = np.maximum(above, above.T)
    if name == "ppref":
        return Share(above, either)
    if name == "rpref":
        return Share(above, np.ones_like(either))
    if name == "fpref":
        return Share(2 * above, either + 1)
    weight = np.array([_weights(q)(rank) for rank in ranks])
    choose = np.minimum if q["weight"] == "lower" else np.maximum
    pairs = choose(weight[:, None], weight[None, :])
    if not q["normalize"]:
        return Share(above * pairs, np.zeros_like(pairs), 1.0)
    return Share(above * pairs, either * pairs)


def _weights(q: dict[str, Any]) -> Callable[[float], float]:
    def weight(rank: float) -> float:
        if rank == inf:
            return 0.0
        return 1 / (1 + log2(rank + 1)) if q["weight"] == "tool" else 1 / log2(rank + 2)

    return weight


class Overlap(NamedTuple):
    """PGC of a query's runs, as bounds need it.

    Attributes:
        vertices: which documents of the pool are in the graph, whatever the answers.
        weights: of a shared document by the lower of its ranks.
        finish: makes scores of sums of weights of the runs.
    """

    vertices: Int64[np.ndarray, " v"]
    weights: Int64[np.ndarray, " depth_plus_1"]
    finish: Callable[[np.ndarray], Float64[np.ndarray, " runs"]]


def overlap(measure: Measure, pool: Pool) -> Overlap:
    """Lay out what PGC needs: the vertices are those with an answer, now or once."""
    q = measure.parameters
    touched = (pool.counts + pool.counts.T > 0) | pool.unsettled
    vertices = np.flatnonzero(touched.any(1))

    def finish(sums: np.ndarray) -> Float64[np.ndarray, " runs"]:
        size = np.array([len(vertices)])
        settings = q["p"], q["depth"], q["normalization"]
        return finished(*settings, sums[:, None], size)[:, 0]

    return Overlap(vertices, rank_weights(q["p"], q["depth"]), finish)


def overlap_ranges(measure: Measure, pool: Pool) -> Float64[np.ndarray, "runs 2"]:
    """Bound PGC of each run by the blocks that every answer leaves in order."""
    graph = overlap(measure, pool)
    inside = np.ix_(graph.vertices, graph.vertices)
    block = blocks(pool.counts[inside], pool.unsettled[inside])
    sums = [
        overlap_bounds(block, ranks[graph.vertices], graph.weights)
        for ranks in pool.ranks
    ]
    low, high = np.array(sums, np.int64).reshape(-1, 2).T
    return np.stack([graph.finish(low), graph.finish(high)], axis=1)
