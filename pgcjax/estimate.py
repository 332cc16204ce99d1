"""What a job would take, from its judgments and a first look at its runs."""

from collections.abc import Iterable
from typing import Any

import jax

from pgcjax import plan
from pgcjax.costs import Group, Job
from pgcjax.kernels import words
from pgcjax.request import Asked, ask
from pgcjax.tables.runs import Runs
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.judgments import Overlaps
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.rankings import batches, find


def estimate(
    runs: Any,
    *,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    memory: str | int | None = None,
    **judgments: Any,
) -> Job:
    """Estimate a job. Arguments, and what is raised: as of `evaluate`.

    Of runs, the first file or block is read, and stands for all of its size.
    """
    limits = plan.Limits.of(memory)
    asked = ask(judgments, measures, order)
    runs = Runs(runs)
    first = runs.share(0, len(runs.units))
    batch = next(batches(first.read(asked.judged, order)))
    found = find(batch, asked.judged, order)
    here = len(found.run_ids)
    packed = sum(sum(file.runs) for file in runs.packed.values())
    files = [unit for unit in runs.units if unit.block < 0]
    lines = compressed = 0.0
    if files and isinstance(batch, list):
        per_byte = sum(map(len, batch)) / max(1, first.units[0].size)
        lines = per_byte * sum(unit.size for unit in files)
        compressed = lines if files[0].name.endswith(".gz") else 0.0
    per_run = len(found.code) / here
    docs = sum(map(len, asked.judged.docs.values()))
    return Job(
        runs=packed + len(files) * (here if files else 0),
        units=len(runs.units),
        lines=lines,
        compressed=compressed,
        packed=packed * per_run,
        found=per_run,
        groups=_groups(asked, min(1.0, per_run / max(1, docs))),
        limits=limits,
        judgments=sum(map(len, asked.tables.values())),
        cpu=jax.default_backend() == "cpu",
    )


def _groups(asked: Asked, share: float) -> list[Group]:
    """Group the queries of each measure by form and size.

    Args:
        asked: measures and their graphs.
        share: of the judged documents that a run retrieves.
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    for measure, tensor in zip(asked.measures, asked.tensors, strict=True):
        for query, docs in tensor.docs.items():
            if n := len(docs):
                form = "lists"
                if isinstance(tensor, Overlaps):
                    form = _form(tensor.graphs[query])
                groups.setdefault((str(measure), form, padded_size(n)), []).append(n)
    return [
        Group(*key, len(sizes), sum(sizes), share * sum(sizes))
        for key, sizes in groups.items()
    ]


def _form(graph: Graph) -> str:
    """Tell the form of a graph, but for preferences that happen to be a weak order."""
    if graph.graded_only() is not None:
        return "levels"
    return "words" if len(graph) <= words.MOST_VERTICES else "wide"
