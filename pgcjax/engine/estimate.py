"""What a job would take, from its judgments and a first look at its runs."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from pgcjax.engine import plan
from pgcjax.engine.cost import Estimate
from pgcjax.engine.request import read_request, runs_of
from pgcjax.io.memory import memory_limit
from pgcjax.io.reading import reading
from pgcjax.io.runs import Need, Options, RunTable
from pgcjax.runtime.devices import default_backend
from pgcjax.tensors.rankings import Rankings, find


def estimate(
    runs: Any,
    *,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    float32: bool = False,
    memory: str | int | None = None,
    **judgments: Any,
) -> Estimate:
    """Estimate a job. Arguments, and what is raised: as of `evaluate`.

    Of runs, the first file or block is read, and stands for all of its size.
    """
    limits = plan.MemoryLimits(memory_limit(memory))
    with reading(memory=memory):
        runs = runs_of(runs, order, Options(float32=float32))
        request = read_request(judgments, measures, order, grids=runs.grids)
        first = runs.units[0]
        need = Need(limits.memory, request.judged, order)
        with closing(first.source.read([first], need)) as tables:
            table = next(tables)
    sample = Rankings(request.judged, [find(table, request.judged, order)])
    here = len(sample.run_ids)
    packed = sum(unit.runs for unit in runs.units)
    others = [unit for unit in runs.units if not unit.runs]
    lines = 0.0
    if others and isinstance(table, RunTable):
        lines_per_byte = len(table.frame) / max(1, table.read or first.size)
        lines = lines_per_byte * sum(unit.size for unit in others)
    per_run = sample.size / here
    batches = request.batches(budget=limits.tile, keep=limits.kept)
    return Estimate(
        runs=packed + len(others) * here,
        units=len(runs.units),
        lines=lines,
        found=per_run,
        groups=[group for batch in batches for group in batch.foresee(sample)],
        limits=limits,
        cpu=default_backend() == "cpu",
    )
