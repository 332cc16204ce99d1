"""Image grids × judgments → scores: the kernels of grids over queries and systems."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member, Setting
from pgcjax.engine.cost import Group
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT, image
from pgcjax.later import jax
from pgcjax.runtime.devices import local_device_count, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors import adjacency
from pgcjax.tensors.grids import Placed, Shown
from pgcjax.tensors.padding import least, padded_size, stack
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


class _Block(NamedTuple):
    """Queries of one padded size that are computed at once.

    Attributes:
        mine: which queries, by number.
        shape: how many, with padding, and the padded number of images.
    """

    mine: list[int]
    shape: tuple[int, int]

    def stack(
        self, arrays: Iterable[np.ndarray], fill: int, *, square: bool = False
    ) -> np.ndarray:
        """Stack arrays `[..., images]`, or squares of images, and pad them."""
        arrays, (queries, size) = list(arrays), self.shape
        before = () if square else arrays[0].shape[:-1]
        shape = (queries, *before, *(size,) * (2 if square else 1))
        return stack(arrays, shape, fill)


class GridBatch(Batch):
    """A measure of image grids. Scores compare a system with all others there are."""

    def __init__(self, member: Member, setting: Setting):
        """Look the judged images up in the grids of all systems."""
        assert setting.grids is not None
        self.members, self._tensors = [member], member.tensors
        self.docs, self._grids = self._tensors.docs, setting.grids
        self._budget = setting.budget
        self._names = list(self._tensors.graphs or self._tensors.pairs)
        self._shown = Shown(setting.grids, self.docs)
        self._number = {run: i for i, run in enumerate(self._shown.run_ids)}

    def score(
        self, rankings: Rankings, progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Score the grids of the systems of a chunk."""
        runs = [self._number[run] for run in rankings.run_ids]
        padded = np.array(runs + runs[-1:] * (least().runs - len(runs)))
        graphs = self._tensors.graphs
        scores = self._overlaps(padded) if graphs is not None else self._counts(padded)
        scores = scores[: len(runs)]
        if progress:
            progress("scoring", scores.size, scores.size)
        return scores[None]

    def foresee(self, sample: Rankings) -> list[Group]:
        """Group queries by size: grids are as large as those of the sample."""
        del sample
        name, sizes = str(self.members[0].measure), self._sizes
        form = "grids" if self._tensors.graphs is not None else "grid pairs"
        out = []
        for size in sorted(set(map(padded_size, sizes))):
            here = [n for n in sizes if padded_size(n) == size]
            costs = _per_query(size), 0
            out.append(Group(name, form, size, len(here), sum(here), *costs))
        return out

    @property
    def _sizes(self) -> list[int]:
        if self._tensors.graphs is not None:
            return [len(graph) for graph in self._tensors.graphs.values()]
        return [len(pairs.doc_ids) for pairs in self._tensors.pairs.values()]

    @cached_property
    def _placed(self) -> dict[str, Placed]:
        order, shared = self._tensors.order, self._tensors.shared
        return self._shown.placed(order, shared=shared)

    @cached_property
    def _read(self) -> dict[str, Placed]:
        return self._shown.placed()

    @cached_property
    def _images_of_others(self) -> dict[str, np.ndarray]:
        """Count, of each query, the images that other systems show than each."""
        by_doc = self._grids.groupby(["query_id", "doc_id"])["run_id"]
        alone = self._grids[by_doc.transform("size") == 1]
        alone = alone.groupby(["query_id", "run_id"]).size()
        return {
            str(query): np.array(
                [n - alone.get((query, run), 0) for run in self._shown.run_ids]
            )
            for query, n in self._grids.groupby("query_id")["doc_id"].nunique().items()
        }

    def _overlaps(self, runs: np.ndarray) -> np.ndarray:
        """Add up weights of grids and their ideals, and finish: `[runs, queries]`."""
        sums = np.zeros((len(self._names), len(runs)), np.int64)
        for columns, part in results(self._overlap_calls(runs)):
            sums[columns] = np.asarray(part)[: len(columns)]
        return self._tensors.finish(sums.T, np.array(self._sizes))

    def _overlap_calls(self, runs: np.ndarray) -> Iterator[Call]:
        graphs, weights = list(self._tensors.graphs.values()), self._tensors.weights
        for whole in _blocks(self._sizes, self._budget):
            size = whole.shape[1]
            for ready in adjacency.matrices([graphs[i] for i in whole.mine], size):
                mine = [whole.mine[i] for i in ready.which.tolist()]
                block = _Block(mine, whole.shape)
                fixed = adjacency.batch_graphs(ready, block.shape[0])
                placed = [self._placed[self._names[i]] for i in block.mine]
                order = block.stack((p.place[runs] for p in placed), -1)
                order = np.where(order < 0, np.arange(size, dtype=np.int32), order)
                inverse = np.argsort(order, axis=2).astype(np.int32)
                first = block.stack((p.first[runs] for p in placed), ABSENT)
                moving = _Images(order, inverse, first)
                yield _call(block.mine, ready.form, (fixed, moving), weights)

    def _counts(self, runs: np.ndarray) -> np.ndarray:
        """Count pairs, and finish: `[runs, queries]`."""
        out = np.zeros((len(runs), len(self._names)))
        for (columns, first), parts in results(self._count_calls(runs)):
            arrays = (*map(np.asarray, parts), first)
            of_runs = [np.swapaxes(part[: len(columns)], 0, 1) for part in arrays]
            out[:, columns] = self._tensors.finish(Counts(*of_runs))
        return out

    def _count_calls(self, runs: np.ndarray) -> Iterator[Call]:
        pairs, names = list(self._tensors.pairs.values()), self._names
        nobody = np.zeros(len(self._number), int)
        for block in _blocks(self._sizes, self._budget):
            judged = [pairs[i] for i in block.mine]
            read = [self._read[names[i]] for i in block.mine]
            ordered = [self._placed[names[i]] for i in block.mine]
            images = [self._images_of_others.get(names[i], nobody) for i in block.mine]
            first = block.stack((p.first[runs] for p in ordered), ABSENT)
            fixed = _Judged(
                block.stack((p.wins for p in judged), 0, square=True),
                block.stack((p.judged for p in judged), 0, square=True),
                block.stack((np.ones(len(p.doc_ids), bool) for p in judged), 0),
            )
            moving = _Cells(
                first,
                block.stack((p.row[runs] for p in read), 0),
                block.stack((p.column[runs] for p in read), 0),
                block.stack((_elsewhere(p.first)[runs] for p in read), ABSENT),
                stack([n[runs] for n in images], (block.shape[0], len(runs)), 0),
            )
            label = block.mine, first
            yield _call(label, "pairs", (fixed, moving), np.zeros(1, np.int64))


