"""What a job of Greedy PGC sends to one GPU, and gets back; behind docs/gpu.md.

`python -m benchmarks.studies.gpu_bytes` lays jobs out as the engine does on a GPU, in
chunks of runs as `evaluate` cuts them, and counts the bytes. It needs no GPU.
"""

import os
import sys
from collections import Counter
from typing import Any
from unittest import mock

import jax
import numpy as np

from benchmarks import inputs
from benchmarks.studies.gpu_bounds import BEST, WORST
from pgcjax.engine import plan, tiles
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.engine.peel_programs import VARIABLE
from pgcjax.kernels.rbo import rank_weights

JOBS = ((173, 1000, 170), (173, 1000, 16))
MEMORY = 2**35  # bytes that a job may take
HEAD = "queries × runs | chunks, calls | judged documents | lists | graphs | places"
HEAD += " | sums, back | sent for a document | ms"


def sent(queries: int, runs: int, n: int, chunk: int = 0) -> Counter[str]:
    """Count the bytes of a job, its chunks and calls, and the documents retrieved.

    Args:
        queries: with graphs of n documents.
        runs: how many.
        n: documents.
        chunk: runs of a chunk; by default as `evaluate` cuts.
    """
    limits, count = plan.MemoryLimits(MEMORY), Counter[str]()
    each = plan.FOUND * round(inputs.RETRIEVED * n) * queries
    chunk = chunk or max(plan.settings.runs, limits.enough // each + 1)
    graphs = PeelGraphs(inputs.cyclic(queries, 1, n).graphs, keep=limits.kept)
    put = jax.device_put

    def counted(arrays: Any, where: Any = None) -> Any:
        for x in jax.tree.leaves(arrays):
            is_list = x.ndim == 1 and x.dtype.itemsize <= 2  # unlike weights
            kind = "lists" if is_list else "graphs"
            count[kind] += x.nbytes * isinstance(x, np.ndarray)
        return put(arrays, where)

    with (
        mock.patch.dict(os.environ, {VARIABLE: "xla"}),
        mock.patch.object(jax, "default_backend", lambda: "gpu"),
        mock.patch.object(jax, "device_put", counted),
    ):
        for first in range(0, runs, chunk):
            rankings = inputs.Drawn(min(chunk, runs - first), n, keep=False)
            batch = PeelTiles(graphs, rankings, rank_weights(0.95, 1000))
            count["documents"] += int(batch.runs.count.sum())
            count["chunks"] += 1
            for call in tiles.calls(batch):
                leaves = jax.tree.leaves(getattr(call.make, "args", ()))
                here = [x for x in leaves if isinstance(x, np.ndarray)]
                count["places"] += sum(x.nbytes for x in here)
                count["sums"] += 8 * here[-1].size  # int64, one for each place
                count["calls"] += 1
    return count


def row(queries: int, runs: int, n: int) -> str:
    """Describe a job in a row of Markdown."""
    count = sent(queries, runs, n)
    there = count["lists"] + count["graphs"] + count["places"]
    low, high = (1e3 * (there + count["sums"]) / x.link for x in (BEST, WORST))
    cells = [
        f"{queries} × {runs:,}, N = {n}",
        f"{count['chunks']}, {count['calls']}",
        f"{count['documents'] / 1e6:.1f} M",
        *(f"{count[x] / 1e6:.1f} MB" for x in ("lists", "graphs", "places", "sums")),
        f"{there / count['documents']:.1f} bytes",
        f"{low:.2g} – {high:.2g}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table."""
    print(f"| {HEAD} |\n{'|---' * 9}|")
    for job in JOBS:
        print(row(*job))
    return 0


if __name__ == "__main__":
    sys.exit(main())
