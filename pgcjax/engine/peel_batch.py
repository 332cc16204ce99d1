"""Greedy PGC and Compat: RBO of each run with its nearest ideal ranking.

A graph is scored in the first of these forms that it has:

| form     | which graphs                        | kernel      | buys               |
|----------|-------------------------------------|-------------|--------------------|
| `levels` | weak orders, by grades alone        | peel_levels | 12 to 30 × as fast |
| `orders` | votes that make a weak order        | peel_levels | the same           |
| `packed` | ≤ 1024 documents, degrees < 1024    | peel_packed | 5 × as fast        |
| `pallas` | of these, on NVIDIA GPUs            | peel_pallas | a single launch    |
| `wide`   | all others                          | peel        | no limits          |

What else earns its lines, each measured alone: runs as flat lists, which programs lay
out (2.6 to 8 × as fast), one piece of machine code on a CPU (1.1 to 8), tiles that are
laid out ahead of calls (1.1 to 1.5), steps of few runs (1 to 1.6), and a thread for a
large tile (1 to 1.4).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pgcjax.engine import autotune, plan, tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.cost import CostGroup
from pgcjax.engine.flat_runs import FlatRuns, Where, by_place, by_vertex
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import peel, peel_levels, peel_packed
from pgcjax.later import Array, jax
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors import adjacency
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import blank, padded_size
from pgcjax.tensors.rank_tables import RunRanks

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings


class Form(NamedTuple):
    """How graphs are scored, and their padded size.

    Attributes:
        name: see the table of this file.
        size: padded number of vertices, or of levels.
        vertices: padded number of vertices of `orders`.
    """

    name: str
    size: int
    vertices: int = 0


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

    def foresee(self, sample: "Rankings") -> list[CostGroup]:
        """Group queries by form and size."""
        del sample
        groups: dict[Form, list[str]] = {}
        for query, graph in self._tensors.graphs.items():
            if form := form_of(graph):
                groups.setdefault(form, []).append(query)
        name = str(self.members[0].measure)
        out = []
        for form, queries in groups.items():
            vertices = sum(len(self.docs[query]) for query in queries)
            sizes = form.size, len(queries), vertices
            out.append(CostGroup(name, form.name, *sizes, *bytes_of(form)))
        return out


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of each measure of graphs."""
    keep = setting.keep // max(1, len(members))
    return [PeelBatch(member, setting._replace(keep=keep)) for member in members]


