"""Pairs of rankings → RBO: which pairs are computed at once, and where."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax.engine import plan
from pgcjax.errors import Progress
from pgcjax.kernels import rbo_ties as kernel
from pgcjax.later import jax, jnp
from pgcjax.runtime.devices import default_backend, local_device_count
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.tied_lists import TiedList

_BYTES = 192  # of a pair's arrays, by rank
_SHORT = 15  # documents: shorter rankings share programs, as compiling takes longest


class RankingSides(NamedTuple):
    """The rankings of one query that are compared: each of a with each of b.

    Attributes:
        a: rankings.
        b: rankings; None: each of a with itself and each after it.
    """

    a: Sequence[TiedList]
    b: Sequence[TiedList] | None = None

    def pairs(self) -> int:
        """Count the pairs."""
        if self.b is None:
            return len(self.a) * (len(self.a) + 1) // 2
        return len(self.a) * len(self.b)


class PairValues(NamedTuple):
    """Values of some pairs of one query: places of both rankings, RBO by variant."""

    query: int
    a: np.ndarray
    b: np.ndarray
    values: dict[str, np.ndarray]


def compare(
    queries: Sequence[RankingSides],
    p: float,
    ties: str,
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> Iterator[PairValues]:
    """Compare all pairs of rankings of each query.

    Pairs without ties are summed by `kernel.untied`, others by `kernel.of_ties`.
    Neither this choice nor the value of a pair depends on other pairs.

    Args:
        queries: Rankings of each query.
        p: persistence.
        ties: `w`, `a` or `b`.
        budget: bytes that a tile may take.
        progress: called with `("comparing", done, total)`.
    """
    done, total = 0, sum(sides.pairs() for sides in queries)
    calls = (
        Call(tile, partial(_sums, tile.key, tile.arguments), tile.key)
        for tile in _tiles(queries, p, ties, budget)
    )
    for tile, part in results(calls, progress=progress):
        sums = kernel.Sums(*(np.asarray(x)[tile.places] for x in part))
        weights = kernel.weights_of(p, tile.width)
        done += len(tile.a)
        if progress:
            progress("comparing", done, total)
        values = kernel.bounds(sums, tile.length_a, tile.length_b, weights)
        yield PairValues(tile.query, tile.a, tile.b, values)


class _Tile(NamedTuple):
    """Some pairs of one query.

    Attributes:
        query: Number of the query.
        a: Place of the first ranking of each pair.
        b: Place of the second ranking of each pair.
        length_a: Number of documents of the first ranking.
        length_b: Number of documents of the second ranking.
        places: Places of the pairs in the result.
        width: Padded length of rankings.
        key: Key of the compiled program.
        arguments: Arguments of the program.
    """

    query: int
    a: np.ndarray
    b: np.ndarray
    length_a: np.ndarray
    length_b: np.ndarray
    places: np.ndarray
    width: int
    key: tuple
    arguments: tuple


def _tiles(
    queries: Sequence[RankingSides], p: float, ties: str, budget: int
) -> Iterator[_Tile]:
    devices, cpu = local_device_count(), default_backend() == "cpu"
    for number, sides in enumerate(queries):
        lists = [*sides.a, *(sides.b or ())]
        codes, tied = _numbered(lists), np.array([x.tied for x in lists])
        longest = max(len(x.docs) for x in lists)
        width = 1 << max(_SHORT, longest - 1).bit_length()
        side = side_of_tile(max(len(sides.a), len(sides.b or ())), width, budget)
        fit = max(1, (budget // 2) // (_BYTES * width))
        at_once = min(
            side * side, plan.settings.pairs if cpu else 1 << fit.bit_length() - 1
        )
        weights = kernel.weights_of(p, width)
        for rows, other in _blocks(sides, side):
            fixed, moving = _laid_out(lists, codes, rows, other, side, width)
            a, b = _pairs(rows, other, sides.b is None and rows == other)
            has = tied[rows][a] | tied[other][b]
            shift = other.start - (0 if sides.b is None else len(sides.a))
            for kind, chosen in ((ties, has), ("", ~has)):
                if chosen.any():
                    i, j = a[chosen], b[chosen]
                    dealt, places = _dealt(i, j, side * side, at_once, devices)
                    tables = (weights.at,) if kind else (weights.below, weights.left)
                    yield _Tile(
                        query=number,
                        a=rows.start + i,
                        b=shift + j,
                        length_a=fixed[-1][i],
                        length_b=moving[-1][j],
                        places=places,
                        width=width,
                        key=(kind, side, width, moving[0].shape[1], at_once, devices),
                        arguments=(dealt, (fixed, moving, tables)),
                    )


def side_of_tile(most: int, width: int, budget: int) -> int:
    """Choose how many rankings are on a side of a tile: a power of 2."""
    side = min(plan.settings.lists, 1 << (most - 1).bit_length())
    while side > 1 and 4 * side * side * width + 80 * side * width > budget // 8:
        side //= 2
    return side


def _blocks(sides: RankingSides, side: int) -> Iterator[tuple[slice, slice]]:
    """Cut both sides into blocks: where they are in the list of all rankings."""

    def cut(low: int, high: int) -> list[slice]:
        return [slice(i, min(i + side, high)) for i in range(low, high, side)]

    one = cut(0, len(sides.a))
    if sides.b is None:
        yield from (
            (rows, other) for rows in one for other in one if rows.start <= other.start
        )
    else:
        others = cut(len(sides.a), len(sides.a) + len(sides.b))
        yield from ((rows, other) for rows in one for other in others)


def _pairs(rows: slice, other: slice, same: bool) -> tuple[np.ndarray, np.ndarray]:
    """List the pairs of two blocks, square by square."""
    a, b = np.divmod(
        np.arange((rows.stop - rows.start) * (other.stop - other.start)),
        other.stop - other.start,
    )
    if same:
        a, b = a[a <= b], b[a <= b]
    square = plan.settings.square
    by = np.lexsort((b, a, b // square, a // square))
    return a[by], b[by]


def _numbered(lists: Sequence[TiedList]) -> list[np.ndarray]:
    """Number the documents of one query from 0 on."""
    _, codes = np.unique(np.concatenate([x.docs for x in lists]), return_inverse=True)
    ends = np.cumsum([len(x.docs) for x in lists])
    return np.split(codes.astype(np.int32), ends[:-1])


def _laid_out(
    lists: Sequence[TiedList],
    codes: Sequence[np.ndarray],
    ours: slice,
    other: slice,
    side: int,
    width: int,
) -> tuple[tuple, tuple]:
    """Lay two blocks of rankings out: documents of one, their places in the other."""
    number = np.full(1 + max(int(x.max()) for x in codes), -1, np.int32)
    for ids in codes[other]:
        number[ids] = 0
    of_other = np.flatnonzero(number == 0)
    number[of_other] = np.arange(len(of_other))
    # With room for documents that no ranking has.
    size = 1 << max(2 * _SHORT, len(of_other)).bit_length()
    number[number < 0] = len(of_other)
    kind = np.int16 if width < 2**15 else np.int32
    places = np.full((side, size), width, kind)
    rows = np.arange(width, dtype=kind)
    for row, ids in zip(places, codes[other], strict=False):
        row[number[ids]] = rows[: len(ids)]
    docs = np.full((side, width), len(of_other), np.int32)
    for row, ids in zip(docs, codes[ours], strict=False):
        row[: len(ids)] = number[ids]
    return (
        (docs, *_ranks(lists[ours], side, width)),
        (places, *_ranks(lists[other], side, width)),
    )


def _ranks(
    lists: Sequence[TiedList], side: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first and last ranks of ties, and lengths; see `kernel.Ranking`."""
    length = np.zeros(side, np.int32)
    length[: len(lists)] = [len(x.docs) for x in lists]
    top = np.repeat(length[:, None] + 1, width, axis=1)
    bottom = np.repeat(length[:, None], width, axis=1)
    for i, ranking in enumerate(lists):
        top[i, : len(ranking.top)] = ranking.top
        bottom[i, : len(ranking.top)] = ranking.bottom
    return top, bottom, length


