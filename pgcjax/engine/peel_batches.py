"""Graphs × rankings → scores: the peel over queries, runs and devices."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64, Int64

from pgcjax.engine import autotune, plan
from pgcjax.engine.batch import Batch, Member, Setting
from pgcjax.engine.cost import Group
from pgcjax.engine.peel_tiles import Layout, Tile, bytes_of
from pgcjax.errors import Progress
from pgcjax.kernels import peel, peel_levels, peel_packed
from pgcjax.later import Array, jax
from pgcjax.runtime.devices import default_backend, local_device_count
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program, in_one_piece
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import padded_size
from pgcjax.tensors.rank_tables import PackedRuns

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_LARGE = 2**21  # words of a tile's matrices, times runs, that are worth a thread


class PeelBatch(Batch):
    """A measure of graphs: RBO of each run and its nearest ideal ranking."""

    def __init__(self, member: Member, setting: Setting):
        """Group the graphs of the measure."""
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        keep, budget = setting.keep, setting.budget
        self._layout = Layout(self._tensors.graphs, keep=keep, budget=budget)

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Add up RBO weights, and normalise the sums."""
        sums = layout_sums(self._layout, rankings, self._tensors.weights, progress)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        return self._tensors.finish(sums, sizes)[None]

    def foresee(self, sample: "Rankings") -> list[Group]:
        """Group queries by form and size."""
        groups: dict[tuple[str, int], list[str]] = {}
        for query, graph in self._tensors.graphs.items():
            if n := len(graph):
                groups.setdefault((_form(graph), padded_size(n)), []).append(query)
        name = str(self.members[0].measure)
        out = []
        for (form, size), queries in groups.items():
            vertices = sum(len(self.docs[query]) for query in queries)
            sizes = size, len(queries), vertices
            out.append(Group(name, form, *sizes, *bytes_of(form, size)))
        return out


def batches(members: Sequence[Member], setting: Setting) -> list[Batch]:
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

    Queries are grouped by form and padded size, cut into tiles that fit `budget`
    bytes, and spread over all local devices. Sums are of integers: no cut changes them.

    Returns:
        Queries in the order of `graphs`; 0 for empty graphs.
    """
    layout = Layout(graphs, keep=0, budget=budget)
    return layout_sums(layout, rankings, weights, progress)


def layout_sums(
    layout: Layout,
    rankings: "Rankings",
    weights: Int64[np.ndarray, " depth_plus_1"],
    progress: Progress | None = None,
) -> Int64[np.ndarray, "runs queries"]:
    """Do what `overlap_sums` does, for graphs that are laid out for several calls."""
    runs = len(rankings.run_ids)
    sums = np.zeros((len(layout.graphs), runs), np.int64)
    done, total = 0, runs * layout.judged
    calls = (call_of(tile, weights) for tile in layout.tiles(rankings))
    for (columns, part_of_runs), part in results(calls, progress=progress):
        sums_of_tile = np.asarray(part)[
            : len(columns), : part_of_runs.stop - part_of_runs.start
        ]
        sums[columns, part_of_runs] = sums_of_tile
        done += sums_of_tile.size
        if progress:
            progress("scoring", done, total)
    return np.ascontiguousarray(sums.T)


def _form(graph: Graph) -> str:
    """Tell the form of a graph, but for preferences that happen to be a weak order."""
    if graph.graded_only() is not None:
        return "levels"
    return "packed" if len(graph) <= peel_packed.MOST_VERTICES else "wide"


def call_of(tile: Tile, weights: np.ndarray) -> Call:
    """Name a call; its label holds the queries and runs, not the arrays."""
    shapes = tuple(array.shape for array in (*tile.ranks, *tile.lists))
    program = tile.form, shapes, tile.size, tile.width, weights.shape
    cut, shared = (tile.graphs, tile.ranks, tile.steps), (*tile.lists, weights)
    return Call(
        (tile.columns, tile.runs),
        partial(tile_sums, tile.form, cut, shared, tile.width),
        (*program, local_device_count()),
        # Small tiles JAX computes one after another while we go on, as fast as we lay
        # them out.
        apart=tile.form != "levels" and _words(tile) >= _LARGE,
    )


def _words(tile: Tile) -> int:
    """Count the words of the matrices of a tile, for each run."""
    queries, runs = tile.ranks[0].shape[:2]
    return queries * runs * tile.size**2


def tile_sums(form: str, cut: Any, shared: tuple[Any, ...], width: int = 0) -> Array:
    """Add up the weights of a tile: int64 `[queries, runs]`.

    Args:
        form: `packed`, `listed`, `wide` or `levels`; or `pallas`: `packed` in one
            launch.
        cut: graphs, ranks and steps: arrays whose first axis is queries.
        shared: the lists of the tile, if it has any; and weights.
        width: of `levels`, enough steps, where devices would have to ask for them.
    """
    # int64 needs JAX's x64 mode: switched on around our calls alone, never for the
    # program that imports us.
    devices, backend = local_device_count(), default_backend()
    # A number that all know beforehand spares other devices to ask for it.
    most = width if form == "levels" and backend != "cpu" else 0

    def call(form: str) -> Array:
        return tile_program(form, devices, backend, most)(cut, shared)

    if form == "packed" and backend != "cpu":
        form = autotune.choose(cut[1].order.shape, call)
    return call(form)


def _packed(graphs, runs, steps, weights):
    return peel_packed.peeled_overlap(
        *(graphs.rows, graphs.words, runs.order, runs.inverse, runs.ranks),
        *(steps, weights),
        where=graphs.where,
    )


def _pallas(graphs, runs, steps, weights):
    # Pallas takes a moment to import, and is for GPUs.
    from pgcjax.kernels import peel_pallas

    interpret = jax.local_devices()[0].platform == "cpu"  # to test it
    return peel_pallas.peeled_overlap(
        *(graphs.rows, graphs.words, runs.order, runs.inverse, runs.ranks),
        *(steps, weights),
        where=graphs.where,
        interpret=interpret,
    )


def _wide(graphs, runs, steps, weights):
    return peel.peeled_overlap(graphs.edges, runs.ranks, weights, where=graphs.where)


def _levelled(cut, shared, most: int = 0):
    """Compute all queries and runs of a device at once: in `most` steps, if given."""
    graphs, runs, steps = cut
    enough = most or steps.max()
    over_queries = jax.vmap(_of_levels, in_axes=(0, 0, None, None))
    return over_queries(graphs, runs, enough, shared)


def _levels_one_by_one(cut, shared):
    """Compute a query after another: the state of one stays in a core's cache."""

    def one(query):
        graph, runs, steps = query
        return _of_levels(graph, runs, steps, shared)

    return jax.lax.map(one, cut)


