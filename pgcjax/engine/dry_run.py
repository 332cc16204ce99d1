"""What a job would take, in lines for its owner."""

from collections.abc import Iterator

from pgcjax.engine.cost import Estimate
from pgcjax.errors import counted


def describe(job: Estimate) -> Iterator[str]:
    """Describe how a job would be cut, and what memory it would take."""
    text = f", {job.lines:,.0f} lines of text" if job.lines else ""
    yield (
        f"runs: about {job.runs:,} in {counted(job.units, 'unit')} (files or blocks)"
        f"{text}; {job.found:,.0f} judged documents in a run"
    )
    for group in job.groups:
        yield (
            f"{group.measure}: {counted(group.queries, 'query')} as {group.form}, "
            f"{group.size} places for {group.vertices / group.queries:.1f} documents"
            + (f", by {group.orders:,} orders" if group.orders > 1 else "")
        )
    chunks = -(-job.runs // job.per_chunk)
    yield (
        f"chunks: {chunks:,} of {job.per_chunk:,} runs at most, in "
        f"{counted(job.calls, 'call')}; {job.padding:.0%} of the places in tiles are "
        "padding"
    )
    sizes = job.bytes()
    parts = ", ".join(f"{name} {_mib(size)}" for name, size in sizes.items())
    yield f"memory: {_mib(job.limits.memory)} allowed; at most {parts}"
    if sizes["scores"] > job.limits.memory:
        n = -(-sizes["scores"] // job.limits.memory)
        yield (
            "memory: a table of all scores is more: write -o FILE.parquet, which has "
            f"none, or cut the job with --part 1/{n}"
        )


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"
