"""Padding: few sizes, and what stands where no document does."""

import numpy as np

_SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


def padded_size(n: int) -> int:
    """Round a number of documents up to one of few sizes, each compiled once.

    Beyond 1024 the sizes grow in steps of 512: there is no largest.
    """
    return next((size for size in _SIZES if n <= size), -(-n // 512) * 512)


def buckets(sizes: list[int]) -> dict[int, list[int]]:
    """Group items by padded size; ascending, items in their given order."""
    groups: dict[int, list[int]] = {}
    for item, n in enumerate(sizes):
        groups.setdefault(padded_size(n), []).append(item)
    return dict(sorted(groups.items()))


def stack(
    arrays: list[np.ndarray], shape: tuple[int, ...], fill: int | bool
) -> np.ndarray:
    """Pad arrays at the end of every axis to `shape` and stack them."""
    out = np.full((len(arrays), *shape), fill, dtype=arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[tuple(slice(n) for n in array.shape)] = array
    return out