def _of_levels(graph, runs, steps, shared):
    level, ranks, weights = shared
    return peel_levels.levelled_overlap(
        graph.starts, level, ranks, runs.first, runs.counts, steps, weights
    )


@cache
def tile_program(form: str, devices: int, backend: str, most: int = 0) -> Callable:
    """Map a kernel of one query and one run over queries, and runs inside.

    On CPU queries follow each other, each with as many steps as it needs, and so do
    runs if they are many; elsewhere all are computed at once, with as many steps as
    there are places, or, of levels, in `most` steps.
    """
    if form == "levels":
        at_once = partial(_levelled, most=most)
        one_by_one = in_one_piece(_levels_one_by_one)
        return Program(one_by_one if backend == "cpu" else at_once, devices)
    kernel = {"pallas": _pallas, "wide": _wide}.get(form, _packed)

    def one_by_one(cut, shared):
        *lists, weights = shared
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))
        (queries, runs), size = cut[1][0].shape[:2], cut[0].where.shape[-1]
        # What is in one piece loses nothing by small steps.
        together, runs_at_once = plan.side_by_side(
            queries if form == "wide" else 1, runs, size
        )

        def few(queries):
            graphs, ranks, steps = queries
            if together > 1:
                over = jax.vmap(over_runs, in_axes=(0, 0, None, None))
                return over(graphs, ranks, steps.max(), weights)
            graphs, ranks, steps = jax.tree.map(lambda x: x[0], queries)
            if form == "listed":
                of_runs = lists[0], lists[1], ranks.first, ranks.counts, size
                places: Any = peel_packed.runs_by_place(*of_runs)
                ranks = PackedRuns(*places)
            if runs_at_once == runs:
                return over_runs(graphs, ranks, steps, weights)
            return jax.lax.map(
                lambda run: kernel(graphs, run, steps, weights),
                ranks,
                batch_size=runs_at_once,
            )

        grouped = jax.tree.map(lambda x: x.reshape(-1, together, *x.shape[1:]), cut)
        return jax.lax.map(few, grouped).reshape(queries, runs)

    def at_once(cut, shared):
        (graphs, ranks, steps), (weights,) = cut, shared
        if form == "pallas":
            over = jax.vmap(kernel, in_axes=(0, 0, 0, None))
            return over(graphs, ranks, steps, weights)
        places = ranks.ranks.shape[-1]
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))
        return jax.vmap(lambda g, r: over_runs(g, r, places, weights))(graphs, ranks)

    if backend != "cpu":
        return Program(at_once, devices)
    in_pieces = form == "wide"  # which scatters
    return Program(one_by_one if in_pieces else in_one_piece(one_by_one), devices)
