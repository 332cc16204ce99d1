"""Greedy PGC and Compat: RBO of each run with its nearest ideal ranking.

A graph is scored in the first of these forms that it has:

| form     | which graphs                        | kernel      | buys               |
|----------|-------------------------------------|-------------|--------------------|
| `levels` | weak orders, of grades or of votes; | peel_levels | 12 to 30 × as fast |
|          | those of Compat and of `ideal=`     |             |                    |
| `packed` | ≤ 1024 documents, degrees < 1024    | peel_packed | 5 × as fast        |
| `wide`   | all others                          | peel        | no limits          |

NVIDIA GPUs peel `packed` graphs in a single launch: see `engine.peel_programs`.

Further optimisations, with the speed-up of each alone: runs as flat lists, which
programs lay out (2.6 to 8 × as fast), one piece of machine code on a CPU (1.1 to 8),
tiles that are laid out ahead of calls (1.1 to 1.5), steps of few runs (1 to 1.6), and a
thread for a large tile (1 to 1.4).
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pgcjax.engine import plan, tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.peel_programs import is_interpreted, kernel, leave_out, peel_choice
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import peel, peel_levels, peel_packed
from pgcjax.later import Array, jax
from pgcjax.runtime.devices import default_backend, is_host
from pgcjax.tensors import adjacency
from pgcjax.tensors.adjacency import Form, FormedGraph, PackedGraphs, WideGraphs
from pgcjax.tensors.flat_runs import RunRanks, Where, by_place, by_vertex
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import padded_size, sent_type

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_MOST_THERE = 2**30  # bytes of graphs that devices keep for the next chunk of runs
_PER_LEVELS = 256  # bytes of a run and a query whose documents have few levels


class PeelBatch(Batch):
    """A measure of graphs."""

    def __init__(self, member: Member, setting: BatchSetting):
        """Take the graphs of the measure."""
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        graphs = self._tensors.graphs
        self._graphs = PeelGraphs(graphs, keep=setting.keep, budget=setting.budget)

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Add up RBO weights, and normalise the sums."""
        sums = self._graphs.overlaps(rankings, self._tensors.weights, progress)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        return self._tensors.finish(sums, sizes)[None]

    def tiles(self, rankings: "Rankings") -> list[TileBatch]:
        """The peel of all graphs."""
        return [PeelTiles(self._graphs, rankings, self._tensors.weights)]


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of each measure of graphs."""
    keep = setting.keep // max(1, len(members))
    return [PeelBatch(member, setting._replace(keep=keep)) for member in members]


class PeelGraphs:
    """Graphs of all queries, laid out once for many calls: runs may come in chunks.

    Attributes:
        graphs: Graph of each query.
        docs: Documents of the graphs, by query.
        budget: Bytes of a tile.
        most_runs: Most runs of any call: calls with fewer have the same programs.
        room: Most documents that the runs of any call retrieved, for the same reason.
        longest: Most documents that one run retrieved for a query.
    """

    def __init__(
        self,
        graphs: Mapping[str, Graph],
        *,
        keep: int = 0,
        budget: int = plan.BUDGET,
    ):
        """Take graphs.

        Args:
            graphs: Graph of each query.
            keep: Bytes of laid out graphs to keep for the next call.
            budget: Bytes of a tile.
        """
        self.graphs, self.budget, self._left = list(graphs.values()), budget, keep
        self.docs = {name: graph.doc_ids for name, graph in graphs.items()}
        self.most_runs = self.room = self.longest = 0
        self._ready: dict[tuple[int, int], Any] = {}
        self._there: dict[tuple[int, int], int] = {}  # bytes of what devices have

    @cached_property
    def forms(self) -> list[FormedGraph | None]:
        """Form of each graph; None of empty ones."""
        return adjacency.forms(self.graphs, weak_orders_from=plan.settings.levels)

    @cached_property
    def values(self) -> Int32[np.ndarray, " documents"]:
        """Number of each document: its level of `levels`, else its vertex."""
        values: list[np.ndarray] = [np.zeros(0, np.int32)]
        for graph, formed in zip(self.graphs, self.forms, strict=True):
            level = formed.level if formed else None
            values.append(np.arange(len(graph)) if level is None else level)
        return np.concatenate(values).astype(np.int32, copy=False)

    def overlaps(
        self,
        rankings: "Rankings",
        weights: Int64[np.ndarray, " depth_plus_1"],
        progress: Progress | None = None,
    ) -> Int64[np.ndarray, "runs queries"]:
        """Add up RBO weights of each run with its nearest ideal ranking of each query.

        Sums are of integers: no cut into tiles changes them.

        Returns:
            Queries in the order of `graphs`; 0 for empty graphs.
        """
        sums = tiles.score(PeelTiles(self, rankings, weights), progress)
        return np.ascontiguousarray(sums.T)

    def packed(self, queries: Sequence[int], form: Form) -> Any:
        """Lay the graphs of a tile out, or return them if they were kept."""
        key = queries[0], len(queries)
        if key in self._ready:
            return self._ready[key]
        if form.name == "levels":
            formed: list[Any] = [self.forms[query] for query in queries]
            ready: Any = adjacency.of_levels([f.level for f in formed], form.size)
        else:
            graphs = [self.graphs[query] for query in queries]
            vertices = np.array([len(graph) for graph in graphs], np.int32)
            ready = _laid_out(graphs, form), vertices
        if (nbytes := _nbytes(ready)) <= self._left:
            self._left -= nbytes
            self._ready[key] = ready
        return ready

    def keep(self, queries: Sequence[int], arrays: Any) -> None:
        """Keep a tile as the devices have it, in place of what was laid out here."""
        key, nbytes = (queries[0], len(queries)), _nbytes(arrays)
        is_here = key in self._ready and key not in self._there
        if is_here and sum(self._there.values()) + nbytes <= _MOST_THERE:
            self._ready[key], self._there[key] = arrays, nbytes


class PeelTiles(TileBatch):
    """Graphs × a chunk of runs: sums of RBO weights `[queries, runs]`.

    Attributes:
        graphs: Graphs of all queries.
        runs: Judged documents that runs retrieved.
    """

    dtype = np.int64

    def __init__(
        self,
        graphs: PeelGraphs,
        rankings: "Rankings",
        weights: Int64[np.ndarray, " depth_plus_1"],
    ):
        """Look documents up."""
        self.graphs, self.budget = graphs, graphs.budget
        narrow = not is_host()
        of_docs = graphs.docs, graphs.values, graphs.room
        self.runs = rankings.flat(*of_docs, narrow=narrow)
        self.rows, self.columns = self.runs.count.shape
        longest = padded_size(int(self.runs.count.max(initial=0)))
        graphs.most_runs = max(graphs.most_runs, self.columns)
        graphs.longest = max(graphs.longest, longest)
        graphs.room = self.runs.room
        self.most_columns = graphs.most_runs
        self.shared = self.runs.documents, weights

    def size(self, query: int) -> Form | None:
        """Form and padded size of its graph."""
        formed = self.graphs.forms[query]
        return formed.form if formed else None

    def nbytes(self, size: Form) -> tuple[int, int]:
        """Bytes of a matrix, and of some arrays of documents."""
        if size.name == "levels":
            return 4 * size.size, _PER_LEVELS
        # Three int32 arrays, and as much again on the way.
        return 4 * size.size * size.size, 48 * size.size

    def pace(self, size: Form) -> Pace:
        """On a CPU, as many words in a step as one thread changes at once."""
        if default_backend() != "cpu":
            return Pace()
        if size.name == "levels":
            return Pace(in_turn=True, in_one_piece=True)
        step = max(plan.settings.together, plan.settings.words // size.size)
        fits = size.name == "packed" and size.size <= peel_packed.MOST_LISTED
        return Pace(step, in_turn=True, in_one_piece=fits)

    def pack_queries(self, queries: Sequence[int], size: Form) -> list[PackedQueries]:
        """Lay graphs out."""
        return [PackedQueries(size, queries, self.graphs.packed(queries, size))]

    def keep(self, part: PackedQueries, arrays: Any) -> None:
        """Keep graphs on the devices for the next chunk of runs."""
        self.graphs.keep(part.queries, arrays)

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Form) -> Where:
        """Places of rankings."""
        del size
        return self.runs.where(queries, runs)

    def program(self, size: Form) -> QueryProgram:
        """Peel one query for several runs."""
        if default_backend() == "cpu":
            return peel_program(size, 0)
        # A GPU would have to return a number of steps from the data at each step.
        if size.name == "levels":
            return peel_program(size, self.graphs.longest)
        return peel_program(size, size.size, _launch(size))

    def leave_out(self, size: Form, error: Exception) -> None:
        """Peel by the next program."""
        leave_out(_launch(size), size.size, error)


def _laid_out(graphs: Sequence[Graph], form: Form) -> PackedGraphs | WideGraphs:
    """Lay graphs out; of those that are packed on a GPU, counts are sent there."""
    if form.name == "packed" and default_backend() == "cpu":
        return adjacency.packed(graphs, form.size)
    edges, where = adjacency.wide(graphs, form.size)
    if form.name == "packed":
        edges = edges.astype(sent_type(int(edges.max())))
    return WideGraphs(edges, where)


def _nbytes(arrays: Any) -> int:
    return sum(array.nbytes for array in jax.tree.leaves(arrays))


def _launch(form: Form) -> str:
    """Name the program of a form on this device, as of `peel_choice`."""
    is_peeled = form.name == "packed" and default_backend() != "cpu"
    return peel_choice(form.size).name if is_peeled else "xla"


def _in_words(graph: Any) -> Any:
    """Pack a graph that was sent as counts."""
    if isinstance(graph, PackedGraphs):
        return graph
    rows, words = peel_packed.rows_and_words(graph.edges)
    packed: Any = PackedGraphs  # whose arrays are JAX's here
    return packed(rows, words, graph.where)


@cache
def peel_program(form: Form, longest: int, launch: str = "xla") -> QueryProgram:
    """Program of a form: sums of weights of one query and several runs.

    Args:
        form: Form of the graph.
        longest: Sufficient number of steps, if it must not depend on data; else 0.
        launch: Program that peels packed graphs, see `peel_choice`.
    """

    def levels(query: Any, runs: Where, shared: Any) -> Array:
        starts, (documents, weights) = query, shared
        lists = documents.value, documents.rank, runs.first, runs.count
        steps = longest or runs.count.max()
        return peel_levels.levelled_overlap(starts, *lists, steps, weights)

    def packed(query: Any, runs: Where, shared: Any) -> Array:
        (graph, vertices), (documents, weights) = query, shared
        graph = _in_words(graph)
        if not longest and form.size <= peel_packed.MOST_LISTED:
            lists = documents.value, documents.rank, runs.first, runs.count
            places = RunRanks(*peel_packed.runs_by_place(*lists, form.size))
        else:
            places = by_place(documents, runs, form.size)
        steps = form.size if longest else vertices

        def of_run(order: Array, inverse: Array, ranks: Array) -> Array:
            arrays = graph.rows, graph.words, order, inverse, ranks, steps, weights
            return peel_packed.peeled_overlap(*arrays, where=graph.where)

        return jax.vmap(of_run)(places.order, places.inverse, places.ranks)

    def in_one_launch(query: Any, runs: Where, shared: Any) -> Array:
        (graph, vertices), (documents, weights) = query, shared
        graph = _in_words(graph)
        places = by_place(documents, runs, form.size)
        arrays: Any = graph.rows, graph.words, *places, vertices, weights
        statics = {"where": graph.where, "interpret": is_interpreted()}
        return kernel(launch).peeled_overlap(*arrays, **statics)

    def wide(query: Any, runs: Where, shared: Any) -> Array:
        (graph, _), (documents, weights) = query, shared

        def of_run(ranks: Array) -> Array:
            edges, where = graph
            return peel.peeled_overlap(edges, ranks, weights, where=where)

        return jax.vmap(of_run)(by_vertex(documents, runs, form.size))

    if form.name == "packed" and launch != "xla":
        return in_one_launch
    return {"levels": levels, "packed": packed, "wide": wide}[form.name]