def _dealt(
    a: np.ndarray, b: np.ndarray, most: int, at_once: int, devices: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Deal pairs to devices: both sides, and steps of each; where each pair is."""
    each = -(-most // (devices * at_once)) * at_once  # room of a device, in whole steps
    per_device = -(-len(a) // devices)
    device, place = np.divmod(np.arange(len(a)), per_device)
    places = device * each + place
    first, second = np.zeros((2, devices * each), np.int32)
    first[places], second[places] = a, b
    steps = -(-np.bincount(device, minlength=devices) // at_once)
    return (first, second, steps.astype(np.int32)), places


def _sums(key: tuple, arguments: tuple) -> Any:
    return similarity_program(key[0], key[4], key[5])(*arguments)


@cache
def similarity_program(ties: str, at_once: int, devices: int) -> Callable:
    """Map a kernel of one pair over many, at_once of them side by side."""

    def sums(pairs, shared):
        (first, second, steps), (fixed, moving, tables) = pairs, shared
        docs, top_a, bottom_a, length_a = fixed
        places, top_b, bottom_b, length_b = moving

        def without_ties(i, j):
            place = places[j, docs[i]]
            return kernel.untied(length_a[i], length_b[j], place, *tables)

        norm = jax.vmap(partial(kernel.norm, ties=ties))
        norm_a, norm_b = norm(top_a, bottom_a), norm(top_b, bottom_b)

        def with_ties(i, j):
            a = kernel.Ranking(top_a[i], bottom_a[i], norm_a[i], length_a[i])
            b = kernel.Ranking(top_b[j], bottom_b[j], norm_b[j], length_b[j])
            return kernel.of_ties(a, b, places[j, docs[i]], *tables, ties=ties)

        one = with_ties if ties else without_ties

        def step(k, out):
            i, j = (
                jax.lax.dynamic_slice(x, (k * at_once,), (at_once,))
                for x in (first, second)
            )
            return jax.tree.map(
                lambda o, x: jax.lax.dynamic_update_slice(o, x, (k * at_once,)),
                out,
                jax.vmap(one)(i, j),
            )

        shapes = jax.eval_shape(one, first[0], second[0])
        out = jax.tree.map(lambda x: jnp.zeros(len(first), x.dtype), shapes)
        return jax.lax.fori_loop(0, steps[0], step, out)

    return Program(sums, devices)