def overlap_sums(
    graphs: Mapping[str, Graph],
    rankings: "Rankings",
    weights: Int64[np.ndarray, " depth_plus_1"],
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> Int64[np.ndarray, "runs queries"]:
    """Add up RBO weights of every run with its nearest ideal ranking of every query.

    Sums are of integers: no cut into tiles changes them.

    Returns:
        Queries in the order of `graphs`; 0 for empty graphs.
    """
    return PeelGraphs(graphs, budget=budget).overlaps(rankings, weights, progress)


def form_of(graph: Graph) -> Form | None:
    """Form of a graph, as far as it can be told before its votes are counted."""
    n = len(graph.doc_ids)
    if not n:
        return None
    if graph.levels is not None and (level := graph.graded_only()) is not None:
        return Form("levels", max(4, 1 << int(level.max()).bit_length()))
    form = "packed" if n <= peel_packed.MOST_VERTICES else "wide"
    return Form(form, padded_size(n))


def bytes_of(form: Form) -> tuple[int, int]:
    """Bytes of a query, and of a run and query, in a tile."""
    if form.name in ("levels", "orders"):
        return 4 * (form.size + form.vertices), plan.PER_LEVELS
    # Three int32 arrays, and as much again on the way.
    return 4 * form.size * form.size, 48 * form.size


class PeelGraphs:
    """Graphs of all queries, laid out once for many calls: runs may come in chunks.

    Attributes:
        graphs: of each query.
        forms: of each query; None of empty graphs.
        budget: bytes of a tile.
        most_runs: of any call: those with fewer have the same programs.
        room: for documents that runs retrieved, likewise ...
        longest: ... and for those of one run and query.
    """

    def __init__(
        self,
        graphs: Mapping[str, Graph],
        *,
        keep: int = 0,
        budget: int = plan.BUDGET,
    ):
        """Choose forms.

        Args:
            graphs: of each query.
            keep: bytes of laid out graphs to keep for the next call.
            budget: bytes of a tile.
        """
        self.graphs, self.budget, self._left = list(graphs.values()), budget, keep
        self.docs = {name: graph.doc_ids for name, graph in graphs.items()}
        self.forms = [*map(form_of, self.graphs)]
        self.most_runs = self.room = self.longest = 0
        self._ready: dict[tuple[int, int], list[PackedQueries]] = {}

    def overlaps(
        self,
        rankings: "Rankings",
        weights: Int64[np.ndarray, " depth_plus_1"],
        progress: Progress | None = None,
    ) -> Int64[np.ndarray, "runs queries"]:
        """Add up RBO weights of each run and query."""
        sums = tiles.score(PeelTiles(self, rankings, weights), progress)
        return np.ascontiguousarray(sums.T)

    def values(self) -> Int32[np.ndarray, " documents"]:
        """What stands for each document: its level of `levels`, else its vertex."""
        counts = np.array([len(graph.doc_ids) for graph in self.graphs], int)
        starts = np.cumsum(counts) - counts
        values = np.arange(counts.sum(), dtype=np.int32)
        values -= np.repeat(starts, counts).astype(np.int32)
        for first, graph, form in zip(
            starts.tolist(), self.graphs, self.forms, strict=True
        ):
            if form and form.name == "levels" and graph.levels is not None:
                values[first : first + len(graph.doc_ids)] = graph.levels
        return values

    def packed(
        self, parts: Sequence[tuple[Form, Sequence[int]]]
    ) -> list[PackedQueries]:
        """Lay the graphs of a block out, or return those that were kept."""
        key = parts[0][1][0], sum(len(queries) for _, queries in parts)
        if key in self._ready:
            return self._ready[key]
        levels = [(f, queries) for f, queries in parts if f.name == "levels"]
        others = [(f, queries) for f, queries in parts if f.name != "levels"]
        ready = [*self._of_grades(levels), *self._of_votes(others)]
        nbytes = sum(x.nbytes for p in ready for x in jax.tree.flatten(p.arrays)[0])
        if nbytes <= self._left:
            self._left -= nbytes
            self._ready[key] = ready
        return ready

    def _of_grades(
        self, parts: Sequence[tuple[Form, Sequence[int]]]
    ) -> list[PackedQueries]:
        queries = [query for _, part in parts for query in part]
        if not queries:
            return []
        levels: list[Any] = [self.graphs[query].levels for query in queries]
        return [
            PackedQueries(
                Form("levels", stack.size),
                [queries[i] for i in stack.which.tolist()],
                (stack.arrays,),
            )
            for stack in adjacency.as_levels(*adjacency.end_to_end(levels))
        ]

    def _of_votes(
        self, parts: Sequence[tuple[Form, Sequence[int]]]
    ) -> list[PackedQueries]:
        queries = [query for _, part in parts for query in part]
        graphs = [self.graphs[query] for query in queries]
        sizes = [form.size for form, part in parts for _ in part]
        levels = -(-plan.settings.levels // plan.runs_at_once(self.most_runs))
        packed = []
        for stack in adjacency.matrices(graphs, sizes, levels=levels):
            chosen = [queries[i] for i in stack.which.tolist()]
            form, arrays = Form(stack.form, stack.size), (stack.arrays, stack.vertices)
            if stack.form == "levels":
                level = _by_vertex(stack)
                form = Form("orders", stack.size, level.shape[1])
                arrays = stack.arrays, level
            packed.append(PackedQueries(form, chosen, arrays))
        return packed


def _by_vertex(stack: adjacency.Stack) -> Int32[np.ndarray, "queries n"]:
    """Level of each vertex of weak orders, padded."""
    assert stack.level is not None
    vertices = stack.vertices
    level = blank((len(vertices), padded_size(int(vertices.max()))))
    level[np.arange(level.shape[1]) < vertices[:, None]] = stack.level
    return level


class PeelTiles(TileBatch):
    """Graphs × a chunk of runs: sums of RBO weights `[queries, runs]`.

    Attributes:
        graphs: of all queries.
        runs: the judged documents that runs retrieved.
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
        self.runs = FlatRuns(
            rankings, graphs.docs, values=graphs.values(), room=graphs.room
        )
        self.rows, self.columns = self.runs.count.shape
        longest = padded_size(int(self.runs.count.max(initial=0)))
        graphs.most_runs = max(graphs.most_runs, self.columns)
        graphs.longest = max(graphs.longest, longest)
        graphs.room = self.runs.room
        self.most_columns = graphs.most_runs
        self.shared = self.runs.documents, weights

    def size(self, query: int) -> Form | None:
        """Form and padded size of its graph."""
        return self.graphs.forms[query]

    def nbytes(self, size: Form) -> tuple[int, int]:
        """Bytes of a matrix, and of some arrays of documents."""
        return bytes_of(size)

    def pace(self, size: Form) -> Pace:
        """On a CPU, as many words in a step as one thread changes at once."""
        if default_backend() != "cpu":
            return Pace()
        if size.name in ("levels", "orders"):
            return Pace(in_turn=True, in_one_piece=True)
        step = max(plan.settings.together, plan.settings.words // size.size)
        fits = size.name == "packed" and size.size <= peel_packed.MOST_LISTED
        return Pace(step, in_turn=True, in_one_piece=fits, near=True)

    def pack_queries(
        self, parts: Sequence[tuple[Form, Sequence[int]]]
    ) -> list[PackedQueries]:
        """Lay graphs out."""
        return self.graphs.packed(parts)

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Form) -> Where:
        """Places of rankings."""
        del size
        return self.runs.where(queries, runs)

    def program(self, size: Form) -> QueryProgram:
        """Peel one query for several runs."""
        if default_backend() == "cpu":
            return peel_program(size, 0)
        # A GPU would be asked for a number of the data at each step.
        weak = size.name in ("levels", "orders")
        return peel_program(size, self.graphs.longest if weak else size.size)

    def choose(self, size: Form, shape: Any, run: Any) -> Form:
        """Choose the faster of two launches on a GPU."""
        if size.name != "packed" or default_backend() == "cpu":
            return size
        name = autotune.choose(
            (*shape, size.size), lambda name: run(size._replace(name=name))
        )
        return size._replace(name=name)


@cache
def peel_program(form: Form, longest: int) -> QueryProgram:
    """Program of a form: sums of weights of one query and several runs.

    Args:
        form: of the graph.
        longest: steps that are enough, where the data are not to be asked; else 0.
    """

    def of_levels(query: Any, runs: Where, shared: Any) -> Array:
        (starts,), (documents, weights) = query[0], shared
        lists = documents.value, documents.rank, runs.first, runs.count
        steps = longest or runs.count.max()
        level = query[1] if form.name == "orders" else None
        return peel_levels.levelled_overlap(starts, *lists, steps, weights, level)

    def packed(query: Any, runs: Where, shared: Any) -> Array:
        (graph, vertices), (documents, weights) = query, shared
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

    def pallas(query: Any, runs: Where, shared: Any) -> Array:
        # Pallas takes a moment to import, and is for GPUs.
        from pgcjax.kernels import peel_pallas

        (graph, vertices), (documents, weights) = query, shared
        places = by_place(documents, runs, form.size)
        arrays: Any = graph.rows, graph.words, *places, vertices, weights
        interpret = jax.local_devices()[0].platform == "cpu"  # to test it
        statics = {"where": graph.where, "interpret": interpret}
        return peel_pallas.peeled_overlap(*arrays, **statics)

    def wide(query: Any, runs: Where, shared: Any) -> Array:
        (graph, _), (documents, weights) = query, shared

        def of_run(ranks: Array) -> Array:
            edges, where = graph
            return peel.peeled_overlap(edges, ranks, weights, where=where)

        return jax.vmap(of_run)(by_vertex(documents, runs, form.size))

    named: dict[str, QueryProgram] = {"levels": of_levels, "orders": of_levels}
    named |= {"packed": packed, "pallas": pallas, "wide": wide}
    return named[form.name]
