"""Graphs derived from grades: published Python peels them, pgcjax needs no peel."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks import inputs, peel
from benchmarks.harness import Report
from benchmarks.inputs import Case

SHAPES = ((64, 64, 170),)


def run(
    report: Report, data: Path | None, shapes: Sequence[tuple[int, int, int]]
) -> None:
    """Race on made-up grades of some (queries, runs, N), then on real ones."""
    for shape in shapes:
        race(report, inputs.graded(*shape))
    for case in inputs.real(data, [inputs.CAST_DERIVED]):
        race(report, case)


def race(report: Report, case: Case, seconds: float = peel.SECONDS) -> None:
    """Race on one case."""
    contenders = [
        *peel.plain(case, seconds),
        *peel.scalar(report, case),
        *peel.pgcjax(case),
    ]
    report.race(
        f"derived graphs, {case.title}", contenders, per=peel.PER, units=case.pairs
    )
