"""Image grids × judgments → scores: the kernels of grids over queries and systems."""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32

from pgcjax.engine import tiles
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.cost import CostGroup
from pgcjax.engine.tiles import PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT, image
from pgcjax.later import jax
from pgcjax.tensors import adjacency
from pgcjax.tensors.grids import Shown
from pgcjax.tensors.padding import least, padded_size, stack

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

FAR = 2**20  # rows and columns: any two images of a grid are nearer


class Counts(NamedTuple):
    """What people say of pairs of images of the systems, `[runs, queries]` each.

    Attributes:
        agreed: pairs in a grid whose order they agree with, ...
        pairs: ... of how many; both by the later image, `[runs, queries, images]`.
        near_agreed: the same of images at most 2 rows and columns apart.
        near_pairs: the same.
        won: pairs with images of other systems that a system's image wins, ...
        met: ... of how many that were judged.
        bad: images to which every image of the others is preferred.
        first: images before each, `ABSENT` if a grid lacks it; by images, too.
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


class _Judged(NamedTuple):
    """What most votes say of pairs of images: see `tensors.grids.Pairs`."""

    wins: Bool[np.ndarray, "queries n n"]
    judged: Bool[np.ndarray, "queries n n"]
    where: Bool[np.ndarray, "queries n"]


class _Cells(NamedTuple):
    """Where systems show the images of a pair, and what other systems show."""

    first: Int32[np.ndarray, "queries runs n"]
    row: Int32[np.ndarray, "queries runs n"]
    column: Int32[np.ndarray, "queries runs n"]
    others: Int32[np.ndarray, "queries runs n"]
    images: Int[np.ndarray, "queries runs"]


class GridBatch(Batch):
    """A measure of image grids. Scores compare a system with all others there are."""

    def __init__(self, member: Member, setting: BatchSetting):
        """Look the judged images up in the grids of all systems."""
        assert setting.grids is not None
        self.members, self.tensors = [member], member.tensors
        self.docs, self.budget = self.tensors.docs, setting.budget
        self.shown = Shown(setting.grids, self.docs)
        self._opponents = _images_of_others(setting.grids, self.shown.run_ids)
        self._number = {run: i for i, run in enumerate(self.shown.run_ids)}
        self._most_runs = least().runs

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Score the grids of the systems of a chunk."""
        systems = np.array([self._number[run] for run in rankings.run_ids])
        self._most_runs = max(self._most_runs, len(systems))
        if self.tensors.graphs is None:
            chunk = PairTiles(self, systems, self._most_runs, self._opponents)
            return tiles.score(chunk, progress).T[None]
        chunk = GridTiles(self, systems, self._most_runs)
        sums = tiles.score(chunk, progress).T
        return self.tensors.finish(sums, np.array(self._sizes))[None]

    def foresee(self, sample: "Rankings") -> list[CostGroup]:
        """Group queries by size: grids are as large as those of the sample."""
        del sample
        name, sizes = str(self.members[0].measure), self._sizes
        form = "grids" if self.tensors.graphs is not None else "grid pairs"
        out = []
        for size in sorted(set(map(padded_size, sizes))):
            here = [n for n in sizes if padded_size(n) == size]
            costs = _bytes_of(size)
            out.append(CostGroup(name, form, size, len(here), sum(here), *costs))
        return out

    @property
    def _sizes(self) -> list[int]:
        if self.tensors.graphs is not None:
            return [len(graph) for graph in self.tensors.graphs.values()]
        return [len(pairs.doc_ids) for pairs in self.tensors.pairs.values()]


def _images_of_others(
    grids: Any, run_ids: Sequence[str]
) -> dict[str, Int[np.ndarray, " runs"]]:
    """Count, of each query, the images that other systems show than each."""
    by_doc = grids.groupby(["query_id", "doc_id"])["run_id"]
    alone = grids[by_doc.transform("size") == 1]
    alone = alone.groupby(["query_id", "run_id"]).size()
    return {
        str(query): np.array([n - alone.get((query, run), 0) for run in run_ids])
        for query, n in grids.groupby("query_id")["doc_id"].nunique().items()
    }


def _bytes_of(size: int) -> tuple[int, int]:
    """Bytes of the matrices of a query, and of where a system shows its images."""
    return 24 * size * size, 48 * size


class Grids(NamedTuple):
    """Graphs of a form and padded size."""

    form: str
    size: int


