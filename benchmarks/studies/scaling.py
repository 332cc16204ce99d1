"""The tables of docs/scaling.md, by simulated plans.

`python -m benchmarks.studies.scaling` prints them. No job is run: `cost.Estimate` cuts
each as `evaluate` would, chunk by chunk and call by call. tests/engine/test_cost.py
checks the cuts against real calls, and that docs/scaling.md has these tables.
"""

from collections.abc import Iterator

from pgcjax.engine.cost import CostGroup, Estimate
from pgcjax.engine.peel_batch import Form, bytes_of
from pgcjax.engine.plan import MemoryLimits
from pgcjax.io.memory import memory_limit
from pgcjax.tensors.padding import padded_size

DOCS, RETRIEVED = 170, 0.8
MEMORY = "16GiB"
STEPS = (  # runs, queries, replicates of the judgments
    (100, 173, 1),
    (1000, 173, 1),
    (10_000, 200, 1),
    (100_000, 1000, 1),
    (1_000_000, 10_000, 1),
    (1_000_000, 10_000, 1000),
)


def job(runs: int, queries: int, form: str = "packed", replicates: int = 1) -> Estimate:
    """Make up a job: all replicates score the same runs, each reading them again."""
    found = RETRIEVED * DOCS * queries
    size = padded_size(DOCS)
    sizes = size, queries, DOCS * queries
    group = CostGroup(form, form, *sizes, *bytes_of(Form(form, size)))
    return Estimate(
        runs=runs,
        units=runs,
        lines=0.0,
        found=found,
        groups=[group] * replicates,
        limits=MemoryLimits(memory_limit(MEMORY)),
    )


def lines() -> Iterator[str]:
    """Give the tables as Markdown."""
    for form, what in (("packed", "cyclic graphs"), ("levels", "graphs of grades")):
        yield f"From packed runs, {what} of {DOCS} documents:"
        yield ""
        yield "| runs × queries × replicates | scores | calls |"
        yield "|---|---|---|"
        for runs, queries, replicates in STEPS:
            made = job(runs, queries, form=form, replicates=min(replicates, 2))
            more = replicates // min(replicates, 2)
            shape = f"{runs:,} × {queries:,} × {replicates:,}"
            yield f"| {shape} | {made.scores * more:,} | {made.calls * more:,} |"
        yield ""
    yield f"Memory beyond libraries and judgments, `--memory {MEMORY}`:"
    yield ""
    yield "| runs × queries | runs a chunk | chunks | chunks in work | tiles | scores |"
    yield "|---|---|---|---|---|---|"
    for runs, queries, replicates in STEPS:
        if replicates == 1:
            made = job(runs, queries)
            sizes = " | ".join(f"{x / 2**20:,.0f} MiB" for x in made.bytes().values())
            chunks = -(-runs // made.per_chunk)
            shape = f"{runs:,} × {queries:,}"
            yield f"| {shape} | {made.per_chunk:,} | {chunks:,} | {sizes} |"


if __name__ == "__main__":
    print("\n".join(lines()))
