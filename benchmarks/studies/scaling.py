"""The tables of docs/scaling.md, by simulated plans.

`python -m benchmarks.studies.scaling` prints them. No job is run: a dry run cuts each
as `evaluate` would, chunk by chunk and call by call. tests/engine/test_dry_run.py
checks the cuts against real calls, and that docs/scaling.md has these tables.
"""

from collections.abc import Iterator

from pgcjax.engine.dry_run import Estimate
from pgcjax.engine.peel_batch import PeelTiles
from pgcjax.engine.plan import MemoryLimits
from pgcjax.io.reading import memory_limit
from pgcjax.tensors.adjacency import Form
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


class MadeUpTiles(PeelTiles):
    """Graphs of one form, none of which is there."""

    def __init__(self, queries: int, form: str):
        """Take their number, and the name of their form."""
        self.rows, self._form = queries, Form(form, padded_size(DOCS))

    def size(self, query: int) -> Form:
        """The form of all of them."""
        return self._form


def job(runs: int, queries: int, form: str = "packed") -> Estimate:
    """Make a job up."""
    return Estimate(
        runs=runs,
        units=runs,
        found=RETRIEVED * DOCS * queries,
        per_run=queries,
        batches=[MadeUpTiles(queries, form)],
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
            made = job(runs, queries, form)
            shape = f"{runs:,} × {queries:,} × {replicates:,}"
            yield (
                f"| {shape} | {made.scores * replicates:,} "
                f"| {made.calls * replicates:,} |"
            )
        yield ""
    yield f"Memory beyond libraries and judgments, `--memory {MEMORY}`:"
    yield ""
    yield "| runs × queries | runs a chunk | chunks | chunks in work | tiles | scores |"
    yield "|---|---|---|---|---|---|"
    for runs, queries, replicates in STEPS:
        if replicates == 1:
            made = job(runs, queries)
            sizes = " | ".join(f"{x / 2**20:,.0f} MiB" for x in made.bytes().values())
            shape = f"{runs:,} × {queries:,}"
            yield f"| {shape} | {made.per_chunk:,} | {made.chunks:,} | {sizes} |"


if __name__ == "__main__":
    print("\n".join(lines()))
