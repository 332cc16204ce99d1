"""Estimates of a job's units, chunks, calls and bytes, without running it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pgcjax.engine import plan, tiles
from pgcjax.engine.request import read_request, runs_of
from pgcjax.engine.tiles import TileBatch
from pgcjax.errors import counted
from pgcjax.io.reading import memory_limit, reading
from pgcjax.io.runs import Need, Options
from pgcjax.tensors.rankings import Rankings, find


@dataclass(frozen=True)
class Estimate:
    """Size of a job: input to read, and scores to compute.

    Attributes:
        runs: Approximate number of runs.
        units: Number of files, or of blocks of packed runs.
        found: Approximate number of judged documents of a run.
        per_run: Number of scores of a run.
        batches: Tiles of each chunk, as if all runs were like the first.
        limits: Limits of memory.
    """

    runs: int
    units: int
    found: float
    per_run: int
    batches: Sequence[TileBatch]
    limits: plan.MemoryLimits

    @property
    def scores(self) -> int:
        """Number of scores."""
        return self.runs * self.per_run

    @cached_property
    def per_chunk(self) -> int:
        """Runs in a chunk, about: enough for a tile if they fit, and at least one."""
        each = max(1, round(plan.FOUND * self.found))
        enough = max(plan.settings.runs, self.limits.enough // each + 1)
        return max(1, min(self.runs, enough, self.limits.found // each + 1))

    @property
    def chunks(self) -> int:
        """Approximate number of chunks."""
        return -(-self.runs // self.per_chunk)

    @cached_property
    def groups(self) -> list[tuple[TileBatch, tiles.SizeGroup]]:
        """Queries of one size, and what computes them."""
        for batch in self.batches:
            batch.most_columns = self.per_chunk
        return [(batch, group) for batch in self.batches for group in tiles.cut(batch)]

    @property
    def calls(self) -> int:
        """Approximate number of calls of the device."""
        whole, rest = divmod(self.runs, self.per_chunk)
        return sum(
            whole * group.calls(self.per_chunk) + group.calls(rest)
            for _, group in self.groups
        )

    def bytes(self) -> dict[str, int]:
        """Estimate the peak memory, beyond libraries and judgments."""
        sizes = [(batch.nbytes(g.size), g.tile) for batch, g in self.groups]
        tile = max((n * (each + pair * m) for (each, pair), (n, m) in sizes), default=0)
        return {
            "judged documents of two chunks": 4
            * round(plan.FOUND * self.found * self.per_chunk),
            "tiles in work": 4 * tile,
            "scores": 64 * self.scores,
        }


def estimate(
    runs: Any,
    *,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    float32: bool = False,
    memory: str | int | None = None,
    **judgments: Any,
) -> Estimate:
    """Estimate a job. For arguments and errors see `evaluate`.

    Only the first file or block of the runs is read; it represents all.
    """
    limits = plan.MemoryLimits(memory_limit(memory))
    with reading(memory=memory):
        runs = runs_of(runs, order, Options(float32=float32))
        request = read_request(judgments, measures, order, grids=runs.grids)
        first = runs.units[0]
        need = Need(limits.memory, request.judged, order)
        with closing(first.source.read([first], need)) as tables:
            sample = Rankings(
                request.judged, [find(next(tables), request.judged, order)]
            )
    here = len(sample.run_ids)
    batches = request.batches(budget=limits.tile, keep=limits.kept)
    return Estimate(
        runs=sum(unit.runs or here for unit in runs.units),
        units=len(runs.units),
        found=sample.size / here,
        per_run=sum(len(batch.members) * len(batch.docs) for batch in batches),
        batches=[part for batch in batches for part in batch.tiles(sample)],
        limits=limits,
    )


def describe(job: Estimate) -> Iterator[str]:
    """Describe how a job would be cut, and what memory it would take."""
    yield (
        f"runs: about {job.runs:,} in {counted(job.units, 'unit')} (files or blocks); "
        f"{job.found:,.0f} judged documents in a run"
    )
    yield (
        f"chunks: {job.chunks:,} of {job.per_chunk:,} runs at most, in "
        f"{counted(job.calls, 'call')}"
    )
    sizes = job.bytes()
    parts = ", ".join(f"{name} {_mib(size)}" for name, size in sizes.items())
    yield f"memory: {_mib(job.limits.memory)} allowed; at most {parts}"
    if sizes["scores"] > job.limits.memory:
        n = -(-sizes["scores"] // job.limits.memory)
        yield (
            "memory: a table of all scores needs more: write -o FILE.parquet, which "
            f"needs no table, or split the job with --part 1/{n}"
        )


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"
