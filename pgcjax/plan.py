"""How a job is cut: tiles of queries and runs that fit a memory budget."""

BUDGET = 256 * 2**20
"""Bytes that the working state of one tile may take on the device."""


def tile(
    queries: int,
    runs: int,
    size: int,
    *,
    matrix: bool,
    devices: int = 1,
    budget: int = BUDGET,
) -> tuple[int, int]:
    """Choose how many queries and runs of one padded size are computed at once.

    All tiles of a size have one shape, so each size is compiled once; the last tile
    is padded. Scores do not depend on the cut.

    Args:
        queries: number of queries of this size, at least 1.
        runs: number of runs, at least 1.
        size: padded number of documents.
        matrix: whether a query has a `[size, size]` matrix, or a vector only.
        devices: the number of queries is a multiple of it.
        budget: bytes.

    Returns:
        Queries and runs in a tile, each at least 1 (and `devices`).
    """
    per_query = 4 * size * (size if matrix else 1)
    per_pair = 32 * size  # two degrees, keys, ranks and their copies: int32
    run_tile = _even(runs, max(1, (budget // 2) // per_pair))
    afford = max(1, budget // (per_query + run_tile * per_pair))
    query_tile = _even(queries, afford)
    return -(-query_tile // devices) * devices, run_tile


def _even(n: int, most: int) -> int:
    """Cut n items into as few equal parts of at most `most` as there can be."""
    parts = -(-n // most)
    return -(-n // parts)