def batches(members: Sequence[Member], setting: Setting) -> list[Batch]:
    """Make a batch of each measure of grids."""
    return [GridBatch(member, setting) for member in members]


def _per_query(size: int) -> int:
    return 24 * size * size


def _blocks(sizes: Sequence[int], budget: int) -> Iterator[_Block]:
    """Cut queries into blocks that fit; those of one size have one shape."""
    groups: dict[int, list[int]] = {}
    for i, n in enumerate(sizes):
        groups.setdefault(padded_size(n), []).append(i)
    for size, columns in sorted(groups.items()):
        queries, _ = plan.tile(
            len(columns),
            1,
            per_query=_per_query(size),
            per_pair=0,
            devices=local_device_count(),
            budget=budget,
        )
        for low in range(0, len(columns), queries):
            yield _Block(columns[low : low + queries], (queries, size))


def _elsewhere(first: np.ndarray) -> np.ndarray:
    """Say what other systems show: 0, else `ABSENT`; `[runs, images]`."""
    shown = first < ABSENT
    return np.where(shown.sum(0) > shown, 0, ABSENT).astype(np.int32)


def _call(label: Any, form: str, cut: Any, weights: np.ndarray) -> Call:
    shapes = jax.tree.map(np.shape, (tuple(map(tuple, cut)), weights))
    program = "grids", form, shapes, local_device_count()
    return Call(label, partial(_score, form, place(cut), weights), program)


def _score(form: str, cut: Any, weights: np.ndarray) -> Any:
    return grid_program(form, local_device_count())(cut, weights)


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
def grid_program(form: str, devices: int) -> Callable:
    """Map a kernel of grids over systems and queries."""
    kernel = {"packed": _packed, "wide": _wide, "pairs": _pairs}[form]

    def over_queries(cut, weights):
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None))
        return jax.vmap(over_runs, in_axes=(0, 0, None))(*cut, weights)

    return Program(over_queries, devices)
