"""Image grids × judgments → scores: the kernels of grids over queries and systems."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from pgcjax import plan
from pgcjax.calls import Progress, over_devices, place, start
from pgcjax.kernels import ABSENT, grid
from pgcjax.tensors import forms
from pgcjax.tensors.grids import Shown
from pgcjax.tensors.judgments import OnGrids
from pgcjax.tensors.layout import padded_size, stack

if TYPE_CHECKING:
    import pandas as pd

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

    agreed: np.ndarray
    pairs: np.ndarray
    near_agreed: np.ndarray
    near_pairs: np.ndarray
    won: np.ndarray
    met: np.ndarray
    bad: np.ndarray
    first: np.ndarray


def results(
    grids: "pd.DataFrame",
    tensors: Sequence[OnGrids],
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> list[np.ndarray]:
    """Score the grids of all systems by some measures.

    Args:
        grids: canonical.
        tensors: of the measures.
        budget: bytes of a tile.
        progress: called with `(stage, done, total)`.

    Returns:
        For each measure float64 `[systems, queries]`, systems ascending, queries in the
        order of its `docs`.
    """
    parts, others = [], {}
    for i, tensor in enumerate(tensors):
        shown = Shown(grids, tensor.docs)
        if tensor.graphs is not None:
            parts.append(_overlaps(tensor, shown, budget, progress))
        else:
            others = others or _images_of_others(grids, shown.run_ids)
            parts.append(_counts(tensor, shown, others, budget, progress))
        if progress:
            progress("scoring grids", i + 1, len(tensors))
    return parts


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
        some, (queries, size) = list(arrays), self.shape
        before = () if square else some[0].shape[:-1]
        shape = (queries, *before, *(size,) * (2 if square else 1))
        return stack(some, shape, fill)


def _blocks(sizes: Sequence[int], budget: int) -> Iterator[_Block]:
    """Cut queries into blocks that fit; those of one size have one shape."""
    groups: dict[int, list[int]] = {}
    for i, n in enumerate(sizes):
        groups.setdefault(padded_size(n), []).append(i)
    for size, some in sorted(groups.items()):
        queries, _ = plan.tile(
            len(some),
            1,
            per_query=24 * size * size,
            per_pair=0,
            devices=jax.local_device_count(),
            budget=budget,
        )
        for low in range(0, len(some), queries):
            yield _Block(some[low : low + queries], (queries, size))


def _overlaps(
    tensor: OnGrids, shown: Shown, budget: int, progress: Progress | None
) -> np.ndarray:
    """Add up weights of grids and their ideals, and finish: `[runs, queries]`."""
    assert tensor.graphs is not None and tensor.weights is not None
    graphs, names = list(tensor.graphs.values()), list(tensor.graphs)
    placed = shown.placed(tensor.order, shared=tensor.shared)
    sums = np.zeros((len(names), len(shown.run_ids)), np.int64)
    for whole in _blocks([len(g) for g in graphs], budget):
        size = whole.shape[1]
        ready = forms.matrices([graphs[i] for i in whole.mine], size)
        for form in ("words", "wide"):
            known = [r.arrays for r in ready if r.form == form]
            of_form = [r.form == form for r in ready]
            block = _Block(list(compress(whole.mine, of_form)), whole.shape)
            if not known:
                continue
            fixed = tuple(
                stack(part, (block.shape[0], *part[0].shape), 0)
                for part in zip(*known, strict=True)
            )
            some = [placed[names[i]] for i in block.mine]
            order = block.stack((p.place for p in some), -1)
            order = np.where(order < 0, np.arange(size, dtype=np.int32), order)
            inverse = np.argsort(order, axis=2).astype(np.int32)
            first = block.stack((p.first for p in some), ABSENT)
            part = _computed(
                form, fixed, (order, inverse, first), tensor.weights, progress
            )
            sums[block.mine] = part[: len(block.mine)]
    return tensor.finish(sums.T, np.array([len(g) for g in graphs]))


def _counts(
    tensor: OnGrids,
    shown: Shown,
    others: Mapping[str, np.ndarray],
    budget: int,
    progress: Progress | None,
) -> np.ndarray:
    """Count pairs, and finish: `[runs, queries]`."""
    assert tensor.pairs is not None
    pairs, names = list(tensor.pairs.values()), list(tensor.pairs)
    read, ordered = shown.placed(), shown.placed(tensor.order)
    out = np.zeros((len(shown.run_ids), len(names)))
    for block in _blocks([len(p.doc_ids) for p in pairs], budget):
        mine = [pairs[i] for i in block.mine]
        some = [read[names[i]] for i in block.mine]
        first = block.stack((ordered[names[i]].first for i in block.mine), ABSENT)
        fixed = (
            block.stack((p.wins for p in mine), 0, square=True),
            block.stack((p.judged for p in mine), 0, square=True),
            block.stack((np.ones(len(p.doc_ids), bool) for p in mine), 0),
        )
        images = [others.get(names[i], np.zeros(len(out), int)) for i in block.mine]
        moving = (
            first,
            block.stack((p.row for p in some), 0),
            block.stack((p.column for p in some), 0),
            block.stack((_elsewhere(p.first) for p in some), ABSENT),
            stack(images, (block.shape[0], len(out)), 0),
        )
        nothing = np.zeros(1, np.int64)
        parts = _computed("pairs", fixed, moving, nothing, progress)
        of_runs = [np.swapaxes(part[: len(mine)], 0, 1) for part in (*parts, first)]
        out[:, block.mine] = tensor.finish(Counts(*of_runs))
    return out


def _elsewhere(first: np.ndarray) -> np.ndarray:
    """Say what other systems show: 0, else `ABSENT`; `[runs, images]`."""
    shown = first < ABSENT
    return np.where(shown.sum(0) > shown, 0, ABSENT).astype(np.int32)


def _images_of_others(grids: "pd.DataFrame", run_ids: list[str]) -> dict:
    """Count, of each query, the images that other systems show than each: `[runs]`."""
    counts = grids.groupby(["query_id", "doc_id"])["run_id"].transform("size")
    alone = grids[counts == 1].groupby(["query_id", "run_id"]).size()
    of_query = grids.groupby("query_id")["doc_id"].nunique()
    return {
        str(query): np.array([n - alone.get((query, run), 0) for run in run_ids])
        for query, n in of_query.items()
    }


def _computed(
    form: str, fixed: Any, moving: Any, weights: np.ndarray, progress: Progress | None
) -> Any:
    shapes = tuple(array.shape for array in (*fixed, *moving, weights))
    key = "grids", form, shapes, jax.local_device_count()
    call = partial(_call, form, *place((fixed, moving)), weights)
    return jax.tree.map(np.asarray, start(key, call, progress)())


def _call(form: str, fixed: Any, moving: Any, weights: np.ndarray) -> Any:
    with jax.enable_x64(True):
        return _program(form, jax.local_device_count())(fixed, moving, weights)


def _words(fixed, moving, weights):
    (rows, start, where), (order, inverse, first) = fixed, moving
    by_place = first[inverse]
    return grid.words_overlap(
        *(rows, start, order, inverse, by_place, order.shape[-1], weights), where=where
    )


def _wide(fixed, moving, weights):
    (edges, where), (order, _, first) = fixed, moving
    return grid.peeled_overlap(edges, order, first, weights, where=where)


def _pairs(fixed, moving, weights):
    (wins, judged, where), (first, row, column, others, images) = fixed, moving
    inside = partial(grid.matched, wins, judged, first, row, column, where=where)
    between = grid.duel(wins, judged, first, others, images, where=where)
    return *inside(FAR), *inside(2), *between


@cache
def _program(form: str, devices: int) -> Callable:
    """Map a kernel of grids over systems and queries."""
    kernel = {"words": _words, "wide": _wide, "pairs": _pairs}[form]
    over_runs = jax.vmap(kernel, in_axes=(None, 0, None))

    def over_queries(fixed, moving, weights):
        return jax.vmap(over_runs, in_axes=(0, 0, None))(fixed, moving, weights)

    return over_devices(over_queries, devices)
