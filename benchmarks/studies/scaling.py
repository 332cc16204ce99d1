"""The tables of docs/scaling.md, by simulated plans.

`python -m benchmarks.studies.scaling` prints them. No job is run: `cost.Job` cuts each
as `evaluate` would, chunk by chunk and call by call, and adds up what that takes by the
constants of `cost.CORE`. tests/engine/test_cost.py checks the cuts against real calls,
and that docs/scaling.md has these tables.
"""

from collections.abc import Iterator
from dataclasses import replace

from pgcjax.engine.cost import CORE, Group, Job, Machine
from pgcjax.engine.dry_run import duration
from pgcjax.engine.peel_tiles import bytes_of
from pgcjax.engine.plan import Limits
from pgcjax.io.memory import memory_limit
from pgcjax.io.prefetch import MOST_THREADS
from pgcjax.tensors.padding import padded_size

DOCS, RETRIEVED, DEPTH = 170, 0.8, 1000
MEMORY = "16GiB"
# Not measured: of an H100, seconds of a pair of N = 170, by the longer of the times in
# docs/gpu.md, for graphs with cycles and for grades.
PEEL, LEVELS = 54e-9, 22e-9
H100 = replace(CORE, peel=PEEL / (192 * 170), step=0.0, level=LEVELS / (0.7 * 170))
MACHINES: dict[str, Machine] = {
    "laptop, 8 cores": replace(CORE, cores=8),
    "one GPU, 16 cores": replace(H100, cores=16, devices=1),
    "a host, 8 GPUs, 96 cores": replace(H100, cores=96, devices=8),
    "64 such hosts": replace(H100, cores=64 * 96, devices=64 * 8, parts=64),
}
STEPS = (  # runs, queries, replicates of the judgments
    (100, 173, 1),
    (1000, 173, 1),
    (10_000, 200, 1),
    (100_000, 1000, 1),
    (1_000_000, 10_000, 1),
    (1_000_000, 10_000, 1000),
)


def job(
    runs: int, queries: int, *, text: bool, form: str = "packed", replicates: int = 1
) -> Job:
    """Make up a job: all replicates score the same runs, each reading them again."""
    found = RETRIEVED * DOCS * queries
    documents = runs * queries * DEPTH if text else 0.0
    size = padded_size(DOCS)
    sizes = size, queries, DOCS * queries, found
    group = Group(form, form, *sizes, *bytes_of(form, size))
    return Job(
        runs=runs,
        units=runs,
        lines=documents,
        compressed=0.0,
        packed=0.0 if text else runs * found * replicates,
        found=found,
        groups=[group] * replicates,
        limits=Limits(memory_limit(MEMORY)),
    )


def lines() -> Iterator[str]:
    """Give the tables as Markdown."""
    names = list(MACHINES)
    for form, what in (("packed", "cyclic graphs"), ("levels", "graphs of grades")):
        yield f"From packed runs, {what} of {DOCS} documents; what saturates first:"
        yield ""
        yield f"| runs × queries × replicates | calls | {' | '.join(names)} |"
        yield "|---" * (2 + len(names)) + "|"
        for runs, queries, replicates in STEPS:
            made = job(
                runs, queries, text=False, form=form, replicates=min(replicates, 2)
            )
            more = replicates / min(replicates, 2)
            calls = sum(
                calls for chunk in _chunks(made) for _, _, _, calls in made.tiles(chunk)
            )
            cells = [_cell(made, machine, more) for machine in MACHINES.values()]
            shape = f"{runs:,} × {queries:,} × {replicates:,}"
            yield f"| {shape} | {calls * more:,.0f} | {' | '.join(cells)} |"
        yield ""
    yield f"Reading text of {DEPTH} documents for a query, by up to {MOST_THREADS}"
    yield "cores of each process (two were measured), and the same packed; each of"
    yield "the 64 hosts runs one process:"
    yield ""
    yield f"| runs × queries | lines | {' | '.join(names)} |"
    yield "|---" * (2 + len(names)) + "|"
    for runs, queries, replicates in STEPS:
        if replicates == 1:
            text = job(runs, queries, text=True)
            packed = job(runs, queries, text=False)
            cells = [
                f"{duration(text.seconds(m)['reading'])}, "
                f"{duration(packed.seconds(m)['reading'])}"
                for m in MACHINES.values()
            ]
            shape = f"{runs:,} × {queries:,}"
            yield f"| {shape} | {text.lines:,.0f} | {' | '.join(cells)} |"
    yield ""
    yield f"Memory beyond libraries and judgments, `--memory {MEMORY}`:"
    yield ""
    yield "| runs × queries | runs a chunk | chunks | chunks in work | tiles | scores |"
    yield "|---|---|---|---|---|---|"
    for runs, queries, replicates in STEPS:
        if replicates == 1:
            made = job(runs, queries, text=False)
            sizes = " | ".join(f"{x / 2**20:,.0f} MiB" for x in made.bytes().values())
            chunks = -(-runs // made.per_chunk)
            shape = f"{runs:,} × {queries:,}"
            yield f"| {shape} | {made.per_chunk:,} | {chunks:,} | {sizes} |"


def _chunks(made: Job) -> Iterator[int]:
    return made.chunks()


def _cell(made: Job, machine: Machine, more: float) -> str:
    seconds = made.seconds(machine)
    first = max(seconds, key=seconds.__getitem__)
    return f"{duration(more * made.total(machine))} ({first})"


if __name__ == "__main__":
    print("\n".join(lines()))
