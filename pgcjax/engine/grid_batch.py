"""Image grids × judgments → scores: the kernels of grids over queries and systems."""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32

from pgcjax.engine import tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.tiles import PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT, image
from pgcjax.later import jax
from pgcjax.tensors import adjacency
from pgcjax.tensors.adjacency import Form
from pgcjax.tensors.grids import Shown
from pgcjax.tensors.padding import least, padded_size, stack

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_NEVER = 2**62  # vertices: grids have no levels
FAR = 2**20  # rows and columns: any two images of a grid are nearer


class Counts(NamedTuple):
    """Counts of votes on pairs of images of the systems, `[runs, queries]` each.

    Attributes:
        agreed: Judged pairs in a grid whose order agrees with the votes, by the later
            image, `[runs, queries, images]`.
        pairs: All judged pairs in a grid, likewise.
        near_agreed: `agreed` for images at most 2 rows and columns apart.
        near_pairs: `pairs` for such images.
        won: Judged pairs with images of other systems that a system's image wins.
        met: All judged pairs with images of other systems.
        bad: Images to which every image of the other systems is preferred.
        first: Images before each image, `ABSENT` if a grid lacks it; by images, too.
    """

    agreed: Int[np.ndarray, "runs queries n"]
    pairs: Int[np.ndarray, "runs queries n"]
    near_agreed: Int[np.ndarray, "runs queries n"]
    near_pairs: Int[np.ndarray, "runs queries n"]
    won: Int[np.ndarray, "runs queries"]
    met: Int[np.ndarray, "runs queries"]
    bad: Int[np.ndarray, "runs queries"]
    first: Int[np.ndarray, "runs queries n"]


class _Images(NamedTuple):
    """Images by distance, for PGC: see `kernels.image.packed_overlap`."""

    place: Int32[np.ndarray, "queries runs n"]
    inverse: Int32[np.ndarray, "queries runs n"]
    first: Int32[np.ndarray, "queries runs n"]


class _MajorityPairs(NamedTuple):
    """Majority votes on pairs of images: see `tensors.grids.Pairs`."""

    wins: Bool[np.ndarray, "queries n n"]
    judged: Bool[np.ndarray, "queries n n"]
    where: Bool[np.ndarray, "queries n"]


class _ImagePlaces(NamedTuple):
    """Places of the images of a pair, and the images of other systems."""

    first: Int32[np.ndarray, "queries runs n"]
    row: Int32[np.ndarray, "queries runs n"]
    column: Int32[np.ndarray, "queries runs n"]
    others: Int32[np.ndarray, "queries runs n"]
    images: Int[np.ndarray, "queries runs"]


