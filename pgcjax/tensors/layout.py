"""Padding: few sizes, and what stands where no document does."""

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

_ALIGNED = 64
_SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


def padded_size(n: int) -> int:
    """Round a number of documents up to one of few sizes, each compiled once.

    Beyond 1024 the sizes grow in steps of 512: there is no largest.
    """
    i = bisect_left(_SIZES, n)
    return _SIZES[i] if i < len(_SIZES) else -(-n // 512) * 512


def blank(
    shape: tuple[int, ...], fill: int | bool = 0, dtype: DTypeLike = np.int32
) -> np.ndarray:
    """Make an array that XLA takes on a CPU as it is: others, it copies first.

    It wants them to begin at a multiple of 64 bytes, and numpy's do not.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # Zeros are new pages, which take no time before they are written.
    room = np.zeros(size + _ALIGNED, np.uint8)
    begin = -room.ctypes.data % _ALIGNED
    array = room[begin : begin + size].view(dtype).reshape(shape)
    if fill:
        array[...] = fill
    return array


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
