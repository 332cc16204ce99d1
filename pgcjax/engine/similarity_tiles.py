"""RBO of pairs of rankings, square by square, over the pipeline of `tiles`.

The rankings of a query are cut into blocks: those without ties, and then those with
ties, so that all pairs of a square are of one kind. A square stands in the place of a
query, and the rankings of its second block in that of runs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np

from pgcjax.engine import plan, tiles
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import rbo_ties as kernel
from pgcjax.later import jax
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.tied_lists import TiedList

_BYTES = 192  # of a pair's arrays, by rank
_SHORT = 15  # documents: shorter rankings share programs, as compiling takes longest
_SIDE = 16  # rankings of a block, at most
_LAID_OUT = 64  # blocks that are not laid out anew for each square


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
    """Values of some pairs of one query, and places of both rankings."""

    query: int
    a: np.ndarray
    b: np.ndarray
    values: np.ndarray


def compare(
    queries: Sequence[RankingSides],
    p: float,
    ties: str,
    variant: str = "ext",
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> Iterator[PairValues]:
    """Compare all pairs of rankings of each query.

    Pairs without ties are summed by `kernel.untied`, others by `kernel.of_ties`: which
    does not depend on other pairs, nor does what comes out.

    Args:
        queries: rankings of each.
        p: persistence.
        ties: `w`, `a` or `b`.
        variant: `min`, `ext`, `max` or `res`.
        budget: bytes that a tile, or the values of several queries, may take.
        progress: called with `("comparing", done, total)`, and `("compiling", …)`.
    """
    most = max(max(len(sides.a), len(sides.b or ())) for sides in queries)
    side = min(_SIDE, plan.settings.lists, 1 << (most - 1).bit_length())
    blocks = [_LaidOutLists(sides, side) for sides in queries]
    done, total = 0, sum(sides.pairs() for sides in queries)

    def update(stage: str, here: int, count: int) -> None:
        if progress and stage == "compiling":
            progress(stage, here, count)

    for low, high in _parts(blocks, budget // (8 * side * side)):
        batch = RboTiles(blocks[low:high], p, ties, variant, side, budget)
        for (query, first, second), values in zip(
            batch.squares, tiles.score(batch, update), strict=True
        ):
            pairs = blocks[low + query].pairs(first, second, values)
            done += len(pairs[0])
            yield PairValues(low + query, *pairs)
        if progress:
            progress("comparing", done, total)


class _LaidOutLists:
    """Rankings of one query, in blocks of one kind.

    Attributes:
        side: most rankings of a block.
        alone: whether rankings are compared with each other, not with those of b.
        blocks: places of rankings among all of the query.
        tied: whether those of a block have ties.
        squares: two blocks each.
        width: padded length of rankings.
        room: padded number of documents, and one that none has.
    """

    def __init__(self, sides: RankingSides, side: int):
        """Cut the rankings of both sides into blocks."""
        self._lists, self._first = [*sides.a, *(sides.b or ())], len(sides.a)
        self.side, self.alone = side, sides.b is None
        tied = np.array([ranking.tied for ranking in self._lists])
        place = np.arange(len(tied))
        parts = []
        for here in (place < self._first, place >= self._first):
            cut = [np.flatnonzero(here & (tied == kind)) for kind in (False, True)]
            parts.append([x[i : i + side] for x in cut for i in range(0, len(x), side)])
        self.blocks = [block for part in parts for block in part]
        self.tied = [bool(tied[block[0]]) for block in self.blocks]
        numbers = range(len(self.blocks))
        self.squares: list[tuple[int, int]] = (
            list(combinations_with_replacement(numbers, 2))
            if self.alone
            else list(product(numbers[: len(parts[0])], numbers[len(parts[0]) :]))
        )
        longest = max(len(ranking.docs) for ranking in self._lists)
        self.width = 1 << max(_SHORT, longest - 1).bit_length()
        self.block = lru_cache(_LAID_OUT)(self._block)

    @cached_property
    def _codes(self) -> list[np.ndarray]:
        """The documents of each ranking, numbered from 0 on."""
        docs = np.concatenate([ranking.docs for ranking in self._lists])
        _, codes = np.unique(docs, return_inverse=True)
        ends = np.cumsum([len(ranking.docs) for ranking in self._lists])
        return np.split(codes.astype(np.int32), ends[:-1])

    @cached_property
    def room(self) -> int:
        documents = 1 + max(int(codes.max()) for codes in self._codes)
        return 1 << max(2 * _SHORT, documents).bit_length()

    def _block(self, number: int) -> tuple[np.ndarray, ...]:
        """Lay a block out.

        Returns:
            Documents by place, places by document, lengths; and first and last ranks of
            ties, if there are any: see `kernel.Ranking`.
        """
        kind = np.int16 if self.width < 2**15 else np.int32
        docs = np.full((self.side, self.width), self.room - 1, np.int32)
        places = np.full((self.side, self.room), self.width, kind)
        length = np.ones(self.side, np.int32)
        ranks = np.arange(self.width, dtype=kind)
        block = self.blocks[number]
        for row, i in enumerate(block):
            codes = self._codes[i]
            length[row] = len(codes)
            docs[row, : len(codes)] = codes
            places[row, codes] = ranks[: len(codes)]
        top = np.repeat(length[:, None] + 1, self.width, axis=1)
        bottom = np.repeat(length[:, None], self.width, axis=1)
        for row, i in enumerate(block):
            top[row, : length[row]] = self._lists[i].top
            bottom[row, : length[row]] = self._lists[i].bottom
        return docs, places, length, top, bottom

    def pairs(
        self, first: int, second: int, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of both rankings of the pairs of a square, and their values.

        Args:
            first: block of a.
            second: block of b.
            values: of the square, by ranking of the second block and of the first.
        """
        rows, columns = self.blocks[first], self.blocks[second]
        values = values[: len(columns), : len(rows)].T
        a, b = np.broadcast_arrays(rows[:, None], columns)
        if not self.alone:
            return a.ravel(), b.ravel() - self._first, values.ravel()
        low, high = np.minimum(a, b), np.maximum(a, b)
        once = (a <= b) | (first != second)
        return low[once], high[once], values[once]


