"""Tensors of measures for the engine: one class for each kind of batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int64

from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.grids import Pairs


@dataclass(frozen=True)
class PeelTensors:
    """Input of the peel: graphs, and weights of ranks.

    Attributes:
        graphs: Graph of each query, queries ascending.
        weights: Weight of a shared document, by the lower of its two ranks.
        finish: Function of sums, `[runs, queries]`, and sizes of graphs: scores.
    """

    graphs: Mapping[str, Graph]
    weights: Int64[np.ndarray, " depth_plus_1"]
    finish: Callable[[np.ndarray, np.ndarray], np.ndarray]

    @cached_property
    def docs(self) -> dict[str, np.ndarray]:
        """The judged documents of each query, ascending; queries ascending."""
        return {query: graph.doc_ids for query, graph in self.graphs.items()}

    @property
    def void(self) -> list[str]:
        """Queries of which nothing can be found: every run scores 0."""
        return [query for query, graph in self.graphs.items() if not len(graph)]


@dataclass(frozen=True)
class TiedTensors(PeelTensors):
    """Input of the peel by all orders of documents that were not retrieved.

    Attributes:
        ties: Summary of their scores: `mean`, `min`, `max`, or the standard `error` of
            the mean.
        n: Number of orders to draw where there are too many.
        seed: Seed of the draws.
        errors: Standard errors of the means of drawn orders so far.
    """

    ties: str = "mean"
    n: int = 100
    seed: int = 0
    errors: list[float] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        """Count scores that are not exact, and bound the error of means."""
        if not self.errors:
            return ()
        mean = sum(self.errors) / len(self.errors)
        return (
            f"ties={self.ties}: {len(self.errors):,} scores average {self.n:,} drawn "
            "orders, the others all orders; standard error of the drawn means: "
            f"{mean:.5f} on average, {max(self.errors):.5f} at most",
        )


@dataclass(frozen=True)
class ListTensors:
    """Input of a kernel of ranked lists: arrays about the documents of a query.

    Attributes:
        docs: the documents of each query that count, ascending; queries ascending.
            Measures that have the same object here are computed together.
        arrays: a pytree of arrays for each query, all of one structure. Arrays are
            padded with zeros at the end of every axis, which kernels ignore.
        kernel: `kernel(measure, run, arrays)` scores one run and query; see
            `kernels.ranked_list.RankedList`. The numbers of the measure are traced.
        depth: last rank that counts; None if all do.
        weights: Function of a last rank: the weights of ranks 0 (padding) to it.
        void: Queries in which no run can find anything: every run scores 0.
        notes: Notes for users on these judgments.
    """

    docs: Mapping[str, np.ndarray]
    arrays: Mapping[str, Any]
    kernel: Callable[..., Any]
    depth: int | None = None
    weights: Callable[[int], np.ndarray] = lambda depth: np.zeros(1)
    void: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridTensors:
    """Input of a measure of image grids: graphs, or counts of pairs.

    Attributes:
        docs: Judged images of each query, ascending; queries ascending.
        order: Order of examination.
        graphs: Graph of the votes on images of each query, for PGC.
        weights: Weight of a shared image, by the lower of its two ranks, for PGC.
        pairs: Majority votes on pairs, for counts of pairs, in place of graphs.
        shared: whether all systems have one ideal ranking.
        finish: Function that returns scores, from sums of weights and numbers of
            images, both `[runs, queries]`; or from `engine.grid_batch.Counts`.
    """

    docs: Mapping[str, np.ndarray]
    finish: Callable[..., np.ndarray]
    order: str = "default"
    graphs: Mapping[str, Graph] | None = None
    weights: Int64[np.ndarray, " depth_plus_1"] | None = None
    pairs: Mapping[str, Pairs] | None = None
    shared: bool = False

    @property
    def void(self) -> list[str]:
        """Queries of which nothing can be found: every run scores 0."""
        return [query for query, docs in self.docs.items() if not len(docs)]
