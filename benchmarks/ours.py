"""All that the benchmarks touch inside pgcjax: when it moves, only this file does."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np

from pgcjax import compute
from pgcjax.kernels import ABSENT
from pgcjax.kernels.overlap import rank_weights
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.retrieved import Retrieved

__all__ = ["ABSENT", "Graph", "Retrieved"]


def scores(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int
) -> np.ndarray:
    """Score runs from graphs and rankings in memory: float64 `[runs, queries]`."""
    weights = rank_weights(p, depth)
    return compute.overlap_sums(graphs, rankings, weights) / weights.sum()


def device_calls(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int
) -> Callable[[], None]:
    """Give the calls on the device alone that `scores` makes, inputs being there."""
    calls: list[tuple[Callable, tuple]] = []
    batched = compute._batched

    def recording(*key: Any) -> Callable:
        function = batched(*key)

        def call(*arguments: Any) -> Any:
            calls.append((function, arguments))
            return function(*arguments)

        return call

    with mock.patch.object(compute, "_batched", recording):
        scores(graphs, rankings, p, depth)

    def one(function: Callable, arguments: tuple) -> None:
        with jax.enable_x64(True):
            jax.block_until_ready(function(*arguments))

    def replay() -> None:
        with ThreadPoolExecutor(compute._THREADS) as pool:
            for _ in pool.map(one, *zip(*calls, strict=True)):
                pass

    return replay


def graphs_of(measure: str, **judgments: Any) -> dict[str, Graph]:
    """Build the graphs of a measure from judgments, as `evaluate` does."""
    from pgcjax.measures.catalogue import parse
    from pgcjax.tables.preferences import read_preferences
    from pgcjax.tables.qrels import read_qrels

    read = {"preferences": read_preferences, "qrels": read_qrels}
    tables = {name: read[name](source) for name, source in judgments.items()}
    parsed = parse(measure)
    return parsed.definition.tensors(parsed.parameters, tables).graphs


def rankings_of(runs: Iterable[Path], judged: Mapping[str, np.ndarray]) -> Any:
    """Read run files and keep the ranks of judged documents, as `evaluate` does.

    Args:
        runs: files; each is named after its file.
        judged: documents of each query, ascending.
    """
    from pgcjax.tables.runs import Runs
    from pgcjax.tensors.rankings import Judged, Rankings, batches, find

    known = Judged(judged)
    tables = Runs(runs, name_by="file").read(judged)
    return Rankings(known, [find(some, known, "trec") for some in batches(tables)])


def read(runs: Iterable[Path]) -> None:
    """Read run files, and drop them at once."""
    from pgcjax.tables.runs import Runs

    for _ in Runs(runs, name_by="file").tables():
        pass


def dense_ranks(rankings: Any, query: str, docs: np.ndarray) -> np.ndarray:
    """Lay the ranks of a query's judged documents out: int32 `[runs, documents]`."""
    found = rankings.retrieved(query, docs)
    ranks = np.full((len(rankings.run_ids), len(docs)), ABSENT, np.int32)
    ranks[found.run, found.vertex] = found.rank
    return ranks


def can_pack() -> bool:
    """Say whether this version has `pgcjax pack`."""
    from pgcjax.cli import cli

    return "pack" in cli.commands
