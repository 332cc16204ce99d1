"""What a job would take, from its judgments and a first look at its runs."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from pgcjax.engine import plan
from pgcjax.engine.cost import Job
from pgcjax.engine.request import read_request, runs_of
from pgcjax.io.memory import memory_limit
from pgcjax.io.packed import Block
from pgcjax.io.reading import reading
from pgcjax.io.run_pieces import Piece
from pgcjax.io.run_tables import RunTable
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.rankings import JudgedRanks, Rankings, find


def estimate(
    runs: Any,
    *,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    float32: bool = False,
    memory: str | int | None = None,
    **judgments: Any,
) -> Job:
    """Estimate a job. Arguments, and what is raised: as of `evaluate`.

    Of runs, the first file or block is read, and stands for all of its size.
    """
    limits = plan.Limits(memory_limit(memory))
    with reading(memory=memory):
        runs = runs_of(runs, order, float32=float32)
        request = read_request(judgments, measures, order, grids=runs.grids)
        first = runs.first(1)

        def look(table: RunTable | Block) -> tuple[JudgedRanks, float]:
            read = table.read if isinstance(table, Piece) else first.units[0].size
            rows = len(table.frame) if isinstance(table, RunTable) else 0
            return find(table, request.judged, order), rows / max(1, read)

        with closing(first.read(request.judged, order, look)) as units:
            ranks, lines_per_byte = next(next(units).parts)
    sample = Rankings(request.judged, [ranks])
    here = len(sample.run_ids)
    packed = sum(sum(file.runs) for file in runs.packed.values())
    others = [unit for unit in runs.units if unit.name not in runs.packed]
    lines = 0.0
    if others and lines_per_byte:
        lines = lines_per_byte * sum(unit.size for unit in others)
    per_run = sample.size / here
    batches = request.batches(budget=limits.tile, keep=limits.kept)
    return Job(
        runs=packed + len(others) * here,
        units=len(runs.units),
        lines=lines,
        found=per_run,
        groups=[group for batch in batches for group in batch.foresee(sample)],
        limits=limits,
        cpu=default_backend() == "cpu",
    )
