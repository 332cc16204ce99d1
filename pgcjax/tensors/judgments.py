"""Judgments as measures take them: graphs, or arrays about the documents of a query."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.grids import Pairs

T = TypeVar("T")


class Judgments(Mapping[str, Any]):
    """Canonical tables of judgments by kind, and what measures made of them.

    Measures that need the same of a table share it: it is made once.
    """

    def __init__(self, tables: Mapping[str, Any]):
        self._tables = dict(tables)
        self._made: dict[tuple[Any, ...], Future] = {}
        self._lock = Lock()

    def __getitem__(self, kind: str) -> Any:
        return self._tables[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def once(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Call `make` with some tables and options, or give what it made before.

        Any thread may ask; while one makes something, others that need it wait.
        """
        key = make, kinds, tuple(sorted(options.items()))
        with self._lock:
            new = key not in self._made
            made = self._made.setdefault(key, Future())
        if new:
            try:
                made.set_result(make(*(self[kind] for kind in kinds), **options))
            except BaseException as error:
                made.set_exception(error)
        return made.result()


@dataclass(frozen=True)
class Overlaps:
    """What the peel batches: a sum of weights for each run and query.

    Attributes:
        graphs: the judged documents of each query, queries ascending.
        weights: of a shared document, by the lower of its two ranks.
        finish: makes scores of sums, `[runs, queries]`, and sizes of graphs.
    """

    graphs: Mapping[str, Graph]
    weights: np.ndarray
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
class Lists:
    """What a kernel of ranked lists batches: a score for each run and query.

    Attributes:
        docs: the documents of each query that count, ascending; queries ascending.
            Measures that have the same object here are computed together.
        arrays: what is known of each query, by name. Arrays are padded with zeros at
            the end of every axis: a kernel takes a zero as nothing.
        kernel: `kernel(seen, arrays, parameters)` scores one run and query; see
            `kernels.seen.Seen`.
        depth: last rank that counts; None if all do.
        by_rank: gives the weight of ranks 0 (nothing) to the one it is called with.
        void: queries of which nothing can be found: every run scores 0.
        notes: what a user should know of these judgments.
    """

    docs: Mapping[str, np.ndarray]
    arrays: Mapping[str, Mapping[str, np.ndarray]]
    kernel: Callable[..., Any]
    depth: int | None = None
    by_rank: Callable[[int], np.ndarray] | None = None
    void: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OnGrids:
    """What a measure of image grids batches; `gridwise` computes it.

    Attributes:
        docs: the judged images of each query, ascending; queries ascending.
        order: of examination.
        graphs: votes on the images of each query, for PGC.
        weights: of a shared image, by the lower of its two ranks, for PGC.
        pairs: what most votes say of pairs, for counts of them; in place of graphs.
        shared: whether all systems have one ideal.
        finish: makes scores of what was computed: of sums of weights and numbers of
            images, both `[runs, queries]`; or of `gridwise.Counts`.
    """

    docs: Mapping[str, np.ndarray]
    finish: Callable[..., np.ndarray]
    order: str = "default"
    graphs: Mapping[str, Graph] | None = None
    weights: np.ndarray | None = None
    pairs: Mapping[str, Pairs] | None = None
    shared: bool = False

    @property
    def void(self) -> list[str]:
        """Queries of which nothing can be found: every run scores 0."""
        return [query for query, docs in self.docs.items() if not len(docs)]


Tensors = Overlaps | Lists | OnGrids
