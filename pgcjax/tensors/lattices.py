"""Optimal orders as padded arrays: sets of first documents, and the steps to them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, UInt32

from pgcjax.tensors.flat_runs import Retrieved
from pgcjax.tensors.padding import padded_size, stack

WORD = 32
"""Bits of a word that holds documents."""

_SETS = 16  # least number per document, so that most lattices share programs


class Lattice(NamedTuple):
    """Optimal orders as `kernels.exact` takes them; a single one lacks the first axis.

    Attributes:
        members: Documents of each set, as bits of words.
        size: Number of documents of each set.
        target: First set of each block.
        first: First row of `source` of each block.
        turns: Number of rows of each block.
        source: Rows of sets, one before each set of a block.
        last: Number of the set of all documents.
        blocks: Number of blocks.
    """

    members: UInt32[np.ndarray, "*queries words sets"]
    size: Int32[np.ndarray, "*queries sets"]
    target: Int32[np.ndarray, "*queries sets"]
    first: Int32[np.ndarray, "*queries sets"]
    turns: Int32[np.ndarray, "*queries sets"]
    source: Int32[np.ndarray, "*queries rows together"]
    last: Int32[np.ndarray, "*queries"]
    blocks: Int32[np.ndarray, "*queries"]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of words, sets and rows, which lattices of a tile share."""
        return *self.members.shape[-2:], self.source.shape[-2]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)


def lay_out(
    sets: Bool[np.ndarray, "sets n"], steps: Int[np.ndarray, "steps 2"], together: int
) -> Lattice:
    """Lay sets out by size, and within a size by descending number of steps to them.

    A block extends paths to `together` consecutive sets of one size: its first row has
    the first step to each of them, the next row the second step, if any.

    Args:
        sets: Sets of the first documents of orders, by size; the last has all.
        steps: Steps from a set to one that has a document more, by size.
        together: Number of sets of a block.
    """
    count, n = sets.shape
    size, into = sets.sum(1), np.bincount(steps[:, 1], minlength=count)
    order = np.lexsort((-into, size))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    source, to = place[steps].T
    by_target = np.argsort(to, kind="stable")
    source, to = source[by_target], to[by_target]
    # The first, second, ... step to the set.
    turn = np.arange(len(to)) - np.searchsorted(to, to)
    level = size[order][to]
    begin = np.searchsorted(size[order], level)  # of the sets of this size
    block, offset = np.divmod(to - begin, together)
    keys, number = np.unique(
        np.column_stack([level, block, turn]), axis=0, return_inverse=True
    )
    number = number.reshape(-1)
    sets_held = _rounded(max(_SETS * padded_size(n), count + together + 1))
    rows = max(sets_held, _rounded(len(keys)))
    from_sets = np.full((rows, together), sets_held - 1, np.int32)
    from_sets[number, offset] = source
    starts = np.flatnonzero(keys[:, 2] == 0)
    target, first, turns = np.zeros((3, sets_held), np.int32)
    target[: len(starts)] = np.searchsorted(size[order], keys[starts, 0])
    target[: len(starts)] += keys[starts, 1] * together
    first[: len(starts)] = starts
    turns[: len(starts)] = np.diff(starts, append=len(keys))
    words = 1 << (-(-padded_size(n) // WORD) - 1).bit_length()
    bits = np.zeros((sets_held, words * WORD), bool)
    bits[:count, :n] = sets[order]
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u4").T
    sizes = np.zeros(sets_held, np.int32)
    sizes[:count] = size[order]
    ends = map(np.asarray, (np.int32(count - 1), np.int32(len(starts))))
    return Lattice(packed, sizes, target, first, turns, from_sets, *ends)


def batch_lattices(lattices: Sequence[Lattice], tile: int) -> Lattice:
    """Stack lattices of one shape, with empty ones up to `tile`."""
    parts = zip(*lattices, strict=True)
    return Lattice(*(stack(part, (tile, *part[0].shape), 0) for part in parts))


def by_kind(
    retrieved: Retrieved, kinds: Int[np.ndarray, " n"], *, farthest: bool = False
) -> Retrieved:
    """Exchange documents of a kind so that they have the order of the run.

    Args:
        retrieved: Documents that runs retrieved, best first.
        kinds: Kind of each document: the first document of that kind.
        farthest: whether to reverse the order within a kind.
    """
    n = len(kinds)
    if (kinds == np.arange(n)).all():
        return retrieved
    key = retrieved.run * n + kinds[retrieved.vertex]
    order = np.argsort(key, kind="stable")
    turn = np.empty(len(key), np.int64)
    turn[order] = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    grouped = np.argsort(kinds, kind="stable")
    of_kind = kinds[grouped], kinds[retrieved.vertex]
    begin = np.searchsorted(*of_kind)
    if farthest:
        turn = np.searchsorted(*of_kind, side="right") - begin - 1 - turn
    return Retrieved(retrieved.starts, grouped[begin + turn], retrieved.rank)


def _rounded(count: int) -> int:
    """Round up to a power of 4, so that few shapes are compiled."""
    power = 1
    while power < count:
        power *= 4
    return power