class GridTiles(TileBatch):
    """Graphs × grids of systems: sums of weights of grids and their ideals."""

    dtype = np.int64

    def __init__(self, batch: GridBatch, systems: np.ndarray, most_runs: int):
        """Order the images of all systems by distance.

        Args:
            batch: the measure.
            systems: numbers of those of a chunk.
            most_runs: systems of any chunk.
        """
        self.tensors, self.budget, self._systems = batch.tensors, batch.budget, systems
        order, shared = self.tensors.order, self.tensors.shared
        placed = batch.shown.placed(order, shared=shared)
        self.names = list(self.tensors.graphs or self.tensors.pairs)
        self.placed = [placed[name] for name in self.names]
        self.rows, self.columns = len(self.names), len(systems)
        self.most_columns = most_runs
        if self.tensors.graphs is not None:
            self._graphs = list(self.tensors.graphs.values())
            self.shared = self.tensors.weights

    def size(self, query: int) -> Grids | None:
        """Padded number of images; of no image there is nothing to add up."""
        n = len(self._graphs[query])
        return Grids("packed", padded_size(n)) if n else None

    def nbytes(self, size: Grids) -> tuple[int, int]:
        """Bytes of matrices, and of a grid."""
        return _bytes_of(size.size)

    def pack_queries(
        self, parts: Sequence[tuple[Grids, Sequence[int]]]
    ) -> list[PackedQueries]:
        """Lay graphs out."""
        queries = [query for _, part in parts for query in part]
        sizes = [size.size for size, part in parts for _ in part]
        graphs = [self._graphs[query] for query in queries]
        packed = []
        for ready in adjacency.matrices(graphs, sizes):
            chosen = [queries[i] for i in ready.which.tolist()]
            form = Grids(ready.form, ready.size)
            packed.append(PackedQueries(form, chosen, ready.arrays))
        return packed

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Grids) -> Any:
        """Images of each grid by distance, and how many stand before each."""
        placed, systems = [self.placed[i] for i in queries], self._systems[runs]
        order = self.stacked((p.place[systems] for p in placed), size, -1)
        order = np.where(order < 0, np.arange(size.size, dtype=np.int32), order)
        inverse = np.argsort(order, axis=2).astype(np.int32)
        first = self.stacked((p.first[systems] for p in placed), size, ABSENT)
        return _Images(order, inverse, first)

    def program(self, size: Grids) -> QueryProgram:
        """Peel one query for several systems."""
        return grid_program(size.form)

    def stacked(
        self, arrays: Iterable[np.ndarray], size: Grids, fill: int, *, square: int = 0
    ) -> np.ndarray:
        """Stack arrays `[..., images]`, or squares of images, and pad them."""
        every = list(arrays)
        before = () if square else every[0].shape[:-1]
        padded = (size.size,) * (1 + bool(square))
        return stack(every, (len(every), *before, *padded), fill)


class PairTiles(GridTiles):
    """Votes on pairs of images × grids of systems: scores of counts of pairs."""

    dtype = np.float64

    def __init__(
        self,
        batch: GridBatch,
        systems: np.ndarray,
        most_runs: int,
        opponents: dict[str, Int[np.ndarray, " runs"]],
    ):
        """Find the cells of images, too.

        Args:
            batch: the measure.
            systems: numbers of those of a chunk.
            most_runs: systems of any chunk.
            opponents: images that other systems show than each, of each query.
        """
        super().__init__(batch, systems, most_runs)
        self._pairs = list(self.tensors.pairs.values())
        read = batch.shown.placed()
        self._read = [read[name] for name in self.names]
        nobody = np.zeros(len(batch.shown.run_ids), int)
        self._opponents = [opponents.get(name, nobody) for name in self.names]

    def size(self, query: int) -> Grids:
        """Padded number of images."""
        return Grids("pairs", padded_size(len(self._pairs[query].doc_ids)))

    def pack_queries(
        self, parts: Sequence[tuple[Grids, Sequence[int]]]
    ) -> list[PackedQueries]:
        """Stack what most votes say."""
        packed = []
        for size, queries in parts:
            pairs = [self._pairs[i] for i in queries]
            there = (np.ones(len(p.doc_ids), bool) for p in pairs)
            judged = _Judged(
                self.stacked((p.wins for p in pairs), size, 0, square=True),
                self.stacked((p.judged for p in pairs), size, 0, square=True),
                self.stacked(there, size, 0),
            )
            packed.append(PackedQueries(size, queries, judged))
        return packed

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Grids) -> _Cells:
        """Cells of the images of each grid, and what other systems show."""
        read, systems = [self._read[i] for i in queries], self._systems[runs]
        others = (_elsewhere(p.first)[systems] for p in read)
        return _Cells(
            self._first(queries, runs, size),
            self.stacked((p.row[systems] for p in read), size, 0),
            self.stacked((p.column[systems] for p in read), size, 0),
            self.stacked(others, size, ABSENT),
            np.stack([self._opponents[i][systems] for i in queries]),
        )

    def finish(self, queries: Sequence[int], runs: slice, result: Any) -> np.ndarray:
        """Score counts of pairs."""
        size = Grids("pairs", result[0].shape[-1])
        arrays = *result, self._first(queries, runs, size)
        counts = Counts(*(np.swapaxes(array, 0, 1) for array in arrays))
        return self.tensors.finish(counts).T

    def _first(
        self, queries: Sequence[int], runs: slice, size: Grids
    ) -> Int32[np.ndarray, "queries runs n"]:
        """Images before each, by distance."""
        systems = self._systems[runs]
        first = (self.placed[i].first[systems] for i in queries)
        return self.stacked(first, size, ABSENT)


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
        *(images.first[images.inverse], images.place.shape[-1], weights),
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
