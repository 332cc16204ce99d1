"""The peel by Mosaic GPU, compiled for an H100 without one: what a step takes.

`python -m benchmarks.studies.gpu_mosaic` prints a table; it needs
what `gpu_compiled` does, absl-py and nvidia-cuda-nvdisasm, with `ptxas` in PATH. Its
bounds are those of `gpu_bounds`, at the peaks that NVIDIA states: predictions.
"""

import os
import tempfile
from pathlib import Path

FOLDER = tempfile.mkdtemp(prefix="pgcjax-mosaic-")
os.environ |= {"MOSAIC_GPU_DUMP_PTX": "1", "MOSAIC_GPU_DUMP_TO": FOLDER}

import jax  # noqa: E402

from benchmarks import gpu_rows  # noqa: E402
from benchmarks.studies import gpu_compiled  # noqa: E402
from benchmarks.studies.gpu_bounds import BEST  # noqa: E402
from benchmarks.studies.gpu_programs import QUERIES, RUNS, _peeled  # noqa: E402

N = 170
HEAD = "runs of a block | registers | spills | instructions of warps, a step and run"
HEAD += " | barriers, likewise | L2 | bounds, at peak"


def row(block: int) -> str:
    """Compile for 173 queries × 1,000 runs of 170 documents, and count a step."""
    program = gpu_rows.pallas_program(module="peel_mosaic", block=block)
    gpu_compiled.compiled(program, _peeled(QUERIES, RUNS, N), N)
    path = max(Path(FOLDER).glob("*.ptx"), key=lambda x: x.stat().st_mtime_ns)
    [code] = gpu_compiled._assembled(path).values()
    ticks = gpu_compiled.cycles(code.loop)
    warps = 4 * QUERIES * -(-RUNS // block)
    rate = 4 * BEST.processors * BEST.clock
    loads = {op: n for op, n in code.loop.items() if op.startswith("LDG")}
    # A row of 256 words for each run, and scalars, for which each warp takes 32 bytes.
    scalars = sum(loads.values()) - block
    loaded = warps * N * (256 * block + 32 * scalars)
    bound = {"L2": loaded / BEST.cache}
    bound |= {kind: warps * N * n / rate for kind, n in ticks.items()}
    kind = max(bound, key=lambda x: bound[x])
    cells = [
        *(f"{block}", f"{code.registers}", f"{code.spilled}"),
        f"{sum(code.loop.values()) * 4 / block:.0f}",
        f"{sum(n for op, n in code.loop.items() if op.startswith('BAR')) / block:.0f}",
        f"{loaded / 1e9:.1f} GB",
        f"{kind} {1e3 * bound[kind]:.1f} ms, L2 {1e3 * bound['L2']:.1f} ms",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(f"JAX {jax.__version__}")
    print(f"| {HEAD} |")
    print("|---|---|---|---|---|---|---|")
    for block in (1, 2, 4, 8):
        print(row(block))
