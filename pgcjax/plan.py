"""How a job is cut: tiles of queries and runs that fit a memory budget."""

BUDGET = 256 * 2**20
"""Bytes that the arrays of one tile may take."""

RUNS, QUERIES = 64, 32
"""Most runs in a tile, and most queries per device."""


def tile(
    queries: int,
    runs: int,
    *,
    per_query: int,
    per_pair: int,
    devices: int = 1,
    budget: int = BUDGET,
) -> tuple[int, int]:
    """Choose how many queries and runs of one padded size are computed at once.

    All tiles of a size have one shape out of few, so that each is compiled once, and
    found again in the compilation cache by another job. Scores do not depend on it.

    Args:
        queries: number of queries of this size.
        runs: number of runs.
        per_query: bytes of what does not depend on the run.
        per_pair: bytes of what a run and a query take.
        devices: the number of queries is a multiple of it.
        budget: bytes.

    Returns:
        Queries, a power of 2 times `devices`, and runs, a multiple of 4: few enough
        for a processor's cache, and for several threads to have tiles of their own.
    """
    run_tile = min(RUNS, -(-runs // 4) * 4)
    afford = budget // (per_query + run_tile * per_pair)
    each = max(1, min(QUERIES, -(-queries // devices), afford // devices))
    query_tile = 1 << (each - 1).bit_length()
    if query_tile * devices > max(afford, devices):
        query_tile //= 2
    return query_tile * devices, run_tile