class RboTiles(TileBatch):
    """Squares of pairs of rankings: RBO `[squares, second block, first block]`.

    Attributes:
        squares: of each, its query and two blocks.
    """

    def __init__(
        self,
        queries: Sequence[_LaidOutLists],
        p: float,
        ties: str,
        variant: str,
        side: int,
        budget: int,
    ):
        """Take what is compared; see `compare`."""
        self._queries, self._ties, self._variant = queries, ties, variant
        self.squares = [(i, *two) for i, of in enumerate(queries) for two in of.squares]
        self.rows, self.columns, self.most_columns = len(self.squares), side, side
        self.shape, self.budget = (side,), budget
        self._weights = kernel.weights_of(p, max(of.width for of in queries))
        weights = self._weights
        self.shared = weights.at, weights.below, weights.left

    def size(self, query: int) -> tuple[bool, int, int]:
        """Whether a square has ties; padded length of rankings; room for documents."""
        number, first, second = self.squares[query]
        lists = self._queries[number]
        tied = lists.tied[first] or lists.tied[second]
        return tied, lists.width, lists.room

    def nbytes(self, size: tuple[bool, int, int]) -> tuple[int, int]:
        """Bytes of a block of documents; and of a ranking and its pairs at once."""
        _, width, room = size
        at_once = 16 if default_backend() == "cpu" else _BYTES * width
        return 12 * self.columns * width, 4 * room + self.columns * at_once

    def pace(self, size: tuple[bool, int, int]) -> Pace:
        """Few pairs in a step on a CPU: their arrays stay in cache."""
        if default_backend() != "cpu":
            return Pace()
        return Pace(step=max(1, plan.settings.pairs // self.columns), in_turn=True)

    def pack_queries(
        self, parts: Sequence[tuple[Any, Sequence[int]]]
    ) -> list[PackedQueries]:
        """Documents of the first blocks of squares."""
        packed = []
        for size, squares in parts:
            laid_out = [self._laid_out(square, 1) for square in squares]
            arrays = [
                (docs, length, *groups[: 2 * size[0]])
                for docs, _, length, *groups in laid_out
            ]
            packed.append(PackedQueries(size, squares, _stacked(arrays)))
        return packed

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Any) -> Any:
        """Places of documents in rankings of the second blocks."""
        arrays = []
        for square in queries:
            _, places, length, *groups = self._laid_out(square, 2)
            chosen = (places, length, *groups[: 2 * size[0]])
            arrays.append(tuple(array[runs] for array in chosen))
        return _stacked(arrays)

    def program(self, size: tuple[bool, int, int]) -> QueryProgram:
        """Compare rankings of the second block with all those of the first."""
        return rbo_program(self._ties if size[0] else "")

    def finish(self, queries: Sequence[int], runs: slice, result: Any) -> np.ndarray:
        """Bound what rankings do not show."""
        first, second = (
            np.stack([self._laid_out(square, k)[2] for square in queries])
            for k in (1, 2)
        )
        lengths = np.broadcast_arrays(first[:, None], second[:, runs, None])
        return kernel.bounds(result, *lengths, self._weights)[self._variant]

    def _laid_out(self, square: int, block: int) -> tuple[np.ndarray, ...]:
        of_square = self.squares[square]
        return self._queries[of_square[0]].block(of_square[block])


@cache
def rbo_program(ties: str) -> QueryProgram:
    """Program that compares rankings of two blocks; `ties` is empty if none has any."""

    def program(query: Any, runs: Any, shared: Any) -> kernel.Sums:
        (docs, length_a, *groups_a), (places, length_b, *groups_b) = query, runs
        at, below, left = shared
        if not ties:

            def untied(doc: Any, n: Any, place: Any, m: Any) -> kernel.Sums:
                return kernel.untied(n, m, place[doc], below, left)

            over_a: Callable = jax.vmap(untied, (0, 0, None, None))
            return jax.vmap(over_a, (None, None, 0, 0))(
                docs, length_a, places, length_b
            )
        norm = jax.vmap(partial(kernel.norm, ties=ties))
        first = kernel.Ranking(*groups_a, norm(*groups_a), length_a)
        second = kernel.Ranking(*groups_b, norm(*groups_b), length_b)

        def tied(doc: Any, a: kernel.Ranking, place: Any, b: kernel.Ranking) -> Any:
            return kernel.of_ties(a, b, place[doc], at, ties=ties)

        over_a = jax.vmap(tied, (0, 0, None, None))
        return jax.vmap(over_a, (None, None, 0, 0))(docs, first, places, second)

    return program


def _stacked(arrays: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    return tuple(np.stack(each) for each in zip(*arrays, strict=True))


def _parts(blocks: Sequence[_LaidOutLists], most: int) -> Iterator[tuple[int, int]]:
    """Cut queries so that each part has few enough squares, or one query."""
    low, count = 0, 0
    for i, lists in enumerate(blocks):
        if i > low and count + len(lists.squares) > most:
            yield low, i
            low, count = i, 0
        count += len(lists.squares)
    yield low, len(blocks)