class GridBatch(Batch):
    """A measure of image grids. Scores compare a system with all other systems."""

    def __init__(self, member: Member, setting: BatchSetting):
        """Look the judged images up in the grids of all systems."""
        assert setting.grids is not None
        self.members, self.tensors = [member], member.tensors
        self.docs, self.budget = self.tensors.docs, setting.budget
        self.shown = Shown(setting.grids, self.docs)
        self.opponents = _images_of_others(setting.grids, self.shown.run_ids)
        self.most_runs_yet = least().runs  # of any chunk: others take its programs

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Score the grids of the systems of a chunk."""
        [chunk] = self.tiles(rankings)
        made = tiles.score(chunk, progress).T
        if self.tensors.graphs is not None:
            sizes = [len(graph) for graph in self.tensors.graphs.values()]
            made = self.tensors.finish(made, np.array(sizes))
        return made[None]

    def tiles(self, rankings: "Rankings") -> list[TileBatch]:
        """The grids of the systems of a chunk."""
        number = {run: i for i, run in enumerate(self.shown.run_ids)}
        systems = np.array([number[run] for run in rankings.run_ids])
        self.most_runs_yet = max(self.most_runs_yet, len(systems))
        return [
            (PairTiles if self.tensors.graphs is None else GridTiles)(self, systems)
        ]


def _images_of_others(
    grids: Any, run_ids: Sequence[str]
) -> dict[str, Int[np.ndarray, " runs"]]:
    """Count, for each query and system, the images that other systems show."""
    by_doc = grids.groupby(["query_id", "doc_id"])["run_id"]
    alone = grids[by_doc.transform("size") == 1]
    alone = alone.groupby(["query_id", "run_id"]).size()
    return {
        str(query): np.array([n - alone.get((query, run), 0) for run in run_ids])
        for query, n in grids.groupby("query_id")["doc_id"].nunique().items()
    }


class GridTiles(TileBatch):
    """Graphs × grids of systems: sums of weights of grids and their ideals."""

    dtype = np.int64

    def __init__(self, batch: GridBatch, systems: np.ndarray):
        """Order the images of all systems by distance.

        Args:
            batch: Batch of the measure.
            systems: Numbers of the systems of a chunk.
        """
        self.tensors, self.budget, self._systems = batch.tensors, batch.budget, systems
        placed = batch.shown.placed(self.tensors.order, shared=self.tensors.shared)
        self._names = list(self.tensors.graphs or self.tensors.pairs)
        self._placed = [placed[name] for name in self._names]
        self.rows, self.columns = len(self._names), len(systems)
        self.most_columns = batch.most_runs_yet
        if self.tensors.graphs is not None:
            self._graphs = list(self.tensors.graphs.values())
            self._forms = adjacency.forms(self._graphs, weak_orders_from=_NEVER)
            self.shared = self.tensors.weights

    def size(self, query: int) -> Form | None:
        """Form and padded number of images; None without images."""
        formed = self._forms[query]
        return formed.form if formed else None

    def nbytes(self, size: Form) -> tuple[int, int]:
        """Bytes of the matrices of a query, and of where a system shows its images."""
        return 24 * size.size * size.size, 48 * size.size

    def pack_queries(self, queries: Sequence[int], size: Form) -> list[PackedQueries]:
        """Lay graphs out."""
        lay_out = adjacency.packed if size.name == "packed" else adjacency.wide
        arrays = lay_out([self._graphs[query] for query in queries], size.size)
        return [PackedQueries(size, queries, arrays)]

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Form) -> Any:
        """Images of each grid by distance, and the number of images before each."""
        placed, systems = [self._placed[i] for i in queries], self._systems[runs]
        order = _stacked((p.place[systems] for p in placed), size, -1)
        order = np.where(order < 0, np.arange(size.size, dtype=np.int32), order)
        inverse = np.argsort(order, axis=2).astype(np.int32)
        return _Images(order, inverse, self.first(queries, runs, size))

    def program(self, size: Form) -> QueryProgram:
        """Peel one query for several systems."""
        return grid_program(size.name)

    def first(
        self, queries: Sequence[int], runs: slice, size: Form
    ) -> Int32[np.ndarray, "queries runs n"]:
        """Images before each, by distance."""
        systems = self._systems[runs]
        first = (self._placed[i].first[systems] for i in queries)
        return _stacked(first, size, ABSENT)


class PairTiles(GridTiles):
    """Votes on pairs of images × grids of systems: scores of counts of pairs."""

    dtype = np.float64

    def __init__(self, batch: GridBatch, systems: np.ndarray):
        """Find the cells of images, too."""
        super().__init__(batch, systems)
        self._pairs = list(self.tensors.pairs.values())
        read = batch.shown.placed()
        self._read = [read[name] for name in self._names]
        nobody = np.zeros(len(batch.shown.run_ids), int)
        self._opponents = [batch.opponents.get(name, nobody) for name in self._names]

    def size(self, query: int) -> Form:
        """Padded number of images."""
        return Form("pairs", padded_size(len(self._pairs[query].doc_ids)))

    def pack_queries(self, queries: Sequence[int], size: Form) -> list[PackedQueries]:
        """Stack the majority votes."""
        pairs = [self._pairs[i] for i in queries]
        square = len(pairs), size.size, size.size
        judged = _MajorityPairs(
            stack([p.wins for p in pairs], square, 0),
            stack([p.judged for p in pairs], square, 0),
            _stacked((np.ones(len(p.doc_ids), bool) for p in pairs), size, 0),
        )
        return [PackedQueries(size, queries, judged)]

    def pack_runs(
        self, queries: Sequence[int], runs: slice, size: Form
    ) -> _ImagePlaces:
        """Cells of the images of each grid, and what other systems show."""
        read, systems = [self._read[i] for i in queries], self._systems[runs]
        return _ImagePlaces(
            self.first(queries, runs, size),
            _stacked((p.row[systems] for p in read), size, 0),
            _stacked((p.column[systems] for p in read), size, 0),
            _stacked((_elsewhere(p.first)[systems] for p in read), size, ABSENT),
            np.stack([self._opponents[i][systems] for i in queries]),
        )

    def finish(self, queries: Sequence[int], runs: slice, result: Any) -> np.ndarray:
        """Score counts of pairs."""
        first = self.first(queries, runs, Form("pairs", result[0].shape[-1]))
        counts = Counts(*(np.swapaxes(array, 0, 1) for array in (*result, first)))
        return self.tensors.finish(counts).T


def _stacked(arrays: Iterable[np.ndarray], size: Form, fill: int) -> np.ndarray:
    """Stack arrays `[..., images]`, and pad the last axis."""
    every = list(arrays)
    return stack(every, (len(every), *every[0].shape[:-1], size.size), fill)


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of each measure of grids."""
    return [GridBatch(member, setting) for member in members]


def _elsewhere(first: np.ndarray) -> np.ndarray:
    """Describe what other systems show: 0, else `ABSENT`; `[runs, images]`."""
    shown = first < ABSENT
    return np.where(shown.sum(0) > shown, 0, ABSENT).astype(np.int32)


def _packed(graphs, images, weights):
    return image.packed_overlap(
        *(graphs.rows, graphs.words, images.place, images.inverse),
        *(images.first[images.inverse], weights),
        where=graphs.where,
    )


def _wide(graphs, images, weights):
    return image.peeled_overlap(
        graphs.edges, images.place, images.first, weights, where=graphs.where
    )


def _pairs(judged, cells, weights):
    del weights
    wins, met, where = judged
    inside = partial(
        image.matched, wins, met, cells.first, cells.row, cells.column, where=where
    )
    between = image.duel(
        wins, met, cells.first, cells.others, cells.images, where=where
    )
    return *inside(FAR), *inside(2), *between


@cache
def grid_program(form: str) -> QueryProgram:
    """Program of a form: the kernel of grids of one query and several systems."""
    kernel = {"packed": _packed, "wide": _wide, "pairs": _pairs}[form]

    def program(query: Any, grids: Any, weights: Any) -> Any:
        return jax.vmap(kernel, in_axes=(None, 0, None))(query, grids, weights)

    return program
