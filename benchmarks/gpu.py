"""`python -m benchmarks.gpu`: what a GPU computes, timed and checked, in 3 minutes.

It needs this repository, jax and numpy, and nothing else. benchmarks/README.md says
what the rows are. Nothing new begins once the time is over.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

GPU, CPU = (173, 1000), (8, 32)  # queries and runs, by default
RICH = ("rich", "rich.console", "rich.table")
ARROW = ("pyarrow", "pyarrow.compute", "pyarrow.parquet")
STOOD_IN_FOR = ("jaxtyping", "lazy_loader", "pandas", "polars", *ARROW, *RICH)
STOOD_IN_FOR += ("isal", "isal.isal_zlib")
SECONDS = 150.0  # after which nothing begins: what has begun takes half a minute


class _Blank:
    """What stands for names of packages that are not installed: all, and nothing."""

    def __getattr__(self, name: str) -> "_Blank":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> "_Blank":
        return self

    __getitem__ = __or__ = __ror__ = __call__
    __iter__ = None  # or it would go on for ever


def _no_names(*_: Any) -> tuple[Any, Any, Any]:
    """Stand for `lazy_loader.attach_stub`: the face of pgcjax has no names."""

    def missing(name: str) -> Any:
        raise AttributeError(name)

    return missing, list, []


def stand_in() -> None:
    """Do without packages that are imported on the way and not used, if missing.

    They are for annotations of arrays, types of columns in tables that no row here
    reads, names that are loaded lazily, and the printing of the other benchmarks. What
    would use one in earnest fails.
    """
    for name in STOOD_IN_FOR:
        try:
            importlib.import_module(name)
        except ImportError:
            module = ModuleType(name)
            module.__dict__["__getattr__"] = _Blank().__getattr__
            module.__dict__["attach_stub"] = _no_names
            sys.modules[name] = module


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and save; 1 if some row computed something else."""
    options = _parse(words)
    stand_in()
    import jax

    from benchmarks import gpu_checks, harness
    from benchmarks.gpu_bench import Bench
    from benchmarks.studies import gpu_bounds

    jax.config.update("jax_enable_compilation_cache", False)  # or it hides compiling
    backend, device = jax.default_backend(), jax.local_devices()[0]
    given = list(sys.argv[1:] if words is None else words)
    about = harness.facts(["python", "-m", "benchmarks.gpu", *given])
    unknown = "unknown: no git checkout"
    about["versions"]["uncommitted"] = about["versions"]["uncommitted"] or unknown
    about["machine"]["gpu"] = _gpu(device)
    about["versions"] |= _plugins()
    print(f"{device.device_kind} ({backend}), jax {jax.__version__}")
    for name, value in about["machine"]["gpu"].items():
        print(f"{name}: {value}")
    if backend == "cpu":
        print("This is no GPU: small shapes, and no time here says anything of one.")
    queries, runs = GPU if backend != "cpu" else CPU
    report = harness.Report(rounds=options.rounds)
    report.console.quiet = True  # printed here, in milliseconds
    bench = Bench(report, backend, options.seconds)
    if options.output:
        bench.keep = partial(report.save, options.output, about)  # if we are stopped
    shape = options.queries or queries, options.runs or runs, options.n
    try:
        if not gpu_checks.check(bench):  # then no time means anything
            return 1
        best = _measure(bench, shape, options.sizes)
        if "H100" in device.device_kind:
            bench.beside(gpu_bounds.foretold())
        print(f"at {' x '.join(map(str, shape))}: {best}")
    finally:  # what was measured before something failed is worth a file
        bench.end()
        if options.output:
            report.save(options.output, about)
            print(f"wrote {options.output}")
    return bool(bench.wrong)


def _measure(bench: Any, shape: tuple[int, int, int], sizes: list[int]) -> str:
    """Run all, what matters first; say what was best at the shape that matters."""
    from benchmarks import gpu_kernels, inputs

    queries, runs, n = shape
    bench.copy()
    best = bench.peel(inputs.cyclic(*bench.fit(*shape)))
    steps = [("levels", lambda: bench.levels(inputs.graded(*bench.fit(*shape))))]
    few = bench.fit(queries, runs, 8 * n)  # scores need more arrays than sums
    every = gpu_kernels.every(*few[:2], n, bench.backend)
    steps += [(name, partial(bench.work, name, make)) for name, make in every.items()]
    for size in sizes:
        if size != n:
            fewer = bench.fit(queries, min(runs, max(1, runs * 128 // size)), size)
            peel = partial(_peel, bench, fewer)
            steps.append((f"N = {size}", peel))
    for name, step in steps:
        if bench.begins(name):
            step()
    return best


def _peel(bench: Any, shape: tuple[int, int, int]) -> None:
    from benchmarks import inputs

    bench.peel(inputs.cyclic(*shape))


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="FILE.json", help="write all there")
    add("--queries", type=int, help=f"{GPU[0]}; {CPU[0]} without a GPU")
    add("--runs", type=int, help=f"{GPU[1]}; {CPU[1]} without a GPU")
    add("--n", type=int, default=170, help="documents of a query: 170")
    sizes = [16, 64, 170, 512]
    add("--sizes", type=int, nargs="*", default=sizes, help="more of them: 16 64 512")
    add("--seconds", type=float, default=SECONDS, help="nothing begins later: 150")
    add("--rounds", type=int, default=5, help="of each race: 5")
    return parser.parse_args(words)


def _gpu(device: Any) -> dict[str, Any]:
    """Describe a device beyond what `harness.facts` does."""
    query = "name,driver_version,memory.total,clocks.max.sm,power.limit"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        smi = done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        smi = None
    client = getattr(device, "client", None)
    platform = str(getattr(client, "platform_version", "")).replace("\n", ", ")
    return {"kind": device.device_kind, "platform": platform, "nvidia-smi": smi}


def _plugins() -> dict[str, str]:
    names = (d.metadata["Name"] or "" for d in metadata.distributions())
    chosen = {n for n in names if n.startswith(("jax-cuda", "jax_cuda", "nvidia-cuda"))}
    return {name: metadata.version(name) for name in sorted(chosen)}


if __name__ == "__main__":
    sys.exit(main())
