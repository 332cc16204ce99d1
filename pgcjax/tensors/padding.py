"""Padding of arrays to few sizes."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike

_ALIGNED = 64
_BEHIND, _DOCUMENTS = 1024, 2**16
_LONG = 2**20  # documents of a list that takes a device as long as a call
_SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


@dataclass
class Least:
    """Least padded lengths, so that small cases of all sizes share programs.

    Attributes:
        documents: Documents of a graph.
        axis: Any axis of a query's array: documents, intents, pairs.
        width: List of the judged documents that a run retrieved.
        ranks: Table of the weights of ranks.
        weights: Table of the weights of RBO.
        runs: Runs of a tile.
        queries: Queries of a tile, per device.
    """

    documents: int = 1
    axis: int = 1
    width: int = 1
    ranks: int = 1
    weights: int = 1
    runs: int = 1
    queries: int = 1


_least = Least()


def least() -> Least:
    """Return the least padded lengths that hold now."""
    return _least


@contextmanager
def at_least(**lengths: int) -> Iterator[None]:
    """Pad to these lengths of `Least` or more in the block; no score depends on it.

    Lengths that are not named stay as they are.
    """
    before = dict(vars(_least))
    vars(_least).update(vars(replace(_least, **lengths)))
    try:
        yield
    finally:
        vars(_least).update(before)


def padded_size(n: int) -> int:
    """Round a number of documents up to one of few sizes, each compiled once.

    Beyond 1024 the sizes grow in steps of 512: there is no largest.
    """
    n = max(n, _least.documents)
    i = bisect_left(_SIZES, n)
    return _SIZES[i] if i < len(_SIZES) else -(-n // 512) * 512


def axis_length(n: int) -> int:
    """Round the length of an axis up: documents, but intents and pairs, too."""
    n = max(n, _least.axis)
    return padded_size(n) if n > 8 else 1 << max(0, n - 1).bit_length()


def list_width(n: int) -> int:
    """Round the length of a list of documents up to one of few."""
    n, width = max(n, _least.width), 16
    while width < n:
        width *= 4
    return width


def list_room(documents: int, longest: int, *, sent: bool = False) -> int:
    """Round the length of a list of the documents of all rankings up to one of few.

    The length is part of the shapes of programs, which read beyond the last ranking as
    far as the longest one may reach. At most an eighth of a long list that is sent to a
    device is padding; on a host, padding costs nothing.
    """
    n = documents + max(_BEHIND, padded_size(longest))
    step = power = 1 << (n - 1).bit_length()
    if sent and power > _LONG:
        step = power >> 4
    return max(_DOCUMENTS, -(-n // step) * step)


def ranks_length(last: int) -> int:
    """Round the last rank of all runs up, so that few lengths are compiled."""
    return 1 << max(last, _least.ranks).bit_length()


def weights_padded(weights: np.ndarray) -> np.ndarray:
    """Lengthen a table of the weights of RBO, by zeros, to one of few lengths.

    So measures of several depths share a program.
    """
    n = max(len(weights), _least.weights)
    length = 64
    while length < n:
        length *= 16
    return lengthened(weights, length)


def blank(
    shape: tuple[int, ...], fill: int | bool | None = 0, dtype: DTypeLike = np.int32
) -> np.ndarray:
    """Make an array that XLA on a CPU takes without a copy.

    XLA copies arrays that do not begin at a multiple of 64 bytes, as numpy's do not.

    Args:
        shape: Shape of the array.
        fill: Value of all items; None leaves them undefined.
        dtype: Type of the array.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # Zeros are new pages, which take no time before they are written.
    new = np.empty if fill is None else np.zeros
    room = new(size + _ALIGNED, np.uint8)
    begin = -room.ctypes.data % _ALIGNED
    array = room[begin : begin + size].view(dtype).reshape(shape)
    if fill:
        array[...] = fill
    return array


def sent_type(largest: int) -> np.dtype:
    """Choose the shortest type in which to send whole numbers from 0 on to a device.

    Programs have int32, in which numbers of more than 16 bits are also sent.
    """
    return np.min_scalar_type(largest) if largest < 2**16 else np.dtype(np.int32)


def stack(
    arrays: Sequence[np.ndarray], shape: tuple[int, ...], fill: int | bool
) -> np.ndarray:
    """Stack arrays and pad the stack at the end of every axis to `shape`."""
    out = blank(shape, fill, arrays[0].dtype)
    if all(array.shape == shape[1:] for array in arrays):
        np.concatenate(arrays, axis=None, out=out[: len(arrays)].reshape(-1))
        return out
    for row, array in zip(out, arrays, strict=False):
        row[tuple(map(slice, array.shape))] = array
    return out


def lengthened(array: np.ndarray, length: int) -> np.ndarray:
    """Copy an array, with zeros at the end of its first axis."""
    out = blank((length, *array.shape[1:]), 0, array.dtype)
    out[: len(array)] = array
    return out
